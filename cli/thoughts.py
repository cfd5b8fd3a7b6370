"""How commands print an agent's analysis of a position."""

from __future__ import annotations

from ludarium.analysis.thinking import Estimate, PositionAnalysis
from ludarium.training.table import percent, text_table

_LONGEST_LINE = 12  # most moves of a variation that are shown
_COLUMNS = ("move", "value", "win", "draw", "loss", "visits", "prior", "best play")
_LEFT = ("move", "best play")


def headline(analysis: PositionAnalysis, who: str) -> str:
    """The value of a position in a line, such as ``corso: +0.21 for you (...)``.

    Args:
        analysis: analysis of the position.
        who: name of the player to move.
    """
    estimate = analysis.estimate
    if estimate.value is None:
        told = f"{estimate.note} for {who}" if estimate.note else "the value is not known"
    elif estimate.exact:
        told = f"a {estimate.note or _result(estimate)} for {who}, exactly"
    else:
        told = f"{estimate.value:+.2f} for {who}{_chances(estimate)}"
    return f"{analysis.agent}: {told}"


def effort(analysis: PositionAnalysis) -> str:
    """How much was searched, in a line; empty if nothing was counted."""
    if analysis.simulations is None:
        return ""
    speed = f", {analysis.speed:,.0f}/s" if analysis.speed else ""
    return f"{analysis.simulations:,} simulations, {analysis.seconds:.1f} s{speed}"


def moves_table(
    analysis: PositionAnalysis, most: int | None = None, terminal: bool | None = None
) -> str:
    """The moves as a table, the best first, with the columns that the agent knows.

    Args:
        analysis: analysis of the position.
        most: most moves to show; default: all.
        terminal: see `text_table`.
    """
    moves = analysis.moves[:most]
    rows = []
    for move in moves:
        estimate = move.estimate
        line = list(move.variation[:_LONGEST_LINE])
        more = " ..." if len(move.variation) > _LONGEST_LINE else ""
        separator = ", " if any(" " in text for text in line) else " "
        rows.append(
            {
                "move": move.text,
                "value": _value(estimate),
                "win": _percent(estimate.win),
                "draw": _percent(estimate.draw),
                "loss": _percent(estimate.loss),
                "visits": "" if move.visits is None else f"{move.visits:,}",
                "prior": _percent(move.prior),
                "best play": separator.join(line) + more if len(line) > 1 else "",
            }
        )
    shown = [name for name in _COLUMNS if name == "move" or any(row[name] for row in rows)]
    cells = [[row[name] for name in shown] for row in rows]
    left = [index for index, name in enumerate(shown) if name in _LEFT]
    return text_table(shown, cells, left, terminal=terminal)


def _value(estimate: Estimate) -> str:
    if estimate.value is None or (estimate.exact and estimate.note):
        return estimate.note
    return _result(estimate) if estimate.exact else f"{estimate.value:+.3f}"


def _result(estimate: Estimate) -> str:
    assert estimate.value is not None
    return ("loss", "draw", "win")[int(estimate.value) + 1]


def _chances(estimate: Estimate) -> str:
    if estimate.win is None:
        return " (+1 is a win, -1 a loss)"
    return (
        f" (win {_percent(estimate.win)}, draw {_percent(estimate.draw)}, "
        f"loss {_percent(estimate.loss)})"
    )


def _percent(share: float | None) -> str:
    return "" if share is None else percent(share)
