"""AlphaZero in one file: self-play, replay, learning and evaluation, to read from top to bottom.

    python examples/alphazero.py                                # about a minute
    python examples/alphazero.py --game onyx --options '{"size": 6}' --iterations 200

It uses our rules, search and networks, and nothing of `ludarium.training.alphazero`, which does the
same faster: with games in compiled code, a network in 8 bits, symmetries, a bootstrap, schedules.
Here every step is a few lines to change.

1. Self-play: the current network plays games against itself. Each move is chosen by a search, which
   the network guides: its policy says which actions to try, its value what a position is worth.
2. Replay: each position is kept with the search's policy, which is better than the network's, and
   with the result of its game.
3. Learning: the network learns to predict both, from random positions of the latest games.
4. Evaluation: in a small game a search to the end finds the exact value of a position. We count the
   positions in which the move chosen keeps it, and points of games against others.

AlphaZero: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi and
Go through self-play", 2018. The search and its policy: Danihelka et al., "Policy improvement by
planning with Gumbel", 2022.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
from torch.nn import functional as F

from ludarium.analysis.exact_tests import make_exact_test
from ludarium.envs import batch
from ludarium.models import Evaluation, NetworkShape, build_network
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation import play_match, table
from ludarium.training.search import BatchSearch, SearchSettings

GAMES = 128  # played side by side in each iteration, to their ends
SIMULATIONS = 32  # of the search for one move
CAPACITY = 30_000  # positions in the replay buffer
BATCH = 256  # positions of a gradient step
REPLAY_RATIO = 4  # times that each position is learnt from, on average
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 1e-4


def evaluator(network):
    """The network as the search calls it: from observations [n, ...] to an `Evaluation`."""

    @torch.no_grad()
    def evaluate(observations):
        network.eval()
        output = network(torch.from_numpy(observations))
        wdl = output.outcome.softmax(dim=1)  # probabilities of a win, a draw and a loss
        return Evaluation(output.policy.numpy(), wdl.numpy(), output.score.numpy())

    return evaluate


def self_play(games, evaluate, seed):
    """Play all games from their start to their end, by search.

    Returns:
        Arrays with a row for each position: what the player to move saw, float32 [N, ...]; which
        actions were legal, int8 [N, A]; the search's policy, float32 [N, A]; and the game's
        result for that player, float32 [N]: 1 for a win, 0 for a draw, -1 for a loss.
    """
    # Noise at the root varies the games: Gumbel noise, with which the action is a sample from the
    # policy, where the search is not sure.
    settings = SearchSettings(simulations=SIMULATIONS, noise=1.0, solver=False)
    search = BatchSearch(games.game, settings, batch=games.num_envs, seed=seed)
    rewards = np.zeros((games.num_envs, 2), np.float32)  # of both players, at the end of each game
    steps = []
    games.reset()
    while len(playing := np.flatnonzero(games.masks.any(axis=1))):  # a game that is over has no
        found = search.run(games.states[playing], evaluate)  # legal action
        steps.append(
            {
                "game": playing,
                "mover": games.movers[playing],
                "observation": games.observations[playing],
                "mask": games.masks[playing],
                "policy": found.policies,
            }
        )
        games.play(playing, found.actions)
        rewards[playing] = games.rewards[playing]
    data = {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}
    result = rewards[data["game"], data["mover"]]
    return data["observation"], data["mask"], data["policy"], result


class Replay:
    """The latest positions of self-play, up to `CAPACITY`."""

    def __init__(self):
        self.columns = None

    def add(self, columns):
        """Add positions; the oldest leave."""
        if self.columns is not None:
            columns = [np.concatenate(pair) for pair in zip(self.columns, columns, strict=True)]
        self.columns = [column[-CAPACITY:] for column in columns]

    def sample(self, rng):
        """Random positions for a gradient step, as tensors."""
        rows = rng.integers(len(self.columns[0]), size=BATCH)
        return [torch.from_numpy(column[rows]) for column in self.columns]


def learn(network, optimizer, observations, masks, policies, results):
    """One gradient step on the cross-entropies of policy and outcome; returns both."""
    network.train()
    output = network(observations)
    logits = output.policy.masked_fill(masks == 0, -1e9)  # an illegal action has no probability
    policy_loss = F.cross_entropy(logits, policies)
    outcome_loss = F.cross_entropy(output.outcome, (1 - results).long())  # win 0, draw 1, loss 2
    optimizer.zero_grad()
    (policy_loss + outcome_loss).backward()
    optimizer.step()
    return policy_loss.item(), outcome_loss.item()


def kept(test, evaluate, simulations):
    """The share of the test's positions in which the move chosen keeps the exact value."""
    settings = SearchSettings(simulations=simulations, solver=False)
    search = BatchSearch(test.game, settings, batch=len(test), seed=0)
    actions = search.run(test.states, evaluate).actions
    return test.optimal_mask[np.arange(len(test)), actions].mean()


def main():
    """Train a network, and print how it plays before and after."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--options", type=json.loads, default={"size": 3}, help="as JSON")
    parser.add_argument("--iterations", type=int, default=50)
    given = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster
    torch.manual_seed(0)
    rng = np.random.default_rng(0)

    games = batch.make(given.game, GAMES, seed=0, **given.options)
    game = games.game
    network = build_network(NetworkShape(game.observation_shape, game.num_actions), 32, 2)
    optimizer = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    evaluate, replay = evaluator(network), Replay()
    test = make_exact_test(game, 500, seed=1, only_choices=True)  # where some moves lose value

    def report(when):
        policy, search = (kept(test, evaluate, simulations) for simulations in (1, SIMULATIONS))
        print(f"{when}: {policy:.1%} of moves keep the exact value, {search:.1%} with search")

    report("untrained")
    for iteration in range(1, given.iterations + 1):
        positions = self_play(games, evaluate, seed=iteration)
        replay.add(positions)
        steps = REPLAY_RATIO * len(positions[0]) // BATCH
        losses = [learn(network, optimizer, *replay.sample(rng)) for _ in range(steps)]
        policy_loss, outcome_loss = np.mean(losses, axis=0)
        print(f"iteration {iteration}: loss {policy_loss:.3f} policy, {outcome_loss:.3f} outcome")
    report("trained")
    agent = NetworkAgent(game, evaluate, simulations=SIMULATIONS, name="trained")
    print(table([play_match(game, agent, other, 100, seed=1) for other in ("random", "uct:100")]))


if __name__ == "__main__":
    main()
