"""Compiled loops over a batch of games, for `ludarium.envs.batch`.

Template functions, see `engine.kernels`. ``batch`` is the tuple (tables, states, choices, planes,
masks, movers, rewards, terminated, truncated, played, canonical). Only the batch writes ``states``
and ``choices``, which has `choice_dtype`. The other arrays are output for the caller, whose changes
have no effect: ``masks`` is a copy of the masks, and ``played`` the actions. planes, masks and
rewards come from `rows`. ``canonical`` says whether observations, masks and actions are all in the
frame in which the player to move sees the board, or in the board's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.machine.machines import OF_BATCHES
from ludarium.machine.marks import kernel, leaf, part

from .kernels import board_action, observe_as, random_action, swap_entries
from .rule import ONGOING, TRUNCATED, random_bits, record_dtype, reward

if TYPE_CHECKING:
    from .compile import Arguments
    from .game import Game

rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "batches"

#: Vectors of 512 bits pay here.
KINDS = OF_BATCHES

_ONES = 0x0101010101010101  # a one in each byte of a word
_SIXTY_FOURS = 0x40 * _ONES
_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    states, numbers = game.new_states(2), np.zeros(2, np.int64)
    masks = np.zeros((2, game.num_actions), np.int8)
    for dtype in (np.float32, np.uint8)[: 1 + game.binary_observation]:
        batch = (
            *(game.tables, states, np.zeros(2, choice_dtype(game.num_actions))),
            *(rows(np.zeros((2, *game.planes_shape), dtype)), rows(masks), np.zeros(2, np.int8)),
            *(rows(np.zeros((2, 2), np.float32)), np.zeros(2, np.uint8), np.zeros(2, np.uint8)),
            *(numbers, False),
        )
        for name in ("batch_start", "batch_rewrite", "batch_step_random"):
            yield name, (batch, 0, 1)
        for name in ("batch_step", "batch_choose"):
            yield name, (batch, numbers, 0, 1)
        yield "batch_refused", (batch, numbers)
        yield "batch_restart", (batch, numbers)
        for name in ("batch_play", "batch_observe"):
            yield name, (batch, numbers, numbers)
    rngs = np.ones((2, 2), np.int64)
    yield "batch_random_actions", (game.tables, states, rngs, numbers, 1, 0, 1)


def rows(array: np.ndarray) -> np.ndarray:
    """The same memory as N records; ``rows(array)[i].row`` is ``array[i]``.

    So compiled code knows the shape of a row. The array must be contiguous.
    """
    row = record_dtype(("row", array.dtype, array.shape[1:]))
    return array.reshape(len(array), -1).view(row).reshape(-1)


@leaf
def write_mask_twice(table, state, mask, copy):
    """`write_mask` into two places at once, which costs less than copying it afterwards."""
    if state.outcome != ONGOING:
        for action in range(mask.shape[0]):
            mask[action] = 0
            copy[action] = 0
    else:
        for action in range(mask.shape[0]):
            legal = rules.is_legal(table, state, action)
            mask[action] = legal
            copy[action] = legal


@leaf
def write_observation(table, state, mask, copy, planes, canonical):
    """`write_mask_and_planes`, which also writes the mask into ``copy``, for the caller."""
    write_mask_twice(table, state, mask, copy)
    observe_as(table, state, state.mover, planes, canonical)
    if canonical and rules.is_turned(table, state, state.mover):
        swap_entries(mask, table.turned_actions)
        swap_entries(copy, table.turned_actions)


@leaf
def is_refused(mask, action):
    """Whether ``action`` is out of range or not legal."""
    return action < 0 or action >= mask.shape[0] or mask[action] == 0


@leaf
def eight_entries(mask, first):
    """``mask[first : first + 8]`` as the bytes of a word, the first in the lowest byte."""
    # Written out and unsigned, this compiles to one load from memory.
    return (
        (int(mask[first]) & 255)
        | (int(mask[first + 1]) & 255) << 8
        | (int(mask[first + 2]) & 255) << 16
        | (int(mask[first + 3]) & 255) << 24
        | (int(mask[first + 4]) & 255) << 32
        | (int(mask[first + 5]) & 255) << 40
        | (int(mask[first + 6]) & 255) << 48
        | (int(mask[first + 7]) & 255) << 56
    )


@leaf
def last_entries(mask, first):
    """``mask[first:]``, fewer than eight entries, as the bytes of a word."""
    word = 0
    for action in range(first, mask.shape[0]):
        word |= int(mask[action]) << 8 * (action - first)
    return word


@leaf
def running_totals(word):
    """In each byte, the sum of that byte of ``word`` and those below; all are 0 or 1."""
    return word * _ONES & _BELOW_SIGN


@leaf
def choose(mask, bits):
    """An action drawn uniformly from those in ``mask`` by 32 random ``bits``; -1 if there is none.

    The n-th legal action is found without a branch that depends on chance: a processor predicts
    those wrongly half of the time, and each miss costs as much as the whole choice.
    """
    whole = mask.shape[0] // 8 * 8  # the remaining entries do not fill a word
    last = last_entries(mask, whole)
    count = running_totals(last) >> 56
    for first in range(0, whole, 8):
        count += running_totals(eight_entries(mask, first)) >> 56
    if count == 0:
        return -1
    n = bits * count >> 32
    total = 0
    first = 0  # start of the word with the n-th legal action
    before = 0  # legal actions before that word
    for word in range(0, whole, 8):
        total += running_totals(eight_entries(mask, word)) >> 56
        is_past = total <= n
        first += 8 * is_past
        before += (total - before) * is_past
    totals = running_totals(eight_entries(mask, first) if first < whole else last)
    # Each byte holds 64 + n - total: bit 6 is set where the n-th legal action is yet to come.
    to_come = (n - before) * _ONES + _SIXTY_FOURS - totals >> 6 & _ONES
    return first + (running_totals(to_come) >> 56)


@part
def clear_results(rewards, terminated, truncated, begin, end):
    """Clear the results of games ``begin`` to ``end``."""
    for i in range(begin, end):
        rewards[i].row[0] = 0
        rewards[i].row[1] = 0
        terminated[i] = 0
        truncated[i] = 0


@part
def note_result(outcome, rewards, terminated, truncated, i):
    """Write the result of game ``i``."""
    rewards[i].row[0] = reward(outcome, 0)
    rewards[i].row[1] = reward(outcome, 1)
    terminated[i] = outcome != TRUNCATED
    truncated[i] = outcome == TRUNCATED


def choice_dtype(num_actions: int) -> np.dtype:
    """Dtype of what a batch needs to draw an action of a game: its generator and its mask."""
    return record_dtype(("rng", np.int64, (2,)), ("mask", np.int8, (num_actions,)))


@kernel
def batch_start(batch, begin, end):
    """Start games ``begin`` to ``end`` anew, with their masks and planes."""
    tables, states, choices = batch[:3]
    for i in range(begin, end):
        rules.init(tables[0], states[i], choices[i].rng)
    batch_rewrite(batch, begin, end)


@kernel
def batch_rewrite(batch, begin, end):
    """Write masks and planes of games ``begin`` to ``end``, and clear their results."""
    tables, states, choices, planes, masks, movers = batch[:6]
    rewards, terminated, truncated, _, canonical = batch[6:]
    clear_results(rewards, terminated, truncated, begin, end)
    for i in range(begin, end):
        state, mask = states[i], choices[i].mask
        write_observation(tables[0], state, mask, masks[i].row, planes[i].row, canonical)
        movers[i] = state.mover


@kernel
def batch_refused(batch, actions):
    """The first game whose action is out of range or not legal, or -1."""
    choices = batch[2]
    for i in range(actions.shape[0]):
        if is_refused(choices[i].mask, actions[i]):
            return i
    return -1


@kernel
def batch_step(batch, actions, begin, end):
    """Play one action in games ``begin`` to ``end``; a finished game starts anew.

    Rewards, ``terminated`` and ``truncated`` describe the ply just played, masks and planes
    the position to act in next. Returns the first game whose action is out of range or not legal,
    or -1; if there is one, nothing is played, unless another thread changes ``actions`` meanwhile.
    """
    tables, states, choices, planes, masks, movers = batch[:6]
    rewards, terminated, truncated, played, canonical = batch[6:]
    for i in range(begin, end):
        if is_refused(choices[i].mask, actions[i]):
            return i
    clear_results(rewards, terminated, truncated, begin, end)
    for i in range(begin, end):
        choice = choices[i]
        action = actions[i]
        # Another thread may have changed ``actions`` since they were checked.
        if is_refused(choice.mask, action):
            return i
        played[i] = action
        state = states[i]
        rules.step(tables[0], state, board_action(tables[0], state, action, canonical))
        if state.outcome != ONGOING:
            note_result(state.outcome, rewards, terminated, truncated, i)
            rules.init(tables[0], state, choice.rng)
        write_observation(tables[0], state, choice.mask, masks[i].row, planes[i].row, canonical)
        movers[i] = state.mover
    return -1


@kernel
def batch_step_random(batch, begin, end):
    """`batch_step` with actions drawn uniformly; a game that is over stays as it is."""
    tables, states, choices, planes, masks, movers = batch[:6]
    rewards, terminated, truncated, played, canonical = batch[6:]
    clear_results(rewards, terminated, truncated, begin, end)
    for i in range(begin, end):
        choice = choices[i]
        action = choose(choice.mask, random_bits(choice.rng))
        if action < 0:  # the game is over; an interrupted caller may not know that
            continue
        played[i] = action
        state = states[i]
        rules.step(tables[0], state, board_action(tables[0], state, action, canonical))
        if state.outcome != ONGOING:
            note_result(state.outcome, rewards, terminated, truncated, i)
            rules.init(tables[0], state, choice.rng)
        write_observation(tables[0], state, choice.mask, masks[i].row, planes[i].row, canonical)
        movers[i] = state.mover


@kernel
def batch_choose(batch, actions, begin, end):
    """Draw a legal action of games ``begin`` to ``end`` uniformly; -1 where the game is over."""
    choices = batch[2]
    for i in range(begin, end):
        choice = choices[i]
        actions[i] = choose(choice.mask, random_bits(choice.rng))


@kernel
def batch_play(batch, numbers, actions):
    """Play ``actions[j]`` in game ``numbers[j]``; a game that ends by it does not start anew.

    Returns the first ``j`` whose action is out of range or not legal, or -1; if there is one,
    nothing is played.
    """
    tables, states, choices, planes, masks, movers = batch[:6]
    rewards, terminated, truncated, _, canonical = batch[6:]
    for j in range(numbers.shape[0]):
        if is_refused(choices[numbers[j]].mask, actions[j]):
            return j
    for j in range(numbers.shape[0]):
        i = numbers[j]
        clear_results(rewards, terminated, truncated, i, i + 1)
        choice = choices[i]
        state = states[i]
        rules.step(tables[0], state, board_action(tables[0], state, actions[j], canonical))
        if state.outcome != ONGOING:
            note_result(state.outcome, rewards, terminated, truncated, i)
        write_observation(tables[0], state, choice.mask, masks[i].row, planes[i].row, canonical)
        movers[i] = state.mover
    return -1


@kernel
def batch_restart(batch, numbers):
    """Start the games with these numbers anew, with their masks and planes."""
    for j in range(numbers.shape[0]):
        batch_start(batch, numbers[j], numbers[j] + 1)


@kernel
def batch_observe(batch, numbers, players):
    """Write the observation of game ``numbers[j]`` from the side of ``players[j]``."""
    tables, states, planes, canonical = batch[0], batch[1], batch[3], batch[10]
    for j in range(numbers.shape[0]):
        i = numbers[j]
        observe_as(tables[0], states[i], players[j], planes[i].row, canonical)


@kernel
def batch_random_actions(tables, states, rngs, actions, num_actions, begin, end):
    """Draw a legal action of games ``begin`` to ``end`` uniformly, none over; needs no masks."""
    for i in range(begin, end):
        actions[i] = random_action(tables[0], states[i], rngs[i], num_actions)
