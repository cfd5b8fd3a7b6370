"""Refuses a run that this machine cannot do, before anything is allocated.

A configuration may come from a stranger, or have a zero too many. What grows with its numbers is
counted; batches on their way through the network are not.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path

import torch

from ludarium.configs import AlphaZeroConfig, PPOConfig, TrainingConfig
from ludarium.envs.engine.files import MEGABYTE
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.threads import available_cores
from ludarium.models import make_network
from ludarium.training.alphazero.mixture import games_of
from ludarium.training.alphazero.samples import sample_dtype
from ludarium.training.networks import chosen_architecture, network_shape
from ludarium.training.search.tree import EDGE, NODE

_MOST_WORKERS_OF_A_CORE = 8
_FLOAT = 4
_COPIES = 6  # of the weights: network, EMA, gradients, two moments, the network that plays
_COPIES_OF_RESULTS = 3  # a group's log, its samples, the samples of all groups joined


def check_resources(config: TrainingConfig, game: Game) -> None:
    """Refuse a run that this machine cannot do.

    Raises:
        ValueError: the device is not there, there are far more workers than cores, or the run
            would take more memory than is free; the message names the keys.
    """
    check_device(config.device)
    if isinstance(config, AlphaZeroConfig):
        most, workers = _MOST_WORKERS_OF_A_CORE * available_cores(), config.self_play.workers
        if workers is not None and workers > most:
            raise ValueError(
                f"self_play.workers is {workers:,}; {most} are the most on "
                f"{available_cores()} cores"
            )
    there, parts = available_memory(), memory_of(config, game)
    needed = sum(parts.values())
    if there is not None and needed > there:
        keys = max(parts, key=lambda name: parts[name])
        raise ValueError(
            f"the run would take {_gigabytes(needed)} of memory, {_gigabytes(parts[keys])} of it "
            f"for {keys}, and {_gigabytes(there)} are free: lower {keys}"
        )


def memory_of(config: TrainingConfig, game: Game) -> dict[str, int]:
    """Bytes of what a run keeps in memory, by the keys that they grow with.

    Trees are counted as if every action were legal; of variants the largest is.
    """
    variants = games_of(config) if isinstance(config, AlphaZeroConfig) and config.variants else []
    with torch.device("meta"):  # where tensors have shapes and take no memory
        architecture = chosen_architecture(game, config.network, [each for each, _ in variants])
        network = make_network(network_shape(game), architecture)
    parts = {"network": _COPIES * sum(each.nbytes for each in network.parameters())}
    if isinstance(config, PPOConfig):
        step = _FLOAT * (prod(game.observation_shape) + game.num_actions)
        rollout = config.rollout
        return parts | {
            "rollout.games or rollout.steps": 2 * step * rollout.games * rollout.steps,
            "opponents.pool": config.opponents.pool * parts["network"] // _COPIES,
        }
    assert isinstance(config, AlphaZeroConfig)
    play, replay = config.self_play, config.replay
    game = max((each for each, _ in variants), key=lambda each: each.num_actions, default=game)
    node = NODE.itemsize + game.num_actions * EDGE.itemsize + game.state_dtype.itemsize
    sample = sample_dtype(game, play.solve > 0).itemsize
    return parts | {
        "self_play.games or self_play.simulations": play.games * (play.most_simulations + 2) * node,
        "self_play.positions": _COPIES_OF_RESULTS * play.positions * sample,
        "bootstrap.positions": _COPIES_OF_RESULTS * config.bootstrap.positions * sample,
        "self_play.cache": int(play.cache * MEGABYTE),
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


def available_memory() -> int | None:
    """Bytes that the system says are free: of Linux what is available; else the whole memory."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    if {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= getattr(os, "sysconf_names", {}).keys():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GB"
