"""Trains the trials of a search one after the other; Optuna chooses their values and prunes them.

    journal.log          Optuna's journal of all trials, which Optuna's dashboard reads
    trial-003-seed-1/    the run of trial 3 with seed 1, as `ludarium train` makes it
    best.yaml            the best configuration so far, for `ludarium train --config`
    lock                 held by the process that searches

Values are chosen by the tree-structured Parzen estimator (Bergstra et al., "Algorithms for
Hyper-Parameter Optimization", 2011). An interrupted trial continues its runs.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from ludarium.base.durable import write_file
from ludarium.base.lock import WriterLock
from ludarium.base.messages import shortened
from ludarium.base.progress import SILENT, Part, Progress
from ludarium.configs import TrainingConfig, apply_settings
from ludarium.configs.loading import parse_config
from ludarium.envs import make_game
from ludarium.training.networks import fresh_network
from ludarium.training.runs.evaluation import find_opponents
from ludarium.training.runs.folder import RunFolder, compared, differences, text_of
from ludarium.training.runs.resources import check_device
from ludarium.training.runs.trainer import DivergedError, RunResult

from .space import Space, Values

optuna.logging.set_verbosity(optuna.logging.WARNING)

_JOURNAL, _LOCK = "journal.log", "lock"
_STUDY = "tune"  # name of the study in the journal
BEST = "best.yaml"  # file of the best configuration
REASON = "reason"  # attribute of a trial that failed
_PARTS = 10  # parts of a run; by the first evaluation in each after the first it may be pruned

#: Trains a run until its budget is used up, or the progress is stopped.
Train = Callable[[TrainingConfig, RunFolder, Progress], RunResult]


@dataclass(frozen=True)
class TuningPlan:
    """The plan of a search.

    Attributes:
        space: space of the values; without dimensions the configuration as it is.
        trials: how many; with ``grid``, or without dimensions, one for each combination instead.
        seeds: number of runs of each trial, with the configuration's seed and those after it.
        grid: try every combination in turn.
        prunes: whether to stop a trial that Optuna's median pruner gives up. Only a trial's first
            run is judged.

    Raises:
        ValueError: ``trials`` or ``seeds`` is below 1, the configuration has no evaluations, or
            ``grid`` is given for a range.
    """

    space: Space
    trials: int
    seeds: int = 1
    grid: bool = False
    prunes: bool = True

    def __post_init__(self) -> None:
        for name in ("trials", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; at least 1 is needed")
        if not self.space.config.evaluation.every:
            raise ValueError("evaluation.every is 0: trials are compared by their evaluations")
        if self.grid:
            self.space.grid()

    def check_trainable(self) -> None:
        """Check that trials can begin here.

        Raises:
            ValueError: an opponent, the device or the network of the first trial is not available.
            ImportError: a library is missing that an opponent needs.
        """
        config = self.space.configure(self.first_trials[0])
        game = make_game(config.game, **config.options)
        find_opponents(config.evaluation, game)
        check_device(config.device)
        is_searched = any(key.startswith("network") for key in self.space.distributions)
        if config.network.module is not None and not is_searched:
            fresh_network(game, config.network)

    @property
    def first_trials(self) -> list[Values]:
        """Values to try first: the whole grid, or the configuration's own values."""
        return self.space.grid() if self.grid or not self.space.texts else [self.space.usual]

    @property
    def count(self) -> int:
        """How many trials there will be."""
        return len(self.first_trials) if self.grid or not self.space.texts else self.trials

    @property
    def description(self) -> dict[str, Any]:
        """The plan as JSON values; `_check_same` compares two."""
        return {
            "config": msgspec.to_builtins(self.space.config),
            "search": list(self.space.texts),
            "seeds": self.seeds,
            "grid": self.grid,
        }


