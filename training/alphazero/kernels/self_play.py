"""Self-play, compiled: search, record, move, start the next game, until the network is needed.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.
Games do not wait for each other: each goes on to its next simulation, move or game, so that
every batch for the network is full.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.kernels import random_action
from ludarium.envs.engine.rule import ONGOING, random_below
from ludarium.training.search.simulate import (
    absorb,
    decide,
    draw_noise,
    grow,
    plant,
    root_value,
    write_observation,
)
from ludarium.training.search.tree import NO_NODE, PAUSED, sign

rules: Any = None


class Log(NamedTuple):
    """What self-play leaves behind: C positions, and the games that ended.

    Attributes:
        states: structured [C], positions as they were searched.
        policies: float32 [C, A], policy targets.
        values: float32 [C], root values in the mover's view.
        games: int64 [C], serial number of the position's game.
        ended_games: int64 [C], serial numbers of games that ended.
        ended_outcomes: int8 [C], their outcomes.
        ended_scores: int32 [C], their scores for player 0.
        counts: int64 [5]: positions, ended games, next serial number, simulations, plies of
            the ended games.
    """

    states: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    games: np.ndarray
    ended_games: np.ndarray
    ended_outcomes: np.ndarray
    ended_scores: np.ndarray
    counts: np.ndarray


POSITIONS, ENDED, NEXT_GAME, SIMULATIONS, PLIES = range(5)


@part
def start_game(table, tree, log, slots, b, rng, opening_plies, num_actions):
    """A new game in the root of tree ``b``, some random plies into it."""
    state = tree.states[b, 0]
    rules.init(table, state, rng)
    slots[b] = log.counts[NEXT_GAME]
    log.counts[NEXT_GAME] += 1
    for _ in range(random_below(rng, opening_plies + 1)):
        if state.outcome == ONGOING:
            rules.step(table, state, random_action(table, state, rng, num_actions))
    while state.outcome != ONGOING:  # the opening was a whole game
        rules.init(table, state, rng)


@part
def end_game(table, tree, log, slots, b):
    """Write down how the game in the root of tree ``b`` ended."""
    state = tree.states[b, 0]
    row = log.counts[ENDED]
    log.ended_games[row] = slots[b]
    log.ended_outcomes[row] = state.outcome
    log.ended_scores[row] = rules.score(table, state)
    log.counts[ENDED] += 1
    log.counts[PLIES] += state.ply


@part
def record(tree, log, slots, b, policy):
    """Write down the root of tree ``b``, the policy found for it and its value."""
    row = log.counts[POSITIONS]
    log.states[row] = tree.states[b, 0]
    log.values[row] = sign(tree.states[b, 0].mover) * root_value(tree, b)
    log.games[row] = slots[b]
    for action in range(policy.shape[0]):
        log.policies[row, action] = policy[action]
    log.counts[POSITIONS] += 1
    log.counts[SIMULATIONS] += tree.simulation[b]


@part
def move_root(table, tree, settings, b, action, rng):
    """Play ``action``; the child's evaluation, if there is one, becomes the new root's.

    Returns whether the new root has its evaluation already.
    """
    child = tree.children[b, 0, action]
    known = child != NO_NODE and tree.states[b, child].outcome == ONGOING
    legal = 0
    raw_value = np.float32(0)
    if known:
        raw_value = tree.raw_value[b, child]
        for a in range(tree.children.shape[2]):
            tree.scratch[b, 0, a] = tree.logits[b, child, a]
    rules.step(table, tree.states[b, 0], action)
    plant(tree, b)
    if not known:
        return False
    for a in range(tree.children.shape[2]):
        tree.logits[b, 0, a] = tree.scratch[b, 0, a]
        legal += tree.logits[b, 0, a] != -np.inf
    tree.raw_value[b, 0] = raw_value
    tree.value[b, 0] = raw_value
    tree.visits[b, 0] = 1
    tree.legal_at_root[b] = legal
    tree.waiting[b] = NO_NODE
    draw_noise(tree, settings, b, rng)
    return True


@kernel
def begin_games(tables, tree, log, slots, rngs, opening_plies, planes):
    """Start a game in every tree; each then waits for the network."""
    for b in range(tree.waiting.shape[0]):
        start_game(tables[0], tree, log, slots, b, rngs[b], opening_plies, tree.children.shape[2])
        plant(tree, b)
        write_observation(tables[0], tree.states[b, 0], planes[b])


@kernel
def play_on(tables, tree, settings, log, slots, rngs, opening_plies, logits, values, planes):
    """Take the network's answers and play on until each game needs it again, or the log is full.

    ``logits`` [B, A] and ``values`` [B] answer ``planes`` [B, planes, cells] of the call
    before; a game whose search is finished while the log is full is PAUSED and moves later.
    """
    table = tables[0]
    for b in range(tree.waiting.shape[0]):
        if tree.waiting[b] >= 0:
            absorb(table, tree, settings, b, rngs[b], logits[b], values[b])
        while True:
            if tree.waiting[b] != PAUSED:
                leaf = grow(table, tree, settings, b)
                if leaf != NO_NODE:
                    write_observation(table, tree.states[b, leaf], planes[b])
                    break
            if log.counts[POSITIONS] == log.states.shape[0]:
                tree.waiting[b] = PAUSED
                break
            policy = tree.scratch[b, 1]
            action = decide(tree, settings, b, rngs[b], policy)
            record(tree, log, slots, b, policy)
            known = move_root(table, tree, settings, b, action, rngs[b])
            if tree.states[b, 0].outcome != ONGOING:
                end_game(table, tree, log, slots, b)
                start_game(
                    table, tree, log, slots, b, rngs[b], opening_plies, tree.children.shape[2]
                )
                plant(tree, b)
                known = False
            if not known:
                write_observation(table, tree.states[b, 0], planes[b])
                break
