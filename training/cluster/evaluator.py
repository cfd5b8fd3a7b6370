"""Evaluations on a cluster, which nothing waits for but the end of the run."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ludarium.envs.engine.threads import one_core
from ludarium.training.runs.evaluation import Evaluation, Evaluator, Progress

from .nodes import Node, Nodes, Say, only_on

_POLL = 0.2  # seconds


class ClusterEvaluator(Evaluator):
    """Plays one evaluation at a time in a process on a node, while the run goes on.

    The process shares the node's cores with the actors there. If an evaluation is due while another
    is played, it waits; if one waits already, the newer one takes its place. One whose node dies
    is played again on another. Opponents that are files are read there, unless the driver's node
    plays: it is taken where an opponent is a file.

    Args:
        nodes: of the cluster.
        say: tells people.
    """

    def __init__(self, nodes: Nodes, say: Say) -> None:
        self._nodes = nodes
        self._say = say
        self._waiting: Evaluation | None = None
        self._playing: Evaluation | None = None
        self._task: Any = None
        self._player: Any = None  # the process, which lasts

    def submit(self, evaluation: Evaluation, progress: Progress) -> None:
        """Have it played as soon as the one before is done."""
        if self._waiting is not None:
            self._say(f"no evaluation of iteration {self._waiting.iteration}: the next one is due")
        network = copy.deepcopy(evaluation.network).cpu()
        self._waiting = replace(evaluation, network=network)
        self._begin()

    def take(self, wait: bool) -> dict[str, Any]:
        """Metrics of an evaluation that is done, and of which iteration it is: ``evaluated``."""
        done: dict[str, Any] = {}
        while self._playing is not None or self._waiting is not None:
            self._begin()
            if self._is_ready(_POLL if wait else 0):
                done = self._finish() or done
            elif not wait:
                break
        return done

    def _is_ready(self, seconds: float) -> bool:
        """Whether the task is done, at the latest after so many seconds."""
        import ray

        if self._task is None:
            time.sleep(seconds)
            return False
        return bool(ray.wait([self._task], timeout=seconds)[0])

    def _begin(self) -> None:
        """Start the evaluation that waits, or that has lost its node."""
        import ray

        if self._task is not None:
            return
        if self._playing is None:
            self._playing, self._waiting = self._waiting, None
        if self._playing is None:
            return
        if self._player is None:
            node = self._choose_node(self._playing)
            if node is None:
                return
            player = ray.remote(_Player).options(num_cpus=0, scheduling_strategy=only_on(node.id))
            self._player = player.remote()
        self._task = self._player.play.remote(self._playing)

    def _choose_node(self, evaluation: Evaluation) -> Node | None:
        """The node with the most cores, or the driver's; None if there is none yet."""
        import ray

        nodes = self._nodes.refresh()
        if any(Path(name.rpartition(":")[0] or name).exists() for name in evaluation.opponents):
            home = ray.get_runtime_context().get_node_id()
            nodes = [node for node in nodes if node.id == home]
        return max(nodes, key=lambda node: (node.cpus, node.id), default=None)

    def _finish(self) -> dict[str, Any]:
        """The metrics of the task; none if its node has died."""
        import ray

        task, self._task = self._task, None
        playing = self._playing
        assert playing is not None
        try:
            metrics: dict[str, Any] = ray.get(task)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError:
            self._player = None
            self._say(f"the evaluation of iteration {playing.iteration} was lost; it begins again")
            return {}
        self._playing = None
        return metrics | {"evaluated": playing.iteration}

    def close(self) -> None:
        """Give up what is not done."""
        import ray

        if self._player is not None:
            ray.kill(self._player)
        self._task = self._player = None
        self._playing = self._waiting = None


class _Player:
    """The process that plays."""

    def play(self, evaluation: Evaluation) -> dict[str, Any]:
        """Play an evaluation, on one core."""
        with one_core():
            return evaluation.play()
