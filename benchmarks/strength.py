"""Measures in how many minutes of processor time training from nothing reaches a strength.

    python benchmarks/strength.py                 # all games: 48 minutes of training, and matches
    python benchmarks/strength.py --games corso --seeds 1 2 3
    python benchmarks/strength.py --games corso --set learner.batch=512

Runs are those of `base` in ``ablations.py``: one core, 32 simulations for each move. The agent of
each iteration plays 100 games against uct:1000, with 32 simulations, and chooses moves without
search in the game's hard positions. ``minutes to 90 %`` is when the score is at least 90 % for the
first time in two iterations that follow each other, so that luck in one match does not count;
``minutes to 90 % kept`` is the same for the moves that keep the exact value. A dash: not within the
time. Compiling and measuring are not counted. A second call resumes the runs of the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from ablations import GAMES, SIMULATIONS, TINY, end_with_the_parent, train
from common import Row, new_parser, print_table

from ludarium.arena.curve import CurvePlan, Point, measure_curves

GOAL = 0.9
#: Minutes of processor time of a run: a few more than a game needs to reach the goal.
MINUTES = {
    "corso": 4.0,
    "onyx": 6.0,
    "osiron": 4.0,
    "obsidio": 6.0,
    "obelisk": 4.0,
}


def main() -> None:
    """Train, then measure the agent of each iteration."""
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--minutes", type=float, help="processor time of each run")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--folder", type=Path, default=Path("runs/strength"))
    given = parser.parse_args()
    if given.quick:
        given.games, given.seeds, given.minutes = ["corso"], [1], 0.02
        given.settings += TINY
        given.folder = Path(mkdtemp())
    rows = (measured(given, game, seed) for game in given.games for seed in given.seeds)
    print_table(rows, given.json)


def measured(given: argparse.Namespace, game: str, seed: int) -> Row:
    """Train one run and measure it."""
    folder = given.folder / f"{game}-{seed}"
    train_all(game, seed, given.minutes or MINUTES[game], folder, given.settings)
    return row(game, seed, folder, 2 if given.quick else 100)


def train_all(game: str, seed: int, minutes: float, folder: Path, settings: Sequence[str]) -> None:
    """Train a run that keeps the agent of each iteration; see `ablations.train`.

    A short run before it compiles, so that the time of the run has none of it.
    """
    kept = ["save={every: 1, keep: null}", *settings]
    with (
        ProcessPoolExecutor(
            1, get_context("spawn"), end_with_the_parent, max_tasks_per_child=1
        ) as pool,
        TemporaryDirectory() as scratch,
    ):
        pool.submit(train, game, "base", 1, 0.001, Path(scratch), TINY).result()
        pool.submit(train, game, "base", seed, minutes, folder, kept).result()


def points_against(folder: Path, games: int) -> Sequence[Point]:
    """The score of each iteration's agent against uct:1000."""
    plan = CurvePlan(against=("uct:1000",), games=games, simulations=SIMULATIONS)
    (curve,) = measure_curves([folder], plan)
    return curve.points


def row(game: str, seed: int, folder: Path, games: int) -> Row:
    """The measurements of one run."""
    (exact,) = measure_curves([folder], CurvePlan(exact_test="hard", simulations=0))
    found, kept = points_against(folder, games), exact.points
    return {
        "game": game,
        "seed": seed,
        "minutes": found[-1].seconds / 60,
        "iterations": found[-1].iteration,
        "minutes to 90 %": reached(found, "score"),
        "last score, %": 100 * found[-1].estimates["score"].value,
        "minutes to 90 % kept": reached(kept, "accuracy"),
        "kept at last, %": 100 * kept[-1].estimates["accuracy"].value,
    }


def reached(points: Sequence[Point], metric: str) -> float | str:
    """When a metric reached the goal in two points, in minutes; a dash if never."""
    for first, second in pairwise(points):
        if min(each.estimates[metric].value for each in (first, second)) >= GOAL:
            return first.seconds / 60
    return "-"


if __name__ == "__main__":
    main()
