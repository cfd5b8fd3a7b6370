"""`Study`: trains the trials of a search one after the other, and stops those that fall behind.

    tune.json            the plan, and the values and fate of each trial so far
    trial-003-seed-1/    the run of trial 3 with seed 1, as `ludarium train` makes it
    lock                 held by the process that writes here

What a trial has reached stands in the logs of its runs only. So a study that was killed goes on
where it was, and its runs can be looked at, evaluated and resumed like any other.

Values are chosen by Optuna's tree-structured Parzen estimator (Bergstra et al., "Algorithms for
Hyper-Parameter Optimization", 2011). Optuna knows nothing but what it is told before each trial;
with the same results it chooses the same values, interrupted or not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from ludarium.configs import TrainingConfig, apply_settings
from ludarium.configs.loading import parse_config
from ludarium.envs.engine.messages import shortened
from ludarium.training.runs.files import (
    make_folders,
    read_file,
    remove_file,
    remove_folder,
    write_file,
)
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.lock import FolderLock
from ludarium.training.runs.log import decode_line
from ludarium.training.runs.trainer import RunResult

from .space import Range, Space, Values

if TYPE_CHECKING:
    import optuna

STOPPING = ("median", "never")
#: Parts of a run, at the end of each of which a trial may be stopped.
_PARTS = 10
_FILE = "tune.json"
_LARGEST_FILE = 1 << 26  # bytes
_FORMAT = 1

#: Trains a run until its budget is used up or the function says so after an iteration.
Train = Callable[[TrainingConfig, RunFolder, Callable[[], bool]], RunResult]
Fate = Literal["running", "finished", "stopped", "failed"]


@dataclass(frozen=True)
class Plan:
    """What a study is to do.

    Attributes:
        config: of all trials, but for what the search and the seeds change.
        search: texts of the dimensions, see `space`; none: the configuration as it is.
        trials: how many; with ``grid`` as many as there are combinations.
        seeds: runs of each trial, with the configuration's seed and those after it.
        grid: try every combination in turn.
        stopping: ``median`` stops a trial whose best evaluation so far is below the median of what
            the others had at that part of the run (Golovin et al., "Google Vizier: A Service for
            Black-Box Optimization", 2017, 3.2.1); or ``never``. Only a trial's first run is judged.
    """

    config: TrainingConfig
    search: tuple[str, ...]
    trials: int
    seeds: int = 1
    grid: bool = False
    stopping: str = "median"

    def __post_init__(self) -> None:
        if self.trials < 1 or self.seeds < 1:
            raise ValueError("a study needs at least one trial, and one seed for each")
        if self.stopping not in STOPPING:
            raise ValueError(f"stopping is {self.stopping!r}; accepted: {', '.join(STOPPING)}")
        if not self.config.evaluation.every:
            raise ValueError(
                "trials are compared by their evaluations, but evaluation.every is 0: set it"
            )

    @property
    def space(self) -> Space:
        """What is searched over."""
        return Space(self.config, self.search)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "config": msgspec.to_builtins(self.config),
            "search": list(self.search),
        }


@dataclass
class Trial:
    """A trial: a setting of the keys, trained with each seed.

    Attributes:
        number: from 0.
        values: of the keys that are searched over.
        fate: what has come of it.
        trained: seeds whose runs have used up their budgets.
        reason: why it failed.
    """

    number: int
    values: Values
    fate: Fate = "running"
    trained: list[int] = field(default_factory=list)
    reason: str | None = None


@dataclass(frozen=True)
class Evaluated:
    """An evaluation of a run: its progress (0 to 1), and an Elo rating or a score with interval."""

    progress: float
    value: float
    low: float
    high: float


@dataclass
class RunLog:
    """What the log of a run says: its evaluations, progress and seconds."""

    evaluations: list[Evaluated] = field(default_factory=list)
    progress: float = 0.0
    seconds: float = 0.0
    iteration: int = 0

    @classmethod
    def read(cls, folder: Path) -> RunLog:
        """Read the log in a run's folder; empty if there is none. Damaged lines are left out."""
        log = cls()
        path = RunFolder(folder).metrics
        for line in read_file(path, 1 << 32).splitlines() if path.exists() else ():
            metrics = decode_line(line)
            if metrics is None:
                continue
            log.progress, log.seconds = metrics["progress"], metrics["seconds"]
            log.iteration = metrics["iteration"]
            measure = "elo" if "elo" in metrics else "score"
            if measure in metrics:
                ends = (f"{measure}{end}" for end in ("", "_low", "_high"))
                log.evaluations.append(Evaluated(log.progress, *(metrics[end] for end in ends)))
        return log

    def at_parts(self) -> dict[int, float]:
        """The latest value at the end of each part of the run that is over: 1, 2, and so on."""
        over = int(self.progress * _PARTS + 1e-9)
        found = {}
        for part in range(1, over + 1):
            until = [each for each in self.evaluations if each.progress <= part / _PARTS + 1e-9]
            if until:
                found[part] = until[-1].value
        return found


class Study:
    """A search and its trials so far; see `open` and `read`.

    Attributes:
        folder: of the search.
        plan: what it is to do.
        trials: that have begun, by number.
    """

    def __init__(self, folder: Path, plan: Plan, trials: list[Trial]) -> None:
        self.folder = folder
        self.plan = plan
        self.trials = trials
        self._lock = FolderLock(folder / "lock")

    @classmethod
    def open(cls, folder: str | os.PathLike[str], plan: Plan, restart: bool = False) -> Study:
        """Begin a search, or go on with the one that the folder holds; `close` it at the end.

        Args:
            folder: is made if need be.
            plan: may differ from the folder's in the number of trials or seeds.
            restart: throw away the search that the folder holds, with its runs.

        Raises:
            ValueError: the plan cannot be, another process writes in the folder, or it holds
                another search.
            ImportError: Optuna is needed, and not installed.
        """
        space = plan.space
        if plan.grid:
            space.grid()
        if plan.stopping != "never" or not plan.grid:
            _import_optuna()
        study = cls(Path(folder), plan, [])
        make_folders(study.folder)
        study._lock.acquire()
        try:
            if restart:
                study._clear()
            if study._file.exists():
                known = cls.read(folder)
                known._check_same(plan)
                study.trials = known.trials
            study._write()
        except BaseException:
            study.close()
            raise
        return study

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Study:
        """The search that a folder holds, to look at; it may be at work.

        Raises:
            ValueError: it holds none, or its description is damaged.
        """
        file = Path(folder) / _FILE
        if not file.exists():
            raise ValueError(f"{folder} holds no search: `ludarium tune` makes one")
        try:
            data = json.loads(read_file(file, _LARGEST_FILE))
            if data["format"] != _FORMAT:
                raise ValueError("it is of another version of this program")
            known = data["plan"]
            config = parse_config(json.dumps(known["config"]), "its configuration")
            plan = Plan(**known | {"config": config, "search": tuple(known["search"])})
            return cls(Path(folder), plan, [Trial(**trial) for trial in data["trials"]])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file} is damaged ({shortened(str(error))})") from None

    @property
    def _file(self) -> Path:
        return self.folder / _FILE

    def _check_same(self, plan: Plan) -> None:
        """Refuse a plan of another search."""
        known, given = self.plan.to_dict(), plan.to_dict()
        for key in given:
            if key not in ("trials", "seeds") and given[key] != known[key]:
                raise ValueError(
                    f"{self.folder} holds a search with another {key}; give another --folder, or "
                    "--restart to throw that search away"
                )

    def _write(self) -> None:
        """Write down the plan and the trials."""
        trials = [asdict(trial) for trial in self.trials]
        data = {"format": _FORMAT, "plan": self.plan.to_dict(), "trials": trials}
        write_file(self._file, json.dumps(data, indent=1).encode())

    def _clear(self) -> None:
        """Throw the search away."""
        for run in self.folder.glob("trial-*-seed-*"):
            remove_folder(run)
        remove_file(self._file)

    def close(self) -> None:
        """Release the folder."""
        self._lock.release()

    # What there is.

    @property
    def count(self) -> int:
        """How many trials there are to be."""
        return len(self.plan.space.grid()) if self.plan.grid else self.plan.trials

    @property
    def seeds(self) -> list[int]:
        """Those of each trial."""
        first = self.plan.config.seed
        return list(range(first, first + self.plan.seeds))

    def run_folder(self, trial: Trial, seed: int) -> Path:
        """The folder of a trial's run."""
        return self.folder / f"trial-{trial.number:03d}-seed-{seed}"

    def logs(self, trial: Trial) -> list[RunLog]:
        """What the logs of a trial's runs say, in the order of the seeds."""
        return [RunLog.read(self.run_folder(trial, seed)) for seed in self.seeds]

    # Training.

    def run(self, train: Train, say: Callable[[str], None], stop: Callable[[], bool]) -> bool:
        """Train until all trials have ended, or until ``stop`` returns true after an iteration.

        Args:
            train: trains a run.
            say: is told what begins and ends.
            stop: whether to stop.

        Returns:
            Whether all trials have ended.
        """
        while (trial := self._next()) is not None:
            if stop():
                return False
            say(f"trial {trial.number} of {self.count}: {described(trial.values)}")
            self._train(trial, train, stop)
            self._write()
            if trial.fate == "running":
                return False
            say(
                f"trial {trial.number} {trial.fate}" + (f": {trial.reason}" if trial.reason else "")
            )
        return True

    def _next(self) -> Trial | None:
        """The trial that is to go on or to begin; None if there is none."""
        for trial in self.trials:
            lacks_seeds = trial.fate == "finished" and set(self.seeds) - set(trial.trained)
            if trial.fate == "running" or lacks_seeds:
                trial.fate = "running"
                return trial
        if len(self.trials) >= self.count:
            return None
        number = len(self.trials)
        trial = Trial(number, self._choose(number))
        self.trials.append(trial)
        self._write()
        return trial

    def _choose(self, number: int) -> Values:
        """The values of a new trial; the first has those of the configuration, if it can."""
        space = self.plan.space
        if self.plan.grid:
            return space.grid()[number]
        usual = space.usual
        if number == 0 and usual is not None:
            return usual
        return dict(self._ask(number, None).params)

    def _train(self, trial: Trial, train: Train, stop: Callable[[], bool]) -> None:
        """Train the runs of a trial that are not trained yet."""
        try:
            config = self.plan.space.configure(trial.values)
            for seed in self.seeds:
                if seed in trial.trained:
                    continue
                is_judged = seed == self.seeds[0] and self.plan.stopping != "never"
                is_behind = self._judge(trial) if is_judged else lambda: False
                fell_behind = False

                def ends(is_behind: Callable[[], bool] = is_behind) -> bool:
                    nonlocal fell_behind
                    fell_behind = fell_behind or is_behind()
                    return fell_behind or stop()

                folder = RunFolder(self.run_folder(trial, seed))
                result = train(apply_settings(config, [f"seed={seed}"]), folder, ends)
                if not result.finished:
                    trial.fate = "stopped" if fell_behind else "running"
                    return
                trial.trained.append(seed)
                self._write()
            trial.fate = "finished"
        except ValueError as error:  # values that do not go together, or training that diverges
            trial.fate, trial.reason = "failed", shortened(str(error))

    def _judge(self, trial: Trial) -> Callable[[], bool]:
        """Says after each iteration whether a trial has fallen behind the others."""
        asked = self._ask(trial.number, trial.values)
        folder = self.run_folder(trial, self.seeds[0])
        told: set[int] = set()

        def is_behind() -> bool:
            parts = RunLog.read(folder).at_parts()
            new = sorted(set(parts) - told - {_PARTS})
            for part in new:
                asked.report(parts[part], part)
            told.update(new)
            return bool(new) and asked.should_prune()

        return is_behind

    def _ask(self, number: int, values: Values | None) -> optuna.trial.Trial:
        """Optuna's view of a trial, after those before it.

        Args:
            number: of the trial.
            values: that it has; None: Optuna is to choose.
        """
        optuna = _import_optuna()
        seed = np.random.SeedSequence([self.plan.config.seed, number]).generate_state(1)[0]
        study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=int(seed)),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
        )
        distributions = _distributions(self.plan.space)
        for trial in self.trials[:number]:
            study.add_trial(self._as_optuna(trial, distributions))
        if values is not None:
            study.enqueue_trial(values)
        return study.ask(distributions)

    def _as_optuna(self, trial: Trial, distributions: dict[str, Any]) -> optuna.trial.FrozenTrial:
        """A trial that has ended, as Optuna is told of it."""
        optuna = _import_optuna()
        first = self.logs(trial)[0].at_parts()
        ended = [log.evaluations[-1].value for log in self.logs(trial) if log.evaluations]
        states = optuna.trial.TrialState
        state = {"finished": states.COMPLETE, "stopped": states.PRUNED}.get(trial.fate, states.FAIL)
        if not ended:
            state = states.FAIL
        return optuna.trial.create_trial(
            state=state,
            value=sum(ended) / len(ended) if state != states.FAIL else None,
            params=trial.values,
            distributions=distributions,
            intermediate_values={part: value for part, value in first.items() if part < _PARTS},
        )


def described(values: Values) -> str:
    """The values of a trial, for people."""
    texts = [
        f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in values.items()
    ]
    return ", ".join(texts) or "the configuration as it is"


def _distributions(space: Space) -> dict[str, Any]:
    """The dimensions, as Optuna has them."""
    distributions = _import_optuna().distributions
    found: dict[str, Any] = {}
    for each in space.dimensions:
        if not isinstance(each, Range):
            found[each.key] = distributions.CategoricalDistribution(each.values)
        elif isinstance(each.low, int) and isinstance(each.high, int):
            found[each.key] = distributions.IntDistribution(each.low, each.high, log=each.log)
        else:
            found[each.key] = distributions.FloatDistribution(each.low, each.high, log=each.log)
    return found


def _import_optuna() -> Any:
    """Optuna, which says nothing of what it does.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise ImportError(f'a search needs more: pip install "ludarium[tune]" ({error})') from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
