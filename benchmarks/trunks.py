"""Trunks to compare with the networks of `ludarium.models`: same stem and heads, other blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ludarium.envs.engine.game import Game
from ludarium.envs.obelisk import rules as obelisk_rules
from ludarium.envs.osiron.board import CIRCLE_SPACES, PAIR_ENDS, PLACES, SPACE_CELLS
from ludarium.models.network import (
    Output,
    PolicyValueNetwork,
    build_network,
)
from ludarium.training.networks import network_shape

#: Makes a network of so many channels.
Make = Callable[[int], PolicyValueNetwork]


def candidates(game: Game) -> dict[str, tuple[Make, str]]:
    """By name: how to make the network, and what its blocks are."""
    if game.name == "obelisk":
        return {
            "perceptron": (_present(game, 3), "3 residual blocks, all features in one row"),
            "sets": (
                lambda channels: _Towers(game, channels, attention=False),
                "towers read by one shared encoder, then 3 residual blocks",
            ),
            "attention": (
                lambda channels: _Towers(game, channels, attention=True),
                "2 transformer blocks over three tokens: own tower, other tower, the rest",
            ),
        }
    kinds = {
        "convolution": (_present(game, 3), "3 blocks of 3 x 3 convolutions"),
        "attention": (
            lambda channels: _with_blocks(
                game, channels, [_Attention(channels) for _ in range(2)], positions=True
            ),
            "2 transformer blocks over the cells, with learnt positions",
        ),
    }
    if game.name in ("osiron", "onyx"):
        kinds["graph"] = (
            lambda channels: _with_blocks(
                game, channels, [_GraphBlock(channels, _relations(game)) for _ in range(3)]
            ),
            "3 blocks of graph convolutions over the lines of the board",
        )
    return kinds


def _present(game: Game, blocks: int) -> Make:
    return lambda channels: build_network(network_shape(game), channels, blocks)


def _with_blocks(
    game: Game, channels: int, blocks: list[nn.Module], positions: bool = False
) -> PolicyValueNetwork:
    network = build_network(network_shape(game), channels, 0)
    if positions:
        blocks = [_Positions(channels, game.observation_shape[1:]), *blocks]
    network.blocks = nn.Sequential(*blocks)
    return network


# Graphs.


def _relations(game: Game) -> Tensor:
    """Which cells of the observation are joined, and how: float32 [R, cells, cells].

    Entry [r, i, j] weighs what cell j gives to cell i; the weights of a cell sum to 1 or 0.
    """
    pairs = _osiron_pairs() if game.name == "osiron" else _onyx_pairs(game)
    cells = int(np.prod(game.observation_shape[1:]))
    relations = np.zeros((len(pairs), cells, cells), np.float32)
    for relation, joined in zip(relations, pairs, strict=True):
        for one, other in joined:
            relation[one, other] = 1
        relation /= np.maximum(1, relation.sum(axis=1, keepdims=True))
    return torch.from_numpy(relations)


def _osiron_pairs() -> list[list[tuple[int, int]]]:
    """Neighbours to the left, to the right and across the rows; spaces with a common circle."""
    left, right, across = [], [], []
    for lower, higher in PAIR_ENDS:
        low, high = SPACE_CELLS[lower], SPACE_CELLS[higher]
        if PLACES[lower][0] == PLACES[higher][0]:
            left.append((high, low))
            right.append((low, high))
        else:
            across += [(low, high), (high, low)]
    circles = [
        (SPACE_CELLS[one], SPACE_CELLS[other])
        for circle in CIRCLE_SPACES
        for one in circle
        for other in circle
        if one != other
    ]
    return [left, right, across, circles]


def _onyx_pairs(game: Game) -> list[list[tuple[int, int]]]:
    """Lines along files, along ranks and diagonals; from corners to midpoints and back.

    The cell of a midpoint is that of its square's lower left corner.
    """
    size = game.observation_shape[1]
    corners = size**2
    kinds: list[list[tuple[int, int]]] = [[], [], [], [], []]
    files, ranks, diagonals, to_midpoints, to_corners = kinds
    for place, row in enumerate(game.tables["neighbours"][0].astype(int)):
        for near in set(row.tolist()) - {place}:
            pair = place % corners, near % corners
            if place >= corners:
                to_midpoints.append(pair)
            elif near >= corners:
                to_corners.append(pair)
            elif abs(near - place) == size:
                files.append(pair)
            else:
                (ranks if abs(near - place) == 1 else diagonals).append(pair)
    return kinds


class _GraphConvolution(nn.Module):
    """A weight matrix for the cell itself and one for each relation (R-GCN).

    Schlichtkrull et al., "Modeling Relational Data with Graph Convolutional Networks", 2018.
    """

    mixing: Tensor

    def __init__(self, channels: int, relations: Tensor) -> None:
        super().__init__()
        cells = relations.shape[1]
        relations = torch.cat([torch.eye(cells)[None], relations])
        # [relation and giving cell, taking cell], so that one product sums over both.
        mixing = relations.transpose(1, 2).reshape(-1, cells)
        self.register_buffer("mixing", mixing, persistent=False)
        self.weights = nn.Conv2d(channels, len(relations) * channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        given = self.weights(x).reshape(-1, x.shape[1], len(self.mixing))
        return self.norm((given @ self.mixing).unflatten(2, x.shape[2:]))


class _GraphBlock(nn.Module):
    """Two graph convolutions around a skip connection, with a global bias in between."""

    def __init__(self, channels: int, relations: Tensor) -> None:
        super().__init__()
        self.first = _GraphConvolution(channels, relations)
        self.second = _GraphConvolution(channels, relations)
        self.bias = nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first(x))
        pooled = torch.cat([y.mean((2, 3)), y.amax((2, 3))], dim=1)
        y = y + self.bias(pooled)[:, :, None, None]
        return F.relu(x + self.second(y))


# Attention.


class _Positions(nn.Module):
    """Adds a learnt vector to each cell."""

    def __init__(self, channels: int, board: tuple[int, ...]) -> None:
        super().__init__()
        self.vectors = nn.Parameter(0.1 * torch.randn(channels, *board))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.vectors


class _Transformer(nn.Module):
    """Attention and a two-layer perceptron on tokens [B, N, C], both residual, normalised before.

    Vaswani et al., "Attention Is All You Need", 2017; Xiong et al., "On Layer Normalization in
    the Transformer Architecture", 2020.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        most = max(1, channels // 16)
        self.heads = next(heads for heads in range(most, 0, -1) if channels % heads == 0)
        self.depth = channels // self.heads
        self.first_norm, self.second_norm = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.queries, self.keys, self.values = (nn.Linear(channels, channels) for _ in range(3))
        self.mix = nn.Linear(channels, channels)
        self.perceptron = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.first_norm(x)
        queries, keys, values = (
            part(y).unflatten(2, (self.heads, self.depth)).transpose(1, 2)
            for part in (self.queries, self.keys, self.values)
        )
        weights = torch.softmax(queries @ keys.transpose(2, 3) / sqrt(self.depth), dim=-1)
        x = x + self.mix((weights @ values).transpose(1, 2).flatten(2))
        return x + self.perceptron(self.second_norm(x))


