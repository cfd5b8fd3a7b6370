"""``ludarium solve corso``."""

from __future__ import annotations

import argparse
import time

from ludarium.analysis import ValueBounds
from ludarium.analysis.corso import CorsoSolver, first_actions
from ludarium.analysis.corso.solver import EAGER
from ludarium.analysis.solver import after
from ludarium.envs.registry import make_game
from ludarium.training.table import percent, text_table

from .arguments import add_json, add_options, add_resources, read_count, read_seed
from .common import read_options
from .interrupt import STOPPED
from .progress import shown_progress
from .result import Result

HELP = "each first action, in minutes"
DESCRIPTION = """\
Compute the value of each first action of Corso with best play: alpha-beta search with a
table of exact keys, so the result is a proof if the program is right. One of each set of
symmetric first actions is searched. Ctrl-C prints the results so far.

  ludarium solve corso                         5 x 5: who wins, after each first action
  ludarium solve corso --score                 and by how much (longer)
  ludarium solve corso --option size=4 --score         takes a second
  ludarium solve corso --first-move c3 --memory 1GiB
  ludarium solve corso --seed 1 --eager 4 --score --threads 1
                                               again, with other places in the table, another
                                               order of actions, and by way of the exact leads
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_options(parser)
    parser.add_argument(
        "--first-move",
        action="append",
        metavar="MOVE",
        help="only this one (may be repeated; default: one of each symmetry class)",
    )
    parser.add_argument("--score", action="store_true", help="exact leads, not only who wins")
    parser.add_argument(
        "--seed", type=read_seed, default=0, help="of the places in the table (default %(default)s)"
    )
    parser.add_argument(
        "--eager",
        type=read_count,
        default=EAGER,
        metavar="CELLS",
        help="an expansion that takes marbles and adds so much or more to the lead is searched "
        "before placements (default %(default)s); changes the duration, not the result",
    )
    add_resources(parser, memory="4GiB")
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Return the values of the first actions."""
    game = make_game("corso", **read_options(given.option))
    solver = CorsoSolver(game, given.memory, given.threads, given.seed, given.eager)
    start = solver.game.start()
    if given.first_move:
        actions = [start.text_to_action(text) for text in given.first_move]
    else:
        actions = first_actions(solver.game)
    started = time.perf_counter()
    with shown_progress(can_stop=True) as progress:
        positions = [after(start, action) for action in actions]
        found = solver.answer_all(positions, progress=progress, leads=given.score)
    seconds = time.perf_counter() - started
    answers = {
        start.action_to_text(action): answer.reversed()
        for action, answer in zip(actions, found, strict=True)
    }
    best = ValueBounds.best(answers.values())
    data = {
        "game": solver.game.name,
        "options": dict(solver.game.options),
        "first_actions": {text: answer.as_json() for text, answer in answers.items()},
        "start": None if given.first_move else best.as_json(),
        "stopped": progress.stopped,
        "nodes": solver.nodes,
        "seconds": round(seconds, 2),
        "memory": solver.memory,
        "table_filled": round(solver.filled, 4),
        "threads": solver.threads,
        "seed": given.seed,
        "eager": given.eager,
    }
    rows = [
        [text, str(answer), f"{answer.nodes:,}", f"{answer.seconds:.1f}"]
        for text, answer in answers.items()
    ]
    lines = [
        f"{solver.game}, for player_0, who begins with",
        text_table(["first action", "value", "positions", "seconds"], rows, left=(0, 1)),
        f"{solver.nodes:,} positions in {seconds:.1f} s, threads: {solver.threads}; "
        f"table {solver.memory >> 20} MiB, {percent(solver.filled)} filled",
    ]
    if not given.first_move:
        lines.insert(2, f"value of the start for player_0: {best}")
    return Result(data, "\n".join(lines), STOPPED if progress.stopped else 0)
