"""Descent against AlphaZero: trained for the same processor time, playing at the same time a move.

    python benchmarks/descent.py corso --minutes 1.5 --seeds 1 2 3

Each run trains from nothing on one core for the same processor time (not wall time, so that other
work on the machine is fair to all). Then the two agents of each seed meet, and both meet a fixed
opponent. AlphaZero has 32 simulations for each move; Descent has as many expansions as take the
same processor time, measured on positions of random games. Prints a Markdown table; folders that
are there already are gone on with, so a killed run resumes.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ablations import COMMON, GAMES, train_by_processor_time

SIMULATIONS = 32  # of AlphaZero's agent
OPPONENT = "uct:1000"

#: What each algorithm's runs have, beside the shipped configuration and the budget.
SETTINGS: dict[str, list[str]] = {
    "alphazero": COMMON,
    "descent": [
        "self_play.workers=1",
        "network={channels: 32, blocks: 3}",
        "evaluation.every=0",
        "budget.iterations=100000",
    ],
}


def settings_of(game: str, algorithm: str, minutes: float, seed: int) -> list[str]:
    """All settings of a run; network, options and bootstrap are the same for both algorithms."""
    return [*SETTINGS[algorithm], *GAMES[game], f"budget.minutes={minutes}", f"seed={seed}"]


def train(
    game: str, algorithm: str, minutes: float, seed: int, folder: Path, extra: list[str]
) -> dict[str, Any]:
    """Train one agent; returns the last line of its log, and where the time went."""
    os.environ["OMP_NUM_THREADS"] = "1"
    from ludarium.configs import apply_settings, load_config

    name = f"{game}/{'default' if algorithm == 'alphazero' else algorithm}"
    config = apply_settings(
        load_config(name), [*settings_of(game, algorithm, minutes, seed), *extra]
    )
    lines = train_by_processor_time(config, folder)
    evaluations = sum(line["evaluations_per_second"] * line["play_seconds"] for line in lines)
    played = sum(line["positions_per_second"] * line["play_seconds"] for line in lines)
    return lines[-1] | {
        "iterations": len(lines),
        "positions": played,
        "evaluations": evaluations,
        "playing": sum(line["play_seconds"] for line in lines) / lines[-1]["seconds"],
    }


def milliseconds(name: str, game: Any) -> float:
    """Processor time of a move of a fresh agent, in a batch of positions; the best of three.

    Each time the positions are others: what a cache knows costs nothing.
    """
    import numpy as np

    from ludarium.training.agents import make_agent
    from ludarium.training.evaluation.openings import draw_openings

    agent = make_agent(name, game)
    best = float("inf")
    for seed in range(4):  # the first one compiles
        states = draw_openings(game, 96, 8, np.random.SeedSequence(seed)).states
        states = states[states["outcome"] == 0]
        started = time.process_time()
        agent.actions(states)
        if seed:
            best = min(best, (time.process_time() - started) / len(states))
    return 1000 * best


def measure(alphazero: Path, descent: Path, games: int) -> dict[str, Any]:
    """Scores of two agents against each other and the opponent, at equal time a move."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    from ludarium.envs.registry import make_stored_game
    from ludarium.models import load_header
    from ludarium.training.agents import make_agent
    from ludarium.training.evaluation import play_match

    torch.set_num_threads(1)
    header = load_header(alphazero / "agent.safetensors")
    game = make_stored_game(header.game, header.options)
    allowed = milliseconds(f"{alphazero}:{SIMULATIONS}", game)
    expansions = 8
    for _ in range(2):  # time is about proportional
        taken = milliseconds(f"{descent}:{expansions}", game)
        expansions = max(1, round(expansions * allowed / taken))
    first = make_agent(f"{alphazero}:{SIMULATIONS}", game)
    second = make_agent(f"{descent}:{expansions}", game)
    opponent = make_agent(OPPONENT, game, 1)
    matches = {
        "descent-alphazero": play_match(game, second, first, games, seed=1),
        "descent": play_match(game, second, opponent, games, seed=1),
        "alphazero": play_match(game, first, opponent, games, seed=1),
    }
    return {
        "expansions": expansions,
        "milliseconds": (allowed, milliseconds(f"{descent}:{expansions}", game)),
        **{name: (match.score, *match.interval) for name, match in matches.items()},
    }


def main() -> None:
    """Train and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", choices=sorted(GAMES))
    parser.add_argument("--minutes", type=float, default=1.5, help="processor time of each run")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--games", type=int, default=200, help="of each match")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="change a key of Descent's configuration",
    )
    parser.add_argument("--folder", type=Path, default=Path("runs/descent"))
    given = parser.parse_args()
    root = given.folder / given.game
    root.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(given.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = {
            (algorithm, seed): pool.submit(
                train,
                given.game,
                algorithm,
                given.minutes,
                seed,
                root / f"{algorithm}-{seed}",
                given.settings if algorithm == "descent" else [],
            )
            for seed in given.seeds
            for algorithm in SETTINGS
        }
        for (algorithm, seed), run in runs.items():
            log = run.result()
            print(
                f"{algorithm}, seed {seed}: {log['iterations']} iterations, "
                f"{log['positions']:,.0f} positions, {log['evaluations']:,.0f} evaluations, "
                f"{100 * log['playing']:.0f} % of the time playing",
                flush=True,
            )
        matches = {
            seed: pool.submit(
                measure, root / f"alphazero-{seed}", root / f"descent-{seed}", given.games
            )
            for seed in given.seeds
        }
        print(HEADING)
        for seed, match in matches.items():
            print(row(seed, match.result()), flush=True)


HEADING = f"""\
| seed | ms a move | expansions | Descent against AlphaZero | Descent against {OPPONENT} | \
AlphaZero against {OPPONENT} |
|---|---|---|---|---|---|"""


def row(seed: int, found: dict[str, Any]) -> str:
    """One seed's row."""
    cells = [str(seed), " / ".join(f"{value:.2f}" for value in found["milliseconds"])]
    cells.append(str(found["expansions"]))
    for name in ("descent-alphazero", "descent", "alphazero"):
        score, low, high = (100 * value for value in found[name])
        cells.append(f"{score:.1f} % ({low:.0f}-{high:.0f})")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
