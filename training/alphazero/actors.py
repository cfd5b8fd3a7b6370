"""Actors play the games that the learner learns from.

They take weights (`Actors.publish`), and return the positions that they have searched
(`Actors.bootstrap`, `Actors.play`). `LocalActors` are threads of this process; the actors of
`ludarium.training.cluster` are processes on many machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from ludarium.base.progress import Progress
from ludarium.configs import AlphaZeroConfig
from ludarium.configs.schema import SearchOptions
from ludarium.envs.engine.game import Game
from ludarium.models import PolicyValueNetwork
from ludarium.models.inference import torch_threads
from ludarium.training.networks import inference_engine
from ludarium.training.runs.state import flatten, unflatten
from ludarium.training.search import SearchSettings

from .bootstrap import bootstrap_samples
from .self_play import SelfPlay, SelfPlayResult, games_of_worker, torch_threads_of_worker
from .variants import VariantPacker


@dataclass(frozen=True)
class Weights:
    """A version of the network with which actors play.

    Attributes:
        version: how many iterations the network has learnt.
        networks: the network of each game that is played; its weights may change in place later.
        calibration_inputs: for each game float32 [n, *observation_shape], typical observations as
            the network sees them.
    """

    version: int
    networks: tuple[PolicyValueNetwork, ...]
    calibration_inputs: tuple[np.ndarray, ...]


class Actors(ABC):
    """The interface of all actors; see the module."""

    @abstractmethod
    def publish(self, weights: Weights) -> dict[str, Any]:
        """Give a version of the weights to the actors; return metrics for the log."""

    @abstractmethod
    def bootstrap(self, progress: Progress) -> SelfPlayResult:
        """Play the bootstrap: at least as many positions as the configuration asks for.

        There are fewer if ``bootstrap_seconds`` of the configuration end first.

        Args:
            progress: counts the positions.

        Raises:
            StoppedError: ``progress`` was stopped.
        """

    @abstractmethod
    def play(self, settings: SearchSettings, progress: Progress) -> SelfPlayResult:
        """Play the positions of an iteration of self-play.

        Args:
            settings: settings of the search.
            progress: counts the positions; an iteration is not stopped before its end.
        """

    @property
    @abstractmethod
    def resources(self) -> str:
        """The actors and their machines, for people."""

    def state(self) -> dict[str, np.ndarray]:
        """The games in progress, for `restore`; empty if they do not outlive the iteration."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Continue the games from `state`; return False if they do not fit, and new ones begin."""
        return not arrays

    def close(self) -> None:  # noqa: B027 - some have nothing to stop
        """Stop playing."""


