"""MaskablePPO of Stable-Baselines3 (sb3-contrib) learns one side of a game.

    python examples/sb3_maskable_ppo.py
    python examples/sb3_maskable_ppo.py --game onyx --options '{"size": 6}' --steps 200000

The opponent plays at random inside the environment; the learner alternates between seats. Masks:
MaskablePPO calls the environment's `action_masks()`, which all `ludarium/...` ids have.
"""

from __future__ import annotations

import argparse
import json

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from scoring import score_against_random

import ludarium.envs
from ludarium.envs.making import gymnasium_id


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster

    env = gymnasium.make(
        gymnasium_id(arguments.game, ludarium.envs.GAMES.versions()[arguments.game]),
        opponent="random",
        seat="alternate",
        illegal="raise",  # an illegal action would be a mistake here
        **arguments.options,
    )
    model = MaskablePPO("MlpPolicy", env, n_steps=512, batch_size=128, seed=0, device="cpu")

    def choose(observations, masks):
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    before = score_against_random(choose, arguments.game, arguments.options)
    model.learn(arguments.steps)
    after = score_against_random(choose, arguments.game, arguments.options)
    print(f"score against random play: {before:.1%} untrained, {after:.1%} trained")


if __name__ == "__main__":
    main()
