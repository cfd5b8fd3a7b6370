"""The code that runs in the process of a self-play actor. It does not depend on Ray."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from ludarium.base.progress import SILENT
from ludarium.base.threads import one_core
from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.compile import sources_of
from ludarium.envs.engine.game import Game
from ludarium.models.kernels import source_digest
from ludarium.training.alphazero.actors import LocalActors, Weights
from ludarium.training.alphazero.kernels import self_play as kernels
from ludarium.training.alphazero.self_play import SelfPlayResult, choose_threads
from ludarium.training.alphazero.variants import VariantPacker
from ludarium.training.search import SearchSettings


@dataclass(frozen=True)
class PlayedChunk:
    """A chunk of self-play.

    Attributes:
        result: positions of the games that have ended, and counts.
        version: version of the weights; None for the bootstrap, which needs none.
        process: number of the process that played it.
        metrics: backend and its distance from PyTorch, for the log; one actor sends it, once
            a version.
    """

    result: SelfPlayResult
    version: int | None
    process: int
    metrics: dict[str, Any]


def identity_of(game: Game) -> str:
    """Everything that must be the same on all nodes: versions of this package and of the rules.

    The rules have a version and a digest of their sources, with those of search and self-play;
    compiled networks have their own digest. The nodes' processors may differ.
    """
    rules, networks = sources_of(kernels, game), source_digest()
    return (
        f"ludarium {version('ludarium')}, {game.name} version {game.version} ({rules}), compiled "
        f"networks ({networks})"
    )


class SelfPlayer:
    """A self-play actor, which plays the chunks that it is asked for.

    Args:
        games: the games that it plays, and each one's share of the positions.
        packer: packs their samples.
        config: the run's configuration, with this actor's part of games, positions and cores.
        identity: identity of the driver's installation, see `identity_of`.
        measures: whether it measures the backend, which one actor does for all.
    """

    def __init__(
        self,
        games: Sequence[tuple[Game, float]],
        packer: VariantPacker,
        config: AlphaZeroConfig,
        identity: str,
        measures: bool,
    ) -> None:
        self._games = games
        self._packer = packer
        self._config = config
        self._identity = identity
        self._measures = measures
        self._device = "cuda" if config.cluster.actor_gpus else "cpu"
        self._threads = choose_threads(config.self_play, self._device)
        torch.set_num_threads(self._threads)
        self._actors: LocalActors | None = None
        self._version: int | None = None

    def play(
        self, weights: Weights, settings: SearchSettings | None, config: AlphaZeroConfig
    ) -> PlayedChunk:
        """Play a chunk.

        Args:
            weights: a version of the weights.
            settings: settings of the search; None for bootstrap games, which need no network.
            config: the run's configuration with this actor's present part, which gets smaller when
                actors join. Games in progress go on.

        Raises:
            ValueError: this node has another ludarium or other rules than the driver.
        """
        metrics = None
        with one_core() if self._threads == 1 else nullcontext():
            if self._actors is None or config != self._config:
                playing = self._actors.state() if self._actors is not None else {}
                self._config = config
                self._actors = self._make_actors(weights)
                self._actors.restore(playing)
            if weights.version != self._version:
                load = self._actors.publish if self._measures else self._actors.load
                metrics, self._version = load(weights), weights.version
            if settings is None:
                result = self._actors.bootstrap(SILENT)
            else:
                result = self._actors.play(settings, SILENT)
        version = None if settings is None else weights.version
        return PlayedChunk(result, version, os.getpid(), metrics or {})

    def _make_actors(self, weights: Weights) -> LocalActors:
        """Make actors with a seed from the operating system, so that no two play the same games."""
        here = identity_of(self._games[0][0])
        if here != self._identity:
            raise ValueError(
                f"node {socket.gethostname()} has {here}, this run has {self._identity}: install "
                "the same on all nodes"
            )
        return LocalActors(
            self._games,
            self._packer,
            self._config,
            self._threads,
            self._device,
            weights,
            *np.random.SeedSequence().spawn(2),
        )
