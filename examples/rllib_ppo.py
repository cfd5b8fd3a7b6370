"""PPO of RLlib on its PettingZoo wrapper, multi-agent: one module for both seats.

    python examples/rllib_ppo.py
    python examples/rllib_ppo.py --game onyx --options '{"size": 6}' --iterations 100

Masks: RLlib leaves them to the model. The module below reads `observation["action_mask"]` and
gives illegal actions no probability; RLlib hands the whole dict observation to it.

RLlib pins a version of Gymnasium: install RLlib and ludarium in an environment of their own.
"""

from __future__ import annotations

import argparse
import json

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune import register_env
from scoring import score_against_random
from torch import nn

from ludarium.envs import make_raw


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """Policy and value of a dict observation; illegal actions have no probability."""

    def setup(self):
        """Make the networks."""
        inputs = self.observation_space["observation"].shape
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(torch.Size(inputs).numel(), 128), nn.ReLU(),
            nn.Linear(128, 128), nn.ReLU(),
        )  # fmt: skip
        self.policy = nn.Linear(128, int(self.action_space.n))
        self.value = nn.Linear(128, 1)

    def _forward(self, batch, **kwargs):
        seen = batch[Columns.OBS]
        logits = self.policy(self.body(seen["observation"]))
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(seen["action_mask"] == 0, -1e9)}

    def compute_values(self, batch, embeddings=None):
        """Return the values of the observations."""
        return self.value(self.body(batch[Columns.OBS]["observation"])).squeeze(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--iterations", type=int, default=6, help="iterations of 2,000 plies")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster

    # An illegal action is a ValueError in make_raw's environments, so that none goes unnoticed.
    register_env("ludarium", lambda _: PettingZooEnv(make_raw(arguments.game, **arguments.options)))
    config = (
        PPOConfig()
        .environment("ludarium")
        .env_runners(num_env_runners=0)  # in this process
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda agent, episode: "both")
        .rl_module(rl_module_spec=MultiRLModuleSpec(
            rl_module_specs={"both": RLModuleSpec(module_class=MaskedModule)}
        ))
        .training(
            lr=1e-3, gamma=1.0, lambda_=0.9, entropy_coeff=0.01,
            train_batch_size_per_learner=2000, minibatch_size=250, num_epochs=6,
        )
        .debugging(seed=0, log_level="ERROR")
    )  # fmt: skip
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    algorithm = config.build_algo()

    def choose(observations, masks):
        seen = {
            "observation": torch.from_numpy(observations),
            "action_mask": torch.from_numpy(masks),
        }
        with torch.no_grad():
            outputs = algorithm.get_module("both").forward_inference({Columns.OBS: seen})
        return outputs[Columns.ACTION_DIST_INPUTS].argmax(dim=1).numpy()

    before = score_against_random(choose, arguments.game, arguments.options)
    for _ in range(arguments.iterations):
        algorithm.train()
    after = score_against_random(choose, arguments.game, arguments.options)
    print(f"score against random play: {before:.1%} untrained, {after:.1%} trained")
    algorithm.stop()


if __name__ == "__main__":
    main()
