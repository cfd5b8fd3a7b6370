"""Checkpoints of untrained networks, networks as after training, and the shipped ladders."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ludarium.arena.ladder import ladder_beside
from ludarium.envs import GAMES, Game
from ludarium.models import Architecture, Checkpoint, build_network
from ludarium.training.agents.checkpoints import shipped_agents
from ludarium.training.networks import network_shape

#: The ladders of each game; the default agent's comes first.
LADDERS = [
    ladder
    for name in GAMES
    for agent in shipped_agents(name)
    if (ladder := ladder_beside(agent)).is_file()
]


def tiny_checkpoint(game: Game, /, channels: int = 4, **others: Any) -> Checkpoint:
    """A checkpoint with a network of one block for a game; ``others`` are further fields."""
    shape = network_shape(game)
    fields = {
        "game": game.name,
        "version": game.version,
        "options": dict(game.options),
        "shape": shape,
        "architecture": Architecture({"channels": channels, "blocks": 1}),
        "step": 0,
        "network": build_network(shape, channels, 1),
    }
    return Checkpoint(**{**fields, **others})


def in_use(network: nn.Module) -> Any:
    """The network with statistics and weights as after training: no layer is without effect."""
    for name, value in network.state_dict().items():
        if name.endswith("running_mean"):
            value.copy_(0.1 * torch.randn_like(value))
        elif name.endswith("running_var"):
            value.copy_(0.5 + torch.rand_like(value))
        elif value.dim() == 1 and value.is_floating_point():
            value.add_(0.1 * torch.randn_like(value))
    return network.eval()
