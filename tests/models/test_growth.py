"""Larger networks that begin as smaller ones."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from ludarium.envs import make_game
from ludarium.models.architecture import OwnNetwork
from ludarium.models.family import FamilyNetwork
from ludarium.models.growth import grow
from ludarium.models.network import build_network
from ludarium.training.networks import network_shape
from tests.checkpoints import in_use

SIZES = [(8, 2, 8, 4), (8, 3, 20, 3), (6, 1, 40, 5), (24, 0, 34, 1)]  # channels, blocks; of both


def of_game(name, channels, blocks, **options):
    return build_network(network_shape(make_game(name, **options)), channels, blocks)


def family(channels, blocks):
    shape = network_shape(make_game("onyx", size=6))
    return FamilyNetwork(shape, channels, blocks, features=2)


MAKERS = {
    "corso": lambda channels, blocks: of_game("corso", channels, blocks, size=4),
    "onyx": lambda channels, blocks: of_game("onyx", channels, blocks, size=6, swap_rule=True),
    "osiron": lambda channels, blocks: of_game("osiron", channels, blocks),
    "family": family,
}


def outputs(network, seed=2):
    shape = network.shape.observation if isinstance(network, FamilyNetwork) else network.observed
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        return network.eval()(torch.rand(16, *shape, generator=generator))


def pair(kind, sizes):
    first, second = (MAKERS[kind](*size) for size in (sizes[:2], sizes[2:]))
    game = {"corso": ("corso", {"size": 4}), "onyx": ("onyx", {"size": 6, "swap_rule": True})}
    name, options = game.get(kind, ("osiron", {}))
    for network in (first, second):
        network.observed = make_game(name, **options).observation_shape
    return in_use(first), second


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_the_larger_network_begins_as_the_smaller_one(kind, sizes):
    small, large = pair(kind, sizes)
    before = outputs(large)
    grow(small, large)
    for ours, theirs, fresh in zip(outputs(large), outputs(small), before, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        assert not torch.allclose(fresh, theirs, atol=1e-3)


def test_options_of_a_family_have_their_old_weights():
    small, large = in_use(family(8, 2)), family(12, 3)
    grow(small, large)
    shape = network_shape(make_game("onyx", size=6))
    small.observed = shape.observation
    members = [network.member(shape, [0.5, 1.0]) for network in (small, large)]
    for member in members:
        member.observed = shape.observation
    for ours, theirs in zip(*(outputs(member) for member in members), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["corso", "family"])
def test_all_that_is_new_learns(kind):
    _, large = pair(kind, (8, 2, 12, 3))
    grow(MAKERS[kind](8, 2), large)
    large.train()
    optimizer = torch.optim.AdamW(large.parameters(), lr=1e-3, weight_decay=0.0)
    shape = large.shape.observation if kind == "family" else large.observed
    start = {name: value.clone() for name, value in large.named_parameters()}
    for _ in range(3):
        policy, outcome, score = large(torch.rand(32, *shape))
        loss = (policy - 1).square().mean() + (outcome - 2).square().mean() + score.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    stem = (large.network if kind == "family" else large).stem[0]
    for name, value in large.named_parameters():
        if name != "options.weight":  # seen by `together` alone
            changed = (value != start[name]).double().mean()
            assert changed > 0.6, name
    assert stem.weight.grad[8:].abs().max() > 0, "new channels"


def test_a_perceptron_grows_in_blocks():
    small, large = of_game("obelisk", 16, 1), of_game("obelisk", 16, 3)
    for network in (small, large):
        network.observed = make_game("obelisk").observation_shape
    grow(in_use(small), large)
    for ours, theirs in zip(outputs(large), outputs(small), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="a perceptron grows in blocks only"):
        grow(small, of_game("obelisk", 32, 1))


@pytest.mark.parametrize(
    ("small", "large", "told"),
    [
        (("corso", 8, 2), ("corso", 6, 2), "fewer channels or blocks"),
        (("corso", 8, 2), ("corso", 8, 1), "fewer channels or blocks"),
        (("family", 8, 2), ("family", 6, 2), "fewer channels or blocks"),
        (("family", 8, 2), ("family", 8, 1), "fewer channels or blocks"),
        (("corso", 8, 2), ("obelisk", 8, 2), "each into one of its own kind"),
    ],
)
def test_what_cannot_grow_is_refused_and_unchanged(small, large, told):
    first, second = (
        family(*each[1:]) if each[0] == "family" else of_game(*each) for each in (small, large)
    )
    state = copy.deepcopy(second.state_dict())
    with pytest.raises(ValueError, match=told):
        grow(first, second)
    assert all(torch.equal(state[name], value) for name, value in second.state_dict().items())


def test_networks_of_ones_own_do_not_grow():
    own = OwnNetwork("mine:Net", nn.Linear(2, 2))
    with pytest.raises(ValueError, match="only networks of this package grow"):
        grow(own, OwnNetwork("mine:Net", nn.Linear(2, 4)))
