"""Refuses a run that does not fit this machine, before anything is allocated.

A configuration may come from a stranger, or have a zero too many. The largest parts of the memory
are added up, because the system would kill the process without a message.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ludarium.base.memory import require_memory
from ludarium.base.messages import quoted
from ludarium.base.threads import available_cores
from ludarium.configs import AlphaZeroConfig, PPOConfig, TrainingConfig
from ludarium.envs.engine.game import Game
from ludarium.models.layers import weight_shapes
from ludarium.training.networks import chosen_architecture, network_shape
from ludarium.training.search.tree import EDGE, NODE

_TREES = "self_play.games or self_play.simulations"  # the keys on which the size of trees depends
_CACHE = "self_play.cache"


def check_resources(
    config: TrainingConfig, games: Sequence[Game], on_cluster: bool = False
) -> None:
    """Refuse a run that does not fit this machine.

    Args:
        config: the run's configuration.
        games: the games that it plays.
        on_cluster: actors play on a cluster: memory for their trees and caches is not counted.

    Raises:
        ValueError: there is no such device, or the run would take more memory than is free; the
            message names the keys.
    """
    check_device(config.device)
    parts = memory_of(config, games)
    if on_cluster:
        parts = {keys: size for keys, size in parts.items() if keys not in (_TREES, _CACHE)}
    largest = max(parts, key=lambda keys: parts[keys])
    require_memory(f"the run, most of all its {largest},", sum(parts.values()))


def memory_of(config: TrainingConfig, games: Sequence[Game]) -> dict[str, int]:
    """Bytes of the largest parts, by the keys on which they depend.

    AlphaZero: trees, evaluation cache and replay. Trees are counted as if every action were legal,
    and all games as the one with most actions. PPO: the rollout, and on a CPU the past selves.
    """
    if isinstance(config, PPOConfig):
        return _memory_of_ppo(config, games[0])
    assert isinstance(config, AlphaZeroConfig)
    largest = max(games, key=lambda each: each.num_actions)
    play = config.self_play
    state, actions = largest.state_dtype.itemsize, largest.num_actions
    workers = play.workers or available_cores()
    trees = max(play.games, workers) if _needs_batches(config, largest) else workers * len(games)
    node = NODE.itemsize + state + actions * EDGE.itemsize
    sample = state + actions * np.dtype(np.float16).itemsize
    return {
        _TREES: trees * (play.most_simulations + 2) * node,
        _CACHE: int(play.cache * 2**20),
        "replay.last": config.replay.last * sample,
    }


def _memory_of_ppo(config: PPOConfig, game: Game) -> dict[str, int]:
    rollout = config.rollout
    # sb3-contrib keeps observation, mask and six numbers as float32, and the action as int64.
    step = 4 * (math.prod(game.observation_shape) + game.num_actions + 6) + 8
    network = 0
    if config.network.module is None and check_device(config.device) == "cpu":
        shapes = weight_shapes(network_shape(game), chosen_architecture(game, config.network))
        network = 4 * sum(math.prod(shape) for shape in shapes.values())
    return {
        "rollout.games or rollout.steps": rollout.games * rollout.steps * step,
        "opponents.pool": config.opponents.pool * network,
    }


def _needs_batches(config: AlphaZeroConfig, game: Game) -> bool:
    """Whether many games are played side by side; see `ludarium.training.alphazero.self_play`."""
    is_compiled = config.network.module is None and config.backend not in ("eager", "graph-fp16")
    is_board = len(game.observation_shape) == 3
    return not (is_compiled and is_board) or check_device(config.device) != "cpu"


def check_device(wanted: str) -> str:
    """The torch device that a configuration names; ``auto`` is ``cuda`` if available, else ``cpu``.

    Raises:
        ValueError: there is no such device on this machine.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "auto":
        return "cuda" if count else "cpu"
    devices = ["cpu", *(["cuda"] if count else []), *(f"cuda:{index}" for index in range(count))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    if wanted not in devices:
        raise ValueError(
            f"device is {quoted(wanted)}, which is not on this machine; there are auto, "
            f"{', '.join(devices)}"
        )
    return wanted
