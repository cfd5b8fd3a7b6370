"""The report as one HTML page that needs nothing else: no host, no font, no library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from ludarium.envs.engine.game import Game

from .charts import Line, Row, dot_chart, line_chart, share_chart
from .openings import without_swap
from .page_parts import SCRIPT, STYLE
from .pictures import heat_map, steppers
from .summary import percent, with_interval

_BARS = 24  # of a list of first moves without a place on the board
_SIDES = ("player_0 wins", "drawn", "player_1 wins")


def render_page(game: Game, report: dict[str, Any]) -> str:
    """The page of one report."""
    return _document(report["title"], _header(report) + _body(game, report))


def render_comparison(
    games: Sequence[Game], reports: Sequence[dict[str, Any]], comparison: dict[str, Any]
) -> str:
    """One page for several option sets: their figures side by side, then each in full."""
    option = comparison["option"]
    title = f"{reports[0]['title']}: {option} compared"
    parts = [_header(reports[0], comparison), _side_by_side(comparison)]
    for number, (game, report) in enumerate(zip(games, reports, strict=True)):
        is_open = ' open="open"' if number == 0 else ""
        value = escape(str(report["options"][option]))
        parts.append(
            f'<details class="variant"{is_open}><summary><h2>{escape(option)} = {value}</h2>'
            f"</summary>{_body(game, report)}</details>"
        )
    return _document(title, "".join(parts))


def _document(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        '<meta name="color-scheme" content="light dark"/>'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _header(report: dict[str, Any], comparison: dict[str, Any] | None = None) -> str:
    varied = comparison["option"] if comparison else None
    options = ", ".join(
        f"{name} = {value}" for name, value in report["options"].items() if name != varied
    )
    options = f" with {options}" if options else ""
    compared = (
        f"; {comparison['option']} = {', '.join(map(str, comparison['values']))} compared"
        if comparison
        else ""
    )
    return (
        f"<header><h1>{escape(report['title'])}</h1>"
        f'<p class="credit">A report on {escape(report["title"])} ({escape(report["credit"])})'
        f"{escape(options)}{escape(compared)}. Seed {report['seed']}; made with ludarium.</p>"
        "</header>"
    )


def _body(game: Game, report: dict[str, Any]) -> str:
    parts: list[Callable[[Game, dict[str, Any]], str]] = [
        _summary,
        _balance,
        _openings,
        _length,
        _branching,
        _decisiveness,
        _skill,
        _mistakes,
        _rules,
        _mirror,
        _replays,
        _complexity,
    ]
    return "".join(part(game, report) for part in parts)


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A table whose first column names the rows; cells are HTML."""
    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _games(estimate: dict[str, Any]) -> str:
    return f"{estimate['games']:,}"


def _shares(estimate: dict[str, Any]) -> str:
    return _apart(with_interval(estimate))


def _number(estimate: dict[str, Any]) -> str:
    return _apart(with_interval(estimate, as_percent=False))


def _apart(text: str) -> str:
    """A figure and its interval as HTML: each stays on a line."""
    value, _, interval = text.partition(" (")
    return f'<span class="fixed">{value}</span> <small>({interval}</small>'


