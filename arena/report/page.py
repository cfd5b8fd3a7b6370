"""The report as one self-contained HTML page, without other hosts, fonts or libraries.

The templates, the style and the script are in the folder ``templates``. Names of games and
agents may come from a stranger: templates escape everything that is not `Markup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ludarium.envs.engine.game import Game

from .charts import Line, Row, diverging, dot_chart, ink_on, line_chart, share_chart
from .openings import without_swap
from .pictures import heat_map, replay_data
from .summary import percent, with_interval

_BARS = 24  # most first moves in their table, and in the chart that replaces a missing heat map
_SIDES = ("player_0 wins", "drawn", "player_1 wins")


def render_page(game: Game, report: dict[str, Any]) -> str:
    """The page of one report."""
    return _render(views=[_view(game, report)], comparison=None)


def render_comparison(
    games: Sequence[Game], reports: Sequence[dict[str, Any]], comparison: dict[str, Any]
) -> str:
    """One page for several option sets: their figures side by side, then each in full."""
    values = [f"{comparison['option']} = {value}" for value in comparison["values"]]
    return _render(
        views=[_view(game, report) for game, report in zip(games, reports, strict=True)],
        comparison=comparison,
        values=values,
        charts=_compared(values, comparison["figures"]),
    )


def _render(**variables: Any) -> str:
    return _environment().get_template("page.html").render(variables)


@cache
def _environment() -> Environment:
    """The templates' environment: filters that format estimates, and `source`, a file's text."""
    loader = PackageLoader(__package__, "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.globals["source"] = lambda name: Markup(loader.get_source(environment, name)[0])
    environment.filters |= {
        "percent": percent,
        "share": lambda estimate: _unbroken(with_interval(estimate)),
        "number": _number,
        "tiny": _tiny,
        "games": lambda estimate: f"{estimate['count']:,}",
        "diverging": diverging,
        "ink_on": ink_on,
    }
    return environment


def _number(estimate: dict[str, Any]) -> Markup:
    return _unbroken(with_interval(estimate, as_percent=False))


def _tiny(estimate: dict[str, Any]) -> str:
    """A number per game and its interval; two significant digits below 1."""
    if not estimate["value"]:
        return "0"
    if estimate["value"] >= 1:
        return _number(estimate)
    return _unbroken(f"{estimate['value']:.2g} ({estimate['low']:.2g} to {estimate['high']:.2g})")


def _unbroken(text: str) -> Markup:
    """A figure and its interval as HTML; neither is broken across lines."""
    value, _, interval = text.partition(" (")
    return Markup('<span class="fixed">{}</span> <small>({}</small>').format(value, interval)


def _view(game: Game, report: dict[str, Any]) -> dict[str, Any]:
    """The data for the sections on one game: its report, and charts made of it."""
    replays, lines = replay_data(game, report)
    decided = [row for row in report["decisiveness"]["by_strength"] if "clear_at" in row]
    charts = {
        "balance": _balance(report["balance"]["by_strength"]),
        "length": _length(report["length"]),
        "branching": _branching(report["branching"]),
        "decisiveness": _decisiveness(decided) if decided else None,
        "skill": _skill(report["skill"]["ladder"]),
        "mistakes": _mistakes(report["mistakes"]["by_strength"]),
    }
    view: dict[str, Any] = {
        "report": report,
        "charts": charts,
        "decided": decided,
        "shows_turns": any(row["turns"] != row["plies"] for row in report["length"]),
        "rule_head": _rule_head(report["rules_in_play"]["rules"]),
        "sizes": _sizes(report["complexity"]),
        "replays": replays,
        "lines": lines,
    }
    found = report["openings"]
    if found is not None:
        board = without_swap(game)
        spots = board.action_spots()
        values = {a: move["chance"]["value"] for move in found["moves"] for a in move["actions"]}
        view["first_moves"] = _shown_moves(found["moves"])
        view["board"] = (
            None if spots is None else heat_map(board, spots, values, found["fair_within"])
        )
        charts["first_moves"] = _first_moves(view["first_moves"]) if spots is None else None
    return view


def _balance(rows: list[dict[str, Any]]) -> Markup:
    keys = ("player_0_wins", "draws", "player_1_wins")
    return share_chart(
        [Row(row["players"], shares=[row[key]["value"] for key in keys]) for row in rows],
        _SIDES,
        "How often each side wins, by strength of play",
    )


def _first_moves(moves: list[dict[str, Any]]) -> Markup:
    return dot_chart(
        [_row(move["moves"][0], move["chance"]) for move in moves],
        "Chance of player_0 after each first move",
        percent,
        mark=0.5,
    )


def _row(name: str, estimate: dict[str, Any], series: int = 0) -> Row:
    return Row(name, estimate["value"], estimate["low"], estimate["high"], series=series)


def _shown_moves(moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All moves, or at most `_BARS` of more: the best, those nearest to one half, the worst."""
    if len(moves) <= _BARS:
        return moves
    part = _BARS // 3
    nearest = sorted(range(len(moves)), key=lambda n: abs(moves[n]["chance"]["value"] - 0.5))[:part]
    kept = {*range(part), *nearest, *range(len(moves) - part, len(moves))}
    return [moves[number] for number in sorted(kept)]


