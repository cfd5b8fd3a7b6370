"""A network of your own plays a match, without this package's training.

    python examples/own_agent.py                    # a minute: imitates uct:200, then plays
    python examples/own_agent.py --games 20 --against random

The network sees what the environments show, and answers with logits of all actions; any
``torch.nn.Module`` that does so can play (docs/guide/agents.md).
"""

import argparse

import numpy as np
import torch
from torch import nn

from ludarium.envs import make_game
from ludarium.training.evaluation import play_match, table


def imitation_data(game, teacher, games):
    """Observations float32 [N, ...] and actions int64 [N] of a teacher's games with itself."""
    observations, actions = [], []
    played = play_match(game, teacher, teacher, games, seed=1)
    for number in range(games):
        position = game.start(int(played.seeds[number]))
        for ply, action in enumerate(played.moves(number)):
            if ply >= played.opening_plies[number]:
                observations.append(position.observation())
                actions.append(action)
            position.play(action)
    return torch.from_numpy(np.array(observations)), torch.tensor(actions)


def main():
    """Train by imitation, play a match, print and return its result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--teacher", default="uct:200")
    parser.add_argument("--against", default="uct:1000")
    parser.add_argument(
        "--games",
        type=int,
        default=200,
        help="games of the match; the teacher plays five times as many",
    )
    given = parser.parse_args()

    game = make_game(given.game)
    observations, actions = imitation_data(game, given.teacher, 5 * given.games)
    torch.set_num_threads(1)  # faster for small networks, on a busy machine many times faster
    torch.manual_seed(1)
    network = nn.Sequential(
        nn.Flatten(),
        nn.Linear(observations[0].numel(), 256),
        nn.ReLU(),
        nn.Linear(256, game.num_actions),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.002)
    for _ in range(10):
        for batch in torch.randperm(len(actions)).split(128):
            loss = nn.functional.cross_entropy(network(observations[batch]), actions[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    result = play_match(game, network, given.against, given.games, seed=1)
    print(table([result]))
    return result


if __name__ == "__main__":
    main()
