"""`Measure` measures a run's agent by games and by exact values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ludarium.base.progress import UNWATCHED, Task
from ludarium.configs.schema import EvaluationConfig
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, AgentSpec, read_agent, require_different
from ludarium.training.evaluation import play_anchors, play_match
from ludarium.training.evaluation.statistics import wilson_interval
from ludarium.training.exact_values import installed_source


class Truth(Protocol):
    """N positions with exact values; `ludarium.analysis.exact_tests.ExactTest` is one."""

    @property
    def states(self) -> np.ndarray:
        """Structured [N], the positions."""

    @property
    def keeping(self) -> np.ndarray:
        """bool [N, A], the actions that keep the exact value."""


def find_truth(name: str, game: Game) -> Truth:
    """The exact test that an evaluation names, see ``evaluation.truth``.

    Raises:
        ImportError: no installed package has exact tests.
        ValueError: there is no such test, or it is of another game.
    """
    find = installed_source("find_exact_test", "evaluation.truth")
    try:
        found: Truth = find(name, game)
        return found
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"evaluation.truth: {error}") from None


@dataclass(frozen=True)
class Measure:
    """Measures an agent.

    Attributes:
        against: one opponent, for a score; or several, for a rating; if empty, no games are played.
        games: how many games in all.
        anchors: ratings of several opponents, by their names (``str`` of their specs).
        truth: an exact test, if its correct moves are to be counted.
        seed: seed of openings and of both agents.
    """

    against: AgentSpec | Sequence[AgentSpec]
    games: int
    anchors: Mapping[str, float]
    truth: Truth | None
    seed: int

    def of(self, agent: Agent, guess: float | None, task: Task = UNWATCHED) -> dict[str, Any]:
        """Measure an agent; return metrics for the log.

        A score against one opponent: ``opponent``, ``score``, ``score_low``, ``score_high``. A
        rating by several: ``elo``, ``elo_low``, ``elo_high``, ``anchors``. With an exact test:
        ``accuracy``, ``accuracy_low``, ``accuracy_high``.

        Args:
            agent: the agent.
            guess: its rating in the previous evaluation, if there is one.
            task: task that counts the finished games.
        """
        found = {} if self.truth is None else _accuracy(agent, self.truth)
        if isinstance(self.against, AgentSpec):
            return found | self._score(agent, self.against, task)
        return found | self._rate(agent, guess, task) if self.against else found

    def _score(self, agent: Agent, opponent: AgentSpec, task: Task) -> dict[str, Any]:
        """Score against one opponent."""
        games = play_match(
            agent.game,
            agent,
            opponent.make(agent.game),
            self.games,
            seed=self.seed,
            task=task,
        )
        low, high = games.tally.interval
        return {
            "opponent": str(opponent),
            "score": games.tally.score,
            "score_low": low,
            "score_high": high,
        }

    def _rate(self, agent: Agent, guess: float | None, task: Task) -> dict[str, Any]:
        """Elo rating from games against the anchors."""
        result = play_anchors(
            agent.game,
            agent,
            self.anchors,
            self.games,
            guess=guess,
            seed=self.seed,
            task=task,
        )
        return {
            "elo": result.rating.elo,
            "elo_low": result.rating.low,
            "elo_high": result.rating.high,
            "anchors": {
                match.second: {
                    "elo": self.anchors[match.second],
                    "games": match.games,
                    "score": match.points / match.games,
                }
                for match in result.matches
            },
        }


def _accuracy(agent: Agent, truth: Truth) -> dict[str, Any]:
    """The share of the moves that keep the exact value."""
    actions = agent.actions(truth.states)
    kept = int(np.take_along_axis(truth.keeping, actions[:, None], axis=1).sum())
    low, high = wilson_interval(kept, len(actions))
    return {"accuracy": kept / len(actions), "accuracy_low": low, "accuracy_high": high}


def find_opponents(config: EvaluationConfig, game: Game) -> AgentSpec | list[AgentSpec]:
    """The opponents of a configuration's evaluations: one or several, none without evaluations.

    Those that cannot play are refused before a run begins that would fail when it meets them.

    Raises:
        ValueError: there is no such agent, it does not play the game, or one is named twice.
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
