"""`ClusterActors`: self-play by Ray actors.

Ray places the actors by the cores and GPUs that they ask for, restarts dead ones wherever
there is room, and repeats the chunk that they had begun. The driver orders chunks of self-play,
each with the newest weights, and takes whichever arrives first. An actor has at most a few orders,
and gets new ones while the learner waits: so actors that are faster than the learner wait for it.
"""

from __future__ import annotations

import copy
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ludarium.base.progress import Progress
from ludarium.configs import AlphaZeroConfig
from ludarium.configs.schema import ClusterConfig
from ludarium.training.alphazero.actors import Actors, Weights
from ludarium.training.alphazero.self_play import SelfPlayResult
from ludarium.training.alphazero.variants import VariantPacker
from ludarium.training.runs.trainer import Trainer
from ludarium.training.search import SearchSettings

from .connection import received
from .worker import PlayedChunk, SelfPlayer, identity_of

_CHUNKS = 2  # chunks that an actor plays in an iteration
_LEAST = 16  # fewest positions of a chunk, and games of each variant: fewer make small batches
_GAMES_OF_A_CORE = 64
_GAMES_OF_A_GPU = 1024
_FOREVER = -1  # Ray restarts actors and repeats calls without limit
_SILENCE = 300.0  # seconds without news from any actor, after which people are warned
_LOOK = 1.0  # seconds to wait for a chunk before checking the cluster


@dataclass(eq=False)
class _Actor:
    """The driver's data on an actor.

    Attributes:
        handle: Ray's handle.
        starts: Ray's reference that tells whether it has started.
        orders: how many chunks it was ordered to play that have not arrived yet.
        process: number of the process that played its latest chunk; 0 before the first.
    """

    handle: Any
    starts: Any
    orders: int = 0
    process: int = 0


