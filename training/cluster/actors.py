"""`ClusterActors`: self-play by processes on the nodes of a cluster.

A thread of the driver, the dispatcher, keeps the actors busy: it starts actors wherever a node
has room, replaces those that die, and gives a free actor an order for a chunk (`Order`), as long
as `Flow` has room for it. An order comes with the newest weights. Deliveries wait in a queue until
the loop takes them.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import shortened
from ludarium.models.backends import Backend
from ludarium.training.alphazero.actors import Actors, Advance, Weights
from ludarium.training.alphazero.mixture import Mixture
from ludarium.training.alphazero.self_play import SelfPlayResult
from ludarium.training.search import SearchSettings, join_results

from .flow import Flow, Turns
from .nodes import Node, Nodes, Say, only_on, room_on
from .worker import Delivery, Job, Order, PackedWeights, Played, SelfPlayer

_POLL = 0.1  # seconds that the dispatcher waits for a delivery at a time
_REFRESH = 1.0  # seconds between two looks at the nodes
_PATIENCE = 1800.0  # seconds for an order, before an actor counts as dead
_FAILURES = 3  # of actors in a row, without a delivery in between, that end the run
_LONGEST_PAUSE = 60.0  # seconds until a node on which actors died is tried again
_SHARE_OF_AN_ITERATION = 0.5  # that a chunk may last
_SHORTEST_CHUNK = 1.0  # seconds
_SAY_NOTHING_FOR = 30.0  # seconds without any actor


@dataclass
class _Player:
    """An actor as the dispatcher sees it.

    Attributes:
        number: of the actor; no other has it.
        node: where it runs.
        handle: Ray's.
        task: reference to what it is doing; None if it is free.
        order: that it plays; None while it starts, or if it is free.
        since: when the task began, or when the actor became free.
        process: its number; 0 until it has started.
        backend: in which it runs the network; None until it has played with one.
    """

    number: int
    node: Node
    handle: Any
    task: Any
    order: Order | None = None
    since: float = field(default_factory=time.monotonic)
    process: int = 0
    backend: Backend | None = None


@dataclass
class _Counts:
    """What happened since the last version, for the log."""

    lost: int = 0
    dropped: int = 0
    chunks: int = 0
    since: float = field(default_factory=time.monotonic)
    idle: float = 0.0
    loading: float = 0.0
    playing: float = 0.0
    positions: int = 0
    waited: float = 0.0
    stalest: int = 0
    staleness: float = 0.0
    samples: int = 0
    deviation: dict[str, float] = field(default_factory=dict)


class ClusterActors(Actors):
    """Actors on the nodes of a cluster, as many as there is room for.

    Args:
        nodes: of the cluster.
        games: and the share of the positions of each.
        mixture: of their samples.
        config: of the run.
        device: of the learner.
        weights: of the first version.
        start: the iteration at which the run begins or goes on.
        say: tells people; called from any thread.
    """

    def __init__(
        self,
        nodes: Nodes,
        games: Sequence[tuple[Game, float]],
        mixture: Mixture,
        config: AlphaZeroConfig,
        device: str,
        weights: Weights,
        start: int,
        say: Say,
    ) -> None:
        import ray

        self.config = config
        self.mixture = mixture
        self._device = device
        self._nodes = nodes
        self._say = say
        positions = config.self_play.positions
        capacity = (positions + 1) // 2
        played = tuple(
            Played(game, share, dtype, copy.deepcopy(own.network).cpu())
            for (game, share), dtype, own in zip(
                games, mixture.dtypes, weights.of_games, strict=True
            )
        )
        self._job = ray.put(Job(played, config, capacity, start))
        self._turns = Turns([share for _, share in games])
        self._least = min(capacity, max(1, (config.cluster.games or 64) // 4))
        self._capacity = capacity
        # All below is shared between the loop and the dispatcher.
        self._changed = threading.Condition()
        self._players: dict[int, _Player] = {}
        self._names: dict[str, str] = {}
        self._deliveries: deque[Delivery] = deque()
        self._flow = Flow(positions, config.cluster.staleness)
        self._settings: SearchSettings | None = None
        self._is_playing = False
        self._counts = _Counts()
        self._next_player = self._next_order = 0
        self._measured: int | None = None  # version for which a deviation was ordered
        self._failures = 0
        self._pauses: dict[str, tuple[float, float]] = {}  # until when a node is not used, and next
        self._error: BaseException | None = None
        self._backend: str | None = None
        self._taken_at: float | None = None
        self._iteration_seconds: float | None = None
        self._is_closed = False
        self._publish(weights)
        self._dispatcher = threading.Thread(target=self._dispatch, name="dispatcher", daemon=True)
        self._dispatcher.start()

    # What the loop asks for.

    def publish(self, weights: Weights) -> dict[str, Any]:
        """Put the weights where every node gets them once; free actors go on with them."""
        began = time.perf_counter()
        size = self._publish(weights)
        took = time.perf_counter() - began
        with self._changed:
            for player in self._players.values():
                self._count_idle(player)
            counts, self._counts = self._counts, _Counts()
            self._give_orders()
            started = self._started()
            ahead = self._flow.ordered + self._flow.arrived
        actors_waited = counts.idle / max(1, len(started))
        return {
            "backend": self.backend,
            **counts.deviation,
            "actors": len(started),
            "nodes": len({player.node.id for player in started}),
            "actors_lost": counts.lost,
            "positions_per_actor_second": counts.positions / max(1e-9, counts.playing),
            "staleness": counts.staleness / max(1, counts.samples),
            "staleness_most": counts.stalest,
            "stale_positions": counts.dropped,
            "positions_ahead": ahead,
            "learner_waited": counts.waited,
            "actors_waited": actors_waited,
            "waiting": "learner" if counts.waited >= actors_waited else "actors",
            "weights_bytes": size,
            "weights_seconds": took,
            "weights_loading": counts.loading / max(1, counts.chunks),
        }

    def bootstrap(self, advance: Advance) -> SelfPlayResult:
        """Have the games of the bootstrap played; every game that was begun is waited for."""
        wanted = self.config.bootstrap.positions
        with self._changed:
            play, self._flow = self._flow, Flow(wanted, 1, collecting=True)
            self._settings = None
            self._is_playing = True
        taken = self._collect(
            lambda: self._flow.arrived >= wanted and not self._flow.ordered, math.inf
        )
        with self._changed:
            self._is_playing = False
            self._flow = play
        advance(sum(delivery.result.positions for delivery in taken))
        return self._join(taken)

    def play(self, settings: SearchSettings, advance: Advance) -> SelfPlayResult:
        """Take the positions of an iteration; the actors play on."""
        with self._changed:
            self._settings = settings
            self._is_playing = self._flow.collecting = True
        began = time.perf_counter()
        wanted = self._flow.iteration
        taken = self._collect(lambda: self._flow.arrived >= wanted, wanted)
        now = time.perf_counter()
        with self._changed:
            self._flow.collecting = False
            if self._taken_at is not None:
                self._iteration_seconds = now - self._taken_at
        seconds = now - (self._taken_at or began)
        self._taken_at = now
        result = self._join(taken)
        advance(result.positions)
        return replace(result, seconds=seconds)

    def _join(self, taken: Sequence[Delivery]) -> SelfPlayResult:
        """One result of deliveries of all games."""
        return join_results(
            [
                replace(each.result, samples=self.mixture.pack(each.game, each.result.samples))
                for each in taken
            ]
        )

    def _collect(self, is_enough: Callable[[], bool], most: float) -> list[Delivery]:
        """Wait for deliveries, and take them, the first that have come to ``most`` positions."""
        began = time.perf_counter()
        with self._changed:
            self._give_orders()
            while True:
                if self._error is not None:
                    raise self._error
                self._drop_stale()
                if is_enough():
                    break
                self._changed.wait(_POLL)
            self._counts.waited += time.perf_counter() - began
            taken: list[Delivery] = []
            while self._deliveries and sum(each.result.positions for each in taken) < most:
                delivery = self._deliveries.popleft()
                self._flow.take(delivery.result.positions)
                self._count(delivery)
                taken.append(delivery)
            return taken

    @property
    def backend(self) -> str:
        """That of an actor; before one has played, what the configuration says, or ``eager``."""
        if self._backend is not None:
            return self._backend
        return "eager" if self.config.backend == "auto" else self.config.backend

    @property
    def resources(self) -> str:
        """Where the actors are."""
        return f"learner on {self._device}, actors on a Ray cluster"

    def restore(self, arrays: Mapping[str, np.ndarray], weights: Weights) -> None:
        """Begin new games with the weights."""
        if arrays:
            self._say("the games in progress were played on one machine: new ones begin")
        self._publish(weights)

    def close(self) -> None:
        """Stop the actors."""
        import ray

        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._dispatcher.join()
        for player in self._players.values():
            ray.kill(player.handle)
        self._players.clear()
        self._deliveries.clear()

    # What both do, with the lock held.

    def _publish(self, weights: Weights) -> int:
        """Put the weights; their size in bytes."""
        import ray

        with self._changed:
            backends = {each.backend for each in self._players.values() if each.backend}
        packed = [PackedWeights.pack(own, backends) for own in weights.of_games]
        reference = ray.put(packed)
        with self._changed:
            self._version, self._weights = weights.version, reference
        return sum(own.size for own in packed)

    def _give_orders(self) -> None:
        """An order for every actor that is free, while there is room."""
        if not self._is_playing:
            return
        free = [player for player in self._players.values() if player.task is None]
        shared_by = len(self._started()) * self._turns.games
        for player in free:
            positions = min(self._flow.chunk(shared_by, self._least), self._capacity)
            if positions < 1:
                break
            measures = self._settings is not None and self._measured != self._version
            if measures:
                self._measured = self._version
            order = Order(
                number=self._next_order,
                game=self._turns.take(positions),
                positions=positions,
                settings=self._settings,
                seconds=self._longest_chunk(),
                measures=measures,
            )
            self._next_order += 1
            self._count_idle(player)
            player.order, player.since = order, time.monotonic()
            player.task = player.handle.play.remote(order, self._weights)
            self._flow.order(positions)

    def _started(self) -> list[_Player]:
        """The actors that have started."""
        return [player for player in self._players.values() if player.process]

    def _count_idle(self, player: _Player) -> None:
        """Count the time since the last version in which an actor has been free."""
        if player.task is None:
            self._counts.idle += time.monotonic() - max(player.since, self._counts.since)

    def _longest_chunk(self) -> float:
        """Seconds after which an actor shall deliver what it has."""
        if self._iteration_seconds is None:
            return math.inf
        return max(_SHORTEST_CHUNK, _SHARE_OF_AN_ITERATION * self._iteration_seconds)

    def _drop_stale(self) -> None:
        """Throw away deliveries that are too old for the learner."""
        kept: deque[Delivery] = deque()
        for delivery in self._deliveries:
            if self._flow.is_stale(delivery.version, self._version):
                self._flow.take(delivery.result.positions)
                self._counts.dropped += delivery.result.positions
            else:
                kept.append(delivery)
        self._deliveries = kept

    def _count(self, delivery: Delivery) -> None:
        """Count what the learner takes."""
        counts, ages = self._counts, self._version - delivery.result.versions
        counts.staleness += float(ages.sum())
        counts.samples += len(ages)
        counts.stalest = max(counts.stalest, int(ages.max(initial=0)))

    # The dispatcher.

    def _dispatch(self) -> None:
        """Until the end: look at the nodes, give orders, wait for deliveries."""
        import ray

        looked, alone_since = -math.inf, time.monotonic()
        try:
            while not self._is_closed:
                now = time.monotonic()
                if now - looked >= _REFRESH:
                    looked = now
                    self._lose_silent()
                    self._staff(self._nodes.refresh())
                    if self._started():
                        alone_since = now
                    elif now - alone_since >= _SAY_NOTHING_FOR:
                        alone_since = now
                        self._say(self._why_nobody_plays())
                with self._changed:
                    self._give_orders()
                    tasks = {
                        player.task: player
                        for player in self._players.values()
                        if player.task is not None
                    }
                if not tasks:
                    time.sleep(_POLL)
                    continue
                if not ray.wait(list(tasks), num_returns=1, timeout=_POLL)[0]:
                    continue
                for task in ray.wait(list(tasks), num_returns=len(tasks), timeout=0)[0]:
                    self._receive(tasks[task], task)
        except BaseException as error:
            problem: BaseException = error
            if isinstance(error, ray.exceptions.RayError | ConnectionError):
                problem = ConnectionError(
                    f"the Ray cluster is gone ({shortened(str(error))}); the same command goes on "
                    "when it is back"
                )
            with self._changed:
                self._error = problem
                self._changed.notify_all()

    def _why_nobody_plays(self) -> str:
        if self._players:
            return f"no actor yet: {len(self._players)} are starting, or wait for free cores"
        return "no actor yet: no node of the cluster has room for one"

    def _staff(self, nodes: list[Node]) -> None:
        """Start actors where there is room; forget those of nodes that are gone."""
        alive = {node.id for node in nodes}
        for player in list(self._players.values()):
            # Ray says whether an order failed; a start on a dead node may wait for long.
            if player.node.id not in alive and player.order is None:
                self._lose(player, "its node is gone")
        for node in nodes:
            room = room_on(node, self.config.cluster)
            there = [each for each in self._players.values() if each.node.id == node.id]
            # The first one of a node compiles, if need be, and the others find it done.
            wanted = room.actors if any(each.process for each in there) else min(1, room.actors)
            until, _ = self._pauses.get(node.id, (0.0, 0.0))
            if time.monotonic() < until:
                continue
            most = self.config.cluster.actors or math.inf
            for _ in range(len(there), wanted):
                if len(self._players) < most:
                    self._start(node, room.cpus, room.gpus)

    def _start(self, node: Node, cpus: int, gpus: float) -> None:
        """Start an actor on a node."""
        import ray

        number = self._next_player
        self._next_player += 1
        handle: Any = (
            ray.remote(SelfPlayer)
            .options(
                num_cpus=cpus,
                num_gpus=gpus,
                max_restarts=0,
                scheduling_strategy=only_on(node.id),
            )
            .remote(self._job, number, cpus, "cuda" if gpus else "cpu")
        )
        with self._changed:
            self._players[number] = _Player(number, node, handle, handle.ready.remote())

    def _receive(self, player: _Player, task: Any) -> None:
        """Take what a task has come to."""
        import ray

        try:
            delivery = ray.get(task)
        except ray.exceptions.RayTaskError as error:
            self._fail(player, error)
            return
        except ray.exceptions.RayError as error:
            self._lose(player, "it died")
            if isinstance(error, ray.exceptions.RayActorError):
                self._check_start(player, error)
            return
        with self._changed:
            player.task, order, player.order = None, player.order, None
            player.since = time.monotonic()
            if order is None:
                player.process = delivery
            else:
                self._failures = 0
                self._pauses.pop(player.node.id, None)
                self._flow.arrive(order.positions, delivery.result.positions)
                self._turns.give_back(order.game, order.positions - delivery.result.positions)
                self._deliveries.append(delivery)
                player.backend = delivery.backend or player.backend
                self._backend = player.backend or self._backend
                counts = self._counts
                counts.chunks += 1
                counts.loading += delivery.loading
                counts.playing += delivery.playing
                counts.positions += delivery.result.positions
                counts.deviation = delivery.deviation or counts.deviation
            self._give_orders()
            self._changed.notify_all()

    def _lose_silent(self) -> None:
        """Give up actors that take far too long."""
        import ray

        now = time.monotonic()
        for player in list(self._players.values()):
            if player.order is not None and now - player.since > _PATIENCE:
                ray.kill(player.handle)
                self._lose(player, f"it has not answered for {_PATIENCE:.0f} s")

    def _lose(self, player: _Player, why: str) -> None:
        """Forget an actor; another will take its place."""
        with self._changed:
            self._players.pop(player.number, None)
            if player.order is not None:
                self._flow.lose(player.order.positions)
                self._turns.give_back(player.order.game, player.order.positions)
            self._counts.lost += 1
            pause = self._pauses.get(player.node.id, (0.0, 0.0))[1]
            self._pauses[player.node.id] = (
                time.monotonic() + pause,
                min(_LONGEST_PAUSE, max(1.0, 2 * pause)),
            )
            self._give_orders()
        if not self._is_closed:
            self._say(f"lost actor {player.number} on node {player.node.name}: {why}; replacing it")

    def _check_start(self, player: _Player, error: Exception) -> None:
        """If an actor could not even start, count it as a failure of the program."""
        if not player.process and getattr(error, "actor_init_failed", False):
            self._failures += 1
            if self._failures >= _FAILURES:
                raise ValueError(f"no self-play actor can start: {shortened(str(error), 1000)}")

    def _fail(self, player: _Player, error: Any) -> None:
        """An actor has raised an error: try another one, a few times."""
        import ray

        ray.kill(player.handle)
        self._lose(player, f"{type(error.cause).__name__}: {shortened(str(error.cause))}")
        self._failures += 1
        if self._failures >= _FAILURES:
            raise error.cause
