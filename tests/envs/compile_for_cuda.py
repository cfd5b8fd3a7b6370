"""Compiles the batched kernels of every game to GPU code (PTX, sm_90); no GPU is needed.

``python -m tests.envs.compile_for_cuda`` prints, as JSON by game and kernel, the lines of PTX
that would be slow there (64-bit floats, memory local to a thread) or that lean on code from
outside, and the number of lines.
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numba
import numpy as np
from numba import cuda
from numba.cuda import dispatcher

from ludarium.envs import Game
from ludarium.envs.batch import BatchEnv
from tests.games import ALL_GAMES

HOPPER = (9, 0)  # compute capability of an H100
UNWANTED = {"64-bit floats": r"\.f64", "local memory": r"\.local", "outside code": r"\.extern"}


def wrappers(game: Game) -> dict[str, tuple]:
    """For each kernel a function for one thread per game, and examples of its arguments."""
    kernels, num_actions, games = game.kernels, game.num_actions, BatchEnv(game, 2)
    states, rngs = games.states, games._choices["rng"]
    planes = games.observations.reshape(2, *game.planes_shape)
    start, step = kernels.batch_start, kernels.batch_step
    step_random, draw = kernels.batch_step_random, kernels.batch_random_actions
    encode, numbers = kernels.encode, np.zeros((2, num_actions), np.int32)

    def batch_start(batch):
        i = cuda.grid(1)
        if i < batch[1].shape[0]:
            start(batch, i, i + 1)

    def batch_step(batch, actions):
        i = cuda.grid(1)
        if i < batch[1].shape[0]:
            step(batch, actions, i, i + 1)

    def batch_step_random(batch):
        i = cuda.grid(1)
        if i < batch[1].shape[0]:
            step_random(batch, i, i + 1)

    def batch_random_actions(tables, states, rngs, actions):
        i = cuda.grid(1)
        if i < states.shape[0]:
            draw(tables, states, rngs, actions, num_actions, i, i + 1)

    def show(tables, states, planes, masks, numbers):
        i = cuda.grid(1)
        if i < states.shape[0]:
            j = i + 1
            encode(tables, states[i:j], planes[i:j], masks[i:j], numbers[i:j], False)

    return {
        "batch_start": (batch_start, games._batch),
        "batch_step": (batch_step, games._batch, games.actions),
        "batch_step_random": (batch_step_random, games._batch),
        "batch_random_actions": (batch_random_actions, game.tables, states, rngs, games.actions),
        "encode": (show, game.tables, states, planes, games.masks, numbers),
    }


def report(game: Game) -> dict[str, dict]:
    """The unwanted lines of each kernel, by their kind."""
    found = {}
    for name, (function, *arguments) in wrappers(game).items():
        types = tuple(numba.typeof(argument) for argument in arguments)
        ptx, _ = cuda.compile_ptx(function, types, cc=HOPPER)
        lines = ptx.splitlines()
        unwanted = {
            kind: [line.strip() for line in lines if re.search(pattern, line)]
            for kind, pattern in UNWANTED.items()
        }
        found[name] = {"lines": len(lines), "unwanted": unwanted}
    return found


if __name__ == "__main__":
    # Rule functions are compiled for "the current device": let that be a GPU that is not there.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=HOPPER)
    print(json.dumps({name: report(game()) for name, game in ALL_GAMES.items()}))