class ClusterActors(Actors):
    """Actors on a cluster that this process has joined.

    Args:
        run: the trainer whose games they play.
        packer: packs their samples.
        weights: weights of the first version.
    """

    def __init__(self, run: Trainer, packer: VariantPacker, weights: Weights) -> None:
        assert isinstance(run.config, AlphaZeroConfig)
        self.config = run.config
        self._run = run
        self._packer = packer
        self._actors: list[_Actor] = []
        self._ordered: dict[Any, _Actor] = {}  # actor by the reference to its chunk
        self._arrived: list[PlayedChunk] = []
        self._is_bootstrapping = False
        self._backend_metrics: dict[str, Any] = {}  # metrics of an actor's backend
        self._delivered: set[_Actor] = set()  # actors that delivered since the last version
        self._lost, self._waited = 0, 0.0  # since the last version
        self._ages: list[int] = []  # in versions, of the weights of chunks taken since then
        self._taken_at: float | None = None
        self._has_room = True
        self._heard_at = time.perf_counter()  # last news, or last message about its absence
        self._is_silent = False  # whether that message was the latest event
        self._load(weights)
        self._staff()

    def publish(self, weights: Weights) -> dict[str, Any]:
        """Send these weights with all further orders; every node gets them once.

        Returns:
            Metrics of the actors since the last version, for the log.
        """
        self._load(weights)
        metrics = {
            **self._backend_metrics,
            "actors": len(self._delivered),
            "actors_lost": self._lost,
            "learner_waited": self._waited,
        }
        if self._ages:
            metrics["staleness"] = sum(self._ages) / len(self._ages)
        self._delivered.clear()
        self._lost, self._waited, self._ages = 0, 0.0, []
        return metrics

    def bootstrap(self, progress: Progress) -> SelfPlayResult:
        """Have the actors play the bootstrap."""
        began, seconds = time.perf_counter(), self.config.bootstrap_seconds
        self._is_bootstrapping = True
        self._wait(self.config.bootstrap.positions, None, progress, seconds)
        # Long games end late: without them the network would learn from short ones only.
        end = min(2 * time.perf_counter() - began, began + seconds)
        while self._ordered and time.perf_counter() < end:
            progress.advance(0)
            progress.check()
            self._receive()
        self._is_bootstrapping = False
        return self._take(math.inf, progress)

    def play(self, settings: SearchSettings, progress: Progress) -> SelfPlayResult:
        """Receive the positions of an iteration; the actors play on while the learner learns."""
        began = time.perf_counter()
        self._wait(self.config.self_play.positions, settings, progress)
        self._order(settings)
        result = self._take(self.config.self_play.positions, progress)
        now = time.perf_counter()
        seconds, self._taken_at = now - (self._taken_at or began), now
        return replace(result, seconds=seconds)

    @property
    def resources(self) -> str:
        """Where the learner and the actors run, in words."""
        return f"learner on {self._run.device}, actors on a Ray cluster"

    def close(self) -> None:
        """Stop the actors."""
        import ray

        for actor in self._actors:
            ray.kill(actor.handle)

    def _load(self, weights: Weights) -> None:
        """Put the weights into the object store."""
        import ray

        networks = tuple(copy.deepcopy(network).cpu() for network in weights.networks)
        self._version = weights.version
        self._weights = ray.put(replace(weights, networks=networks))

    def _staff(self) -> None:
        """Start as many actors as fit into the cluster, or as the configuration asks for."""
        import ray

        run, cluster = self._run, self.config.cluster
        room = room_in(ray.cluster_resources(), cluster)
        wanted = max(cluster.actors or max(1, room), len(self._actors))
        self._part = part_of(self.config, wanted, len(run.games))
        while len(self._actors) < wanted:
            actor = ray.remote(SelfPlayer).options(
                num_cpus=cluster.actor_cpus,
                num_gpus=cluster.actor_gpus,
                max_restarts=_FOREVER,
                max_task_retries=_FOREVER,
            )
            handle: Any = actor.remote(
                run.games, self._packer, self._part, identity_of(run.game), not self._actors
            )
            starts = handle.__ray_ready__.remote()
            self._actors.append(_Actor(handle, starts))
        if self._has_room and not room:
            run.progress.say(
                "the cluster has no room for an actor, which takes "
                f"{cluster.actor_cpus} cores and {cluster.actor_gpus:g} GPUs: waiting for a node"
            )
        self._has_room = room > 0

    def _order(self, settings: SearchSettings | None) -> None:
        """Give each started actor as many orders as it may have; see `SelfPlayer.play`.

        The bootstrap waits for all its chunks, so no more are ordered than it takes.
        """
        import ray

        starts = [actor.starts for actor in self._actors]
        started = set(ray.wait(starts, num_returns=len(starts), timeout=0)[0])
        most = max(1, _CHUNKS * (self.config.cluster.staleness - 1)) if settings is not None else 1
        for actor in self._actors:
            while actor.starts in started and actor.orders < most:
                if settings is None and self._is_bootstrap_ordered():
                    return
                chunk = actor.handle.play.remote(self._weights, settings, self._part)
                self._ordered[chunk] = actor
                actor.orders += 1

    def _is_bootstrap_ordered(self) -> bool:
        """Whether the chunks that have arrived or are ordered make the bootstrap whole.

        After a silence only those that have arrived count: the actors of others may be dead.
        """
        ordered = len(self._ordered) * self._part.bootstrap.positions
        coming = 0 if self._is_silent else ordered
        return _positions(self._arrived) + coming >= self.config.bootstrap.positions

    def _wait(
        self,
        wanted: int,
        settings: SearchSettings | None,
        progress: Progress,
        seconds: float = math.inf,
    ) -> None:
        """Order and receive chunks until ``wanted`` positions have come.

        After ``seconds`` any positions are enough. Only a bootstrap, without settings, can be
        stopped before.
        """
        began = time.perf_counter()
        self._staff()
        while (there := _positions(self._arrived)) < wanted:
            if there and time.perf_counter() - began >= seconds:
                break
            progress.advance(0)
            if settings is None:
                progress.check()
            self._order(settings)
            if not self._receive():
                self._staff()
        self._waited += time.perf_counter() - began

    def _receive(self) -> bool:
        """Receive a chunk that comes within a second; return whether one, or a start's news, came.

        Raises:
            ValueError: an actor cannot start, or its chunk is lost.
            Exception: an error that an actor raised.
        """
        import ray

        coming = [*self._ordered] or [actor.starts for actor in self._actors]
        come, _ = ray.wait(coming, timeout=_LOOK)
        self._mind_silence(bool(come))
        for reference in come:
            chunk = received(reference)
            actor = self._ordered.pop(reference, None)
            if actor is None:  # this only reports that it has started
                continue
            if actor.process not in (0, chunk.process):
                self._lost += 1
                self._run.progress.say(
                    f"the actor of process {actor.process} died; Ray started it again"
                )
            actor.process = chunk.process
            actor.orders -= 1
            self._delivered.add(actor)
            if chunk.version is None and not self._is_bootstrapping:
                # Ordered before the bootstrap ended: to learn from, but no part of self-play.
                chunk = replace(chunk, result=replace(chunk.result, counts=Counter()))
            self._arrived.append(chunk)
            self._backend_metrics = chunk.metrics or self._backend_metrics
        return bool(come)

    def _mind_silence(self, has_come: bool) -> None:
        """Warn when no chunk has come for five minutes: Ray restarts dying actors without end."""
        now = time.perf_counter()
        self._is_silent = not has_come and now - self._heard_at >= _SILENCE
        if not (has_come or self._is_silent):
            return
        self._heard_at = now
        if self._is_silent and self._has_room:
            self._run.progress.say(
                f"nothing has come from {len(self._actors)} actors for {_SILENCE / 60:.0f} "
                "minutes; they may be crashing at every start: see `ray status`, and /tmp/ray on "
                "their nodes"
            )

    def _take(self, wanted: float, progress: Progress) -> SelfPlayResult:
        """Take the first chunks, until they have ``wanted`` positions or more, as one result."""
        taken: list[PlayedChunk] = []
        while self._arrived and _positions(taken) < wanted:
            taken.append(self._arrived.pop(0))
        self._ages += [self._version - each.version for each in taken if each.version is not None]
        progress.advance(_positions(taken))
        return SelfPlayResult.joined([chunk.result for chunk in taken])


