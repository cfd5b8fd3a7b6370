"""Files of strangers: kind, size, depth and numbers are checked before anything is made of them."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
from msgspec import Meta

from ludarium.base.files import (
    convert,
    load_json,
    open_regular_file,
    read_json_file,
    read_regular_file,
)


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular_file(file, 5, "five bytes") == b"12345"


def test_a_larger_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "sparse"
    with file.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(ValueError, match=r"1,099,511,627,776 bytes; a record has at most 1,000$"):
        read_regular_file(file, 1000, "a record")


def test_a_file_that_has_grown_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    real = os.fstat

    def before(descriptor: int) -> os.stat_result:
        status = list(real(descriptor))
        status[6] = 1  # st_size
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", before)
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_regular_file(file, 4, "four bytes")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/proc/self/mem", "/"])
def test_devices_and_folders_are_refused_at_once(path: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"regular file|at most|cannot read"):
        read_regular_file(path, 100, "a record")
    assert time.process_time() - begin < 1


def test_a_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a FIFO; a record is read from a regular file"):
        open_regular_file(tmp_path / "pipe", 100, "a record")


def test_a_file_with_nothing_to_read_yet_is_refused(tmp_path: Path, monkeypatch) -> None:
    """Such as /proc/kmsg, which says that it is a regular file."""
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    monkeypatch.setattr("stat.S_ISREG", lambda _: True)
    with pytest.raises(ValueError, match="pipe has nothing to read yet; a record is read from"):
        read_regular_file(tmp_path / "pipe", 100, "a record")
    os.close(writer)


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(ValueError, match="cannot read a record from"):
            read_regular_file(tmp_path / "s", 100, "a record")


@pytest.mark.parametrize("name", ["nowhere", "file/below", "link"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=name):
        read_regular_file(tmp_path / name, 100, "a record")


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0byte", "\ud800"])
def test_an_impossible_name_is_a_value_error(name: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - three kinds of messages
        read_regular_file(name, 100, "a record")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested more than"),
        ('{"a":' * 100_000, "nested more than"),
        ("[" * 33 + "]" * 33, "more than 32"),
        ("1" * 41, "41 digits"),
        ("-" + "1" * 100_000, "digits"),
        ("1e999", "out of range"),
        ("NaN", r"invalid character \(byte 0\)"),
        ("[-Infinity]", r"invalid .* \(byte 2\)"),
        ("", "truncated"),
        ('{"a"', "truncated"),
        ('"\\' * 100_000, "JSON"),
        (b"\xff\xfe[\x00", "utf-8"),
        ("x\n" * 100_000, "invalid character"),
        ('[{"a": {"a": 1}, "b": "a", "a" :2}]', 'key "a" occurs twice'),
        ('{"a": 1, "\\u0061": 2}', r'key "\\u0061" occurs twice'),
        ('{"\\q": 1}', "JSON"),
    ],
    ids=range(16),
)
def test_what_is_no_json_within_bounds_is_refused(text: str | bytes, reason: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match=reason) as caught:
        load_json(text, "the record some.json")
    assert time.process_time() - begin < 1
    assert str(caught.value).startswith("the record some.json is not valid JSON: ")
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


def test_brackets_within_strings_do_not_count() -> None:
    text = '{"a\\"' + "[" * 1000 + '": "\\\\", "b": [1, 2.5, null]}'
    assert load_json(text, "x") == {'a"' + "[" * 1000: "\\", "b": [1, 2.5, None]}


def test_the_largest_depth_and_integers_are_read() -> None:
    assert load_json("[" * 32 + "]" * 32, "x")
    assert load_json(b"\xef\xbb\xbf" + b"1" * 40, "x") == int("1" * 40)


@dataclass
class _Point:
    x: Annotated[int, Meta(ge=0)]
    names: list[str]
    signs: tuple[int, Literal[-1, 1]] = (0, 1)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            '[{"x": 1, "names": []}, {"x": -7, "names": []}]',
            r"[1].x is -7; accepted: a whole number >= 0",
        ),
        ('[{"x": 1.5, "names": []}]', "[0].x is 1.5; accepted: a whole number"),
        ('[{"x": 1, "names": ["a", 5]}]', "[0].names[1] is 5; accepted: a text"),
        ('[{"x": 1, "names": [], "signs": [0, 5]}]', "[0].signs[1] is 5; accepted: -1, 1"),
        ('[{"x": 1}]', "[0]: missing required field `names`"),
        ("3", "it is 3; accepted: a list"),
    ],
)
def test_what_is_of_another_kind_is_named_with_its_place_and_value(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"some.json: {fault}")):
        load_json(text, "some.json", list[_Point])
    with pytest.raises(ValueError, match=re.escape(f"some.yaml: {fault}")):
        convert(json.loads(text), "some.yaml", list[_Point])
    assert load_json('[{"x": 1, "names": ["a"]}]', "it", list[_Point]) == [_Point(1, ["a"])]


@pytest.mark.parametrize("text", ["{", '[{"x": "" "names": []}]'])
def test_errors_of_a_file_name_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ValueError, match=r"a record in .*bad\.json is not valid JSON"):
        read_json_file(tmp_path / "bad.json", 100, "a record", list[_Point])
