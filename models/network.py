"""Residual policy-value networks for boards and for flat observations.

The trunk is a residual network (He et al. 2016), for boards with global pooling (Wu, "Accelerating
Self-Play Learning in Go", 2019, section 3.3): every other block adds to each channel a bias
computed from the means and maxima over the board, so that the network sees the whole board
early. Heads: policy logits, win/draw/loss logits, and the final score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ludarium.base.messages import quoted

from .layers import Layers, action_order, layers
from .shape import NetworkShape, check_shape


class Output(NamedTuple):
    """A network's outputs for B observations during training, from the observing player's side.

    Outside training they become an `Evaluation`, with probabilities instead of outcome logits.

    Attributes:
        policy: float [B, A], logits of all actions, legal or not.
        outcome: float [B, 3], logits of win, draw, loss.
        score: float [B], final score divided by the largest possible score, in [-1, 1]; None from
            a network without one.
    """

    policy: Tensor
    outcome: Tensor
    score: Tensor | None


def expected_value(outcome: Tensor) -> Tensor:
    """Win probability minus loss probability [B], from outcome logits [B, 3]."""
    probabilities = F.softmax(outcome, dim=1)
    return probabilities[:, 0] - probabilities[:, 2]


class _Convolution(nn.Sequential):
    """3 x 3 convolution, batch normalisation, and the modules ``after`` them."""

    def __init__(self, inputs: int, outputs: int, *after: nn.Module) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), *after
        )

    @property
    def parts(self) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
        """The convolution and its normalisation."""
        convolution, normalisation, *_ = self
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(normalisation, nn.BatchNorm2d)
        return convolution, normalisation


def channels_last(observations: Tensor) -> Tensor:
    """The same observations [B, ...]; boards in channels-last memory format."""
    if observations.dim() == 4:
        return observations.contiguous(memory_format=torch.channels_last)
    return observations


def pool(x: Tensor) -> Tensor:
    """Means and maxima over the board: [B, C, H, W] -> [B, 2 C]."""
    return torch.cat([x.mean((2, 3)), x.amax((2, 3))], dim=1)


class ResidualBlock(nn.Module):
    """Two convolutions within a skip connection; with ``pooled``, a global bias between them."""

    def __init__(self, channels: int, pooled: bool) -> None:
        super().__init__()
        self.first = _Convolution(channels, channels)
        self.second = _Convolution(channels, channels)
        self.bias = nn.Linear(2 * channels, channels) if pooled else None

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, H, W] -> [B, C, H, W]."""
        y = F.relu(self.first(x))
        if self.bias is not None:
            y = y + self.bias(pool(y))[:, :, None, None]
        return F.relu(x + self.second(y))


class _FlatPolicy(nn.Module):
    """Logits of actions without places on the board, from a dense layer over the whole board."""

    def __init__(self, inputs: int, num_actions: int) -> None:
        super().__init__()
        self.logits = nn.Linear(inputs, num_actions)

    def forward(self, cells: Tensor, pooled: Tensor, order: Tensor | None = None) -> Tensor:
        """[B, hidden, H, W] and [B, 2 C] -> [B, A]."""
        return self.logits(cells.flatten(1))


class PlacedPolicy(nn.Module):
    """Logits read off planes over the board at the places of the actions.

    The few actions without a place (-1) are read off the pooled board.

    Args:
        hidden: channels of the cells that it reads.
        cells: how many cells the board has.
        pooled: how many numbers the pooled board has.
        places: int [A], see `NetworkShape.action_places`; one at least is not -1.
    """

    order: Tensor

    def __init__(self, hidden: int, cells: int, pooled: int, places: np.ndarray) -> None:
        super().__init__()
        planes = int(places.max()) // cells + 1
        without = places < 0
        self.planes = nn.Conv2d(hidden, planes, 1)
        self.others = nn.Linear(pooled, int(without.sum())) if without.any() else None
        order = action_order(places, cells, planes)
        self.register_buffer("order", torch.from_numpy(order), persistent=False)
        self.in_order = np.array_equal(order, np.arange(planes * cells + without.sum()))

    def forward(self, cells: Tensor, pooled: Tensor, order: Tensor | None = None) -> Tensor:
        """[B, hidden, H, W] and [B, 2 C] -> [B, A].

        ``order``, int64 [A], is `action_order` for the board; default: the network's own board.
        """
        logits = self.planes(cells).flatten(1)
        if self.others is not None:
            logits = torch.cat([logits, self.others(pooled)], dim=1)
        if order is not None:
            return logits[:, order]
        return logits if self.in_order else logits[:, self.order]


class PolicyValueNetwork(nn.Module):
    """Base class of the networks."""

    def forward(self, observation: Tensor) -> Output:
        """Evaluate float observations [B, *shape.observation]."""
        raise NotImplementedError


class InferenceModule(nn.Module):
    """A network in the form used outside training.

    Args:
        network: the network, in any mode.
        has_score: whether the answers include the score, if the network has one.
    """

    def __init__(self, network: nn.Module, has_score: bool = True) -> None:
        super().__init__()
        self.network = network
        self.has_score = has_score

    def forward(self, observation: Tensor) -> tuple[Tensor, ...]:
        """Logits [B, A], probabilities of win, draw, loss [B, 3], values [B], scores [B] if any."""
        output = self.network(observation)
        answers = (output.policy, F.softmax(output.outcome, dim=1), expected_value(output.outcome))
        if output.score is None or not self.has_score:
            return answers
        return (*answers, output.score)


