"""Training runs from Python: `train`, which calls callbacks after each iteration."""

from __future__ import annotations

import copy
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from ludarium.base.messages import quoted
from ludarium.base.progress import SILENT, Progress
from ludarium.base.progress_bar import as_time, progress_bar
from ludarium.configs import AlphaZeroConfig, TrainingConfig, apply_settings, load_config

from .agents import Agent
from .agents.network import NetworkAgent
from .cluster import joined
from .runs.folder import RunFolder
from .runs.reporting import RunLog, columns_of
from .runs.start import start_settings
from .runs.trainer import MakeAlgorithm, RunResult, Trainer


class Iteration:
    """An iteration of a run that is done and saved, for callbacks.

    Attributes:
        number: number of the iteration, from 1.
        metrics: its line in ``metrics.jsonl``, by name (`ludarium.training.runs.metrics`); the
            dictionary belongs to the callback.
        folder: the run's folder.
    """

    def __init__(self, trainer: Trainer, metrics: Mapping[str, Any]) -> None:
        self.number: int = metrics["iteration"]
        self.metrics = copy.deepcopy(dict(metrics))
        self.folder: Path = trainer.folder.path
        self.is_over = False  # the callback has returned
        self._trainer = trainer

    @property
    def numbers(self) -> dict[str, float]:
        """The metrics that are numbers, as loggers take them."""
        return {n: v for n, v in self.metrics.items() if isinstance(v, int | float)}

    def agent(self, simulations: int | None = None) -> Agent:
        """A copy of the current agent, which further training does not change.

        Args:
            simulations: per move; 0: the policy alone; default: ``evaluation.simulations``.

        Raises:
            ValueError: the number of simulations is out of range.
            RuntimeError: the callback has returned, and the run has continued.
        """
        if self.is_over:
            raise RuntimeError(
                f"agent() of iteration {self.number} is asked for after the callback: the network "
                "has learnt on; ask within the callback, and keep the agent"
            )
        trainer = self._trainer
        if simulations is None:
            simulations = trainer.config.evaluation.simulations
        network = copy.deepcopy(trainer.network_of(trainer.game, trainer.algorithm.agent()))
        name = f"iteration {self.number}:{simulations}"
        return NetworkAgent(trainer.game, network, simulations, name)

    def stop(self) -> None:
        """End the run after this iteration; `train` with the same folder resumes it."""
        self._trainer.progress.stop()


Callback = Callable[[Iteration], object]


