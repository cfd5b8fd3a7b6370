"""Refuses a run that this machine cannot do, before anything is allocated.

A configuration may come from a stranger, or have a zero too many. What takes most memory is
counted: the system would end the process without a word.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import torch

from ludarium.configs import AlphaZeroConfig, TrainingConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.threads import available_cores
from ludarium.training.alphazero.mixture import games_of
from ludarium.training.alphazero.samples import sample_dtype
from ludarium.training.networks import chosen_architecture
from ludarium.training.search.tree import EDGE, NODE

_MOST_WORKERS_OF_A_CORE = 8
_FLOAT = 4
_LAYERS_OF_A_BLOCK = 2
_KERNEL = 9  # weights of a convolution from a channel to a channel
_COPIES = 6  # of the weights: network, EMA, gradients, two moments, the network that plays


def check_resources(config: TrainingConfig, game: Game) -> None:
    """Refuse a run that this machine cannot do.

    Raises:
        ValueError: the device is not there, there are far more workers than cores, or the run
            would take more memory than is free; the message names the keys.
    """
    check_device(config.device)
    if isinstance(config, AlphaZeroConfig):
        cores, workers = available_cores(), config.self_play.workers
        most = _MOST_WORKERS_OF_A_CORE * cores
        if workers is not None and workers > most:
            raise ValueError(
                f"self_play.workers is {workers:,}; {most} are the most on {cores} cores"
            )
    there, parts = available_memory(), memory_of(config, game)
    needed = sum(parts.values())
    if there is not None and needed > there:
        keys = max(parts, key=lambda name: parts[name])
        raise ValueError(
            f"the run would take {needed / 2**30:,.1f} GB of memory, most of it for {keys}, and "
            f"{there / 2**30:,.1f} GB are free: lower {keys}"
        )


def memory_of(config: TrainingConfig, game: Game) -> dict[str, int]:
    """Bytes of weights, trees and replay, by the keys that they grow with.

    Trees are counted as if every action were legal; of variants the largest is. A network of one's
    own is not counted.
    """
    options = chosen_architecture(game, config.network).options
    layer = options.get("channels", 0) ** 2 * (_KERNEL if len(game.observation_shape) == 3 else 1)
    parts = {"network": _COPIES * _FLOAT * _LAYERS_OF_A_BLOCK * options.get("blocks", 0) * layer}
    if not isinstance(config, AlphaZeroConfig):
        return parts
    play, replay = config.self_play, config.replay
    largest = max((each for each, _ in games_of(config)), key=lambda each: each.num_actions)
    node = NODE.itemsize + largest.num_actions * EDGE.itemsize + largest.state_dtype.itemsize
    sample = sample_dtype(largest, play.solve > 0).itemsize
    return parts | {
        "self_play.games or self_play.simulations": play.games * (play.most_simulations + 2) * node,
        "replay.last": max(replay.first, replay.last) * sample,
    }


def check_device(wanted: str) -> str:
    """The torch device that a configuration names; ``auto`` takes a GPU if there is one.

    Raises:
        ValueError: there is no such device on this machine.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "auto":
        return "cuda" if count else "cpu"
    there = ["cpu", *(["cuda"] if count else []), *(f"cuda:{index}" for index in range(count))]
    if torch.backends.mps.is_available():
        there.append("mps")
    if wanted not in there:
        raise ValueError(
            f"device is {quoted(wanted)}, which is not on this machine; there are auto, "
            f"{', '.join(there)}"
        )
    return wanted


class _MemoryStatus(ctypes.Structure):
    """What ``GlobalMemoryStatusEx`` of Windows fills in, ``MEMORYSTATUSEX``."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "available")),
        ("others", ctypes.c_uint64 * 5),  # of page files and addresses
    ]


def available_memory() -> int | None:
    """Bytes that the system says are free: of Linux and Windows; else the whole memory."""
    if sys.platform == "win32":
        status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
        is_told = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return int(status.available) if is_told else None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    if {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= getattr(os, "sysconf_names", {}).keys():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None
