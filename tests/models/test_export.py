"""Exported networks: their files say what they hold, or are not written."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version

import numpy as np
import onnx
import pytest
import torch

from ludarium.models import Architecture, Checkpoint, NetworkShape, build_network
from ludarium.models.export import TOLERANCE, export_checkpoint, load_exported
from tests.checkpoints import in_use

BOARD = NetworkShape((5, 4, 4), 18, (*range(16), -1, -1))


def checkpoint_of(shape: NetworkShape) -> Checkpoint:
    torch.manual_seed(0)
    size = Architecture({"channels": 8, "blocks": 2})
    network = in_use(build_network(shape, 8, 2))
    return Checkpoint("corso", 0, {"size": 4}, shape, size, 7, network)


def description_of(shape: NetworkShape, max_score: int = 16) -> dict:
    return {
        "game": "corso",
        "version": 0,
        "options": {"size": 4},
        "max_score": max_score,
        "observation": {"shape": list(shape.observation), "dtype": "float32", "names": []},
        "actions": {"names": [str(action) for action in range(shape.num_actions)]},
        "canonical_turn": None,
    }


def random_observations(shape: NetworkShape, count: int) -> np.ndarray:
    random = np.random.default_rng(count)
    return random.integers(0, 2, (count, *shape.observation)).astype(np.float32)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The file of a game without points."""
    path = tmp_path_factory.mktemp("exported") / "network.onnx"
    description = description_of(BOARD, max_score=0)
    export_checkpoint(checkpoint_of(BOARD), description, path, random_observations(BOARD, 3))
    return path


def test_files_say_what_they_hold(file):
    metadata = load_exported(file).metadata
    assert description_of(BOARD, max_score=0).items() <= metadata.items()
    assert list(metadata["outputs"]) == ["policy_logits", "outcome", "value"]  # it has no points
    assert metadata["network"] == {"channels": 8, "blocks": 2}
    assert metadata["step"] == 7
    assert metadata["ludarium"] == version("ludarium")


def test_files_are_valid_and_name_their_axes(file):
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    (observation,) = model.graph.input
    assert observation.name == "observation"
    sizes = [size.dim_param or size.dim_value for size in observation.type.tensor_type.shape.dim]
    assert sizes == ["batch", 5, 4, 4]
    for output in model.graph.output:
        assert output.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert b".py" not in file.read_bytes()  # nor any path of the machine that wrote it


def test_nothing_is_printed_and_the_network_stays_as_it_is(tmp_path, capfd):
    checkpoint = checkpoint_of(BOARD)
    before = {name: value.clone() for name, value in checkpoint.network.state_dict().items()}
    checkpoint.network.train()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = random_observations(BOARD, 3)
        export_checkpoint(checkpoint, description_of(BOARD), tmp_path / "network.onnx", given)
    assert capfd.readouterr() == ("", "")
    assert checkpoint.network.training
    for name, value in checkpoint.network.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize("output", [0, 1])
@pytest.mark.parametrize("difference", [2 * TOLERANCE, -2 * TOLERANCE])
def test_a_file_that_answers_otherwise_is_not_written(difference, output, tmp_path, monkeypatch):
    path = tmp_path / "network.onnx"
    path.write_bytes(b"an older file")
    given = random_observations(BOARD, 3)

    def another(path):
        exported = load_exported(path)
        run = exported.run

        def changed(x):
            return [array + difference * (k == output) for k, array in enumerate(run(x))]

        object.__setattr__(exported, "run", changed)
        return exported

    monkeypatch.setattr("ludarium.models.export.load_exported", another)
    with pytest.raises(ValueError, match=r"was not written: its .* would differ .* by 0\.0002"):
        export_checkpoint(checkpoint_of(BOARD), description_of(BOARD), path, given)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"an older file"


def test_a_file_of_another_suffix_is_not_written(tmp_path):
    path, given = tmp_path / "a.safetensors", random_observations(BOARD, 3)
    with pytest.raises(ValueError, match=r"a\.safetensors .* must end in \.onnx"):
        export_checkpoint(checkpoint_of(BOARD), description_of(BOARD), path, given)
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_are_refused_by_name(file, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.onnx"):
        load_exported(tmp_path / "nothing.onnx")
    other = tmp_path / "other.bin"
    other.touch()
    with pytest.raises(ValueError, match=r"other\.bin is not a name for an ONNX file"):
        load_exported(other)
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"damaged\.onnx is not a readable ONNX file"):
        load_exported(damaged)
    model = onnx.load(file)
    del model.metadata_props[:]
    path = tmp_path / "network.onnx"
    onnx.save(model, path)
    with pytest.raises(ValueError, match=r"network\.onnx has no metadata of ludarium"):
        load_exported(path)


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_without_the_extra_packages_the_remedy_is_named(missing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    path = tmp_path / "network.onnx"
    given = random_observations(BOARD, 3)
    with pytest.raises(ImportError, match=r'pip install "ludarium\[export\]"'):
        export_checkpoint(checkpoint_of(BOARD), description_of(BOARD), path, given)
    assert list(tmp_path.iterdir()) == []
