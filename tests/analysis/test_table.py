"""Tables as files: complete or absent, and refused when they are not as written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis.table import default_path, read_table, write_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(
        tmp_path / "new" / "some.table", {"game": "go"}, np.arange(1000, dtype="<i4")
    )


def test_what_is_written_is_read(table: Path) -> None:
    description, array = read_table(table)
    assert description == {"game": "go"}
    assert array.dtype == np.int32
    assert array.tolist() == list(range(1000))
    assert not array.flags.writeable


@pytest.mark.parametrize("dtype", ["u1", ">i2", "f8"])
def test_dtype_and_shape_are_kept(tmp_path: Path, dtype: str) -> None:
    array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    _, found = read_table(write_table(tmp_path / "x", {}, array))
    assert found.shape == (2, 3, 4)
    assert found.dtype == array.dtype.newbyteorder("<")
    assert (found == array).all()


@pytest.mark.parametrize("place", [16, 50, 90, 140, 2000, -1])
def test_one_changed_bit_is_noticed(table: Path, place: int) -> None:
    content = bytearray(table.read_bytes())
    content[place] ^= 4
    table.write_bytes(content)
    with pytest.raises(ValueError, match=r"some\.table is damaged"):
        read_table(table)


@pytest.mark.parametrize("length", [100, 3000])
def test_a_cut_file_is_noticed(table: Path, length: int) -> None:
    table.write_bytes(table.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"some\.table is damaged"):
        read_table(table)


@pytest.mark.parametrize("content", [b"", b"short", b"quite another file " * 100])
def test_a_foreign_file_is_refused(table: Path, content: bytes) -> None:
    table.write_bytes(content)
    with pytest.raises(ValueError, match=r"some\.table is no table of a solved game"):
        read_table(table)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_table(tmp_path / "nowhere")


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


def test_tables_are_kept_in_the_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_path("x") == tmp_path / "ludarium" / "x.table"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path("x") == tmp_path / ".cache" / "ludarium" / "x.table"
