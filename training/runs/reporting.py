"""Reports on a run: a progress bar on a terminal, plain lines elsewhere, TensorBoard curves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ludarium.envs.engine.console import plain_console
from ludarium.envs.engine.messages import shortened
from ludarium.envs.engine.progress import Task
from ludarium.envs.engine.progress_bar import GONE, shown_task

from ..table import percent
from .columns import Column
from .folder import RunFolder

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Reporter(Task):
    """Receives the events of a run; this one ignores them. Methods are safe from any thread."""

    def iteration(self, metrics: dict[str, Any]) -> None:
        """An iteration has ended with these metrics."""

    def say(self, text: str) -> None:
        """Show a message to the user."""

    def close(self) -> None:
        """The run has ended."""


class TerminalReporter(Reporter):
    """A progress bar and a table row for each iteration, on standard error.

    It also writes TensorBoard curves into the run's folder, from the first iteration on: before
    that nothing is written. If they cannot be written, it says so once, and the run continues.

    Args:
        folder: the run's folder.
        columns: columns of the table, see `columns_of`.
        stream: stream to write to instead of standard error.
    """

    def __init__(
        self, folder: RunFolder, columns: Sequence[Column], stream: IO[str] | None = None
    ) -> None:
        self._curves: _Curves | None = _Curves(folder.tensorboard)
        self.console = plain_console(file=stream or sys.stderr)
        if not self.console.is_terminal:
            self.console.width = 160  # a log file has no edge to wrap at
        self.columns = fitting_columns(columns, self.console.width)
        self._heading_due = True
        self._open = ExitStack()
        self._task = self._open.enter_context(shown_task(self.console))

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        """Show a new bar."""
        self._task.begin(title, total, done)

    def advance(self, count: int = 1, note: str = "") -> None:
        """Move the bar on, or write a progress line."""
        self._task.advance(count, note)

    def iteration(self, metrics: dict[str, Any]) -> None:
        """Print a row, with the heading above the first one, and add to the curves."""
        if self._heading_due:
            heading = "  ".join(f"{column.name:>{column.width}}" for column in self.columns)
            self._print(heading, style="bold")
            self._heading_due = False
        cells = [f"{column.cell(metrics):>{column.width}}" for column in self.columns]
        self._print("  ".join(cells))
        if "score" in metrics:
            self._print(f"{'':7}{_score(metrics)}", style="green")
        if "elo" in metrics:
            self._print(f"{'':7}{_rating(metrics)}", style="green")
        if "accuracy" in metrics:
            self._print(f"{'':7}{_accuracy(metrics)}", style="green")
        if self._curves is not None:
            try:
                self._curves.add(metrics)
            except Exception as error:  # a broken TensorBoard is no reason to lose a run
                self._curves = None
                reason = getattr(error, "strerror", None) or shortened(str(error))
                self.say(f"no more curves: they cannot be written ({reason})")

    def say(self, text: str) -> None:
        """Print a line."""
        self._print(text)

    def _print(self, text: str, style: str | None = None) -> None:
        """Print a line, if anybody can read it: a full disk or a closed terminal stops no run."""
        with suppress(*GONE):
            self.console.print(text, style=style)

    def close(self) -> None:
        """Remove the bar and close the curves."""
        self._open.close()
        if self._curves is not None:
            with suppress(Exception):  # each iteration has been written already
                self._curves.close()


class _Curves:
    """Metrics as TensorBoard's event files, which are made when there is something to write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: SummaryWriter | None = None

    def add(self, metrics: dict[str, Any]) -> None:
        """Add a point to each curve."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # A resumed run begins with its last iteration: later points will be written again.
            self._writer = SummaryWriter(str(self._path), purge_step=metrics["iteration"])
        for name, value in metrics.items():
            if isinstance(value, int | float) and name != "iteration":
                self._writer.add_scalar(name, value, metrics["iteration"])
        self._writer.flush()

    def close(self) -> None:
        """Write the remaining points."""
        if self._writer is not None:
            self._writer.close()


def fitting_columns(columns: Sequence[Column], width: int) -> list[Column]:
    """The most important columns that fit into ``width`` characters."""
    fitting = list(columns)
    while sum(column.width + 2 for column in fitting) - 2 > width and len(fitting) > 1:
        fitting.remove(max(fitting, key=lambda column: column.rank))
    return fitting


def _rating(metrics: dict[str, Any]) -> str:
    scores = [f"{name} {percent(each['score'])}" for name, each in metrics["anchors"].items()]
    rating = f"Elo {metrics['elo']:,.0f} ({metrics['elo_low']:,.0f} to {metrics['elo_high']:,.0f})"
    return "  ".join([rating, *scores])


def _score(metrics: dict[str, Any]) -> str:
    low, high = 100 * metrics["score_low"], 100 * metrics["score_high"]
    return (
        f"score against {metrics['opponent']}: {percent(metrics['score'])} "
        f"(95 %: {low:.0f} to {high:.0f})"
    )


def _accuracy(metrics: dict[str, Any]) -> str:
    share, low, high = (100 * metrics[f"accuracy{end}"] for end in ("", "_low", "_high"))
    return f"moves that keep the exact value: {share:.0f} % (95 %: {low:.0f} to {high:.0f})"
