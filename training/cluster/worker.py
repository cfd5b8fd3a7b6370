"""What runs in the process of a self-play actor. It knows nothing of Ray."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.compile import sources_of
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.threads import one_core
from ludarium.training.alphazero.actors import Weights
from ludarium.training.alphazero.kernels import self_play as kernels
from ludarium.training.alphazero.mixture import MixedActors, Mixture
from ludarium.training.alphazero.self_play import SelfPlayResult, choose_threads
from ludarium.training.search import SearchSettings


@dataclass(frozen=True)
class Chunk:
    """A chunk of self-play.

    Attributes:
        result: positions of the games that have ended, and counts.
        version: of the weights.
        process: number of the process that played it.
        metrics: what runs the network, and how far it is from PyTorch, for the log; told by one
            actor, once a version.
    """

    result: SelfPlayResult
    version: int
    process: int
    metrics: dict[str, Any]


def identity(game: Game) -> dict[str, str]:
    """What must be the same on all nodes: versions of this package and of the game's rules.

    The rules have a version and a digest of their sources, with those of search and self-play.
    """
    digest = sources_of(kernels, game.rules)
    return {
        "ludarium": version("ludarium"),
        f"rules of {game.name}": f"version {game.version} ({digest})",
    }


@dataclass(frozen=True)
class Job:
    """What all actors of a run are told when they start.

    Attributes:
        games: that they play, and the share of the positions of each.
        mixture: of their samples.
        start: the iteration at which the driver has begun or gone on; actors of another start play
            other games.
        identity: of the driver's installation, see `identity`.
    """

    games: Sequence[tuple[Game, float]]
    mixture: Mixture
    start: int
    identity: Mapping[str, str]


class SelfPlayer:
    """A self-play actor: plays the chunks that it is asked for.

    Args:
        job: what all actors are told.
        config: of the run, with this actor's part of games, positions and cores.
        device: torch's name of where the network runs.
        number: of the actor; no other has it. The first one measures the backend.
    """

    def __init__(self, job: Job, config: AlphaZeroConfig, device: str, number: int) -> None:
        self._job = job
        self._config = config
        self._device = device
        self._number = number
        self._threads = choose_threads(config.self_play, device)
        torch.set_num_threads(self._threads)
        self._actors: MixedActors | None = None
        self._version: int | None = None

    def play(self, weights: Weights, settings: SearchSettings | None) -> Chunk:
        """Play a chunk.

        Args:
            weights: a version.
            settings: of the search; None for games of the bootstrap, which need no network.

        Raises:
            ValueError: this node has another ludarium or other rules than the driver's.
        """
        metrics: dict[str, Any] = {}
        with one_core() if self._threads == 1 else nullcontext():
            if self._actors is None:
                self._actors = self._make_actors(weights)
            if settings is None:
                result = self._actors.bootstrap(_ignore)
                return Chunk(result, weights.version, os.getpid(), metrics)
            if weights.version != self._version and self._number == 0:
                metrics = self._actors.publish(weights)
            elif weights.version != self._version:
                self._actors.load(weights)
            self._version = weights.version
            result = self._actors.play(settings, _ignore)
            return Chunk(result, weights.version, os.getpid(), metrics)

    def _make_actors(self, weights: Weights) -> MixedActors:
        """Actors with new games; one that was started again has its number, but other games."""
        job, config = self._job, self._config
        for name, here in identity(job.games[0][0]).items():
            if here != job.identity[name]:
                raise ValueError(
                    f"node {socket.gethostname()} has {name} {here}, this run has "
                    f"{job.identity[name]}: install the same on all nodes"
                )
        seed = np.random.SeedSequence([config.seed, job.start, self._number, os.getpid()])
        return MixedActors(
            job.games, job.mixture, config, self._threads, self._device, weights, *seed.spawn(2)
        )


def _ignore(positions: int) -> None:
    """Nobody watches the progress within a chunk."""
