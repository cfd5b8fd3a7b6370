"""``ludarium levels``: opponents of a chosen strength, listed or measured from scratch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ludarium.arena.ladder import (
    WORDS,
    Ladder,
    LevelMatch,
    find_ladder,
    ladder_beside,
    load_ladder,
    save_ladder,
)
from ludarium.base.files import sha256_of_file
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES, find_game
from ludarium.training.agents.checkpoints import ShippedSpec, TrainedSpec
from ludarium.training.agents.names import read_trained_agent
from ludarium.training.evaluation.statistics import expected_score
from ludarium.training.networks import stored_network
from ludarium.training.table import percent, text_table

from .arguments import (
    add_games,
    add_json,
    add_options,
    add_seed,
    output_file,
    read_count,
    require_writable,
)
from .common import read_options
from .progress import shown_progress
from .result import Result, warn

HELP = "list opponents of a chosen strength, or measure new ones"
DESCRIPTION = f"""\
List a game's ladder of opponents, each of which scores about 65 % against the one below. Against
the first level, random play gets two of five points; the last level is a trained agent with all its
simulations. Between them, moves are drawn by how much of the position's value they lose: a weak
level often loses a little, and seldom everything at once.

  ludarium levels corso                            the shipped levels, and how they were measured
  ludarium levels onyx --option size=12            those of another board
  ludarium play corso --opponent level:3           play against one
  ludarium evaluate corso:16 --against level:hard  words: {", ".join(WORDS[:4])},
                                                   {", ".join(WORDS[4:])}
  ludarium play corso --opponent level:auto        adapts to you from game to game

  ludarium levels corso --check --seed 2           play each level against the one below again

