"""`Trainer`: a run's outer loop, its budget, its matches and its checkpoints."""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from ludarium.configs import TrainingConfig
from ludarium.envs import make_game
from ludarium.models import Checkpoint, PolicyValueNetwork
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation import (
    load_ratings,
    measure_ratings,
    play_anchors,
    play_match,
    save_ratings,
)
from ludarium.training.evaluation.anchors import REFERENCE, REFERENCE_ELO, pairs_to_rate
from ludarium.training.networks import chosen_architecture, network_shape

from .folder import RunFolder
from .reporting import Column, Reporter
from .resources import check_device, check_resources

#: Games of each match in which a run rates the anchors whose ratings nobody knows.
_ANCHOR_GAMES = 40


@dataclass(frozen=True)
class Outcome:
    """How a call of `Trainer.run` ended.

    Attributes:
        iteration: iterations done in all.
        finished: the budget is used up; otherwise the run was stopped and can be resumed.
        seconds: wall time of the run, over all its parts.
    """

    iteration: int
    finished: bool
    seconds: float


class Trainer(ABC):
    """One training run; made anew, or from what its folder holds.

    Args:
        config: see ``configs/schema.py``.
        folder: where the run lives; a run that is there already is gone on with.
        reporter: is told how it goes.

    Attributes:
        game: the rules.
        device: torch's name of where the network is.
        iteration: iterations done.
        seconds: wall time so far, over all parts of the run.
        elo: the agent's rating in the last evaluation against anchors, if there was one.

    Raises:
        ValueError: bad options, or the folder is of another run or damaged.
    """

    #: The columns of the table that a `TerminalReporter` prints.
    columns: ClassVar[tuple[Column, ...]]

    def __init__(self, config: TrainingConfig, folder: RunFolder, reporter: Reporter) -> None:
        self.config = config
        self.folder = folder
        self.reporter = reporter
        self.game = make_game(config.game, **config.options)
        check_resources(config, self.game)  # before the folder is made
        self.device = check_device(config.device)
        self.iteration = 0
        self.seconds = 0.0
        self.elo: float | None = None
        self._anchors: dict[str, float] = {}
        folder.open(config)

    @property
    def progress(self) -> float:
        """Share of the run that is over, by iterations or by time, whichever is more."""
        budget = self.config.budget
        progress = self.iteration / budget.iterations
        if budget.minutes is not None:
            progress = max(progress, self.seconds / (60 * budget.minutes))
        return min(1.0, progress)

    @property
    def finished(self) -> bool:
        """Whether the budget is used up."""
        return self.progress >= 1

    @property
    @abstractmethod
    def means(self) -> str:
        """What the run works with, for people."""

    def run(self, stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Go on until the budget is used up, or ``stop`` says so between two iterations.

        Raises:
            ValueError: an anchor's name means nothing, or it cannot play this game.
            FileNotFoundError: there is no file of ratings where the configuration says.
        """
        started = time.perf_counter()
        self._anchors = self._rated_anchors()
        self.seconds += time.perf_counter() - started
        while not self.finished and not stop():
            self._iterate()
        return Outcome(self.iteration, self.finished, self.seconds)

    @abstractmethod
    def _iterate(self) -> None:
        """One turn of the loop: count ``iteration`` and ``seconds``, save, report."""

    def _evaluate(self, network: PolicyValueNetwork, backend: str) -> dict[str, Any]:
        """Games against the fixed opponents, now and then and at the end: metrics for the log."""
        evaluation = self.config.evaluation
        due = evaluation.every and (self.iteration % evaluation.every == 0 or self.finished)
        if not due:
            return {}
        self.reporter.begin("evaluation", evaluation.games)
        agent = NetworkAgent(
            self.game,
            copy.deepcopy(network),  # the agent takes it to the processor
            evaluation.simulations,
            f"iteration {self.iteration}",
            backend=backend,
        )
        if isinstance(evaluation.against, str):
            return self._score(agent, evaluation.against)
        return self._rate(agent)

    def _score(self, agent: NetworkAgent, opponent: str) -> dict[str, Any]:
        """The score against one opponent."""
        match = play_match(
            self.game,
            agent,
            make_agent(opponent, self.game),
            self.config.evaluation.games,
            seed=self.config.seed,
            progress=self._reach,
        )
        low, high = match.interval
        return {
            "opponent": match.second,
            "score": match.score,
            "score_low": low,
            "score_high": high,
        }

    def _rate(self, agent: NetworkAgent) -> dict[str, Any]:
        """The rating by games against the anchors."""
        result = play_anchors(
            self.game,
            agent,
            self._anchors,
            self.config.evaluation.games,
            guess=self.elo,
            seed=self.config.seed,
            progress=self._reach,
        )
        self.elo = result.rating.elo
        return {
            "elo": result.rating.elo,
            "elo_low": result.rating.low,
            "elo_high": result.rating.high,
            "anchors": {
                match.second: {
                    "elo": self._anchors[match.second],
                    "games": match.games,
                    "score": match.points / match.games,
                }
                for match in result.matches
            },
        }

    def _reach(self, done: int, total: int) -> None:
        """Tell how many games of a task are done."""
        self.reporter.reach(done)

    def _rated_anchors(self) -> dict[str, float]:
        """The ratings of the anchors; those that nobody knows are measured, once for a run."""
        evaluation, folder = self.config.evaluation, self.folder
        if isinstance(evaluation.against, str) or not evaluation.every:
            return {}
        if evaluation.ratings is not None and not Path(evaluation.ratings).is_file():
            raise FileNotFoundError(f"evaluation.ratings: there is no file {evaluation.ratings}")
        known = {REFERENCE: REFERENCE_ELO}
        for file in (evaluation.ratings, folder.ratings):
            ratings = load_ratings(self.game, file)
            known |= ratings.elo if ratings is not None else {}
        anchors = evaluation.against
        if not set(anchors) <= set(known):
            total = len(pairs_to_rate(anchors, known)) * _ANCHOR_GAMES
            self.reporter.begin("anchors", total)
            measured = measure_ratings(
                self.game,
                anchors,
                _ANCHOR_GAMES,
                known,
                self.config.seed,
                self._reach,
            )
            save_ratings(measured, folder.ratings)
            known |= measured.elo
        return {name: known[name] for name in anchors}

    def _report(self, metrics: dict[str, Any]) -> None:
        """Log what an iteration gave, and tell people."""
        metrics = {
            "iteration": self.iteration,
            "progress": self.progress,
            "seconds": self.seconds,
        } | metrics
        self.folder.log(metrics)
        self.reporter.iteration(metrics)

    def _checkpoint(self, network: PolicyValueNetwork, step: int) -> Checkpoint:
        """A network of this run with its description."""
        config = self.config
        return Checkpoint(
            game=self.game.name,
            version=self.game.version,
            options=dict(self.game.options),
            shape=network_shape(self.game),
            architecture=chosen_architecture(self.game, config.network),
            step=step,
            network=network,
            notes={
                "algorithm": config.algorithm,
                "iteration": self.iteration,
                "seconds": round(self.seconds, 1),
                "seed": config.seed,
                "config": config.model_dump(mode="json"),
            },
        )

    def close(self) -> None:  # noqa: B027 - most runs have nothing to end
        """End what runs beside the loop."""


def flatten(groups: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Groups of tensors as one, on the CPU: ``group.name`` for each."""
    return {
        f"{group}.{name}": value.detach().cpu().contiguous()
        for group, tensors in groups.items()
        for name, value in tensors.items()
    }


def unflatten(tensors: Mapping[str, Tensor], group: str) -> dict[str, Tensor]:
    """The tensors of one group out of what `flatten` gave."""
    start = f"{group}."
    return {
        name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)
    }


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments and counts that an optimizer keeps: ``parameter.name`` for each."""
    return {
        f"{index}.{name}": value
        for index, entry in optimizer.state_dict()["state"].items()
        for name, value in entry.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Take over what `optimizer_tensors` gave; learning rates and the like stay."""
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition(".")
        moments.setdefault(int(index), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})
    # A fused step takes numbers as they lie in memory: moments must lie as their weights do.
    for parameter, entry in optimizer.state.items():
        for key, value in entry.items():
            if value.shape == parameter.shape:
                entry[key] = torch.empty_like(parameter).copy_(value).detach()