def load_study(folder: Path, plan: TuningPlan | None = None) -> optuna.Study:
    """The Optuna study of a folder.

    Args:
        folder: the search's folder.
        plan: the search's plan, which is written by the holder of the folder's lock; None: the
            folder must hold a search already, and nothing is written.

    Raises:
        ValueError: the folder holds another search, or something else, or no search, or its
            journal is damaged.
        OSError: the journal cannot be read or written.
    """
    _check_folder(folder, is_new=plan is not None)
    study = _open(folder / _JOURNAL, is_new=plan is not None)
    if plan is None:
        if "plan" not in study.user_attrs:  # killed before the plan was written
            raise ValueError(f"{folder} holds no trials yet")
        return study
    study.sampler = optuna.samplers.TPESampler(seed=plan.space.config.seed + len(study.trials))
    _check_same(folder, study.user_attrs.get("plan", plan.description), plan)
    study.set_user_attr("plan", plan.description)
    for values in plan.first_trials:  # repeated, because a kill may have come in between
        study.enqueue_trial(values, skip_if_exists=True)
    return study


def _check_folder(folder: Path, is_new: bool) -> None:
    """Refuse a folder that holds no search; an empty one, or none, is accepted if ``is_new``."""
    if (folder / _JOURNAL).exists():
        return
    if not is_new or (folder.exists() and any(each.name != _LOCK for each in folder.iterdir())):
        raise ValueError(f"{folder} holds no search; give another folder")


def _open(journal: Path, is_new: bool) -> optuna.Study:
    """The study of a journal; a new one if there is none, or if a kill has left it empty."""
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1)
    content = journal.read_bytes() if journal.exists() else b""
    if not content and not is_new:
        raise ValueError(f"{journal.parent} holds no trials yet")
    try:
        storage = JournalStorage(JournalFileBackend(str(journal)))
        if not content:
            return optuna.create_study(
                study_name=_STUDY, storage=storage, direction="maximize", pruner=pruner
            )
        # Optuna skips a last line that it cannot read; once it has written behind it, it fails.
        if not content.endswith(b"\n"):
            raise ValueError("its last line is cut: delete that line")
        json.loads(content.splitlines()[-1])
        study = optuna.load_study(study_name=_STUDY, storage=storage, pruner=pruner)
        if "config" not in study.user_attrs.get("plan", {"config": None}):
            raise ValueError("the plan has no configuration")
    except OSError:
        raise
    except Exception as error:  # Optuna checks nothing that it reads
        reason = shortened(f"{type(error).__name__}: {error}")
        raise ValueError(
            f"{journal} is damaged ({reason}): put back a copy, or give another folder"
        ) from None
    return study


def config_of(folder: Path, there: dict[str, Any]) -> TrainingConfig:
    """The configuration in the description of a folder's plan."""
    return parse_config(json.dumps(there["config"]), str(folder / _JOURNAL))


def _check_same(folder: Path, there: dict[str, Any], plan: TuningPlan) -> None:
    """Refuse a plan that differs from the folder's, except where it changes no result."""
    differing = differences(
        there | {"config": compared(config_of(folder, there))},
        plan.description | {"config": compared(plan.space.config)},
    )
    if differing:
        raise ValueError(
            f"{folder} holds another search ({', '.join(differing)}); give another folder"
        )


def tune(
    folder: Path,
    plan: TuningPlan,
    train: Train,
    progress: Progress = SILENT,
) -> bool:
    """Begin a search, or continue the one in the folder.

    Args:
        folder: the search's folder.
        plan: the search's plan.
        train: trains a run.
        progress: shows the trials and their runs; if it is stopped, the search ends before the next
            trial, or after an iteration of a run.

    Returns:
        Whether all trials have ended.

    Raises:
        ValueError: the folder is in use or holds another search, no trial could begin, or see
            `load_study`.
        ImportError: see `TuningPlan.check_trainable`.
        OSError: the folder cannot be written.
        Exception: whatever ``train`` raised, except a `DivergedError`; the trial continues
            when the search does.
    """
    plan.check_trainable()
    _check_folder(folder, is_new=True)
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder / _LOCK)
    lock.acquire()
    try:
        study = load_study(folder, plan)
        while (left := plan.count - sum(row.state.is_finished() for row in study.trials)) > 0:
            if progress.stopped:
                return False
            interrupted = study.get_trials(states=[TrialState.RUNNING])
            trial = optuna.Trial(study, interrupted[0]._trial_id) if interrupted else study.ask()
            plan.space.suggest(trial)
            progress.say(f"trial {trial.number}, {left} to go: {described(trial.params)}")
            if not _train(study, trial, folder, plan, train, progress):
                return False
            state = study.trials[trial.number].state
            progress.say(f"trial {trial.number}: {state.name.lower()}")
            _write_best(folder, study, plan.space)
        return True
    finally:
        lock.release()


