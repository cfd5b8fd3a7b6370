"""Checkpoints: they hold what they say, survive a crash, and damaged ones are refused."""

from __future__ import annotations

import json
import os
import pickle
import re
import resource
import time

import pytest
import torch
from safetensors.torch import save_file

from ludarium.envs.registry import make_stored_game
from ludarium.models import (
    Architecture,
    Checkpoint,
    NetworkShape,
    build_network,
    load_checkpoint,
    load_header,
    save_checkpoint,
)
from ludarium.models.network import network_size
from ludarium.models.weights import load_weights

#: With torch and without: both take and refuse the same.
BOTH = pytest.mark.parametrize("load", [load_checkpoint, load_weights])
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


@BOTH
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=99), "format 99"),
        (lambda d: d.pop("options"), "missing required field `options`"),
        (lambda d: d["network"]["options"].update(channels=9), "do not fit"),
        (lambda d: d["network"]["options"].update(channels="many"), "channels is 'many'"),
        (lambda d: d["network"]["options"].update(channels=0), "channels is 0"),
        (lambda d: d["network"]["options"].update(blocks=-3), "blocks is -3"),
        (lambda d: d["network"]["options"].update(blocks=10**9), "do not fit"),
        (lambda d: d["network"]["options"].update(width=8), "unknown field `width`"),
        (lambda d: d["network"]["options"].update(features=1), "give None features, not 1"),
        (lambda d: d["network"]["shape"].update(observation=[5, 4]), "no network for"),
        (lambda d: d["network"]["shape"].update(action_places=[0] * 16 + [-1] * 2), "twice"),
        (lambda d: d["network"]["shape"].update(action_places=[0, 1]), "one for each of 18"),
    ],
)
def test_wrong_descriptions_are_refused(checkpoint, tmp_path, change, message, load):
    from safetensors import safe_open

    path = save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["ludarium"])
    change(description)
    save_file(checkpoint.network.state_dict(), path, metadata={"ludarium": json.dumps(description)})
    with pytest.raises(ValueError, match=message):
        load(path)


@BOTH
@pytest.mark.parametrize(
    ("name", "wrong"),
    [("outcome.bias", "nan"), ("stem.1.running_var", "inf")],  # with it the answers are finite
)
def test_weights_that_are_not_finite_are_refused_by_name(name, wrong, checkpoint, tmp_path, load):
    checkpoint.network.state_dict()[name][0] = float(wrong)
    path = save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match=rf"{re.escape(name)} is not finite"):
        load(path)


@BOTH
def test_negative_variances_and_answers_that_overflow_are_refused(checkpoint, tmp_path, load):
    path = tmp_path / "a.safetensors"
    with torch.no_grad():
        checkpoint.network.stem[1].running_var[3] = -1.0
    save_checkpoint(checkpoint, path)
    with pytest.raises(ValueError, match=r"a\.safetensors .* a variance in stem\.1\.\w+ is neg"):
        load(path)
    with torch.no_grad():
        checkpoint.network.stem[1].running_var[3] = 1.0
        checkpoint.network.outcome.weight.fill_(3e38)
        checkpoint.network.value_hidden.bias.fill_(3e38)
    save_checkpoint(checkpoint, path)
    with pytest.raises(ValueError, match=r"a\.safetensors .* answers are not finite"):
        load(path)


# Files of strangers.


