"""One network for all boards and options of a game.

On boards no weight depends on the size: the trunk is convolutional, the policy is read off planes
over the board, and value and score are read off pooled features (Wu, "Accelerating Self-Play
Learning in Go", 2019, section 3.3, and KataGo's docs/KataGoMethods.md: one network for Go boards of
9 x 9 to 19 x 19). The options of a game are inputs that are the same in all of its positions: a
bias of the first layer. A perceptron has them too, but all of its games have observations of one
shape and the same number of actions.

For one game with its options the family gives an ordinary network (`FamilyNetwork.member`), which
is as fast as any other of its size. Only the learner has positions of several games at once. Boards
are not padded: each game's positions go through a layer as a separate batch, and batch
normalisation takes its statistics over all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .layers import action_order, member_weights
from .network import (
    BoardNetwork,
    Output,
    PolicyValueNetwork,
    ResidualBlock,
    VectorNetwork,
    build_network,
    check_sizes,
    pool,
)
from .shape import NetworkShape, check_member, check_shape, policy_planes


class Member(NamedTuple):
    """A game with its options as the network knows it.

    Attributes:
        shape: shape of observations and actions.
        features: features of the options, see `ludarium.models.options.option_features`.
    """

    shape: NetworkShape
    features: Sequence[float]


class PooledNetwork(BoardNetwork):
    """A board network whose value and score heads see pooled features only."""

    def __init__(self, shape: NetworkShape, channels: int, blocks: int) -> None:
        super().__init__(shape, channels, blocks, pooled=True)
        planes = shape.observation[0]
        self.stem[0] = nn.Conv2d(planes, channels, 3, padding=1)  # the options replace its bias


class FamilyNetwork(PolicyValueNetwork):
    """The weights that all games of a family share; see the module.

    Args:
        shape: shape of the game with the most planes, both of the observation and of the policy.
        channels, blocks: size of the trunk.
        features: how many features options have.
        members: the games that `together` evaluates.

    Raises:
        ValueError: the sizes make no network, there are no features, or no family has such shapes.
    """

    def __init__(
        self,
        shape: NetworkShape,
        channels: int,
        blocks: int,
        features: int,
        members: Sequence[Member] = (),
    ) -> None:
        super().__init__()
        check_sizes(channels, blocks)
        if features < 1:
            raise ValueError(f"a family has at least one feature of its options, not {features}")
        self.shape = shape
        self.sizes = (channels, blocks)
        self.network = _member_network(shape, channels, blocks)
        if isinstance(self.network, PooledNetwork):
            self.network.stem[0].register_parameter("bias", None)
        self.options = nn.Linear(features, channels, bias=False)
        self.members = [Member(*member) for member in members]
        for number, member in enumerate(self.members):
            check_member(shape, member.shape)
            self.register_buffer(
                f"features_{number}", torch.tensor([member.features]).float(), persistent=False
            )
            if isinstance(self.network, PooledNetwork):
                order = torch.from_numpy(_action_order(shape, member.shape))
                self.register_buffer(f"order_{number}", order, persistent=False)

    def forward(self, observation: Tensor) -> Output:
        """Evaluate float observations [B, *shape.observation] with all features of options 0."""
        return self.network(observation)

    def together(self, observations: Sequence[tuple[int, Tensor]]) -> list[Output]:
        """Evaluate positions of several games, as one batch for the normalisation.

        Args:
            observations: pairs of a member's number and float [B, *its shape.observation], B > 0.
        """
        numbers = [number for number, _ in observations]
        inputs = [observation for _, observation in observations]
        biases = [self.options(self.get_buffer(f"features_{number}"))[0] for number in numbers]
        network = self.network
        if isinstance(network, VectorNetwork):
            stem = network.stem
            return [
                network.after_stem(F.linear(x, stem.weight, stem.bias + bias))
                for x, bias in zip(inputs, biases, strict=True)
            ]
        assert isinstance(network, PooledNetwork)
        convolution, normalisation = network.stem.parts
        xs = [
            F.conv2d(x, convolution.weight[:, : x.shape[1]], bias, padding=1)
            for x, bias in zip(inputs, biases, strict=True)
        ]
        xs = [F.relu(x) for x in _normalised(normalisation, xs)]
        for block in network.blocks:
            assert isinstance(block, ResidualBlock)
            xs = _through(block, xs)
        return [
            network.heads(x, self.get_buffer(f"order_{number}"))
            for number, x in zip(numbers, xs, strict=True)
        ]

    @torch.no_grad()
    def member(self, shape: NetworkShape, features: Sequence[float]) -> PolicyValueNetwork:
        """The network of one game; it has a copy of the weights, and does not learn.

        Raises:
            ValueError: no game of this family has this shape and number of features.
        """
        device = self.options.weight.device
        own = {name: value.cpu().numpy() for name, value in self.state_dict().items()}
        weights = {
            name: torch.from_numpy(np.array(array))
            for name, array in member_weights(own, self.shape, shape, features).items()
        }
        with torch.device(device):
            network = _member_network(shape, *self.sizes)
        network.load_state_dict(weights)
        return network.train(self.training).requires_grad_(False)


def _member_network(
    shape: NetworkShape, channels: int, blocks: int
) -> PooledNetwork | VectorNetwork:
    if len(shape.observation) == 3:
        check_shape(shape)
        policy_planes(shape)
        return PooledNetwork(shape, channels, blocks)
    network = build_network(shape, channels, blocks)
    assert isinstance(network, VectorNetwork)
    return network


def _action_order(family: NetworkShape, member: NetworkShape) -> np.ndarray:
    """The index in the family's policy of each action's logit for a member; int64 [A]."""
    _, height, width = member.observation
    planes, _ = policy_planes(family)
    return action_order(np.array(member.action_places), height * width, planes)


def _through(block: ResidualBlock, xs: list[Tensor]) -> list[Tensor]:
    """`ResidualBlock.forward` for several boards."""
    convolution, normalisation = block.first.parts
    ys = [F.relu(y) for y in _normalised(normalisation, [convolution(x) for x in xs])]
    if block.bias is not None:
        ys = [y + block.bias(pool(y))[:, :, None, None] for y in ys]
    convolution, normalisation = block.second.parts
    ys = _normalised(normalisation, [convolution(y) for y in ys])
    return [F.relu(x + y) for x, y in zip(xs, ys, strict=True)]


def _normalised(normalisation: nn.BatchNorm2d, xs: list[Tensor]) -> list[Tensor]:
    """Batch normalisation of several boards [B, C, H, W] with the statistics of all their cells."""
    rows = [x.permute(0, 2, 3, 1).reshape(-1, x.shape[1]) for x in xs]
    everything = torch.cat(rows)[:, :, None, None]
    parts = normalisation(everything)[:, :, 0, 0].split([len(row) for row in rows])
    return [
        part.reshape(len(x), *x.shape[2:], x.shape[1]).permute(0, 3, 1, 2)
        for part, x in zip(parts, xs, strict=True)
    ]
