"""How good the trials of a study were: means over seeds with intervals, as a table or JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ludarium.training.table import text_table

from .space import Values
from .study import Fate, Study, Trial

_ORDER: tuple[Fate, ...] = ("finished", "running", "stopped", "failed")


@dataclass(frozen=True)
class Standing:
    """What has come of a trial.

    Attributes:
        number, values, fate, reason: see `Trial`.
        folders: of its runs, in the order of the seeds.
        found: the latest evaluation of each run that has one.
        value: their mean; None where there is none.
        low, high: its 95 % interval: of Student's t over the seeds, or, where there is one seed
            only, that of the evaluation's games.
        progress: of the runs, 0 to 1 in all.
        seconds: of the runs in all.
    """

    number: int
    values: Values
    fate: Fate
    reason: str | None
    folders: list[str]
    found: list[float]
    value: float | None
    low: float | None
    high: float | None
    progress: float
    seconds: float

    @classmethod
    def of(cls, study: Study, trial: Trial) -> Standing:
        """What has come of a trial of a study so far."""
        logs = study.logs(trial)
        latest = [log.evaluations[-1] for log in logs if log.evaluations]
        found = [each.value for each in latest]
        low = high = None
        if len(found) == 1:
            low, high = latest[0].low, latest[0].high
        elif found:
            low, high = mean_interval(found)
        return cls(
            trial.number,
            trial.values,
            trial.fate,
            trial.reason,
            [str(study.run_folder(trial, seed)) for seed in study.seeds],
            found,
            statistics.mean(found) if found else None,
            low,
            high,
            sum(log.progress for log in logs) / len(logs),
            sum(log.seconds for log in logs),
        )


def standings(study: Study) -> list[Standing]:
    """The trials so far, the best first; those that were stopped come after those that were not."""

    def rank(standing: Standing) -> tuple[int, float]:
        value = -math.inf if standing.value is None else standing.value
        return _ORDER.index(standing.fate), -value

    return sorted((Standing.of(study, trial) for trial in study.trials), key=rank)


def standing_table(rows: Sequence[Standing], measure: str) -> str:
    """The standings as text.

    Args:
        rows: the standings.
        measure: ``elo`` or ``score``, what the values are.
    """
    keys = list(rows[0].values) if rows else []
    digits = 0 if measure == "elo" else 3
    header = ["trial", *keys, "Elo" if measure == "elo" else "score", "95 %", "seeds"]
    header += ["done", "minutes", ""]
    lines = []
    for row in rows:
        interval = ""
        if row.low is not None and row.high is not None:
            interval = f"{row.low:.{digits}f}..{row.high:.{digits}f}"
        lines.append(
            [
                str(row.number),
                *(_cell(row.values[key]) for key in keys),
                "" if row.value is None else f"{row.value:.{digits}f}",
                interval,
                str(len(row.found)),
                f"{100 * row.progress:.0f} %",
                f"{row.seconds / 60:.1f}",
                row.fate if row.reason is None else f"{row.fate}: {row.reason}",
            ]
        )
    return text_table(header, lines, left={len(header) - 1})


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of a normal distribution, from two or more draws.

    Student, "The probable error of a mean", 1908.
    """
    half = student_t_95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.mean(values)
    return mean - half, mean + half


def student_t_95(freedom: int) -> float:
    """The two-sided 95 % point of Student's t with so many degrees of freedom, at least one."""
    low, high = 0.0, 13.0  # the largest, of one degree, is 12.706
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return low


def _within(t: float, freedom: int) -> float:
    """The probability of values from -t to t; Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for number in range(1 + odd, freedom, 2):
        total += term
        term *= cosine**2 * number / (number + 1)
    if odd:
        return 2 / math.pi * (angle + sine * total)
    return sine * total
