"""Kill and damage many runs, and count those that came to anything else than they should.

    python tests/survival/survive.py                            a few minutes
    python tests/survival/survive.py --kills 1000 --damages 2000

Of each algorithm: kills at random moments, a kill, a power cut and a full disk at every operation
on the disk, signals of every kind, and damaged files. Prints a table, and what went wrong; the exit
status is 1 if anything did.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pytest
import torch

from ludarium.cli.interrupt import STOPPED
from ludarium.training.runs.files import StorageError
from tests.survival.damage import DAMAGES, damage, files_of
from tests.survival.faults import FailingOS, Killed
from tests.survival.killing import killed_at_random
from tests.survival.signals import KINDS, command
from tests.survival.tiny import ALGORITHMS, arguments_of, fingerprint, train

_KILLS_OF_A_RUN = 8
_LONGEST_LINE = 800


class Tally:
    """Counts what came of the runs of one row of the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: Counter[str] = Counter()

    def add(self, kind: str, what: str = "") -> None:
        """Count a run; anything but ``right`` and ``refused`` is told at once."""
        self.counts[kind] += 1
        if kind not in ("right", "refused", "kills"):
            print(f"{self.name}: {kind}: {what}", flush=True)


def differing(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """The names of what is not the same."""
    return sorted(
        name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)
    )


def kill(algorithm: str, base: Path, kills: int, rng: random.Random) -> Tally:
    """Runs that are killed at random moments, until there were so many kills."""
    tally = Tally(f"{algorithm}, killed at random")
    began = time.perf_counter()
    train(algorithm, base / "whole")
    seconds = time.perf_counter() - began
    expected = fingerprint(base / "whole")
    while tally.counts["kills"] < kills:
        run = base / "run"
        killed = killed_at_random(algorithm, run, seconds, _KILLS_OF_A_RUN, rng)
        tally.counts["kills"] += killed.kills
        if killed.failure is not None:
            tally.add("error", killed.failure)
        elif wrong := differing(fingerprint(run), expected):
            tally.add("differs", str(wrong))
        else:
            tally.add("right")
        shutil.rmtree(run, ignore_errors=True)
    return tally


def fail(algorithm: str, base: Path, how: str) -> Tally:
    """A run for each operation on the disk, the begin included, which goes wrong there."""
    tally = Tally(f"{algorithm}, {how} at every operation")
    counting = FailingOS()
    with pytest.MonkeyPatch.context() as patch:
        counting.stand_in(patch)
        train(algorithm, base / "whole", 2)
    expected = fingerprint(base / "whole")
    for number, operation in enumerate(counting.done):
        run = base / "run"
        try:
            with pytest.MonkeyPatch.context() as patch:
                FailingOS(number, how).stand_in(patch)
                train(algorithm, run, 2)
        except (Killed, StorageError):
            pass
        try:
            said = train(algorithm, run, 2)
            if wrong := differing(fingerprint(run), expected):
                tally.add("differs", f"{number} {operation} {wrong}")
            elif said:
                tally.add("false alarm", f"{number} {operation} {said}")
            else:
                tally.add("right")
        except Exception:
            tally.add("traceback", f"{number} {operation} {traceback.format_exc()}")
        shutil.rmtree(run, ignore_errors=True)
    return tally


def interrupt(algorithm: str, base: Path, times: int, rng: random.Random) -> Tally:
    """Commands that get signals of each kind so many times, and are given again."""
    tally = Tally(f"{algorithm}, signals of {len(KINDS)} kinds")
    base.mkdir()
    said, began = base / "said", time.perf_counter()
    assert command(arguments_of(algorithm, base / "whole"), None, said) == 0, said.read_text()
    seconds = time.perf_counter() - began
    expected = fingerprint(base / "whole")
    for kind in times * KINDS:
        run = arguments_of(algorithm, base / "run")
        status = command(run, kind, said, rng.uniform(0, seconds))
        tally.counts["kills"] += status != 0
        told = said.read_text()
        status_then = command(run, None, said)
        if status not in (0, STOPPED, *(-number for number in kind.numbers)) or status_then:
            tally.add("error", f"{kind.name} {status} {told} {status_then} {said.read_text()}")
        elif "Traceback" in told:
            tally.add("traceback", f"{kind.name} {told}")
        elif wrong := differing(fingerprint(base / "run"), expected):
            tally.add("differs", f"{kind.name} {wrong}")
        else:
            tally.add("right")
        shutil.rmtree(base / "run", ignore_errors=True)
    return tally


def damage_files(algorithm: str, base: Path, count: int, rng: np.random.Generator) -> Tally:
    """Runs of which one file is damaged before they go on."""
    tally = Tally(f"{algorithm}, a damaged file")
    train(algorithm, base / "begun", 2)
    shutil.copytree(base / "begun", base / "whole")
    train(algorithm, base / "whole", 3)
    expected = fingerprint(base / "whole")
    names = files_of(base / "begun")
    for number in range(count):
        name = names[number % len(names)]
        how = list(DAMAGES)[number // len(names) % len(DAMAGES)]
        run = base / "run"
        shutil.copytree(base / "begun", run)
        damage(run / name, how, rng)
        said, refused = [], None
        try:
            said = train(algorithm, run, 3)
        except (ValueError, StorageError) as error:
            refused = str(error)
        except Exception:
            tally.add("traceback", f"{name} {how} {traceback.format_exc()}")
            shutil.rmtree(run)
            continue
        lines = [*said, *([refused] if refused else [])]
        found = expected if refused else fingerprint(run)
        wrong = differing(found, expected)
        if any("\n" in line or len(line) > _LONGEST_LINE for line in lines):
            tally.add("long message", f"{name} {how} {lines}")
        elif any(name in line for line in lines):
            lost = {"metrics.jsonl": "metrics"}.get(name, name)  # a past agent is another case
            rest = [each for each in wrong if each != lost]
            if rest:
                tally.add("differs", f"{name} {how} {rest} {lines}")
            else:
                tally.add("refused" if refused else "right")
        elif wrong or name != "metrics.jsonl":
            tally.add("silent", f"{name} {how} {wrong} {lines}")
        else:
            tally.add("right")  # cut in its last line, as by a kill, and mended
        shutil.rmtree(run)
    return tally


def main() -> int:
    """Run them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="of each algorithm")
    parser.add_argument("--signals", type=int, default=3, help="of each kind")
    parser.add_argument("--damages", type=int, default=200, help="of each algorithm")
    parser.add_argument("--algorithm", choices=ALGORITHMS, action="append")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    tallies = []
    for algorithm in given.algorithm or ALGORITHMS:
        with tempfile.TemporaryDirectory() as folder:
            rooms = iter(range(10))

            def room(folder: str = folder, rooms: Any = rooms) -> Path:
                return Path(folder, str(next(rooms)))

            train(algorithm, room())  # compiles
            tallies.append(kill(algorithm, room(), given.kills, random.Random(given.seed)))
            tallies += [fail(algorithm, room(), how) for how in ("kill", "power", "full")]
            tallies.append(interrupt(algorithm, room(), given.signals, random.Random(given.seed)))
            rng = np.random.default_rng(given.seed)
            tallies.append(damage_files(algorithm, room(), given.damages, rng))
    kinds = sorted({kind for tally in tallies for kind in tally.counts})
    print("| | " + " | ".join(kinds) + " |")
    print("|---" * (len(kinds) + 1) + "|")
    for tally in tallies:
        print(f"| {tally.name} | " + " | ".join(str(tally.counts[kind]) for kind in kinds) + " |")
    return int(any(set(tally.counts) - {"right", "refused", "kills"} for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