def train(
    config: TrainingConfig | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *callbacks: Callback,
    settings: Mapping[str, Any] | None = None,
    start: str | None = None,
    restart: bool = False,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Train an agent, or resume the run in the folder, as ``ludarium train`` does.

    Args:
        config: a configuration, the path of its file, or the name of a shipped one, such as
            ``corso/demo``.
        folder: where the run is stored.
        callbacks: each is called with each `Iteration` of this call, once it is saved. An error of
            a callback ends the call; the run can be resumed from there.
        settings: keys of the configuration to change, such as ``{"budget.minutes": 5}``.
        start: name of a trained agent to begin with, such as the path of a checkpoint or of a run's
            folder, or the name of a game, which means its shipped agent.
        restart: begin anew: the run that the folder holds is deleted when the first iteration of
            the new one is saved.
        cluster: address of a Ray cluster to play on, ``auto`` for this machine's; ``""``
            starts one here; None: no cluster. PPO joins a cluster, but plays in this process.
        progress: shows what the run does, a table and TensorBoard curves included, and may stop it;
            default: on standard error; ``SILENT`` shows and writes none of these.

    Returns:
        How it ended. The agent is ``agent.safetensors`` in the folder.

    Raises:
        ValueError: an argument is of a wrong type, or the configuration is wrong; there is no such
            device, or too little memory; there is no such cluster; ``start`` names no trained agent
            that fits; or the folder is in use, holds another run, or is damaged.
        FileNotFoundError: there is no such configuration; or ``start`` names a folder without an
            agent, or a game without a shipped one.
        StorageError: the folder cannot be written.
        DivergedError: a loss or a weight is not finite.
        ImportError: a library that the algorithm, an agent or the cluster needs is missing, or
            `ludarium.analysis`, for exact values.
    """
    if not isinstance(config, TrainingConfig | str | os.PathLike):
        raise ValueError(
            f"config is {quoted(config)}; accepted: a configuration, the path of its file, or the "
            "name of a shipped one"
        )
    if not isinstance(settings, Mapping | None):
        raise ValueError(f"settings is {quoted(settings)}; accepted: values by key")
    for callback in callbacks:
        if not callable(callback):
            raise ValueError(f"a callback is {quoted(callback)}; accepted: a function")
    if not isinstance(cluster, str | None):
        raise ValueError(f"cluster is {quoted(cluster)}; accepted: an address, as a text")
    if not isinstance(progress, Progress | None):
        raise ValueError(f"progress is {quoted(progress)}; accepted: a Progress, such as SILENT")
    if not isinstance(config, TrainingConfig):
        config = load_config(config if isinstance(config, str) else Path(config))
    texts = [f"{key}={_as_json(key, value)}" for key, value in (settings or {}).items()]
    config, run_folder = apply_settings(config, texts), RunFolder(folder, restart)
    if start is not None:
        of_start = start_settings(start, config, run_folder.begun())
        config = apply_settings(config, [*of_start, *texts])
    with progress_bar() if progress is None else nullcontext(progress) as shown:
        return train_in(run_folder, config, callbacks, cluster=cluster, progress=shown)


def train_in(
    folder: RunFolder,
    config: TrainingConfig,
    callbacks: tuple[Callback, ...] = (),
    *,
    cluster: str | None = None,
    progress: Progress = SILENT,
) -> RunResult:
    """`train` in a `RunFolder`, with the configuration as it is, by default silently."""
    on_cluster = cluster is not None
    log = None
    if progress is not SILENT:
        log = RunLog(folder, columns_of(config.algorithm, on_cluster), progress)

    def tell(metrics: dict[str, Any]) -> None:
        if log is not None:
            log.iteration(metrics)
        for callback in callbacks:
            iteration = Iteration(trainer, metrics)
            callback(iteration)
            iteration.is_over = True

    try:
        with nullcontext() if cluster is None else _on_cluster(cluster):
            trainer = make_trainer(config, folder, progress, on_cluster)
            try:
                progress.say(_beginning(trainer))
                progress.say(describe_plan(config))
                if log is not None and trainer.metrics:
                    log.iteration(trainer.metrics)
                return trainer.run(tell)
            finally:
                trainer.close()
    finally:
        if log is not None:
            log.close()


def make_trainer(
    config: TrainingConfig,
    folder: RunFolder,
    progress: Progress = SILENT,
    on_cluster: bool = False,
) -> Trainer:
    """A run, new or resumed from its folder; only the modules of its algorithm are imported.

    Args:
        config: the run's configuration.
        folder: the run's folder.
        progress: shows what the run does, and may stop it.
        on_cluster: AlphaZero plays on the Ray cluster that this process has joined, not here.

    Raises:
        ImportError: a library that the algorithm needs is missing; or see `Trainer`.
        ValueError, FileNotFoundError, StorageError: see `Trainer`.
    """
    algorithm: MakeAlgorithm
    if config.algorithm == "ppo":
        from .ppo.loop import PPO

        algorithm = PPO
    else:
        from .alphazero.loop import AlphaZero

        algorithm = AlphaZero
        if on_cluster:
            from .cluster.actors import ClusterActors

            algorithm = partial(AlphaZero, actors=ClusterActors)
    return Trainer(config, folder, algorithm, progress, on_cluster)


def _as_json(key: str, value: Any) -> str:
    """The value of a setting as JSON; the value may be or contain numpy's numbers."""
    try:
        return json.dumps(value, default=lambda number: number.item())
    except (AttributeError, RuntimeError, TypeError, ValueError):
        raise ValueError(f"settings: {key} is {quoted(value)}, which is not JSON") from None


@contextmanager
def _on_cluster(address: str) -> Iterator[None]:
    """A context in which this process belongs to the cluster."""
    # Ray reports dead processes on standard output, which is for results.
    with redirect_stdout(sys.stderr), joined(address):
        yield


def _beginning(trainer: Trainer) -> str:
    """One line: what is trained, and where."""
    where = f"going on after iteration {trainer.iteration}" if trainer.iteration else "new run"
    algorithm = trainer.config.algorithm
    return (
        f"training {trainer.game} in {trainer.folder.path} ({where}; {algorithm}, "
        f"{trainer.algorithm.resources})"
    )


def _at_most(seconds: float) -> str:
    return "" if math.isinf(seconds) else f" (within {as_time(seconds)})"


def describe_plan(config: TrainingConfig) -> str:
    """One sentence on what a run will do, and when it will end."""
    parts = []
    if isinstance(config, AlphaZeroConfig):
        if config.bootstrap.positions:
            parts.append(
                f"first {config.bootstrap.positions:,} positions of games by tree search with "
                f"random playouts{_at_most(config.bootstrap_seconds)}"
            )
        parts.append(f"self-play, {config.self_play.positions:,} positions in each iteration")
    else:
        parts.append("self-play")
    evaluation = config.evaluation
    if evaluation.every:
        whom = evaluation.against
        against = whom if isinstance(whom, str) else f"{whom[0]} to {whom[-1]}"
        parts.append(f"games against {against} every {_counted(evaluation.every, 'iteration')}")
    minutes, end = config.budget.minutes, _counted(config.budget.iterations, "iteration")
    if minutes is not None:
        end = f"{_counted(minutes, 'minute')}, or {end} if sooner"
    return f"plan: {'; '.join(parts)}; until {end}"


def _counted(number: float, unit: str) -> str:
    return f"{number:,.10g} {unit}{'s' * (number != 1)}"
