"""The report on a player as text for the terminal, and as one HTML page without scripts.

A report is what ``ludarium language --json`` prints, as JSON values.

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
    """The page of a report, as HTML.

    Args:
        game: the rules.
        report: the report.
        records: game records of matches (`Games.record`); the first `MOST_SHOWN` are shown.
    """
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
    """The report for people, in lines and tables; parts that were not measured are left out.

    Args:
        report: the report.
    """
    parts = []
    if report["rating"] is not None:
        found, first = report["mistakes"], report["mistakes"]["first_mistake"]
        told = _number(report["rating"], ".0f")
        parts.append(f"{report['agent']}: {told} Elo points, from {report['games']} games")
        rows = [
            [row["opponent"], f"{row['elo']:.0f}", *(str(row[key]) for key in _RESULTS)]
            for row in report["opponents"]
        ]
        parts.append(text_table(["opponent", "Elo", *_RESULTS], rows))
        rows = [
            [phase, _number(loss, ".3f"), str(loss["exact"])]
            for phase, loss in found["loss"].items()
        ]
        parts.append(text_table(["part of the game", "value lost a move", "proven"], rows))
        told = f"first mistake at ply {first['median_ply']:.0f} (median); " if first else ""
        parts.append(f"{told}{found['games_without_mistake']} games without a mistake")
    if report["positions"]:
        rows = [
            [row["set"], str(row["positions"]), _number(row["kept"], ".0%")]
            + [f"{row['kept_by_random_play']:.0%}", _number(row["value_lost"], ".2f")]
            for row in report["positions"]
        ]
        header = [
            "exact positions",
            "number",
            "moves that keep the value",
            "random play",
            "value lost",
        ]
        parts.append(text_table(header, rows))
    if (told := report["answers"]) is not None:
        faults = "".join(f", {number} {fault}" for fault, number in told["faults"].items())
        cost = "" if told["cost"] is None else f", cost {told['cost']:.4f}"
        wrong = _number(told["first_answer_wrong"], ".0%")
        parts.append(
            f"{told['answers']} answers in {told['decisions']} decisions; the first had no legal "
            f"move in {wrong}; {told['resigned']} times no answer had one{faults}\n"
            f"{told['input_tokens']:,} tokens asked, {told['output_tokens']:,} answered, "
            f"{told['seconds']:.1f} s{cost}"
        )
    return "\n\n".join(parts)


_RESULTS = ("wins", "draws", "losses")


def _number(data: dict[str, Any], form: str) -> str:
    """A number with its interval, out of a report."""
    return format(IntervalEstimate.from_dict(data), form)
