"""Compiled loops over a game's rules, for the faces of the engine.

Template functions: ``engine.compile.specialise`` makes one compiled copy per game, with
``rules`` set to that game's rule module. Shapes: N games, A actions; ``tables`` is an array
of one record, ``states`` a structured array, ``rngs`` int64[N, 2], ``masks`` int8[N, A],
``planes`` [N, planes, cells] of float32 or uint8 ([N, 1, features] for flat observations).
"""

from typing import Any

from .compile import kernel, part
from .rule import ONGOING, TRUNCATED, random_below, reward

rules: Any = None  # one game's rule module, filled in by `specialise`

_TRIES = 12  # draws before a random legal action is found by counting instead


@part
def write_mask(table, state, mask):
    """Write 1 for each legal action of the player to move, 0 for the others."""
    if state.outcome != ONGOING:
        for action in range(mask.shape[0]):
            mask[action] = 0
    else:
        for action in range(mask.shape[0]):
            mask[action] = rules.is_legal(table, state, action)


@part
def write_observation(table, state, player, planes):
    """Write what ``player`` sees: zeros, then what the rules put there."""
    for plane in range(planes.shape[0]):
        for cell in range(planes.shape[1]):
            planes[plane, cell] = 0
    rules.observe(table, state, player, planes)


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
def play(tables, states, action, mask, planes):
    """Play ``action`` in ``states[0]``, then write the next mask and its mover's observation.

    Returns ``2 * outcome + mover``, or -1 if the action is out of range or not legal, and
    then nothing is written. One fat call, because calls from Python cost more than the game.
    """
    table = tables[0]
    state = states[0]
    if action < 0 or action >= mask.shape[0] or state.outcome != ONGOING:
        return -1
    if not rules.is_legal(table, state, action):
        return -1
    rules.step(table, state, action)
    write_mask(table, state, mask)
    write_observation(table, state, state.mover, planes)
    return 2 * state.outcome + state.mover


@kernel
def legal_actions(tables, states, masks):
    """Write the mask of every position."""
    for i in range(states.shape[0]):
        write_mask(tables[0], states[i], masks[i])


@kernel
def observe(tables, states, player, planes):
    """Write the observation of ``states[0]`` from ``player``'s side into ``planes``."""
    write_observation(tables[0], states[0], player, planes)


@kernel
def observe_movers(tables, states, planes):
    """Write the observation of each position from the side of its player to move."""
    for i in range(states.shape[0]):
        write_observation(tables[0], states[i], states[i].mover, planes[i])


@kernel
def score(tables, states):
    """Player 0's lead in ``states[0]``."""
    return rules.score(tables[0], states[0])


@kernel
def first_illegal(masks, actions):
    """Index of the first game whose action is out of range or not legal, or -1."""
    for i in range(actions.shape[0]):
        action = actions[i]
        if action < 0 or action >= masks.shape[1] or masks[i, action] == 0:
            return i
    return -1


@kernel
def batch_start(tables, states, rngs, masks, planes, begin, end):
    """Start games ``begin`` to ``end`` anew and show them to their movers."""
    for i in range(begin, end):
        rules.init(tables[0], states[i], rngs[i])
        write_mask(tables[0], states[i], masks[i])
        write_observation(tables[0], states[i], states[i].mover, planes[i])


@kernel
def batch_step(
    tables, states, rngs, actions, masks, planes, rewards, terminated, truncated, begin, end
):
    """Play one legal action in games ``begin`` to ``end``; a finished game starts anew.

    ``rewards`` [N, 2], ``terminated`` and ``truncated`` [N] tell of the ply just played,
    ``masks`` and ``planes`` of the position to act in next.
    """
    for i in range(begin, end):
        state = states[i]
        rules.step(tables[0], state, actions[i])
        outcome = state.outcome
        rewards[i, 0] = reward(outcome, 0)
        rewards[i, 1] = reward(outcome, 1)
        terminated[i] = outcome != ONGOING and outcome != TRUNCATED
        truncated[i] = outcome == TRUNCATED
        if outcome != ONGOING:
            rules.init(tables[0], state, rngs[i])
        write_mask(tables[0], state, masks[i])
        write_observation(tables[0], state, state.mover, planes[i])


@kernel
def batch_random_actions(tables, states, rngs, actions, num_actions, begin, end):
    """Draw a legal action uniformly for games ``begin`` to ``end``."""
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
    line of play, and at each ply of it the action to try next.
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