class _Attention(nn.Module):
    """A transformer block over the cells of a board."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.block = _Transformer(channels)

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[2:]
        tokens = self.block(x.flatten(2).transpose(1, 2))
        return tokens.transpose(1, 2).unflatten(2, (height, width))


# Obelisk's towers.


class _Towers(PolicyValueNetwork):
    """One encoder for both towers, another one for the rest; then attention, or a perceptron.

    Sharing the encoder is as in Zaheer et al., "Deep Sets", 2017; the towers stay apart, since
    one is one's own.
    """

    def __init__(self, game: Game, channels: int, attention: bool) -> None:
        super().__init__()
        (features,) = game.observation_shape
        self.tower = obelisk_rules.OTHER_TOWER - obelisk_rules.OWN_TOWER
        self.encoder = nn.Sequential(
            nn.Linear(self.tower, channels), nn.ReLU(), nn.Linear(channels, channels)
        )
        self.rest = nn.Linear(features - 2 * self.tower, channels)
        self.transformers = nn.Sequential(*[_Transformer(channels) for _ in range(2)])
        width = 3 * channels
        if attention:
            self.stem: nn.Module = nn.Identity()
            self.blocks = nn.ModuleList()
            self.whose = nn.Parameter(0.1 * torch.randn(2, channels))
        else:
            self.transformers = nn.Sequential()
            self.stem = nn.Linear(width, channels)
            width = channels
            self.blocks = nn.ModuleList(
                nn.Sequential(
                    nn.LayerNorm(channels),
                    nn.Linear(channels, channels),
                    nn.ReLU(),
                    nn.Linear(channels, channels),
                )
                for _ in range(3)
            )
        self.attention = attention
        self.norm = nn.LayerNorm(width)
        self.policy = nn.Linear(width, game.num_actions)
        self.outcome = nn.Linear(width, 3)
        self.score = nn.Linear(width, 1)

    def forward(self, observation: Tensor) -> Output:
        towers = self.encoder(observation[:, : 2 * self.tower].unflatten(1, (2, self.tower)))
        if self.attention:
            towers = towers + self.whose
        tokens = torch.cat([towers, self.rest(observation[:, 2 * self.tower :])[:, None]], dim=1)
        x = self.stem(self.transformers(tokens).flatten(1))
        for block in self.blocks:
            x = x + block(x)
        x = F.relu(self.norm(x))
        return Output(self.policy(x), self.outcome(x), torch.tanh(self.score(x)).flatten())
