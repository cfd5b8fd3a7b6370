"""The columns of the table that a run prints, by algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ludarium.envs.engine.progress_bar import as_time, time_left

from ..table import percent


class Column(NamedTuple):
    """A column of the table: heading, width, formatter of a cell, and rank.

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
#: Actors, mean age in iterations of the weights that played, seconds that the learner waited.
_OF_A_CLUSTER = (
    Column("actors", 6, lambda m: f"{m['actors']}", 5),
    Column("stale", 5, lambda m: f"{m['staleness']:.1f}", 6),
    Column("waits", 5, lambda m: f"{m['learner_waited']:.1f}", 5),
)