def _sentences(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<ul class="summary">{items}</ul>'


def _summary(game: Game, report: dict[str, Any]) -> str:
    who = [
        "random draws legal moves uniformly",
        "uct:N searches a tree with N random playouts for each move",
    ]
    trained = report["trained"]
    if trained is not None:
        who.append(
            f"{report['strongest']} is the agent {trained['agent']} "
            f"({trained['against_itself']} against itself)"
        )
    return _section(
        "In short",
        _sentences(report["summary"]),
        _note(
            f"Brackets are 95 % intervals. Players: {'; '.join(who)}. Equals play both sides, from "
            f"the start of the game. Positions are valued by {report['evaluator']}."
        ),
    )


def _balance(game: Game, report: dict[str, Any]) -> str:
    rows = report["balance"]["by_strength"]
    keys = ("player_0_wins", "draws", "player_1_wins")
    chart = share_chart(
        [Row(row["players"], shares=[row[key]["value"] for key in keys]) for row in rows],
        _SIDES,
        "How often each side wins, by strength of play",
    )
    table = _table(
        ["Players", "Games", "player_0 wins", "Drawn", "player_1 wins", "player_0's points"],
        [
            [
                escape(row["players"]),
                _games(row["draws"]),
                *(_shares(row[key]) for key in keys),
                _shares(row["player_0_score"]),
            ]
            for row in rows
        ],
        "A draw is half a point.",
    )
    perfect = report["balance"]["perfect"]
    words = {1: "player_0 wins", 0: "a draw", -1: "player_1 wins"}
    known = (
        f"With perfect play: {words[perfect]}."
        if perfect is not None
        else "The perfect result is not known."
    )
    few = [row for row in rows if row["distinct_games"] < row["draws"]["games"]]
    repeated = "".join(
        _note(f"Only {row['distinct_games']} of the games of {row['players']} differ.")
        for row in few
    )
    capped = "".join(
        _note(
            f"{row['ended_at_ply_cap']} games of {row['players']} ended at the ply cap, as draws."
        )
        for row in rows
        if row["ended_at_ply_cap"]
    )
    return _section("Who wins", chart, f"<p>{known}</p>", table, repeated, capped)


def _openings(game: Game, report: dict[str, Any]) -> str:
    found = report["openings"]
    if found is None:
        return ""
    board = without_swap(game)
    values = {a: move["chance"]["value"] for move in found["moves"] for a in move["actions"]}
    spots = board.action_spots()
    parts = [
        "<p>What player_0 can expect after each first move between strong players, without a "
        f"swap. {found['fair']} of {found['legal']} first moves are fair (within "
        f"{percent(found['fair_within'])} of one half); {found['to_be_swapped']} give more, and "
        f"should be swapped. A good player offers {escape(found['fairest'])}.</p>"
    ]
    if spots is not None:
        parts.append(heat_map(board, spots, values, found["fair_within"]))
    else:
        parts.append(
            dot_chart(
                [
                    Row(
                        move["moves"][0], **{k: move["chance"][k] for k in ("value", "low", "high")}
                    )
                    for move in _some(found["moves"])
                ],
                "Chance of player_0 after each first move",
                percent,
                mark=0.5,
            )
        )
    parts.append(
        _table(
            ["First move", "player_0's points", "With perfect play", "Equal by symmetry"],
            [
                [
                    escape(move["moves"][0]),
                    _shares(move["chance"]),
                    {1: "won", 0: "drawn", -1: "lost", None: "not known"}[move["perfect"]],
                    escape(
                        ", ".join(move["moves"][1:5]) + (" ..." if len(move["moves"]) > 5 else "")
                    ),
                ]
                for move in _some(found["moves"])
            ],
            f"The best, fairest and worst of {len(found['moves'])} that symmetry tells apart.",
        )
    )
    parts.append(
        _table(
            ["First move", "Games", "player_0's points", "Drawn"],
            [
                [
                    escape(row["move"]),
                    _games(row["player_0_score"]),
                    _shares(row["player_0_score"]),
                    str(row["draws"]),
                ]
                for row in found["played"]
            ],
            f"Games of {found['players']} against itself after some of these moves.",
        )
    )
    how = (
        "exact"
        if found["exact"]
        else f"{found['evaluator']} ({found['searches_per_move']} for each move, those that a "
        "symmetry takes to each other together), put on the scale of the games of the second table"
    )
    parts.append(_note(f"How the values were found: {how}."))
    return _section("First moves and the swap rule", *parts)


def _some(moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most `_BARS` moves: the best, those nearest to one half, the worst."""
    if len(moves) <= _BARS:
        return moves
    part = _BARS // 3
    nearest = sorted(range(len(moves)), key=lambda n: abs(moves[n]["chance"]["value"] - 0.5))[:part]
    kept = {*range(part), *nearest, *range(len(moves) - part, len(moves))}
    return [moves[number] for number in sorted(kept)]


def _length(game: Game, report: dict[str, Any]) -> str:
    rows = report["length"]
    lines = []
    for row in rows:
        plies = {int(ply): games for ply, games in row["games_by_plies"].items()}
        total = sum(plies.values())
        width = max(1, round(row["standard_deviation"] / 3))
        bins: dict[int, float] = {}
        for ply, games in plies.items():
            place = ply // width * width
            bins[place] = bins.get(place, 0) + games / total / width
        xs = list(range(min(bins), max(bins) + width, width))
        lines.append(
            Line(row["players"], [x + (width - 1) / 2 for x in xs], [bins.get(x, 0) for x in xs])
        )
    chart = line_chart(
        lines, "Length of games", "plies", "share of games at each length", show=_fine_percent
    )
    show_turns = any(row["turns"] != row["plies"] for row in rows)
    head = [
        "Players",
        "Games",
        "Mean plies",
        *(["Mean turns"] if show_turns else []),
        "Middle 90 %",
        "Shortest",
        "Longest",
    ]
    table = _table(
        head,
        [
            [
                escape(row["players"]),
                _games(row["plies"]),
                _number(row["plies"]),
                *([_number(row["turns"])] if show_turns else []),
                f"{row['percentiles']['5']:.0f} to {row['percentiles']['95']:.0f}",
                str(row["shortest"]),
                str(row["longest"]),
            ]
            for row in rows
        ],
        "A ply is one action; a turn is all plies of a player in a row."
        if show_turns
        else "Length in plies.",
    )
    return _section("Length of games", chart, table)


def _fine_percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _branching(game: Game, report: dict[str, Any]) -> str:
    rows = report["branching"]
    lines = []
    for row in rows:
        plies = row["by_ply"]
        columns = {name: [ply[name] for ply in plies] for name in ("ply", "value", "low", "high")}
        lines.append(
            Line(row["players"], columns["ply"], columns["value"], columns["low"], columns["high"])
        )
    chart = line_chart(
        lines,
        "Branching factor",
        "ply",
        "legal moves, mean",
        (0, max(max(line.high) for line in lines)),
    )
    table = _table(
        ["Players", "Games", "Mean", "Largest", "Only one legal move"],
        [
            [
                escape(row["players"]),
                _games(row["mean"]),
                _number(row["mean"]),
                str(row["largest"]),
                _shares(row["forced"]),
            ]
            for row in rows
        ],
        "Legal moves in a position; the last column is the share of plies without a choice.",
    )
    return _section("Branching factor", chart, table)


def _decisiveness(game: Game, report: dict[str, Any]) -> str:
    found = report["decisiveness"]
    rows = [row for row in found["by_strength"] if "clear_at" in row]
    if not rows:
        return _section("Decisiveness", "<p>No game was decided.</p>")
    lines = [
        Line(
            row["players"],
            [100 * point["share"] for point in row["winners_chance"]],
            [point["median"] for point in row["winners_chance"]],
            *(
                [
                    [point["low"] for point in row["winners_chance"]],
                    [point["high"] for point in row["winners_chance"]],
                ]
                if row is rows[-1]
                else []
            ),
        )
        for row in rows
    ]
    chart = line_chart(
        lines,
        "Chance of the eventual winner",
        "% of the game",
        "chance of the eventual winner, median",
        (0, 1),
        percent,
    )
    table = _table(
        [
            "Players",
            "Decided games",
            "Winner clear after",
            "Lead changes",
            "No lead change",
            "Comebacks",
            "Ahead halfway wins",
        ],
        [
            [
                escape(row["players"]),
                str(row["decided"]),
                _shares(row["clear_at"]),
                _number(row["lead_changes"]),
                _shares(row["games_without_lead_change"]),
                _shares(row["comebacks"]),
                _shares(row["ahead_halfway_wins"]) if row["ahead_halfway_wins"] else "nobody ahead",
            ]
            for row in rows
        ],
        "Clear after: the share of a game after which the winner's chance stays at 90 % or more. "
        "A lead is a chance of 60 %. A comeback is won from 25 % or less.",
    )
    return _section(
        "Decisiveness",
        chart,
        table,
        _note(
            f"The band holds eight in ten games of {rows[-1]['players']}. Chances are those of "
            f"strong players who go on from there, by {found['evaluator']}."
        ),
    )


def _skill(game: Game, report: dict[str, Any]) -> str:
    skill = report["skill"]
    ladder = skill["ladder"]
    chart = dot_chart(
        [
            Row(
                row["player"],
                row["value"],
                row["low"],
                row["high"],
                series=0 if row["player"].startswith(("uct", "random")) else 1,
            )
            for row in ladder
        ],
        "Elo ladder",
        "{:,.0f}".format,
    )
    table = _table(
        ["Player", "Against", "Games", "Won", "Drawn", "Lost", "Points"],
        [
            [
                escape(row["player"]),
                escape(row["against"]),
                _games(row["score"]),
                str(row["wins"]),
                str(row["draws"]),
                str(row["losses"]),
                _shares(row["score"]),
            ]
            for row in skill["matches"]
        ],
        "Each step of the ladder; openings of 0 to 3 random plies, each from both seats.",
    )
    return _section(
        "Skill",
        "<p>Elo above random play. A doubling of playouts gains "
        f"{_number(skill['elo_per_doubling'])} points on the average; the ladder is "
        f"{skill['span']['value']:,.0f} points high, {skill['steps']:.1f} steps of 64 %.</p>",
        chart,
        table,
    )


def _mistakes(game: Game, report: dict[str, Any]) -> str:
    found = report["mistakes"]
    rows = found["by_strength"]
    lines = [
        Line(
            row["players"],
            list(range(len(row["without_mistake_by_ply"]))),
            row["without_mistake_by_ply"],
        )
        for row in rows
    ]
    chart = line_chart(
        lines, "First mistakes", "ply", "share of games without a mistake so far", (0, 1), percent
    )
    table = _table(
        [
            "Players",
            "Games",
            "Lost per move",
            "Mistakes per game",
            "Games with one",
            "First, median ply",
        ],
        [
            [
                escape(row["players"]),
                str(row["games"]),
                _shares(row["loss_per_move"]),
                _number(row["mistakes_per_game"]),
                _shares(row["games_with_mistake"]),
                f"{row['first_mistake_median']:.0f}" if row["first_mistake_median"] else "none",
            ]
            for row in rows
        ],
        f"A mistake costs {percent(found['mistake'])} of the chance to win or more, at one move.",
    )
    how = (
        "The values are exact."
        if found["exact"]
        else "The values are estimates; what a move of the strongest players costs by them is "
        "taken off, so theirs cost nothing on the average. Their mistakes show how far the "
        "estimates err."
    )
    return _section("First mistakes", chart, table, _note(how))


def _rules(game: Game, report: dict[str, Any]) -> str:
    found = report["rules_in_play"]
    if not found["rules"]:
        return ""
    players = [row["players"] for row in found["rules"][0]["by_strength"]]
    table = _table(
        ["Rule", *(f"{name}, per game" for name in players), f"games of {players[-1]} with it"],
        [
            [
                escape(rule["rule"]),
                *(_tiny(row["per_game"]) for row in rule["by_strength"]),
                _shares(rule["by_strength"][-1]["games_with"]),
            ]
            for rule in found["rules"]
        ],
        f"How often each rule came into play, in {found['games']:,} games.",
    )
    never = f"<p>Never: {escape(', '.join(found['never']))}.</p>" if found["never"] else ""
    count = found["actions_never_played"]
    named = escape(", ".join(found["named"])) + (" ..." if count > len(found["named"]) else "")
    unplayed = (
        f"<p>{count} of {found['actions']} actions were never played: {named}.</p>" if count else ""
    )
    return _section("Rules in play", table, never, unplayed)


def _tiny(estimate: dict[str, Any]) -> str:
    """A number per game that may be far below 1."""
    if not estimate["value"]:
        return "0"
    if estimate["value"] >= 1:
        return _number(estimate)
    return _apart(f"{estimate['value']:.2g} ({estimate['low']:.2g} to {estimate['high']:.2g})")


def _mirror(game: Game, report: dict[str, Any]) -> str:
    found = report["mirror"]
    rows = found["played"]
    if not rows:
        return _section(
            "Mirror play",
            f"<p>Under each of the {found['symmetries']} symmetries the image of the opponent's "
            f"move is legal in less than {percent(found['legal_at_least'])} of positions: mirror "
            "play is no plan.</p>",
        )
    table = _table(
        ["Mirror", "As", "Against", "Games", "Image legal", "Points"],
        [
            [
                escape(row["symmetry"]),
                f"player_{row['seat']}",
                escape(row["against"]),
                _games(row["score"]),
                f"{percent(row['legal']['value'])} of {row['legal']['moves']:,}",
                _shares(row["score"]),
            ]
            for row in rows[:16]
        ],
        "A player who answers each move by its image, and at random where that is not legal.",
    )
    return _section("Mirror play", table)


def _replays(game: Game, report: dict[str, Any]) -> str:
    return _section("Games worth replaying", steppers(game, report))


def _complexity(game: Game, report: dict[str, Any]) -> str:
    found = report["complexity"]
    methods = found["methods"]
    rows = [
        ["Leaves of the game tree", _power(found["tree_knuth"]), escape(methods["tree_knuth"])],
        [
            f"Game tree as {escape(found['tree_power']['players'])} plays",
            _power(found["tree_power"]),
            escape(methods["tree_power"]),
        ],
    ]
    if "positions" in found:
        rows.append(["Positions", f"{found['positions']:,}", escape(methods["positions"])])
    else:
        rows += [
            [
                "Positions, at least",
                _power(found["positions_seen_at_least"]),
                escape(methods["positions_seen_at_least"]),
            ],
            [
                "Positions, at most about",
                f"10<sup>{found['positions_at_most']['value']:.0f}</sup>",
                escape(methods["positions_at_most"]),
            ],
        ]
    counted = found["counted"]["positions_by_ply"]
    paths = found["counted"]["paths_by_ply"]
    plies = (
        _table(
            ["Ply", "Positions", "Sequences of moves"],
            [
                [str(ply), f"{count:,}", f"{ways:,}"]
                for ply, (count, ways) in enumerate(zip(counted, paths, strict=True))
            ],
            "Different positions after each ply, counted one by one.",
        )
        if counted
        else ""
    )
    return _section(
        "Complexity",
        _table(["What", "Estimate", "Method"], rows, "Sizes, as powers of ten."),
        plies,
    )


def _power(estimate: dict[str, Any]) -> str:
    return (
        f"10<sup>{estimate['value']:.1f}</sup> <small>({estimate['low']:.1f} to "
        f"{estimate['high']:.1f}; {estimate['games']:,} games)</small>"
    )


def _side_by_side(comparison: dict[str, Any]) -> str:
    values = [f"{comparison['option']} = {value}" for value in comparison["values"]]
    rows, charts = [], []
    for figure in comparison["figures"]:
        cells = [
            "not compared" if each is None else (_shares if figure["share"] else _number)(each)
            for each in figure["values"]
        ]
        rows.append([escape(figure["name"]), *cells])
        known = [
            (value, each) for value, each in zip(values, figure["values"], strict=True) if each
        ]
        if figure["chart"] and len(known) > 1:
            charts.append(
                f"<h3>{escape(figure['name'])}</h3>"
                + dot_chart(
                    [
                        Row(value, each["value"], each["low"], each["high"], series=number)
                        for number, (value, each) in enumerate(known)
                    ],
                    figure["name"],
                    percent if figure["share"] else "{:,.4g}".format,
                    mark=0.5 if figure["share"] else None,
                )
            )
    return _section(
        "Side by side",
        _sentences(comparison["summary"]),
        _table(["", *values], rows, f"With 95 % intervals; games of {comparison['players']}."),
        *charts,
    )
