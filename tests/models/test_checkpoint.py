"""Checkpoints: they hold what they say, survive a crash, and damaged ones are refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ludarium.models import (
    Architecture,
    Checkpoint,
    NetworkShape,
    build_network,
    load_checkpoint,
    save_checkpoint,
)
from ludarium.models.network import SIZES, network_size

SHAPE = NetworkShape((5, 4, 4), 18, (*range(16), -1, -1))


@pytest.fixture
def checkpoint():
    torch.manual_seed(0)
    return Checkpoint(
        game="corso",
        version=0,
        options={"size": 4},
        shape=SHAPE,
        architecture=Architecture({"channels": 8, "blocks": 2}),
        step=7,
        network=build_network(SHAPE, 8, 2).eval(),
        notes={"seed": 1},
    )


def test_round_trip(checkpoint, tmp_path):
    path = save_checkpoint(checkpoint, tmp_path / "folder" / "a.safetensors")
    loaded = load_checkpoint(path)
    assert loaded == checkpoint
    x = torch.rand(3, 5, 4, 4)
    with torch.inference_mode():
        for ours, theirs in zip(checkpoint.network(x), loaded.network(x), strict=True):
            assert torch.equal(ours, theirs)


def test_a_failed_save_leaves_the_old_file(checkpoint, tmp_path, monkeypatch):
    path = save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    before = path.read_bytes()
    monkeypatch.setattr("ludarium.models.checkpoint.os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_checkpoint(checkpoint, path)
    assert path.read_bytes() == before


def test_missing_and_foreign_files_are_refused_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.safetensors"):
        load_checkpoint(tmp_path / "nothing.safetensors")
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(2)}, foreign)
    with pytest.raises(ValueError, match="not a ludarium checkpoint"):
        load_checkpoint(foreign)


def test_a_pickle_is_not_loaded(tmp_path):
    """It would run code of whoever made it."""
    path = tmp_path / "evil.safetensors"

    class Evil:
        def __reduce__(self):
            return (tmp_path.joinpath("touched").touch, ())

    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ValueError, match="not a readable safetensors file"):
        load_checkpoint(path)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("cut", [3, 100, 5000])
def test_truncated_files_are_refused(checkpoint, tmp_path, cut):
    path = save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    path.write_bytes(path.read_bytes()[:-cut] if cut > 3 else path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"a\.safetensors"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=99), "format 99"),
        (lambda d: d.pop("options"), "damaged"),
        (lambda d: d["network"]["options"].update(channels=9), "do not fit"),
        (lambda d: d["network"]["options"].update(channels="many"), "damaged"),
    ],
)
def test_wrong_descriptions_are_refused(checkpoint, tmp_path, change, message):
    from safetensors import safe_open

    path = save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["ludarium"])
    change(description)
    save_file(checkpoint.network.state_dict(), path, metadata={"ludarium": json.dumps(description)})
    with pytest.raises(ValueError, match=message):
        load_checkpoint(path)


def test_weights_that_are_no_numbers_are_refused(checkpoint, tmp_path):
    with torch.no_grad():
        checkpoint.network.outcome.bias[0] = float("nan")
    path = save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match=r"outcome\.bias is not finite"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "shape",
    [
        NetworkShape((5, 4, 4), 16, tuple(range(16))),
        NetworkShape((5, 2, 2), 7, (3, -1, 0, 6, -1, 1, 2)),
        NetworkShape((3, 4, 6), 30),
        NetworkShape((17,), 30),
    ],
)
def test_networks_fit_their_shape(shape):
    network = build_network(shape, 8, 2).eval()
    output = network(torch.rand(3, *shape.observation))
    assert output.policy.shape == (3, shape.num_actions)
    assert output.outcome.shape == (3, 3)
    assert output.score.shape == (3,)
    assert np.abs(output.score.detach().numpy()).max() <= 1


def test_logits_are_read_off_where_the_actions_have_their_places():
    policy = build_network(NetworkShape((1, 2, 2), 7, (3, -1, 0, 6, -1, 1, 2)), 8, 0).policy
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
        policy.planes.weight[:, 0, 0, 0] = torch.tensor([1.0, 10.0])
        policy.others.bias[:] = torch.tensor([-1.0, -2.0])
        cells = torch.zeros(1, policy.planes.in_channels, 2, 2)
        cells[0, 0] = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
        logits = policy(cells, torch.zeros(1, policy.others.in_features))
    assert logits.tolist() == [[3, -1, 0, 20, -2, 1, 2]]


def test_impossible_networks_are_refused():
    with pytest.raises(ValueError, match="channels >= 1"):
        build_network(SHAPE, 0, 2)
    with pytest.raises(ValueError, match="needed: one for each of 18 actions"):
        build_network(NetworkShape((5, 4, 4), 18, tuple(range(15))), 8, 2)
    with pytest.raises(ValueError, match="none of them twice"):
        build_network(NetworkShape((5, 2, 2), 3, (0, 1, 1)), 8, 2)
    with pytest.raises(ValueError, match="no network for observations"):
        build_network(NetworkShape((5, 4), 18), 8, 2)


def test_sizes_are_named_alike_for_all_kinds_and_grow():
    for axes, observation in ((3, (5, 4, 4)), (1, (17,))):
        shape = NetworkShape(observation, 16)
        assert list(SIZES[axes]) == ["tiny", "small", "base"]
        counts = [
            sum(weight.numel() for weight in build_network(shape, *size).parameters())
            for size in (network_size(shape, name) for name in SIZES[axes])
        ]
        assert counts[0] < counts[1] < counts[2]


def test_sizes_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="size is 'huge'; accepted: tiny, small, base"):
        network_size(SHAPE, "huge")
    with pytest.raises(ValueError, match="no network for observations"):
        network_size(NetworkShape((5, 4), 18), "tiny")
