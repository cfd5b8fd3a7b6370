"""Reports on a run: a table with a row for each iteration, and TensorBoard curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ludarium.base.console import plain_console
from ludarium.base.messages import shortened
from ludarium.base.progress import Progress
from ludarium.base.progress_bar import as_time, time_left

from ..table import percent
from .folder import RunFolder
from .metrics import estimates_of

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_WIDTH_OF_A_FILE = 160  # characters; a log has no edge to wrap at


class RunLog:
    """Says a row of a table for each iteration, and writes TensorBoard curves into the folder.

    Before the first iteration nothing is written. If the curves cannot be written, it says so once,
    and the run continues.

    Args:
        folder: the run's folder.
        columns: columns of the table, see `columns_of`.
        progress: says the rows. They are at most as wide as the terminal of standard error, or as
            160 characters where that is no terminal.
    """

    def __init__(self, folder: RunFolder, columns: Sequence[Column], progress: Progress) -> None:
        self._curves: _Curves | None = _Curves(folder.tensorboard)
        self.progress = progress
        console = plain_console(stderr=True)
        width = console.width if console.is_terminal else _WIDTH_OF_A_FILE
        self.columns = fitting_columns(columns, width)
        self._heading_due = True

    def iteration(self, metrics: dict[str, Any]) -> None:
        """Say a row and the results of an evaluation, and add to the curves.

        The heading stands above the first row.
        """
        say = self.progress.say
        if self._heading_due:
            say("  ".join(f"{column.name:>{column.width}}" for column in self.columns), "bold")
            self._heading_due = False
        say("  ".join(f"{_cell(column, metrics):>{column.width}}" for column in self.columns))
        for line in _evaluation(metrics):
            say(f"{'':7}{line}", "green")
        if self._curves is not None:
            try:
                self._curves.add(metrics)
            except Exception as error:  # a broken TensorBoard is no reason to lose a run
                self._curves = None
                reason = getattr(error, "strerror", None) or shortened(str(error))
                say(f"no more curves: they cannot be written ({reason})")

    def close(self) -> None:
        """Close the curves."""
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

    A cell is blank if the iteration lacks its metric, as it lacks losses without a gradient step.
    If the terminal is too narrow, the columns with the highest ranks are left out.
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