With --measure, a ladder is measured from an agent, which takes minutes, and written as a small JSON
file. The same arguments give the same ladder on the same machine.

  ludarium levels corso --measure --agent runs/mine --output mine.json
  ludarium levels corso --agent runs/mine --ladder mine.json
  ludarium play corso --opponent "level:3?ladder=mine.json&agent=runs/mine"
  ludarium levels osiron --measure --simulations 64 --games 100"""


_SIMULATIONS = 256
_MATCH = ("level", "against", "score (95 %)", "games")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    parser.add_argument(
        "--ladder",
        metavar="FILE",
        type=Path,
        help="list the ladder in FILE (default: beside --agent, or the shipped one)",
    )
    parser.add_argument(
        "--agent", metavar="AGENT", help="a trained agent; default: the game's shipped one"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="play --games new games of each level against the one below; give another --seed",
    )
    add_games(parser, "games of each match of two neighbours; with --measure a multiple of 4", 200)
    add_seed(parser, "seed of all games")
    add_options(parser)
    add_json(parser)
    new = parser.add_argument_group("a new ladder")
    new.add_argument("--measure", action="store_true", help="measure a ladder, and write it")
    new.add_argument(
        "--levels",
        type=read_count,
        metavar="N",
        help="how many levels, at even steps (default: as many steps of 65 %% as fit, or about 8 "
        "levels at smaller steps if these would be fewer)",
    )
    new.add_argument(
        "--simulations",
        type=read_count,
        metavar="N",
        help=f"simulations of the strongest level (default {_SIMULATIONS})",
    )
    new.add_argument(
        "--output",
        metavar="FILE",
        type=output_file(),
        help="file to write the ladder to (default: for example corso.levels.json, in this folder)",
    )


def run(given: argparse.Namespace) -> Result:
    """List or measure a ladder."""
    for name in ("output", "levels", "simulations"):
        if not given.measure and getattr(given, name) is not None:
            raise ValueError(f"--{name} is for a ladder that is measured: give --measure too")
    if given.measure and given.ladder is not None:
        raise ValueError(
            "--ladder names a ladder to list: leave it out, or --measure; a new one is written to "
            "--output"
        )
    name, options = find_game(given.game).name, read_options(given.option)
    spec: TrainedSpec = (
        ShippedSpec(game=name) if given.agent is None else read_trained_agent(given.agent)
    )
    game = spec.choose_game(options)
    if game.name != name:
        raise ValueError(f"agent {given.agent!r} plays {game.name}, not {name}")
    path = spec.checkpoint_path(options)
    if given.measure:
        ladder = _measure(game, path, given)
    else:
        file = given.ladder or (given.agent and ladder_beside(path))
        ladder = load_ladder(file) if file else find_ladder(game)
        ladder.check_fits(game, path)
    checked = _check(game, path, ladder, given) if given.check else None
    text = ladder_text(ladder)
    if checked is not None:
        table = text_table(_MATCH, list(map(_match_row, checked)), left=())
        text += f"\n\nnew games of neighbours, seed {given.seed}:\n{table}"
    return Result(ladder_as_json(ladder, checked), text)


def _measure(game: Game, path: Path, given: argparse.Namespace) -> Ladder:
    """Measure a ladder, and write it."""
    from ludarium.arena.calibration import TARGET_SCORE, calibrate

    output = given.output or Path(ladder_beside(path).name)
    require_writable(output)
    network = stored_network(path, game, str(path))
    with shown_progress() as progress:
        ladder = calibrate(
            game,
            network,
            sha256_of_file(path),
            _SIMULATIONS if given.simulations is None else given.simulations,
            given.games,
            given.levels,
            given.seed,
            progress,
        )
    save_ladder(ladder, output)
    wide = ladder.levels[-1].rating.value - ladder.levels[0].rating.value
    target = min(TARGET_SCORE, expected_score(wide / (len(ladder.levels) - 1)))
    for match in ladder.steps:
        if given.levels is None and abs(match.result.score.value - target) > 0.05:
            warn(
                f"level {match.upper} scored {percent(match.result.score.value, 1)} against level "
                f"{match.lower}, not some {percent(target)}: try more --games"
            )
    return ladder


def _check(game: Game, path: Path, ladder: Ladder, given: argparse.Namespace) -> list[LevelMatch]:
    from ludarium.arena.calibration import check_steps

    with shown_progress() as progress:
        network = stored_network(path, game, str(path))
        return check_steps(game, network, ladder, given.games, given.seed, progress)


def ladder_as_json(ladder: Ladder, checked: Sequence[LevelMatch] | None = None) -> dict[str, Any]:
    """A ladder as JSON values; ``checked``: the matches that were played again, if any."""
    return {
        "game": ladder.game,
        "options": ladder.options,
        "agent_sha256": ladder.agent,
        "date": ladder.date,
        "seed": ladder.seed,
        "seconds": ladder.seconds,
        "words": ladder.words,
        "levels": [
            {
                "level": number,
                **asdict(level.params),
                "elo": level.rating.to_dict(),
            }
            for number, level in enumerate(ladder.levels, 1)
        ],
        "matches": [_match_as_json(match) for match in ladder.matches],
        **({} if checked is None else {"checked": [_match_as_json(each) for each in checked]}),
    }


def _match_as_json(match: LevelMatch) -> dict[str, Any]:
    return {"upper": match.upper, "lower": match.lower, **match.result.to_dict()}


def ladder_text(ladder: Ladder) -> str:
    """The levels and their matches, for people."""
    options = "".join(
        f" {key}={value}" for key, value in ladder.options.items() if value is not None
    )
    lines = [
        f"{ladder.game}{options}: {len(ladder.levels)} levels, measured on {ladder.date}",
        f"in {ladder.seconds:,.0f} s; Elo points above random play\n",
    ]
    words = {number: word for word, number in ladder.words.items()}
    steps = {each.upper: each for each in ladder.matches if each.upper == each.lower + 1}
    rows = [
        [
            str(number),
            words.get(number, ""),
            f"{level.rating.value:,.0f}",
            str(level.params.simulations),
            f"{level.params.temperature:.3f}",
            f"{level.params.max_value_loss:.2f}",
            *(_match_row(steps[number])[2:] if number in steps else ("", "")),
        ]
        for number, level in enumerate(ladder.levels, 1)
    ]
    header = ["level", "", "Elo", "simulations", "temperature", "max loss", *_MATCH[2:]]
    lines.append(text_table(header, rows, left=[1], names=2))
    lines.append("scores are those against the level below, of the first against random play")
    others = [each for each in ladder.matches if each.upper != each.lower + 1]
    if others:
        rows = [[*_match_row(each), *_elo_row(ladder, each)] for each in others]
        lines.append("\nagainst other levels below (random play is 0):")
        header = [*_MATCH, "Elo by all matches", "by this one"]
        lines.append(text_table(header, rows, left=()))
    return "\n".join(lines)


def _match_row(match: LevelMatch) -> list[str]:
    """Cells of a match, under `_MATCH`."""
    result = match.result
    return [str(match.upper), str(match.lower), f"{result.score:.1%}", str(result.games)]


def _elo_row(ladder: Ladder, match: LevelMatch) -> list[str]:
    """The difference of two levels in Elo points by all matches, and by their own match."""
    ratings = ladder.scale.elo
    return [f"{ratings[match.upper] - ratings[match.lower]:+.0f}", f"{match.result.elo:+.0f}"]
