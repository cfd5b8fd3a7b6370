"""The exports of a module with the search to the end of a game; see `solving`.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.analysis.search import kernels as late
from ludarium.analysis.search.kernels import BUCKET, CHILD, FRAME, WORKER, final_value, play
from ludarium.analysis.search.solver import EndgameSolver, key_masks, random_factors
from ludarium.analysis.window import first_target, is_open, next_target
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING, record_dtype
from ludarium.machine.marks import kernel, part

from .solving import BOUND, bounds_of, forget_bounds, note_bounds, note_bounds_of

rules: Any = None  # one game's rule module, filled in by `specialise`

# Compiled along with the kernels below, which call them.
begin = late.begin
search = late.search

#: Bytes of the table of positions.
TABLE_BYTES = 1 << 25

#: The question that is being answered, if ``is_begun``: its action and target value.
QUESTION = record_dtype(("is_begun", np.int64), ("action", np.int64), ("target", np.int64))


class SolverMemory(NamedTuple):
    """The memory of a search for exact values, with A actions.

    Attributes:
        states: structured [1], the position that is asked about.
        bounds: `BOUND` [A + 1].
        questions: `QUESTION` [1].
        span: int64 [1], the value of a win besides the lead.
        tables, transpositions, masks, factors, line, words, workers, frames, children: arguments of
            ``ludarium.analysis.search.kernels.search``.
    """

    states: np.ndarray
    bounds: np.ndarray
    questions: np.ndarray
    span: np.ndarray
    tables: np.ndarray
    transpositions: np.ndarray
    masks: np.ndarray
    factors: np.ndarray
    line: np.ndarray
    words: np.ndarray
    workers: np.ndarray
    frames: np.ndarray
    children: np.ndarray


def solver_memory(game: Game) -> SolverMemory:
    """The memory, with the constants of a game."""
    masks = key_masks(game)
    plies = game.max_plies + 1
    line = game.new_states(plies)
    return SolverMemory(
        states=game.new_states(1),
        bounds=np.zeros(game.num_actions + 1, BOUND),
        questions=np.zeros(1, QUESTION),
        span=np.array([EndgameSolver.span_of(game)]),
        tables=game.tables,
        transpositions=np.zeros((TABLE_BYTES // 16, 2), np.int64),
        masks=masks,
        factors=random_factors(len(masks), 0),
        line=line,
        words=line.view(np.uint32).reshape(plies, len(masks)),
        workers=np.zeros(1, WORKER),
        frames=np.zeros(plies, FRAME),
        children=np.zeros((plies, game.num_actions), CHILD),
    )


@part
def setting_of(solver):
    """The first argument of `search`."""
    buckets = len(solver.transpositions) // BUCKET
    return (
        solver.tables,
        solver.span[0],
        solver.transpositions,
        buckets - 1,
        solver.masks,
        solver.factors,
    )


@kernel
def solver_begin(solver):
    """Turn to the position in ``states``: write legal actions, and values of those ending it."""
    state, line, bounds = solver.states[0], solver.line, solver.bounds
    span = solver.span[0]
    sign = 1 - 2 * int(state.mover)
    actions = len(bounds) - 1
    solver.questions[0].is_begun = 0
    forget_bounds(bounds, span + span // 2)
    line[0] = state
    for action in range(actions):
        bounds[action].is_legal = int(rules.is_legal(solver.tables[0], state, action))
    for action in range(actions):
        if bounds[action].is_legal:
            play(solver.tables[0], line, 0, action)
            if line[1].outcome != ONGOING:
                value = sign * int(final_value(solver.tables[0], line[1], span))
                note_bounds(bounds, action, value, value)


@kernel
def solver_ask(solver, action, leads, budget):
    """Continue to find the value of an action; the number of actions asks for the position.

    ``leads`` is 1 to ask for the lead too. About ``budget`` positions are searched at most.

    Returns:
        1 if the value is known, 0 if the budget was spent.
    """
    state, line, bounds = solver.states[0], solver.line, solver.bounds
    question, worker = solver.questions[0], solver.workers[0]
    setting = setting_of(solver)
    is_first = int(state.mover) == 0
    low, high = bounds_of(bounds, action, is_first)
    end = worker.nodes + budget
    goes_on = question.is_begun != 0 and question.action == action
    target = question.target if goes_on else first_target(low, high)
    if goes_on and (target <= low or target > high):
        goes_on = False
        target = first_target(low, high)
    while is_open(low, high, leads) and worker.nodes < end:
        if not goes_on:
            line[0] = state
            if action < len(bounds) - 1:
                play(solver.tables[0], line, 0, action)
                line[0] = line[1]
            begin(
                *(setting, line, solver.words, solver.workers, solver.frames, solver.children),
                target,
            )
        left = max(end - worker.nodes, 1)
        goes_on = not search(
            *(setting, line, solver.words, solver.workers, solver.frames, solver.children),
            *(target, left),
        )
        if not goes_on:
            low = max(low, int(solver.frames[0].low))
            high = min(high, int(solver.frames[0].high))
            target = next_target(low, high, target)
    question.is_begun = int(goes_on)
    question.action = action
    question.target = target
    note_bounds_of(bounds, action, is_first, low, high)
    return int(not is_open(low, high, leads))


@kernel
def solver_learn(solver):
    """Do nothing, because there is no table of known positions."""
    return 0


@kernel
def solver_nodes(solver):
    """Positions searched since the module was loaded."""
    return solver.workers[0].nodes
