"""``ludarium probe``: the exact values of a position and its actions."""

from __future__ import annotations

import argparse
import time
from typing import Any

from ludarium.analysis import ValueBounds
from ludarium.analysis.corso.solver import MEMORY as CORSO_MEMORY
from ludarium.analysis.probing import Prober, prober_of
from ludarium.analysis.search import EndgameSolver
from ludarium.analysis.search.solver import MEMORY
from ludarium.base.console import say
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import RecordedGame
from ludarium.envs.registry import GAMES, make_game
from ludarium.training.table import text_table

from .arguments import (
    add_json,
    add_options,
    add_position,
    add_seed,
    add_threads,
    read_bytes,
    read_count,
)
from .common import play_moves, read_options, read_record
from .interrupt import STOPPED
from .progress import shown_progress
from .result import Result

HELP = "print the exact value of a position"
DESCRIPTION = """\
Print the exact value of a position, and of each legal action, the best first, for
the player to move with best play. The source depends on the game. Osiron has tables of all
positions in which all pieces are placed, with the plies to the end. Corso up to 5 x 5 has its own
search, which takes seconds, or many minutes in the first few plies, unless --limit ends it sooner.
Other positions can be searched to the end of the game, if they are late.

  ludarium probe osiron --moves "b1-c1 c2-c1"
  ludarium probe corso --moves "c3 b2 c3!"
  ludarium probe corso --option size=4                 the start of a smaller board
  ludarium probe corso --position "5/2O2/1X3/5/5 0"    any position
  ludarium probe corso --moves "c3 b2" --outcome       only who wins: sooner
  ludarium probe onyx --record game.json               a game that `play` saved
  ludarium probe onyx --record game.json --back 8      8 plies before the end of it

Ctrl-C ends a search and prints the results so far. The exit status is 1 if something is left
undecided."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument(
        "--moves",
        default="",
        help="moves from the start on, or from the end of the record on, with commas or spaces "
        "between them (commas if moves have spaces)",
    )
    add_position(parser, "begin with this position instead of the start")
    parser.add_argument(
        "--record", metavar="FILE", help="begin with this game instead of the start"
    )
    parser.add_argument(
        "--back", type=read_count, default=0, metavar="N", help="take back the last N moves"
    )
    add_seed(parser, "seed of a random start", 0)
    parser.add_argument(
        "--outcome", action="store_true", help="only who wins, not by how much: faster"
    )
    parser.add_argument(
        "--limit",
        type=read_count,
        metavar="N",
        help="most positions searched for all actions together, such as 1e7 (default "
        f"{EndgameSolver.default_limit:,}; for Corso up to 5 x 5 no limit)",
    )
    parser.add_argument(
        "--memory",
        type=read_bytes,
        metavar="BYTES",
        help=f"memory for the table of the search (default {MEMORY >> 20}MiB; for Corso "
        f"up to 5 x 5 {CORSO_MEMORY >> 20}MiB)",
    )
    add_options(parser)
    add_threads(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Find the values; exit status 1 if some are undecided, 130 after Ctrl-C."""
    played = _read_game(given)
    game = played.game
    position = game.start(played.seed, played.start)
    moves = position.play_all(played.actions)
    if position.is_over:
        raise ValueError(
            "the game is over after these moves, nothing is left to choose (--back takes moves "
            f"back):\n{position.board_text()}"
        )
    prober = prober_of(game, given.memory, given.threads).at(position)
    started = time.perf_counter()
    with shown_progress(can_stop=True) as progress:
        answers = prober.actions(position, given.limit, progress, not given.outcome)
    seconds = time.perf_counter() - started
    undecided = sum(not answer.is_decided for answer in answers.values())
    nodes = sum(answer.nodes for answer in answers.values())
    data = {
        "game": game.name,
        "options": dict(game.options),
        "seed": played.seed,
        "moves": moves,
        "position": position.text,
        "source": prober.source,
        **_as_json(position, answers),
        "undecided": undecided,
        "stopped": progress.stopped,
        "seconds": round(seconds, 3),
    }
    effort = f", {nodes:,} positions in {seconds:.1f} s" if prober.searches else ""
    text = f"{_as_text(position, answers)}\nsource: {prober.source}{effort}"
    if undecided:
        say(
            f"ludarium: {undecided} of {len(answers)} actions not decided within {nodes:,} "
            f"positions{', when it was stopped' if progress.stopped else ''}.\n"
            f"To decide more: {_advice(prober, given, progress.stopped)}."
        )
    return Result(data, text, STOPPED if progress.stopped else int(undecided > 0))


def _as_json(position: Position, answers: dict[int, ValueBounds]) -> dict[str, Any]:
    """A position, its exact value for the mover, and those of its actions, best first."""
    return {
        "board": position.board_text().splitlines(),
        "mover": f"player_{position.mover}",
        **ValueBounds.best(answers.values()).as_json(),
        "actions": [
            {"action": action, "text": position.action_to_text(action), **answer.as_json()}
            for action, answer in answers.items()
        ],
    }


def _as_text(position: Position, answers: dict[int, ValueBounds]) -> str:
    """The same data as text for people."""
    rows = [[position.action_to_text(action), str(each)] for action, each in answers.items()]
    return "\n".join(
        [
            position.board_text(),
            f"for player_{position.mover}, to move: {ValueBounds.best(answers.values())}",
            text_table(None, rows, left=(0, 1)),
        ]
    )


def _advice(prober: Prober, given: argparse.Namespace, is_stopped: bool) -> str:
    """What the user can try if a search did not suffice."""
    ways = ["ask about a later position (more --moves, or less --back)"]
    if not given.outcome and prober.game.max_score:
        ways.append("ask with --outcome who wins only")
    limit = 10 * (prober.default_limit if given.limit is None else given.limit) or 10_000
    ways.append("let it search longer" if is_stopped else f"search with --limit {limit}")
    return ", or ".join(ways)


def _read_game(given: argparse.Namespace) -> RecordedGame:
    """The game up to the position that is asked about."""
    options = read_options(given.option)
    if given.record is None:
        played = RecordedGame(make_game(given.game, **options), given.seed, given.position)
    else:
        played, _ = read_record(given.record, given.game, options, given.seed, given.position)
    position = played.game.start(played.seed, played.start)
    position.play_all(played.actions)
    actions = [*played.actions, *play_moves(position, given.moves)]
    if given.back > len(actions):
        raise ValueError(f"--back {given.back}: there are {len(actions)} moves to take back")
    return played._replace(actions=actions[: len(actions) - given.back])
