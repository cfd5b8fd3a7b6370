"""Measures learner steps per second of self-play PPO, and of the tutorial way, in one run.

    python benchmarks/ppo.py                       # Corso 5 x 5 and Onyx 6 x 6
    python benchmarks/ppo.py --games corso --repeats 5 --threads 1

All rows have the same network, and count both playing and learning:

- ``tutorial``: sb3-contrib's `MaskablePPO`, with its default settings but for shorter rollouts,
  over a single PettingZoo environment in the wrapper of PettingZoo's own tutorial;
- ``tutorial, our settings``: the same with our minibatches and epochs, so that only the
  environment differs;
- ``batched``: `ludarium train GAME --algorithm ppo`.

A learner step is an action of the network that learns. In the tutorial it plays both sides; in
ours opponents answer, and their actions are not counted. The rows take turns; the table has the
best and the median of learner steps/s, medians for playing and for learning alone, and ``ratio``,
how many times faster the batched way is.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
from common import Row, new_parser, print_table
from pettingzoo.utils import BaseWrapper as AECWrapper
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker

from ludarium.configs import PPOConfig, apply_settings, load_config
from ludarium.envs import make, make_game
from ludarium.training.networks import fresh_network
from ludarium.training.ppo.loop import PPO
from ludarium.training.ppo.policy import NetworkPolicy
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder

_TUTORIAL_STEPS = 256  # in a rollout; speeds do not depend on it
_BATCHED_STEPS = 8  # in each game

#: Learns once; returns learner steps, seconds of playing, seconds of learning.
Measure = Callable[[], tuple[int, float, float]]


class TutorialWrapper(AECWrapper, gymnasium.Env):
    """A PettingZoo environment as a Gymnasium one in which both players take steps in turn.

    It is the wrapper of PettingZoo's tutorial for Stable-Baselines3 with action masking.
    """

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        AECWrapper.reset(self, seed, options)
        agent = self.possible_agents[0]
        self.observation_space = AECWrapper.observation_space(self, agent)["observation"]
        self.action_space = AECWrapper.action_space(self, agent)
        return self.observe(self.agent_selection), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        super().step(int(action))
        return super().last()

    def observe(self, agent: str) -> np.ndarray:
        return super().observe(agent)["observation"]

    def action_mask(self) -> np.ndarray:
        return super().observe(self.agent_selection)["action_mask"]


def main() -> None:
    parser = new_parser(__doc__, ["corso", "onyx"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, help="threads of torch; default: torch's choice")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.games, arguments.repeats, arguments.threads = ["corso"], 1, 1
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    rows = (row for name in arguments.games for row in game_rows(name, arguments.repeats))
    print_table(rows, arguments.json)


def game_rows(name: str, repeats: int) -> list[Row]:
    config = apply_settings(
        load_config(f"{name}/ppo"), [f"rollout.steps={_BATCHED_STEPS}", "evaluation.every=0"]
    )
    assert isinstance(config, PPOConfig)
    ours = {"batch_size": config.learner.batch, "n_epochs": config.learner.epochs}
    with tempfile.TemporaryDirectory() as folder:
        measures = {
            "tutorial": tutorial(config),
            "tutorial, our settings": tutorial(config, **ours),
            "batched": batched(config, folder),
        }
        found: dict[str, list[tuple[int, float, float]]] = {way: [] for way in measures}
        for measure in measures.values():
            measure()
        for _ in range(repeats):
            for way, measure in measures.items():
                found[way].append(measure())
    rows: list[Row] = []
    for way, results in found.items():
        speeds = [steps / (play + learn) for steps, play, learn in results]
        rows.append(
            {
                "game": name,
                "way": way,
                "best": max(speeds),
                "median": median(speeds),
                "playing": median(steps / play for steps, play, _ in results),
                "learning": median(steps / learn for steps, _, learn in results),
            }
        )
    for row in rows:
        row["ratio"] = rows[-1]["median"] / row["median"]
    return rows


def tutorial(config: PPOConfig, **settings: Any) -> Measure:
    game = make_game(config.game, **config.options)
    env = TutorialWrapper(make(config.game, **config.options))
    env.reset(seed=1)
    network = fresh_network(game, config.network)
    model = MaskablePPO(
        NetworkPolicy,
        ActionMasker(env, lambda wrapped: wrapped.action_mask()),  # type: ignore[attr-defined]
        n_steps=_TUTORIAL_STEPS,
        policy_kwargs={"network": network},
        device=config.device,
        **settings,
    )
    return timed(model, _TUTORIAL_STEPS)


def batched(config: PPOConfig, folder: str) -> Measure:
    algorithm = make_trainer(config, RunFolder(folder)).algorithm
    assert isinstance(algorithm, PPO)
    for number in range(config.opponents.active):
        algorithm.pool.add(number)
    algorithm.pool.prepare()
    return timed(algorithm.model, config.rollout.games * config.rollout.steps)


def timed(model: MaskablePPO, steps: int) -> Measure:
    """Time a call of ``learn`` for one rollout; a callback notes when learning begins."""

    def measure() -> tuple[int, float, float]:
        began = time.perf_counter()
        played = 0.0

        def on_step(_: dict, __: dict) -> bool:
            nonlocal played
            played = time.perf_counter() - began
            return True

        model.learn(steps, callback=on_step, log_interval=10**9, reset_num_timesteps=False)
        return steps, played, time.perf_counter() - began - played

    return measure


if __name__ == "__main__":
    main()
