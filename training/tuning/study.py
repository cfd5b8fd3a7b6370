"""Trains the trials of a search one after the other; Optuna chooses their values and prunes them.

    journal.log          Optuna's, with all trials: what Optuna's dashboard reads
    trial-003-seed-1/    the run of trial 3 with seed 1, as `ludarium train` makes it
    best.yaml            the best configuration so far, for `ludarium train --config`

Values are chosen by the tree-structured Parzen estimator (Bergstra et al., "Algorithms for
Hyper-Parameter Optimization", 2011). A trial that was interrupted is enqueued again with the same
values, and goes on with its runs.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from ludarium.configs import TrainingConfig, apply_settings
from ludarium.envs.engine.messages import shortened
from ludarium.training.runs.files import write_file
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.lock import FolderLock
from ludarium.training.runs.trainer import RunResult

from .space import Space, Values

if TYPE_CHECKING:
    import optuna

_JOURNAL = "journal.log"
BEST = "best.yaml"  # the configuration that came out best
_NAME = "tune"  # of Optuna's study
_RUN = "run"  # attribute of a trial that goes on with the runs of another one: its number
_REASON = "reason"  # attribute of a trial that failed
_PARTS = 10  # of a run, at the end of each of which a trial may be pruned

#: Trains a run until its budget is used up or the function says so after an iteration.
Train = Callable[[TrainingConfig, RunFolder, Callable[[], bool]], RunResult]


@dataclass(frozen=True)
class Plan:
    """What a search is to do.

    Attributes:
        space: of the values; without dimensions the configuration as it is.
        trials: how many; with ``grid`` as many as there are combinations.
        seeds: runs of each trial, with the configuration's seed and those after it.
        grid: try every combination in turn.
        prunes: whether to stop a trial whose best evaluation so far is below the median of what the
            others had at that part of the run. Only a trial's first run is judged.
    """

    space: Space
    trials: int
    seeds: int = 1
    grid: bool = False
    prunes: bool = True

    def __post_init__(self) -> None:
        for name in ("trials", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} is {getattr(self, name)}; at least 1 is needed")
        if not self.space.config.evaluation.every:
            raise ValueError("evaluation.every is 0: trials are compared by their evaluations")
        if self.grid:
            self.space.grid()

    @property
    def first_trials(self) -> list[Values]:
        """Values that are tried first: of a grid all, else those that the configuration has."""
        if self.grid or not self.space.texts:
            return self.space.grid()
        usual = self.space.usual
        return [] if usual is None else [usual]

    @property
    def count(self) -> int:
        """How many trials there are to be."""
        return len(self.space.grid()) if self.grid or not self.space.texts else self.trials

    @property
    def description(self) -> dict[str, Any]:
        """What must be the same where the search goes on."""
        return {
            "config": msgspec.to_builtins(self.space.config),
            "search": list(self.space.texts),
            "seeds": self.seeds,
            "grid": self.grid,
        }


def load_study(folder: Path, plan: Plan | None = None) -> optuna.Study:
    """Optuna's study of a folder.

    Args:
        folder: of the search.
        plan: of the search, which begins if there is none yet; None: there must be one.

    Raises:
        ImportError: Optuna is not installed.
        ValueError: the folder holds another search, or something else, or none.
    """
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend
    except ImportError as error:
        raise ImportError(f'a search needs more: pip install "ludarium[tune]" ({error})') from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    is_new = not (folder / _JOURNAL).exists()
    if is_new and (plan is None or (folder.exists() and any(folder.iterdir()))):
        raise ValueError(f"{folder} holds no search; give another --folder")
    folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name=_NAME,
        storage=optuna.storages.JournalStorage(JournalFileBackend(str(folder / _JOURNAL))),
        direction="maximize",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
    )
    if plan is None:
        return study
    study.sampler = optuna.samplers.TPESampler(seed=plan.space.config.seed + len(study.trials))
    if "plan" not in study.user_attrs:
        study.set_user_attr("plan", plan.description)
        for values in plan.first_trials:
            study.enqueue_trial(values)
    # What the journal holds went through JSON.
    if study.user_attrs["plan"] != json.loads(json.dumps(plan.description)):
        raise ValueError(f"{folder} holds another search; give another --folder")
    return study


def tune(
    folder: Path, plan: Plan, train: Train, say: Callable[[str], None], stop: Callable[[], bool]
) -> bool:
    """Begin a search, or go on with the one in the folder.

    Args:
        folder: of the search.
        plan: of the search.
        train: trains a run.
        say: is told what begins and ends.
        stop: whether to stop, asked after each iteration of a run.

    Returns:
        Whether all trials have ended.

    Raises:
        ValueError: the folder holds another search.
    """
    study = load_study(folder, plan)
    lock = FolderLock(folder / "lock")
    lock.acquire()
    try:
        _enqueue_interrupted(study)
        while (left := plan.count - len([row for row in trials_of(study) if row.ended])) > 0:
            if stop():
                return False
            trial = study.ask(plan.space.distributions)
            number = trial.user_attrs.get(_RUN, trial.number)
            say(f"trial {number}, {left} to go: {described(trial.params)}")
            if not _train(study, trial, folder, plan, train, stop):
                return False
            say(f"trial {number}: {study.trials[trial.number].state.name.lower()}")
            write_best(folder, study, plan.space)
        return True
    finally:
        lock.release()


def _enqueue_interrupted(study: optuna.Study) -> None:
    """Enqueue the trials again that a process has left running."""
    from optuna.trial import TrialState

    enqueued = study.get_trials(states=[TrialState.WAITING])
    waiting = {trial.user_attrs.get(_RUN) for trial in enqueued}
    for trial in study.get_trials(states=[TrialState.RUNNING]):
        run = trial.user_attrs.get(_RUN, trial.number)
        if run not in waiting:
            study.enqueue_trial(trial.params, user_attrs={_RUN: run})
        study.tell(trial.number, state=TrialState.FAIL)


def _train(
    study: optuna.Study,
    trial: optuna.Trial,
    folder: Path,
    plan: Plan,
    train: Train,
    stop: Callable[[], bool],
) -> bool:
    """Train the runs of a trial; false if that was stopped, and the trial is to go on."""
    from optuna.trial import TrialState

    found = []
    try:
        config = plan.space.configure(trial.params)
        for index in range(plan.seeds):
            seed = config.seed + index
            run = RunFolder(run_folder(folder, trial.user_attrs.get(_RUN, trial.number), seed))
            judge = _Judge(trial, run.path) if plan.prunes and index == 0 else None

            def ends(judge: _Judge | None = judge) -> bool:
                return (judge is not None and judge.prunes()) or stop()

            result = train(apply_settings(config, [f"seed={seed}"]), run, ends)
            if not result.finished:
                if judge is None or not judge.pruned:
                    return False
                study.tell(trial, state=TrialState.PRUNED)
                return True
            found.append(evaluations(run.path)[-1][1])
    except ValueError as error:  # values that do not go together, or that diverge
        trial.set_user_attr(_REASON, shortened(str(error)))
        study.tell(trial, state=TrialState.FAIL)
        return True
    study.tell(trial, statistics.mean(found))
    return True


class _Judge:
    """Reports the evaluations of a run to Optuna, and asks it whether to prune the trial."""

    def __init__(self, trial: optuna.Trial, folder: Path) -> None:
        self._trial = trial
        self._folder = folder
        self._reported = 0  # parts of the run
        self.pruned = False

    def prunes(self) -> bool:
        """Report the best evaluation of each part that is over; whether to stop the run."""
        done = evaluations(self._folder)
        parts = min(_PARTS - 1, math.floor(_PARTS * done[-1][0] + 1e-9)) if done else 0
        for part in range(self._reported + 1, parts + 1):
            so_far = [value for progress, value in done if _PARTS * progress < part + 1]
            if so_far:
                self._trial.report(max(so_far), part)
                self.pruned = self.pruned or self._trial.should_prune()
        self._reported = max(parts, self._reported)
        return self.pruned


def run_folder(folder: Path, number: int, seed: int) -> Path:
    """The folder of a trial's run."""
    return folder / f"trial-{number:03d}-seed-{seed}"


