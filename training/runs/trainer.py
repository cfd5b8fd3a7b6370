"""`Trainer`: plays, learns, evaluates and saves, again and again, for any algorithm."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import torch

from ludarium.base.messages import quoted, shortened
from ludarium.base.progress import SILENT, Finishing, Progress, StoppedError
from ludarium.configs import AlphaZeroConfig, TrainingConfig
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.models import Checkpoint, PolicyValueNetwork
from ludarium.models.checkpoint import checkpoint_bytes
from ludarium.training.agents import AgentSpec
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation.anchors import known_elo, rate_anchors
from ludarium.training.networks import (
    chosen_architecture,
    family_shape,
    fresh_network,
    member_network,
    network_shape,
)

from .evaluation import AgentEvaluation, find_exact_test, find_opponents
from .folder import RunFolder, SavedRun
from .resources import check_device, check_resources
from .start import take_weights
from .state import State


class DivergedError(ValueError):
    """Training has produced numbers that are not finite; the message says what to do."""


@dataclass(frozen=True)
class RunResult:
    """How a call of `Trainer.run` ended.

    Attributes:
        iteration: number of iterations done in all.
        finished: whether the budget is used up; otherwise the run was stopped and can be resumed.
        seconds: wall time of the run, over all its parts.
        step: how long the network has learnt, see `Algorithm.step`.
    """

    iteration: int
    finished: bool
    seconds: float
    step: int


class Algorithm(Protocol):
    """The methods that `Trainer` needs from an algorithm.

    Attributes:
        network: the network that learns.
    """

    network: PolicyValueNetwork

    def play(self) -> Any:
        """Play the games of an iteration; return the data that `learn` learns from.

        Raises:
            StoppedError: it was told to stop, and drops this iteration.
        """

    def learn(self, played: Any) -> dict[str, Any]:
        """Learn from the played data; return metrics for the log.

        Metrics named ``..._loss`` must be finite; otherwise the run ends.
        """

    def publish(self) -> dict[str, Any]:
        """Give the new weights to the players; return metrics for the log."""

    def agent(self) -> PolicyValueNetwork:
        """The network that is evaluated, and saved as the agent."""

    def state(self) -> State:
        """Everything that `restore` needs to continue exactly here."""

    def restore(self, state: State) -> None:
        """Continue from ``state``; if it does not fit, raise an error.

        `Trainer` catches these: ValueError, TypeError, LookupError, RuntimeError, ArithmeticError.
        """

    def close(self) -> None:
        """Stop everything it has started."""

    @property
    def step(self) -> int:
        """How long the network has learnt, in steps of the algorithm (gradient steps, say)."""

    @property
    def resources(self) -> str:
        """Its device, workers and other resources, for people."""


def games_of(config: TrainingConfig) -> list[tuple[Game, float]]:
    """The games that a run plays, and each one's share of the positions.

    Without variants there is one game; shares add up to 1.

    Raises:
        ValueError: the game does not accept some options, or two sets of them are the same.
    """
    if not (isinstance(config, AlphaZeroConfig) and config.variants):
        return [(make_game(config.game, **config.options), 1.0)]
    found: dict[str, tuple[Game, float]] = {}
    total = sum(variant.share for variant in config.variants)
    for variant in config.variants:
        for options in variant.combinations():
            game = make_game(config.game, **(config.options | options))
            key = json.dumps(game.options, sort_keys=True)
            if key in found:
                raise ValueError(f"variants: {quoted(game.options, 200)} occurs twice")
            found[key] = game, variant.share / variant.count / total
    return list(found.values())


#: Makes the algorithm of a run, from the trainer and the state that `restore` will get, if any.
MakeAlgorithm = Callable[["Trainer", State | None], Algorithm]


class Trainer:
    """A training run, new or resumed from its folder.

    `ludarium.training.run.make_trainer` makes the one for a configuration.

    Args:
        config: see ``configs/schema.py``.
        folder: where the run is stored; if it holds a run, that run is resumed.
        algorithm: function that makes the algorithm.
        progress: shows what the run does, and may stop it.
        on_cluster: actors play on a cluster; memory for their trees and caches is not checked.

    Attributes:
        game: the rules.
        games: the games that one network learns, each with its share of the positions: the game
            with each set of options of the configuration's variants, or `game` alone.
        variants: the games if there are variants; empty otherwise.
        device: torch's name of the network's device.
        iteration: iterations done.
        seconds: wall time so far, over all parts of the run.
        metrics: those of the latest iteration; in a resumed run they begin as those of the last
            saved one, in a new run empty.
        elo: the agent's rating in the last evaluation against anchors, if there was one.
        algorithm: the algorithm that plays and learns.

    Raises:
        ValueError: there is no such game, or it refuses the options; the opponent, exact test or
            device is not there; ``start`` or the network does not fit; the memory does not suffice;
            or the folder is in use, holds another run, or is damaged.
        FileNotFoundError: ``start`` names a folder without an agent, or a game that ships none.
        ImportError: no installed package has exact values, for ``evaluation.exact_test`` or
            ``self_play.solve``; or a library is missing that an agent needs.
        StorageError: the folder cannot be written.
    """

    def __init__(
        self,
        config: TrainingConfig,
        folder: RunFolder,
        algorithm: MakeAlgorithm,
        progress: Progress = SILENT,
        on_cluster: bool = False,
    ) -> None:
        self.config = config
        self.folder = folder
        self.progress = progress.part()
        self.game = make_game(config.game, **config.options)
        self.games = games_of(config)
        games = [game for game, _ in self.games]
        self.variants = games if len(games) > 1 else []
        check_resources(config, games, on_cluster)  # before the folder is made
        self.device = check_device(config.device)
        self.iteration = 0
        self.seconds = 0.0
        self.elo: float | None = None
        self._learnt = 0.0  # `fraction` when the last iteration had learnt, before its evaluation
        self._anchors: dict[str, float] = {}  # measured ratings of anchors
        self.metrics: dict[str, Any] = {}
        self._opponents = find_opponents(config.evaluation, self.game)
        test = config.evaluation.exact_test if config.evaluation.every else None
        self._exact_test = None if test is None else find_exact_test(test, self.game)
        saved = folder.open(config, progress)
        try:
            self.iteration = saved.iteration if saved else 0
            self.algorithm = algorithm(self, saved.state if saved else None)
            if saved is not None:
                self._go_on(saved)
        except MemoryError as error:
            folder.close()
            keys = "self_play.games, self_play.cache, replay.last"
            if not isinstance(config, AlphaZeroConfig):
                keys = "rollout.games, rollout.steps"
            raise ValueError(
                f"the configuration asks for more memory than there is ({error}); lower {keys} "
                "or the network's size"
            ) from error
        except BaseException:
            folder.close()
            raise

    @property
    def fraction(self) -> float:
        """Which part of the run is done, 0 to 1, by iterations or by time, whichever is larger."""
        budget = self.config.budget
        fraction = self.iteration / budget.iterations
        if budget.minutes is not None:
            fraction = max(fraction, self.seconds / (60 * budget.minutes))
        return min(1.0, fraction)

    def run(
        self, on_iteration: Callable[[dict[str, Any]], None] = lambda metrics: None
    ) -> RunResult:
        """Train until the budget is used up, or `progress` is stopped.

        A stopped run ends before its next iteration. A bootstrap, and the ratings of opponents
        that a run begins with, end at once and are lost.

        Args:
            on_iteration: function called with the metrics of each iteration, once it is saved. Its
                time does not count for the run.

        Raises:
            StorageError: the folder cannot be written; the last state, if there is one, is whole,
                and a new trainer resumes from it.
            DivergedError: a loss or a weight is not finite; the last state, if there is one, is
                that of the iteration before.
        """
        try:
            with self._clock():
                evaluation, anchors = self.config.evaluation, self._rated_anchors()
                self._measure = AgentEvaluation(
                    self._opponents, evaluation.games, anchors, self._exact_test, self.config.seed
                )
            while self._learnt < 1 and not self.progress.stopped:
                on_iteration(self._iterate())
        except StoppedError:
            pass
        return RunResult(self.iteration, self._learnt >= 1, self.seconds, self.algorithm.step)

    def _iterate(self) -> dict[str, Any]:
        """One iteration: play, learn, evaluate, save.

        Returns:
            Its metrics. ``progress`` is measured before the evaluation, whose time thus cannot end
            the run: an iteration is known to be the last one before it is evaluated.
        """
        with self._clock():
            played = self.algorithm.play()
            metrics = self.algorithm.learn(played)
            self._check_finite(metrics)
            self.iteration += 1
            metrics |= self.algorithm.publish()
        fraction = self.fraction
        with self._clock():
            metrics |= self._evaluate(is_last=fraction >= 1)
        position = {"iteration": self.iteration, "progress": fraction, "seconds": self.seconds}
        metrics = position | metrics
        with self._clock():
            loop = {
                "rules": self.game.version,
                "seconds": self.seconds,
                "elo": self.elo,
                "anchors": self._anchors,
            }
            state = self.algorithm.state()
            self.folder.save(self.iteration, state, loop, metrics, self._checkpoint())
            self._learnt, self.metrics = fraction, metrics
        return metrics

    def _check_finite(self, metrics: dict[str, Any]) -> None:
        """Refuse losses and weights that are not finite."""
        for name, value in metrics.items():
            if name.endswith("_loss") and not math.isfinite(value):
                raise self._diverged(f"{name} is {value}")
        for name, weights in self.algorithm.network.state_dict().items():
            if not torch.isfinite(weights).all():
                raise self._diverged(f"the network's {name} is not finite")

    def _diverged(self, what: str) -> DivergedError:
        return DivergedError(
            f"training has diverged: {what} in iteration {self.iteration + 1}, of which nothing is "
            "saved; lower learner.learning_rate or learner.gradient_clip, and start anew with "
            "restart=True or in another folder"
        )

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Add the wall time of the ``with`` block to `seconds`, unless it raises."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    def _go_on(self, saved: SavedRun) -> None:
        """Restore the state that the folder holds."""
        rules, game = saved.loop.get("rules"), self.game
        try:
            if rules != game.version:
                raise ValueError(
                    f"it is for version {rules} of {game.name}; this program has {game.version}"
                )
            self.seconds = saved.loop["seconds"]
            self._learnt = saved.metrics["progress"]
            self.elo = saved.loop["elo"]
            self._anchors = saved.loop["anchors"]
            self.algorithm.restore(saved.state)
        except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError) as error:
            raise ValueError(
                f"the state after iteration {self.iteration} in {self.folder.path} does not fit "
                f"its configuration ({shortened(str(error))}); start anew with restart=True"
            ) from error
        self.folder.write_agent(self._checkpoint())
        self.metrics = saved.metrics

    # Functions for algorithms.

    def first_network(self, is_new: bool) -> PolicyValueNetwork:
        """A network with random weights; in a new run with ``start``, that agent's weights."""
        network = fresh_network(self.game, self.config.network, self.variants)
        if is_new and self.config.start is not None:
            take_weights(network, self.config, self.game, self.variants)
        return network

    def network_of(self, game: Game, network: PolicyValueNetwork) -> PolicyValueNetwork:
        """The network of one game; ``network`` may be one for all variants."""
        return member_network(network, [each.options for each in self.variants], game)

    # Evaluation.

    def _evaluate(self, is_last: bool) -> dict[str, Any]:
        """Measure the agent if that is due; return metrics for the log."""
        config = self.config.evaluation
        if not config.every or (self.iteration % config.every and not is_last):
            return {}
        self.progress.begin("evaluation", config.games)
        network = self.network_of(self.game, self.algorithm.agent())
        name = f"iteration {self.iteration}:{config.simulations}"
        agent = NetworkAgent(self.game, network, config.simulations, name)
        metrics = self._measure.of(agent, self.elo, Finishing(self.progress))
        if "elo" in metrics:
            self.elo = metrics["elo"]["value"]
        return metrics

    def _rated_anchors(self) -> dict[str, float]:
        """Ratings of the anchors; those without one are measured and saved with the next state."""
        if isinstance(self._opponents, AgentSpec):
            return {}

        def keep(measure: Callable[[], dict[str, float]]) -> dict[str, float]:
            self._anchors = measure()
            return self._anchors

        names, known = [str(spec) for spec in self._opponents], known_elo(self.game)
        return rate_anchors(
            self.game, names, known | self._anchors, self.config.seed, self.progress, keep
        )

    def _checkpoint(self) -> bytes:
        """This run's network and its description, as the content of a checkpoint file."""
        config = self.config
        checkpoint = Checkpoint(
            game=self.game.name,
            version=self.game.version,
            options=dict(self.game.options),
            shape=family_shape(self.variants) if self.variants else network_shape(self.game),
            architecture=chosen_architecture(self.game, config.network, self.variants),
            variants=[dict(variant.options) for variant in self.variants],
            step=self.algorithm.step,
            network=self.algorithm.agent(),
            notes={
                "algorithm": config.algorithm,
                "iteration": self.iteration,
                "seconds": round(self.seconds, 1),
                "seed": config.seed,
                "config": msgspec.to_builtins(config),
            },
        )
        return checkpoint_bytes(checkpoint)

    def close(self) -> None:
        """Stop everything that the run has started, and release the folder's lock."""
        try:
            self.folder.close()
        finally:
            self.algorithm.close()
