"""Corso's inventor has a program and a network of his own: his rules beside ours, a match with him.

    pip install corso
    python examples/inventors_corso.py --compare 10000      # random games, a minute
    git clone https://github.com/Ball-Man/corso inventor
    NETWORK=inventor/az_experiments/5x5_64x4/az_network_5x5_64x4
    python examples/inventors_corso.py --network $NETWORK

His network (F. Mistri, "Mastering the game of Corso without human knowledge", 2023; MIT licence)
searches with his own code, as in his report: 100 simulations for each move, temperature 0. To play
against it yourself, with the folder of his network in ``CORSO_NETWORK``:

    cd examples && ludarium play corso --terminal --opponent python:inventors_corso:inventor
"""

import argparse
import os
import time
from functools import cache

import numpy as np
from corso.model import CellState, Corso, Terminal

from ludarium.envs import make_game
from ludarium.training.evaluation import play_match, table

#: What a cell holds, numbered as in `ludarium.envs.corso.rules`.
CONTENTS = (
    CellState(0, 0),
    *(CellState(player, marble) for marble in (True, False) for player in (1, 2)),
)


def his_state(position):
    """The inventor's description of a `Position`; his players are 1 and 2."""
    cells = [CONTENTS[content] for content in position.state.cells]
    size = position.game.size
    rows = [tuple(cells[rank * size : (rank + 1) * size]) for rank in range(size)]
    return Corso(tuple(rows), player_index=position.mover + 1)


def compare_rules(game, games, seed=1):
    """Play random games in both programs; ValueError where legal moves, board or result differ.

    Returns:
        The number of plies, and the seconds that each program took: ours, his.
    """
    random = np.random.default_rng(seed)
    plies, ours, theirs = 0, 0.0, 0.0
    for _ in range(games):
        position = game.start()
        state = his_state(position)
        while True:
            began = time.perf_counter()
            legal, rewards = position.legal_actions, position.rewards
            halfway = time.perf_counter()
            actions, (end, winner) = state.actions, state.terminal
            ours, theirs = ours + halfway - began, theirs + time.perf_counter() - halfway
            if end is not Terminal.NOT_TERMINAL:
                actions = []  # he names some there
                lead = 0 if end is Terminal.DRAW else 3 - 2 * winner  # of his player 1
                if not position.is_over or rewards != (lead, -lead):
                    raise ValueError(f"{position.text}: {rewards} here, there {(lead, -lead)}")
            if [action.row * game.size + action.column for action in actions] != list(legal):
                raise ValueError(f"{position.text}: legal are {legal}, for the inventor {actions}")
            if state != his_state(position):
                raise ValueError(f"{position.text}: the inventor has {state.board}")
            if not actions:
                break
            drawn = int(random.integers(len(actions)))
            began = time.perf_counter()
            position.play(int(legal[drawn]))
            halfway = time.perf_counter()
            state = state.step(actions[drawn])
            ours, theirs = ours + halfway - began, theirs + time.perf_counter() - halfway
            plies += 1
    return plies, ours, theirs


class Inventor:
    """The inventor's player, a function from a `Position` to an action.

    Args:
        network: the folder of his network.
        simulations: of his search, for each move.
    """

    def __init__(self, network, simulations=100):
        from corso.az import AZConvNetwork

        self.network, self.simulations = AZConvNetwork.load(network), simulations
        self.network.eval()

    def __call__(self, position):
        from corso.az import AZPlayer

        player = AZPlayer(self.network, self.simulations, temperature=0.0, seed=1)
        action = player.select_action(his_state(position))
        return action.row * position.game.size + action.column


def inventor(position):
    """The player with the network in ``CORSO_NETWORK``."""
    return _load(os.environ["CORSO_NETWORK"])(position)


_load = cache(Inventor)


def main():
    """Compare rules with ``--compare``; play a match and print its result with ``--network``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--compare", type=int, metavar="GAMES", help="compare random games")
    parser.add_argument("--size", type=int, default=5)
    parser.add_argument("--network", help="folder of the inventor's network")
    parser.add_argument("--simulations", type=int, default=100, help="of the inventor's search")
    parser.add_argument("--agent", default="corso:100", help="who plays against it")
    parser.add_argument("--games", type=int, default=40)
    given = parser.parse_args()

    game = make_game("corso", size=given.size)
    if given.compare:
        plies, ours, theirs = compare_rules(game, given.compare)
        print(f"{given.compare:,} games, {plies:,} plies: the same moves, boards and results")
        print(f"plies/s from Python: {plies / ours:,.0f} here, {plies / theirs:,.0f} there")
    if given.network:
        his = Inventor(given.network, given.simulations)
        print(table([play_match(game, given.agent, his, given.games, seed=1)]))


if __name__ == "__main__":
    main()
