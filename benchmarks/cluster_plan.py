"""How a cluster of 1 to 1,000 actors and 1 to 8 learner GPUs would do: a discrete-event simulation.

    python benchmarks/cluster_plan.py --measure rates.json            # rates of this machine
    python benchmarks/cluster_plan.py --rates rates.json              # the table
    python benchmarks/cluster_plan.py --rates rates.json --plot docs/img/cluster.svg
    python benchmarks/cluster_plan.py --rates rates.json --shared 2   # all on the same 2 cores

The rules are the real ones: `Flow` of `ludarium.training.cluster` gives the orders. Simulated
are the actors, the network card and the dispatcher of the driver (each serves one at a time), the
learner, and, with ``--shared``, cores that all of them share. Prices and all that was not measured
are options. Rates are of processor time, which other work on the machine changes little; so the
check against `benchmarks/cluster.py` is by positions per second of processor time.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import random
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ludarium.training.cluster.flow import Flow

ACTORS = (1, 10, 100, 1000)
GPUS = (1, 2, 4, 8)
_WARM_UP = 3  # iterations that do not count
_SHARE_OF_AN_ITERATION = 0.5  # as in the dispatcher
_SHORTEST_CHUNK = 1.0
_ACTOR_WEIGHT = 36 / 1024  # of niceness 15, which Ray gives its processes, in Linux's scheduler


@dataclass(frozen=True)
class Rates:
    """What the parts can do.

    Attributes:
        actor: positions a second of an actor, on a core of its own.
        learner: gradient steps a second, on one GPU, or on the cores of the driver.
        batch: positions of a step.
        sample_bytes: of a position on its way to the learner.
        weights_bytes: of a version.
        loading: seconds until an actor has loaded a version.
        publishing: seconds of the driver to write a version for the actors.
        dispatch: seconds of the driver for an order and its delivery.
        latency: seconds from a delivery to the start of the next chunk, beside these.
        saving: seconds of the driver to save an iteration.
        sharing: what is left of the speed of a process that has half of a core, per second that it
            has it, because another one has the other half and the caches in turn with it.
    """

    actor: float
    learner: float
    batch: int
    sample_bytes: float
    weights_bytes: float
    loading: float
    publishing: float
    dispatch: float = 0.002
    latency: float = 0.005
    saving: float = 0.05
    sharing: float = 1.0


@dataclass(frozen=True)
class Plan:
    """A cluster and a run on it.

    Attributes:
        actors: how many.
        gpus: of the learner.
        iteration: positions of an iteration.
        replay_ratio: how often each is learnt from.
        staleness: see the configuration.
        bandwidth: of the driver's network card, bytes a second in each direction.
        bus: of the learner's GPUs for gradients, bytes a second.
        actors_per_node: which fetch a version once.
        shared_cores: cores that all actors and the learner share; None: each has its own.
        variation: of the time of a chunk, as a share of its mean.
    """

    actors: int
    gpus: int = 1
    iteration: int = 16384
    replay_ratio: float = 3.0
    staleness: int = 2
    bandwidth: float = 1.25e9
    bus: float = 1e10
    actors_per_node: int = 64
    shared_cores: int | None = None
    variation: float = 0.1


@dataclass
class Result:
    """What came of a simulation, beyond its warm-up.

    Attributes:
        throughput: positions a second that were learnt from.
        per_core_second: the same, per second of a core that is busy; with shared cores only.
        learner, network, driver, actors: shares of the time in which these were busy.
        staleness: mean age in versions of the weights of a chunk.
        dropped: share of positions that were too old.
        waiting_bytes: most that waited for the learner.
    """

    throughput: float = 0.0
    per_core_second: float = 0.0
    learner: float = 0.0
    network: float = 0.0
    driver: float = 0.0
    actors: float = 0.0
    staleness: float = 0.0
    dropped: float = 0.0
    waiting_bytes: float = 0.0


class Line:
    """Serves one after the other: a network card, or a thread of the driver."""

    def __init__(self) -> None:
        self.free = self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """When something that comes now and takes so long is done."""
        self.free = max(now, self.free) + seconds
        self.busy += seconds
        return self.free


@dataclass
class Task:
    """Work on shared cores: ``left`` core-seconds, on at most ``width`` cores at a time.

    Where there are too few cores, each thread gets them in proportion to its ``weight``.
    """

    left: float
    width: int
    weight: float
    done: Callable[[], None]


class Cores:
    """Cores that are shared among the tasks on them, by their weights.

    A task whose cores others have half of the time or more does only a share ``sharing`` of the
    work that it would do in its time alone; with others there for less, it loses less.
    """

    def __init__(self, clock: Clock, count: int, sharing: float) -> None:
        self.clock, self.count, self.sharing = clock, count, sharing
        self.tasks: list[Task] = []
        self.busy = 0.0
        self._since = 0.0
        self._stamp = 0

    def run(self, work: float, width: int, weight: float, done: Callable[[], None]) -> None:
        """Begin a task of so many core-seconds."""
        self._advance()
        self.tasks.append(Task(work, width, weight, done))
        self._plan()

    def _speeds(self) -> list[float]:
        """Cores that each task has: what a heavier one leaves, as it fills its width, is shared."""
        left, asked = float(self.count), sum(each.width * each.weight for each in self.tasks)
        speeds = [0.0] * len(self.tasks)
        for number in sorted(range(len(self.tasks)), key=lambda n: -self.tasks[n].weight):
            task = self.tasks[number]
            speeds[number] = task.width * min(1.0, task.weight * left / asked)
            left -= speeds[number]
            asked -= task.width * task.weight
        return speeds

    def _progress(self, speeds: list[float]) -> list[float]:
        """Core-seconds of work that each task does in a second, with so many cores each."""
        found = []
        for task, speed in zip(self.tasks, speeds, strict=True):
            of_others = 1 - speed / task.width
            found.append(speed * (1 - (1 - self.sharing) * min(1.0, 2 * of_others)))
        return found

    def _advance(self) -> None:
        passed, self._since = self.clock.now - self._since, self.clock.now
        speeds = self._speeds()
        for task, progress in zip(self.tasks, self._progress(speeds), strict=True):
            task.left -= passed * progress
        self.busy += passed * sum(speeds)

    def _plan(self) -> None:
        self._stamp += 1
        stamp = self._stamp
        if self.tasks:
            progress = zip(self.tasks, self._progress(self._speeds()), strict=True)
            soonest = min(task.left / speed for task, speed in progress)
            self.clock.after(max(0.0, soonest), lambda: self._finish(stamp))

    def _finish(self, stamp: int) -> None:
        if stamp != self._stamp:
            return  # something has come or gone since
        self._advance()
        ended = [task for task in self.tasks if task.left <= 1e-9]
        self.tasks = [task for task in self.tasks if task.left > 1e-9]
        self._plan()
        for task in ended:
            task.done()


@dataclass
class Clock:
    """Events in the order of their time."""

    now: float = 0.0
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _count: int = 0

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Do something at a time."""
        self._count += 1
        heapq.heappush(self._events, (when, self._count, what))

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        """Do something later."""
        self.at(self.now + seconds, what)

    def step(self) -> None:
        """Go on to the next event."""
        self.now, _, what = heapq.heappop(self._events)
        what()


