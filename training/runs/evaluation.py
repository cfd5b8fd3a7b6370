"""Evaluation of a run's agent: what is played, and `Evaluator`, which has it played.

An `Evaluation` holds all that a measurement depends on, so it may be played at once
(`LocalEvaluator`) or elsewhere, while the run goes on (`ludarium.training.cluster`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ludarium.configs.schema import Evaluation as EvaluationConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.progress import UNWATCHED, Task
from ludarium.models import PolicyValueNetwork
from ludarium.training.agents import Agent, make_agent
from ludarium.training.agents.network import network_agent
from ludarium.training.evaluation import play_anchors, play_match


@dataclass(frozen=True)
class Evaluation:
    """A measurement of an agent.

    Attributes:
        iteration: the agent is that of this iteration.
        game: the rules.
        network: plays; it must not change until the games are played.
        config: opponents, number of games, simulations.
        anchors: ratings of the opponents; empty where the configuration names one opponent only.
        guess: the agent's rating by the evaluation before, if there is one.
        seed: of openings and opponents.
        backend: of the network, see `ludarium.models.InferenceEngine`.
    """

    iteration: int
    game: Game
    network: PolicyValueNetwork
    config: EvaluationConfig
    anchors: Mapping[str, float]
    guess: float | None
    seed: int
    backend: str

    @property
    def opponents(self) -> list[str]:
        """The opponents' names."""
        against = self.config.against
        return [against] if isinstance(against, str) else list(against)

    def play(self, task: Task = UNWATCHED) -> dict[str, Any]:
        """Play the games; return metrics for the log.

        A score against one opponent: ``opponent``, ``score``, ``score_low``, ``score_high``. A
        rating by several: ``elo``, ``elo_low``, ``elo_high``, ``anchors``.
        """
        simulations = self.config.simulations
        name = f"iteration {self.iteration}:{simulations}"
        agent = network_agent(self.game, self.network, simulations, name, backend=self.backend)
        if isinstance(self.config.against, str):
            return self._score(agent, self.config.against, task)
        return self._rate(agent, task)

    def _score(self, agent: Agent, opponent: str, task: Task) -> dict[str, Any]:
        """Score against one opponent."""
        games = play_match(
            self.game,
            agent,
            make_agent(opponent, self.game, from_file=True),
            self.config.games,
            seed=self.seed,
            task=task,
        )
        low, high = games.tally.interval
        return {
            "opponent": games.players[1],
            "score": games.tally.score,
            "score_low": low,
            "score_high": high,
        }

    def _rate(self, agent: Agent, task: Task) -> dict[str, Any]:
        """Elo rating from games against the anchors."""
        result = play_anchors(
            self.game,
            agent,
            self.anchors,
            self.config.games,
            guess=self.guess,
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


def check_opponents(config: EvaluationConfig, game: Game) -> None:
    """Refuse opponents that cannot play, before a run is begun that would fail when it meets them.

    Raises:
        ValueError: there is no such agent, or it does not play the game.
    """
    against = config.against
    for name in [against] if isinstance(against, str) else against:
        try:
            if config.every:
                make_agent(name, game, from_file=True)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(f"evaluation.against: {error}") from None


class Evaluator(ABC):
    """Has evaluations played: `submit` one, and `take` its metrics when they are there."""

    @abstractmethod
    def submit(self, evaluation: Evaluation, task: Task) -> None:
        """Have an evaluation played; ``task`` is advanced where that happens at once."""

    @abstractmethod
    def take(self, wait: bool) -> dict[str, Any]:
        """Metrics of an evaluation that is done, for the log; none if there is none.

        Args:
            wait: until the one submitted last is done; its metrics are returned.
        """

    def close(self) -> None:  # noqa: B027 - not everyone has something to stop
        """Give up what is not done."""


class LocalEvaluator(Evaluator):
    """Plays each evaluation at once, in this process."""

    def __init__(self) -> None:
        self._done: dict[str, Any] = {}

    def submit(self, evaluation: Evaluation, task: Task) -> None:
        """Play it."""
        self._done = evaluation.play(task)

    def take(self, wait: bool) -> dict[str, Any]:
        """Metrics of the evaluation that was just submitted."""
        done, self._done = self._done, {}
        return done
