"""Telling people how a run goes: a live line on a terminal, plain lines elsewhere, curves."""

from __future__ import annotations

import sys
import threading
import time
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .run_folder import RunFolder


class Reporter:
    """Told what happens; this one says nothing. All calls may come from any thread."""

    def begin(self, task: str, total: int) -> None:
        """A task of ``total`` units begins."""

    def advance(self, count: int) -> None:
        """So many more units are done."""

    def reach(self, count: int) -> None:
        """So many units are done in all."""

    def iteration(self, metrics: dict[str, Any]) -> None:
        """An iteration is over."""

    def say(self, text: str) -> None:
        """Something that people should know."""

    def close(self) -> None:
        """The run is over."""


class TerminalReporter(Reporter):
    """A progress bar and a table row for each iteration, on standard error.

    Also writes TensorBoard curves into the run's folder.
    """

    COLUMNS = (
        ("run", lambda m: f"{100 * m['share']:.0f} %"),
        ("time", lambda m: f"{m['seconds'] / 60:.1f} min"),
        ("iteration", lambda m: f"{m['iteration']}"),
        ("sims", lambda m: f"{m['simulations_per_move']}"),
        ("games/s", lambda m: f"{m['games_per_second']:.1f}"),
        ("simulations/s", lambda m: f"{m['simulations_per_second']:,.0f}"),
        ("policy loss", lambda m: f"{m['policy_loss']:.3f}"),
        ("outcome loss", lambda m: f"{m['outcome_loss']:.3f}"),
        ("score loss", lambda m: f"{m['score_loss']:.4f}"),
        ("replay", lambda m: f"{m['replay']:,}"),
        ("score", lambda m: _score(m)),
    )

    def __init__(self, folder: RunFolder, stream: IO[str] | None = None) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder.tensorboard))
        self.console = Console(file=stream or sys.stderr)
        if not self.console.is_terminal:
            self.console.width = 160  # a log file has no edge to wrap at
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:>10}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task = self._progress.add_task("", total=1, speed="")
        self._lock = threading.Lock()
        self._done = 0
        self._started = time.perf_counter()
        self._header_due = True
        self._progress.start()

    def begin(self, task: str, total: int) -> None:
        """Show a new bar."""
        with self._lock:
            self._done = 0
            self._started = time.perf_counter()
            self._progress.reset(self._task, description=task, total=total, speed="")

    def advance(self, count: int) -> None:
        """Move the bar on."""
        with self._lock:
            self._done += count
            speed = self._done / max(1e-9, time.perf_counter() - self._started)
            self._progress.update(self._task, completed=self._done, speed=f"{speed:,.0f}/s")

    def reach(self, count: int) -> None:
        """Move the bar to ``count``."""
        with self._lock:
            self._done = count
            self._progress.update(self._task, completed=count)

    def iteration(self, metrics: dict[str, Any]) -> None:
        """Print a row, the heading above the first one, and add to the curves."""
        widths = (5, 8, 9, 4, 7, 13, 11, 12, 10, 8, 0)
        if self._header_due:
            heads = [
                f"{name:>{width}}" for (name, _), width in zip(self.COLUMNS, widths, strict=True)
            ]
            self.console.print("  ".join(heads), style="bold", highlight=False)
            self._header_due = False
        cells = [
            f"{show(metrics):>{width}}"
            for (_, show), width in zip(self.COLUMNS, widths, strict=True)
        ]
        self.console.print("  ".join(cells), highlight=False)
        for name, value in metrics.items():
            if isinstance(value, int | float) and name != "iteration":
                self._writer.add_scalar(name, value, metrics["iteration"])
        self._writer.flush()

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, highlight=False)

    def close(self) -> None:
        """Take the bar away and close the curves."""
        self._progress.stop()
        self._writer.close()


def _score(metrics: dict[str, Any]) -> str:
    if "score" not in metrics:
        return ""
    low, high = 100 * metrics["score_low"], 100 * metrics["score_high"]
    return f"{100 * metrics['score']:.0f} % ({low:.0f}-{high:.0f}) vs {metrics['opponent']}"
