"""Compares reports of one game with several values of an option, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .summary import of_players, with_interval


def compare(
    option: str, values: Sequence[Any], reports: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The main figures of several reports.

    Args:
        option: the option in which the games differ.
        values: its value in each game.
        reports: the result of `measure` for each.

    Returns:
        - ``option``, ``values``;
        - ``players``: the strongest players whose games are in every report;
        - ``figures``: each with a ``name``, whether it is a ``share``, whether it is worth a
          ``chart``, and its ``values``, one estimate (or None) for each report;
        - ``summary``: sentences on the figures whose intervals do not overlap.
    """
    of_each = [[row["players"] for row in report["balance"]["by_strength"]] for report in reports]
    players = [name for name in of_each[0] if all(name in names for names in of_each)][-1]
    sources = {_source(report) for report in reports}
    figures = [
        {
            "name": name,
            "share": share,
            "chart": chart,
            "values": [read(report, players) for report in reports],
        }
        for name, share, chart, read in _FIGURES + (_FIGURES_OF_VALUES if len(sources) == 1 else ())
    ]
    return {
        "option": option,
        "values": list(values),
        "players": players,
        "figures": figures,
        "summary": _summary(option, values, figures),
    }


def _summary(option: str, values: Sequence[Any], figures: list[dict[str, Any]]) -> list[str]:
    told = []
    for figure in figures:
        known = [(v, each) for v, each in zip(values, figure["values"], strict=True) if each]
        if len(known) < 2:
            continue
        lowest = min(known, key=lambda pair: pair[1]["high"])
        highest = max(known, key=lambda pair: pair[1]["low"])
        if highest[1]["low"] > lowest[1]["high"]:
            name = figure["name"][:1].upper() + figure["name"][1:]
            high, low = (
                f"{with_interval(each, figure['share'])} with {option} = {value}"
                for value, each in (highest, lowest)
            )
            told.append(f"{name}: {high}, but {low}.")
    return told or ["In all of these figures the intervals overlap."]


def _balance(report: dict[str, Any], players: str) -> dict[str, Any]:
    return of_players(report["balance"]["by_strength"], players)


def _drama(report: dict[str, Any], players: str) -> dict[str, Any]:
    return of_players(report["decisiveness"]["by_strength"], players)


def _best_first_move(report: dict[str, Any], players: str) -> dict[str, Any] | None:
    openings = report["openings"]
    if openings is None or openings["players"] != players:
        return None
    found: dict[str, Any] = openings["chance_without_swap"]
    return found


def _source(report: dict[str, Any]) -> str:
    """How a report evaluates positions; estimates made in different ways do not compare."""
    source: str = "exact" if report["decisiveness"]["exact"] else report["evaluator"]
    return source


#: Name, whether it is a share, whether it gets a chart, and a function that reads it from a report
#: for the players of that name.
_Figure = tuple[str, bool, bool, Callable[[dict[str, Any], str], dict[str, Any] | None]]

_FIGURES: tuple[_Figure, ...] = (
    ("player_0's points", True, True, lambda r, p: _balance(r, p)["player_0_score"]),
    ("draws", True, False, lambda r, p: _balance(r, p)["draws"]),
    ("player_0's points after the best first move", True, False, _best_first_move),
    ("plies of a game", False, True, lambda r, p: of_players(r["length"], p)["plies"]),
    ("legal moves", False, True, lambda r, p: of_players(r["branching"], p)["mean"]),
    ("Elo per doubling of playouts", False, True, lambda r, p: r["skill"]["elo_per_doubling"]),
    (
        *("Elo from random play to the strongest search", False, True),
        lambda r, p: r["skill"]["span_of_search"],
    ),
    (
        *("leaves of the game tree, as a power of ten", False, False),
        lambda r, p: r["complexity"]["tree_knuth"],
    ),
)

#: Figures read from estimates of positions; they compare only between reports of one `_source`.
_FIGURES_OF_VALUES: tuple[_Figure, ...] = (
    (
        *("share of a game after which the winner is clear", True, True),
        lambda r, p: _drama(r, p).get("clear_at"),
    ),
    ("lead changes", False, False, lambda r, p: _drama(r, p)["lead_changes"]),
    ("comebacks", True, False, lambda r, p: _drama(r, p).get("comebacks")),
    (
        *("chance lost per move by the weak search", True, False),
        lambda r, p: r["mistakes"]["by_strength"][1]["loss_per_move"],
    ),
)
