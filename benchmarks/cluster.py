"""What a Ray cluster costs: the loop of one machine against the same loop with actors of Ray.

    python benchmarks/cluster.py                         throughput with 1, 2 and 4 actors
    python benchmarks/cluster.py --only recovery memory
    python benchmarks/cluster.py --only strength --minutes 5 --seeds 1 2
    python benchmarks/cluster.py --game onyx --seconds 120 --json cluster.json

- ``throughput``: positions a second of the whole loop, self-play and learning, with one machine's
  loop and with actors of Ray on the same cores; each for ``--seconds`` after two iterations, turn
  by turn, ``--repeats`` times (the median is printed). Also positions per second of processor time,
  of all processes together, which other work on the machine changes little.
- ``weights``: bytes of a version, seconds to publish it, seconds until an actor plays with it.
- ``recovery``: seconds from the kill of an actor until another one plays in its place.
- ``memory``: resident memory of the driver, from the first quarter of ``--minutes`` to the last.
- ``strength``: a run of each kind from nothing, for ``--minutes`` of processor time of all its
  processes together, once they have started, then a match of what they have learnt; for each of
  ``--seeds``.

Needs ``ludarium[cluster]``. Linux only.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ludarium.configs import AlphaZeroConfig, apply_settings, load_config
from ludarium.envs.engine.threads import available_cores
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.alphazero.loop import AlphaZeroTrainer
from ludarium.training.cluster import Cluster
from ludarium.training.cluster.actors import ClusterActors
from ludarium.training.evaluation import play_match
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import Reporter

PARTS = ("throughput", "weights", "recovery", "memory", "strength")
#: What is measured is self-play and learning in their steady state.
COMMON = [
    "budget={iterations: 1000000, minutes: null}",
    "bootstrap.positions=0",
    "self_play.simulations=32",
    "self_play.positions=8192",
    "replay={first: 100000, last: 100000}",
    "evaluation.every=0",
]
_WARM_UP = 2  # iterations
_BOOTSTRAP = ["bootstrap={positions: 20000, playouts: 200, replay_ratio: 3}"]  # from nothing
_MATCH = {"games": 400, "simulations": 64}


def config_of(game: str, settings: list[str]) -> AlphaZeroConfig:
    """The configuration of all measurements."""
    config = apply_settings(load_config(f"{game}/default"), [*COMMON, *settings])
    assert isinstance(config, AlphaZeroConfig)
    return config


@contextmanager
def training(config: AlphaZeroConfig, actors: int | None, cores: int) -> Iterator[AlphaZeroTrainer]:
    """A run in a folder of its own; with so many actors of a cluster, or in the local loop."""
    cluster = None if actors is None else Cluster(cores=max(cores, actors))
    if actors is not None:
        config = apply_settings(config, [f"cluster.actors={actors}"])  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        trainer = AlphaZeroTrainer(config, RunFolder(Path(folder) / "run"), Reporter(), cluster)
        try:
            yield trainer
        finally:
            trainer.close()
            if cluster is not None:
                cluster.close()


def iterate(trainer: AlphaZeroTrainer, stop: Callable[[], bool]) -> list[dict[str, Any]]:
    """Train until ``stop`` says so after an iteration; the lines of the log."""
    done = trainer.iteration
    trainer.run(stop=lambda: trainer.iteration > done and stop())
    lines = trainer.folder.metrics.read_text().splitlines()
    return [json.loads(line) for line in lines[done:]]


def processor_seconds() -> float:
    """Processor time of this process and all that it has started and that are alive."""
    ticks = os.sysconf("SC_CLK_TCK")
    spent: dict[int, float] = {}
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        spent[number] = (int(fields[11]) + int(fields[12])) / ticks
    mine = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(spent[number] for number in mine)


def throughput(
    config: AlphaZeroConfig, actors: int | None, seconds: float, cores: int
) -> dict[str, Any]:
    """Positions a second, of wall time and of processor time."""
    with training(config, actors, cores) as trainer:
        iterate(trainer, lambda: trainer.iteration >= _WARM_UP)
        began, spent = time.perf_counter(), processor_seconds()
        lines = iterate(trainer, lambda: time.perf_counter() - began >= seconds)
        wall, processor = time.perf_counter() - began, processor_seconds() - spent
    positions = sum(line["positions_per_second"] * line["play_seconds"] for line in lines)
    own = lines if actors is not None else []
    return {
        "positions_per_second": positions / wall,
        "positions_per_processor_second": positions / processor,
        "cores_used": processor / wall,
        "per_actor_second": statistics.mean([line["positions_per_actor_second"] for line in own])
        if own
        else None,
        "steps_per_second": config.learner.replay_ratio
        * positions
        / config.learner.batch
        / sum(line["learn_seconds"] for line in lines),
        "learner_waited": sum(line["learner_waited"] for line in own) / wall if own else None,
        "actors_waited": sum(line["actors_waited"] for line in own) / wall if own else None,
        "staleness": statistics.mean([line["staleness"] for line in own]) if own else 0.0,
    }


def weights(config: AlphaZeroConfig, seconds: float, cores: int) -> dict[str, Any]:
    """What a version of the weights costs."""
    with training(config, cores, cores) as trainer:
        iterate(trainer, lambda: trainer.iteration >= _WARM_UP)
        end = time.perf_counter() + seconds
        lines = iterate(trainer, lambda: time.perf_counter() >= end)
    return {
        "bytes": lines[-1]["weights_bytes"],
        "publish_seconds": statistics.median([line["weights_seconds"] for line in lines]),
        "loading_seconds": statistics.median([line["weights_loading"] for line in lines]),
    }


def recovery(config: AlphaZeroConfig, cores: int, kills: int = 3) -> dict[str, Any]:
    """Seconds from a kill until another actor plays in its place."""
    took = []
    with training(config, max(2, cores), cores) as trainer:
        actors = trainer.actors
        assert isinstance(actors, ClusterActors)
        for _ in range(kills):
            iterate(trainer, lambda: all(each.process for each in list(actors._players.values())))
            known = set(actors._players)
            os.kill(min(each.process for each in actors._players.values()), signal.SIGKILL)
            began = time.perf_counter()
            back: list[float] = []

            def watch(known: set[int] = known, back: list[float] = back) -> None:
                """Note when an actor that is new has an order; the main thread trains on."""
                while not any(
                    each.process and each.order is not None
                    for number, each in list(actors._players.items())
                    if number not in known
                ):
                    time.sleep(0.02)
                back.append(time.perf_counter())

            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            while not back:
                iterate(trainer, lambda: True)
            took.append(back[0] - began)
    return {"seconds": took}


def memory(config: AlphaZeroConfig, minutes: float, cores: int) -> dict[str, Any]:
    """Megabytes of the driver in the first and in the last quarter of the time."""
    sizes: list[float] = []
    with training(config, cores, cores) as trainer:
        # The replay buffer fills; that is no growth.
        iterate(trainer, lambda: len(trainer.replay) >= config.replay.last)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            iterate(trainer, lambda: True)
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            sizes.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
    quarter = max(1, len(sizes) // 4)
    first, last = statistics.mean(sizes[:quarter]), statistics.mean(sizes[-quarter:])
    return {"first": first, "last": last, "growth": last / first - 1, "iterations": len(sizes)}


def wait_for_actors(actors: ClusterActors, count: int) -> None:
    """Until so many actors have started; a run begins with fewer."""
    while sum(each.process > 0 for each in list(actors._players.values())) < count:
        time.sleep(0.1)


def strength(config: AlphaZeroConfig, minutes: float, seed: int, cores: int) -> dict[str, Any]:
    """The score of what a cluster has learnt against what one machine has."""
    agents: dict[str, NetworkAgent] = {}
    found: dict[str, Any] = {}
    own = apply_settings(config, [*_BOOTSTRAP, f"seed={seed}"])
    assert isinstance(own, AlphaZeroConfig)
    small = apply_settings(
        own, ["bootstrap.positions=256", "self_play.positions=512", "learner.batch=64"]
    )
    assert isinstance(small, AlphaZeroConfig)
    with training(small, None, cores) as trainer:  # what is compiled once is not counted
        iterate(trainer, lambda: trainer.iteration >= _WARM_UP)
    for name, actors in (("machine", None), ("cluster", cores)):
        with training(own, actors, cores) as trainer:
            if isinstance(trainer.actors, ClusterActors):
                wait_for_actors(trainer.actors, cores)
            began, spent = time.perf_counter(), processor_seconds()

            def is_over(spent: float = spent) -> bool:
                return processor_seconds() - spent >= 60 * minutes

            lines = iterate(trainer, is_over)
            network = copy.deepcopy(trainer.player)
            agents[name] = NetworkAgent(trainer.game, network, _MATCH["simulations"], name)
            found[name] = {
                "iterations": len(lines),
                "steps": lines[-1]["step"],
                "seconds": time.perf_counter() - began,
                "processor_seconds": processor_seconds() - spent,
            }
            game = trainer.game
    match = play_match(game, agents["cluster"], agents["machine"], _MATCH["games"], seed=seed)
    return found | {"score": match.score, "interval": match.interval}


def compare(
    config: AlphaZeroConfig, counts: list[int], seconds: float, repeats: int, cores: int
) -> dict[str, dict[str, Any]]:
    """`throughput` of the local loop and of each number of actors, turn by turn."""
    found: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repeats):
        for actors in (None, *counts):
            name = "one machine" if actors is None else f"{actors} actors"
            result = throughput(config, actors, seconds, cores)
            print(f"{name}: {json.dumps(result)}", file=sys.stderr, flush=True)
            found.setdefault(name, []).append(result)
    return {
        name: {
            key: None if results[0][key] is None else statistics.median([r[key] for r in results])
            for key in results[0]
        }
        for name, results in found.items()
    }


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="corso")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=["throughput", "weights"])
    parser.add_argument("--actors", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--cores", type=int, default=available_cores())
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    config = config_of(given.game, [f"self_play.workers={given.cores}", *given.set])
    results: dict[str, Any] = {}
    if "throughput" in given.only:
        results["throughput"] = table = compare(
            config, given.actors, given.seconds, given.repeats, given.cores
        )
        local = table["one machine"]
        print("| | positions/s | of one machine's | per processor second | of one machine's |")
        print("|---|---|---|---|---|")
        for name, each in table.items():
            cells = []
            for key in ("positions_per_second", "positions_per_processor_second"):
                cells += [f"{each[key]:,.0f}", f"{each[key] / local[key]:.2f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if "weights" in given.only:
        results["weights"] = weights(config, given.seconds, given.cores)
    if "recovery" in given.only:
        results["recovery"] = recovery(config, given.cores)
    if "memory" in given.only:
        results["memory"] = memory(config, given.minutes, given.cores)
    if "strength" in given.only:
        results["strength"] = {
            seed: strength(config, given.minutes, seed, given.cores) for seed in given.seeds
        }
    for name in PARTS[1:]:
        if name in results:
            print(f"{name}: {json.dumps(results[name])}")
    if given.json:
        Path(given.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
