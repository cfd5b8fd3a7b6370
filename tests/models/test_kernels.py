"""Compiled networks: they answer as torch does, on every board, in both precisions, anywhere."""

from __future__ import annotations

import json
import platform
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from ludarium.models import NetworkShape, build_network
from ludarium.models.family import FamilyNetwork
from ludarium.models.kernels import CompiledNetwork, ranges_of
from ludarium.models.kernels.packing import WRITTEN, pack
from ludarium.models.kernels.target import Target
from ludarium.models.network import layers_of
from tests.checkpoints import in_use
from tests.games import slow_but
from tests.processes import ROOT, python


def board(height: int, width: int, planes: int = 3) -> NetworkShape:
    """Two planes of actions, out of order, and two actions without a place."""
    places = [*range(2 * height * width - 1, -1, -1), -1, -1]
    return NetworkShape((planes, height, width), len(places), tuple(places))


FLAT = NetworkShape((17,), 30)
NO_PLACES = NetworkShape((3, 4, 6), 30)
#: Rows of one part to five, and boards with one row or one column.
BOARDS = [(1, 1), (1, 5), (4, 1), (2, 2), (5, 6), (3, 7), (6, 9), (2, 13), (3, 19), (2, 25)]


def observations_of(shape: NetworkShape, count: int) -> np.ndarray:
    random = np.random.default_rng(count)
    observations = (random.random((count, *shape.observation)) < 0.3).astype(np.float32)
    observations[:, 0] *= 0.25  # not all are 0 or 1
    return observations


def assert_close(found, network, observations, **tolerance):
    with torch.inference_mode():
        policy, outcome, score = network(torch.from_numpy(observations))
    np.testing.assert_allclose(found.logits, policy, **tolerance)
    np.testing.assert_allclose(found.wdl, outcome.softmax(1), **tolerance)
    np.testing.assert_allclose(found.score, score, **tolerance)


def check_precisions(network, shape):
    """In float32 as torch; in eight bits near it, but not the same; alone as among others."""
    observations = observations_of(shape, 19)
    layers = layers_of(network)
    exact = CompiledNetwork(layers)
    assert_close(exact(observations), network, observations, rtol=1e-4, atol=2e-5)
    ranges = ranges_of(layers, observations)
    integer = CompiledNetwork(layers, ranges)
    assert_close(integer(observations), network, observations, rtol=0.1, atol=0.06)
    if len(ranges):
        assert np.abs(integer(observations).logits - exact(observations).logits).max() > 1e-5
    for evaluate in (exact, integer):
        together = evaluate(observations)
        for n in range(0, len(observations), 6):
            for alone, each in zip(evaluate(observations[n : n + 1]), together, strict=True):
                np.testing.assert_array_equal(alone[0], each[n])


@pytest.mark.parametrize("size", BOARDS, ids=lambda size: "x".join(map(str, size)))
def test_boards_of_every_size_are_evaluated_as_by_torch(size):
    shape = board(*size)
    check_precisions(in_use(build_network(shape, 16, 2)), shape)


@pytest.mark.parametrize("channels", [1, 7, 24, 32, 48, 64, 80])
def test_boards_are_evaluated_with_any_number_of_channels(channels):
    shape = board(4, 5)
    check_precisions(in_use(build_network(shape, channels, 3)), shape)


@pytest.mark.parametrize("channels", [5, 24, 128, 200])
def test_perceptrons_are_evaluated_as_by_torch(channels):
    check_precisions(in_use(build_network(FLAT, channels, 2)), FLAT)


@pytest.mark.parametrize(
    "shape", [NO_PLACES, FLAT, board(3, 3)], ids=["no places", "flat", "board"]
)
@pytest.mark.parametrize("blocks", [0, 1])
def test_other_heads_and_small_trunks(shape, blocks):
    check_precisions(in_use(build_network(shape, 24, blocks)), shape)


def test_members_of_a_family_are_evaluated_as_by_torch():
    family = in_use(FamilyNetwork(board(5, 5, planes=4), 24, 3, features=2))
    for shape in (board(3, 4), board(7, 7, planes=4)):
        check_precisions(family.member(shape, [0.5, -1.0]), shape)


def test_observations_of_another_shape_are_refused():
    shape = board(5, 5)
    evaluate = CompiledNetwork(layers_of(build_network(shape, 8, 1)))
    assert evaluate(np.zeros((0, 3, 5, 5), np.float32)).logits.shape == (0, 52)
    for wrong in ((2, 3, 5, 4), (3, 5, 5), (2, 4, 5, 5)):
        with pytest.raises(ValueError, match=r"takes observations \[n, 3, 5, 5\], not \["):
            evaluate(np.zeros(wrong, np.float32))


def test_several_threads_may_ask_at_once():
    shape = board(5, 5)
    evaluate = CompiledNetwork(layers_of(in_use(build_network(shape, 32, 2))))
    batches = [observations_of(shape, count) for count in (1, 7, 16)]
    expected = [evaluate(batch).logits for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: evaluate(batches[n]).logits, [0, 1, 2] * 30))
    for n, logits in enumerate(found):
        np.testing.assert_array_equal(logits, expected[n % 3])


SHAPES = {"board": board(6, 7), "flat": FLAT}


def answers_in_eight_bits(name: str) -> list[float]:
    """The answers of a network of one of `SHAPES`, one after the other."""
    shape = SHAPES[name]
    torch.manual_seed(1)
    layers = layers_of(in_use(build_network(shape, 40, 2)))
    observations = observations_of(shape, 19)
    found = CompiledNetwork(layers, ranges_of(layers, observations))(observations)
    return np.concatenate([each.ravel() for each in found]).tolist()


