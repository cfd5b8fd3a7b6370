"""The AlphaZero loop: play, learn, evaluate, save, again.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play" (2018), with Gumbel search and the changes named in the configuration.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig
from ludarium.envs import make_game
from ludarium.models import InferenceEngine, save_checkpoint
from ludarium.models.inference import torch_threads
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation import play_match
from ludarium.training.networks import fresh_network
from ludarium.training.random_positions import random_observations
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import Column, Reporter
from ludarium.training.runs.trainer import (
    Trainer,
    flatten,
    optimizer_tensors,
    restore_optimizer,
    unflatten,
)
from ludarium.training.search import SearchSettings
from ludarium.training.search.settings import GUMBEL, NEVER, PUCT

from .bootstrap import bootstrap_samples
from .kernels.self_play import NEVER_RESIGN
from .learner import Learner, Losses
from .resignation import TRIAL, Calibration, wrong_share
from .samples import BatchMaker, Replay, sample_dtype
from .self_play import SelfPlay, SelfPlayResult, choose_threads

#: Observations from which the ranges of integer networks are taken.
_EXAMPLES = 512

#: Losses are of policy, result (win, draw, loss) and score.
COLUMNS = (
    Column("run", 5, lambda m: f"{100 * m['progress']:.0f} %"),
    Column("min", 6, lambda m: f"{m['seconds'] / 60:.1f}"),
    Column("iter", 5, lambda m: f"{m['iteration']}", 3),
    Column("sims", 4, lambda m: f"{m['simulations_per_move']}", 1),
    Column("games/s", 7, lambda m: f"{m['games_per_second']:.1f}" if m["games_per_second"] else ""),
    Column("sims/s", 9, lambda m: f"{m['simulations_per_second']:,.0f}"),
    Column("policy", 6, lambda m: f"{m['policy_loss']:.3f}"),
    Column("result", 6, lambda m: f"{m['outcome_loss']:.3f}"),
    Column("score", 6, lambda m: f"{m['score_loss']:.3f}", 2),
    Column("replay", 8, lambda m: f"{m['replay']:,}", 4),
)


class AlphaZeroTrainer(Trainer):
    """A run of the AlphaZero loop; see `Trainer`."""

    columns = COLUMNS
    config: AlphaZeroConfig

    def __init__(self, config: AlphaZeroConfig, folder: RunFolder, reporter: Reporter) -> None:
        _check_ownership(config)
        super().__init__(config, folder, reporter)
        saved = folder.load_state()
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        network = fresh_network(self.game, config.network)
        self.rng = np.random.default_rng(seeds[1])
        self.bootstrap_seed = seeds[2]
        workers = saved[0]["workers"] if saved else choose_threads(config.self_play, self.device)
        resign = config.self_play.resign
        self.calibration = Calibration(resign) if resign is not None else None
        self.dtype = sample_dtype(
            self.game, config.learner.ownership_weight > 0, self.calibration is not None
        )
        largest = search_settings(config, 0.0)._replace(
            simulations=config.self_play.most_simulations
        )
        has_score = self.game.max_score > 0
        self.learner = Learner(network, config.learner, has_score, self.device, workers)
        # Without a gate the EMA network itself plays.
        gated = config.gate.games > 0
        self.player = copy.deepcopy(self.learner.ema_network) if gated else self.learner.ema_network
        self.self_play = SelfPlay(
            self.game, config.self_play, largest, workers, seeds[3], self.dtype
        )
        self.batch_maker = BatchMaker(self.game, config.learner.search_value)
        self.replay = Replay(self.dtype)
        self.chunks: list[int] = []  # iterations whose positions the replay holds
        if saved:
            self._restore(*saved)
        with torch_threads(self.self_play.torch_threads_each):
            self.engine = InferenceEngine(
                self.player,
                self.game.observation_shape,
                self.self_play.batch,
                config.backend,
                self.device,
                self._examples(),
            )

    @property
    def means(self) -> str:
        """Device, number of workers, and backend of the network."""
        return f"{self.device}, {self.self_play.threads} workers, network {self.engine.backend}"

    def _iterate(self) -> None:
        """One turn of the loop."""
        started = time.perf_counter()
        progress = self.progress
        resign_at = self.resign_at
        if self.iteration == 0 and self.config.bootstrap.positions:
            result = self._bootstrap()
            replay_ratio = self.config.bootstrap.replay_ratio
        else:
            result = self._play(progress)
            replay_ratio = self.config.learner.replay_ratio
        played = time.perf_counter()
        resignation = self._calibrate(result, resign_at)
        losses = self._learn(result.samples, replay_ratio, progress)
        self.iteration += 1
        gate = self._pass_gate()
        self.engine.update(self.player, self._examples())
        learnt = time.perf_counter()
        self.seconds += learnt - started
        evaluation = self._evaluate(self.player, self._match_backend)
        evaluated = time.perf_counter()
        self.seconds += evaluated - learnt
        self._save(result.samples)
        self.seconds += time.perf_counter() - evaluated
        metrics = self._metrics(result, losses, played - started, learnt - played, progress)
        self._report(metrics | resignation | gate | evaluation)

    def _bootstrap(self) -> SelfPlayResult:
        bootstrap = self.config.bootstrap
        self.reporter.begin("bootstrap", bootstrap.positions)
        samples = bootstrap_samples(
            self.game,
            bootstrap.positions,
            bootstrap.playouts,
            self.config.self_play.opening_plies,
            self.bootstrap_seed,
            self.reporter.advance,
            self.dtype,
        )
        simulations = len(samples) * bootstrap.playouts
        return SelfPlayResult(samples, positions=len(samples), simulations=simulations)

    def _play(self, progress: float) -> SelfPlayResult:
        """Self-play with the network that plays."""
        self.reporter.begin("self-play", self.config.self_play.positions)
        return self.self_play.play(
            search_settings(self.config, progress),
            self.engine,
            self.reporter.advance,
            self.resign_at,
        )

    @property
    def resign_at(self) -> float:
        """The value at which players give up."""
        return NEVER_RESIGN if self.calibration is None else self.calibration.threshold

    def _calibrate(self, result: SelfPlayResult, resign_at: float) -> dict[str, Any]:
        """Choose the next threshold: metrics of the one that was played with, for the log.

        Wrong ones are among those who would have resigned in games where nobody could: these
        games had no part in the choice.
        """
        if self.calibration is None:
            return {}
        self.calibration.add(result.trials)
        metrics = {
            "resign_threshold": resign_at,
            "resigned": result.resigned / max(1, result.games),
        }
        wrong = wrong_share(result.trials, resign_at)
        return metrics if wrong is None else metrics | {"resigned_wrongly": wrong}

    def _learn(self, samples: np.ndarray, replay_ratio: float, progress: float) -> Losses:
        """Learn from the replay, each new position ``replay_ratio`` times on average."""
        window = self.config.replay.first + progress * (
            self.config.replay.last - self.config.replay.first
        )
        self.replay.add(samples, round(window))
        self.chunks = [*self.chunks, self.iteration][-len(self.replay.chunks) :]
        losses = Losses()
        batch = self.config.learner.batch
        steps = round(len(samples) * replay_ratio / batch)
        self.reporter.begin("learning", steps)
        for _ in range(steps):
            drawn = self.replay.draw(batch, self.rng)
            self.learner.learn(self.batch_maker(drawn, self.rng), progress, losses)
            self.reporter.advance(1)
        return losses

    @property
    def _match_backend(self) -> str:
        """The backend of networks in matches: the engine's, but as they are, not in integers."""
        return "onnx" if self.engine.backend == "onnx-int8" else self.engine.backend

    def _pass_gate(self) -> dict[str, Any]:
        """Have the EMA network play from now on if it is good enough: metrics for the log."""
        gate = self.config.gate
        if not gate.games:
            return {}
        self.reporter.begin("gate", gate.games)
        new, old = (
            NetworkAgent(
                self.game,
                copy.deepcopy(network),
                gate.simulations,
                name,
                backend=self._match_backend,
            )
            for name, network in (("new", self.learner.ema_network), ("old", self.player))
        )
        match = play_match(
            self.game,
            new,
            old,
            gate.games,
            seed=self.config.seed,
            progress=self._reach,
        )
        passed = match.score >= gate.score
        if passed:
            self.player.load_state_dict(self.learner.ema_network.state_dict())
        return {"gate_score": match.score, "gate_passed": int(passed)}

    def _examples(self) -> np.ndarray:
        """Observations for the engine, the same whenever this iteration is come to."""
        if not len(self.replay):
            return random_observations(self.game, _EXAMPLES, self.config.seed)
        rng = np.random.default_rng([self.config.seed, self.iteration])
        return self.batch_maker(self.replay.draw(_EXAMPLES, rng), rng).observations

    def _metrics(
        self,
        result: SelfPlayResult,
        losses: Losses,
        play_seconds: float,
        learn_seconds: float,
        progress: float,
    ) -> dict[str, Any]:
        """What an iteration gave, for the log."""
        deviation = self.engine.deviation(self._examples())
        return {
            "step": self.learner.step,
            "simulations_per_move": self.config.self_play.simulations_at(progress),
            "learning_rate": self.learner.learning_rate(progress),
            "replay": len(self.replay),
            "games_per_second": result.games / play_seconds,
            "positions_per_second": result.positions / play_seconds,
            "simulations_per_second": result.simulations / play_seconds,
            "evaluations_per_second": result.evaluations / play_seconds,
            "cache_hits": result.hits / max(1, result.hits + result.evaluations),
            "mean_plies": result.plies / max(1, result.games),
            "play_seconds": play_seconds,
            "learn_seconds": learn_seconds,
            "policy_loss": losses.policy,
            "outcome_loss": losses.outcome,
            "score_loss": losses.score,
            "ownership_loss": losses.ownership,
            "backend": self.engine.backend,
            "policy_deviation": deviation.policy,
            "value_deviation": deviation.value,
        }

    def _save(self, samples: np.ndarray) -> None:
        """Write everything down; the iteration before stays until this one is complete."""
        self.folder.save_chunk(self.iteration - 1, samples)
        learner = self.learner
        checkpoint = self._checkpoint(self.player, learner.step)
        save_checkpoint(checkpoint, self.folder.agent)
        groups = {
            "network": learner.network.state_dict(),
            "ema": learner.ema_network.state_dict(),
            "optimizer": optimizer_tensors(learner.optimizer),
        }
        if self.player is not learner.ema_network:
            groups["player"] = self.player.state_dict()
        if learner.ownership is not None:
            groups["ownership"] = learner.ownership.state_dict()
        tensors = flatten(groups)
        description: dict[str, Any] = {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "elo": self.elo,
            "step": self.learner.step,
            "replay": self.chunks,
            "rng": self.rng.bit_generator.state,
            "workers": self.self_play.threads,
        }
        if self.calibration is not None:
            description["trials"] = self.calibration.trials.tolist()
        self.folder.save_state(
            self.iteration,
            description,
            tensors,
            [group.state() for group in self.self_play.groups],
        )

    def _restore(
        self,
        description: dict[str, Any],
        tensors: dict[str, torch.Tensor],
        arrays: list[dict[str, np.ndarray]],
    ) -> None:
        """Go on exactly where the saved state is."""
        self.iteration = description["iteration"]
        self.seconds = description["seconds"]
        self.elo = description.get("elo")  # none in a state of before there were ratings
        self.learner.step = description["step"]
        self.rng.bit_generator.state = description["rng"]
        if self.calibration is not None:
            self.calibration.add(np.array([tuple(t) for t in description["trials"]], TRIAL))
        self.learner.network.load_state_dict(unflatten(tensors, "network"))
        self.learner.ema_network.load_state_dict(unflatten(tensors, "ema"))
        if self.player is not self.learner.ema_network:
            self.player.load_state_dict(unflatten(tensors, "player"))
        if self.learner.ownership is not None:
            self.learner.ownership.load_state_dict(unflatten(tensors, "ownership"))
        restore_optimizer(self.learner.optimizer, unflatten(tensors, "optimizer"))
        for group, saved in zip(self.self_play.groups, arrays, strict=True):
            group.restore(saved)
        for number in description["replay"]:
            chunk = self.folder.load_chunk(number, self.dtype)
            self.replay.add(chunk, 2**62)
            self.chunks.append(number)
        self.folder.cut_log(self.iteration)

    def close(self) -> None:
        """End the worker threads."""
        self.self_play.close()
        self.learner.close()


def _check_ownership(config: AlphaZeroConfig) -> None:
    if config.learner.ownership_weight and not make_game(config.game, **config.options).has_owners:
        raise ValueError(
            f"learner.ownership_weight is {config.learner.ownership_weight:g}, but the cells of "
            f"{config.game} have no owners; leave it out"
        )


def search_settings(config: AlphaZeroConfig, progress: float) -> SearchSettings:
    """Search settings of self-play when ``progress`` of the run is over."""
    play = config.self_play
    gumbel = play.algorithm == "gumbel"
    noise = play.noise if play.noise is not None else (1.0 if gumbel else 0.25)
    return SearchSettings(
        simulations=play.simulations_at(progress),
        algorithm=GUMBEL if gumbel else PUCT,
        max_considered=play.max_considered,
        noise=noise,
        value_scale=play.value_scale,
        maxvisit_init=play.maxvisit_init,
        rescale_values=play.rescale_values,
        c_puct=play.c_puct,
        dirichlet_alpha=play.dirichlet_alpha,
        temperature=play.temperature,
        prove=play.prove,
        temperature_plies=NEVER if play.temperature_plies is None else play.temperature_plies,
    )
