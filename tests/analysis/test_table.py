"""Tables as files: complete or absent, and refused when they are not as written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from ludarium.analysis import table as tables
from ludarium.analysis.table import read_table, write_table
from ludarium.models import header


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "new" / "some.safetensors"
    return write_table(path, {"game": "go"}, np.arange(1000, dtype="<i4"))


def test_what_is_written_is_read(table: Path) -> None:
    array = read_table(table, np.int32, (None,), {})  # the description may say more
    assert array.dtype == np.int32
    assert array.tolist() == list(range(1000))
    assert not array.flags.writeable


def test_dtype_and_shape_are_kept(tmp_path: Path) -> None:
    array = np.arange(24).astype(np.uint64).reshape(2, 3, 4)
    found = read_table(write_table(tmp_path / "x", {}, array), np.uint64, (2, None, 4), {})
    assert (found == array).all()
    one = write_table(tmp_path / "one", {}, np.array(7, ">i4"))
    assert read_table(one, np.int32, (), {}) == 7


@pytest.mark.parametrize("change", ["bit", "description", "checksum", "cut", "empty", "foreign"])
def test_what_is_not_as_it_was_written_is_refused(table: Path, change: str) -> None:
    content = table.read_bytes()
    changed = {
        "bit": content[:-5] + bytes([content[-5] ^ 4]) + content[-4:],
        "description": content.replace(b"go", b"no"),
        "checksum": content.replace(b"sha256", b"sha257"),
        "cut": content[:3000],
        "empty": b"",
        "foreign": b"quite another file " * 100,
    }
    table.write_bytes(changed[change])
    is_readable = change in ("bit", "description", "checksum")
    damaged = "damaged" if is_readable else "not a readable"
    with pytest.raises(ValueError, match=rf"some\.safetensors cannot be loaded: it is {damaged}"):
        read_table(table, np.int32, (None,), {})


@pytest.mark.parametrize("header", [None, {"sha256": "0"}])
def test_another_file_of_the_format_is_refused(table: Path, header: dict[str, str] | None) -> None:
    table.write_bytes(save({"table": np.zeros(4, np.int32)}, header))
    with pytest.raises(ValueError, match="it is not a table of a solved game"):
        read_table(table, np.int32, (None,), {})


@pytest.mark.parametrize(
    ("dtype", "shape"), [(np.uint32, (None,)), (np.int32, (1001,)), (np.int32, (None, 2))]
)
def test_an_array_that_compiled_code_does_not_count_on_is_refused(
    table: Path, dtype: type, shape: tuple[int | None, ...]
) -> None:
    with pytest.raises(ValueError, match=r"int32 of shape \(1000,\), where u?int32 of shape \("):
        read_table(table, dtype, shape, {})


def test_a_table_of_something_else_is_named_as_such_before_its_shape(table: Path) -> None:
    with pytest.raises(ValueError, match="is for something else: game 'go' instead of 'chess'"):
        read_table(table, np.int32, (1,), {"game": "chess"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no table .*nowhere"):
        read_table(tmp_path / "nowhere", np.int32, (None,), {})


def test_the_limit_on_a_file_is_that_of_tables_and_checked_before_one_is_written(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", header.MOST_HEADER_BYTES + 100)
    write_table(tmp_path / "small", {}, np.zeros(100, np.int8))
    with pytest.raises(ValueError, match=r"for .*large has 101 bytes; accepted: at most 100:"):
        write_table(tmp_path / "large", {}, np.zeros(101, np.int8))
    assert not (tmp_path / "large").exists()
    monkeypatch.setattr(header, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"has [\d,]+ bytes; a table has at most 1,000"):
        read_table(table, np.int32, (None,), {})


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
