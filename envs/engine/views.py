"""Computes what a position shows: the shapes of its picture, and its texts by number.

Template functions (see `compile`): ``rules`` is one game's rule module with the functions of its
view, see `Game`. Programs without Python run the same functions from the game's WebAssembly module
or from the C library.
"""

from typing import Any

from .compile import kernel, part

rules: Any = None  # one game's rule module and view, filled in by `specialise`

# Entries of `facts`.
TASK, ROLE, POINTS = 0, 1, 3
NUM_FACTS = 5

# Ways to change the pose of a piece in hand, for `next_pose`: a quarter turn, counterclockwise as
# seen from above, and a flip.
TURN, FLIP = 0, 1


@kernel
def show(tables, view, before, states, action, planes, shown):
    """Write what each slot of the picture shows, by number, into ``shown``.

    ``planes`` is room for the observation, which the default picture shows.
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
    """Write the mover's task, and each player's role and points, into ``found`` [5]."""
    table, state = tables[0], states[0]
    found[TASK] = rules.task(table, state)
    for player in range(2):
        found[ROLE + player] = rules.role(table, state, player)
        found[POINTS + player] = rules.points(table, state, player)


@kernel
def word(tables, states, action):
    """Number of the text of an action in this position, among the game's ``words``."""
    return int(rules.word(tables[0], states[0], action))


@kernel
def reason(tables, states, action):
    """Number of the reason why an action is not legal, see the hook of this name."""
    return int(rules.reason(tables[0], states[0], action))


@kernel
def next_pose(tables, view, states, pose, way):
    """The pose of the mover's piece in hand after a turn or a flip, see `draw.scene`."""
    return int(rules.next_pose(tables[0], view[0], states[0], pose, way))
