"""``ludarium solve osiron`` and ``ludarium probe osiron``."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

from ludarium.analysis.osiron import OsironSolution, Totals, rule_set, solution_of, table_path
from ludarium.analysis.solution import Value
from ludarium.envs.engine.position import Position
from ludarium.envs.osiron import Osiron

from .common import add_json, print_json
from .progress import status

_SOLVE = """\
Compute what every position of Osiron is worth to its mover - won, lost or drawn, and in how
many plies if the winner hurries and the loser delays - by retrograde analysis: from the
finished games backwards, on all cores, in seconds. A position is a colouring of the 24
spaces, a player to move, and the pair that may not be exchanged back, if any.

Play without end counts as a draw; draws by repetition and the ply cap are ignored.

  ludarium solve osiron                              beginner rules
  ludarium solve osiron --setup alternating          all circles count; holds for random too
  ludarium probe osiron --moves "b1-c1"              ask it
  ludarium play osiron --opponent perfect            play against the solution"""

_PROBE = """\
Say what a position of Osiron is worth to the player to move, and each legal action, the best
first. Plies are counted from that position to the end of the game. Solves the game first if
that was not done (seconds). Draws by repetition and the ply cap are ignored.

  ludarium probe osiron                              the start
  ludarium probe osiron --moves "b1-c1 c2-c1"
  ludarium probe osiron --setup random --seed 7      some other start"""


def add_solve(games: argparse._SubParsersAction) -> None:
    """Describe ``ludarium solve osiron``."""
    parser = games.add_parser(
        "osiron",
        help="every position, in seconds",
        description=_SOLVE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--setup",
        choices=("beginner", "alternating"),
        default="beginner",
        help="whose rules: which circles count (default beginner)",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="where the table goes; default: the folder where probe and perfect look for it, "
        f"{table_path('SETUP')}",
    )
    parser.add_argument("--threads", type=int, help="default: as many as there are cores")
    add_json(parser)
    parser.set_defaults(run=solve)


def add_probe(games: argparse._SubParsersAction) -> None:
    """Describe ``ludarium probe osiron``."""
    parser = games.add_parser(
        "osiron",
        help="a position of Osiron",
        description=_PROBE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--moves", default="", metavar="MOVES", help='from the start on, such as "b1-c1 c2-c1"'
    )
    (setup,) = (option for option in Osiron.option_list if option.name == "setup")
    parser.add_argument(
        "--setup", choices=setup.accepts, default=setup.default, help=f"default {setup.default}"
    )
    parser.add_argument("--seed", type=int, default=0, help="of a random setup (default 0)")
    parser.add_argument("--table", metavar="FILE", help="a table that `solve --output` wrote")
    add_json(parser)
    parser.set_defaults(run=probe)


def solve(given: argparse.Namespace) -> int:
    """Solve, keep the table, print the totals."""
    game = Osiron(setup=given.setup)
    started = time.perf_counter()
    layers = 0
    with status("looking for finished games") as say:

        def show(layer: int, changed: int) -> None:
            nonlocal layers
            layers = layer
            say(f"decided in {layer} plies: {changed:,} colourings")

        solution = OsironSolution.solve(game, show, given.threads)
        start = solution.value(game.start())
        totals = solution.totals
        path = solution.save(given.output or table_path(rule_set(game)))
    seconds = time.perf_counter() - started
    if given.json:
        result = {
            "game": game.name,
            "setup": given.setup,
            **asdict(totals),
            "start_value": start.result,
            "start_plies": start.plies,
            "layers": layers,
            "seconds": round(seconds, 2),
            "table": str(path),
            "bytes": path.stat().st_size,
        }
        print_json(result)
    else:
        print(f"Osiron, setup {given.setup}, solved in {seconds:.1f} s")
        print(_totals_text(totals))
        print(f"the start is a {start} for player_0")
        print(f"table: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _totals_text(totals: Totals) -> str:
    rows = [
        ("for the mover", "no forbidden pair", "all positions"),
        ("won", f"{totals.won:,}", f"{totals.won_all:,}"),
        ("lost", f"{totals.lost:,}", f"{totals.lost_all:,}"),
        ("drawn", f"{totals.drawn:,}", f"{totals.drawn_all:,}"),
        ("longest win", f"{totals.longest_win_unforbidden} plies", f"{totals.longest_win} plies"),
    ]
    return "\n".join(f"  {name:<14} {free:>18} {every:>16}" for name, free, every in rows)


def probe(given: argparse.Namespace) -> int:
    """Play the moves, look up, print."""
    game = Osiron(setup=given.setup, repetition=0, max_plies=10_000)
    position = game.start(given.seed)
    for text in given.moves.replace(",", " ").split():
        position.play(position.text_to_action(text))
    if position.is_over:
        raise ValueError(
            f"the game is over after these moves, nothing is left to choose:\n{position}"
        )
    if given.table is None:
        solution = solution_of(game)
    else:
        solution = OsironSolution.load(Path(given.table), game)
    value, actions = solution.value(position), solution.actions(position)
    if given.json:
        print_json(
            {
                "game": game.name,
                "setup": given.setup,
                "moves": given.moves.replace(",", " ").split(),
                "board": position.board_text().splitlines()[-1],
                "mover": f"player_{position.mover}",
                **_as_json(value),
                "actions": [
                    {
                        "action": action,
                        "text": position.action_to_text(action),
                        **_as_json(worth),
                    }
                    for action, worth in actions.items()
                ],
            }
        )
    else:
        _print(position, value, actions)
    return 0


def _as_json(value: Value) -> dict[str, str | int | None]:
    return {"value": value.result, "plies": value.plies}


def _print(position: Position, value: Value, actions: dict[int, Value]) -> None:
    print(position.board_text())
    print(f"for player_{position.mover}, to move: {value}")
    for action, worth in actions.items():
        print(f"  {position.action_to_text(action)}  {worth}")
