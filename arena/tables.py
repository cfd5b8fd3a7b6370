"""Standings as text: for a terminal, or plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludarium.training.evaluation import Tally
from ludarium.training.table import text_table

from .sprt import Verdict
from .standings import Standings

if TYPE_CHECKING:
    from .comparison import Comparison

_WIDEST = 12  # agents in a cross-table; with more, only their ratings are shown
_FIRST = 7  # column of the cross-table


def standings_table(standings: Standings, terminal: bool | None = None) -> str:
    """Ratings and cross-table: percent of the points against the agent of each rank.

    Args:
        standings: what to show.
        terminal: draw it for a terminal; ``False`` gives plain text. Default: whether standard
            output is a terminal.
    """
    header, rows = _cells(standings)
    drawn = text_table(header, rows, left=[1], names=2, terminal=terminal)
    return "\n".join([drawn, "", *_remarks(standings)])


def comparison_line(standing: Comparison) -> str:
    """How a test stands, in a line."""
    low, high = standing.test.bounds
    if not standing.games:
        return f"LLR 0 ({low:.2f}..{high:.2f})"
    return (
        f"LLR {standing.llr:+.2f} ({low:.2f}..{high:.2f}), {standing.games:,} games, "
        f"score {standing.score:.3f}, Elo {_signed(standing.elo)} "
        f"({_signed(standing.elo_interval[0])}..{_signed(standing.elo_interval[1])})"
    )


def comparison_table(standing: Comparison) -> str:
    """How a test stands or ended, for people."""
    test, first = standing.test, standing.first
    pairs = " ".join(map(str, standing.counts))
    return "\n".join(
        [
            _sentence(standing),
            comparison_line(standing),
            f"of tests with H0 true, {test.alpha:.3g} end with H1; with H1 true, {test.beta:.3g} "
            "end with H0",
            f"pairs of games in which {first} had 0, 1/2, 1, 3/2, 2 points: {pairs}",
        ]
    )


def _sentence(standing: Comparison) -> str:
    test, first, second = standing.test, standing.first, standing.second
    if standing.verdict is Verdict.ACCEPTED:
        return (
            f"{first} is stronger than {second}: H1 ({test.elo1:+g} Elo) rather than H0 "
            f"({test.elo0:+g})"
        )
    if standing.verdict is Verdict.REJECTED:
        return (
            f"{first} is not stronger than {second}: H0 ({test.elo0:+g} Elo) rather than H1 "
            f"({test.elo1:+g})"
        )
    if standing.is_finished:
        return f"no verdict within {standing.games_limit:,} games"
    return f"no verdict yet after {standing.games:,} games"


def _signed(elo: float) -> str:
    return f"{elo:+.0f}"


def _cells(standings: Standings) -> tuple[list[str], list[list[str]]]:
    agents = standings.agents
    crossed = agents if len(agents) <= _WIDEST else []
    header = ["", "agent", "Elo", "95 %", "games", "w-d-l", "score"]
    header += [str(place) for place, _ in enumerate(crossed, 1)]
    rows = []
    for place, agent in enumerate(agents, 1):
        rating = agent.rating
        row = [
            str(place),
            agent.name,
            f"{rating.elo:.0f}",
            f"{rating.low:.0f}..{rating.high:.0f}",
            str(agent.tally.games),
            f"{agent.tally.wins}-{agent.tally.draws}-{agent.tally.losses}",
            f"{agent.score:.1%}",
        ]
        row += [_percent(standings.between(agent.name, other.name)) for other in crossed]
        if crossed:
            row[_FIRST + place - 1] = "-"
        rows.append(row)
    return header, rows


def _percent(tally: Tally) -> str:
    return f"{100 * tally.score:.0f}" if tally.games else ""


def _remarks(standings: Standings) -> list[str]:
    first = standings.first_player
    advantage = standings.advantage
    share = first.draws / first.games
    lines = [
        f"player_0, who moves first: {first.wins}-{first.draws}-{first.losses}, "
        f"{first.score:.1%}; an advantage of {advantage.elo:+.0f} Elo "
        f"({advantage.low:+.0f}..{advantage.high:+.0f})",
        f"{standings.games} games, {first.draws} drawn ({share:.1%}), "
        f"{standings.mean_plies:.1f} plies on average",
    ]
    if standings.caveat is not None:
        lines.append(f"warning: {standings.caveat}")
    return lines
