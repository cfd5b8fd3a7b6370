"""What runs in the process of a self-play actor. It knows nothing of Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Job:
    """What all actors of a run are told when they start.

    Attributes:
        game: the rules.
        config: of the run.
        dtype: of the samples, from `sample_dtype`.
        capacity: most positions of an order.
        start: the iteration at which this process has begun or gone on; actors of another start
            play other games.
        network: of the architecture that plays.
    """

    game: Game
    config: AlphaZeroConfig
    dtype: np.dtype
    capacity: int
    start: int
    network: PolicyValueNetwork

    def games(self, cpus: int, device: str) -> int:
        """Games that an actor plays in parallel."""
        given = self.config.cluster.games
        if given is not None:
            return given
        usual = _GAMES_OF_A_CORE * cpus if device == "cpu" else _GAMES_OF_A_GPU
        return min(self.config.self_play.games, usual)


@dataclass(frozen=True)
class PackedWeights:
    """A version of the weights as it travels: plain arrays, which processes of a node share.

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
        positions: to search.
        settings: of the search; None for games of the bootstrap, which need no network.
        resign_at: see `Actors.play`.
        seconds: after which the chunk ends, however far it has come.
        measures: whether to measure how far the backend is from PyTorch.
    """

    number: int
    positions: int
    settings: SearchSettings | None
    resign_at: float
    seconds: float
    measures: bool = False


@dataclass(frozen=True)
class Delivery:
    """What an actor posts.

    Attributes:
        result: positions of the games that have ended, and counts.
        version: of the weights.
        loading: seconds that it took to load the weights.
        playing: seconds of play.
        backend: that runs the network; None without one.
        deviation: of the backend, for the log, if the order asked for it.
    """

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
        games = job.games(cpus, device)
        config, play = job.config, job.config.self_play
        share = play.model_copy(
            update={
                "games": games,
                "positions": job.capacity,
                "cache": play.cache * min(1.0, games / play.games),
                "workers": cpus if device == "cpu" else None,
            }
        )
        self.config = config.model_copy(update={"self_play": share})
        self._seed = np.random.SeedSequence([config.seed, job.start, number])
        self._network = job.network
        self._actors: LocalActors | None = None
        self._version: int | None = None

    def ready(self) -> int:
        """Compile the game, unless that is done on this machine; the process number."""
        play = self.config.self_play.model_copy(update={"games": 1, "positions": 1, "cache": 0.0})
        game, settings = self.job.game, largest_search(self.config)._replace(simulations=1)
        seed = np.random.SeedSequence(0)
        SelfPlay(game, play, settings, 1, seed, self.job.dtype).play(settings, self._know_nothing)
        return os.getpid()

    def _know_nothing(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Answers of a network that knows nothing."""
        count = len(observations)
        answers = np.zeros((count, self.job.game.num_actions), np.float32)
        return answers, np.zeros(count, np.float32)

    def play(self, order: Order, weights: PackedWeights) -> Delivery:
        """Play a chunk."""
        began = time.perf_counter()
        with one_core() if self.cpus == 1 else nullcontext():
            if order.settings is None:
                loaded, deviation, backend = began, {}, None
                result = self._bootstrap(order)
            else:
                actors = self._loaded(weights)
                deviation = actors.deviation(weights.examples) if order.measures else {}
                backend = actors.backend
                loaded = time.perf_counter()
                result = actors.self_play.play(
                    order.settings,
                    actors.engine,
                    resign_at=order.resign_at,
                    positions=order.positions,
                    seconds=order.seconds,
                    version=weights.version,
                )
        playing = time.perf_counter() - loaded
        return Delivery(result, weights.version, loaded - began, playing, backend, deviation)

    def _bootstrap(self, order: Order) -> SelfPlayResult:
        """Games of UCT."""
        config = self.config.bootstrap.model_copy(update={"positions": order.positions})
        seed = np.random.SeedSequence([self.config.seed, self.job.start, order.number])
        samples = bootstrap_samples(
            self.job.game,
            config,
            self.config.self_play.opening_plies,
            seed,
            self.job.dtype,
            games=max(1, min(GAMES, order.positions // _PLIES_OF_A_GAME)),
        )
        return SelfPlayResult.of_playouts(samples, config.playouts)

    def _loaded(self, packed: PackedWeights) -> LocalActors:
        """The games, with this version of the weights."""
        if self._actors is not None and packed.version == self._version:
            return self._actors
        weights = packed.unpack(self._network)
        if self._actors is None:
            workers = choose_threads(self.config.self_play, self.device)
            bootstrap_seed, seed = self._seed.spawn(2)
            self._actors = LocalActors(
                self.job.game,
                self.config,
                workers,
                self.job.dtype,
                self.device,
                weights,
                bootstrap_seed,
                seed,
            )
        else:
            self._actors.load(weights)
        self._version = packed.version
        return self._actors
