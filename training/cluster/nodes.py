"""The nodes of a cluster: which of them a run may use, and for how many actors there is room."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ludarium.configs.schema import Cluster as ClusterConfig
from ludarium.envs.engine.compile import sources_of
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import shortened
from ludarium.training.alphazero.kernels import self_play as kernels

Say = Callable[[str], None]


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes:
        id: Ray's.
        name: host and address, for people.
        cpus, gpus: what it offers in all.
    """

    id: str
    name: str
    cpus: int
    gpus: float


@dataclass(frozen=True)
class Room:
    """Room for actors on a node: so many, each with cores and a share of the GPUs."""

    actors: int
    cpus: int
    gpus: float


def room_on(node: Node, config: ClusterConfig) -> Room:
    """The room on a node."""
    cpus, gpus = node.cpus, node.gpus
    each = config.actor_gpus
    if each is None:
        count = min(int(gpus), cpus // config.actor_cpus)
        if count > 0:
            return Room(count, max(config.actor_cpus, cpus // count), 1.0)
        each = 0.0
    count = cpus // config.actor_cpus
    if each > 0:
        count = min(count, int(gpus / each + 1e-9))
    return Room(max(0, count), config.actor_cpus, each)


def identity(game: Game) -> dict[str, str]:
    """What must be the same on all nodes: versions of this package and of the game's rules.

    The rules have a version and a digest of their sources, with those of search and self-play.
    """
    digest = sources_of(kernels, game.rules)
    return {
        "ludarium": version("ludarium"),
        f"rules of {game.name}": f"version {game.version} ({digest})",
    }


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """The first of what must be the same and is not, in words; None if all is."""
    for name, mine in here.items():
        theirs = there.get(name)
        if theirs != mine:
            return f"has {name} {theirs or 'missing'}, this run has {mine}"
    return None


def only_on(node: str) -> Any:
    """Ray's way to say that something runs on this node, by its id, or not at all."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def make_survey() -> Callable[[bytes, str], dict[str, str]]:
    """A function that finds out the `identity` of a node, which may have another ludarium.

    A function within a function travels with its code. So it also runs where this module is not.
    """

    def survey(game: bytes, expected: str) -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, version

        try:
            installed = version("ludarium")
        except PackageNotFoundError:
            return {}
        if installed != expected:
            return {"ludarium": installed}
        import cloudpickle

        from ludarium.training.cluster.nodes import identity

        return identity(cloudpickle.loads(game))

    return survey


class Nodes:
    """The nodes that a run may use: those with the same version of everything.

    Each new node is asked once for its `identity`. A node with another one is refused: that is
    said once, by name, and the node is not used.

    Args:
        game: the rules.
        say: tells people.
    """

    def __init__(self, game: Game, say: Say) -> None:
        self._game = game
        self._say = say
        self._identity = identity(game)
        self._lock = threading.Lock()
        self._accepted: set[str] = set()
        self._refused: set[str] = set()
        self._asked: dict[str, Any] = {}  # references to answers that are not there yet

    def refresh(self) -> list[Node]:
        """The nodes that are alive and may be used."""
        import ray

        with self._lock:
            alive = [_node(each) for each in ray.nodes() if each["Alive"]]
            for node in alive:
                if node.id not in self._accepted | self._refused:
                    self._check(node)
            known = {node.id for node in alive}
            for gone in set(self._asked) - known:
                del self._asked[gone]
            return [node for node in alive if node.id in self._accepted]

    def _check(self, node: Node) -> None:
        """Ask a new node, or read its answer."""
        import ray

        asked = self._asked.get(node.id)
        if asked is None:
            self._asked[node.id] = self._ask(node)
            return
        if not ray.wait([asked], timeout=0)[0]:
            return
        del self._asked[node.id]
        try:
            problem = difference(self._identity, ray.get(asked))
        except ray.exceptions.RayTaskError as error:
            problem = f"cannot run it ({shortened(str(error.cause))})"
        except ray.exceptions.RayError:
            return  # it has died, or its worker: asked again if it is still there
        if problem is None:
            self._accepted.add(node.id)
        else:
            self._refused.add(node.id)
            self._say(
                f"node {node.name} is not used: it {problem}; install the same there, and start "
                "its Ray again"
            )

    def _ask(self, node: Node) -> Any:
        import cloudpickle
        import ray

        task = ray.remote(make_survey()).options(
            num_cpus=0, max_retries=0, scheduling_strategy=only_on(node.id)
        )
        return task.remote(cloudpickle.dumps(self._game), self._identity["ludarium"])


def _node(described: Mapping[str, Any]) -> Node:
    """A node as Ray describes it."""
    resources = described["Resources"]
    host, address = described["NodeManagerHostname"], described["NodeManagerAddress"]
    number = described["NodeID"]
    return Node(
        number,
        f"{host} ({address}, {number[:8]})",
        int(resources.get("CPU", 0)),
        float(resources.get("GPU", 0)),
    )
