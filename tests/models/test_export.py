"""Exported networks: they answer as the network does, say what they hold, or are not written."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib.metadata import version

import numpy as np
import onnx
import pytest
import torch

from ludarium.models import Checkpoint, NetworkShape, build_network
from ludarium.models.export import FORMATS, TOLERANCE, export_checkpoint, load_exported
from ludarium.models.network import expected_value

BOARD = NetworkShape((5, 4, 4), 18, (*range(16), -1, -1))
SHAPES = {
    "board": BOARD,
    "places out of order": NetworkShape((5, 2, 2), 7, (3, -1, 0, 6, -1, 1, 2)),
    "no places": NetworkShape((3, 4, 6), 30),
    "features": NetworkShape((17,), 30),
}


def checkpoint_of(shape: NetworkShape) -> Checkpoint:
    torch.manual_seed(0)
    network = build_network(shape, 8, 2)
    for buffer in network.buffers():  # as after training, for normalisation to do something
        if buffer.is_floating_point():
            buffer.copy_(0.5 + torch.rand_like(buffer))
    return Checkpoint("corso", 0, {"size": 4}, shape, 8, 2, 7, network.eval())


def description_of(shape: NetworkShape, max_score: int = 16) -> dict:
    return {
        "game": "corso",
        "version": 0,
        "options": {"size": 4},
        "max_score": max_score,
        "observation": {"shape": list(shape.observation), "dtype": "float32", "names": []},
        "actions": {"names": [str(action) for action in range(shape.num_actions)], "seen": None},
    }


def random_observations(shape: NetworkShape, count: int) -> np.ndarray:
    random = np.random.default_rng(count)
    return random.integers(0, 2, (count, *shape.observation)).astype(np.float32)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_files_answer_as_the_network_does_for_any_batch(shape, file_format, tmp_path):
    checkpoint = checkpoint_of(shape)
    path = tmp_path / f"network{FORMATS[file_format]}"
    given = random_observations(shape, 300)
    differences = export_checkpoint(checkpoint, description_of(shape), path, file_format, given)
    assert list(differences) == ["policy_logits", "outcome", "value", "score"]
    assert max(differences.values()) <= TOLERANCE
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    exported = load_exported(path)
    for count in (1, 7, 64):
        observations = random_observations(shape, count)
        answers = exported(observations)
        with torch.inference_mode():
            output = checkpoint.network(torch.from_numpy(observations))
        expected = {
            "policy_logits": output.policy,
            "outcome": output.outcome.softmax(1),
            "value": expected_value(output.outcome),
            "score": output.score,
        }
        assert list(answers) == list(expected)
        for name, array in answers.items():
            assert array.dtype == np.float32
            np.testing.assert_allclose(array, expected[name].numpy(), rtol=0, atol=TOLERANCE)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each format, of a game without points."""
    folder = tmp_path_factory.mktemp("exported")
    checkpoint, description = checkpoint_of(BOARD), description_of(BOARD, max_score=0)
    given = random_observations(BOARD, 3)
    paths = {name: folder / f"network{suffix}" for name, suffix in FORMATS.items()}
    for name, path in paths.items():
        export_checkpoint(checkpoint, description, path, name, given)
    return paths


@pytest.mark.parametrize("file_format", FORMATS)
def test_files_say_what_they_hold(file_format, files):
    metadata = load_exported(files[file_format]).metadata
    assert description_of(BOARD, max_score=0).items() <= metadata.items()
    assert list(metadata["outputs"]) == ["policy_logits", "outcome", "value"]  # it has no points
    assert metadata["network"] == {"channels": 8, "blocks": 2}
    assert metadata["step"] == 7
    assert metadata["ludarium"] == version("ludarium")


def test_onnx_files_are_valid_and_name_their_axes(files):
    path = files["onnx"]
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    (observation,) = model.graph.input
    assert observation.name == "observation"
    sizes = [size.dim_param or size.dim_value for size in observation.type.tensor_type.shape.dim]
    assert sizes == ["batch", 5, 4, 4]
    for output in model.graph.output:
        assert output.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert b".py" not in path.read_bytes()  # nor any path of the machine that wrote it


