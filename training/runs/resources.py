"""Refuses a run that this machine cannot do, before anything is allocated.

A configuration may come from a stranger, or have a zero too many. What takes most memory is
counted: the system would end the process without a word.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig, TrainingConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.threads import available_cores
from ludarium.training.networks import chosen_architecture
from ludarium.training.search.tree import EDGE, NODE

_MOST_WORKERS_OF_A_CORE = 8
_TREES = "self_play.games or self_play.simulations"  # the keys that trees grow with
_CONTAINER = Path("/sys/fs/cgroup")  # limits of this container, if it is one, on Linux
_COPIES = 6  # of the weights: network, EMA, gradients, two moments, the network that plays


def check_resources(
    config: TrainingConfig, games: Sequence[Game], on_cluster: bool = False
) -> None:
    """Refuse a run that this machine cannot do.

    Args:
        config: of the run.
        games: that it plays.
        on_cluster: others play: workers and trees are not of this machine.

    Raises:
        ValueError: the device is not there, there are far more workers than cores, or the run
            would take more memory than is free; the message names the keys.
    """
    check_device(config.device)
    if isinstance(config, AlphaZeroConfig) and not on_cluster:
        cores, workers = available_cores(), config.self_play.workers or 0
        most = _MOST_WORKERS_OF_A_CORE * cores
        if workers > most:
            raise ValueError(
                f"self_play.workers is {workers:,}; {most} are the most on {cores} cores"
            )
    there, parts = available_memory(), memory_of(config, games)
    if on_cluster:
        parts.pop(_TREES, None)
    needed = sum(parts.values())
    if there is not None and needed > there:
        keys = max(parts, key=lambda name: parts[name])
        raise ValueError(
            f"the run would take {needed / 2**30:,.1f} GB of memory, most of it for {keys}, and "
            f"{there / 2**30:,.1f} GB are free: lower {keys}"
        )


def memory_of(config: TrainingConfig, games: Sequence[Game]) -> dict[str, int]:
    """Bytes of weights, trees and replay, by the keys that they grow with.

    Of the weights those between the blocks' channels are counted, and of a network of one's own
    none; trees as if every action were legal; of several games the largest.
    """
    largest = max(games, key=lambda each: each.num_actions)
    options = chosen_architecture(largest, config.network).options
    layer = options.get("channels", 0) ** 2 * (9 if len(largest.observation_shape) == 3 else 1)
    weights = 2 * options.get("blocks", 0) * layer
    parts = {"network": _COPIES * weights * np.dtype(np.float32).itemsize}
    if not isinstance(config, AlphaZeroConfig):
        return parts
    play, replay = config.self_play, config.replay
    state, actions = largest.state_dtype.itemsize, largest.num_actions
    node = NODE.itemsize + state + actions * EDGE.itemsize
    sample = state + actions * np.dtype(np.float16).itemsize
    batched = _needs_batches(config, largest)
    workers = play.workers or available_cores()
    trees = max(play.games, workers) if batched else workers
    return parts | {
        _TREES: trees * (play.most_simulations + 2) * node,
        "replay.last": max(replay.first, replay.last) * sample,
    }


def _needs_batches(config: AlphaZeroConfig, game: Game) -> bool:
    """Whether many games are played side by side; see `ludarium.training.alphazero.self_play`."""
    is_compiled = config.network.module is None and config.backend not in ("eager", "graph-fp16")
    is_board = len(game.observation_shape) == 3
    return not (is_compiled and is_board) or check_device(config.device) != "cpu"


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


def available_memory() -> int | None:
    """Bytes that are free, in the system and in the container that this is, if it is one."""
    told = [each for each in (_system_memory(), _container_memory()) if each is not None]
    return min(told, default=None)


def _container_memory() -> int | None:
    """Bytes up to the container's limit, pages of files that would make room among them."""
    try:
        most, used = (
            int((_CONTAINER / f"memory.{name}").read_text(encoding="ascii"))
            for name in ("max", "current")
        )
        lines = (_CONTAINER / "memory.stat").read_text(encoding="ascii").splitlines()
        files = int(dict(line.split() for line in lines)["inactive_file"])
    except (OSError, ValueError, KeyError):  # there is no limit, whose text is "max", or no cgroup
        return None
    return max(0, most - used + files)


def _system_memory() -> int | None:
    """Bytes that the system says are free; the whole memory where it says no more than that."""
    if sys.platform == "win32":
        status = (ctypes.c_uint64 * 8)(64)  # MEMORYSTATUSEX: its size, the memory, what is free
        is_told = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return status[2] if is_told else None
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
