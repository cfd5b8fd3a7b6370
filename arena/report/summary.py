"""The report in a few sentences, made from its figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ludarium.training.evaluation import IntervalEstimate
from ludarium.training.table import percent


def with_interval(figure: dict[str, Any], as_percent: bool = True) -> str:
    """``54 % (51 to 57)``, or ``23.1 (22.8 to 23.4)``, for an estimate as JSON values."""
    estimate = IntervalEstimate.from_dict(figure)
    if as_percent:
        return f"{estimate:.0%}"
    return f"{estimate:,.0f}" if abs(estimate.value) >= 100 else f"{estimate:,.1f}"


def summarise(report: dict[str, Any]) -> list[str]:
    """Sentences on the whole report, with 95 % intervals in brackets."""
    parts = (_sides, _length, _first_moves, _drama, _depth, _rules, _mirror, _size)
    return [sentence for part in parts for sentence in part(report)]


def of_players(rows: list[dict[str, Any]], players: str) -> dict[str, Any]:
    """The first row for these players."""
    return next(row for row in rows if row["players"] == players)


def _sides(report: dict[str, Any]) -> Iterator[str]:
    balance, strongest = report["balance"], report["strongest"]
    strong = of_players(balance["by_strength"], strongest)
    games = strong["player_0_wins"]["count"]
    first, second, drawn = (
        with_interval(strong[key]) for key in ("player_0_wins", "player_1_wins", "draws")
    )
    yield (
        f"Between equal strong players ({strongest}, {games} games) player_0, who moves first, "
        f"wins {first}, player_1 wins {second}, and {drawn} are drawn."
    )
    random = balance["by_strength"][0]["player_0_score"]
    score = strong["player_0_score"]
    if strong["player_0_score"]["low"] <= 0.5 <= score["high"]:
        yield f"No advantage of either side shows at that strength ({_points(score)} for player_0)."
    else:
        side = "first" if score["value"] > 0.5 else "second"
        yield f"The {side} player has the advantage: player_0 scores {_points(score)}" + (
            f", and {_points(random)} when both play at random."
        )
    if balance["perfect"] is not None:
        words = {1: "player_0 wins", 0: "the game is a draw", -1: "player_1 wins"}
        yield f"With perfect play {words[balance['perfect']]}: that is proven."


def _points(score: dict[str, Any]) -> str:
    return f"{with_interval(score)} of the points"


def _length(report: dict[str, Any]) -> Iterator[str]:
    length = of_players(report["length"], report["strongest"])
    branching = of_players(report["branching"], report["strongest"])
    middle = length["percentiles"]
    turns = length["turns"]
    in_turns = "" if turns == length["plies"] else f" in {with_interval(turns, False)} turns"
    yield (
        f"Their games last {with_interval(length['plies'], False)} plies{in_turns}, nine in ten of "
        f"them {middle['5']:.0f} to {middle['95']:.0f}, with "
        f"{with_interval(branching['mean'], False)} legal moves on average."
    )


def _first_moves(report: dict[str, Any]) -> Iterator[str]:
    openings = report["openings"]
    if openings is None:
        return
    best, legal = openings["moves"][0], openings["legal"]
    swapped, fair = openings["to_be_swapped"], openings["fair"]
    if best["chance"]["value"] == openings["moves"][-1]["chance"]["value"]:
        yield f"All {legal} first moves are worth the same."
        return
    yield (
        f"The best first move, {best['moves'][0]}, gives player_0 {with_interval(best['chance'])} "
        f"of the points between strong players; {swapped} of {legal} first moves give more "
        f"than 55 %, so that an opponent should swap, and {fair} are fair (45 to 55 %)."
    )
    perfect = openings["perfect_wins_draws_losses"]
    if perfect is not None:
        yield f"With perfect play {perfect[0]} of them win, {perfect[1]} draw, {perfect[2]} lose."
    held = openings["chance_with_swap"]
    rule = "leaves" if openings["swap_rule_in_this_game"] else "would leave"
    yield (
        f"Under a swap rule player_0 does best to offer {openings['fairest']}, which {rule} "
        f"player_0 {percent(held)} and player_1 {percent(1 - held)}."
    )


def _drama(report: dict[str, Any]) -> Iterator[str]:
    found = of_players(report["decisiveness"]["by_strength"], report["strongest"])
    if "clear_at" not in found:
        yield "No game between strong players was decided."
        return
    clear = found["clear_at"]
    when = "only at the end" if clear["low"] == 1 else f"after {with_interval(clear)} of a game"
    yield (
        f"The winner is clear (a chance of 90 % that lasts) {when}; the lead changes "
        f"{with_interval(found['lead_changes'], False)} times, and "
        f"{with_interval(found['comebacks'])} of decided games are won after the winner's chance "
        "was down to a quarter."
    )


def _depth(report: dict[str, Any]) -> Iterator[str]:
    skill = report["skill"]
    yield (
        f"Each doubling of a search's playouts gains "
        f"{with_interval(skill['elo_per_doubling'], False)} Elo points; from random play to "
        f"{skill['strongest']} the ladder is {skill['span']['value']:,.0f} Elo high, some "
        f"{skill['steps']:.0f} steps at each of which the better player scores 64 %."
    )


def _rules(report: dict[str, Any]) -> Iterator[str]:
    rules = report["rules_in_play"]
    if rules["never"]:
        yield (
            f"In {rules['games']:,} games these rules never came into play: "
            f"{', '.join(rules['never'])}."
        )
    elif rules["rules"]:
        yield f"Every rule that is counted came into play in {rules['games']:,} games."
    if rules["actions_never_played"]:
        count, of_all = rules["actions_never_played"], rules["actions"]
        yield f"{count} of {of_all} actions were never played."


def _mirror(report: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in report["mirror"]["played"] if row["against"] != "random"]
    if not rows:
        yield "Mirror play does not work: the image of a move is hardly ever legal."
        return
    best = max(rows, key=lambda row: row["score"]["value"])
    verdict = "works" if best["score"]["low"] >= 0.5 else "does not work"
    yield (
        f"Mirror play {verdict}: at best ({best['symmetry']}, as player_{best['seat']}) it scores "
        f"{with_interval(best['score'])} against {best['against']}."
    )


def _size(report: dict[str, Any]) -> Iterator[str]:
    size = report["complexity"]
    tree = f"The game tree has about 10^{size['tree_knuth']['value']:.0f} leaves"
    if "positions" in size:
        yield f"{tree}; there are {size['positions']:,} positions, all counted."
    else:
        yield (
            f"{tree}; the positions are at least 10^{size['positions_seen_at_least']['value']:.1f} "
            f"and at most about 10^{size['positions_at_most']['value']:.0f}."
        )
