"""Wrappers of SuperSuit around the PettingZoo environment.

    python examples/supersuit_wrappers.py
    python examples/supersuit_wrappers.py --game osiron --options '{}' --games 20

Masks: SuperSuit's wrappers of observations take arrays, not dicts with a mask. The first wrapper
below leaves only the array; the mask is still in `info["action_mask"]`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

import numpy as np
import supersuit

from ludarium.envs import make_raw


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--games", type=int, default=200)
    arguments = parser.parse_args()

    # An illegal action is a ValueError in make_raw's environments, so that none goes unnoticed.
    env = supersuit.observation_lambda_v0(
        make_raw(arguments.game, **arguments.options),
        lambda observation, space: observation["observation"],
        lambda space: space["observation"],
    )
    env = supersuit.flatten_v0(supersuit.dtype_v0(env, np.float16))
    env = supersuit.clip_reward_v0(env, lower_bound=0, upper_bound=1)  # a loss counts as a draw

    random, plies = np.random.default_rng(0), 0
    wins: Counter[str] = Counter()
    for game in range(arguments.games):
        env.reset(seed=game)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            assert observation.shape == env.observation_space(agent).shape
            if terminated or truncated:
                wins[agent] += int(reward)
                env.step(None)
            else:
                env.step(random.choice(np.flatnonzero(info["action_mask"])))
                plies += 1
    share = wins["player_0"] / arguments.games
    print(f"{arguments.games} games, {plies} legal plies; player_0 won {share:.1%}")


if __name__ == "__main__":
    main()