def write(path, header: dict | bytes, data: bytes = b"", length: int | None = None):
    """A file of the safetensors format with this header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)


def described(network: dict | None = None, **changes) -> dict:
    """A header without tensors."""
    description = {
        "format": 3,
        "game": "corso",
        "version": 0,
        "options": {},
        "network": {
            "shape": {"observation": [5, 4, 4], "num_actions": 16, "action_places": None},
            "options": {"channels": 8, "blocks": 2},
            "module": None,
        }
        | (network or {}),
        "step": 0,
        "notes": {},
    }
    return {"__metadata__": {"ludarium": json.dumps(description | changes)}}


WIDE = {"observation": [5, 8, 8], "num_actions": 64, "action_places": None}
HOSTILE_HEADERS = {
    "wide": described({"options": {"channels": 16384, "blocks": 0}}),
    "wider": described({"options": {"channels": 10**15, "blocks": 0}}),
    "deep": described({"options": {"channels": 8, "blocks": 10**9}}),
    "many actions": described({"shape": WIDE | {"num_actions": 10**12}}),
    "large board": described({"shape": WIDE | {"observation": [10**6, 10**6, 10**6]}}),
    "negative": described({"shape": WIDE | {"observation": [5, -8, 8]}}),
    "no numbers": described({"shape": WIDE | {"observation": [5, "8", 8]}}),
    "four axes": described({"shape": WIDE | {"observation": [5, 8, 8, 8]}}),
    "far places": described({"shape": WIDE | {"action_places": [10**30] * 64}}),
    "places of text": described({"shape": WIDE | {"action_places": "every"}}),
    "network is text": described(network=None, **{"game": ["corso"]}),
    "options are a list": described(options=[]),
    "options of the network": described({"options": {"channels": 8, "blocks": 2, "self": 1}}),
    "module is a list": described({"module": ["os:system"]}),
    "module of the system": described({"module": "os:system"}),
    "step is huge": described(step="9" * 5000),
    "description is a list": {"__metadata__": {"ludarium": "[]"}},
    "not a number": {"__metadata__": {"ludarium": '{"format": NaN}'}},
    "no metadata": {"__metadata__": [1]},
    "deep JSON": {"__metadata__": {"ludarium": "[" * 100_000}},
    "deep JSON that ends": {"__metadata__": {"ludarium": '{"a": ' + "[" * 90 + "]" * 90 + "}"}},
    "deep header": b"[" * 100_000,
    "no object": b"7",
    "huge number": b'{"a": ' + b"9" * 100_000 + b"}",
    "no text": b"\xff\xfe",
    "tensor without offsets": described() | {"a": {"dtype": "F32", "shape": [1]}},
    "tensor of another format": described()
    | {"a": {"dtype": "X", "shape": [], "data_offsets": [0, 0]}},
    "tensor of huge shape": described()
    | {"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}},
    "control characters": described() | {"\x1b[2J": 7},
}  # fmt: skip


@pytest.mark.parametrize("path", ["/proc/self/mem", "a\0b"])
def test_what_cannot_be_read_is_refused_by_name(path: str) -> None:
    if "\0" in path or os.path.exists(path):
        with pytest.raises(ValueError, match=path.replace("\0", r"\\+x00")):
            load_header(path)


@BOTH
@pytest.mark.parametrize("header", HOSTILE_HEADERS.values(), ids=list(HOSTILE_HEADERS))
def test_hostile_headers_are_refused_by_name_at_once(header, tmp_path, load):
    """In a second of the processor and a few hundred characters, whatever they declare."""
    path = tmp_path / f"{'very-' * 45}hostile.safetensors"
    write(path, header)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(ValueError, match=r"hostile\.safetensors cannot be loaded: ") as refused:
        load(path)
    assert time.process_time() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes
    assert len(str(refused.value)) <= 400
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("length", [2**63, 2**40, 100_000])
def test_headers_longer_than_the_file_or_than_any_are_refused(length, tmp_path):
    path = tmp_path / "hostile.safetensors"
    write(path, described(), length=length)
    with pytest.raises(ValueError, match=r"hostile\.safetensors .*its header is cut or too long"):
        load_checkpoint(path)


def test_what_is_no_regular_file_is_refused_and_not_read(tmp_path):
    fifo = tmp_path / "fifo.safetensors"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, "/dev/zero"):
        with pytest.raises(ValueError, match="a checkpoint is read from a regular file"):
            load_checkpoint(path)
    vast = tmp_path / "vast.safetensors"
    with vast.open("wb") as file:
        file.truncate(1 << 40)  # without a block on the disk
    with pytest.raises(ValueError, match=r"vast\.safetensors.* has 1,099,511,627,776 bytes"):
        load_checkpoint(vast)


def test_a_long_or_unprintable_path_does_not_fill_the_message(tmp_path):
    with pytest.raises(FileNotFoundError) as refused:
        load_checkpoint(tmp_path / ("\x1b[2J" + "a" * 100) / ("b" * 200))
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


def test_the_path_of_a_catalogue_in_a_file_is_not_read():
    """A game's option that may be a path: only the user may name one."""
    with pytest.raises(ValueError, match="option 'blocks' names the file '/dev/zero'"):
        make_stored_game("obelisk", {"blocks": "/dev/zero"})
    with pytest.raises(ValueError, match="corso has no option 'self'"):
        make_stored_game("corso", {"self": 1})
    assert make_stored_game("corso", {"size": 4}).options["size"] == 4
    assert make_stored_game("corso", {"size": 4}, size=3).options["size"] == 3


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


def test_sizes_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="size is 'huge'; accepted: tiny, small, base"):
        network_size(SHAPE, "huge")
    with pytest.raises(ValueError, match="no network for observations"):
        network_size(NetworkShape((5, 4), 18), "tiny")
