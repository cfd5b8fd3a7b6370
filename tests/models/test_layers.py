"""Networks as data: their weights, read without torch, are those that torch has."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from ludarium.models import (
    Architecture,
    Checkpoint,
    NetworkShape,
    load_checkpoint,
    make_network,
    save_checkpoint,
)
from ludarium.models.layers import answers, layers, member_weights, weight_shapes
from ludarium.models.weights import load_weights
from tests.checkpoints import in_use
from tests.games import slow_but
from tests.processes import ROOT, python

SHIPPED = sorted((ROOT / "models" / "shipped").rglob("*.safetensors"))
BOARD = NetworkShape((5, 4, 4), 18, (*range(16), -1, -1))
PLACED = NetworkShape((5, 2, 2), 8, (*range(8),))
NETWORKS = {
    "board": (BOARD, {}),
    "board without other actions": (PLACED, {}),
    "board without places": (NetworkShape((3, 4, 6), 30), {}),
    "flat": (NetworkShape((17,), 30), {}),
    "family of boards": (BOARD, {"features": 3}),
    "family of flat observations": (NetworkShape((17,), 30), {"features": 3}),
}


def checkpoint_of(shape: NetworkShape = BOARD) -> Checkpoint:
    chosen = Architecture({"channels": 8, "blocks": 2})
    network = make_network(shape, chosen).eval()
    return Checkpoint("corso", 0, {"size": 4}, shape, chosen, 7, network)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("channels", "blocks"), [(8, 0), (8, 3), (48, 2)])
def test_weights_have_the_names_and_shapes_of_torchs(name, channels, blocks):
    shape, others = NETWORKS[name]
    chosen = Architecture({"channels": channels, "blocks": blocks} | others)
    state = make_network(shape, chosen).state_dict()
    assert weight_shapes(shape, chosen) == {key: tuple(value.shape) for key, value in state.items()}
    assert {key for key, value in state.items() if value.dtype == torch.int64} == {
        key for key in state if key.endswith("num_batches_tracked")
    }


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_weights_are_read_as_by_torch(path):
    stored, checkpoint = load_weights(path), load_checkpoint(path)
    state = checkpoint.network.state_dict()
    assert set(stored.weights) == set(state)
    for name, array in stored.weights.items():
        np.testing.assert_array_equal(array, state[name])
    for field in ("game", "version", "options", "shape", "architecture", "step", "variants"):
        assert getattr(stored, field) == getattr(checkpoint, field)


@pytest.mark.parametrize("name", NETWORKS)
def test_plain_numpy_answers_as_torch(name):
    shape, others = NETWORKS[name]
    torch.manual_seed(0)
    options = {"channels": 8, "blocks": 2} | others
    network = in_use(make_network(shape, Architecture(options)))
    weights = {key: value.numpy() for key, value in network.state_dict().items()}
    if others:
        weights = member_weights(weights, shape, shape, [0.0] * others["features"])
    observations = torch.rand(3, *shape.observation)
    policy, outcome, score = answers(layers(weights, shape), observations.numpy())
    with torch.inference_mode():
        expected = network(observations)
    for ours, theirs in zip((policy, outcome, score[:, 0]), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_damaged_weights_are_refused_by_name(tmp_path):
    path = save_checkpoint(checkpoint_of(), tmp_path / "a.safetensors")
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.safetensors .* do not fit their checksum"):
        load_weights(path)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (NetworkShape((6, 4, 4), 18, BOARD.action_places), r"stem.0.weight is F32 \[8, 5, 3, 3\]"),
        (NetworkShape((5, 4, 4), 17, (*range(16), -1)), "policy.others.weight is F32"),
        (
            NetworkShape((5, 4, 4), 16, (*range(16),)),
            "policy.others.* is not a weight of the network",
        ),
        (NetworkShape((17,), 30), "blocks.0.0.bias is missing"),
    ],
)
def test_weights_of_another_network_are_refused(shape, message, tmp_path):
    checkpoint = checkpoint_of()
    another = Checkpoint(*(("corso", 0, {}, shape, checkpoint.architecture, 7)), checkpoint.network)
    path = save_checkpoint(another, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match=message):
        load_weights(path)


#: What a bare install lacks.
_BARE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "onnx", "onnxruntime", "yaml", "matplotlib", "ray"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from ludarium.cli import main

sys.exit(main(sys.argv[1:]))
"""


_COMMANDS = [
    "evaluate corso --simulations 16 --against random --games 4",
    "evaluate level:3 --game corso --against random --games 4",
    "evaluate onyx --option size=8 --simulations 4 --against random --games 2",
    "compare obelisk:2 obelisk:1 --games 4",
    "tournament corso:4 level:1 random --games 2",
    "levels corso --check --games 4",
    "analyse corso --agent corso --simulations 16",
]


@pytest.mark.parametrize("command", slow_but(_COMMANDS[:2], _COMMANDS))
def test_shipped_agents_play_without_torch_or_onnx(command, tmp_path):
    words, strict = [*command.split(), "--json"], {"PYTHONWARNINGS": "error"}
    ran = python(_BARE, *words, cwd=tmp_path, environment=strict)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)


@pytest.mark.parametrize("word", ["--help", "--version", "games"])
def test_a_look_around_needs_nothing_that_trains(word, tmp_path):
    ran = python(_BARE, word, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    told = 'train               needs more packages: pip install "ludarium[train]"'
    assert word != "--help" or told in ran.stdout


def test_a_shipped_agent_plays_in_the_terminal_without_torch(tmp_path):
    words = ["play", "corso", "--terminal", "--opponent", "level:2"]
    ran = python(_BARE, *words, cwd=tmp_path, input="quit\n")
    assert ran.returncode == 0, ran.stderr
