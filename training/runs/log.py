"""The log of a run, ``metrics.jsonl``: one line of JSON per iteration.

The log follows the state: each state has the checksum of the log up to its iteration, and the line
of that iteration. So, whenever a run was killed, resuming it puts the log right.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from .files import append, write_file


class MetricsLog:
    """Writes the log of a run.

    Args:
        path: of its file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = 0  # bytes, up to the latest iteration
        self._crc32 = 0  # of these bytes

    def state(self, metrics: dict[str, Any]) -> dict[str, Any]:
        """What `resume` needs, as JSON values, once a line with these metrics is appended."""
        line = _line(metrics)
        return {
            "metrics": metrics,
            "size": self._size + len(line),
            "crc32": zlib.crc32(line, self._crc32),
        }

    def append(self, metrics: dict[str, Any]) -> None:
        """Append a line and flush it to the disk.

        Raises:
            StorageError: it cannot be written; `resume` puts the log right.
        """
        line = _line(metrics)
        append(self.path, line)
        self._size, self._crc32 = self._size + len(line), zlib.crc32(line, self._crc32)

    def resume(self, state: dict[str, Any]) -> tuple[str | None, bool]:
        """Have the log end with the line of a state; what comes after it will come again.

        Returns:
            One line about what was damaged, or None; and whether there were lines of later states.

        Raises:
            StorageError: it cannot be written.
        """
        found = self.path.read_bytes() if self.path.exists() else b""
        last, fault = _line(state["metrics"]), None
        wanted = found[: state["size"] - len(last)] + last
        is_ahead = found.startswith(wanted) and b"\n" in found[len(wanted) :]
        if zlib.crc32(wanted) != state["crc32"]:
            iteration = state["metrics"]["iteration"]
            lines = [*_whole_lines(found, iteration), last]
            wanted = b"".join(lines)
            fault = (
                f"{self.path} is damaged; {len(lines)} of its lines up to iteration {iteration} "
                "are whole and stay"
            )
        if found != wanted or self.path.stat().st_nlink > 1:  # appending would change a copy too
            write_file(self.path, wanted)
        self._size, self._crc32 = len(wanted), zlib.crc32(wanted)
        return fault, is_ahead


def _line(metrics: dict[str, Any]) -> bytes:
    return f"{json.dumps(metrics)}\n".encode()


def _whole_lines(found: bytes, iteration: int) -> list[bytes]:
    """The lines of iterations before this one that are JSON and in order."""
    lines, before = [], 0
    for line in found.splitlines(keepends=True):
        try:
            number = json.loads(line)["iteration"]
        except (ValueError, LookupError, TypeError):
            continue
        if isinstance(number, int) and before < number < iteration and line.endswith(b"\n"):
            lines.append(line)
            before = number
    return lines
