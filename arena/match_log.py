"""`MatchLog`: the matches of a calibration that was stopped, so that the same one goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ludarium.envs.engine.files import MEGABYTE, load_json, read_regular_file
from ludarium.training.evaluation import Tally
from ludarium.training.runs.files import append, write_file

_LARGEST_FILE = MEGABYTE
_MOST_GAMES = 10**9


class MatchLog:
    """Results by the match, in a file of JSON lines; matches are repeated by their seeds.

    Args:
        path: of the file. If it is of another calibration, or damaged, it is begun anew; a last
            line that was cut off by a kill is left out.
        subject: JSON values that say which calibration it is of.

    Raises:
        StorageError: the file cannot be written.
    """

    def __init__(self, path: Path, subject: dict[str, Any]) -> None:
        self.path = path
        self._results: dict[str, Tally] = {}
        first, *lines = self._lines() or [None]
        if first == subject:
            self._results = {
                json.dumps(line[0]): Tally(*line[1]) for line in lines if _is_result(line)
            }
        text = "".join(
            f"{json.dumps(line)}\n"
            for line in [subject, *([json.loads(k), _row(t)] for k, t in self._results.items())]
        )
        write_file(path, text.encode())

    def find(self, match: list[Any]) -> Tally | None:
        """The result of a match, which a list of JSON values identifies; None if there is none."""
        return self._results.get(json.dumps(match))

    def add(self, match: list[Any], tally: Tally) -> None:
        """Note the result of a match."""
        self._results[json.dumps(match)] = tally
        append(self.path, f"{json.dumps([match, _row(tally)])}\n".encode())

    def remove(self) -> None:
        """Delete the file: the calibration is done."""
        self.path.unlink(missing_ok=True)

    def _lines(self) -> list[Any]:
        """What the lines say, up to the first that is damaged."""
        try:
            content = read_regular_file(self.path, _LARGEST_FILE, "a log of matches")
        except (FileNotFoundError, ValueError):
            return []
        lines = []
        for line in content.splitlines():
            try:
                lines.append(load_json(line, "a line of a log of matches"))
            except ValueError:
                break
        return lines


def _row(tally: Tally) -> list[int]:
    return [tally.wins, tally.draws, tally.losses]


def _is_result(line: Any) -> bool:
    if not isinstance(line, list) or len(line) != 2 or not isinstance(line[1], list):
        return False
    row = line[1]
    return len(row) == 3 and all(type(n) is int and 0 <= n <= _MOST_GAMES for n in row) and any(row)