def evaluations(folder: Path) -> list[tuple[float, float]]:
    """Progress, and Elo rating or score, of each evaluation in the log of a run."""
    try:
        lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    logged = [json.loads(line) for line in lines]
    found = [(line["progress"], line.get("elo", line.get("score"))) for line in logged]
    return [(progress, value) for progress, value in found if value is not None]


@dataclass(frozen=True)
class TrialRow:
    """What has come of a trial.

    Attributes:
        number: of its runs.
        values: of the keys.
        state: Optuna's: ``complete``, ``pruned``, ``fail``, ``running``.
        value: mean of the last evaluations of its runs; None without.
        reason: why it failed.
    """

    number: int
    values: Values
    state: str
    value: float | None
    reason: str | None

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in ("complete", "pruned", "fail")


def trials_of(study: optuna.Study) -> list[TrialRow]:
    """The trials that have begun, the best first; one that goes on counts once."""
    rows: dict[int, TrialRow] = {}
    for trial in study.trials:
        number, state = trial.user_attrs.get(_RUN, trial.number), trial.state.name.lower()
        if state == "waiting":
            if number in rows:  # it was interrupted, and is to go on
                rows[number] = replace(rows[number], state="running", reason=None)
            continue
        reason = trial.user_attrs.get(_REASON)
        value = trial.value if state == "complete" else None
        rows[number] = TrialRow(number, trial.params, state, value, reason)
    return sorted(rows.values(), key=lambda row: math.inf if row.value is None else -row.value)


def write_best(folder: Path, study: optuna.Study, space: Space) -> None:
    """Write the best configuration so far, if a trial is complete."""
    best = trials_of(study)[0]
    if best.value is not None:
        config = msgspec.to_builtins(space.configure(best.values))
        text = yaml.safe_dump(config, sort_keys=False)
        write_file(folder / BEST, text.encode())


def described(values: Values) -> str:
    """The values of a trial, for people."""
    texts = [
        f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in values.items()
    ]
    return ", ".join(texts) or "the configuration as it is"
