"""The games of a run: one, or the game with each set of options that one network learns."""

from __future__ import annotations

import json

from ludarium.configs import AlphaZeroConfig, TrainingConfig
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted


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
