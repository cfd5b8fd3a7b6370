"""Compiled loops over a game's rules, for positions, agents and tools.

Template functions: ``engine.compile.specialise`` fills in one game's rules. Shapes: N games, A
actions; ``tables`` is an array of one record, ``states`` a structured array, ``rngs`` int64[N, 2],
``masks`` int8[N, A], ``planes`` [N, planes, cells] of float32 or uint8 ([N, 1, features] for flat
observations).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.machine.marks import brief_kernel, kernel, leaf, part

from .rule import ONGOING, random_below

if TYPE_CHECKING:
    from .compile import Arguments
    from .game import Game

rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "rules"

_TRIES = 12  # draws before a random legal action is found by counting instead


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    tables, states = game.tables, game.new_states(2)
    rngs, counts = np.ones((2, 2), np.int64), np.zeros(5, np.int64)
    masks = np.zeros((2, game.num_actions), np.int8)
    planes = np.zeros((2, *game.planes_shape), np.float32)
    for dtype in (np.float32, np.uint8)[: 1 + game.binary_observation]:
        seen = planes[0].astype(dtype)
        yield "start_one", (tables, states, rngs, masks[0], seen, False)
        yield "play", (tables, states, 0, masks[0], seen, False)
        yield "observe", (tables, states, 0, seen, False)
    yield "start", (tables, states, rngs)
    yield "legal_actions", (tables, states, masks)
    yield "encode", (tables, states, planes, masks, masks.astype(np.int32), False)
    yield "is_turned", (tables, states, 0)
    yield "score", (tables, states)
    yield "random_games", (tables, states, rngs[0], 1, 1, counts)
    yield "perft", (tables, states, counts, 1)


@leaf
def write_mask(table, state, mask):
    """Write 1 for each legal action of the player to move, 0 for the others."""
    if state.outcome != ONGOING:
        for action in range(mask.shape[0]):
            mask[action] = 0
    else:
        for action in range(mask.shape[0]):
            mask[action] = rules.is_legal(table, state, action)


@leaf
def observe_as(table, state, player, planes, canonical):
    """Write what ``player`` sees, in the board's own frame or in the canonical one."""
    rules.observe(table, state, player, planes)
    if canonical and rules.is_turned(table, state, player):
        for plane in range(planes.shape[0]):
            swap_entries(planes[plane], table.turned_cells)


@leaf
def swap_entries(row, turned):
    """Put a row into the other frame; ``turned`` says where each entry goes."""
    for here in range(row.shape[0]):
        there = turned[here]
        if here < there:
            entry = row[here]
            row[here] = row[there]
            row[there] = entry


@leaf
def write_mask_and_planes(table, state, mask, planes, canonical):
    """Write mask and observation for the player to move."""
    write_mask(table, state, mask)
    observe_as(table, state, state.mover, planes, canonical)
    if canonical and rules.is_turned(table, state, state.mover):
        swap_entries(mask, table.turned_actions)


@leaf
def board_action(table, state, action, canonical):
    """The board's number of the mover's ``action``, which is in the canonical frame if asked."""
    if canonical and rules.is_turned(table, state, state.mover):
        return int(table.turned_actions[action])
    return int(action)


@part
def random_action(table, state, rng, num_actions):
    """A legal action drawn uniformly; the game must not be over."""
    for _ in range(_TRIES):
        action = random_below(rng, num_actions)
        if rules.is_legal(table, state, action):
            return action
    count = 0
    for action in range(num_actions):
        count += rules.is_legal(table, state, action)
    rank = random_below(rng, count)
    for action in range(num_actions):
        if rules.is_legal(table, state, action):
            if rank == 0:
                return action
            rank -= 1
    return -1


@part
def random_playout(table, state, rng, num_actions):
    """Play random legal actions to the end; return the number of plies."""
    plies = 0
    while state.outcome == ONGOING:
        rules.step(table, state, random_action(table, state, rng, num_actions))
        plies += 1
    return plies


