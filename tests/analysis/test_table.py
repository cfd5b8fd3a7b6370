"""Tables as files: complete or absent, and refused when they are not as written."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis.table import default_path, read_table, write_table
from ludarium.envs.engine import storage


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(
        tmp_path / "new" / "some.table", {"game": "go"}, np.arange(1000, dtype="<i4")
    )


def test_what_is_written_is_read(table: Path) -> None:
    description, array = read_table(table, np.int32, (None,))
    assert description == {"game": "go"}
    assert array.dtype == np.int32
    assert array.tolist() == list(range(1000))
    assert not array.flags.writeable


@pytest.mark.parametrize("dtype", ["u1", ">i2", "f8"])
def test_dtype_and_shape_are_kept(tmp_path: Path, dtype: str) -> None:
    array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    _, found = read_table(write_table(tmp_path / "x", {}, array), dtype, (2, None, 4))
    assert found.shape == (2, 3, 4)
    assert found.dtype == array.dtype.newbyteorder("<")
    assert (found == array).all()


@pytest.mark.parametrize("place", [16, 50, 90, 140, 2000, -1])
def test_one_changed_bit_is_noticed(table: Path, place: int) -> None:
    content = bytearray(table.read_bytes())
    content[place] ^= 4
    table.write_bytes(content)
    with pytest.raises(ValueError, match=r"some\.table' is damaged"):
        read_table(table, np.int32, (None,))


@pytest.mark.parametrize("length", [100, 3000])
def test_a_cut_file_is_noticed(table: Path, length: int) -> None:
    table.write_bytes(table.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"some\.table' is damaged"):
        read_table(table, np.int32, (None,))


@pytest.mark.parametrize("content", [b"", b"short", b"quite another file " * 100])
def test_a_foreign_file_is_refused(table: Path, content: bytes) -> None:
    table.write_bytes(content)
    with pytest.raises(ValueError, match=r"some\.table' is no table of a solved game"):
        read_table(table, np.int32, (None,))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_table(tmp_path / "nowhere", np.int32, (None,))


def test_a_write_that_fails_leaves_all_as_it_was(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = table.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_table(table, {"game": "chess"}, np.zeros(5))
    assert table.read_bytes() == before
    assert os.listdir(table.parent) == [table.name]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is mapped")
def test_on_windows_a_table_in_use_can_be_replaced(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There nobody replaces a file that is mapped, so that it is read."""
    replace = os.replace

    def replace_unless_mapped(source: Path, target: Path) -> None:
        if str(target) in Path("/proc/self/maps").read_text():
            raise PermissionError(13, "Access is denied", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_unless_mapped)
    monkeypatch.setattr(storage, "PAUSES", ())
    _, mapped = read_table(table, np.int32, (None,))
    with pytest.raises(PermissionError):
        write_table(table, {}, np.zeros(5, np.int8))
    del mapped
    monkeypatch.setattr(sys, "platform", "win32")
    _, held = read_table(table, np.int32, (None,))
    before = held.copy()
    write_table(table, {}, np.ones(5, np.int8))
    np.testing.assert_array_equal(held, before)
    assert not held.flags.writeable
    np.testing.assert_array_equal(read_table(table, np.int8, (None,))[1], np.ones(5))


def test_tables_are_kept_in_the_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_path("x") == tmp_path / "ludarium" / "x.table"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path("x") == tmp_path / ".cache" / "ludarium" / "x.table"


def _forge(table: Path, description: bytes, content: bytes = b"\0" * 64, length: int = -1) -> None:
    """A file with any description and a checksum that is right, as a stranger may write one."""
    length = len(description) if length < 0 else length
    body = length.to_bytes(8, "little") + description + content
    table.write_bytes(b"ludarium table 1" + hashlib.sha256(body).digest() + body)


@pytest.mark.parametrize(
    ("description", "length", "reason"),
    [
        (b"{}", 2**63, "a description of 9,223,372,036,854,775,808 bytes"),
        (b"{}", 1000, "a description of 1,000 bytes"),
        (b"[" * 60_000, -1, "not valid JSON"),
        (b"[]", -1, "description of the table .* is \\[\\]"),
        (b"{}", -1, "64 bytes of None, where <i4 of shape"),
        (b'{"array": {"dtype": "|O", "shape": [8]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i8", "shape": [8]}}', -1, "where <i4"),
        (b'{"array": {"dtype": ["<i4"], "shape": [16]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i4", "shape": [15]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i4", "shape": [1000000000000]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i4", "shape": [-16]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i4", "shape": [16.0]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i4", "shape": [4, 4]}}', -1, "where <i4"),
        (b'{"array": {"dtype": "<i4", "shape": 16}}', -1, "where <i4"),
    ],
)
def test_a_forged_table_is_refused_whatever_it_says_of_itself(
    table: Path, description: bytes, length: int, reason: str
) -> None:
    _forge(table, description, length=length)
    with pytest.raises(ValueError, match=reason) as caught:
        read_table(table, np.int32, (None,))
    assert len(str(caught.value)) <= 400


def test_a_table_of_another_length_than_compiled_code_counts_on_is_refused(table: Path) -> None:
    with pytest.raises(ValueError, match=r"where <i4 of shape \(1001,\) is needed"):
        read_table(table, np.int32, (1001,))
