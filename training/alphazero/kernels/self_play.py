"""Self-play, compiled: search, record, move and start the next game, until the network is needed.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.

Games do not wait for each other: each continues with its next simulation, move or game until it
needs the network, so every batch for the network is full.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.kernels import random_action
from ludarium.envs.engine.rule import ONGOING, PLAYER_1_WINS, random_below, random_bits
from ludarium.training.search.cache import Cache, store
from ludarium.training.search.prefetch import prefetch_tree
from ludarium.training.search.simulate import (
    answer_from_cache,
    choose_root_edge,
    evaluate_root,
    expand,
    next_leaf,
    show,
    start_search,
)
from ludarium.training.search.tree import NO_NODE, PAUSED, Tree, node_value, search_of

rules: Any = None


class Log(NamedTuple):
    """The log of self-play: C positions, and up to C games that ended.

    Attributes:
        states: structured [C], positions as they were searched.
        policies: float32 [C, A], policy targets.
        values: float32 [C], root values in the mover's view.
        games: int64 [C], serial number of the position's game.
        ended_games: int64 [C], serial numbers of games that ended.
        ended_states: structured [C], their last positions.
        ended_outcomes: int8 [C], their outcomes.
        ended_scores: int32 [C], their scores for player 0.
        ended_resigned: bool [C], whether they ended by resignation, without a final position.
        ended_free: bool [C], whether resignation was disabled in them.
        ended_lowest: float32 [C, 2], each player's lowest root value: see `Resignation`.
        counts: int64 [7]: positions, ended games, next serial number, simulations, plies of
            the ended games, evaluations by the network, and from the cache.
    """

    states: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    games: np.ndarray
    ended_games: np.ndarray
    ended_states: np.ndarray
    ended_outcomes: np.ndarray
    ended_scores: np.ndarray
    ended_resigned: np.ndarray
    ended_free: np.ndarray
    ended_lowest: np.ndarray
    counts: np.ndarray


class Resignation(NamedTuple):
    """Resignation in B games.

    Attributes:
        threshold: a player resigns at a root value this low or lower, in the player's own view.
        disabled_fraction: fraction of the games in which resignation is disabled.
        free: bool [B], whether resignation is disabled in the game.
        lowest: float32 [B, 2], each player's lowest root value so far.
    """

    threshold: float
    disabled_fraction: float
    free: np.ndarray
    lowest: np.ndarray


class Games(NamedTuple):
    """B games of self-play in parallel, each with its own search.

    Attributes:
        tree: the searches.
        cache: answers of the network.
        log: positions searched and games that ended.
        serials: int64 [B], serial numbers of the games.
        rngs: int64 [B, 2], their random numbers.
        opening_plies: each game starts with 0 to this many random plies.
        resignation: threshold and trials of resignation.
        planes: float32 [B, planes, cells], observations that wait for the network.
    """

    tree: Tree
    cache: Cache
    log: Log
    serials: np.ndarray
    rngs: np.ndarray
    opening_plies: int
    resignation: Resignation
    planes: np.ndarray


NEVER_RESIGN = -2.0  # a threshold below all values

POSITIONS, ENDED, NEXT_GAME, SIMULATIONS, PLIES, EVALUATIONS, HITS = range(7)


@part
def is_full(log):
    """Whether the log may be too full for what the next move adds."""
    return log.counts[POSITIONS] == len(log.states) or log.counts[ENDED] == len(log.ended_games)


@part
def start_game(table, games, b):
    """Start a new game in slot ``b``, play its random opening, and begin its search."""
    state, rng = games.tree.states[b, 0], games.rngs[b]
    log, resignation = games.log, games.resignation
    num_actions = log.policies.shape[1]
    if resignation.disabled_fraction < 1:
        resignation.free[b] = random_bits(rng) < resignation.disabled_fraction * 4294967296.0
    for player in range(2):
        resignation.lowest[b, player] = 1
    rules.init(table, state, rng)
    games.serials[b] = log.counts[NEXT_GAME]
    log.counts[NEXT_GAME] += 1
    for _ in range(random_below(rng, games.opening_plies + 1)):
        if state.outcome == ONGOING:
            rules.step(table, state, random_action(table, state, rng, num_actions))
    if state.outcome != ONGOING:  # the opening was a whole game
        rules.init(table, state, rng)
    start_search(table, search_of(games.tree, b))


@part
def gives_up(nodes, state, settings, resignation, b):
    """Whether the mover resigns after a finished search; records its root value in any case."""
    value = nodes[0].sign * node_value(nodes[0], settings)
    mover = int(state.mover)
    resignation.lowest[b, mover] = min(resignation.lowest[b, mover], value)
    return value <= resignation.threshold and not resignation.free[b]


@part
def end_game(table, games, b, resigned):
    """Log how game ``b`` ended."""
    state, log, resignation = games.tree.states[b, 0], games.log, games.resignation
    row = log.counts[ENDED]
    log.ended_games[row] = games.serials[b]
    log.ended_states[row] = state
    log.ended_outcomes[row] = state.outcome
    log.ended_scores[row] = rules.score(table, state)
    log.ended_resigned[row] = resigned
    log.ended_free[row] = resignation.free[b]
    for player in range(2):
        log.ended_lowest[row, player] = resignation.lowest[b, player]
    log.counts[ENDED] += 1
    log.counts[PLIES] += state.ply


@part
def record(games, settings, b):
    """Log the root of search ``b``, its policy target and its value."""
    log, root, nodes = games.log, games.tree.roots[b], games.tree.nodes[b]
    row = log.counts[POSITIONS]
    log.states[row] = games.tree.states[b, 0]
    log.values[row] = nodes[0].sign * node_value(nodes[0], settings)
    log.games[row] = games.serials[b]
    for action in range(len(root.policy)):
        log.policies[row, action] = root.policy[action]
    log.counts[POSITIONS] += 1


@part
def advance_root(table, search, settings, edge, rng):
    """Play an edge's action; the new root keeps the child's evaluation, if it has one.

    Without one the new root waits for the network.
    """
    _, nodes, edges, states = search
    child = edges[edge].child
    rules.step(table, states[0], int(edges[edge].action))
    start_search(table, search)
    if child != NO_NODE and nodes[child].evaluated:  # and looked over for a win at once
        first = nodes[child].first  # the edges are further on than the root's, their logits intact
        for edge in range(nodes[0].end):
            edges[edge].logit = edges[first + edge].logit
        evaluate_root(search, settings, rng, nodes[child].raw_value)


@kernel
def begin_games(tables, games):
    """Start a game in every tree; each then waits for the network."""
    for b in range(len(games.serials)):
        start_game(tables[0], games, b)
        show(tables[0], games.tree.states[b, 0], games.cache, games.planes, b)


@kernel
def play_on(tables, games, settings, logits, values):
    """Apply the network's outputs; play until each game needs it again, or the log is full.

    ``logits`` [B, A] and ``values`` [B] answer ``games.planes`` of the call before; a game whose
    search is finished while the log is full is PAUSED and moves later. Returns whether the log
    is full.
    """
    table = tables[0]
    tree, cache, log, planes = games.tree, games.cache, games.log, games.planes
    for b in range(len(games.serials)):
        prefetch_tree(tree, cache, logits, b + 1)
        search, rng = search_of(tree, b), games.rngs[b]
        roots, nodes, edges, states = search
        root = roots[0]
        if root.waiting >= 0:
            log.counts[EVALUATIONS] += 1
            store(cache, b, logits[b], values[b])
            expand(table, search, settings, rng, logits[b], values[b])
        while True:
            if root.waiting >= 0:
                if not answer_from_cache(table, search, settings, rng, cache, planes, b):
                    break
                log.counts[HITS] += 1
            if root.waiting != PAUSED:
                leaf = next_leaf(table, search, settings, tree.considered_visits)
                if leaf != NO_NODE:
                    continue
            if is_full(log):
                root.waiting = PAUSED
                break
            edge = choose_root_edge(root, nodes, edges, settings, rng)
            log.counts[SIMULATIONS] += root.simulation
            record(games, settings, b)
            resigned = gives_up(nodes, states[0], settings, games.resignation, b)
            if resigned:
                states[0].outcome = PLAYER_1_WINS - states[0].mover
            else:
                advance_root(table, search, settings, edge, rng)
            if states[0].outcome != ONGOING:
                end_game(table, games, b, resigned)
                start_game(table, games, b)
    return is_full(log)
