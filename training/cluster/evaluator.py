"""Evaluations on a cluster, which nothing waits for but the end of the run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ludarium.envs.engine.threads import one_core
from ludarium.training.runs.evaluation import Evaluation, Evaluator, Progress


class ClusterEvaluator(Evaluator):
    """Plays one evaluation at a time as a task of Ray, while the run goes on.

    A task whose node dies is started again by Ray. If an evaluation is due while another is played,
    it waits; if one waits already, the newer one takes its place. Where an opponent is a file, the
    node of the driver plays, which has it.

    Args:
        say: tells people.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._waiting: Evaluation | None = None
        self._task: Any = None
        self._iteration = 0  # of the task

    def submit(self, evaluation: Evaluation, progress: Progress) -> None:
        """Have it played as soon as the one before is done."""
        if self._waiting is not None:
            self._say(f"no evaluation of iteration {self._waiting.iteration}: the next one is due")
        network = copy.deepcopy(evaluation.network).cpu()
        self._waiting = replace(evaluation, network=network)
        self._start()

    def take(self, wait: bool) -> dict[str, Any]:
        """Metrics of an evaluation that is done, and of which iteration it is: ``evaluated``."""
        import ray

        done: dict[str, Any] = {}
        timeout = None if wait else 0
        while self._task is not None and ray.wait([self._task], timeout=timeout)[0]:
            try:
                done = ray.get(self._task) | {"evaluated": self._iteration}
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            self._task = None
            self._start()
        return done

    def _start(self) -> None:
        """Start the evaluation that waits, unless one is played."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if self._task is not None or self._waiting is None:
            return
        where: Any = "SPREAD"
        opponents = self._waiting.opponents
        if any(Path(name.rpartition(":")[0] or name).exists() for name in opponents):
            home = ray.get_runtime_context().get_node_id()
            where = NodeAffinitySchedulingStrategy(home, soft=False)
        task = ray.remote(_play).options(num_cpus=0, max_retries=-1, scheduling_strategy=where)
        self._task, self._iteration = task.remote(self._waiting), self._waiting.iteration
        self._waiting = None

    def close(self) -> None:
        """Give up what is not done."""
        import ray

        if self._task is not None:
            ray.cancel(self._task, force=True)
        self._task = self._waiting = None


def _play(evaluation: Evaluation) -> dict[str, Any]:
    """Play an evaluation, on one core."""
    with one_core():
        return evaluation.play()
