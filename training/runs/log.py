"""The log of a run, ``metrics.jsonl``: one line of JSON per iteration, each with a checksum.

The last key of a line, ``crc32``, is the checksum of everything before it, so a damaged line is
recognised. The state of a run also holds the line of its iteration: whenever a run was killed,
resuming it repairs the log.
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from .files import append, read_file, write_file

_LARGEST = 1 << 32  # bytes of a log
_SUM = re.compile(rb'(?:, )?"crc32": "([0-9a-f]{8})"\}$')


def encode_line(metrics: dict[str, Any]) -> str:
    """One line of the log, without the line end."""
    body = json.dumps(metrics)
    comma = ", " if metrics else ""
    return f'{body[:-1]}{comma}"crc32": "{zlib.crc32(body.encode()):08x}"}}'


def verified(line: bytes) -> bytes | None:
    """A line that `encode_line` made, without its checksum; None if it is damaged."""
    found = _SUM.search(line)
    if found is None:
        return None
    body = line[: found.start()] + b"}"
    return body if zlib.crc32(body) == int(found[1], 16) else None


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The metrics of a line of the log; None if it is damaged."""
    body = verified(line)
    if body is None:
        return None
    metrics = json.loads(body)
    return metrics if isinstance(metrics.get("iteration"), int) else None


class MetricsLog:
    """Writes the log of a run.

    Args:
        path: of its file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = path.with_name("metrics.damaged.jsonl")  # a log as it was found

    def append(self, line: str) -> None:
        """Append a line made by `encode_line` and flush it to the disk.

        Raises:
            StorageError: it cannot be written; `resume` puts the log right.
        """
        append(self.path, f"{line}\n".encode())

    def resume(self, iteration: int, line: str) -> tuple[bool, str | None]:
        """Have the log end with ``line``, that of ``iteration``; later ones will come again.

        Returns:
            Whether the log had that line already; and what else was wrong with it, in one line, or
            None. A log with damaged lines is kept as it was beside the new one.

        Raises:
            StorageError: it cannot be written.
        """
        found = read_file(self.path, _LARGEST) if self.path.exists() else b""
        earlier, damaged, tail = _split(found, iteration)
        last = line.encode()
        own = earlier.pop()[1] if earlier and earlier[-1][0] == iteration else b""
        if tail and not last.startswith(tail):
            damaged.append(found.count(b"\n") + 1)
        wanted = b"".join(text + b"\n" for text in (*(text for _, text in earlier), last))
        missing = sorted(set(range(1, iteration)) - {number for number, _ in earlier})
        fault = _describe(self.path, damaged, missing)
        if damaged:
            write_file(self.damaged, found)
            fault = f"{fault}; what was found is kept as {self.damaged.name}"
        if wanted != found:
            write_file(self.path, wanted)
        return own == last, fault


def _split(found: bytes, iteration: int) -> tuple[list[tuple[int, bytes]], list[int], bytes]:
    """The undamaged lines up to ``iteration``, the numbers of the damaged ones, and the tail."""
    *lines, tail = found.split(b"\n")
    whole: list[tuple[int, bytes]] = []
    damaged = []
    for number, text in enumerate(lines, start=1):
        metrics = decode_line(text)
        if metrics is None or metrics["iteration"] <= (whole[-1][0] if whole else 0):
            damaged.append(number)
        elif metrics["iteration"] <= iteration:
            whole.append((metrics["iteration"], text))
    return whole, damaged, tail


def _describe(path: Path, damaged: list[int], missing: list[int]) -> str | None:
    """What is wrong with a log, in one line."""
    parts = []
    if damaged:
        parts.append(f"is damaged in line {_ranges(damaged)}")
    if missing:
        parts.append(f"has lost iteration {_ranges(missing)}")
    return f"{path} {' and '.join(parts)}" if parts else None


def _ranges(numbers: list[int]) -> str:
    """Ascending numbers, such as ``3, 6 to 9``; the first few of many."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(a) if a == b else f"{a} to {b}" for a, b in ranges]
    return ", ".join(texts[:5]) + (", ..." if len(texts) > 5 else "")
