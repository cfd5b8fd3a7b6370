"""The report on a player as a table for the terminal, and as one HTML page without scripts.

What a model says comes from a stranger: the template escapes everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from ludarium.envs.engine.game import Game
from ludarium.training.evaluation import IntervalEstimate
from ludarium.training.table import text_table

from .evaluation import MISTAKE

#: Most games that a page shows with what was said.
MOST_SHOWN = 40


def render_page(game: Game, report: dict[str, Any], records: Sequence[dict[str, Any]] = ()) -> str:
    """The page of a report, with the games of some records."""
    shown = records[:MOST_SHOWN]
    return _template().render(title=game.title, report=report, records=shown, mistake=MISTAKE)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")


def report_text(report: dict[str, Any]) -> str:
    """The report for people, in lines and tables."""
    parts = []
    if report["rating"] is not None:
        rating = IntervalEstimate(**report["rating"])
        parts.append(f"{report['agent']}: {rating:.0f} Elo points, from {report['games']} games")
        rows = [
            [each["opponent"], f"{each['elo']:.0f}", *(str(each[key]) for key in _RESULTS)]
            for each in report["opponents"]
        ]
        parts.append(text_table(["opponent", "Elo", *_RESULTS], rows))
        loss = report["mistakes"]["loss"]
        rows = [
            [phase, f"{IntervalEstimate(**_estimate(each)):.3f}", str(each["exact"])]
            for phase, each in loss.items()
        ]
        parts.append(text_table(["part of the game", "value lost a move", "proven"], rows))
        first = report["mistakes"]["first_mistake"]
        told = f"first mistake at ply {first['median_ply']:.0f} (median); " if first else ""
        parts.append(f"{told}{report['mistakes']['games_without_mistake']} games without one")
    if report["positions"]:
        rows = [
            [
                each["set"],
                str(each["positions"]),
                f"{IntervalEstimate(**each['kept']):.0%}",
                f"{each['kept_by_random_play']:.0%}",
                f"{IntervalEstimate(**each['value_lost']):.2f}",
            ]
            for each in report["positions"]
        ]
        header = ["exact positions", "of", "moves that keep the value", "random play", "value lost"]
        parts.append(text_table(header, rows))
    if report["answers"] is not None:
        told = report["answers"]
        wrong = IntervalEstimate(**told["first_answer_wrong"])
        faults = ", ".join(f"{number} {fault}" for fault, number in told["faults"].items())
        cost = "" if told["cost"] is None else f", cost {told['cost']:.4f}"
        parts.append(
            f"{told['answers']} answers to {told['decisions']} questions; the first had no legal "
            f"move in {wrong:.0%}{f' ({faults})' if faults else ''}; resigned {told['resigned']}\n"
            f"{told['input_tokens']:,} tokens asked, {told['output_tokens']:,} answered, "
            f"{told['seconds']:.1f} s{cost}"
        )
    return "\n\n".join(parts)


_RESULTS = ("wins", "draws", "losses")


def _estimate(data: dict[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in ("value", "low", "high", "count")}
