"""`measure` makes all figures of a report on one game, as JSON values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game

from .complexity import complexity
from .drama import decisiveness, mistakes, value_games
from .mirror import mirror
from .openings import openings
from .replays import replays
from .shape import balance, branching, length, rules_in_play
from .skill import skill
from .study import ReportSettings, Study, begin_study
from .summary import summarise

#: Format of the result of `measure`; a change of its keys or their meaning needs another number.
FORMAT = 2


def measure(game: Game, settings: ReportSettings, progress: Progress = SILENT) -> dict[str, Any]:
    """Play games and measure everything.

    Args:
        game: the rules.
        settings: how much to measure.
        progress: shows what is done.

    Returns:
        The report, see ``docs/guide/report.md``.

    Raises:
        ValueError, FileNotFoundError, ImportError: the agent cannot be made, see `make_agent`.
        StoppedError: ``progress`` was stopped.
    """
    study = begin_study(game, settings, progress)
    trajectories = value_games(study)
    sections: dict[str, Callable[[Study], Any]] = {
        "length": length,
        "branching": branching,
        "balance": balance,
        "openings": openings,
        "rules_in_play": rules_in_play,
        "skill": skill,
        "mirror": mirror,
        "complexity": complexity,
    }
    report: dict[str, Any] = {
        "format": FORMAT,
        "game": game.name,
        "title": game.title,
        "credit": game.credit,
        "version": game.version,
        "options": dict(game.options),
        "seed": settings.seed,
        "games": study.games,
        "strongest": study.strongest.players[0],
        "trained": None
        if study.agent is None
        else {
            "agent": str(study.agent),
            "against_itself": str(study.varied_player),
        },
        "evaluator": study.evaluator.name,
        **{name: section(study) for name, section in sections.items()},
        "decisiveness": decisiveness(study, trajectories),
        "mistakes": mistakes(study, trajectories),
        "replays": replays(study, trajectories),
    }
    return report | {"summary": summarise(report)}
