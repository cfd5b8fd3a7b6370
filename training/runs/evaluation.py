"""`AgentEvaluation` measures a run's agent by games and by exact values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ludarium.base.progress import SILENT, Progress
from ludarium.configs.schema import EvaluationConfig
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, AgentSpec, read_agent, require_different
from ludarium.training.evaluation import play_anchors, play_match
from ludarium.training.evaluation.statistics import wilson
from ludarium.training.exact_values import installed_source


class ExactPositions(Protocol):
    """N positions with exact values; `ludarium.analysis.exact_tests.ExactTest` is one."""

    @property
    def states(self) -> np.ndarray:
        """Structured [N], the positions."""

    @property
    def optimal_mask(self) -> np.ndarray:
        """bool [N, A], the actions that keep the exact value."""


def find_exact_test(name: str, game: Game) -> ExactPositions:
    """The exact test that an evaluation names, see ``evaluation.exact_test``.

    Raises:
        ImportError: no installed package has exact tests.
        ValueError: there is no such test, it is damaged, or it is of another game.
    """
    find = installed_source("find_exact_test", "evaluation.exact_test")
    try:
        found: ExactPositions = find(name, game)
        return found
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"evaluation.exact_test: {error}") from None


@dataclass(frozen=True)
class AgentEvaluation:
    """An evaluation of agents, by games and by exact values.

    Attributes:
        against: one opponent, for a score; or a list of them, for a rating; if it is empty, no
            games are played.
        games: how many games in all.
        anchors: ratings of several opponents, by their names (``str`` of their specs).
        exact_test: positions in which correct moves are counted, if any.
        seed: seed of openings and of both agents.
    """

    against: AgentSpec | Sequence[AgentSpec]
    games: int
    anchors: Mapping[str, float]
    exact_test: ExactPositions | None
    seed: int

    def of(self, agent: Agent, guess: float | None, progress: Progress = SILENT) -> dict[str, Any]:
        """Evaluate an agent; return metrics for the log, see `ludarium.training.runs.metrics`.

        With one opponent these are ``opponent`` and ``score``; with several ``elo`` and
        ``anchors``; with an exact test ``accuracy``. Scores, ratings and accuracies are
        `IntervalEstimate` as JSON values.

        Args:
            agent: the agent.
            guess: its rating in the previous evaluation, if there is one.
            progress: counts the finished games.
        """
        found = {} if self.exact_test is None else _accuracy(agent, self.exact_test)
        if isinstance(self.against, AgentSpec):
            return found | self._score(agent, self.against, progress)
        return found | self._rate(agent, guess, progress) if self.against else found

    def _score(self, agent: Agent, opponent: AgentSpec, progress: Progress) -> dict[str, Any]:
        """Score against one opponent."""
        other = opponent.make(agent.game)
        games = play_match(agent.game, agent, other, self.games, seed=self.seed, progress=progress)
        return {"opponent": str(opponent), "score": games.result.score.to_dict()}

    def _rate(self, agent: Agent, guess: float | None, progress: Progress) -> dict[str, Any]:
        """Elo rating from games against the anchors."""
        rating, results = play_anchors(
            agent.game,
            agent,
            self.anchors,
            self.games,
            guess=guess,
            seed=self.seed,
            progress=progress,
        )
        anchors = {
            name: {"elo": self.anchors[name], **result.to_dict()}
            for name, result in results.items()
        }
        return {"elo": rating.to_dict(), "anchors": anchors}


def _accuracy(agent: Agent, test: ExactPositions) -> dict[str, Any]:
    """The share of the moves that keep the exact value."""
    actions = agent.actions(test.states)
    kept = int(np.take_along_axis(test.optimal_mask, actions[:, None], axis=1).sum())
    return {"accuracy": wilson(kept, len(actions)).to_dict()}


def find_opponents(config: EvaluationConfig, game: Game) -> AgentSpec | list[AgentSpec]:
    """The opponents of a configuration's evaluations: one or several, none without evaluations.

    Those that cannot play are refused before a run begins that would fail when it meets them.

    Raises:
        ValueError: there is no such agent, it does not play the game, or one is named twice.
        ImportError: a library is missing that an agent needs.
    """
    names = [config.against] if isinstance(config.against, str) else config.against
    specs: list[AgentSpec] = []
    try:
        for name in names if config.every else ():
            specs.append(read_agent(name, from_file=True))
            specs[-1].make(game)
        require_different(specs)
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"evaluation.against: {error}") from None
    return specs[0] if specs and isinstance(config.against, str) else specs
