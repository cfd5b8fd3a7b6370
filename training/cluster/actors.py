"""`ClusterActors`: self-play by actors of Ray, as many as the cluster has room for.

Ray places the actors by the cores and GPUs that they ask for, starts those again that die, and has
them play again what they had begun. The driver orders chunks of self-play from them, each with the
newest weights, and takes what arrives first. Only so many positions may be ordered or wait for the
learner: actors that are faster than the learner wait for it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ludarium.configs import AlphaZeroConfig
from ludarium.configs.schema import Cluster as ClusterConfig
from ludarium.envs.engine.messages import shortened
from ludarium.training.alphazero.actors import Actors, Advance, Weights
from ludarium.training.alphazero.mixture import Mixture
from ludarium.training.alphazero.self_play import SelfPlayResult
from ludarium.training.runs.trainer import Trainer
from ludarium.training.search import SearchSettings, join_results

from .worker import Chunk, Job, SelfPlayer, identity

_CHUNKS = 2  # of an actor in an iteration; as many are ordered of it while the learner waits
_LEAST = 16  # positions of a chunk, and games of each variant: fewer make small batches
_GAMES_OF_A_CORE = 64
_GAMES_OF_A_GPU = 1024
_RESTARTS = 10  # of an actor and of a chunk by Ray; then another actor takes its place
_LOOK = 1.0  # seconds between two looks at the cluster
_SAY_AGAIN = 60.0  # seconds until people are told once more that there is no room


@dataclass
class _Actor:
    """An actor as the driver sees it.

    Attributes:
        handle: Ray's.
        config: of the run, with the actor's part of it.
        process: that played its latest chunk; 0 before the first.
        heard_at: when that came; of a new actor when it was made.
        orders: how many chunks are ordered of it.
    """

    handle: Any
    config: AlphaZeroConfig
    heard_at: float
    process: int = 0
    orders: int = 0


class ClusterActors(Actors):
    """Actors on a cluster that this process has joined.

    Args:
        run: whose games they play.
        mixture: of their samples.
        weights: of the first version.
    """

    def __init__(self, run: Trainer, mixture: Mixture, weights: Weights) -> None:
        import ray

        assert isinstance(run.config, AlphaZeroConfig)
        self.config = run.config
        self._device = run.device
        self._say = run.reporter.say
        self._games = len(run.games)
        self._job = ray.put(Job(run.games, mixture, run.iteration, identity(run.game)))
        self._actors: list[_Actor] = []
        self._started = 0
        self._ordered: dict[Any, _Actor] = {}  # by the reference to the chunk
        self._arrived: list[Chunk] = []
        self._told: dict[str, Any] = {}  # by an actor, of its backend
        self._lost, self._waited, self._staleness = 0, 0.0, 0.0  # since the last version
        self._taken_at: float | None = None
        self._looked_at = self._said_at = -math.inf
        self._publish(weights)
        self._staff()

    # What the loop asks for.

    def publish(self, weights: Weights) -> dict[str, Any]:
        """Put the weights where every node gets them once; orders from now on come with them."""
        self._publish(weights)
        metrics = {
            "backend": self.backend,
            **self._told,
            "actors": sum(actor.process > 0 for actor in self._actors),
            "actors_lost": self._lost,
            "staleness": self._staleness,
            "learner_waited": self._waited,
        }
        self._lost, self._waited, self._staleness = 0, 0.0, 0.0
        return metrics

    def bootstrap(self, advance: Advance) -> SelfPlayResult:
        """Have the games of the bootstrap played; every game that was begun is waited for."""
        wanted = self.config.bootstrap.positions
        self._wait(wanted, wanted, None)
        while any(actor.process for actor in self._ordered.values()):
            self._staff()  # a node may die meanwhile
            self._receive_some()
        result = self._take(math.inf)
        advance(result.positions)
        return result

    def play(self, settings: SearchSettings, advance: Advance) -> SelfPlayResult:
        """Take the positions of an iteration; the actors play ahead for the iterations after."""
        wanted, ahead = self.config.self_play.positions, self.config.cluster.staleness
        began = time.perf_counter()
        self._wait(wanted, ahead * wanted, settings)
        result = self._take(wanted)
        self._order((ahead - 1) * wanted, math.inf, settings)
        now = time.perf_counter()
        seconds, self._taken_at = now - (self._taken_at or began), now
        advance(result.positions)
        return replace(result, seconds=seconds)

    @property
    def backend(self) -> str:
        """That of an actor; before one has played, what the configuration says, or ``eager``."""
        usual = "eager" if self.config.backend == "auto" else self.config.backend
        return self._told.get("backend", usual)

    @property
    def resources(self) -> str:
        """Where the actors are."""
        return f"learner on {self._device}, actors on a Ray cluster"

    def load(self, weights: Weights) -> None:
        """Put the weights."""
        self._publish(weights)

    def close(self) -> None:
        """Stop the actors."""
        import ray

        for actor in self._actors:
            ray.kill(actor.handle)
        for each in (self._actors, self._ordered, self._arrived):
            each.clear()

    # Weights, actors and orders.

    def _publish(self, weights: Weights) -> None:
        """Put the weights."""
        import ray

        packed = [
            replace(own, network=copy.deepcopy(own.network).cpu()) for own in weights.of_games
        ]
        self._version = weights.version
        self._weights = ray.put(replace(packed[0], of_games=tuple(packed)))

    def _staff(self) -> None:
        """Have as many actors as the cluster has room for, so that Ray can place them all."""
        import ray

        now = time.monotonic()
        if now - self._looked_at < _LOOK:
            return
        self._looked_at, cluster = now, self.config.cluster
        device = "cuda" if cluster.actor_gpus else "cpu"
        room = room_in(ray.nodes(), cluster)
        while len(self._actors) > room:  # a node has died
            self._dismiss(min(self._actors, key=lambda actor: actor.heard_at))
        while len(self._actors) < room:
            options = ray.remote(SelfPlayer).options(
                num_cpus=cluster.actor_cpus,
                num_gpus=cluster.actor_gpus,
                max_restarts=_RESTARTS,
                max_task_retries=_RESTARTS,
            )
            config = part_of(self.config, room, self._games)
            handle = options.remote(self._job, config, device, self._started)
            self._actors.append(_Actor(handle, config, now))
            self._started += 1
        if not self._actors and now - self._said_at >= _SAY_AGAIN:
            self._said_at = now
            self._say(
                "the cluster has no room for an actor, which takes "
                f"{cluster.actor_cpus} cores and {cluster.actor_gpus:g} GPUs: waiting for a node"
            )

    def _dismiss(self, actor: _Actor) -> None:
        """Do without an actor, and without what was ordered of it."""
        import ray

        ray.kill(actor.handle)
        self._actors.remove(actor)
        self._ordered = {each: of for each, of in self._ordered.items() if of is not actor}

    def _order(self, limit: float, most: float, settings: SearchSettings | None) -> None:
        """Order chunks while fewer positions than ``limit`` are ordered or have arrived.

        Chunks of actors that have yet to start do not count: others may have to play meanwhile.

        Args:
            limit: of positions.
            most: chunks of an actor.
            settings: see `SelfPlayer.play`.
        """

        def size(actor: _Actor) -> int:
            config = actor.config
            wanted = (config.bootstrap if settings is None else config.self_play).positions
            return wanted if actor.process else 0

        ahead = _positions(self._arrived) + sum(map(size, self._ordered.values()))
        while ahead < limit:
            free = [
                actor
                for actor in self._actors
                if actor.orders < (most if actor.process else min(most, _CHUNKS))
            ]
            if not free:
                break
            actor = min(free, key=lambda each: each.orders)
            self._ordered[actor.handle.play.remote(self._weights, settings)] = actor
            actor.orders += 1
            ahead += size(actor)

    def _wait(self, wanted: int, limit: int, settings: SearchSettings | None) -> None:
        """Order chunks, and receive them until so many positions are there."""
        began = time.perf_counter()
        while _positions(self._arrived) < wanted:
            self._staff()
            self._order(limit, _CHUNKS, settings)
            self._receive_some()
        self._waited += time.perf_counter() - began

    def _receive_some(self) -> None:
        """Receive what comes next, if anything does soon.

        Raises:
            ValueError: an actor cannot start, or has raised an error.
        """
        import ray

        if not self._ordered:
            time.sleep(_LOOK)
            return
        for reference in ray.wait([*self._ordered], timeout=_LOOK)[0]:
            actor = self._ordered.get(reference)
            if actor is None:  # it was dismissed for another chunk
                continue
            try:
                chunk = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                self._dismiss(actor)
                if not actor.process:
                    reason = shortened(str(error), 1000)
                    raise ValueError(f"no self-play actor can start: {reason}") from None
                continue
            del self._ordered[reference]
            if actor.process not in (0, chunk.process):
                self._lost += 1
                self._say(f"the actor of process {actor.process} died; Ray started it again")
            actor.process, actor.heard_at = chunk.process, time.monotonic()
            actor.orders -= 1
            self._arrived.append(chunk)
            self._told = chunk.metrics or self._told

    def _take(self, most: float) -> SelfPlayResult:
        """The first chunks that have come to ``most`` positions, as one result."""
        taken: list[Chunk] = []
        while self._arrived and _positions(taken) < most:
            taken.append(self._arrived.pop(0))
        ages = [self._version - chunk.version for chunk in taken]
        self._staleness = sum(ages) / len(ages)
        return join_results([chunk.result for chunk in taken])


def room_in(nodes: Sequence[Mapping[str, Any]], cluster: ClusterConfig) -> int:
    """How many actors the nodes, as `ray.nodes` describes them, have room for in all."""
    room = 0
    for node in nodes:
        has = node["Resources"] if node["Alive"] else {}
        there = int(has.get("CPU", 0) // cluster.actor_cpus)
        if cluster.actor_gpus:
            there = min(there, int(has.get("GPU", 0) / cluster.actor_gpus + 1e-9))
        room += there
    return min(room, cluster.actors or room)


def part_of(config: AlphaZeroConfig, actors: int, games: int) -> AlphaZeroConfig:
    """The configuration of one of so many actors, which play so many games of a mixture.

    Its positions, also those of the bootstrap, are those of a chunk.
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


def _positions(chunks: Sequence[Chunk]) -> int:
    """Positions that were searched for these chunks."""
    return sum(chunk.result.positions for chunk in chunks)