class LocalActors(Actors):
    """Threads of this process, which play while the loop waits; several games take turns.

    Args:
        games: the games, and each one's share of the positions.
        packer: packs the samples of all games into records.
        config: the run's configuration; games in parallel, positions, cache and minutes are divided
            among the games by their shares.
        workers: number of threads.
        device: torch's name of the network's device.
        weights: weights of the first version.
        bootstrap_seed: seed of the bootstrap.
        seed: seed of self-play.
    """

    def __init__(
        self,
        games: Sequence[tuple[Game, float]],
        packer: VariantPacker,
        config: AlphaZeroConfig,
        workers: int,
        device: str,
        weights: Weights,
        bootstrap_seed: np.random.SeedSequence,
        seed: np.random.SeedSequence,
    ) -> None:
        self.packer = packer
        self.by_game = [
            _GameActor(game, _share_of(config, share), workers, device, *others)
            for (game, share), *others in zip(
                games,
                packer.dtypes,
                weights.networks,
                weights.calibration_inputs,
                bootstrap_seed.spawn(len(games)),
                seed.spawn(len(games)),
                strict=True,
            )
        ]
        self._version, self._chunks = weights.version, 0

    def publish(self, weights: Weights) -> dict[str, Any]:
        """Load the weights, and measure the backend's deviation from the network.

        For several games the largest deviation is logged.
        """
        self.load(weights)
        deviations = [
            actor.engine.deviation(inputs)
            for actor, inputs in zip(self.by_game, weights.calibration_inputs, strict=True)
        ]
        return {
            "backend": self.by_game[0].engine.backend,
            "policy_deviation": max(each.policy for each in deviations),
            "value_deviation": max(each.value for each in deviations),
        }

    def load(self, weights: Weights) -> None:
        """Load the weights into the inference engines."""
        for actor, network, inputs in zip(
            self.by_game, weights.networks, weights.calibration_inputs, strict=True
        ):
            actor.engine.update(network, inputs)
        self._version, self._chunks = weights.version, 0

    def bootstrap(self, progress: Progress) -> SelfPlayResult:
        """Play the bootstrap of each game."""
        return self._join([actor.bootstrap(progress) for actor in self.by_game])

    def play(self, settings: SearchSettings, progress: Progress) -> SelfPlayResult:
        """Play an iteration of each game.

        The seeds of new games follow from the version of the weights and how often `play` has been
        called with it.
        """
        key = self._version, self._chunks
        self._chunks += 1
        return self._join([actor.play(settings, key, progress) for actor in self.by_game])

    def _join(self, results: Sequence[SelfPlayResult]) -> SelfPlayResult:
        """One result with positions of all games; each part of it has the games' proportions.

        So the replay keeps the proportions where it forgets a part of an iteration.
        """
        joined = SelfPlayResult.joined(
            [
                replace(result, samples=self.packer.pack(number, result.samples))
                for number, result in enumerate(results)
            ]
        )
        counts = [len(result.samples) for result in results]
        places = np.concatenate([(np.arange(count) + 0.5) / count for count in counts])
        return replace(joined, samples=joined.samples[np.argsort(places, kind="stable")])

    @property
    def resources(self) -> str:
        """Device, number of threads, backend, and how many games there are if more than one."""
        first, count = self.by_game[0], len(self.by_game)
        return (
            f"{first.engine.device}, {first.self_play.workers} workers, network "
            f"{first.engine.backend}{f', {count} sets of options' if count > 1 else ''}"
        )

    def state(self) -> dict[str, np.ndarray]:
        """The games in progress, ``number/name`` for each array."""
        return flatten(dict(enumerate(actor.self_play.state() for actor in self.by_game)), "/")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Continue the games in progress; return whether those of each game fit."""
        fit = [
            actor.self_play.restore(unflatten(arrays, number, "/"))
            for number, actor in enumerate(self.by_game)
        ]
        return all(fit)


class _GameActor:
    """Plays one of the games; see `LocalActors`."""

    def __init__(
        self,
        game: Game,
        config: AlphaZeroConfig,
        workers: int,
        device: str,
        dtype: np.dtype,
        network: PolicyValueNetwork,
        calibration_inputs: np.ndarray,
        bootstrap_seed: np.random.SeedSequence,
        seed: np.random.SeedSequence,
    ) -> None:
        self.game = game
        self.config = config
        self.dtype = dtype
        self._bootstrap_seed = bootstrap_seed
        self._seed = seed
        batch = games_of_worker(config.self_play, workers)
        with torch_threads(torch_threads_of_worker(workers)):
            self.engine = inference_engine(
                game, network, batch, config.backend, device, calibration_inputs
            )
        most = config.self_play.most_simulations
        largest = msgspec.structs.replace(search_settings(config, 0.0), simulations=most)
        self.self_play = SelfPlay(game, config.self_play, largest, workers, self.engine, dtype)

    def bootstrap(self, progress: Progress) -> SelfPlayResult:
        samples = bootstrap_samples(
            self.game, self.config, self._bootstrap_seed, self.dtype, progress
        )
        playouts = len(samples) * self.config.bootstrap.playouts
        return SelfPlayResult(samples, Counter(positions=len(samples), simulations=playouts))

    def play(
        self, settings: SearchSettings, key: tuple[int, int], progress: Progress
    ) -> SelfPlayResult:
        spawned = (*self._seed.spawn_key, *key)
        seed = np.random.SeedSequence(self._seed.entropy, spawn_key=spawned)
        return self.self_play.play(settings, self.engine, seed, progress)


def _share_of(config: AlphaZeroConfig, share: float) -> AlphaZeroConfig:
    """The configuration for one of several games, which take turns."""
    play, bootstrap, minutes = config.self_play, config.bootstrap, config.budget.minutes
    return msgspec.structs.replace(
        config,
        self_play=msgspec.structs.replace(
            play,
            games=max(1, round(play.games * share)),
            positions=max(1, round(play.positions * share)),
            cache=play.cache * share,
        ),
        bootstrap=msgspec.structs.replace(
            bootstrap,
            positions=max(1, round(bootstrap.positions * share)) if bootstrap.positions else 0,
        ),
        budget=msgspec.structs.replace(
            config.budget, minutes=None if minutes is None else minutes * share
        ),
    )


def search_settings(config: AlphaZeroConfig, progress: float) -> SearchSettings:
    """Search settings of self-play at ``progress`` (0 to 1) of the run."""
    play = config.self_play
    keys = {name: getattr(play, name) for name in SearchOptions.__struct_fields__}
    usual = 1.0 if play.algorithm == "gumbel" else 0.25
    noise = usual if play.noise is None else play.noise
    return SearchSettings(simulations=play.simulations_at(progress), noise=noise, **keys)
