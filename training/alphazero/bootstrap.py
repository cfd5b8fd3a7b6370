"""Bootstrap: the first training positions, from games of UCT with random playouts.

An untrained network plays worse than random playouts and costs more, so the first games come from
playouts (Wang, Preuss and Plaat, "Warm-Start AlphaZero Self-Play Search Enhancements", 2020). They
use no knowledge but the rules.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ludarium.base.progress import Progress
from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.training.agents.agent import Agent
from ludarium.training.agents.uct import UCTSpec
from ludarium.training.agents.uniform import RandomAgent
from ludarium.training.evaluation.match import play_games
from ludarium.training.evaluation.openings import Openings, draw_openings

from .samples import join_samples, new_samples, write_results

_MOST_GAMES = 128  # most games of a round, which are played in parallel
_POSITIONS_OF_A_GAME = 64  # for so many positions that are wanted, one game more in parallel


def bootstrap_samples(
    game: Game,
    config: AlphaZeroConfig,
    seed: np.random.SeedSequence,
    dtype: np.dtype,
    progress: Progress,
) -> np.ndarray:
    """Samples from games of UCT to their ends: at least as many as the configuration asks for.

    They are played in rounds of at most 128 games, after random plies as in self-play. There are
    fewer samples if the seconds of the configuration run out: then random moves finish the games in
    progress without a search, so that long games are not left out; a first search is always made.

    The policy target is the distribution of the playouts over the root actions. Moves are drawn
    from the same distribution, so games differ.

    Args:
        game: the rules.
        config: the run's configuration.
        seed: seed of all random numbers.
        dtype: dtype of the samples, from `sample_dtype`.
        progress: counts the positions.

    Returns:
        Structured array [N].

    Raises:
        StoppedError: ``progress`` was stopped.
    """
    agent = _Recorder(game, config, seed, dtype, progress)
    wanted, rng = config.bootstrap.positions, agent.rng
    games = min(_MOST_GAMES, 1 + wanted // _POSITIONS_OF_A_GAME)
    found: list[np.ndarray] = []
    while not found or (sum(map(len, found)) < wanted and time.perf_counter() < agent.end):
        seeds = np.random.SeedSequence(int(rng.integers(2**63))).spawn(games)
        plies = [int(rng.integers(config.self_play.opening_plies + 1)) for _ in seeds]
        openings = [draw_openings(game, 1, *each) for each in zip(plies, seeds, strict=True)]
        play_games(game, (agent, agent), Openings.joined(openings))
        found.append(agent.take())
    return join_samples(found)


class _Recorder(Agent):
    """Draws actions from the policies of UCT, and records each position with its policy.

    When the time is up, random moves play the games to their ends.

    Args:
        game, config, seed, dtype, progress: see `bootstrap_samples`.
    """

    def __init__(
        self,
        game: Game,
        config: AlphaZeroConfig,
        seed: np.random.SeedSequence,
        dtype: np.dtype,
        progress: Progress,
    ) -> None:
        super().__init__(game, "bootstrap", temperature=1.0)
        self._playouts = UCTSpec(playouts=config.bootstrap.playouts).make(game, seed.spawn(1)[0])
        self.rng = np.random.default_rng(seed.spawn(1)[0])
        self._finisher = RandomAgent(game, seed.spawn(1)[0])
        self.end = time.perf_counter() + config.bootstrap_seconds
        self._dtype, self._progress = dtype, progress
        self._recorded: list[np.ndarray] = []
        self._numbers: list[int] = []  # the game of each recorded position
        self._ends: dict[int, np.ndarray] = {}  # last position by game

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """See `Agent.play`."""
        if self._recorded and time.perf_counter() >= self.end:
            return self._finisher.actions(states)
        result = self._playouts.search(states)
        known = {"state": states, "policy": result.policies}
        self._recorded.append(new_samples(self._dtype, known))
        self._numbers += [each.number for each in games]
        self._progress.advance(len(states))
        self._progress.check()
        return self.select(result)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """See `Agent.finish`."""
        self._ends.update((each.number, each.position.states) for each in games)

    def take(self) -> np.ndarray:
        """The samples of the round that has ended, structured [N]; the next round starts anew."""
        samples = join_samples(self._recorded)
        ends = np.concatenate([self._ends[number] for number in range(len(self._ends))])
        write_results(samples, self.game, ends, np.array(self._numbers))
        self._recorded, self._numbers, self._ends = [], [], {}
        return samples
