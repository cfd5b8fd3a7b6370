"""What a module that looks up in the table of Osiron exports; see `solving`.

Template functions (see ``ludarium.envs.engine.compile``), which need none of the rules.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.analysis.osiron import kernels as osiron
from ludarium.analysis.osiron.colourings import board_record
from ludarium.analysis.osiron.kernels import COLOURINGS, ILLEGAL, WIN, packed
from ludarium.envs.engine.compile import kernel
from ludarium.envs.engine.game import Game

from .solving import BOUND, forget_bounds, note_bounds

rules: Any = None  # Osiron's rule module, filled in by `specialise`

# Compiled along with the kernels below that call them.
look_up = osiron.look_up
look_up_actions = osiron.look_up_actions


class Solver(NamedTuple):
    """The memory of what looks up in the table, with A actions.

    Attributes:
        states: structured [1], the position that is asked about.
        bounds: `BOUND` [A + 1].
        boards: the board, as ``ludarium.analysis.osiron.kernels`` take it.
        table: uint8[3, N], what the file has: `OsironSolution.planes`.
        words: int32[N], the same as the kernels take it.
        value: int8[1]; values: int8[1, A]: what they return.
    """

    states: np.ndarray
    bounds: np.ndarray
    boards: np.ndarray
    table: np.ndarray
    words: np.ndarray
    value: np.ndarray
    values: np.ndarray


def solver_memory(game: Game) -> Solver:
    """The memory, with an empty table."""
    return Solver(
        states=game.new_states(1),
        bounds=np.zeros(game.num_actions + 1, BOUND),
        boards=board_record(game),
        table=np.zeros((3, COLOURINGS), np.uint8),
        words=np.zeros(COLOURINGS, np.int32),
        value=np.zeros(1, np.int8),
        values=np.zeros((1, game.num_actions), np.int8),
    )


@kernel
def solver_begin(solver):
    """Turn to the position in ``states``: write the values of its legal actions, and its own."""
    bounds = solver.bounds
    actions = len(bounds) - 1
    forget_bounds(bounds, WIN)
    look_up(solver.boards, solver.words, solver.states, solver.value)
    look_up_actions(solver.boards, solver.words, solver.states, solver.values)
    for action in range(actions):
        bounds[action].is_legal = int(solver.values[0, action] != ILLEGAL)
    for action in range(actions):
        if bounds[action].is_legal:
            bounds[action].low = solver.values[0, action]
            bounds[action].high = solver.values[0, action]
    if solver.value[0] != ILLEGAL:
        note_bounds(bounds, actions, int(solver.value[0]), int(solver.value[0]))


@kernel
def solver_ask(solver, action, leads, budget):
    """All is known from the beginning."""
    return 1


@kernel
def solver_learn(solver):
    """Make the words of what was written into ``table``; returns how many."""
    for number in range(len(solver.words)):
        best = int(solver.table[0, number]) - 128
        second = int(solver.table[1, number]) - 128
        solver.words[number] = packed(best, second, int(solver.table[2, number]))
    return len(solver.words)


@kernel
def solver_nodes(solver):
    """Positions searched: none."""
    return 0
