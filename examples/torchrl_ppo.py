"""PPO of TorchRL on the PettingZoo environment: one network for both seats.

    python examples/torchrl_ppo.py
    python examples/torchrl_ppo.py --game osiron --options '{}' --frames 50000

Masks: `PettingZooWrapper` takes `observation["action_mask"]` out of the observation and gives it as
`"action_mask"`; `"mask"` beside it says who is to move. For the other player, the wrapper allows
every action and ignores the choice; here that player has a single choice, which has probability 1
and thus neither entropy nor gradient. `MaskedCategorical` does the rest.
"""

from __future__ import annotations

import argparse
import json
import warnings

import torch
from scoring import score_against_random
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss, ValueEstimators

from ludarium.envs import make_raw

BATCH, EPOCHS, MINIBATCHES = 1000, 6, 4
SEEN = [("player", "observation", "observation"), ("player", "mask")]


class Network(nn.Module):
    """Maps the observations of both players, and who is to move, to numbers for each player."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs + 1, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
            nn.Linear(128, outputs),
        )  # fmt: skip

    def forward(self, boards, is_mover):
        rows = boards.reshape(*is_mover.shape, -1)
        return self.layers(torch.cat([rows, is_mover.unsqueeze(-1)], dim=-1))


class Policy(Network):
    """Logits, and a mask of the legal actions, or of one action for the player not to move."""

    def forward(self, boards, is_mover, legal):
        choices = legal & is_mover.unsqueeze(-1)
        choices[..., 0] |= ~is_mover
        return super().forward(boards, is_mover), choices


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--frames", type=int, default=8_000, help="plies to learn from")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster
    torch.manual_seed(0)
    # TorchRL warns of every PettingZoo except the one of its tests; with ours, all this works.
    warnings.filterwarnings("ignore", message="PettingZoo in TorchRL is tested")

    # An illegal action is a ValueError in make_raw's environments, so that none goes unnoticed.
    env = PettingZooWrapper(
        make_raw(arguments.game, **arguments.options),
        use_mask=True,
        group_map={"player": ["player_0", "player_1"]},
        seed=0,
    )
    inputs, actions = env.game.planes_shape[0] * env.game.planes_shape[1], env.game.num_actions
    policy = Policy(inputs, actions)
    actor = ProbabilisticActor(
        TensorDictModule(
            policy,
            in_keys=[*SEEN, ("player", "action_mask")],
            out_keys=[("player", "logits"), ("player", "choices")],
        ),
        in_keys={"logits": ("player", "logits"), "mask": ("player", "choices")},
        out_keys=[("player", "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=("player", "log_prob"),
    )
    critic = ValueOperator(Network(inputs, 1), in_keys=SEEN, out_keys=[("player", "value")])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    keys = ("action", "reward", "done", "terminated", "value", "advantage", "value_target")
    loss.set_keys(**{key: ("player", key) for key in keys}, sample_log_prob=("player", "log_prob"))
    loss.make_value_estimator(ValueEstimators.GAE, gamma=1.0, lmbda=0.9)
    optimiser = torch.optim.Adam(loss.parameters(), 1e-3)

    def choose(observations, masks):
        boards, legal = torch.from_numpy(observations), torch.from_numpy(masks) == 1
        with torch.no_grad():
            logits, choices = policy(boards, torch.ones(len(boards), dtype=torch.bool), legal)
        return logits.masked_fill(~choices, -torch.inf).argmax(dim=-1).numpy()

    before = score_against_random(choose, arguments.game, arguments.options)
    collector = Collector(
        env,
        actor,
        frames_per_batch=BATCH,
        total_frames=arguments.frames,
        auto_register_policy_transforms=False,
    )
    for data in collector:
        with torch.no_grad():
            loss.value_estimator(data)
        for _ in range(EPOCHS):
            for rows in torch.randperm(BATCH).chunk(MINIBATCHES):
                losses = loss(data[rows])
                optimiser.zero_grad()
                sum(
                    losses[f"loss_{part}"] for part in ("objective", "critic", "entropy")
                ).backward()
                optimiser.step()
    after = score_against_random(choose, arguments.game, arguments.options)
    print(f"score against random play: {before:.1%} untrained, {after:.1%} trained")


if __name__ == "__main__":
    main()
