"""The exports of a module with the search that was made for Corso; see `solving`.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` are Corso's.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.analysis.corso import kernels as corso
from ludarium.analysis.corso import shipped_known
from ludarium.analysis.corso.board import new_table, smallest_table
from ludarium.analysis.corso.kernels import board_record, new_workers
from ludarium.analysis.corso.solver import EAGER
from ludarium.analysis.window import first_target, is_open, next_target
from ludarium.envs.corso import Corso
from ludarium.envs.engine.rule import ONGOING
from ludarium.machine.marks import kernel

from .solving import BOUND, bounds_of, forget_bounds, note_bounds, note_bounds_of

rules: Any = None  # Corso's rule module, filled in by `specialise`

# Compiled along with the kernels below, which call them.
cells_of = corso.cells_of
search = corso.search
learn = corso.learn

#: Bytes of the table of positions; a board whose smallest table is larger has that one.
TABLE_BYTES = 1 << 26


class SolverMemory(NamedTuple):
    """The memory of a search for exact values, with A actions.

    Attributes:
        states: structured [1], the position that is asked about.
        bounds: `BOUND` [A + 1].
        after: structured [1], the position after an action.
        tables: the constants of the rules.
        known: earlier results, see ``ludarium.analysis.corso.known``; it may be empty.
        boards, table, workers: arguments of ``ludarium.analysis.corso.kernels.search``, as arrays.
    """

    states: np.ndarray
    bounds: np.ndarray
    after: np.ndarray
    tables: np.ndarray
    known: np.ndarray
    boards: np.ndarray
    table: np.ndarray
    workers: np.ndarray


def solver_memory(game: Corso) -> SolverMemory:
    """The memory, with the constants of a board."""
    table = new_table(game.size, max(TABLE_BYTES, smallest_table(game.size)))
    known = shipped_known(game)
    return SolverMemory(
        states=game.new_states(1),
        bounds=np.zeros(game.num_actions + 1, BOUND),
        after=game.new_states(1),
        tables=game.tables,
        known=known if len(known) else np.zeros((1, 2), np.int64)[:0],
        boards=board_record(game.size, len(table), 0),
        table=table,
        workers=new_workers(1, EAGER),
    )


@kernel
def solver_begin(solver):
    """Turn to the position in ``states``: write legal actions, and values of those ending it."""
    state, after, bounds = solver.states[0], solver.after, solver.bounds
    sign = 1 - 2 * int(state.mover)
    actions = len(bounds) - 1
    forget_bounds(bounds, actions)
    for action in range(actions):
        bounds[action].is_legal = int(rules.is_legal(solver.tables[0], state, action))
    for action in range(actions):
        if bounds[action].is_legal:
            after[0] = state
            rules.step(solver.tables[0], after[0], action)
            if after[0].outcome != ONGOING:
                lead = sign * int(rules.score(solver.tables[0], after[0]))
                note_bounds(bounds, action, lead, lead)


@kernel
def solver_ask(solver, action, leads, budget):
    """Continue to find the value of an action; the number of actions asks for the position.

    ``leads`` is 1 to ask for the lead too. About ``budget`` positions are searched at most. A
    question left open begins anew the next time, and is answered sooner, because the table is kept.

    Returns:
        1 if the value is known, 0 if the budget was spent.
    """
    after, bounds, worker = solver.after, solver.bounds, solver.workers[0]
    after[0] = solver.states[0]
    is_own = action == len(bounds) - 1
    if not is_own:
        rules.step(solver.tables[0], after[0], action)
    cells = cells_of(after[0].cells, int(after[0].mover))
    low, high = bounds_of(bounds, action, is_own)
    worker.limit = worker.nodes + budget
    target = first_target(low, high)
    ply = np.int64(0)  # a constant would compile another copy of the search
    while is_open(low, high, leads):
        bound = search(solver.boards[0], solver.table, worker, cells, target, ply)
        if worker.nodes >= worker.limit:
            break
        if bound >= target:
            low = max(low, bound)
        else:
            high = min(high, bound)
        target = next_target(low, high, target)
    note_bounds_of(bounds, action, is_own, low, high)
    return int(not is_open(low, high, leads))


@kernel
def solver_learn(solver):
    """Put ``known`` into the table, before the first question; return how many these are."""
    learn(solver.boards[0], solver.table, solver.known)
    return len(solver.known)


@kernel
def solver_nodes(solver):
    """Positions searched since the module was loaded."""
    return solver.workers[0].nodes
