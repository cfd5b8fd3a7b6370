"""Several sets of a game's options that one network learns together.

Each is a game of its own for the actors: with its own compiled rules, trees, inference engine and
size of observations. Their samples share one replay buffer, in which a record is wide enough for
the largest of them. So a batch has positions of each game in proportion to those that were played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.training.runs.state import flatten, unflatten
from ludarium.training.search import SearchSettings, join_results

from .actors import Actors, Advance, LocalActors, Weights
from .samples import Batch, BatchMaker, sample_dtype
from .self_play import SelfPlayResult


class Mixture:
    """Samples of several games in records of one kind; of one game they are left as they are.

    Args:
        games: whose number is their place here.
        search_value, keep_decided: see `BatchMaker`.
        solved: see `sample_dtype`.

    Attributes:
        dtypes: of each game's samples.
        dtype: of the records: those samples for one game, else ``game``, the number of the game,
            and ``sample``, the bytes of the sample.
    """

    def __init__(
        self,
        games: Sequence[Game],
        search_value: float,
        solved: bool = False,
        keep_decided: float = 1.0,
    ) -> None:
        self.dtypes = [sample_dtype(game, solved) for game in games]
        self._makers = [BatchMaker(game, search_value, keep_decided) for game in games]
        if len(games) == 1:
            (self.dtype,) = self.dtypes
        else:
            largest = max(dtype.itemsize for dtype in self.dtypes)
            self.dtype = np.dtype([("game", np.uint16), ("sample", np.uint8, (largest,))])

    def pack(self, number: int, samples: np.ndarray) -> np.ndarray:
        """Records [N] of the samples [N] of a game."""
        if len(self.dtypes) == 1:
            return samples
        records = np.zeros(len(samples), self.dtype)
        size = samples.dtype.itemsize
        plain = np.zeros(len(samples), samples.dtype)  # zeros between the fields
        plain[...] = samples
        fields: Any = records  # structured arrays have no types
        fields["game"] = number
        fields["sample"][:, :size] = plain.view(np.uint8).reshape(len(samples), size)
        return records

    def unpack(self, records: np.ndarray) -> list[np.ndarray]:
        """The samples of each game among records [N], in their order.

        Raises:
            ValueError: a record is of none of the games.
        """
        if len(self.dtypes) == 1:
            return [records]
        if len(records) and records["game"].max() >= len(self.dtypes):
            raise ValueError(f"the replay has positions of game {records['game'].max()}")
        found = []
        for number, dtype in enumerate(self.dtypes):
            rows = records["sample"][records["game"] == number, : dtype.itemsize]
            found.append(np.ascontiguousarray(rows).view(dtype).reshape(len(rows)))
        return found

    def batches(self, records: np.ndarray, rng: np.random.Generator) -> list[Batch]:
        """The batch of each game among records [N]."""
        return [
            make(samples, rng)
            for make, samples in zip(self._makers, self.unpack(records), strict=True)
        ]


class MixedActors(Actors):
    """Local actors for each game, which play one after the other.

    Args:
        games: and the share of the positions of each.
        mixture: of their samples.
        config: of the run; games in parallel and positions are divided by the shares.
        workers, device, bootstrap_seed, seed: see `LocalActors`.
        weights: with those of each game.
    """

    def __init__(
        self,
        games: Sequence[tuple[Game, float]],
        mixture: Mixture,
        config: AlphaZeroConfig,
        workers: int,
        device: str,
        weights: Weights,
        bootstrap_seed: np.random.SeedSequence,
        seed: np.random.SeedSequence,
    ) -> None:
        self.mixture = mixture
        self.actors = [
            LocalActors(
                game, _share_of(config, share), workers, dtype, device, own, first_seed, own_seed
            )
            for (game, share), dtype, own, first_seed, own_seed in zip(
                games,
                mixture.dtypes,
                weights.of_games,
                bootstrap_seed.spawn(len(games)),
                seed.spawn(len(games)),
                strict=True,
            )
        ]

    def publish(self, weights: Weights) -> dict[str, Any]:
        """Load each game's weights; of several deviations of a backend the largest is logged."""
        told = [
            actors.publish(own) for actors, own in zip(self.actors, weights.of_games, strict=True)
        ]
        deviations = {
            name: max(metrics[name] for metrics in told)
            for name, value in told[0].items()
            if isinstance(value, float)
        }
        return told[0] | deviations

    def load(self, weights: Weights) -> None:
        """Load each game's weights."""
        for actors, own in zip(self.actors, weights.of_games, strict=True):
            actors.load(own)

    def bootstrap(self, advance: Advance) -> SelfPlayResult:
        """Play the games of each bootstrap."""
        return self._join([actors.bootstrap(advance) for actors in self.actors])

    def play(self, settings: SearchSettings, advance: Advance) -> SelfPlayResult:
        """Play an iteration of each game."""
        return self._join([actors.play(settings, advance) for actors in self.actors])

    def _join(self, results: Sequence[SelfPlayResult]) -> SelfPlayResult:
        return join_results(
            [
                replace(result, samples=self.mixture.pack(number, result.samples))
                for number, result in enumerate(results)
            ]
        )

    @property
    def resources(self) -> str:
        """Those of the first game's actors, and how many games there are."""
        return f"{self.actors[0].resources}, {len(self.actors)} sets of options"

    def state(self) -> dict[str, np.ndarray]:
        """The games in progress, ``number/name`` for each array."""
        return flatten(dict(enumerate(actors.state() for actors in self.actors)), "/")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Go on with the games in progress; whether those of each game fit."""
        fit = [
            actors.restore(unflatten(arrays, number, "/"))
            for number, actors in enumerate(self.actors)
        ]
        return all(fit)


def _share_of(config: AlphaZeroConfig, share: float) -> AlphaZeroConfig:
    """The configuration of one of several games, which play one after the other."""
    play, bootstrap = config.self_play, config.bootstrap
    own_play = msgspec.structs.replace(
        play,
        games=max(1, round(play.games * share)),
        positions=max(1, round(play.positions * share)),
        cache=play.cache * share,
    )
    minutes = None if config.budget.minutes is None else config.budget.minutes * share
    positions = max(1, round(bootstrap.positions * share)) if bootstrap.positions else 0
    return msgspec.structs.replace(
        config,
        self_play=own_play,
        bootstrap=msgspec.structs.replace(bootstrap, positions=positions),
        budget=msgspec.structs.replace(config.budget, minutes=minutes),
    )


def make_actors(
    games: Sequence[tuple[Game, float]],
    mixture: Mixture,
    config: AlphaZeroConfig,
    workers: int,
    device: str,
    weights: Weights,
    bootstrap_seed: np.random.SeedSequence,
    seed: np.random.SeedSequence,
) -> Actors:
    """Actors of this process; the arguments are `MixedActors`'."""
    if config.variants:
        return MixedActors(games, mixture, config, workers, device, weights, bootstrap_seed, seed)
    ((game, _),) = games
    return LocalActors(game, config, workers, mixture.dtype, device, weights, bootstrap_seed, seed)
