"""``ludarium puzzles``: positions in which one move alone keeps the win, or the draw."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ludarium.analysis.exact_tests import LIMIT
from ludarium.arena.puzzles import (
    BANDS,
    PER_BAND,
    ROUNDS,
    SEED,
    PuzzleSet,
    make_puzzles,
    puzzles_of,
    read_puzzles,
)
from ludarium.envs.registry import GAMES, find_game
from ludarium.training.agents.checkpoints import ShippedSpec
from ludarium.training.table import text_table

from .arguments import add_json, add_limit, add_options, add_seed, output_file, read_positive
from .common import read_options
from .interrupt import STOPPED
from .progress import shown_progress
from .result import Result

HELP = "count a game's puzzles by difficulty, or make new ones"
DESCRIPTION = f"""\
Count a game's puzzles by difficulty (--json: all of them), or make new ones: positions in which one
move alone keeps the win, or the draw, by exact values. The page of `ludarium play` has them too.

  ludarium puzzles corso                     how many of each difficulty ship
  ludarium puzzles corso --json              all of them, with moves and solutions
  ludarium puzzles corso --output mine.jsonl make new ones; Ctrl-C stops, the same command goes on

New puzzles come from the game's hard exact test, if it has one, and then from games of its levels,
in rounds of 32 games. One move alone keeps the value, of at least five; in at most half of
--per-band it wins at once, and in the others not every wrong move is refuted at once. At most three
are from one game, and no two are symmetric. The difficulty is measured: the first of the levels
{", ".join(BANDS)} that finds the move in most of its tries;
strongest has those too that no level solves."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument(
        "--output",
        type=output_file(),
        metavar="FILE",
        help="make puzzles, and write them to FILE after each round; go on if it has some",
    )
    parser.add_argument(
        "--per-band",
        type=read_positive,
        metavar="N",
        help=f"most puzzles of each difficulty (default {PER_BAND})",
    )
    parser.add_argument(
        "--rounds",
        type=read_positive,
        metavar="N",
        help=f"most rounds of games, if some difficulty stays short (default {ROUNDS})",
    )
    add_limit(parser, LIMIT)
    add_seed(parser, f"seed of everything drawn (default {SEED})", None)
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Count the shipped puzzles, or make new ones."""
    name = find_game(given.game).name
    game = ShippedSpec(game=name).choose_game(read_options(given.option))
    making = {
        key: getattr(given, key)
        for key in ("per_band", "rounds", "limit", "seed")
        if getattr(given, key) is not None
    }
    if given.output is None:
        if making:
            unused = ", ".join("--" + key.replace("_", "-") for key in making)
            raise ValueError(f"{unused} is for new puzzles: give --output too")
        path = puzzles_of(name)
        shipped = None if path is None else read_puzzles(path)
        if shipped is None or shipped.game != game:
            raise FileNotFoundError(
                f"no puzzles of {game} ship; if it has levels, --output makes some"
            )
        return _result(shipped)
    with shown_progress(can_stop=True) as progress:
        found = make_puzzles(game, file=given.output, progress=progress, **making)
    return _result(found, STOPPED if progress.stopped else 0)


def _result(found: PuzzleSet, status: int = 0) -> Result:
    data = {
        "game": found.game.name,
        "options": dict(found.game.options),
        "made": found.made,
        "bands": found.bands,
        "puzzles": [asdict(puzzle) for puzzle in found.puzzles],
    }
    rows = []
    for band in BANDS:
        mine = [puzzle for puzzle in found.puzzles if puzzle.band == band]
        wins = sum(puzzle.value == "win" for puzzle in mine)
        rows.append([band, str(len(mine)), str(wins), str(len(mine) - wins)])
    table = text_table(["solved by level", "puzzles", "to win", "to draw"], rows)
    text = f"{len(found.puzzles)} puzzles of {found.game}; rounds of games: {found.made['rounds']}"
    return Result(data, f"{text}\n\n{table}", status)
