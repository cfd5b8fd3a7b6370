"""Measures the speed of the environments and of comparable ones, in one run on this machine.

    python benchmarks/environments.py                    # all games, a quarter of an hour
    python benchmarks/environments.py --games onyx
    python benchmarks/environments.py --seconds 0.1 --only aec

Two tables:

- ``aec``: PettingZoo's loop (last, pick a legal action from the mask, step), and the same without
  picking, from recorded games; compared with PettingZoo's connect_four_v3;
- ``batch``: random play of N games at once, with masks and observations.

Every figure is measured ``--repeats`` times, in turns with the others, since other work on the
machine comes and goes; the tables have the best and the median, in steps or plies per second. In
``aec``, ``ratio`` is the median divided by connect_four_v3's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
from common import Row, new_parser, print_table
from pettingzoo import AECEnv

from ludarium.base.threads import available_cores
from ludarium.envs import GAMES, make, make_game, make_raw
from ludarium.envs.batch import BatchEnv

GAMES_RECORDED = 40

#: Runs for about this many seconds; returns plies or steps per second.
Measure = Callable[[float], float]


def main() -> None:
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--only", choices=["aec", "batch"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[64, 512, 2048, 8192])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, min(2, available_cores())])
    parser.add_argument("--seconds", type=float, default=0.3, help="duration of one measurement")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.games, arguments.sizes, arguments.threads = ["corso"], [64], [1]
        arguments.seconds, arguments.repeats = 0.02, 1
    warnings.simplefilter("ignore", DeprecationWarning)  # from PettingZoo, when it makes its games

    tables = {"aec": aec_rows, "batch": batch_rows}
    for name, rows in tables.items():
        if arguments.only in (None, name):
            print_table(rows(arguments), arguments.json)


def compare(measures: dict[str, Measure], arguments: argparse.Namespace) -> dict[str, Row]:
    """Best and median of each measure; they take turns, after a first turn to warm up."""
    figures: dict[str, list[float]] = {name: [] for name in measures}
    for measure in measures.values():
        measure(arguments.seconds / 5)
    for _ in range(arguments.repeats):
        for name, measure in measures.items():
            figures[name].append(measure(arguments.seconds))
    return {name: {"best": max(of), "median": median(of)} for name, of in figures.items()}


# PettingZoo.


def aec_rows(arguments: argparse.Namespace) -> Iterator[Row]:
    from pettingzoo.classic import connect_four_v3

    for game in arguments.games:
        for kind, own, peer in (
            ("env", make(game), connect_four_v3.env()),
            ("raw_env", make_raw(game), connect_four_v3.raw_env()),
        ):
            for what, loop in (("picking", picking_loop), ("environment only", replay_loop)):
                measures = {game: loop(own), "connect_four_v3": loop(peer)}
                results = compare(measures, arguments)
                for name, result in results.items():
                    peers = results["connect_four_v3"]
                    ratio = result["median"] / peers["median"]
                    yield {"name": name, "kind": kind, "loop": what, **result, "ratio": ratio}


def picking_loop(env: AECEnv) -> Measure:
    """Steps per second of whole random games, including the choice of actions."""
    random = np.random.default_rng(0)

    def measure(seconds: float) -> float:
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            steps += len(random_game(env, random))
        return steps / (time.perf_counter() - start)

    return measure


def replay_loop(env: AECEnv) -> Measure:
    """Steps per second of recorded random games, with only ``reset``, ``last`` and ``step``."""
    random = np.random.default_rng(0)
    games = [random_game(env, random) for _ in range(GAMES_RECORDED)]

    def measure(seconds: float) -> float:
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for actions in games:
                env.reset()
                for action in actions:
                    env.last()
                    env.step(action)
                steps += len(actions)
        return steps / (time.perf_counter() - start)

    return measure


def random_game(env: AECEnv, random: np.random.Generator) -> list[int | None]:
    """Play a random game; returns its actions, with the two ``None`` at the end."""
    env.reset()
    actions: list[int | None] = []
    while env.agents:
        observation, _, terminated, truncated, _ = env.last()
        action = None
        if not terminated and not truncated:
            action = int(random.choice(np.flatnonzero(observation["action_mask"])))
        env.step(action)
        actions.append(action)
    return actions


# Many games at once.


def batch_rows(arguments: argparse.Namespace) -> Iterator[Row]:
    for name in arguments.games:
        game = make_game(name)
        for dtype in ("float32", "uint8") if game.binary_observation else ("float32",):
            for count in arguments.sizes:
                measures = {}
                for threads in dict.fromkeys(arguments.threads):
                    games = BatchEnv(game, count, threads=threads, observation_dtype=dtype, seed=0)
                    measures[f"{threads} step_random"] = steps(games, games.step_random)
                    measures[f"{threads} step"] = steps(games, random_step(games))
                for label, result in compare(measures, arguments).items():
                    threads_used, call = label.split()
                    yield {
                        "game": name,
                        "observations": dtype,
                        "games": count,
                        "threads": int(threads_used),
                        "call": call,
                        **result,
                    }


def random_step(games: BatchEnv) -> Callable[[], None]:
    def step() -> None:
        games.step(games.random_actions())

    return step


def steps(games: BatchEnv, step: Callable[[], None]) -> Measure:
    """Plies per second of calls of ``step``."""

    def measure(seconds: float) -> float:
        calls, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            step()
            calls += 1
        return calls * games.num_envs / (time.perf_counter() - start)

    return measure


if __name__ == "__main__":
    main()
