"""`make_report`, `compare_options`, and `Report`, which is written as a page and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludarium.base.messages import quoted
from ludarium.base.progress import SILENT, Progress
from ludarium.base.storage import write_whole
from ludarium.envs.engine.game import Game

from .comparison import compare
from .measure import measure
from .page import render_comparison, render_page
from .study import ReportSettings


@dataclass(frozen=True)
class Report:
    """A report on a game, or on several of its option sets.

    Attributes:
        games: the rules with each option set.
        data: JSON values: the result of `measure`; for several games a mapping with ``comparison``
            (see `compare`) and ``reports``, one for each.
    """

    games: tuple[Game, ...]
    data: dict[str, Any]

    @property
    def html(self) -> str:
        """The page, which needs no other file and no network."""
        if len(self.games) == 1:
            return render_page(self.games[0], self.data)
        return render_comparison(self.games, self.data["reports"], self.data["comparison"])

    @property
    def summary(self) -> list[str]:
        """The main figures in sentences."""
        source = self.data if len(self.games) == 1 else self.data["comparison"]
        summary: list[str] = source["summary"]
        return summary

    def write(self, path: Path) -> Path:
        """Write the page to ``path`` and the figures as JSON beside it; return the JSON's path.

        Raises:
            ValueError: the page's name does not end in ``.html`` or ``.htm``.
            OSError: a file cannot be written.
        """
        if path.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"{quoted(str(path), 200)} ends in none of .html, .htm")
        figures = path.with_suffix(".json")
        write_whole(figures, (json.dumps(self.data, indent=1) + "\n").encode())
        write_whole(path, self.html.encode())
        return figures


def make_report(
    game: Game, settings: ReportSettings | None = None, progress: Progress = SILENT
) -> Report:
    """Measure one game.

    Args:
        game: the rules.
        settings: how much to measure.
        progress: shows what is done.

    Raises:
        ValueError, FileNotFoundError, ImportError: the agent cannot be made, see `make_agent`.
        StoppedError: ``progress`` was stopped.
    """
    return Report((game,), measure(game, settings or ReportSettings(), progress))


def compare_options(
    game: Game,
    option: str,
    values: Sequence[Any],
    settings: ReportSettings | None = None,
    progress: Progress = SILENT,
) -> Report:
    """Measure a game with several values of one option.

    Args:
        game: the rules, with the other options.
        option: name of the option that differs.
        values: at least two, all different.
        settings, progress: as for `make_report`.

    Raises:
        ValueError: there is no such option or value, fewer than two values or equal ones, or no
            such agent, or the agent does not play one of the games.
        FileNotFoundError: the agent's file is missing.
        ImportError: the agent needs a package that is not installed.
        StoppedError: ``progress`` was stopped.
    """
    if len(values) < 2 or len({repr(value) for value in values}) < len(values):
        raise ValueError(f"a comparison needs two or more different values of {option}")
    games = tuple(type(game)(**dict(game.options) | {option: value}) for value in values)
    reports = [measure(each, settings or ReportSettings(), progress) for each in games]
    data = {"comparison": compare(option, values, reports), "reports": reports}
    return Report(games, data)
