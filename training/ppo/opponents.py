"""Opponents of the learner: its current self, and past selves drawn by how well they score.

Prioritised fictitious self-play (Vinyals et al., "Grandmaster level in StarCraft II using
multi-agent reinforcement learning", 2019): the learner meets past selves more often if it does not
beat them yet.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ludarium.configs.schema import OpponentsConfig
from ludarium.envs.batch import BatchEnv
from ludarium.models import PolicyValueNetwork

from .encoder import ObservationEncoder
from .policy import draw_actions, input_tensor

#: Value in `Pool.playing` for a game against the current self.
CURRENT = -1

#: A new past self starts with an even score from this many virtual games.
_PRIOR_GAMES = 20.0
#: Half-life of a result, in later games against the same past self.
_HALF_LIFE = 500.0


@dataclass
class PastSelf:
    """A network of the pool.

    Attributes:
        number: the iteration that it comes from.
        network: the network with its weights, on the device.
        points, games: decayed results of the learner against it (a draw is half a point).
    """

    number: int
    network: PolicyValueNetwork
    points: float = _PRIOR_GAMES / 2
    games: float = _PRIOR_GAMES

    @property
    def score(self) -> float:
        """The learner's expected score against it, from 0 to 1."""
        return self.points / self.games

    def add_results(self, rewards: np.ndarray) -> None:
        """Add the learner's rewards in finished games, [K], each 1, 0 or -1."""
        fade = 0.5 ** (len(rewards) / _HALF_LIFE)
        self.points = fade * self.points + float((rewards + 1).sum()) / 2
        self.games = fade * self.games + len(rewards)


class Pool:
    """Chooses the opponent of each game and its actions, as `Opponents` of a `LearnerVecEnv`.

    All games whose opponent is to move are decided together, in one batch for each network
    that plays some of them; opponents draw their actions from their policies, as the learner does.

    Args:
        config: how opponents are chosen, and the size of the pool.
        num_envs: number of games played in parallel.
        current: the network that learns; it is not copied, and so always the latest.
        encoder: how networks see the games.
        device: device of the networks.
        random: generator for drawing opponents; their actions come from torch's generator.

    Attributes:
        past: past selves, the oldest first.
        active: numbers (`PastSelf.number`) of the past selves that new games meet.
        playing: int64[num_envs], the number of the opponent in each game, or `CURRENT`.
        points, finished: the learner's points (a draw is half a one) and finished games since
            `prepare`.
    """

    def __init__(
        self,
        config: OpponentsConfig,
        num_envs: int,
        current: PolicyValueNetwork,
        encoder: ObservationEncoder,
        device: torch.device,
        random: np.random.Generator,
    ) -> None:
        self.config = config
        self.current = current
        self.encoder = encoder
        self.device = device
        self.random = random
        self.past: list[PastSelf] = []
        self.active: list[int] = []
        self.playing = np.full(num_envs, CURRENT)
        self.points, self.finished = 0.0, 0

    def weights(self) -> np.ndarray:
        """The probability of drawing each past self, float64[len(past)].

        It is in proportion to (1 - `PastSelf.score`) squared, "hard" of Vinyals et al., or to 1e-6
        if that is more.
        """
        weights = np.array([(1 - each.score) ** 2 for each in self.past])
        weights = np.maximum(weights, 1e-6)  # keeps a chance for every past self, and a sum above 0
        return weights / weights.sum()

    def prepare(self) -> None:
        """Draw the past selves for the games of the coming iteration."""
        self.points, self.finished = 0.0, 0
        count = min(self.config.active, len(self.past))
        if count:
            drawn = self.random.choice(len(self.past), count, replace=False, p=self.weights())
            self.active = [self.past[place].number for place in sorted(drawn)]

    def add(self, number: int) -> None:
        """Add a copy of the current self, as of iteration ``number``, to the pool.

        If the pool is full, the oldest leaves; its games continue against the current self.
        """
        self.past.append(PastSelf(number, frozen_copy(self.current)))
        for gone in self.past[: -self.config.pool]:
            self.playing[self.playing == gone.number] = CURRENT
            self.active = [each for each in self.active if each != gone.number]
        self.past = self.past[-self.config.pool :]

    # Methods that the environment calls.

    def begin(self, games: np.ndarray) -> None:
        """Draw the opponents of new games."""
        self.playing[games] = CURRENT
        if self.active:
            others = games[self.random.random(len(games)) >= self.config.current]
            self.playing[others] = self.random.choice(self.active, len(others))

    def choose(self, batch: BatchEnv, games: np.ndarray) -> np.ndarray:
        """Actions int64[K] of the opponents in ``games``, int64[K]."""
        seen = self.encoder(batch, games)
        chosen = np.empty(len(games), np.int64)
        playing = self.playing[games]
        for number in np.unique(playing):
            own = np.flatnonzero(playing == number)
            network = self.current
            if number != CURRENT:
                network = next(each.network for each in self.past if each.number == number)
            chosen[own] = self._draw(network, seen.observations[own], seen.masks[own])
        return seen.decode(chosen)

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Record the learner's results; abandoned games have none."""
        has_ended = ~np.isnan(rewards)
        games, rewards = games[has_ended], rewards[has_ended]
        self.points += float((rewards + 1).sum()) / 2
        self.finished += len(games)
        playing = self.playing[games]
        for each in self.past:
            results = rewards[playing == each.number]
            if len(results):
                each.add_results(results)

    @torch.inference_mode()
    def _draw(
        self, network: PolicyValueNetwork, observations: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        logits = network(input_tensor(observations, self.device)).policy
        return draw_actions(logits, torch.from_numpy(masks).to(self.device)).cpu().numpy()

    # Saving.

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """JSON values and groups of tensors, for `restore`; `LearnerVecEnv` saves `playing`."""
        description = {
            "active": self.active,
            "past": [
                {"number": each.number, "points": each.points, "games": each.games}
                for each in self.past
            ],
        }
        return description, {f"past-{each.number}": each.network.state_dict() for each in self.past}

    def restore(
        self, description: dict[str, Any], weights_of: Callable[[str], dict[str, Tensor]]
    ) -> None:
        """Load a saved state; ``weights_of`` returns a group of tensors by name."""
        self.active = list(description["active"])
        self.past = []
        for each in description["past"]:
            network = frozen_copy(self.current)
            network.load_state_dict(weights_of(f"past-{each['number']}"))
            self.past.append(PastSelf(each["number"], network, each["points"], each["games"]))


def frozen_copy(network: PolicyValueNetwork) -> PolicyValueNetwork:
    """A copy of a network, without gradients."""
    return copy.deepcopy(network).eval().requires_grad_(False)
