"""A larger network that begins as a smaller one: the same outputs, with room to learn more.

Chen, Goodfellow and Shlens, "Net2Net: Accelerating learning via knowledge transfer" (2016), widen
layers and add layers without changing what a network computes. Here new channels read the old ones
through fresh random weights, and no old channel reads them; new blocks come last and add nothing.
The weights by which old channels read new ones start at 0, as do the last ones of new blocks. The
first step of training moves these, and later steps move all.
"""

from __future__ import annotations

from collections.abc import Sized

import torch
from torch import Tensor, nn

from .family import FamilyNetwork
from .network import BoardNetwork, PolicyValueNetwork, ResidualBlock, VectorNetwork


@torch.no_grad()
def grow(small: PolicyValueNetwork, large: PolicyValueNetwork) -> None:
    """Give a network with fresh random weights the function of a smaller one.

    Args:
        small: the small network with its weights.
        large: a network of the same kind with at least as many channels and blocks; it changes.

    Raises:
        ValueError: a network is custom, the two kinds differ, ``large`` is smaller, or a perceptron
            would get more channels, over all of which the network normalises.
    """
    if isinstance(small, FamilyNetwork) and isinstance(large, FamilyNetwork):
        grow(small.network, large.network)
        large.options.weight[: len(small.options.weight)] = small.options.weight
    elif isinstance(small, VectorNetwork) and isinstance(large, VectorNetwork):
        _check_sizes(small.stem.out_features, large.stem.out_features, small.blocks, large.blocks)
        _grow_perceptron(small, large)
    elif isinstance(small, BoardNetwork) and type(small) is type(large):
        _check_sizes(small.channels, large.channels, small.blocks, large.blocks)
        _grow_board_network(small, large)
    else:
        raise ValueError("only networks of this package grow, each into one of its own kind")


def _check_sizes(channels: int, wanted: int, blocks: Sized, wanted_blocks: Sized) -> None:
    if wanted < channels or len(wanted_blocks) < len(blocks):
        raise ValueError("the larger network has fewer channels or blocks than the smaller one")


def _grow_board_network(small: BoardNetwork, large: BoardNetwork) -> None:
    state = large.state_dict()
    pooled = _pooled_inputs(small, large)
    for name, old in small.state_dict().items():
        if not old.dim():
            state[name].copy_(old)
        elif old.dim() == 1:
            state[name][: len(old)].copy_(old)
        else:
            inputs = pooled.get(name.removesuffix(".weight"), torch.arange(old.shape[1]))
            state[name][: len(old)] = 0
            state[name][: len(old), inputs] = old
    for block in list(large.blocks)[len(small.blocks) :]:
        assert isinstance(block, ResidualBlock)
        _, normalisation = block.second.parts
        nn.init.zeros_(normalisation.weight)
        nn.init.zeros_(normalisation.bias)


def _pooled_inputs(small: BoardNetwork, large: BoardNetwork) -> dict[str, Tensor]:
    """For each layer that reads pooled features, the index of each input in the large network.

    Pooled features are the means of all channels and then their maxima.
    """
    few, many = small.channels, large.channels
    channels = torch.cat([torch.arange(few), many + torch.arange(few)])
    found = {"policy.others": channels}
    found |= {f"blocks.{number}.bias": channels for number in range(len(small.blocks))}
    hidden, more = small.value_cells.out_channels, large.value_cells.out_channels
    seen = small.value_hidden.in_features - 2 * few
    if small.pooled:
        values = torch.cat([torch.arange(hidden), more + torch.arange(hidden)])
    else:
        values = torch.arange(seen)  # the cells of each channel in turn
    return found | {"value_hidden": torch.cat([channels, 2 * many + values])}


def _grow_perceptron(small: VectorNetwork, large: VectorNetwork) -> None:
    if small.stem.out_features != large.stem.out_features:
        raise ValueError(
            "a perceptron grows in blocks only: give it as many channels as the smaller one has"
        )
    state = large.state_dict()
    for name, old in small.state_dict().items():
        state[name].copy_(old)
    for block in list(large.blocks)[len(small.blocks) :]:
        assert isinstance(block, nn.Sequential)
        last = block[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