class BoardNetwork(PolicyValueNetwork):
    """Convolutional trunk for observations (planes, height, width).

    Args:
        shape, channels, pooled: see below.
        blocks: number of residual blocks.

    Attributes:
        shape: the shape that it was made for.
        channels: channels of the trunk.
        pooled: whether the value head reads pooled features only.
        stem, blocks: the trunk; all other modules belong to the heads.
    """

    def __init__(
        self, shape: NetworkShape, channels: int, blocks: int, pooled: bool = False
    ) -> None:
        super().__init__()
        planes, height, width = shape.observation
        self.shape = shape
        self.channels, self.pooled = channels, pooled
        self.stem = _Convolution(planes, channels, nn.ReLU())
        self.blocks = nn.Sequential(
            *[ResidualBlock(channels, pooled=index % 2 == 1) for index in range(blocks)]
        )
        hidden = max(16, channels // 2)
        self.policy_cells = nn.Conv2d(channels, hidden, 1)
        if shape.action_places is None:
            self.policy: nn.Module = _FlatPolicy(hidden * height * width, shape.num_actions)
        else:
            self.policy = PlacedPolicy(
                hidden, height * width, 2 * channels, np.array(shape.action_places)
            )
        self.value_cells = nn.Conv2d(channels, hidden, 1)
        seen = 2 * hidden if pooled else hidden * height * width
        self.value_hidden = nn.Linear(2 * channels + seen, 2 * channels)
        self.outcome = nn.Linear(2 * channels, 3)
        self.score = nn.Linear(2 * channels, 1)

    def forward(self, observation: Tensor) -> Output:
        """Evaluate float observations [B, planes, height, width]."""
        return self.heads(self.trunk(observation))

    def trunk(self, observation: Tensor) -> Tensor:
        """Features for the heads: [B, planes, height, width] -> [B, channels, height, width]."""
        return self.blocks(self.stem(observation))

    def heads(self, x: Tensor, order: Tensor | None = None) -> Output:
        """The outputs of the heads, from the features that `trunk` returned.

        Args:
            x: float [B, channels, height, width].
            order: order of the actions of another board, see `PlacedPolicy`.
        """
        pooled = pool(x)
        policy = self.policy(F.relu(self.policy_cells(x)), pooled, order)
        cells = F.relu(self.value_cells(x))
        value_features = pool(cells) if self.pooled else cells.flatten(1)
        hidden = F.relu(self.value_hidden(torch.cat([pooled, value_features], dim=1)))
        return Output(policy, self.outcome(hidden), torch.tanh(self.score(hidden)).flatten())


class VectorNetwork(PolicyValueNetwork):
    """Residual multi-layer perceptron for observations (features,).

    Args:
        shape: see below.
        channels: width of the trunk.
        blocks: number of residual blocks.

    Attributes:
        shape: the shape that it was made for.
        stem, blocks: the trunk; all other modules belong to the heads.
    """

    def __init__(self, shape: NetworkShape, channels: int, blocks: int) -> None:
        super().__init__()
        self.shape = shape
        (features,) = shape.observation
        self.stem = nn.Linear(features, channels)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(channels),
                nn.Linear(channels, channels),
                nn.ReLU(),
                nn.Linear(channels, channels),
            )
            for _ in range(blocks)
        )
        self.norm = nn.LayerNorm(channels)
        self.policy = nn.Linear(channels, shape.num_actions)
        self.outcome = nn.Linear(channels, 3)
        self.score = nn.Linear(channels, 1)

    def forward(self, observation: Tensor) -> Output:
        """Evaluate float observations [B, features]."""
        return self.after_stem(self.stem(observation))

    def after_stem(self, x: Tensor) -> Output:
        """The outputs, from the stem's output [B, channels]."""
        for block in self.blocks:
            x = x + block(x)
        x = F.relu(self.norm(x))
        return Output(self.policy(x), self.outcome(x), torch.tanh(self.score(x)).flatten())


def layers_of(network: BoardNetwork | VectorNetwork) -> Layers:
    """The network as data; arrays share memory with its weights if these need no change."""
    weights = {name: value.detach().cpu().numpy() for name, value in network.state_dict().items()}
    return layers(weights, network.shape)


#: Channels and blocks of the named sizes, by the number of an observation's axes:
#: boards and flat observations.
SIZES: dict[int, dict[str, tuple[int, int]]] = {
    3: {"tiny": (16, 2), "small": (32, 3), "base": (64, 5)},
    1: {"tiny": (128, 2), "small": (256, 3), "base": (512, 4)},
}


def network_size(shape: NetworkShape, size: str) -> tuple[int, int]:
    """Channels and blocks of a named size, for the kind of network that fits ``shape``.

    Raises:
        ValueError: there is no such size, or no network for such observations.
    """
    sizes = SIZES.get(len(shape.observation))
    if sizes is None:
        raise ValueError(f"no network for observations {shape.observation}; needed: 1 or 3 axes")
    if size not in sizes:
        raise ValueError(f"a network's size is {quoted(size)}; accepted: {', '.join(sizes)}")
    return sizes[size]


def build_network(shape: NetworkShape, channels: int, blocks: int) -> PolicyValueNetwork:
    """Make a network with fresh random weights, of the kind that fits the observation.

    Args:
        shape: shape of observations and actions.
        channels: width of the trunk.
        blocks: number of residual blocks.

    Raises:
        ValueError: there is no network of these sizes, or for this shape.
    """
    check_sizes(channels, blocks)
    check_shape(shape)
    kind = BoardNetwork if len(shape.observation) == 3 else VectorNetwork
    return kind(shape, channels, blocks)


def check_sizes(channels: int, blocks: int) -> None:
    """Raise ``ValueError`` for sizes that make no network."""
    if channels < 1 or blocks < 0:
        raise ValueError(f"a network needs channels >= 1 and blocks >= 0, not {channels}, {blocks}")