@pytest.mark.parametrize("name", slow_but(["flat"], SHAPES))
def test_two_products_at_a_time_give_the_same_sums_as_four(name):
    """So an older processor differs from this one by the rounding of float32 alone."""
    program = f"from tests.models.test_kernels import *; print(answers_in_eight_bits({name!r}))"
    older = python(program, check=True, cwd=ROOT, environment={"LUDARIUM_PROCESSOR": "v2"})
    np.testing.assert_allclose(
        json.loads(older.stdout), answers_in_eight_bits(name), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("shape", [board(6, 7), FLAT], ids=["board", "flat"])
def test_processors_share_a_network_but_for_the_order_of_its_weights(shape):
    layers = layers_of(in_use(build_network(shape, 40, 2)))
    ranges = ranges_of(layers, observations_of(shape, 19))
    bytes_, pairs = np.dtype(np.uint8), np.dtype(np.int16)
    first, *others = (
        pack(layers, ranges, target)._asdict()
        for target in (Target(4, 2, 4, pairs), Target(16, 2, 8, bytes_), Target(1, 1, 1, bytes_))
    )
    for other in others:
        for name in first.keys() - set(WRITTEN):
            mine, its = first[name], other[name]
            if name in ("weights", "head_weights"):
                assert not np.array_equal(mine, its)
                mine, its = np.sort(mine), np.sort(its)
            np.testing.assert_array_equal(mine, its)


def test_ranges_are_what_the_layers_read():
    shape = board(4, 4)
    network = in_use(build_network(shape, 8, 2))
    observations = observations_of(shape, 64)
    read = []
    for block in network.blocks:
        for part in (block.first, block.second):
            part.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    with torch.inference_mode():
        network(torch.from_numpy(observations))
    ranges = ranges_of(layers_of(network), observations)
    least = np.array([min(0, x.min()) for x in read])
    most = np.array([max(0, x.max()) for x in read])
    assert (ranges[:, 0] <= least + 1e-5).all()
    assert (ranges[:, 1] >= most - 1e-5).all()
    np.testing.assert_allclose(ranges[:, 0], least, rtol=2**-7, atol=1e-5)
    np.testing.assert_allclose(ranges[:, 1], most, rtol=2**-7, atol=1e-5)
    assert ranges[3, 0] < 0  # after a pooled bias


@pytest.mark.parametrize("shape", [board(4, 4), FLAT], ids=["board", "flat"])
def test_a_layer_that_reads_nothing_keeps_its_bias_in_eight_bits(shape):
    network = in_use(build_network(shape, 16, 1))
    with torch.no_grad():
        if len(shape.observation) == 3:
            network.stem[1].bias.fill_(-100)
        else:
            network.blocks[0][1].bias.fill_(-100)
    observations = observations_of(shape, 16)
    layers = layers_of(network)
    integer = CompiledNetwork(layers, ranges_of(layers, observations))
    assert_close(integer(observations), network, observations, rtol=0.02, atol=0.02)


def answers():
    """Answers in float32 and in eight bits in turn."""
    found = []
    for shape in (board(3, 7), FLAT):
        torch.manual_seed(0)
        layers = layers_of(in_use(build_network(shape, 24, 2)))
        observations = observations_of(shape, 9)
        for ranges in (None, ranges_of(layers, observations)):
            found += CompiledNetwork(layers, ranges)(observations)
    return found


_SCRIPT = """
import sys
import numpy as np
from tests.models.test_kernels import answers
np.savez(sys.argv[1], *answers())
"""
_OTHERS = ("v2", "v3")


@pytest.mark.slow
@pytest.mark.parametrize("kind", _OTHERS)
def test_other_processors_give_the_same_answers(kind, tmp_path):
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("needs an x86-64 processor")
    path = tmp_path / "there.npz"
    python(_SCRIPT, path, environment={"LUDARIUM_PROCESSOR": kind}, check=True)
    with np.load(path) as found:
        there = list(found.values())
    for number, (mine, other) in enumerate(zip(answers(), there, strict=True)):
        if number % 6 >= 3:  # in eight bits
            np.testing.assert_array_equal(mine, other)
        np.testing.assert_allclose(mine, other, atol=2e-3)  # rounded otherwise, rarely
        assert np.abs(mine - other).mean() < 2e-5


#: A compiled network is made; a torch module is searched with.
NEED_CODE = {
    "network": """
from tests.models.test_kernels import FLAT
from ludarium.models import InferenceEngine, build_network
InferenceEngine(build_network(FLAT, 8, 1), FLAT.observation, 8, "compiled")
""",
    "search": """
import torch
from ludarium.envs import make_game
from ludarium.training.agents import as_agent
class Network(torch.nn.Module):
    def forward(self, seen):
        return torch.zeros(len(seen), 25), torch.zeros(len(seen))
game = make_game("corso")
as_agent(Network(), game, simulations=8).actions(game.start().states)
""",
}


@pytest.mark.parametrize("code", NEED_CODE.values(), ids=NEED_CODE)
def test_what_needs_machine_code_is_refused_without(code):
    run = python(code, environment={"LUDARIUM_CODE": "plain"})
    assert run.stderr.splitlines()[-1] == (
        "ValueError: networks, and searches with them, need machine code: run without "
        "LUDARIUM_CODE=plain"
    )
