"""`Trainer`: the loop of every training run, whatever it learns by."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from ludarium.configs import TrainingConfig
from ludarium.envs import make_game
from ludarium.envs.engine.messages import shortened
from ludarium.models import Checkpoint, PolicyValueNetwork
from ludarium.models.checkpoint import checkpoint_bytes
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

from .folder import RunFolder, SavedRun
from .reporting import Column, Reporter
from .resources import check_device, check_resources
from .state import State

#: Games of each match in which a run rates the anchors whose ratings nobody knows.
_ANCHOR_GAMES = 40


class DivergedError(ValueError):
    """Training has come to numbers that are not finite; the message says what to do."""


@dataclass(frozen=True)
class RunResult:
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

    The loop is here: play and learn, evaluate, save, report. An algorithm fills in

    - `check_config`: refuse what cannot work, before anything is written;
    - `build`: make `network`, learner and whatever plays;
    - `play_and_learn`: one iteration of games and gradient steps;
    - `update_players`: have whoever plays take the new weights;
    - `player`, `step`: the network that is evaluated and saved, and how long it has learnt;
    - `state` and `restore`: what a resumed run needs.

    Those that play need not be in this process: `play_and_learn` takes their samples from
    wherever they come, and `update_players` is where weights go out.

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
        network: the network that learns; `build` makes it.

    Raises:
        ValueError: bad options, or the folder is in use, of another run, or damaged.
        StorageError: the folder cannot be written.
    """

    #: The columns of the table that a `TerminalReporter` prints.
    columns: ClassVar[tuple[Column, ...]]
    network: PolicyValueNetwork

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
        self._check_evaluation()
        self.check_config()
        saved = folder.open(config, reporter.say)
        try:
            self.build(saved.state if saved else None)
            if saved is not None:
                self._go_on(saved)
        except MemoryError as error:
            folder.close()
            raise ValueError(
                f"the configuration asks for more memory than there is ({error}); lower "
                "self_play.games, replay.last or the network's size"
            ) from error
        except BaseException:
            folder.close()
            raise

    # What an algorithm fills in.

    def check_config(self) -> None:  # noqa: B027 - most have nothing to check
        """Raise ``ValueError`` if the configuration does not fit the game."""

    @abstractmethod
    def build(self, saved: State | None) -> None:
        """Make everything; ``saved`` is what `restore` will get, or None in a new run."""

    @abstractmethod
    def play_and_learn(self) -> dict[str, Any]:
        """Play, and learn from it: one iteration. Returns metrics for the log.

        Those named ``..._loss`` must be finite; the run ends otherwise.
        """

    def update_players(self) -> dict[str, Any]:
        """Have whoever plays take the new weights. Returns metrics for the log."""
        return {}

    @property
    @abstractmethod
    def player(self) -> PolicyValueNetwork:
        """The network that is evaluated and saved."""

    @property
    @abstractmethod
    def step(self) -> int:
        """How long it has learnt, in the algorithm's own steps."""

    @property
    def match_backend(self) -> str:
        """The backend of networks in matches."""
        return "eager"

    @property
    @abstractmethod
    def resources(self) -> str:
        """What the run works with, for people."""

    @abstractmethod
    def state(self) -> State:
        """All that `restore` needs to go on exactly here."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on exactly where `state` was; errors of any kind mean that it does not fit."""

    # The loop.

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

    def run(self, stop: Callable[[], bool] = lambda: False) -> RunResult:
        """Go on until the budget is used up, or ``stop`` says so between two iterations.

        Raises:
            StorageError: the folder cannot be written; the last state is whole, and a new
                trainer goes on from it.
            DivergedError: a loss or a weight is not finite; the last state is that of the
                iteration before.
        """
        with self._clock():
            self._anchors = self._rated_anchors()
        while not self.finished and not stop():
            self._iterate()
        return RunResult(self.iteration, self.finished, self.seconds)

    def _iterate(self) -> None:
        """One turn of the loop."""
        with self._clock():
            metrics = self._play_and_learn()
            self.iteration += 1
            metrics |= self.update_players()
        with self._clock():
            metrics |= self._evaluate()
        metrics = self._position() | metrics
        with self._clock():
            loop = {"seconds": self.seconds, "elo": self.elo}
            self.folder.save(self.iteration, self.state(), loop, metrics, self._agent())
            self.reporter.iteration(metrics)
            self.folder.log(metrics)

    def _play_and_learn(self) -> dict[str, Any]:
        """`play_and_learn`, unless what comes of it is not finite."""
        metrics = self.play_and_learn()
        for name, value in metrics.items():
            if name.endswith("_loss") and not math.isfinite(value):
                raise self._diverged(f"{name} is {value}")
        for name, weights in self.network.state_dict().items():
            if not torch.isfinite(weights).all():
                raise self._diverged(f"the network's {name} is not finite")
        return metrics

    def _diverged(self, what: str) -> DivergedError:
        return DivergedError(
            f"training has diverged: {what} in iteration {self.iteration + 1}, of which nothing is "
            "saved; lower learner.learning_rate or learner.gradient_clip, and start anew with "
            "--restart or in another --folder"
        )

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Count the time of what is done meanwhile."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    def _position(self) -> dict[str, Any]:
        """How far the run is, for the log."""
        return {"iteration": self.iteration, "progress": self.progress, "seconds": self.seconds}

    def _go_on(self, saved: SavedRun) -> None:
        """Take over what the folder holds."""
        self.iteration = saved.iteration
        try:
            self.seconds = saved.loop["seconds"]
            self.elo = saved.loop["elo"]
            self.restore(saved.state)
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise ValueError(
                f"the state after iteration {self.iteration} in {self.folder.path} does not fit "
                f"its configuration ({shortened(str(error))}); start anew with --restart"
            ) from error
        if not saved.has_agent:
            self.folder.write_agent(self._agent())
        if not saved.was_logged:
            self.reporter.iteration(saved.metrics)

    # Evaluation.

    def _evaluate(self) -> dict[str, Any]:
        """Games against the fixed opponents, now and then and at the end: metrics for the log."""
        evaluation = self.config.evaluation
        due = evaluation.every and (self.iteration % evaluation.every == 0 or self.finished)
        if not due:
            return {}
        self.reporter.begin("evaluation", evaluation.games)
        agent = NetworkAgent(
            self.game,
            self.player,
            evaluation.simulations,
            f"iteration {self.iteration}",
            backend=self.match_backend,
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

    def _check_evaluation(self) -> None:
        """Refuse opponents that do not exist and a file of ratings that is not there."""
        evaluation = self.config.evaluation
        if not evaluation.every:
            return
        against = evaluation.against
        for name in [against] if isinstance(against, str) else against:
            make_agent(name, self.game)
        if evaluation.ratings is not None and not Path(evaluation.ratings).is_file():
            raise FileNotFoundError(f"evaluation.ratings: there is no file {evaluation.ratings}")

    def _rated_anchors(self) -> dict[str, float]:
        """The ratings of the anchors; those that nobody knows are measured, once for a run."""
        evaluation, folder = self.config.evaluation, self.folder
        if isinstance(evaluation.against, str) or not evaluation.every:
            return {}
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

    def _agent(self) -> bytes:
        """The network of this run with its description, as a checkpoint's content."""
        config = self.config
        checkpoint = Checkpoint(
            game=self.game.name,
            version=self.game.version,
            options=dict(self.game.options),
            shape=network_shape(self.game),
            architecture=chosen_architecture(self.game, config.network),
            step=self.step,
            network=self.player,
            notes={
                "algorithm": config.algorithm,
                "iteration": self.iteration,
                "seconds": round(self.seconds, 1),
                "seed": config.seed,
                "config": config.model_dump(mode="json"),
            },
        )
        return checkpoint_bytes(checkpoint)

    def close(self) -> None:
        """End what runs beside the loop, and let others write into the folder."""
        self.folder.close()
