"""What runs in the process of a self-play actor. It knows nothing of Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import msgspec
import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.threads import one_core
from ludarium.models import PolicyValueNetwork
from ludarium.models.backends import ONNX, Backend, OnnxNetwork, write_onnx
from ludarium.training.alphazero.actors import LocalActors, Weights, largest_search
from ludarium.training.alphazero.bootstrap import GAMES, bootstrap_samples
from ludarium.training.alphazero.self_play import SelfPlay, SelfPlayResult, choose_threads
from ludarium.training.search import SearchSettings

_PLIES_OF_A_GAME = 32  # about; so that the bootstrap has few positions more than asked for
_GAMES_OF_A_CORE = 64
_GAMES_OF_A_GPU = 1024
_GAMES_OF_A_VARIANT = 16  # at least: fewer make batches that no network is fast in


@dataclass(frozen=True)
class Played:
    """A game that actors play: the run's, or one of its variants.

    Attributes:
        game: the rules.
        share: of the positions.
        dtype: of the samples, from `sample_dtype`.
        network: of the architecture that plays.
    """

    game: Game
    share: float
    dtype: np.dtype
    network: PolicyValueNetwork


@dataclass(frozen=True)
class Job:
    """What all actors of a run are told when they start.

    Attributes:
        games: that they play.
        config: of the run.
        capacity: most positions of an order.
        start: the iteration at which this process has begun or gone on; actors of another start
            play other games.
    """

    games: tuple[Played, ...]
    config: AlphaZeroConfig
    capacity: int
    start: int

    def parallel(self, cpus: int, device: str) -> int:
        """Games that an actor plays in parallel, of all of `games` together."""
        given = self.config.cluster.games
        if given is not None:
            return given
        usual = _GAMES_OF_A_CORE * cpus if device == "cpu" else _GAMES_OF_A_GPU
        return min(self.config.self_play.games, usual)


@dataclass(frozen=True)
class PackedWeights:
    """The weights for one game as they travel: plain arrays, which processes of a node share.

    Attributes:
        version: see `Weights`.
        arrays: the network's tensors by name.
        examples, written: see `Weights`.
    """

    version: int
    arrays: dict[str, np.ndarray]
    examples: np.ndarray
    written: dict[Backend, OnnxNetwork]

    @classmethod
    def pack(cls, weights: Weights, backends: Collection[Backend] = ()) -> PackedWeights:
        """Copy the weights, and write the network for those of the backends that are `ONNX`.

        Writing it, in integers above all, costs as much as hundreds of positions. So it is done
        here, once a version, and not by each actor.
        """
        tensors = weights.network.state_dict().items()
        arrays = {name: value.detach().cpu().numpy().copy() for name, value in tensors}
        written = {
            backend: write_onnx(weights.network, backend, weights.examples)
            for backend in ONNX
            if backend in backends
        }
        return cls(weights.version, arrays, weights.examples, written)

    def unpack(self, network: PolicyValueNetwork) -> Weights:
        """Load the weights into a network."""
        tensors = {name: torch.from_numpy(array.copy()) for name, array in self.arrays.items()}
        network.load_state_dict(tensors)
        return Weights(self.version, network, self.examples, written=self.written)

    @property
    def size(self) -> int:
        """Bytes."""
        arrays = [self.examples, *self.arrays.values()]
        written = sum(len(each.model) for each in self.written.values())
        return written + sum(array.nbytes for array in arrays)


@dataclass(frozen=True)
class Order:
    """A chunk that an actor is to play.

    Attributes:
        number: of the order in this run.
        game: which of the job's.
        positions: to search.
        settings: of the search; None for games of the bootstrap, which need no network.
        seconds: after which the chunk ends, however far it has come.
        measures: whether to measure how far the backend is from PyTorch.
    """

    number: int
    game: int
    positions: int
    settings: SearchSettings | None
    seconds: float
    measures: bool = False


@dataclass(frozen=True)
class Delivery:
    """What an actor posts.

    Attributes:
        game: which of the job's was played.
        result: positions of the games that have ended, and counts.
        version: of the weights.
        loading: seconds that it took to load the weights.
        playing: seconds of play.
        backend: that runs the network; None without one.
        deviation: of the backend, for the log, if the order asked for it.
    """

    game: int
    result: SelfPlayResult
    version: int
    loading: float
    playing: float
    backend: str | None
    deviation: dict[str, float]


class SelfPlayer:
    """A self-play actor: plays the chunks that it is asked for; unfinished games continue.

    Args:
        job: of all actors.
        number: of this one; no other has it.
        cpus: cores that it may use.
        device: torch's name of where the network runs.
    """

    def __init__(self, job: Job, number: int, cpus: int, device: str) -> None:
        torch.set_num_threads(cpus)
        self.job = job
        self.cpus = cpus
        self.device = device
        self._seed = np.random.SeedSequence([job.config.seed, job.start, number])
        self._actors: dict[int, LocalActors] = {}
        self._versions: dict[int, int] = {}

    def ready(self) -> int:
        """Compile the game, unless that is done on this machine; the process number."""
        config = self.job.config
        play = msgspec.structs.replace(config.self_play, games=1, positions=1, cache=0.0)
        settings, seed = largest_search(config)._replace(simulations=1), np.random.SeedSequence(0)
        first = self.job.games[0]

        def know_nothing(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Answers of a network that knows nothing."""
            count = len(observations)
            answers = np.zeros((count, first.game.num_actions), np.float32)
            return answers, np.zeros(count, np.float32)

        SelfPlay(first.game, play, settings, 1, seed, first.dtype).play(settings, know_nothing)
        return os.getpid()

    def play(self, order: Order, weights: Sequence[PackedWeights]) -> Delivery:
        """Play a chunk.

        Args:
            order: of the driver.
            weights: a version, for each of the job's games.
        """
        began = time.perf_counter()
        packed = weights[order.game]
        with one_core() if self.cpus == 1 else nullcontext():
            if order.settings is None:
                loaded, deviation, backend = began, {}, None
                result = self._bootstrap(order)
            else:
                actors = self._loaded(order.game, packed)
                deviation = actors.deviation(packed.examples) if order.measures else {}
                backend = actors.backend
                loaded = time.perf_counter()
                result = actors.self_play.play(
                    order.settings,
                    actors.engine,
                    positions=order.positions,
                    seconds=order.seconds,
                    version=packed.version,
                )
        playing = time.perf_counter() - loaded
        return Delivery(
            order.game, result, packed.version, loaded - began, playing, backend, deviation
        )

    def _bootstrap(self, order: Order) -> SelfPlayResult:
        """Games of UCT."""
        played, config = self.job.games[order.game], self.job.config
        wanted = msgspec.structs.replace(config.bootstrap, positions=order.positions)
        seed = np.random.SeedSequence([config.seed, self.job.start, order.number])
        samples = bootstrap_samples(
            played.game,
            wanted,
            config.self_play.opening_plies,
            seed,
            played.dtype,
            games=max(1, min(GAMES, order.positions // _PLIES_OF_A_GAME)),
        )
        return SelfPlayResult.of_playouts(samples, wanted.playouts)

    def _loaded(self, number: int, packed: PackedWeights) -> LocalActors:
        """One of the games, with this version of the weights."""
        actors = self._actors.get(number)
        if actors is not None and packed.version == self._versions[number]:
            return actors
        played = self.job.games[number]
        weights = packed.unpack(played.network)
        if actors is None:
            config = self._config_of(played)
            bootstrap_seed, seed = self._seed.spawn(2)
            actors = self._actors[number] = LocalActors(
                played.game,
                config,
                choose_threads(config.self_play, self.device),
                played.dtype,
                self.device,
                weights,
                bootstrap_seed,
                seed,
            )
        else:
            actors.load(weights)
        self._versions[number] = packed.version
        return actors

    def _config_of(self, played: Played) -> AlphaZeroConfig:
        """The run's configuration with this actor's part of one of the games."""
        config, job = self.job.config, self.job
        play = config.self_play
        games = job.parallel(self.cpus, self.device)
        if len(job.games) > 1:
            games = max(min(games, _GAMES_OF_A_VARIANT), round(games * played.share))
        own = {
            "games": games,
            "positions": job.capacity,
            "cache": play.cache * min(1.0, games / play.games),
            "workers": self.cpus if self.device == "cpu" else None,
        }
        return msgspec.structs.replace(config, self_play=msgspec.structs.replace(play, **own))
