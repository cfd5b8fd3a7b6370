"""Evaluations on a cluster, which nothing waits for but the next one and the end of the run."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from ludarium.envs.engine.progress import Task
from ludarium.envs.engine.threads import one_core
from ludarium.training.runs.evaluation import Evaluation, Evaluator

from .connection import received

_OF_A_GPU = ("graph-fp16",)  # backends of actors that have a GPU, which an evaluation has not


class ClusterEvaluator(Evaluator):
    """Plays one evaluation at a time as a task of Ray, while the run goes on.

    A task plays on the processor: where the actors' backend needs a GPU, it takes the usual one. A
    task whose node dies is started again by Ray. Where an opponent is a file, the node of the
    driver plays, which has it.
    """

    def __init__(self) -> None:
        self._submitted: list[Any] = []  # Ray's references to the metrics that are not taken yet

    def submit(self, evaluation: Evaluation, task: Task) -> None:
        """Have it played, once the one before is done."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray.wait(self._submitted, num_returns=len(self._submitted))
        where: Any = "SPREAD"
        opponents = evaluation.measure.opponents
        if any(Path(name.rpartition(":")[0] or name).exists() for name in opponents):
            home = ray.get_runtime_context().get_node_id()
            where = NodeAffinitySchedulingStrategy(home, soft=False)
        play = ray.remote(_play).options(num_cpus=0, max_retries=-1, scheduling_strategy=where)
        network = copy.deepcopy(evaluation.network).cpu()
        backend = "auto" if evaluation.backend in _OF_A_GPU else evaluation.backend
        self._submitted.append(play.remote(replace(evaluation, network=network, backend=backend)))

    def take(self, wait: bool) -> dict[str, Any]:
        """Metrics of an evaluation that is done; ``evaluated`` is the iteration that it is of.

        Where several are done, it is the latest, and ``earlier_evaluations`` has the others.

        Raises:
            ValueError: the cluster has lost it.
            Exception: what the games raised.
        """
        import ray

        count, timeout = len(self._submitted), None if wait else 0
        done, self._submitted = ray.wait(self._submitted, num_returns=count, timeout=timeout)
        *earlier, latest = received(done, "an evaluation") or [{}]
        return latest | ({"earlier_evaluations": earlier} if earlier else {})

    def close(self) -> None:
        """Give up what is not done."""
        import ray

        for each in self._submitted:
            ray.cancel(each, force=True)


def _play(evaluation: Evaluation) -> dict[str, Any]:
    """Play an evaluation, on one core."""
    with one_core():
        return evaluation.play() | {"evaluated": evaluation.iteration}
