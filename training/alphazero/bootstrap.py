"""Bootstrap: the first training positions, from games of UCT with random playouts.

An untrained network plays worse than random playouts and costs more, so the first games come from
playouts (Wang, Preuss and Plaat, "Warm-Start AlphaZero Self-Play Search Enhancements", 2020). They
use no knowledge beyond the rules.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from ludarium.configs.schema import Bootstrap as BootstrapConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import Agent
from ludarium.training.agents.uct import UCTFactory
from ludarium.training.agents.uniform import RandomAgent
from ludarium.training.evaluation.kernels import match as match_kernels
from ludarium.training.evaluation.openings import draw_openings

from .samples import join_samples, sample_dtype

GAMES = 128  #: games played in parallel


def bootstrap_samples(
    game: Game,
    config: BootstrapConfig,
    opening_plies: int,
    seed: np.random.SeedSequence,
    dtype: np.dtype | None = None,
    progress: Callable[[int], None] | None = None,
    games: int = GAMES,
    seconds: float = math.inf,
) -> np.ndarray:
    """Samples from whole games of UCT: as many as the configuration asks for, or a few more.

    The policy target is the distribution of the playouts over the root actions. Moves are drawn
    from the same distribution, so that games differ.

    Args:
        game: the rules.
        config: number of positions, and playouts per move.
        opening_plies: each game starts with a random number of random plies, from 0 to this.
        seed: of all random numbers.
        dtype: of the samples, from `sample_dtype`; default: without optional fields.
        progress: called from time to time with the number of new positions.
        games: played in parallel to their ends, until there are enough positions.
        seconds: after which no position is searched any more. Random moves then end the games
            that are going on, so that long games are not left out.

    Returns:
        Structured array [N].
    """
    dtype = sample_dtype(game) if dtype is None else dtype
    agent = UCTFactory(playouts=config.playouts).make(game, seed.spawn(1)[0])
    rng = np.random.default_rng(seed.spawn(1)[0])
    random_agent = RandomAgent(game, seed.spawn(1)[0])
    found: list[np.ndarray] = []
    total, end = 0, time.perf_counter() + seconds
    while total < config.positions and (not found or time.perf_counter() < end):
        samples = _play_games(
            game, agent, opening_plies, rng, progress, dtype, games, end, random_agent
        )
        found.append(samples)
        total += len(samples)
    return join_samples(found)


def _play_games(
    game: Game,
    agent: Agent,
    opening_plies: int,
    rng: np.random.Generator,
    progress: Callable[[int], None] | None,
    dtype: np.dtype,
    games: int,
    end: float,
    finisher: Agent,
) -> np.ndarray:
    """Play games to their ends; the ``finisher`` from ``end`` on, a ``time.perf_counter``."""
    play = specialise(match_kernels, game.rules).play
    states = np.concatenate(
        [
            draw_openings(game, 1, int(rng.integers(opening_plies + 1)), child).states
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
        shares = result.policies
        chunk = np.zeros(len(going), dtype)
        chunk["state"] = now
        chunk["policy"] = shares
        chunk["search_value"] = result.values
        chunks.append(chunk)
        numbers.append(going)
        marks = rng.random((len(going), 1))
        actions = (shares.cumsum(axis=1) < marks * shares.sum(axis=1, keepdims=True)).sum(axis=1)
        illegal = play(game.tables, now, actions, game.num_actions)
        assert illegal < 0, "an action without playouts was drawn"
        states[going] = now
        if progress is not None:
            progress(len(going))
    samples, rows = join_samples(chunks), np.concatenate(numbers)
    scores = np.array(
        [game.kernels.score(game.tables, states[index : index + 1]) for index in range(len(states))]
    )
    samples["outcome"] = states["outcome"][rows]
    samples["score"] = scores[rows]
    return samples
