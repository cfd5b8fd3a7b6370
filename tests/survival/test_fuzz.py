"""Hostile files, numbered, and files that were damaged, for every reader.

A finding is an error other than ValueError and FileNotFoundError, a message of more than 400
characters, with control characters in it, or without the file's name, more than two seconds, or
memory that grows.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .mutate import damaged
from .readers import READERS, Reader, hostile
from .tiny import FLIPS, TIMES

CASES = 60 * TIMES
MOST_SECONDS = 2.0
MOST_MESSAGE = 400
MOST_GROWTH = 256 * 2**20


def finding(reader: Reader, path: Path) -> str | None:
    """What is wrong with how a file is read, if anything."""
    begin = time.thread_time()
    error: Exception | None = None
    try:
        reader.read(path)
    except Exception as caught:
        error = caught
    seconds = time.thread_time() - begin
    if error is not None:
        if not isinstance(error, ValueError | FileNotFoundError):
            return f"{type(error).__name__}: {str(error)[:200]!r}"
        message = str(error)
        if len(message) > MOST_MESSAGE:
            return f"a message of {len(message)} characters: {message[:200]!r}..."
        if not message.isprintable():
            return f"control characters in {message!r}"
        if not message:
            return "an empty message"
        if reader.file not in message:
            return f"a message without the file: {message!r}"
    if seconds > MOST_SECONDS:
        return f"it took {seconds:.1f} s"
    return None


def resident() -> int:
    """Bytes of this process in memory; 0 where that is not known."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * 4096


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_no_reader_has_findings(reader: Reader, tmp_path: Path) -> None:
    good = reader.good()
    path = tmp_path / (reader.file or "file")
    for content in good:
        path.write_bytes(content)
        reader.read(path)  # a good file is read, or the fuzzing would be about something else
    before = resident()
    findings = {}
    for seed in range(CASES):
        path.write_bytes(hostile(reader, good, seed))
        found = finding(reader, path)
        if found is not None:
            findings[f"seed {seed}"] = found
    assert findings == {}
    assert resident() - before <= MOST_GROWTH


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_damaged_file_is_refused_by_name_or_read(reader: Reader, tmp_path: Path) -> None:
    path, findings = tmp_path / (reader.file or "file"), {}
    for how, content in damaged(min(reader.good(), key=len), FLIPS, reader.name):
        path.write_bytes(content)
        found = finding(reader, path)
        if found is not None:
            findings[how] = found
    assert findings == {}
