"""Self-play PPO in one file, on the batched environment itself; it needs only torch.

    python examples/batch_ppo.py
    python examples/batch_ppo.py --game onyx --options '{"size": 6}' --steps 3000000

One network plays both sides of all games at once. The only difference from PPO for one agent is
that each value is the value for the player to move, so everything after a change of turn counts
with the opposite sign. Turns of several actions need nothing more.

Masks: `games.masks` is int8[N, A], 1 for each legal action, of each game's player to move.

PPO: Schulman et al. 2017; one file in the style of CleanRL (Huang et al. 2022).
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
from scoring import score_against_random
from torch import nn
from torch.distributions import Categorical

from ludarium.envs import batch

ENVS, PLIES = 128, 32  # games side by side, and plies of each between updates
EPOCHS, MINIBATCHES = 4, 4
LEARNING_RATE, ENTROPY, CLIP, LAMBDA = 1e-3, 0.01, 0.2, 0.9  # no discount: all games end


class Agent(nn.Module):
    """Logits of the legal actions, and the value for the player to move."""

    def __init__(self, game) -> None:
        super().__init__()
        inputs = int(np.prod(game.observation_shape))
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()
        )
        self.policy = nn.Linear(128, game.num_actions)
        self.value = nn.Linear(128, 1)

    def forward(self, observations, masks):
        features = self.body(observations)
        logits = self.policy(features).masked_fill(masks == 0, -1e9)
        return Categorical(logits=logits), self.value(features)[:, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--steps", type=int, default=300_000, help="plies of all games together")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # faster for a network this small, on a busy machine many times
    torch.manual_seed(0)

    games = batch.make(arguments.game, ENVS, seed=0, **arguments.options)
    agent = Agent(games.game)
    optimiser = torch.optim.Adam(agent.parameters(), LEARNING_RATE, eps=1e-5)

    def choose(observations, masks):
        with torch.no_grad():
            policy, _ = agent(torch.from_numpy(observations), torch.from_numpy(masks))
        return policy.probs.argmax(dim=1).numpy()

    before = score_against_random(choose, arguments.game, arguments.options)
    for _ in range(arguments.steps // (ENVS * PLIES)):
        learn(agent, optimiser, play(agent, games))
    after = score_against_random(choose, arguments.game, arguments.options)
    print(f"score against random play: {before:.1%} untrained, {after:.1%} trained")


@torch.no_grad()
def play(agent: Agent, games: batch.BatchEnv) -> dict[str, torch.Tensor]:
    """Play some plies; returns the data, with advantages and returns, each [plies * games]."""
    steps = []
    for _ in range(PLIES):
        # Each step overwrites the buffers of `games`: copy what must stay.
        observations, masks = torch.tensor(games.observations), torch.tensor(games.masks)
        movers = games.movers.copy()
        policy, values = agent(observations, masks)
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
    _, next_value = agent(torch.tensor(games.observations), torch.tensor(games.masks))
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


def learn(agent: Agent, optimiser: torch.optim.Optimizer, data: dict[str, torch.Tensor]) -> None:
    """Learn by PPO's clipped objective, for some epochs."""
    for _ in range(EPOCHS):
        for rows in torch.randperm(ENVS * PLIES).chunk(MINIBATCHES):
            part = {name: column[rows] for name, column in data.items()}
            policy, values = agent(part["observations"], part["masks"])
            ratio = (policy.log_prob(part["actions"]) - part["log_probs"]).exp()
            advantages = part["advantages"]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = torch.min(ratio * advantages, clipped * advantages).mean()
            value_loss = (values - part["returns"]).square().mean()
            loss = -gain + 0.5 * value_loss - ENTROPY * policy.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()


if __name__ == "__main__":
    main()
