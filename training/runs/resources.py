"""Estimates the resources that a run needs, before anything is allocated.

A configuration may come from a stranger, or have a zero too many. In that case nothing is allocated
and no folder is made; the error gives the estimate, what the machine has, and which key to lower.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch
from torch import nn

from ludarium.configs import AlphaZeroConfig, PPOConfig, TrainingConfig
from ludarium.envs.engine.files import MEGABYTE
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.threads import available_cores
from ludarium.models import make_network
from ludarium.training.alphazero.exact import TABLE_BYTES
from ludarium.training.alphazero.mixture import games_of
from ludarium.training.alphazero.samples import sample_dtype
from ludarium.training.alphazero.self_play import choose_threads
from ludarium.training.networks import chosen_architecture, network_shape
from ludarium.training.search.tree import EDGE, NODE, root_dtype

_MOST_WORKERS_OF_A_CORE = 8
_FLOAT = 4
# Copies of the weights: network, EMA, gradients, two moments, the network that plays, a spare.
_LEARNER_COPIES = 7
_ACTIVATIONS = 2  # copies of a layer's output: the output, and its gradient or a copy
_OF_A_LOGGED_GAME = 32  # bytes of results beside the records, see `kernels.self_play.Log`
_COPIES_OF_RESULTS = 3  # a group's log, its samples, the samples of all groups joined
_OF_A_ROLLOUT_STEP = 6 * _FLOAT  # action, reward, value, probability, advantage, return


@dataclass(frozen=True)
class Part:
    """Something that takes memory: most bytes that it takes, and the keys that it grows with."""

    name: str
    size: int
    keys: str


def check_resources(config: TrainingConfig, game: Game) -> None:
    """Refuse a run that this machine cannot do, before anything is allocated.

    Raises:
        ValueError: the device is not there, there are far more workers than cores, or the run
            would take more memory than this process may have; the message names the keys.
    """
    device = check_device(config.device)
    if isinstance(config, AlphaZeroConfig):
        most = _MOST_WORKERS_OF_A_CORE * available_cores()
        workers = config.self_play.workers
        if workers is not None and workers > most:
            raise ValueError(
                f"self_play.workers is {workers:,}; {most} are the most on "
                f"{available_cores()} cores"
            )
    there = available_memory()
    parts = sorted(memory_of(config, game, device), key=lambda part: -part.size)
    needed = sum(part.size for part in parts)
    if there is not None and needed > there:
        largest = ", ".join(f"{part.name} {_gigabytes(part.size)}" for part in parts[:2])
        raise ValueError(
            f"the run would take {_gigabytes(needed)} of memory ({largest}), there are "
            f"{_gigabytes(there)}: lower {parts[0].keys}"
        )
    if device.startswith("cuda"):
        on_device = torch.cuda.get_device_properties(device).total_memory
        (network,) = (part for part in parts if part.name == "network")
        if network.size > on_device:
            raise ValueError(
                f"the network would take {_gigabytes(network.size)} of {device}, which has "
                f"{_gigabytes(on_device)}: lower {network.keys}"
            )


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


def memory_of(config: TrainingConfig, game: Game, device: str) -> list[Part]:
    """The most memory that a run takes, in bytes. Assumes for trees that every action is legal."""
    if isinstance(config, AlphaZeroConfig):
        return list(_alphazero(config, game, device))
    assert isinstance(config, PPOConfig)
    return list(_ppo(config, game))


def _alphazero(config: AlphaZeroConfig, game: Game, device: str) -> Iterator[Part]:
    """The parts of a run; with variants as if all were the largest of them."""
    played = games_of(config)
    game = max((each for each, _ in played), key=lambda each: each.num_actions)
    variants = [each for each, _ in played] if config.variants else []
    play, actions = config.self_play, game.num_actions
    threads = choose_threads(play, device)
    simulations = play.most_simulations
    nodes = (simulations + 1) * (NODE.itemsize + actions * EDGE.itemsize)
    tree = nodes + (simulations + 2) * game.state_dtype.itemsize + root_dtype(actions).itemsize
    schedules = (play.max_considered + 1) * simulations * 4 * (threads + 1)
    observation = prod(game.observation_shape) * _FLOAT
    yield Part(
        "search trees",
        play.games * (tree + 2 * observation) + schedules,
        "self_play.games or self_play.simulations",
    )
    sample = sample_dtype(game, play.solve > 0).itemsize
    logged = 2 * game.state_dtype.itemsize + (actions + 1) * _FLOAT + _OF_A_LOGGED_GAME
    yield Part(
        "new positions",
        play.positions * (logged + _COPIES_OF_RESULTS * sample),
        "self_play.positions",
    )
    yield Part("replay", max(config.replay.first, config.replay.last) * sample, "replay.last")
    yield Part("bootstrap", 2 * config.bootstrap.positions * sample, "bootstrap.positions")
    yield Part("cache", int(play.cache * MEGABYTE), "self_play.cache")
    if play.solve:
        yield Part("exact values", threads * TABLE_BYTES, "self_play.workers")
    weights, activations = _network(config, game, variants)
    batch = config.learner.batch * (observation + actions * _FLOAT + _ACTIVATIONS * activations)
    yield Part(
        "network",
        weights * (_LEARNER_COPIES + threads + len(variants))
        + play.games * activations
        + 2 * batch,
        "network or learner.batch",
    )


def _ppo(config: PPOConfig, game: Game) -> Iterator[Part]:
    rollout = config.rollout
    observation, masks = prod(game.observation_shape) * _FLOAT, game.num_actions * _FLOAT
    yield Part(
        "games",
        rollout.games * (game.state_dtype.itemsize + 4 * observation + 4 * masks),
        "rollout.games",
    )
    yield Part(
        "rollout",
        2 * rollout.games * rollout.steps * (observation + masks + _OF_A_ROLLOUT_STEP),
        "rollout.games or rollout.steps",
    )
    weights, activations = _network(config, game)
    yield Part("past selves", config.opponents.pool * weights, "opponents.pool or network")
    batch = config.learner.batch * (observation + masks + _ACTIVATIONS * activations)
    yield Part(
        "network",
        weights * _LEARNER_COPIES + rollout.games * activations + batch,
        "network or learner.batch",
    )


def _network(config: TrainingConfig, game: Game, variants: Sequence[Game] = ()) -> tuple[int, int]:
    """Bytes of a network's weights, and of what its layers give for one position.

    The network has shapes, but no numbers: torch's device ``meta`` takes no memory.
    """
    with torch.device("meta"):
        network = make_network(
            network_shape(game), chosen_architecture(game, config.network, variants)
        )
    network = network.to("meta").eval()
    given = 0

    def count(layer: nn.Module, inputs: object, output: object) -> None:
        nonlocal given
        if isinstance(output, torch.Tensor):
            given += output.numel() * _FLOAT

    for layer in network.modules():
        if not list(layer.children()):
            layer.register_forward_hook(count)
    network(torch.empty(1, *game.observation_shape, device="meta"))
    return sum(weight.numel() for weight in network.parameters()) * _FLOAT, given


def available_memory() -> int | None:
    """Bytes that this process may use: the machine's memory or a lower limit; None if unknown."""
    limits = [*_machine(), *_process_limits(), *_cgroup_limits()]
    return min(limits, default=None)


def _machine() -> Iterator[int]:
    if hasattr(os, "sysconf") and {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= os.sysconf_names.keys():
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _process_limits() -> Iterator[int]:
    """Memory limits of this process (``ulimit``), in bytes."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield soft


def _cgroup_limits(root: str = "/") -> Iterator[int]:
    """Memory limits of the container or the job queue: this process's cgroup and its parents."""
    groups = Path(root, "sys/fs/cgroup")
    try:
        lines = Path(root, "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = (
            (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
        )
        folder = top / path.strip("/")
        for place in (folder, *folder.parents):
            try:
                text = (place / name).read_text(encoding="utf-8").strip()
            except OSError:
                continue
            if text.isdecimal():
                yield int(text)


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GB"
