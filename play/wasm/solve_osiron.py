"""The exports of a module that solves Osiron; see `solving`.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` are Osiron's. No table
ships: the module makes the one that the first question needs, by the same retrograde analysis as in
Python, and keeps it until a position arrives in which other circles count.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.analysis.osiron import kernels as osiron
from ludarium.analysis.osiron import view_record
from ludarium.analysis.osiron.colourings import COLOURINGS, UNREACHABLE, RuleSet, board_record
from ludarium.analysis.osiron.kernels import ILLEGAL, WIN
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import record_dtype
from ludarium.envs.osiron.rules import CIRCLES, SPACES
from ludarium.machine.marks import kernel, part

from .solving import BOUND, forget_bounds, note_bounds

rules: Any = None  # Osiron's rule module, filled in by `specialise`

# Compiled along with the kernels below, which call them.
start = osiron.start
decide = osiron.decide
look_up = osiron.look_up
look_up_actions = osiron.look_up_actions

#: Progress of the analysis: the circles that count in it, in a position's form; the layer (0
#: while finished games are sought), the next place in it, and how many places have changed in it;
#: ``decided``, the changes in all earlier layers since the module was loaded; ``is_solved``.
PROGRESS = record_dtype(
    ("counting", np.int32, (2,)),
    ("layer", np.int64),
    ("place", np.int64),
    ("changed", np.int64),
    ("decided", np.int64),
    ("is_solved", np.int64),
)


class SolverMemory(NamedTuple):
    """The memory of the analysis, with A actions.

    Attributes:
        states: structured [1], the position that is asked about.
        bounds: `BOUND` [A + 1].
        tables: the constants of the rules.
        circles: int32[7], the spaces of each circle.
        progress: `PROGRESS` [1].
        boards, views, colourings, words, odd_marks, even_marks: arguments of
            ``ludarium.analysis.osiron.kernels``; the marks of odd and of even layers.
        value: int8[1]; values: int8[1, A]: results of these kernels.
    """

    states: np.ndarray
    bounds: np.ndarray
    tables: np.ndarray
    circles: np.ndarray
    progress: np.ndarray
    boards: np.ndarray
    views: np.ndarray
    colourings: np.ndarray
    words: np.ndarray
    odd_marks: np.ndarray
    even_marks: np.ndarray
    value: np.ndarray
    values: np.ndarray


def solver_memory(game: Game) -> SolverMemory:
    """The memory, in which nothing is solved yet."""
    all_count = RuleSet(game.options["movement"], ((), ()))
    board = board_record(all_count)
    places = all_count.phases * COLOURINGS
    return SolverMemory(
        states=game.new_states(1),
        bounds=np.zeros(game.num_actions + 1, BOUND),
        tables=game.tables,
        circles=board["goals"][0, 0].copy(),
        progress=np.zeros(1, PROGRESS),
        boards=board,
        # From an empty start player 1, who places last, begins the rounds.
        views=view_record(np.arange(SPACES), exchanged=int(game.options["setup"] == "empty")),
        colourings=np.zeros(COLOURINGS, np.int32),
        words=np.zeros(places, np.int32),
        odd_marks=np.zeros(places, np.uint8),
        even_marks=np.zeros(places, np.uint8),
        value=np.zeros(1, np.int8),
        values=np.zeros((1, game.num_actions), np.int8),
    )


@kernel
def solver_begin(solver):
    """Turn to the position in ``states``: write its legal actions, and values if they are known.

    If other circles count than in the table, the analysis starts over.
    """
    state, bounds, progress = solver.states[0], solver.bounds, solver.progress[0]
    forget_bounds(bounds, WIN)
    for action in range(len(bounds) - 1):
        bounds[action].is_legal = int(rules.is_legal(solver.tables[0], state, action))
    if state.empty == 0:
        is_same = True
        for player in range(2):
            is_same &= progress.counting[player] == state.counting[player]
        if not is_same:
            begin_anew(solver)
        if progress.is_solved:
            note_values(solver)


@kernel
def solver_ask(solver, action, leads, budget):
    """Continue the analysis by about ``budget`` places; all questions have the same answer.

    Returns:
        1 if everything that can be known is known, 0 if the budget was spent. Nothing can be known
        while pieces are placed.
    """
    progress = solver.progress[0]
    if solver.states[0].empty == 0 and not progress.is_solved:
        go_on(solver, budget)
        if progress.is_solved:
            note_values(solver)
    return int(solver.states[0].empty != 0 or progress.is_solved != 0)


@kernel
def solver_learn(solver):
    """Write the colourings in rising order; return how many there are.

    The next larger number with equally many bits is found as in "HAKMEM" (Beeler, Gosper and
    Schroeppel, 1972), item 175.
    """
    spaces = (1 << SPACES // 2) - 1
    for number in range(COLOURINGS):
        solver.colourings[number] = spaces
        lowest = spaces & -spaces
        carried = spaces + lowest
        spaces = ((spaces ^ carried) >> 2) // lowest | carried
    return COLOURINGS


@kernel
def solver_nodes(solver):
    """How often a place has changed, in all layers done since the module was loaded."""
    return solver.progress[0].decided


@part
def begin_anew(solver):
    """Forget the table, and take the circles that count from the position."""
    state, board, progress = solver.states[0], solver.boards[0], solver.progress[0]
    for player in range(2):
        progress.counting[player] = state.counting[player]
        seat = player ^ int(solver.views[0].exchanged)
        for circle in range(CIRCLES):
            is_counting = int(state.counting[player]) >> 4 * circle + 3 & 1
            board.goals[seat, circle] = solver.circles[circle] if is_counting else UNREACHABLE
    for place in range(len(solver.words)):
        solver.odd_marks[place] = 0
        solver.even_marks[place] = 0
    progress.layer = 0
    progress.place = 0
    progress.changed = 0
    progress.is_solved = 0


@part
def go_on(solver, budget):
    """Process ``budget`` further places, or the remaining ones."""
    progress = solver.progress[0]
    boards, colourings, words = solver.boards, solver.colourings, solver.words
    left = budget
    while left > 0 and not progress.is_solved:
        begin = progress.place
        end = min(begin + left, len(words))
        if progress.layer == 0:
            start(boards, colourings, words, solver.odd_marks, begin, end)
        elif progress.layer & 1:
            marks, later = solver.odd_marks, solver.even_marks
            progress.changed += decide(
                boards, colourings, words, marks, later, progress.layer, begin, end
            )
        else:
            marks, later = solver.even_marks, solver.odd_marks
            progress.changed += decide(
                boards, colourings, words, marks, later, progress.layer, begin, end
            )
        left -= end - begin
        progress.place = end
        if end == len(words):
            progress.is_solved = int(progress.layer > 0 and progress.changed == 0)
            progress.decided += progress.changed
            progress.layer += 1
            progress.place = 0
            progress.changed = 0


@part
def note_values(solver):
    """Write the values of the position and of its actions."""
    bounds = solver.bounds
    actions = len(bounds) - 1
    arguments = (solver.boards, solver.views, solver.tables, solver.words, solver.states)
    look_up(*arguments, solver.value)
    look_up_actions(*arguments, solver.values)
    for action in range(actions):
        if solver.values[0, action] != ILLEGAL:
            bounds[action].low = solver.values[0, action]
            bounds[action].high = solver.values[0, action]
    if solver.value[0] != ILLEGAL:
        note_bounds(bounds, actions, int(solver.value[0]), int(solver.value[0]))
