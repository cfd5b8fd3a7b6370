"""`random_games`: the games by which random play is judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.training.agents import GameInPlay, RandomAgent, Seed
from ludarium.training.evaluation.games import Games
from ludarium.training.evaluation.match import play_games
from ludarium.training.evaluation.openings import Openings


class _IndependentAgent(RandomAgent):
    """Plays uniformly at random, in each game with that game's own random numbers.

    So a sample contains the same games, however many others are played beside them.

    Args:
        game: the rules.
        count: how many games.
        seed: seed of the random numbers.
    """

    def __init__(self, game: Game, count: int, seed: Seed) -> None:
        super().__init__(game)
        self._rngs = seed_rng(seed, count)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """See `Agent.play`."""
        rows = [each.number for each in games]
        streams = self._rngs[rows]
        chosen = self.draw(states, streams)
        self._rngs[rows] = streams
        return chosen


def random_games(game: Game, count: int, seed: int) -> Games:
    """Games of uniformly random legal actions.

    Args:
        game: the rules.
        count: how many games; the first ones are the same, however many follow.
        seed: seed of starts and actions.
    """
    for_starts, for_actions = np.random.SeedSequence(seed).spawn(2)
    seeds = for_starts.generate_state(count).tolist()
    agent = _IndependentAgent(game, count, for_actions)
    return play_games(game, (agent, agent), Openings.begun(game, seeds))
