"""Evaluations on a cluster, which nothing waits for but the next one and the end of the run."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from ludarium.envs.engine.progress import Task
from ludarium.envs.engine.threads import one_core
from ludarium.training.runs.evaluation import Evaluation, Evaluator


class ClusterEvaluator(Evaluator):
    """Plays one evaluation at a time as a task of Ray, while the run goes on.

    A task whose node dies is started again by Ray. Where an opponent is a file, the node of the
    driver plays, which has it.
    """

    def __init__(self) -> None:
        self._task: Any = None
        self._iteration = 0  # of the task
        self._done: dict[str, Any] = {}

    def submit(self, evaluation: Evaluation, task: Task) -> None:
        """Have it played, once the one before is done."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._done = self.take(wait=True)
        where: Any = "SPREAD"
        opponents = evaluation.measure.opponents
        if any(Path(name.rpartition(":")[0] or name).exists() for name in opponents):
            home = ray.get_runtime_context().get_node_id()
            where = NodeAffinitySchedulingStrategy(home, soft=False)
        play = ray.remote(_play).options(num_cpus=0, max_retries=-1, scheduling_strategy=where)
        network = copy.deepcopy(evaluation.network).cpu()
        self._task = play.remote(replace(evaluation, network=network))
        self._iteration = evaluation.iteration

    def take(self, wait: bool) -> dict[str, Any]:
        """Metrics of an evaluation that is done, and of which iteration it is: ``evaluated``."""
        import ray

        done, self._done = self._done, {}
        if self._task is None or not ray.wait([self._task], timeout=None if wait else 0)[0]:
            return done
        try:
            done = ray.get(self._task) | {"evaluated": self._iteration}
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        self._task = None
        return done

    def close(self) -> None:
        """Give up what is not done."""
        import ray

        if self._task is not None:
            ray.cancel(self._task, force=True)
        self._task = None


def _play(evaluation: Evaluation) -> dict[str, Any]:
    """Play an evaluation, on one core."""
    with one_core():
        return evaluation.play()
