"""Reports of one game with several values of an option, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .summary import with_interval

Estimate = dict[str, Any]


def compare(
    option: str, values: Sequence[Any], reports: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The main figures of several reports.

    Args:
        option: the one in which the games differ.
        values: its value in each.
        reports: what `measure` returned for each.

    Returns:
        - ``option``, ``values``;
        - ``figures``: each with a ``name``, whether it is a ``share``, whether it is worth a
          ``chart``, and its ``values``, one estimate (or None) for each report;
        - ``summary``: sentences on the figures whose intervals do not overlap.
    """
    figures = [
        {"name": name, "share": share, "chart": chart, "values": [read(each) for each in reports]}
        for name, share, chart, read in _FIGURES
    ]
    return {
        "option": option,
        "values": list(values),
        "figures": figures,
        "summary": _summary(option, values, figures),
    }


def _summary(option: str, values: Sequence[Any], figures: list[dict[str, Any]]) -> list[str]:
    told = []
    for figure in figures:
        known = [(v, each) for v, each in zip(values, figure["values"], strict=True) if each]
        if len(known) < 2:
            continue
        lowest = min(known, key=lambda pair: pair[1]["value"])
        highest = max(known, key=lambda pair: pair[1]["value"])
        if highest[1]["low"] > lowest[1]["high"]:
            name = figure["name"]
            high, low = (with_interval(each[1], figure["share"]) for each in (highest, lowest))
            told.append(
                f"{name[:1].upper() + name[1:]}: {high} with {option} = {highest[0]}, but {low} with "
                f"{option} = {lowest[0]}."
            )
    return told or ["In none of these figures do the intervals fall apart."]


def _strong(
    section: Callable[[dict[str, Any]], list], key: str
) -> Callable[[dict], Estimate | None]:
    def read(report: dict[str, Any]) -> Estimate | None:
        rows = section(report)
        row = next(row for row in rows if row["players"] == report["strongest"])
        found: Estimate | None = row.get(key)
        return found

    return read


def _best_first_move(report: dict[str, Any]) -> Estimate | None:
    return None if report["openings"] is None else report["openings"]["chance_without_swap"]


def _weak_loss(report: dict[str, Any]) -> Estimate:
    found: Estimate = report["mistakes"]["by_strength"][1]["loss_per_move"]
    return found


def _balance(report: dict[str, Any]) -> list:
    rows: list = report["balance"]["by_strength"]
    return rows


def _drama(report: dict[str, Any]) -> list:
    rows: list = report["decisiveness"]["by_strength"]
    return rows


#: Name, whether it is a share, whether it is drawn, and how it is read.
_FIGURES: tuple[tuple[str, bool, bool, Callable[[dict[str, Any]], Estimate | None]], ...] = (
    ("player_0's points", True, True, _strong(_balance, "player_0_score")),
    ("draws", True, False, _strong(_balance, "draws")),
    ("plies of a game", False, True, _strong(lambda report: report["length"], "plies")),
    ("legal moves", False, True, _strong(lambda report: report["branching"], "mean")),
    ("chance of player_0 after the best first move", True, False, _best_first_move),
    ("share of a game after which the winner is clear", True, True, _strong(_drama, "clear_at")),
    ("lead changes", False, False, _strong(_drama, "lead_changes")),
    ("comebacks", True, False, _strong(_drama, "comebacks")),
    ("Elo per doubling", False, True, lambda report: report["skill"]["elo_per_doubling"]),
    ("Elo from random play to the strongest", False, True, lambda report: report["skill"]["span"]),
    ("lost per move by the weak search", True, False, _weak_loss),
    (
        "leaves of the game tree, power of ten",
        False,
        False,
        lambda r: r["complexity"]["tree_knuth"],
    ),
)
