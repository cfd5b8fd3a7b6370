"""DQN of Tianshou on its PettingZoo wrapper: one network for both seats.

    python examples/tianshou_dqn.py
    python examples/tianshou_dqn.py --game onyx --options '{"size": 6}' --steps 100000

Masks: Tianshou's `PettingZooEnv` turns `observation["action_mask"]` into `obs.mask`, which its
Q-learning policies obey, even when they explore (its policy-gradient ones do not).

The transition after a player's own is the opponent's, whose value is the opponent's. So values are
learnt from those two plies later, when it is the same player's turn again. If a turn may have
several actions (Obelisk, Obsidio), a `--horizon` of a whole game avoids the problem.
"""

from __future__ import annotations

import argparse
import json
import logging

import numpy as np
import torch
from scoring import score_against_random
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.env.pettingzoo_env import PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from ludarium.envs import make_raw

ENVS = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--steps", type=int, default=10_000, help="plies to learn from")
    parser.add_argument(
        "--horizon",
        type=int,
        default=2,
        help="plies after which the network's value is used (n-step return)",
    )
    arguments = parser.parse_args()
    logging.getLogger("tianshou").setLevel(logging.ERROR)  # it warns of rewards for two players
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  Tianshou explores with it

    def make_env():
        # An illegal action is a ValueError in these environments, so that none goes unnoticed.
        return PettingZooEnv(make_raw(arguments.game, **arguments.options))

    env = make_env()
    game = env.env.game
    network = Net(
        state_shape=game.observation_shape,
        action_shape=game.num_actions,
        hidden_sizes=(128, 128),
    )
    # `eps_inference` too: Tianshou 2.0.1 does not tell the policies inside a multi-agent one that
    # it is training, so that they would not explore with `eps_training` alone.
    policy = DiscreteQLearningPolicy(
        model=network, action_space=env.action_space, eps_training=0.2, eps_inference=0.2
    )
    learner = DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=1.0,
        n_step_return_horizon=arguments.horizon,
    )
    both = MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=env)
    envs = DummyVectorEnv([make_env] * ENVS)
    collector: Collector = Collector(
        both, envs, VectorReplayBuffer(20_000, ENVS), exploration_noise=True
    )

    def choose(observations, masks):
        seen = Batch(obs=Batch(obs=observations, mask=masks == 1), info=Batch())
        with torch.no_grad():
            return policy(seen).act

    before = score_against_random(choose, arguments.game, arguments.options)
    both.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=arguments.steps,
            collection_step_num_env_steps=10 * ENVS,
            update_step_num_gradient_steps_per_sample=0.1,
            batch_size=256,
            multi_agent_return_reduction=lambda rewards: rewards[:, 0],
            verbose=False,
            show_progress=False,
        )
    )
    after = score_against_random(choose, arguments.game, arguments.options)
    print(f"score against random play: {before:.1%} untrained, {after:.1%} trained")


if __name__ == "__main__":
    main()
