"""Computes what a position shows: the shapes of its picture, its texts by number, and its threats.

It also tells who owns the cells, and who may own them at the end.

Template functions (see `compile`): ``rules`` has all functions of one game. Programs without Python
run the same functions: the game's WebAssembly module has all kernels but `owners`, the C library
has `show`, `facts` and `word`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ludarium.machine.marks import kernel, part

from .kernels import random_playout
from .rule import ONGOING, reward

if TYPE_CHECKING:
    from .compile import Arguments
    from .game import Game

rules: Any = None  # one game's functions, filled in by `specialise`
NEEDS_VIEW = True


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    tables, states, view = game.tables, game.new_states(2), game.view_tables
    planes, numbers = np.zeros(game.planes_shape, np.float32), np.zeros((2, 2), np.int32)
    yield "show", (tables, view, states, states, 0, planes, numbers[0])
    yield "facts", (tables, states, numbers[0])
    yield "word", (tables, states, 0)
    yield "reason", (tables, states, 0)
    yield "next_pose", (tables, view, states, 0, 0)
    yield "threats", (tables, states, states, numbers, numbers)
    if game.has_owners:
        yield "owners", (tables, states, numbers[0].astype(np.int8))
        yield "ownership", (tables, states, states, np.ones(2, np.int64), 1, 1, numbers[0])


# Entries of `facts`.
TASK, ROLE, POINTS = 0, 1, 3
NUM_FACTS = 5

# Ways to change the pose of a piece in hand, for `next_pose`: a quarter turn, counterclockwise as
# seen from above, and a flip.
ROTATE, FLIP = 0, 1

#: Marks an action among the `threats` that wins at once.
WINS = -1


class Threats(NamedTuple):
    """What each player could do at once in a position, if it were their turn.

    Attributes:
        actions: int32[2, num_actions], by player: -1 for an action that wins at once, else the
            number of cells on which it takes something (``takes`` of the `Spec`): 0 if it takes
            nothing or is not legal.
        cells: int32[2, cells], a plane's, by player: how many actions take something on each cell.
        covers_opponent: whether the arrays cover the player who is not to move: if the game is not
            over and ``give_turn`` of the `Spec` returns True. Otherwise that player's rows are 0.
    """

    actions: np.ndarray
    cells: np.ndarray
    covers_opponent: bool


@kernel
def show(tables, view, before, states, action, planes, shown):
    """Write what each slot of the picture shows, by number, into ``shown`` int32[slots].

    ``action`` led from the position ``before`` to ``states``, both structured [1]; -1: none is
    known. Where only ``before`` is not known, it is ``states``. ``planes`` is room for the
    observation, which the default picture shows.
    """
    if rules.shows_planes:
        rules.observe(tables[0], before[0], 0, planes)
        write_planes(planes, shown)
        rules.observe(tables[0], states[0], 0, planes)
        show_planes(tables[0], planes, action, shown)
    else:
        rules.show(tables[0], view[0], before[0], states[0], action, shown)


@part
def write_planes(planes, shown):
    """Show the planes that player 0 sees, one after the other."""
    cells = planes.shape[1]
    for plane in range(planes.shape[0]):
        for cell in range(cells):
            shown[plane * cells + cell] = 1 if planes[plane, cell] > 0 else 0


@part
def show_planes(table, planes, action, shown):
    """Show the planes, and mark the cell of the last action.

    ``shown`` holds the planes of the position before. If nothing changed on the action's cell, as
    when a disc falls from it, the cells that changed are marked instead.
    """
    cells = planes.shape[1]
    marks = planes.shape[0] * cells
    place = table.action_cells[action] if action >= 0 else -1
    changed = 0
    for cell in range(cells):
        shown[marks + cell] = 0
        for plane in range(planes.shape[0]):
            value = 1 if planes[plane, cell] > 0 else 0
            if shown[plane * cells + cell] != value:
                shown[marks + cell] = 1
        changed += shown[marks + cell]
    if place < 0 or changed == 0 or shown[marks + place] == 1:
        for cell in range(cells):
            shown[marks + cell] = 1 if cell == place else 0
    write_planes(planes, shown)


@kernel
def facts(tables, states, found):
    """Write the mover's task, and each player's role and points, into ``found`` int32[5]."""
    table, state = tables[0], states[0]
    found[TASK] = rules.task(table, state)
    for player in range(2):
        found[ROLE + player] = rules.role(table, state, player)
    found[POINTS], found[POINTS + 1] = rules.points(table, state)


@kernel
def word(tables, states, action):
    """Number of the text of an action in this position, among the game's ``words``."""
    return int(rules.word(tables[0], states[0], action))


@kernel
def reason(tables, states, action):
    """Number of the reason why an action is not legal, see `hooks.HOOKS`."""
    return int(rules.reason(tables[0], states[0], action))


@kernel
def next_pose(tables, view, states, pose, way):
    """The pose of the mover's piece in hand after a turn or a flip, see `draw.scene`."""
    return int(rules.next_pose(tables[0], view[0], states[0], pose, way))


@kernel
def owners(tables, states, found):
    """Write the owner of each cell into ``found`` int8[cells]."""
    for cell in range(len(found)):
        found[cell] = rules.owner(tables[0], states[0], cell)


@kernel
def threats(tables, states, scratch, actions, cells):
    """Write what each player could do at once, if it were their turn.

    Args:
        tables: structured [1].
        states: structured [1], the position.
        scratch: structured [2], working space.
        actions: int32[2, A], written: by player, `WINS` for an action that wins at once, else
            the number of cells on which it takes something; 0 if it takes nothing or is not legal.
        cells: int32[2, cells], written: by player, how many actions take something on each cell.

    Returns:
        Whether the arrays cover the player who is not to move, see `Threats`.
    """
    table = tables[0]
    mover = int(states[0].mover)
    covers_opponent = False
    for player in range(2):
        for action in range(actions.shape[1]):
            actions[player, action] = 0
        for cell in range(cells.shape[1]):
            cells[player, cell] = 0
        scratch[0] = states[0]
        is_asked = states[0].outcome == ONGOING
        if is_asked and player != mover:
            covers_opponent = bool(rules.give_turn(table, scratch[0]))
            is_asked = covers_opponent
        if is_asked:
            for action in range(actions.shape[1]):
                if rules.is_legal(table, scratch[0], action):
                    scratch[1] = scratch[0]
                    rules.step(table, scratch[1], action)
                    taken = 0
                    for cell in range(cells.shape[1]):
                        if rules.takes(table, scratch[0], scratch[1], cell):
                            taken += 1
                            cells[player, cell] += 1
                    wins = reward(scratch[1].outcome, player) > 0
                    actions[player, action] = WINS if wins else taken
    return covers_opponent


@kernel
def ownership(tables, states, scratch, rng, num_actions, playouts, sums):
    """Write into ``sums`` int32[cells] the sum of each cell's owners (1, -1, 0) at games' ends.

    ``playouts`` games go on at random from the position ``states``, structured [1]. ``scratch`` is
    structured [1 or more], ``rng`` int64[2].
    """
    for cell in range(len(sums)):
        sums[cell] = 0
    for _ in range(playouts):
        scratch[0] = states[0]
        random_playout(tables[0], scratch[0], rng, num_actions)
        for cell in range(len(sums)):
            sums[cell] += rules.owner(tables[0], scratch[0], cell)
