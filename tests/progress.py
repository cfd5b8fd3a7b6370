"""`Told`, which keeps what it is told and may be stopped, and `StopWhen`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ludarium.base.progress import SILENT, Part, Progress

if TYPE_CHECKING:
    from ludarium.training.runs.trainer import RunResult, Trainer


class Told(Progress):
    """Keeps what it is told.

    Args:
        on_advance: called after each step.

    Attributes:
        begun: titles and totals.
        steps: how many units were done each time, since what was begun last.
        notes: that came with the steps.
        said: the lines.
    """

    def __init__(self, on_advance: Callable[[Told], object] = lambda told: None) -> None:
        super().__init__()
        self.begun: list[tuple[str, int | None]] = []
        self.steps: list[int] = []
        self.notes: list[str] = []
        self.said: list[str] = []
        self._on_advance = on_advance

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        self.begun.append((title, total))
        self.steps = [done] if done else []

    def advance(self, count: int = 1, note: str = "") -> None:
        self.steps.append(count)
        self.notes.append(note)
        self._on_advance(self)

    def say(self, text: str, style: str = "") -> None:
        self.said.append(text)


class StopWhen(Part):
    """Stops as soon as a function says so, which is asked at each look."""

    def __init__(self, ends: Callable[[], bool], whole: Progress = SILENT) -> None:
        super().__init__(whole)
        self._ends = ends

    @property
    def stopped(self) -> bool:
        return super().stopped or self._ends()


def run_until(
    trainer: Trainer,
    iterations: int,
    on_iteration: Callable[[dict[str, Any]], object] = lambda metrics: None,
) -> RunResult:
    """Train until so many iterations are done; return how the run ended."""
    before = trainer.progress
    trainer.progress = StopWhen(lambda: trainer.iteration >= iterations, before)
    try:
        return trainer.run(on_iteration)
    finally:
        trainer.progress = before