@kernel
def start(tables, states, rngs):
    """Set every position to the start of a new game."""
    for i in range(states.shape[0]):
        rules.init(tables[0], states[i], rngs[i])


@brief_kernel
def start_one(tables, states, rngs, mask, planes, canonical):
    """`start` for ``states[0]`` alone, with mask and planes; return ``2 * outcome + mover``."""
    state = states[0]
    rules.init(tables[0], state, rngs[0])
    write_mask_and_planes(tables[0], state, mask, planes, canonical)
    return 2 * state.outcome + state.mover


@brief_kernel
def play(tables, states, action, mask, planes, canonical):
    """Play ``action`` in ``states[0]``, then write the next mover's mask and observation.

    The action is the board's number; mask and planes are in the canonical frame, if asked for.
    Returns ``2 * outcome + mover``, or -1 if the action is out of range or not legal, or the game
    is over; then nothing is written. It is one large call, because a call from Python takes about
    as long as the rules of a ply.
    """
    table = tables[0]
    state = states[0]
    if action < 0 or action >= mask.shape[0] or state.outcome != ONGOING:
        return -1
    if not rules.is_legal(table, state, action):
        return -1
    rules.step(table, state, action)
    write_mask_and_planes(table, state, mask, planes, canonical)
    return 2 * state.outcome + state.mover


@kernel
def legal_actions(tables, states, masks):
    """Write the mask of every position."""
    for i in range(states.shape[0]):
        write_mask(tables[0], states[i], masks[i])


@brief_kernel
def observe(tables, states, player, planes, canonical):
    """Write the observation of ``states[0]`` from ``player``'s side into ``planes``."""
    observe_as(tables[0], states[0], player, planes, canonical)


@kernel
def encode(tables, states, planes, masks, actions, canonical):
    """Write what movers observe, and masks, in the board's own frame or in the canonical one.

    ``actions`` int32 [N, A] receives the board's number of each action.
    """
    for i in range(states.shape[0]):
        state = states[i]
        write_mask_and_planes(tables[0], state, masks[i], planes[i], canonical)
        for action in range(actions.shape[1]):
            actions[i, action] = board_action(tables[0], state, action, canonical)


@brief_kernel
def is_turned(tables, states, player):
    """Whether the canonical view of ``player`` in ``states[0]`` is the board turned."""
    return bool(rules.is_turned(tables[0], states[0], player))


@brief_kernel
def score(tables, states):
    """Player 0's lead in ``states[0]``."""
    return rules.score(tables[0], states[0])


@kernel
def random_games(tables, states, rng, num_actions, games, counts):
    """Play random games from the start in ``states[0]``; return their plies.

    ``counts`` int64[5]: each of the ``games`` adds 1 at its outcome.
    """
    plies = 0
    for _ in range(games):
        rules.init(tables[0], states[0], rng)
        plies += random_playout(tables[0], states[0], rng, num_actions)
        counts[states[0].outcome] += 1
    return plies


@kernel
def perft(tables, states, next_action, num_actions):
    """Number of action sequences of exactly ``depth`` plies from ``states[0]``.

    ``states`` has room for ``depth + 1`` positions, and ``next_action`` (int64) as many entries:
    one line of play, and the action to try next at each of its plies.
    """
    depth = states.shape[0] - 1
    if depth == 0:
        return 1
    leaves = 0
    ply = 0
    next_action[0] = 0
    while ply >= 0:
        action = next_action[ply]
        next_action[ply] += 1
        if action == num_actions or states[ply].outcome != ONGOING:
            ply -= 1
        elif rules.is_legal(tables[0], states[ply], action):
            if ply + 1 == depth:
                leaves += 1
            else:
                states[ply + 1] = states[ply]
                rules.step(tables[0], states[ply + 1], action)
                ply += 1
                next_action[ply] = 0
    return leaves
