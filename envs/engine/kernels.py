"""Compiled loops over a game's rules, for environments, agents and tools.

Template functions: ``engine.compile.specialise`` makes one compiled copy per game, with
``rules`` set to that game's rule module. Shapes: N games, A actions; ``tables`` is an array
of one record, ``states`` a structured array, ``rngs`` int64[N, 2], ``masks`` int8[N, A],
``planes`` [N, planes, cells] of float32 or uint8 ([N, 1, features] for flat observations).

The ``batch`` of the batch kernels is the tuple (tables, states, choices, planes, shown, movers,
rewards, terminated, truncated, played, canonical). Only the batch writes ``states`` and
``choices``, which has `choice_dtype`. The other arrays are output for the caller, whose changes
have no effect: ``shown`` is a copy of the masks, and ``played`` the actions. planes, shown and
rewards come from `rows`. ``canonical`` says whether observations, masks and actions are all in the
frame in which the player to move sees the board, or in the board's own.
"""

from typing import Any

import numpy as np

from .compile import kernel, leaf, part
from .rule import ONGOING, TRUNCATED, random_below, random_bits, record_dtype, reward

rules: Any = None  # one game's rule module, filled in by `specialise`

_ONES = 0x0101010101010101  # a one in each byte of a word
_SIXTY_FOURS = 0x40 * _ONES
_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF

_TRIES = 12  # draws before a random legal action is found by counting instead


def rows(array: np.ndarray) -> np.ndarray:
    """The same memory as N records; ``rows(array)[i].row`` is ``array[i]``.

    So compiled code knows the shape of a row, and a row has no reference count: together that
    makes the batch kernels twice as fast.
    """
    row = record_dtype(("row", array.dtype, array.shape[1:]))
    return array.reshape(len(array), -1).view(row).reshape(-1)


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
def show(table, state, mask, planes, canonical):
    """Write mask and observation for the player to move."""
    write_mask(table, state, mask)
    observe_as(table, state, state.mover, planes, canonical)
    if canonical and rules.is_turned(table, state, state.mover):
        swap_entries(mask, table.turned_actions)


@leaf
def write_mask_twice(table, state, mask, shown):
    """`write_mask` into two places at once, which costs less than copying it afterwards."""
    if state.outcome != ONGOING:
        for action in range(mask.shape[0]):
            mask[action] = 0
            shown[action] = 0
    else:
        for action in range(mask.shape[0]):
            legal = rules.is_legal(table, state, action)
            mask[action] = legal
            shown[action] = legal


@leaf
def show_twice(table, state, mask, shown, planes, canonical):
    """`show`, which also writes the mask into ``shown``, for the caller."""
    write_mask_twice(table, state, mask, shown)
    observe_as(table, state, state.mover, planes, canonical)
    if canonical and rules.is_turned(table, state, state.mover):
        swap_entries(mask, table.turned_actions)
        swap_entries(shown, table.turned_actions)


@leaf
def is_refused(mask, action):
    """Whether ``action`` is out of range or not legal."""
    return action < 0 or action >= mask.shape[0] or mask[action] == 0


@leaf
def board_action(table, state, action, canonical):
    """The board's number of the mover's ``action``, which is in the frame of the batch."""
    if canonical and rules.is_turned(table, state, state.mover):
        return int(table.turned_actions[action])
    return int(action)


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


@kernel
def start_one(tables, states, rngs, mask, planes, canonical):
    """`start` for ``states[0]`` alone, and show it; return ``2 * outcome + mover``."""
    state = states[0]
    rules.init(tables[0], state, rngs[0])
    show(tables[0], state, mask, planes, canonical)
    return 2 * state.outcome + state.mover


