"""Actors: whoever plays the games that the learner learns from.

The loop knows two things of them: they take weights (`Actors.publish`), and they post the
positions that they have searched (`Actors.bootstrap`, `Actors.play`). `LocalActors` are threads of
this process; those of `ludarium.training.cluster` are processes on many machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.models import PolicyValueNetwork
from ludarium.models.inference import torch_threads
from ludarium.training.networks import inference_engine
from ludarium.training.search import SearchSettings
from ludarium.training.search.settings import GUMBEL, NEVER, PUCT

from .bootstrap import GAMES, bootstrap_samples
from .self_play import SelfPlay, SelfPlayResult, games_of_worker, torch_threads_of_worker

_POSITIONS_OF_A_GAME = 64  #: for how many the bootstrap plays a game more in parallel

#: Called from time to time with the number of new positions.
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Weights:
    """A version of the network that plays.

    Attributes:
        version: iterations that it has learnt.
        network: with its weights; it may change later.
        examples: float32 [n, *observation_shape], typical observations as the network sees them.
        of_games: where one network plays several games, the weights of each; the fields above are
            those of the first.
    """

    version: int
    network: PolicyValueNetwork
    examples: np.ndarray
    of_games: tuple[Weights, ...] = ()


class Actors(ABC):
    """Whoever plays; see the module."""

    @abstractmethod
    def publish(self, weights: Weights) -> dict[str, Any]:
        """Give a version of the weights to whoever plays. Returns metrics for the log."""

    @abstractmethod
    def bootstrap(self, advance: Advance) -> SelfPlayResult:
        """Positions of the bootstrap: as many as the configuration asks for, or a few more.

        Fewer, if ``bootstrap_seconds`` of the configuration are over before.

        Args:
            advance: called from time to time; an error that it raises ends the bootstrap.
        """

    @abstractmethod
    def play(self, settings: SearchSettings, advance: Advance) -> SelfPlayResult:
        """Positions of an iteration of self-play.

        Args:
            settings: of the search.
            advance: called from time to time with the number of new positions.
        """

    @property
    @abstractmethod
    def resources(self) -> str:
        """Who plays where, for people."""

    @abstractmethod
    def load(self, weights: Weights) -> None:
        """The same as `publish` without metrics, as a run goes on."""

    def state(self) -> dict[str, np.ndarray]:
        """The games in progress, for `restore`; none where they do not outlive the iteration."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Go on with the games that `state` gave; whether they fit, or new ones are begun."""
        return not arrays

    def close(self) -> None:  # noqa: B027 - not everyone has something to stop
        """Stop playing."""


class LocalActors(Actors):
    """Threads of this process, which play while the loop waits for them.

    Args:
        game: the rules.
        config: of the run.
        workers: number of threads.
        dtype: of the samples, from `sample_dtype`.
        device: torch's name of where the network runs.
        weights: of the first version.
        bootstrap_seed: of the bootstrap.
        seed: of self-play.
    """

    def __init__(
        self,
        game: Game,
        config: AlphaZeroConfig,
        workers: int,
        dtype: np.dtype,
        device: str,
        weights: Weights,
        bootstrap_seed: np.random.SeedSequence,
        seed: np.random.SeedSequence,
    ) -> None:
        self.game = game
        self.config = config
        self.dtype = dtype
        self.device = device
        self._bootstrap_seed = bootstrap_seed
        self._seed = seed
        with torch_threads(torch_threads_of_worker(workers)):
            self.engine = inference_engine(
                game,
                weights.network,
                games_of_worker(config.self_play, workers),
                config.backend,
                device,
                weights.examples,
            )
        self.self_play = SelfPlay(
            game, config.self_play, largest_search(config), workers, self.engine, dtype
        )
        self._version, self._chunks = weights.version, 0

    def publish(self, weights: Weights) -> dict[str, Any]:
        """Load the weights, and measure what the backend makes of them."""
        self.load(weights)
        return {"backend": self.engine.backend} | self.deviation(weights.examples)

    def load(self, weights: Weights) -> None:
        """Load the weights into the inference engine."""
        self.engine.update(weights.network, weights.examples)
        self._version, self._chunks = weights.version, 0

    def deviation(self, examples: np.ndarray) -> dict[str, float]:
        """How far the backend's answers are from PyTorch's, for the log; see `Deviation`."""
        deviation = self.engine.deviation(examples)
        return {"policy_deviation": deviation.policy, "value_deviation": deviation.value}

    def bootstrap(self, advance: Advance) -> SelfPlayResult:
        """Play the games of the bootstrap."""
        config = self.config.bootstrap
        samples = bootstrap_samples(
            self.game,
            config,
            self.config.self_play.opening_plies,
            self._bootstrap_seed,
            self.dtype,
            advance,
            min(GAMES, 1 + config.positions // _POSITIONS_OF_A_GAME),
            self.config.bootstrap_seconds,
        )
        return SelfPlayResult.of_playouts(samples, config.playouts)

    def play(self, settings: SearchSettings, advance: Advance) -> SelfPlayResult:
        """Play an iteration.

        New games follow from the version of the weights and how often that has played.
        """
        key = (*self._seed.spawn_key, self._version, self._chunks)
        self._chunks += 1
        seed = np.random.SeedSequence(self._seed.entropy, spawn_key=key)
        return self.self_play.play(settings, self.engine, seed, advance)

    @property
    def resources(self) -> str:
        """Device, number of threads and backend."""
        return f"{self.device}, {self.self_play.workers} workers, network {self.engine.backend}"

    def state(self) -> dict[str, np.ndarray]:
        """See `SelfPlay.state`."""
        return self.self_play.state()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """See `SelfPlay.restore`."""
        return self.self_play.restore(arrays)


def search_settings(config: AlphaZeroConfig, progress: float) -> SearchSettings:
    """Search settings of self-play at ``progress`` (0 to 1) of the run."""
    play = config.self_play
    gumbel = play.algorithm == "gumbel"
    noise = play.noise if play.noise is not None else (1.0 if gumbel else 0.25)
    return SearchSettings(
        simulations=play.simulations_at(progress),
        algorithm=GUMBEL if gumbel else PUCT,
        max_considered=play.max_considered,
        noise=noise,
        value_scale=play.value_scale,
        maxvisit_init=play.maxvisit_init,
        rescale_values=play.rescale_values,
        c_puct=play.c_puct,
        dirichlet_alpha=play.dirichlet_alpha,
        temperature=play.temperature,
        prove=play.prove,
        temperature_plies=NEVER if play.temperature_plies is None else play.temperature_plies,
    )


def largest_search(config: AlphaZeroConfig) -> SearchSettings:
    """Search settings with the most simulations of the schedule."""
    settings = search_settings(config, 0.0)
    return settings._replace(simulations=config.self_play.most_simulations)
