"""What a network for a game looks like: the shape that it must fit, and its size."""

from __future__ import annotations

from ludarium.configs.schema import Network as NetworkConfig
from ludarium.envs.engine.game import Game
from ludarium.models import NetworkShape
from ludarium.models.network import network_size


def network_shape(game: Game) -> NetworkShape:
    """What a network for ``game`` must fit."""
    places = None if game.action_places is None else tuple(game.action_places.tolist())
    return NetworkShape(game.observation_shape, game.num_actions, places)


def chosen_size(game: Game, config: NetworkConfig) -> tuple[int, int]:
    """Channels and blocks of a network for ``game``, as a configuration wants them."""
    if config.channels is not None and config.blocks is not None:
        return config.channels, config.blocks
    assert config.size is not None, "the configuration makes sure of it"
    return network_size(network_shape(game), config.size)