def _length(rows: list[dict[str, Any]]) -> Markup:
    lines = []
    for row in rows:
        plies = {int(ply): games for ply, games in row["games_by_plies"].items()}
        total = sum(plies.values())
        # D. W. Scott, "On Optimal and Data-Based Histograms", 1979.
        width = max(1, round(3.49 * row["standard_deviation"] / total ** (1 / 3)))
        bins: dict[int, float] = {}
        for ply, games in plies.items():
            place = ply // width * width
            bins[place] = bins.get(place, 0) + games / total / width
        xs = list(range(min(bins), max(bins) + width, width))
        lines.append(
            Line(row["players"], [x + (width - 1) / 2 for x in xs], [bins.get(x, 0) for x in xs])
        )
    return line_chart(
        lines,
        "Length of games",
        "plies",
        "share of games at each length",
        show=lambda value: f"{100 * value:.3g} %",
    )


def _branching(rows: list[dict[str, Any]]) -> Markup:
    keys = ("ply", "value", "low", "high")
    lines = [
        Line(row["players"], *([ply[key] for ply in row["by_ply"]] for key in keys)) for row in rows
    ]
    return line_chart(lines, "Branching factor", "ply", "legal moves, mean")


def _decisiveness(rows: list[dict[str, Any]]) -> Markup:
    lines = []
    for row in rows:
        points = row["winners_chance"]
        ends = ("low", "high") if row is rows[-1] else ()
        lines.append(
            Line(
                row["players"],
                [100 * point["share"] for point in points],
                *([point[key] for point in points] for key in ("median", *ends)),
            )
        )
    return line_chart(
        lines,
        "Chance of the eventual winner",
        "% of the game",
        "chance of the eventual winner, median",
        (0, 1),
        percent,
    )


def _skill(ladder: list[dict[str, Any]]) -> Markup:
    rows = [_row(row["player"], row, series=0 if row["is_rung"] else 1) for row in ladder]
    return dot_chart(rows, "Elo ladder", "{:,.0f}".format)


def _mistakes(rows: list[dict[str, Any]]) -> Markup:
    lines = [
        Line(row["players"], list(range(len(shares))), shares)
        for row in rows
        for shares in [row["without_mistake_by_ply"]]
    ]
    return line_chart(
        lines, "First mistakes", "ply", "share of games without a mistake so far", (0, 1), percent
    )


def _rule_head(rules: list[dict[str, Any]]) -> list[str]:
    """Heads of the columns of the rules' table."""
    if not rules:
        return []
    players = [row["players"] for row in rules[0]["by_strength"]]
    columns = [f"{name}, per game" for name in players]
    return ["Rule", *columns, f"games of {players[-1]} with it"]


def _sizes(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table of sizes: name, key of the method, and a count or a power of ten."""
    sizes = [
        _power("Leaves of the game tree", "tree_knuth", found),
        _power(f"Game tree as {found['tree_power']['players']} plays", "tree_power", found),
    ]
    if "positions" in found:
        count = f"{found['positions']:,}"
        return [*sizes, {"what": "Positions", "key": "positions", "count": count}]
    most = {"value": f"{found['positions_at_most']['value']:.0f}", "interval": "", "count": ""}
    return [
        *sizes,
        _power("Positions, at least", "positions_seen_at_least", found),
        {"what": "Positions, at most about", "key": "positions_at_most", **most},
    ]


def _power(what: str, key: str, found: dict[str, Any]) -> dict[str, Any]:
    estimate = found[key]
    interval = f"{estimate['low']:.1f} to {estimate['high']:.1f}; {estimate['count']:,} games"
    value = f"{estimate['value']:.1f}"
    return {"what": what, "key": key, "value": value, "interval": interval, "count": ""}


def _compared(values: list[str], figures: list[dict[str, Any]]) -> dict[str, Markup]:
    """Charts that compare the figures of several option sets, by name."""
    charts = {}
    for figure in figures:
        known = [
            (value, each) for value, each in zip(values, figure["values"], strict=True) if each
        ]
        if figure["chart"] and len(known) > 1:
            charts[figure["name"]] = dot_chart(
                [_row(value, each, number) for number, (value, each) in enumerate(known)],
                figure["name"],
                percent if figure["share"] else "{:,.4g}".format,
                mark=0.5 if figure["share"] else None,
            )
    return charts
