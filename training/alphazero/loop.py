"""The AlphaZero loop: play, learn, evaluate, save, again.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play" (2018), with Gumbel search and the changes named in the configuration.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ludarium.configs import TrainingConfig
from ludarium.envs import make_game
from ludarium.models import Checkpoint, InferenceEngine, build_network, save_checkpoint
from ludarium.models.inference import torch_threads
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent, network_shape
from ludarium.training.evaluation import MatchResult, play_match
from ludarium.training.random_positions import random_observations
from ludarium.training.search import SearchSettings
from ludarium.training.search.settings import GUMBEL, PUCT

from .learner import Learner, Losses
from .reporting import Reporter
from .run_folder import RunFolder
from .samples import BatchMaker, Replay, sample_dtype
from .self_play import Harvest, SelfPlay, Worker
from .warm_up import warm_up_samples

#: Observations from which the ranges of integer networks are taken.
_EXAMPLES = 512


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


class Trainer:
    """One training run; made anew, or from what its folder holds.

    Args:
        config: see ``configs/schema.py``.
        folder: where the run lives; a run that is there already is gone on with.
        reporter: is told how it goes.

    Raises:
        ValueError: bad options, or the folder is of another run or damaged.
    """

    def __init__(self, config: TrainingConfig, folder: RunFolder, reporter: Reporter) -> None:
        self.config = config
        self.folder = folder
        self.reporter = reporter
        self.game = make_game(config.game, **config.options)
        folder.open(config)
        saved = folder.load_state()
        self.device = _choose_device(config.device)
        self.iteration = 0
        self.seconds = 0.0
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        network = build_network(
            network_shape(self.game), config.network.channels, config.network.blocks
        )
        self.rng = np.random.default_rng(seeds[1])
        self.warm_up_seed = seeds[2]
        workers = config.self_play.workers or len(os.sched_getaffinity(0))
        workers = saved[0]["workers"] if saved else workers
        has_score = self.game.max_score > 0
        self.learner = Learner(network, config.learner, has_score, self.device, workers)
        self.self_play = SelfPlay(
            [
                Worker(
                    self.game,
                    config.self_play.most_simulations,
                    config.self_play.max_considered,
                    max(1, config.self_play.games // workers),
                    max(1, config.self_play.positions // workers),
                    config.self_play.opening_plies,
                    seed,
                )
                for seed in seeds[3].spawn(workers)
            ]
        )
        self.batch_maker = BatchMaker(self.game, config.learner.search_value)
        self.replay = Replay(self.game)
        self.stretches: list[int] = []  # iterations whose positions the replay holds
        if saved:
            self._restore(*saved)
        with torch_threads(self.self_play.threads_each):
            self.engine = InferenceEngine(
                self.learner.averaged,
                self.game.observation_shape,
                len(self.self_play.workers[0].observations),
                config.inference,
                self.device,
                self._examples(),
            )

    @property
    def share(self) -> float:
        """Share of the run that is over, by iterations or by time, whichever is more."""
        budget = self.config.budget
        share = self.iteration / budget.iterations
        if budget.minutes is not None:
            share = max(share, self.seconds / (60 * budget.minutes))
        return min(1.0, share)

    @property
    def finished(self) -> bool:
        """Whether the budget is used up."""
        return self.share >= 1

    def run(self, stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Go on until the budget is used up, or ``stop`` says so between two iterations."""
        while not self.finished and not stop():
            self._iterate()
        return Outcome(self.iteration, self.finished, self.seconds)

    def _iterate(self) -> None:
        """One turn of the loop."""
        started = time.perf_counter()
        share = self.share
        if self.iteration == 0 and self.config.warm_up.positions:
            harvest = self._warm_up()
            uses = self.config.warm_up.uses
        else:
            harvest = self._play(share)
            uses = self.config.learner.uses
        played = time.perf_counter()
        losses = self._learn(harvest.samples, uses, share)
        self.iteration += 1
        self.engine.update(self.learner.averaged, self._examples())
        learnt = time.perf_counter()
        self.seconds += learnt - started
        match = self._evaluate()
        evaluated = time.perf_counter()
        self.seconds += evaluated - learnt
        self._save(harvest.samples)
        self.seconds += time.perf_counter() - evaluated
        self._report(harvest, losses, match, played - started, learnt - played, share)

    def _warm_up(self) -> Harvest:
        warm_up = self.config.warm_up
        self.reporter.begin("warm-up", warm_up.positions)
        samples = warm_up_samples(
            self.game,
            warm_up.positions,
            warm_up.playouts,
            self.config.self_play.opening_plies,
            self.warm_up_seed,
            self.reporter.advance,
        )
        return Harvest(samples, 0, 0, len(samples), len(samples) * warm_up.playouts)

    def _play(self, share: float) -> Harvest:
        """Self-play with the averaged network."""
        self.reporter.begin("self-play", self.config.self_play.positions)
        return self.self_play.play(
            search_settings(self.config, share), self.engine, self.reporter.advance
        )

    def _learn(self, samples: np.ndarray, uses: float, share: float) -> Losses:
        """Learn from the replay, each new position ``uses`` times on average."""
        window = self.config.replay.first + share * (
            self.config.replay.last - self.config.replay.first
        )
        self.replay.add(samples, round(window))
        self.stretches = [*self.stretches, self.iteration][-len(self.replay.stretches) :]
        losses = Losses()
        batch = self.config.learner.batch
        steps = round(len(samples) * uses / batch)
        self.reporter.begin("learning", steps)
        for _ in range(steps):
            drawn = self.replay.draw(batch, self.rng)
            self.learner.learn(self.batch_maker(drawn, self.rng), share, losses)
            self.reporter.advance(1)
        return losses

    def _examples(self) -> np.ndarray:
        """Observations for the engine, the same whenever this iteration is come to."""
        if not len(self.replay):
            return random_observations(self.game, _EXAMPLES, self.config.seed)
        rng = np.random.default_rng([self.config.seed, self.iteration])
        return self.batch_maker(self.replay.draw(_EXAMPLES, rng), rng).observations

    def _evaluate(self) -> MatchResult | None:
        """A match against the fixed opponent, now and then and at the end."""
        evaluation = self.config.evaluation
        due = evaluation.every and (self.iteration % evaluation.every == 0 or self.finished)
        if not due:
            return None
        self.reporter.begin("evaluation", evaluation.games)
        agent = NetworkAgent(
            self.game,
            self.learner.averaged,
            evaluation.simulations,
            f"iteration {self.iteration}",
            form=self.engine.form,
        )
        opponent = make_agent(evaluation.against, self.game)
        return play_match(
            self.game,
            agent,
            opponent,
            evaluation.games,
            seed=self.config.seed,
            progress=lambda done, _: self.reporter.reach(done),
        )

    def _report(
        self,
        harvest: Harvest,
        losses: Losses,
        match: MatchResult | None,
        play_seconds: float,
        learn_seconds: float,
        share: float,
    ) -> None:
        deviation = self.engine.deviation(self._examples())
        metrics: dict[str, Any] = {
            "iteration": self.iteration,
            "share": self.share,
            "seconds": self.seconds,
            "step": self.learner.step,
            "simulations_per_move": self.config.self_play.simulations_at(share),
            "learning_rate": self.learner.learning_rate(share),
            "replay": len(self.replay),
            "games_per_second": harvest.games / play_seconds,
            "positions_per_second": harvest.positions / play_seconds,
            "simulations_per_second": harvest.simulations / play_seconds,
            "mean_plies": harvest.plies / max(1, harvest.games),
            "play_seconds": play_seconds,
            "learn_seconds": learn_seconds,
            "policy_loss": losses.policy,
            "outcome_loss": losses.outcome,
            "score_loss": losses.score,
            "form": self.engine.form,
            "policy_deviation": deviation.policy,
            "value_deviation": deviation.value,
        }
        if match is not None:
            low, high = match.interval
            metrics |= {
                "opponent": match.second,
                "score": match.score,
                "score_low": low,
                "score_high": high,
            }
        self.folder.log(metrics)
        self.reporter.iteration(metrics)

    def checkpoint(self) -> Checkpoint:
        """The averaged network with its description."""
        config = self.config
        return Checkpoint(
            game=self.game.name,
            version=self.game.version,
            options=dict(self.game.options),
            shape=network_shape(self.game),
            channels=config.network.channels,
            blocks=config.network.blocks,
            step=self.learner.step,
            network=self.learner.averaged,
            notes={
                "algorithm": config.algorithm,
                "iteration": self.iteration,
                "seconds": round(self.seconds, 1),
                "seed": config.seed,
                "config": config.model_dump(mode="json"),
            },
        )

    def _save(self, samples: np.ndarray) -> None:
        """Write everything down; the iteration before stays until this one is complete."""
        self.folder.save_stretch(self.iteration - 1, samples)
        save_checkpoint(self.checkpoint(), self.folder.agent)
        tensors = {}
        for name, network in (
            ("network", self.learner.network),
            ("averaged", self.learner.averaged),
        ):
            for key, value in network.state_dict().items():
                tensors[f"{name}.{key}"] = value.detach().cpu().contiguous()
        for index, entry in self.learner.optimizer.state_dict()["state"].items():
            for key, value in entry.items():
                tensors[f"optimizer.{index}.{key}"] = value.detach().cpu().contiguous()
        description = {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "step": self.learner.step,
            "workers": len(self.self_play.workers),
            "replay": self.stretches,
            "rng": self.rng.bit_generator.state,
        }
        self.folder.save_state(
            self.iteration,
            description,
            tensors,
            [worker.state() for worker in self.self_play.workers],
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
        self.learner.step = description["step"]
        self.rng.bit_generator.state = description["rng"]
        groups: dict[str, dict[str, torch.Tensor]] = {
            "network": {},
            "averaged": {},
            "optimizer": {},
        }
        for name, value in tensors.items():
            group, _, key = name.partition(".")
            groups[group][key] = value
        self.learner.network.load_state_dict(groups["network"])
        self.learner.averaged.load_state_dict(groups["averaged"])
        optimizer = self.learner.optimizer.state_dict()
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in groups["optimizer"].items():
            index, _, key = name.partition(".")
            moments.setdefault(int(index), {})[key] = value
        self.learner.optimizer.load_state_dict(
            {"state": moments, "param_groups": optimizer["param_groups"]}
        )
        for worker, saved in zip(self.self_play.workers, arrays, strict=True):
            worker.restore(saved)
        for number in description["replay"]:
            stretch = self.folder.load_stretch(number, sample_dtype(self.game))
            self.replay.add(stretch, 2**62)
            self.stretches.append(number)
        self.folder.cut_log(self.iteration)

    def close(self) -> None:
        """End the worker threads."""
        self.self_play.close()
        self.learner.close()


def search_settings(config: TrainingConfig, share: float) -> SearchSettings:
    """Search settings of self-play when ``share`` of the run is over."""
    play = config.self_play
    gumbel = play.algorithm == "gumbel"
    noise = play.noise if play.noise is not None else (1.0 if gumbel else 0.25)
    return SearchSettings(
        simulations=play.simulations_at(share),
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
    )


def _choose_device(wanted: str) -> str:
    """A torch device; ``auto`` takes a GPU where there is one."""
    if wanted != "auto":
        try:
            return str(torch.device(wanted))
        except RuntimeError:
            raise ValueError(f"device is {wanted!r}; accepted: auto, cpu, cuda, ...") from None
    return "cuda" if torch.cuda.is_available() else "cpu"
