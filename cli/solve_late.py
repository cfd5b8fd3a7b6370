"""``ludarium solve GAME`` for games without a solver of their own."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from ludarium.analysis import Progress
from ludarium.analysis.search import EndgameSolver, LatePosition, exact_positions, positions
from ludarium.envs.registry import GAMES, make_game
from ludarium.training.agents import make_agent

from .answers import answers_as_json
from .common import add_json, add_options, print_json, read_options
from .progress import searching
from .resources import add_resources, read_count

_DESCRIPTION = """\
Play games of {title}, walk back from their ends, and say what each legal action of a late position
is worth with best play, as far back as it can be decided within --limit positions: exact tests for
agents. With --json each position is a game record that `probe --record` reads, with the values.

  ludarium solve {name}{option} --positions 20 --json > {name}.json
  ludarium solve {name}{option} --agent uct:200 --limit 1e7        farther back
  ludarium solve {name}{option} --per-game 5 --only-choices        where the choice matters"""

#: Options of the board on which most can be decided.
_SMALL = {"onyx": " --option size=6", "obsidio": " --option size=7"}


def add_solve(games: argparse._SubParsersAction, name: str) -> None:
    """Describe ``ludarium solve GAME``."""
    parser = games.add_parser(
        name,
        help="late positions of played games",
        description=_DESCRIPTION.format(
            name=name, title=GAMES[name].title, option=_SMALL.get(name, "")
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--positions", type=int, default=10, metavar="N", help="how many (default 10)"
    )
    parser.add_argument(
        "--agent",
        default="random",
        help="that plays both sides: random, greedy, uct:PLAYOUTS, alphabeta:DEPTH, a checkpoint "
        "(default random)",
    )
    parser.add_argument(
        "--opening",
        type=int,
        default=positions.OPENING,
        metavar="PLIES",
        help=f"random plies at the start of each game (default {positions.OPENING})",
    )
    parser.add_argument(
        "--per-game",
        type=int,
        default=1,
        metavar="N",
        help="positions of each game, those farthest from its end (default 1)",
    )
    parser.add_argument(
        "--only-choices",
        action="store_true",
        help="only positions whose actions are not all worth the same",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default 0)")
    parser.add_argument(
        "--limit",
        type=read_count,
        default=positions.LIMIT,
        metavar="N",
        help=f"positions to search for each position (default {positions.LIMIT:.0e})",
    )
    parser.add_argument(
        "--outcome", action="store_true", help="only who wins, not by how much: faster"
    )
    add_resources(parser, "256MiB")
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=solve, game=name)


def solve(given: argparse.Namespace) -> int:
    """Play games, search their late positions, print these; after Ctrl-C those found by then."""
    game = make_game(given.game, **read_options(given.option))
    solver = EndgameSolver(game, given.memory, given.threads)
    solver.answer(game.start(given.seed), limit=1)  # compiles the kernels, which is not timed
    started, processor = time.perf_counter(), time.process_time()
    late_positions: list[LatePosition] = []
    with searching("positions found") as show:
        for late in _found(given, solver):
            late_positions.append(late)
            if not given.json:
                _print_late(late)
            if show(Progress(len(late_positions), given.positions, solver.nodes)):
                break
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    if given.json:
        print_json(
            {
                "game": game.name,
                "options": dict(game.options),
                "agent": given.agent,
                "opening": given.opening,
                "limit": given.limit,
                "seed": given.seed,
                "positions": [_late_as_json(late) for late in late_positions],
                "stopped": show.stopped,
                "nodes": solver.nodes,
                "seconds": round(seconds, 2),
                "processor_seconds": round(processor, 2),
            }
        )
    else:
        _print_summary(late_positions)
        print(
            f"{solver.nodes:,} positions searched in {seconds:.1f} s on {solver.threads} threads, "
            f"{processor:.1f} s of processor time"
        )
    return 130 if show.stopped else 0


def _found(given: argparse.Namespace, solver: EndgameSolver) -> Iterator[LatePosition]:
    return exact_positions(
        solver,
        given.positions,
        given.seed,
        make_agent(given.agent, solver.game),
        opening=given.opening,
        limit=given.limit,
        leads=not given.outcome,
        per_game=given.per_game,
        only_choices=given.only_choices,
    )


def _print_summary(late_positions: list[LatePosition]) -> None:
    if late_positions:
        plies = np.array([late.plies_to_end for late in late_positions])
        low, middle, high = np.percentile(plies, [10, 50, 90])
        print(
            f"plies before the end of the game: median {middle:.0f}, "
            f"eight tenths from {low:.0f} to {high:.0f}"
        )


def _print_late(late: LatePosition) -> None:
    best = late.best_actions
    texts = ", ".join(late.position.action_to_text(action) for action in best[:4])
    more = "" if len(best) <= 4 else ", ..."
    print(
        f"ply {late.position.ply} of {late.position.ply + late.plies_to_end}: "
        f"player_{late.position.mover} to move, {late.value}; "
        f"{len(best)} of {len(late.actions)} actions keep it: {texts}{more}"
    )


def _late_as_json(late: LatePosition) -> dict[str, object]:
    return {
        **late.to_record(),
        "plies_to_end": late.plies_to_end,
        **answers_as_json(late.position, late.actions),
    }
