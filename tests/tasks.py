"""`Told`: a task that keeps what it is told, and may be stopped."""

from __future__ import annotations

from collections.abc import Callable

from ludarium.base.progress import Task


class Told(Task):
    """Keeps what it is told.

    Args:
        on_advance: called after each step.

    Attributes:
        begun: titles and totals.
        steps: how many units were done each time, since what was begun last.
        notes: that came with the steps.
        stops: whether the task is stopped.
    """

    def __init__(self, on_advance: Callable[[Told], object] = lambda task: None) -> None:
        self.begun: list[tuple[str, int | None]] = []
        self.steps: list[int] = []
        self.notes: list[str] = []
        self.stops = False
        self._on_advance = on_advance

    @property
    def stopped(self) -> bool:
        return self.stops

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        self.begun.append((title, total))
        self.steps = [done] if done else []

    def advance(self, count: int = 1, note: str = "") -> None:
        self.steps.append(count)
        self.notes.append(note)
        self._on_advance(self)
