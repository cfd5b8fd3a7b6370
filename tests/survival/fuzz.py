"""Seeded fuzzing of every reader: ``python -m tests.survival.fuzz --cases 10000``.

A finding is an error other than ValueError and FileNotFoundError, a message of more than 400
characters or with control characters in it, more than two seconds, or memory that grows. Each is
printed with its seed; ``--reader NAME --seed N --cases 1`` does it again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from .readers import READERS, Reader

MOST_SECONDS = 2.0
MOST_MESSAGE = 400
MOST_GROWTH = 256 * 2**20


def hostile(reader: Reader, good: list[bytes], seed: int) -> bytes:
    """The content of the hostile file of that number."""
    rng = random.Random(f"{reader.name} {seed}")
    return reader.mutate(rng.choice(good), rng)


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


def fuzz(reader: Reader, seeds: range, folder: Path) -> list[str]:
    """All findings of a reader for the hostile files of these numbers."""
    good = reader.good()
    path = folder / "file"
    for content in good:
        path.write_bytes(content)
        reader.read(path)  # a good file is read, or the fuzzing would be about something else
    before = resident()
    findings = []
    for seed in seeds:
        path.write_bytes(hostile(reader, good, seed))
        found = finding(reader, path)
        if found is not None:
            findings.append(f"{reader.name}, seed {seed}: {found}")
    if resident() - before > MOST_GROWTH:
        findings.append(f"{reader.name}: memory grew by {(resident() - before) >> 20} MB")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="for each reader")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--reader", choices=[reader.name for reader in READERS])
    given = parser.parse_args()
    total = 0
    for reader in READERS:
        if given.reader not in (None, reader.name):
            continue
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            findings = fuzz(reader, range(given.seed, given.seed + given.cases), Path(folder))
        for each in findings:
            print(each)
        seconds = time.perf_counter() - begin
        print(f"{reader.name}: {given.cases:,} cases, {len(findings)} findings, {seconds:.0f} s")
        total += len(findings)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
