"""One file of a run is damaged: it is named in one line, and either mended or refused."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from ludarium.training.runs.files import StorageError
from ludarium.training.runs.state import arrays_bytes, read_arrays

from .damage import DAMAGES, damage, files_of
from .tiny import fingerprint, metrics, train


@pytest.fixture(scope="module", params=["drift", "alphazero", "ppo"])
def run(request, tmp_path_factory) -> tuple[str, Path, dict[str, Any]]:
    """Algorithm, a run before its last iteration, and what comes of it."""
    base = tmp_path_factory.mktemp(request.param)
    train(request.param, base / "begun", 2)
    shutil.copytree(base / "begun", base / "whole")
    train(request.param, base / "whole", 3)
    return request.param, base / "begun", fingerprint(base / "whole")


def test_damage_is_named_and_never_goes_in(run, tmp_path):
    """Each file in each way, of runs with games in one way each; `survive.py` tries more."""
    algorithm, begun, expected = run
    rng = np.random.default_rng(1)
    for index, name in enumerate(files_of(begun)):
        ways = list(DAMAGES) if algorithm == "drift" else [list(DAMAGES)[index % len(DAMAGES)]]
        for how in ways:
            folder = tmp_path / f"{how}-{name.replace('/', '-')}"
            shutil.copytree(begun, folder)
            damage(folder / name, how, rng)
            told = resumed(algorithm, folder)
            if told.refused is None:
                found = fingerprint(folder)
                if told.said:  # a damaged line of the log is named, and gone
                    found["metrics"] = expected["metrics"]
                assert found == expected, (name, how)
            # A log cut in its last line is what a kill leaves, and is mended from the state.
            assert told.names(name) or name == "metrics.jsonl", (name, how, told)
    assert index >= 6


class Told:
    """What came of going on with a run: it was ``refused``, or ``said`` something."""

    def __init__(self, said: list[str], refused: str | None) -> None:
        self.said, self.refused = said, refused

    def __repr__(self) -> str:
        return f"said {self.said}, refused {self.refused}"

    def names(self, name: str) -> bool:
        """Whether one line, and not a long one, names the file."""
        lines = [*self.said, *([self.refused] if self.refused else [])]
        assert all("\n" not in line and len(line) < 800 for line in lines)
        return any(name in line for line in lines)


def resumed(algorithm: str, folder: Path, **of_folder: bool) -> Told:
    """Go on with a run; any error but the two that people understand is a failure."""
    try:
        return Told(train(algorithm, folder, 3, **of_folder), None)
    except (ValueError, StorageError) as error:
        return Told([], str(error))


def begun_run(folder: Path, iterations: int = 2) -> Path:
    train("drift", folder, iterations)
    return folder


def test_a_damaged_state_costs_an_iteration(tmp_path):
    folder = begun_run(tmp_path / "run")
    (folder / "state-000002" / "learner.safetensors").write_bytes(b"junk")
    (said,) = train("drift", folder, 3)
    assert "state-000002/learner.safetensors is damaged (4 bytes instead of" in said
    assert said.endswith("going on after iteration 1 instead, nothing is lost but time")
    train("drift", tmp_path / "whole", 3)
    assert fingerprint(folder) == fingerprint(tmp_path / "whole")


def test_without_a_whole_state_nothing_is_gone_on_with(tmp_path):
    folder = begun_run(tmp_path / "run")
    for state in folder.glob("state-*"):
        (state / "state.json").unlink()
    message = (
        r"no saved state of .*run is whole: .*state-000002/state.json is missing; "
        r".*state-000001/state.json is missing; .*start anew \(--restart\)"
    )
    with pytest.raises(ValueError, match=message):
        train("drift", folder)
    assert train("drift", folder, 3, restart=True) == []
    train("drift", tmp_path / "whole", 3)
    assert fingerprint(folder) == fingerprint(tmp_path / "whole")


def test_positions_that_are_lost_can_be_done_without(tmp_path):
    folder = begun_run(tmp_path / "run", 2)
    (folder / "replay" / "000001.npy").unlink()
    with pytest.raises(ValueError, match=r"replay/000001.npy is missing.*\(--salvage\)"):
        train("drift", folder)
    (said,) = train("drift", folder, 3, salvage=True)
    assert "replay/000001.npy is missing; going on without its positions" in said
    assert [line["iteration"] for line in metrics(folder)] == [1, 2, 3]
    assert train("drift", folder, 3) == []


@pytest.mark.parametrize(
    ("edit", "message", "left"),
    [
        (lambda lines: lines[:1] + lines[2:], "has lost iteration 2", [1, 3, 4]),
        (lambda lines: [], "has lost iteration 1 to 2", [3, 4]),
        (
            lambda lines: [lines[0].replace(b"drift", b"drjft"), *lines[1:]],
            "is damaged in line 1 and has lost iteration 1; what was found is kept as metrics.dam",
            [2, 3, 4],
        ),
        (lambda lines: [lines[0], *lines], "is damaged in line 2", [1, 2, 3, 4]),
        (lambda lines: [*lines, b"more"], "is damaged in line 4", [1, 2, 3, 4]),
        (lambda lines: [*lines[:2], lines[2][:20]], None, [1, 2, 3, 4]),
    ],
)
def test_a_damaged_log_is_named_by_line(edit, message, left, tmp_path):
    """The last: what a kill leaves of the line that is being written, which is no damage."""
    folder = begun_run(tmp_path / "run", 3)
    file = folder / "metrics.jsonl"
    file.write_bytes(b"".join(edit(file.read_bytes().splitlines(keepends=True))))
    said = train("drift", folder, 4)
    assert len(said) == (message is not None)
    assert message is None or message in said[0]
    assert [line["iteration"] for line in metrics(folder)] == left


def test_the_configuration_is_mended_where_it_is_the_one_given(tmp_path):
    folder = begun_run(tmp_path / "run")
    before = (folder / "config.yaml").read_bytes()
    (folder / "config.yaml").write_bytes(before[:100])
    (said,) = train("drift", folder, 3)
    assert "config.yaml is damaged (100 bytes instead of" in said
    assert (folder / "config.yaml").read_bytes() == before
    (folder / "config.yaml").write_bytes(before[:100])
    with pytest.raises(ValueError, match=r"config.yaml is damaged.*the configuration given is an"):
        train("alphazero", folder)


def test_what_is_no_regular_file_is_not_read(tmp_path):
    folder = begun_run(tmp_path / "run")
    file = folder / "state-000002" / "learner.safetensors"
    file.unlink()
    os.mkfifo(file)
    (said,) = train("drift", folder, 3)
    assert "learner.safetensors is no regular file" in said


def test_arrays_take_no_more_memory_than_their_file():
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.zeros(2, [("x", np.int8), ("y", np.int32)])}
    content = arrays_bytes(arrays)
    read = read_arrays(content)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype
        assert read[name].flags.writeable
    packed = io.BytesIO()
    np.savez_compressed(packed, a=np.zeros(10**6))
    with pytest.raises(ValueError, match=r"a\.npy is compressed"):
        read_arrays(packed.getvalue())
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as file:
        header = io.BytesIO()
        declared = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
        np.lib.format.write_array_header_1_0(header, declared)
        file.writestr("a.npy", header.getvalue())
    with pytest.raises(ValueError, match=r"float64 of shape \(10+,\) is not what 0 bytes hold"):
        read_arrays(huge.getvalue())
    objects = io.BytesIO()
    np.savez(objects, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="object of shape"):
        read_arrays(objects.getvalue())
    for junk in (b"", b"junk", content[:100], content[:-30]):
        with pytest.raises(ValueError, match="no arrays can be read"):
            read_arrays(junk)
