"""Round trips of positions through their texts, compiled as they are in modules and libraries.

Template functions: ``engine.compile.specialise`` fills in one game's rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.envs.engine.kernels import random_action, write_mask_and_planes
from ludarium.envs.engine.position_text import FINE, parse, write
from ludarium.envs.engine.rule import ONGOING
from ludarium.machine.marks import kernel, part

if TYPE_CHECKING:
    from ludarium.envs import Game
    from ludarium.envs.engine.compile import Arguments

rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "round trips"
NEEDS_VIEW = True


def memory(game: Game) -> tuple[np.ndarray, ...]:
    """What the kernels work on: the format, two positions, texts, masks and observations."""
    form = game.position_format
    assert form is not None
    pairs = np.repeat(form.new_text(), 2), np.zeros((2, game.num_actions), np.int8)
    return form.tables, game.new_states(2), *pairs, np.zeros((2, *game.planes_shape), np.float32)


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    states, rng, room = game.new_states(2), np.ones(2, np.int64), memory(game)
    yield "go_on", (game.tables, states, rng, game.num_actions)
    yield "read_boards", (game.tables, states, room, room[2]["board"])
    yield "count_alike", (game.tables, states, room, rng, 1, False)


@kernel
def go_on(tables, states, rng, num_actions):
    """Go on with random games from the last position; write each position, final ones included."""
    for i in range(len(states)):
        states[i] = states[i - 1 if i > 0 else len(states) - 1]
        if states[i].outcome == ONGOING:
            rules.step(tables[0], states[i], random_action(tables[0], states[i], rng, num_actions))
        else:
            rules.init(tables[0], states[i], rng)


@kernel
def read_boards(tables, states, room, boards):
    """Write the position of each board and mover that is one; return how many these are."""
    _, _, texts, _, _ = room
    said, count = texts[0], 0
    for i in range(len(boards)):
        for mover in range(2):
            for field in range(len(said.counts)):
                said.counts[field] = 0
            said.mover = mover
            for cell in range(boards.shape[1]):
                said.board[cell] = boards[i, cell]
            count += int(rules.read_text(tables[0], states[count], said) == FINE)
    return count


@kernel
def count_alike(tables, states, room, rng, plies, deeper):
    """Write positions as texts and read these.

    Args:
        tables, states: of the game; the positions.
        room: from `memory`.
        rng: int64 [2], random numbers.
        plies: random moves that are then played in both.
        deeper: also do this with the positions after each legal action.

    Returns:
        How many positions were read back and went on alike, if all did; otherwise -1 - i, where
        position i, or one after it, did not.
    """
    _, pair, _, masks, _ = room
    count = 0
    for i in range(len(states)):
        for action in range(-1, masks.shape[1]):
            pair[0] = states[i]
            if action >= 0:
                if not deeper or pair[0].outcome != ONGOING:
                    break
                if not rules.is_legal(tables[0], pair[0], action):
                    continue
                rules.step(tables[0], pair[0], action)
            if not _is_read_back(tables, room, rng, plies):
                return -1 - i
            count += 1
    return count


@part
def _is_read_back(tables, room, rng, plies):
    """Whether the first position is read back from its text, and goes on alike."""
    forms, pair, texts, masks, _ = room
    _write_text(tables, forms[0], pair[0], texts[0])
    texts[1] = texts[0]
    if parse(forms[0], texts[1]) != FINE or rules.read_text(tables[0], pair[1], texts[1]) != FINE:
        return False
    for _ in range(plies):
        if not _is_alike(tables, room):
            return False
        if pair[0].outcome != ONGOING:
            return True
        action = random_action(tables[0], pair[0], rng, masks.shape[1])
        rules.step(tables[0], pair[0], action)
        rules.step(tables[0], pair[1], action)
    return _is_alike(tables, room)


@part
def _is_alike(tables, room):
    """Whether both positions have the same text, and can do, show and are the same at present."""
    forms, pair, texts, masks, planes = room
    for which in range(2):
        _write_text(tables, forms[0], pair[which], texts[which])
        write_mask_and_planes(tables[0], pair[which], masks[which], planes[which], False)
    one, other = pair[0], pair[1]
    same = one.mover == other.mover and one.outcome == other.outcome
    same &= rules.score(tables[0], one) == rules.score(tables[0], other)
    same &= texts[0].length == texts[1].length
    for place in range(int(texts[0].length)):
        same &= texts[0].text[place] == texts[1].text[place]
    for action in range(masks.shape[1]):
        same &= masks[0, action] == masks[1, action]
    if one.outcome != ONGOING:  # what kind of action ended a game is no part of its text
        return same
    for plane in range(planes.shape[1]):
        for cell in range(planes.shape[2]):
            same &= planes[0, plane, cell] == planes[1, plane, cell]
    return same


@part
def _write_text(tables, form, state, said):
    for field in range(len(said.counts)):
        said.counts[field] = 0
    said.mover = state.mover
    rules.write_text(tables[0], state, said)
    write(form, said)
