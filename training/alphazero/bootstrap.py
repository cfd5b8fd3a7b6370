"""Bootstrap: the first training positions, from games of UCT with random playouts.

An untrained network plays worse than random playouts and costs more, so the first games come from
playouts (Wang, Preuss and Plaat, "Warm-Start AlphaZero Self-Play Search Enhancements", 2020). They
use no knowledge but the rules.
"""

from __future__ import annotations

import time

import numpy as np

from ludarium.base.progress import Progress
from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents.searcher import Drawn
from ludarium.training.agents.uct import UCTSpec
from ludarium.training.agents.uniform import RandomAgent
from ludarium.training.evaluation.kernels import match as match_kernels
from ludarium.training.evaluation.openings import draw_openings

from .samples import join_samples

_MOST_GAMES = 128  # games played in parallel
_POSITIONS_OF_A_GAME = 64  # positions for each further game in parallel


def bootstrap_samples(
    game: Game,
    config: AlphaZeroConfig,
    seed: np.random.SeedSequence,
    dtype: np.dtype,
    progress: Progress,
) -> np.ndarray:
    """Samples from whole games of UCT: as many as the configuration asks for, or a few more.

    There are fewer if the seconds of the configuration run out: then random moves finish the games
    in progress without a search, so that long games are not left out.

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
    wanted = config.bootstrap.positions
    agent = UCTSpec(playouts=config.bootstrap.playouts).make(game, seed.spawn(1)[0])
    rng = np.random.default_rng(seed.spawn(1)[0])
    finisher = RandomAgent(game, seed.spawn(1)[0])
    games = min(_MOST_GAMES, 1 + wanted // _POSITIONS_OF_A_GAME)
    end = time.perf_counter() + config.bootstrap_seconds
    play = specialise(match_kernels, game).play
    draw = Drawn(1.0)

    def played() -> np.ndarray:
        """Play ``games`` games to their ends; return their samples."""
        states = np.concatenate(
            [
                draw_openings(
                    game, 1, int(rng.integers(config.self_play.opening_plies + 1)), child
                ).states
                for child in np.random.SeedSequence(int(rng.integers(2**63))).spawn(games)
            ]
        )
        chunks: list[np.ndarray] = []
        numbers: list[np.ndarray] = []
        while len(going := np.flatnonzero(states["outcome"] == ONGOING)):
            now = states[going]
            if chunks and time.perf_counter() >= end:
                play(game.tables, now, finisher.actions(now), game.num_actions)
                states[going] = now
                continue
            result = agent.search(now)
            chunk = np.zeros(len(going), dtype)
            chunk["state"] = now
            chunk["policy"] = result.policies
            chunks.append(chunk)
            numbers.append(going)
            illegal = play(game.tables, now, draw(result, rng), game.num_actions)
            assert illegal < 0, "an action without playouts was drawn"
            states[going] = now
            progress.advance(len(going))
            progress.check()
        samples, rows = join_samples(chunks), np.concatenate(numbers)
        scores = [game.kernels.score(game.tables, states[n : n + 1]) for n in range(games)]
        samples["outcome"] = states["outcome"][rows]
        samples["score"] = np.array(scores)[rows]
        return samples

    found = [played()]
    while sum(map(len, found)) < wanted and time.perf_counter() < end:
        found.append(played())
    return join_samples(found)
