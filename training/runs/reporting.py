"""Reports on a run: a progress bar on a terminal, plain lines elsewhere, TensorBoard curves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ludarium.base.console import plain_console
from ludarium.base.messages import shortened
from ludarium.base.progress import Task
from ludarium.base.progress_bar import GONE, as_time, shown_task, time_left

from ..table import percent
from .folder import RunFolder
from .metrics import estimates_of

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Reporter(Task):
    """Receives the events of a run; this one ignores them.

    `begin`, `advance` and `say` are safe from any thread.
    """

    def iteration(self, metrics: dict[str, Any]) -> None:
        """An iteration has ended with these metrics."""

    def say(self, text: str) -> None:
        """Show a message to the user."""

    def close(self) -> None:
        """The run has ended."""


class TerminalReporter(Reporter):
    """A table with a row for each iteration, and a progress bar, on standard error.

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
        """Print a row and the results of an evaluation, and add to the curves.

        The heading is printed above the first row.
        """
        if self._heading_due:
            heading = "  ".join(f"{column.name:>{column.width}}" for column in self.columns)
            self._print(heading, style="bold")
            self._heading_due = False
        cells = [f"{_cell(column, metrics):>{column.width}}" for column in self.columns]
        self._print("  ".join(cells))
        for line in _evaluation(metrics):
            self._print(f"{'':7}{line}", style="green")
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

            # A resumed run reports its last iteration again: points from there on are dropped.
            self._writer = SummaryWriter(str(self._path), purge_step=metrics["iteration"])
        curves = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
        for name, estimate in estimates_of(metrics).items():
            curves |= {name: estimate.value, f"{name}/low": estimate.low}
            curves[f"{name}/high"] = estimate.high
        del curves["iteration"]
        for name, value in curves.items():
            self._writer.add_scalar(name, value, metrics["iteration"])
        self._writer.flush()

    def close(self) -> None:
        """Close the file; `add` has written every point."""
        if self._writer is not None:
            self._writer.close()


class Column(NamedTuple):
    """A column of the table: heading, width, formatter of a cell, and rank.

    A cell is blank if the iteration lacks its metric: losses without a gradient step, those of a
    cluster if there was none. If the terminal is too narrow, the columns with the highest ranks are
    left out.
    """

    name: str
    width: int
    cell: Callable[[dict[str, Any]], str]
    rank: int = 0


def columns_of(algorithm: str, on_cluster: bool = False) -> tuple[Column, ...]:
    """The columns of a run."""
    own = _COLUMNS[algorithm]
    of_cluster = _OF_A_CLUSTER if on_cluster and algorithm == "alphazero" else ()
    return (*_PROGRESS, *own, *of_cluster, _LEFT)


def fitting_columns(columns: Sequence[Column], width: int) -> list[Column]:
    """The most important columns that fit into ``width`` characters."""
    fitting = list(columns)
    while sum(column.width + 2 for column in fitting) - 2 > width and len(fitting) > 1:
        fitting.remove(max(fitting, key=lambda column: column.rank))
    return fitting


def _cell(column: Column, metrics: dict[str, Any]) -> str:
    try:
        return column.cell(metrics)
    except KeyError:
        return ""


def _evaluation(metrics: dict[str, Any]) -> Iterator[str]:
    """The results of an evaluation, if the iteration has one."""
    estimates = estimates_of(metrics)
    if "score" in estimates:
        yield f"score against {metrics['opponent']}: {estimates['score']:.0%}"
    if "elo" in estimates:
        scores = [
            f"{name} {percent(each['score']['value'])}" for name, each in metrics["anchors"].items()
        ]
        yield "  ".join([f"Elo {estimates['elo']:,.0f}", *scores])
    if "accuracy" in estimates:
        yield f"moves that keep the exact value: {estimates['accuracy']:.0%}"


#: Share of the run that is done, minutes, iterations.
_PROGRESS = (
    Column("run", 5, lambda m: percent(m["progress"])),
    Column("min", 6, lambda m: f"{m['seconds'] / 60:.1f}"),
    Column("iter", 5, lambda m: f"{m['iteration']}", 3),
)
#: Estimated time left.
_LEFT = Column("left", 7, lambda m: as_time(time_left(m["progress"], m["seconds"])), 1)

_COLUMNS = {
    # ``policy``, ``result`` (win, draw, loss) and ``score`` are losses.
    "alphazero": (
        Column("sims", 4, lambda m: f"{m['simulations_per_move']}", 1),
        Column(
            "games/s", 7, lambda m: f"{m['games_per_second']:.1f}" if m["games_per_second"] else ""
        ),
        Column("sims/s", 9, lambda m: f"{m['simulations_per_second']:,.0f}"),
        Column("policy", 6, lambda m: f"{m['policy_loss']:.3f}"),
        Column("result", 6, lambda m: f"{m['outcome_loss']:.3f}"),
        Column("score", 6, lambda m: f"{m['score_loss']:.3f}", 2),
        Column("replay", 8, lambda m: f"{m['replay']:,}", 4),
    ),
    # ``self-play`` is the learner's score against its opponents; ``entropy`` is in nats.
    "ppo": (
        Column("steps", 10, lambda m: f"{m['step']:,}", 1),
        Column("steps/s", 7, lambda m: f"{m['steps_per_second']:,.0f}"),
        Column("self-play", 9, lambda m: percent(m["self_play_score"])),
        Column("entropy", 7, lambda m: f"{m['entropy']:.2f}"),
        Column("value", 6, lambda m: f"{m['value_loss']:.3f}"),
        Column("kl", 6, lambda m: f"{m['approx_kl']:.4f}", 2),
        Column("pool", 4, lambda m: f"{m['pool']}", 4),
    ),
}
#: Actors that delivered since the last weights, mean age in iterations of the weights that played,
#: seconds that the learner waited.
_OF_A_CLUSTER = (
    Column("actors", 6, lambda m: f"{m['actors']}", 5),
    Column("stale", 5, lambda m: f"{m['staleness']:.1f}", 6),
    Column("waits", 5, lambda m: f"{m['learner_waited']:.1f}", 5),
)