class Simulation:
    """A run on a cluster."""

    def __init__(self, rates: Rates, plan: Plan, seed: int = 1) -> None:
        self.rates, self.plan = rates, plan
        self.random = random.Random(seed)
        self.clock = Clock()
        self.cores = (
            Cores(self.clock, plan.shared_cores, rates.sharing) if plan.shared_cores else None
        )
        self.flow = Flow(plan.iteration, plan.staleness, collecting=True)
        self.incoming, self.outgoing, self.driver = Line(), Line(), Line()
        self.version = 0
        self.free = deque(range(plan.actors))
        self.loaded = [-1] * plan.actors
        self.fetched: dict[int, float] = {}  # node: when it has the newest version
        self.deliveries: deque[tuple[int, int]] = deque()
        self.learnt = self.dropped = 0
        self.ages: list[tuple[float, int]] = []
        self.playing = self.learning = 0.0
        self.most_waiting = 0
        self.swept = -1
        self.taken_at = 0.0
        self.iteration_seconds = math.inf

    def run(self, iterations: int) -> Result:
        """Simulate so many iterations after the warm-up."""
        self._give_orders()
        while self.version < _WARM_UP:
            self.clock.step()
        began, learnt = self.clock.now, self.learnt
        busy = self.cores.busy if self.cores else 0.0
        before = (self.learning, self.incoming.busy, self.driver.busy, self.playing, self.dropped)
        self.ages = []
        while self.version < _WARM_UP + iterations:
            self.clock.step()
        seconds = self.clock.now - began
        after = (self.learning, self.incoming.busy, self.driver.busy, self.playing, self.dropped)
        learning, network, driver, playing, dropped = (
            now - then for now, then in zip(after, before, strict=True)
        )
        learnt = self.learnt - learnt
        positions = sum(count for _, count in self.ages)
        return Result(
            throughput=learnt / seconds,
            per_core_second=learnt / (self.cores.busy - busy) if self.cores else 0.0,
            learner=learning / seconds,
            network=network / seconds,
            driver=driver / seconds,
            actors=playing / seconds / self.plan.actors,
            staleness=sum(age * count for age, count in self.ages) / max(1, positions),
            dropped=dropped / max(1, dropped + learnt),
            waiting_bytes=self.most_waiting * self.rates.sample_bytes,
        )

    def _give_orders(self) -> None:
        plan = self.plan
        while self.free:
            positions = min(self.flow.chunk(plan.actors, 16), (plan.iteration + 1) // 2)
            if positions < 1:
                return
            actor = self.free.popleft()
            self.flow.order(positions)
            self._begin(actor, positions)

    def _begin(self, actor: int, positions: int) -> None:
        """An order reaches an actor, which may have to fetch and load weights first."""
        rates, plan = self.rates, self.plan
        version = self.version
        start = self.driver.serve(self.clock.now, rates.dispatch / 2) + rates.latency
        work = 0.0
        if self.loaded[actor] != version:
            self.loaded[actor] = version
            node = actor // plan.actors_per_node
            if node not in self.fetched:
                seconds = 0.0 if self.cores else rates.weights_bytes / plan.bandwidth
                self.fetched[node] = self.outgoing.serve(start, seconds)
            start = max(start, self.fetched[node])
            work += rates.loading
        speed = rates.actor * max(0.2, self.random.gauss(1, plan.variation))
        longest = max(_SHORTEST_CHUNK, _SHARE_OF_AN_ITERATION * self.iteration_seconds)
        played = max(1, int(min(positions, speed * longest)))
        work += played / speed

        def done() -> None:
            self.playing += work
            self._deliver(actor, version, positions, played)

        if self.cores is None:
            self.clock.at(start + work, done)
        else:
            cores = self.cores
            self.clock.at(start, lambda: cores.run(work, 1, _ACTOR_WEIGHT, done))

    def _deliver(self, actor: int, version: int, ordered: int, played: int) -> None:
        """A delivery goes through the network card and the dispatcher."""
        rates = self.rates
        size = 0.0 if self.cores else played * rates.sample_bytes / self.plan.bandwidth
        there = self.driver.serve(self.incoming.serve(self.clock.now, size), rates.dispatch / 2)

        def arrive() -> None:
            self.flow.arrive(ordered, played)
            self.deliveries.append((version, played))
            self.most_waiting = max(self.most_waiting, self.flow.arrived)
            self.free.append(actor)
            self._take()
            self._give_orders()

        self.clock.at(there, arrive)

    def _take(self) -> None:
        """Let the learner have an iteration, if it waits for one and it is there."""
        if not self.flow.collecting:
            return
        # Of a version that was looked through already, only the last delivery is new.
        is_new = self.version != self.swept
        self.swept = self.version
        for version, count in list(self.deliveries) if is_new else [self.deliveries[-1]]:
            if self.flow.is_stale(version, self.version):
                self.deliveries.remove((version, count))
                self.flow.take(count)
                self.dropped += count
        if self.flow.arrived < self.plan.iteration:
            return
        taken = 0
        while taken < self.plan.iteration:
            version, count = self.deliveries.popleft()
            self.flow.take(count)
            self.ages.append((self.version - version, count))
            taken += count
        self.flow.collecting = False
        if self.taken_at:
            self.iteration_seconds = self.clock.now - self.taken_at
        self.taken_at = self.clock.now
        self._learn(taken)

    def _learn(self, positions: int) -> None:
        rates, plan = self.rates, self.plan
        steps = positions * plan.replay_ratio / rates.batch
        seconds = steps / rates.learner
        if plan.gpus > 1:  # each has a part of a batch, and all exchange gradients in a ring
            exchanged = 2 * (plan.gpus - 1) / plan.gpus * rates.weights_bytes
            seconds = seconds / plan.gpus + steps * (exchanged / plan.bus + 5e-5)

        def publish() -> None:
            self.learning += seconds
            self.learnt += positions
            self._serve(rates.publishing + rates.saving, 1, begin_iteration)

        def begin_iteration() -> None:
            self.version += 1
            self.fetched = {}
            self.flow.collecting = True
            self._take()
            self._give_orders()

        self._serve(seconds, self.cores.count if self.cores else 1, publish)
        self._give_orders()

    def _serve(self, seconds: float, width: int, done: Callable[[], None]) -> None:
        """Have the driver at work, on ``width`` of the cores if these are shared."""
        if self.cores is None:
            self.clock.after(seconds, done)
        else:
            self.cores.run(seconds * width, width, 1.0, done)


def one_machine(rates: Rates, plan: Plan, cores: int) -> tuple[float, float]:
    """Positions a second of the local loop, of the clock and of a core: it plays, then learns."""
    playing = plan.iteration / rates.actor
    learning = plan.iteration * plan.replay_ratio / rates.batch / rates.learner
    alone = rates.publishing + rates.loading + rates.saving
    return (
        plan.iteration / (playing / cores + learning + alone),
        plan.iteration / (playing + learning * cores + alone),
    )


class Actor:
    """An actor of this process, as Ray's are: one core, whose seconds are of the processor."""

    def __init__(self, game: str, settings: list[str]) -> None:
        import torch

        from ludarium.configs import AlphaZeroConfig, apply_settings, load_config
        from ludarium.envs import make_game
        from ludarium.training.alphazero.samples import sample_dtype
        from ludarium.training.cluster.worker import Job, Played, SelfPlayer
        from ludarium.training.networks import fresh_network
        from ludarium.training.random_positions import random_observations

        config = apply_settings(load_config(f"{game}/default"), settings)
        assert isinstance(config, AlphaZeroConfig)
        time.perf_counter = time.process_time  # the clock of what is measured
        torch.set_num_threads(1)
        self.config = config
        self.rules = make_game(config.game, **config.options)
        self.dtype = sample_dtype(self.rules)
        self.network = fresh_network(self.rules, config.network)
        self.capacity = (config.self_play.positions + 1) // 2
        played = Played(self.rules, 1.0, self.dtype, self.network)
        self.player = SelfPlayer(Job((played,), config, self.capacity, start=0), 0, 1, "cpu")
        self.player.ready()
        self.examples = random_observations(self.rules, 512, 1)
        self.samples: list[Any] = []
        self.loading: list[float] = []
        self.publishing: list[float] = []
        self.size = 0

    def play(self, seconds: float) -> float:
        """Play so long or longer, each chunk with new weights; positions a second."""
        from ludarium.training.alphazero.actors import Weights, search_settings
        from ludarium.training.alphazero.kernels.self_play import NEVER_RESIGN
        from ludarium.training.cluster.worker import Order, PackedWeights

        backends: set[str] = set()
        playing = positions = 0.0
        end = time.perf_counter() + seconds
        version = 0
        while time.perf_counter() < end or version < 3:
            version += 1
            began = time.perf_counter()
            packed = PackedWeights.pack(Weights(version, self.network, self.examples), backends)
            settings = search_settings(self.config, 0.0)
            order = Order(0, 0, self.capacity, settings, NEVER_RESIGN, math.inf)
            self.publishing.append(time.perf_counter() - began)
            delivery = self.player.play(order, [packed])
            backends, self.size = {delivery.backend or ""}, packed.size
            self.samples.append(delivery.result.samples)
            if version > 1:  # the first one measures backends
                self.loading.append(delivery.loading)
                playing += delivery.playing
                positions += delivery.result.positions
        return positions / playing


def _rate_of_an_actor(game: str, settings: list[str], seconds: float) -> float:
    return Actor(game, settings).play(seconds)


def measure_sharing(game: str, settings: list[str], seconds: float) -> float:
    """Positions per processor second of actors that share a core, of those of one that has it."""
    core = min(os.sched_getaffinity(0))
    rates = []
    for count in (1, 2):
        with get_context("spawn").Pool(count, os.sched_setaffinity, (0, {core})) as pool:
            jobs = [(game, settings, seconds)] * count
            rates.append(statistics.mean(pool.starmap(_rate_of_an_actor, jobs, chunksize=1)))
    return rates[1] / rates[0]


def measure(game: str, settings: list[str], seconds: float) -> Rates:
    """The rates of this machine: an actor on one core, the learner on all.

    Seconds are those of the processor: an actor and what the driver does alone use one core, the
    learner uses all of them alike.
    """
    import numpy as np

    from ludarium.envs.engine.threads import available_cores
    from ludarium.training.alphazero.learner import Learner, Losses
    from ludarium.training.alphazero.replay import Replay
    from ludarium.training.alphazero.samples import BatchMaker

    sharing = measure_sharing(game, settings, seconds)
    actor = Actor(game, settings)
    rate_of_actor = actor.play(seconds)
    rules, config, samples = actor.rules, actor.config, actor.samples
    has_score = rules.max_score > 0
    learner = Learner(actor.network, config.learner, has_score, "cpu", available_cores())
    replay = Replay(actor.dtype, sum(map(len, samples)))
    for number, chunk in enumerate(samples):
        replay.add(number, chunk, sum(map(len, samples)))
    make, rng, losses = BatchMaker(rules, 0.5), np.random.default_rng(1), Losses()
    steps, began = 0, 0.0
    while steps < 3 or time.perf_counter() - began < seconds:
        if steps == 2:
            began = time.perf_counter()
        learner.learn([make(replay.draw(config.learner.batch, rng), rng)], 0.0, losses)
        steps += 1
    rate = (steps - 2) / (time.perf_counter() - began) * available_cores()
    learner.close()
    return Rates(
        actor=rate_of_actor,
        learner=rate,
        batch=config.learner.batch,
        sample_bytes=actor.dtype.itemsize + 8,
        weights_bytes=actor.size,
        loading=statistics.median(actor.loading),
        publishing=statistics.median(actor.publishing[1:]),
        sharing=sharing,
    )


def cost(result: Result, plan: Plan, core_hour: float, gpu_hour: float) -> float:
    """Price of a million positions, learnt from."""
    an_hour = plan.actors * core_hour + plan.gpus * gpu_hour
    return an_hour / (3600 * result.throughput) * 1e6


def positions_for(actors: int) -> int:
    """Positions of an iteration that give each actor work for a while."""
    return max(16384, 512 * actors)


def draw(table: list[dict[str, Any]], path: str) -> None:
    """Panels over the number of actors, a line for each number of GPUs."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    panels = {
        "positions/s": "throughput",
        "learner busy, %": "learner",
        "actors busy, %": "actors",
        "staleness, versions": "staleness",
        "driver's dispatcher busy, %": "driver",
        "driver's network card busy, %": "network",
        "positions that wait, MB": "waiting_bytes",
        "price of a million positions": "cost",
    }
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ludarium", "font.size": 9}):
        figure = Figure(figsize=(11, 5.2), layout="constrained")
        axes = figure.subplots(2, 4)
        for axis, (title, key) in zip(axes.flat, panels.items(), strict=True):
            for gpus in sorted({row["gpus"] for row in table}):
                rows = [row for row in table if row["gpus"] == gpus]
                unit = 100 if title.endswith("%") else 1e-6 if title.endswith("MB") else 1
                axis.plot(
                    [row["actors_count"] for row in rows],
                    [unit * row[key] for row in rows],
                    "o-",
                    markersize=3,
                    label=f"{gpus} GPU" + "s" * (gpus > 1),
                )
            axis.set_xscale("log")
            if key in ("throughput", "waiting_bytes", "cost"):
                axis.set_yscale("log")
            else:
                axis.set_ylim(bottom=0)
            axis.set_title(title, fontsize=9)
            axis.grid(alpha=0.3)
        figure.supxlabel("actors", fontsize=9)
        axes[0][0].legend(fontsize=8)
        kind = Path(path).suffix[1:]
        figure.savefig(path, format=kind, metadata={"Date": None} if kind == "svg" else None)


def main() -> None:
    """Measure rates, or simulate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", metavar="FILE", help="write the rates of this machine")
    parser.add_argument("--game", default="corso")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rates", metavar="FILE")
    parser.add_argument(
        "--learner", type=float, help="gradient steps a second of a GPU, in place of the measured"
    )
    parser.add_argument("--shared", type=int, metavar="CORES")
    parser.add_argument("--actors", nargs="+", type=int)
    parser.add_argument("--gpus", nargs="+", type=int, default=list(GPUS))
    parser.add_argument("--iteration", type=int, help="positions; default: 512 for each actor")
    parser.add_argument("--replay-ratio", type=float, default=3.0)
    parser.add_argument("--staleness", type=int, default=2)
    parser.add_argument("--bandwidth", type=float, default=10, help="Gbit/s of the driver")
    parser.add_argument("--core-hour", type=float, default=0.04, help="price")
    parser.add_argument("--gpu-hour", type=float, default=2.5, help="price")
    parser.add_argument("--plot", metavar="FILE")
    given = parser.parse_args()
    if given.measure:
        rates = measure(given.game, given.set, given.seconds)
        Path(given.measure).write_text(json.dumps(asdict(rates), indent=1) + "\n")
        print(json.dumps(asdict(rates)))
        return
    if not given.rates:
        parser.error("give --measure FILE, or --rates FILE")
    rates = Rates(**json.loads(Path(given.rates).read_text()))
    if given.learner:
        rates = replace(rates, learner=given.learner)
    base = Plan(
        actors=1,
        replay_ratio=given.replay_ratio,
        staleness=given.staleness,
        bandwidth=given.bandwidth * 1e9 / 8,
    )
    if given.shared:
        plan = replace(base, iteration=given.iteration or 16384, shared_cores=given.shared)
        print("| | positions/s | per processor second | learner | actors | stale |")
        print("|---|---|---|---|---|---|")
        wall, processor = one_machine(rates, plan, given.shared)
        print(f"| one machine | {wall:,.0f} | {processor:,.0f} | | | |")
        for actors in given.actors or (1, 2, 4):
            result = Simulation(rates, replace(plan, actors=actors)).run(20)
            print(
                f"| {actors} actors | {result.throughput:,.0f} | {result.per_core_second:,.0f} | "
                f"{100 * result.learner:.0f} % | {100 * result.actors:.0f} % | "
                f"{result.staleness:.2f} |"
            )
        return
    table = []
    print(
        "| actors | GPUs | positions/s | learner | actors | dispatcher | network | stale | "
        "waits, MB | price |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for actors in given.actors or ACTORS:
        for gpus in given.gpus:
            size = given.iteration or positions_for(actors)
            plan = replace(base, actors=actors, gpus=gpus, iteration=size)
            result = Simulation(rates, plan).run(20)
            price = cost(result, plan, given.core_hour, given.gpu_hour)
            table.append(asdict(result) | {"actors_count": actors, "gpus": gpus, "cost": price})
            shares = (result.learner, result.actors, result.driver, result.network)
            cells = " | ".join(f"{100 * share:.0f} %" for share in shares)
            print(
                f"| {actors:,} | {gpus} | {result.throughput:,.0f} | {cells} | "
                f"{result.staleness:.2f} | {result.waiting_bytes / 1e6:,.1f} | {price:.2f} |",
                flush=True,
            )
    if given.plot:
        draw(table, given.plot)


if __name__ == "__main__":
    main()
