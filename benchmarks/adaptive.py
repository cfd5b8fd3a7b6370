"""How soon ``level:auto`` settles near half of the points against opponents of fixed strength.

    python benchmarks/adaptive.py --game corso --opponent greedy --opponent uct:1000 --repeats 4

Each repeat is a run of games one after the other against a new ``level:auto``, which begins in the
middle of its ladder. Seats alternate. The score is that of ``level:auto``.
"""

from __future__ import annotations

import argparse

import numpy as np

from ludarium.envs.single import SingleAgentEnv
from ludarium.training.agents import Agent, make_agent, read_agent
from ludarium.training.evaluation import wilson_interval


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--opponent", action="append", metavar="AGENT")
    parser.add_argument("--games", type=int, default=60, help="of a run (default 60)")
    parser.add_argument("--settled", type=int, default=20, help="games not counted (default 20)")
    parser.add_argument("--repeats", type=int, default=4)
    given = parser.parse_args()
    game = read_agent(given.game).choose_game({})
    assert game is not None
    for name in given.opponent or ["random", "greedy", "uct:100", "uct:1000"]:
        adaptive = make_agent("level:auto", game)
        opponent = make_agent(name, game)
        runs = [play_run(adaptive, opponent, given.games, seed) for seed in range(given.repeats)]
        points = np.array([run for run, _ in runs])
        early, late = points[:, : given.settled], points[:, given.settled :]
        low, high = wilson_interval(late.sum(), late.size)
        elo = ", ".join(f"{elo:.0f}" for _, elo in runs)
        print(
            f"{name:10} games 1 to {given.settled}: {early.mean():.1%}; games {given.settled + 1} "
            f"to {given.games}: {late.mean():.1%} ({low:.1%} to {high:.1%}, {late.size} games); "
            f"Elo at the end {elo}",
            flush=True,
        )


def play_run(adaptive: Agent, opponent: Agent, games: int, seed: int) -> tuple[np.ndarray, float]:
    """Points of ``adaptive`` in games one after the other, float[games], and its final Elo."""
    adaptive.restart(seed)
    opponent.restart(seed + 1)
    env = SingleAgentEnv(adaptive.game, opponent=adaptive, seat="alternate")
    points = np.zeros(games)
    for number in range(games):
        env.reset(seed=seed if number == 0 else None)
        is_over = False
        while not is_over:
            action = opponent.choose(env.board.position)
            _, reward, terminated, truncated, _ = env.step(action)
            is_over = terminated or truncated
        points[number] = (1 - reward) / 2
    return points, adaptive.elo  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
