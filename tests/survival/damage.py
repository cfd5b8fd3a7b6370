"""Damage to files, as a failing disk, a bad copy or a hand does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

#: Files that nothing is gone on with: they are left, or written again.
_UNREAD = ("tensorboard/", "lock", "config.yaml", "agent.safetensors", "agents/")


def files_of(run: Path) -> list[str]:
    """The files of a run that matter, by their paths in its folder; the latest of its states."""
    latest = max(run.glob("state-*")).name
    names = sorted(file.relative_to(run).as_posix() for file in run.rglob("*") if file.is_file())
    return [
        name
        for name in names
        if not name.startswith(_UNREAD) and (name == latest or not name.startswith("state-"))
    ]


def damage(file: Path, how: str, rng: np.random.Generator) -> None:
    """Change a file; ``how`` is one of `DAMAGES`."""
    content = bytearray(file.read_bytes())
    changed = DAMAGES[how](content, rng)
    assert changed != file.read_bytes()
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)


def _flip(content: bytearray, rng: np.random.Generator) -> bytes:
    """One bit is another one."""
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def _cut(content: bytearray, rng: np.random.Generator) -> bytes:
    """The end is missing."""
    return bytes(content[: rng.integers(len(content))])


def _blank(content: bytearray, rng: np.random.Generator) -> bytes:
    """A part is zeros, as after a power cut, and was not before."""
    begin = int(rng.integers(len(content.rstrip(b"\0"))))
    return bytes(content[:begin]) + bytes(len(content) - begin)


def _remove(content: bytearray, rng: np.random.Generator) -> None:
    """Nothing is left."""


DAMAGES: dict[str, Callable[[bytearray, np.random.Generator], bytes | None]] = {
    "flip": _flip,
    "cut": _cut,
    "blank": _blank,
    "remove": _remove,
}