def _train(
    study: optuna.Study,
    trial: optuna.Trial,
    folder: Path,
    plan: TuningPlan,
    train: Train,
    progress: Progress,
) -> bool:
    """Train the runs of a trial; return False if it was stopped and is to continue."""
    found: list[float] = []
    try:
        config = plan.space.configure(trial.params)
    except ValueError as error:  # the values do not fit together
        return _fail(study, trial, str(error))
    try:
        for seed in range(config.seed, config.seed + plan.seeds):
            run = RunFolder(run_folder(folder, trial.number, seed))
            is_judged = plan.prunes and not found
            part = _Judged(progress, trial, run.path) if is_judged else progress
            result = train(apply_settings(config, [f"seed={seed}"]), run, part)
            if not result.finished:
                if is_judged and _is_behind(trial, run.path):
                    study.tell(trial, state=TrialState.PRUNED)
                    return True
                return False
            done = _evaluations(run.path)
            if not done:
                reason = f"{run.path} has no evaluation: lower evaluation.every"
                return _fail(study, trial, reason)
            found.append(done[-1][1])
    except DivergedError as error:
        return _fail(study, trial, str(error))
    study.tell(trial, statistics.mean(found))
    return True


def _fail(study: optuna.Study, trial: optuna.Trial, reason: str) -> bool:
    """End a trial whose values cannot be used; return True, as `_train` does for ended trials."""
    trial.set_user_attr(REASON, shortened(reason))
    study.tell(trial, state=TrialState.FAIL)
    return True


def _is_behind(trial: optuna.Trial, folder: Path) -> bool:
    """Report a run's first evaluation in each part after the first; return whether to prune it."""
    reported = trial.study.trials[trial.number].intermediate_values
    done = reversed(_evaluations(folder))
    of_parts = {int(_PARTS * progress + 1e-9): value for progress, value in done}
    for part, value in sorted(of_parts.items()):
        if 0 < part < _PARTS and part not in reported:
            trial.report(value, part)
    return trial.should_prune()


class _Judged(Part):
    """The progress of a run that also stops where its trial falls behind the others."""

    def __init__(self, whole: Progress, trial: optuna.Trial, folder: Path) -> None:
        super().__init__(whole)
        self._trial, self._folder = trial, folder
        self._judged, self._is_behind = -1, False  # the size of the log that was judged last

    @property
    def stopped(self) -> bool:
        log = self._folder / "metrics.jsonl"
        size = log.stat().st_size if log.exists() else 0
        if size != self._judged:  # it is asked often
            self._judged, self._is_behind = size, _is_behind(self._trial, self._folder)
        return super().stopped or self._is_behind


def run_folder(folder: Path, number: int, seed: int) -> Path:
    """The folder of a trial's run."""
    return folder / f"trial-{number:03d}-seed-{seed}"


def _evaluations(folder: Path) -> list[tuple[float, float]]:
    """Progress, and Elo rating or score, of each evaluation in the log of a run."""
    log = folder / "metrics.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    logged = [json.loads(line) for line in lines]
    found = [(line["progress"], line.get("elo", line.get("score"))) for line in logged]
    return [(progress, estimate["value"]) for progress, estimate in found if estimate is not None]


def trials_of(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that have begun, best first, then those without a value."""
    begun = [trial for trial in study.trials if trial.state != TrialState.WAITING]
    return sorted(begun, key=lambda trial: (value_of(trial) is None, -(value_of(trial) or 0)))


def value_of(trial: FrozenTrial) -> float | None:
    """The mean of the last evaluations of a trial's runs; None if it has no value."""
    return trial.value if trial.state == TrialState.COMPLETE else None


def _write_best(folder: Path, study: optuna.Study, space: Space) -> None:
    """Write the best configuration so far, if a trial is complete."""
    best = trials_of(study)[0]
    if value_of(best) is not None:
        write_file(folder / BEST, text_of(space.configure(best.params)))


def described(values: Values) -> str:
    """The values of a trial, for people."""
    texts = [f"{key}={value_text(value)}" for key, value in values.items()]
    return ", ".join(texts) or "the configuration as it is"


def value_text(value: Any) -> str:
    """One value of a trial, for people."""
    return f"{value:.3g}" if isinstance(value, float) else f"{value}"
