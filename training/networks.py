"""The network of a game: the shape that it must fit, and its architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludarium.envs.engine.game import Game
from ludarium.models import Architecture, NetworkShape

if TYPE_CHECKING:
    from ludarium.configs.schema import Network as NetworkConfig
    from ludarium.models import PolicyValueNetwork


def network_shape(game: Game) -> NetworkShape:
    """The shape that a network for ``game`` must fit."""
    places = None if game.action_places is None else tuple(game.action_places.tolist())
    return NetworkShape(game.observation_shape, game.num_actions, places)


def chosen_architecture(game: Game, config: NetworkConfig) -> Architecture:
    """The architecture of the network that a configuration asks for."""
    from ludarium.models.network import network_size

    if config.module is not None:
        return Architecture(dict(config.options), config.module)
    if config.channels is not None and config.blocks is not None:
        return Architecture({"channels": config.channels, "blocks": config.blocks})
    assert config.size is not None, "the configuration makes sure of it"
    channels, blocks = network_size(network_shape(game), config.size)
    return Architecture({"channels": channels, "blocks": blocks})


def fresh_network(game: Game, config: NetworkConfig) -> PolicyValueNetwork:
    """A network to train for ``game``, with fresh random weights.

    Raises:
        ValueError: the configuration names a network of one's own that is not registered, that does
            not fit its options, or that does not answer as it must.
    """
    from ludarium.models.architecture import check_network, make_network

    shape, architecture = network_shape(game), chosen_architecture(game, config)
    network = make_network(shape, architecture)
    if architecture.module is not None:
        check_network(network, shape, architecture)
    return network