def test_nothing_is_printed_and_the_network_stays_as_it_is(tmp_path, capfd):
    checkpoint = checkpoint_of(BOARD)
    before = {name: value.clone() for name, value in checkpoint.network.state_dict().items()}
    checkpoint.network.train()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file_format, suffix in FORMATS.items():
            path = tmp_path / f"network{suffix}"
            given = random_observations(BOARD, 3)
            export_checkpoint(checkpoint, description_of(BOARD), path, file_format, given)
    assert capfd.readouterr() == ("", "")
    assert checkpoint.network.training
    for name, value in checkpoint.network.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_file_that_answers_otherwise_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "network.pt"
    path.write_bytes(b"an older file")
    given = random_observations(BOARD, 3)

    def another(path):
        exported = load_exported(path)
        run = exported.run
        object.__setattr__(exported, "run", lambda x: [2 * TOLERANCE + array for array in run(x)])
        return exported

    monkeypatch.setattr("ludarium.models.export.load_exported", another)
    with pytest.raises(ValueError, match=r"was not written: its .* would differ .* by 0\.0002"):
        export_checkpoint(checkpoint_of(BOARD), description_of(BOARD), path, "torchscript", given)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"an older file"


@pytest.mark.parametrize(
    ("name", "file_format", "shape", "message"),
    [
        ("a.onnx", "pickle", BOARD, "format is 'pickle'; accepted: onnx, torchscript"),
        ("a.safetensors", "onnx", BOARD, r"a\.safetensors .* must end in \.onnx"),
        ("a.onnx", "torchscript", BOARD, r"must end in \.pt"),
        ("a.onnx", "onnx", SHAPES["features"], "does not fit the description"),
    ],
)
def test_what_does_not_fit_is_refused(name, file_format, shape, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_checkpoint(
            checkpoint_of(BOARD),
            description_of(shape),
            tmp_path / name,
            file_format,
            random_observations(BOARD, 3),
        )
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_are_refused_by_name(files, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.onnx"):
        load_exported(tmp_path / "nothing.onnx")
    other = tmp_path / "other.bin"
    other.touch()
    with pytest.raises(ValueError, match=r"other\.bin ends in none of \.onnx, \.pt"):
        load_exported(other)
    model = onnx.load(files["onnx"])
    del model.metadata_props[:]
    path = tmp_path / "network.onnx"
    onnx.save(model, path)
    with pytest.raises(ValueError, match=r"network\.onnx has no metadata of ludarium"):
        load_exported(path)


def test_a_torchscript_file_needs_nothing_but_torch(files):
    program = (
        "import json, sys, torch\n"
        "files = {'ludarium': ''}\n"
        f"module = torch.jit.load({str(files['torchscript'])!r}, _extra_files=files)\n"
        "answers = module(torch.zeros(5, 5, 4, 4))\n"
        "assert not any(name.startswith('ludarium') for name in sys.modules)\n"
        "print(json.dumps([json.loads(files['ludarium'])['game'], len(answers[0])]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout) == ["corso", 5]


@pytest.mark.parametrize("missing", ["onnx", "onnxscript", "onnxruntime"])
def test_without_the_extra_packages_the_remedy_is_named(missing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    path = tmp_path / "network.onnx"
    given = random_observations(BOARD, 3)
    with pytest.raises(ImportError, match=r'pip install "ludarium\[export\]"'):
        export_checkpoint(checkpoint_of(BOARD), description_of(BOARD), path, "onnx", given)
    assert list(tmp_path.iterdir()) == []
    torchscript = tmp_path / "network.pt"
    export_checkpoint(
        checkpoint_of(BOARD), description_of(BOARD), torchscript, "torchscript", given
    )
    assert torchscript.exists()
