"""Self-play PPO in one file, to read from top to bottom: the batched environment, and torch.

    python examples/ppo.py                                                   # half a minute
    python examples/ppo.py --game onyx --options '{"size": 6}' --steps 3000000

One network plays both sides of all games at once. The only difference from PPO for one agent is
that each value is the value for the player to move, so everything after a change of turn counts
with the opposite sign. Turns of several actions need nothing more. `ludarium train --algorithm ppo`
also plays against past selves, and shows the network symmetries of the game.

1. Play: the network draws some actions in every game.
2. Advantages: how much better each action turned out than the network's value of the position.
3. Learn: better actions become more probable, within bounds; values come closer to the results.

Masks: `games.masks` is int8[N, A], 1 for each legal action, of each game's player to move.

PPO: Schulman et al., "Proximal Policy Optimization Algorithms", 2017. Advantages: Schulman et al.,
"High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016. One file in the
style of CleanRL (Huang et al. 2022).
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from ludarium.envs import batch
from ludarium.training.evaluation import play_match

ENVS, PLIES = 128, 32  # games side by side, and plies of each between updates
EPOCHS, MINIBATCHES = 4, 4
LEARNING_RATE, ENTROPY, CLIP, LAMBDA = 2.5e-3, 0.03, 0.2, 0.95  # no discount: all games end


class Network(nn.Module):
    """A policy for all actions, and the value for the player to move."""

    def __init__(self, game) -> None:
        super().__init__()
        inputs = int(np.prod(game.observation_shape))
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()
        )
        self.policy = nn.Linear(128, game.num_actions)
        self.value = nn.Linear(128, 1)

    def forward(self, observations):
        """Logits of all actions, float32 [B, A]: all that a match needs."""
        return self.policy(self.body(observations))

    def evaluate(self, observations, masks):
        """The distribution of the legal actions, and the values [B]."""
        features = self.body(observations)
        logits = self.policy(features).masked_fill(masks == 0, -1e9)
        return Categorical(logits=logits), self.value(features)[:, 0]


@torch.no_grad()
def play(network: Network, games: batch.BatchEnv) -> dict[str, torch.Tensor]:
    """Play some plies; return the data, with advantages and returns, each [plies * games]."""
    steps = []
    for _ in range(PLIES):
        # Each step overwrites the buffers of `games`: copy what must stay.
        observations, masks = torch.tensor(games.observations), torch.tensor(games.masks)
        movers = games.movers.copy()
        policy, values = network.evaluate(observations, masks)
        actions = policy.sample()
        games.step(actions.numpy())  # would raise if an action was illegal
        ended = games.terminated | games.truncated
        # The sign of the next value for the player who has just moved: negative after a change
        # of turn, 0 after the end.
        signs = np.where(games.movers == movers, 1.0, -1.0) * ~ended
        steps.append(
            {
                "observations": observations,
                "masks": masks,
                "actions": actions,
                "log_probs": policy.log_prob(actions),
                "values": values,
                "rewards": torch.tensor(games.rewards[np.arange(ENVS), movers]),
                "signs": torch.tensor(signs, dtype=torch.float32),
            }
        )

    data = {name: torch.stack([step[name] for step in steps]) for name in steps[0]}
    values = data["values"]
    _, next_value = network.evaluate(torch.tensor(games.observations), torch.tensor(games.masks))
    advantage = torch.zeros(ENVS)
    data["advantages"] = torch.zeros_like(values)
    for ply in reversed(range(PLIES)):  # generalised advantage estimation
        sign = data["signs"][ply]
        error = data["rewards"][ply] + sign * next_value - values[ply]
        advantage = error + LAMBDA * sign * advantage
        data["advantages"][ply] = advantage
        next_value = values[ply]
    data["returns"] = data["advantages"] + values
    return {name: column.flatten(0, 1) for name, column in data.items()}


def learn(
    network: Network, optimizer: torch.optim.Optimizer, data: dict[str, torch.Tensor]
) -> None:
    """Learn by PPO's clipped objective, for some epochs."""
    for _ in range(EPOCHS):
        for rows in torch.randperm(ENVS * PLIES).chunk(MINIBATCHES):
            part = {name: column[rows] for name, column in data.items()}
            policy, values = network.evaluate(part["observations"], part["masks"])
            ratio = (policy.log_prob(part["actions"]) - part["log_probs"]).exp()
            advantages = part["advantages"]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = torch.min(ratio * advantages, clipped * advantages).mean()
            value_loss = (values - part["returns"]).square().mean()
            loss = -gain + 0.5 * value_loss - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--steps", type=int, default=500_000, help="plies of all games together")
    given = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster
    torch.manual_seed(0)

    games = batch.make(given.game, ENVS, seed=0, **given.options)
    network = Network(games.game)
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE, eps=1e-5)

    def report(when: str) -> None:
        """Print the score of the most probable actions, without search."""
        for opponent in ("random", "uct:100"):
            score = play_match(games.game, network, opponent, 400, seed=1).result.score
            print(f"{when}: score {score.value:.1%} against {opponent}")

    report("untrained")
    updates = given.steps // (ENVS * PLIES)
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - update / updates)  # falls to 0
        learn(network, optimizer, play(network, games))
    report("trained")


if __name__ == "__main__":
    main()