def room_in(resources: Mapping[str, float], cluster: ClusterConfig) -> int:
    """How many actors fit into a cluster with these ``CPU`` and ``GPU``."""
    room = resources.get("CPU", 0) / cluster.actor_cpus
    if cluster.actor_gpus:
        room = min(room, resources.get("GPU", 0) / cluster.actor_gpus)
    return int(room + 1e-9)


def part_of(config: AlphaZeroConfig, actors: int, games: int) -> AlphaZeroConfig:
    """The configuration of one of ``actors`` actors, which play ``games`` sets of options in turn.

    Its numbers of positions, also for the bootstrap, are those of a chunk.
    """
    play, bootstrap, cluster = config.self_play, config.bootstrap, config.cluster
    usual = _GAMES_OF_A_GPU if cluster.actor_gpus else _GAMES_OF_A_CORE * cluster.actor_cpus
    parallel = cluster.games or max(min(play.games, usual), _LEAST * games if games > 1 else 1)
    share = 1 / (_CHUNKS * actors)
    return msgspec.structs.replace(
        config,
        self_play=msgspec.structs.replace(
            play,
            games=parallel,
            positions=max(_LEAST, math.ceil(play.positions * share)),
            cache=play.cache * min(1.0, parallel / play.games),
            workers=None if cluster.actor_gpus else cluster.actor_cpus,
        ),
        bootstrap=msgspec.structs.replace(
            bootstrap, positions=max(_LEAST, math.ceil(bootstrap.positions * share))
        ),
    )


def _positions(chunks: Sequence[PlayedChunk]) -> int:
    """How many positions were searched for these chunks."""
    return sum(chunk.result.counts["positions"] for chunk in chunks)