@kernel
def play(tables, states, action, mask, planes, canonical):
    """Play ``action`` in ``states[0]``, then write the next mover's mask and observation.

    The action is the board's number; mask and planes are in the canonical frame, if asked for.
    Returns ``2 * outcome + mover``, or -1 if the action is out of range or not legal; then
    nothing is written. It is one large call, because calls from Python cost more than the game.
    """
    table = tables[0]
    state = states[0]
    if action < 0 or action >= mask.shape[0] or state.outcome != ONGOING:
        return -1
    if not rules.is_legal(table, state, action):
        return -1
    rules.step(table, state, action)
    show(table, state, mask, planes, canonical)
    return 2 * state.outcome + state.mover


@kernel
def legal_actions(tables, states, masks):
    """Write the mask of every position."""
    for i in range(states.shape[0]):
        write_mask(tables[0], states[i], masks[i])


@kernel
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
        show(tables[0], state, masks[i], planes[i], canonical)
        for action in range(actions.shape[1]):
            actions[i, action] = board_action(tables[0], state, action, canonical)


@kernel
def is_turned(tables, states, player):
    """Whether the canonical view of ``player`` in ``states[0]`` is the board turned."""
    return bool(rules.is_turned(tables[0], states[0], player))


@kernel
def score(tables, states):
    """Player 0's lead in ``states[0]``."""
    return rules.score(tables[0], states[0])


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
    """Start games ``begin`` to ``end`` anew and show them to their movers."""
    tables, states, choices, planes, shown, movers = batch[:6]
    rewards, terminated, truncated, _, canonical = batch[6:]
    clear_results(rewards, terminated, truncated, begin, end)
    for i in range(begin, end):
        state, choice = states[i], choices[i]
        rules.init(tables[0], state, choice.rng)
        show_twice(tables[0], state, choice.mask, shown[i].row, planes[i].row, canonical)
        movers[i] = state.mover


@kernel
def batch_show(batch, begin, end):
    """Show games ``begin`` to ``end`` to their movers, as if they had just begun."""
    tables, states, choices, planes, shown, movers = batch[:6]
    rewards, terminated, truncated, _, canonical = batch[6:]
    clear_results(rewards, terminated, truncated, begin, end)
    for i in range(begin, end):
        state = states[i]
        show_twice(tables[0], state, choices[i].mask, shown[i].row, planes[i].row, canonical)
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
    or -1; if there is one, nothing is played.
    """
    tables, states, choices, planes, shown, movers = batch[:6]
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
        show_twice(tables[0], state, choice.mask, shown[i].row, planes[i].row, canonical)
        movers[i] = state.mover
    return -1


@kernel
def batch_step_random(batch, begin, end):
    """`batch_step` with actions drawn uniformly; no game may be over."""
    tables, states, choices, planes, shown, movers = batch[:6]
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
        show_twice(tables[0], state, choice.mask, shown[i].row, planes[i].row, canonical)
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
    """Play ``actions[j]`` in game ``numbers[j]``; a finished game stays as it is.

    Returns the first ``j`` whose action is out of range or not legal, or -1; if there is one,
    nothing is played.
    """
    tables, states, choices, planes, shown, movers = batch[:6]
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
        show_twice(tables[0], state, choice.mask, shown[i].row, planes[i].row, canonical)
        movers[i] = state.mover
    return -1


@kernel
def batch_restart(batch, numbers):
    """Start the games with these numbers anew and show them to their movers."""
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
    """Draw a legal action of games ``begin`` to ``end`` uniformly; needs no masks."""
    for i in range(begin, end):
        actions[i] = random_action(tables[0], states[i], rngs[i], num_actions)


@kernel
def random_games(tables, states, rng, num_actions, games, counts):
    """Play ``games`` random games in ``states[0]``; return plies, add outcomes to ``counts``."""
    plies = 0
    for _ in range(games):
        rules.init(tables[0], states[0], rng)
        plies += random_playout(tables[0], states[0], rng, num_actions)
        counts[states[0].outcome] += 1
    return plies


@kernel
def perft(tables, states, next_action, num_actions):
    """Number of action sequences of exactly ``depth`` plies from ``states[0]``.

    ``states`` has ``depth + 1`` positions and ``next_action`` (int64) as many entries: one
    line of play, and the action to try next at each of its plies.
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
