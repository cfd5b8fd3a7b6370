"""Self-play, compiled: search, record, move and start the next game, until the network is needed.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.

Games do not wait for each other: each continues with its next simulation, move or game until it
needs the network, so every batch for the network is full.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.kernels import random_action
from ludarium.envs.engine.rule import ONGOING, random_below
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
from ludarium.training.search.tree import NO_NODE, PAUSED, Tree, search_of
from ludarium.training.search.value import root_value

rules: Any = None


class Log(NamedTuple):
    """The log of self-play: C positions, and up to C games that ended.

    Attributes:
        states: structured [C], positions as they were searched.
        policies: float32 [C, A], policy targets.
        values: float32 [C], root values in the mover's view, see `root_value`.
        games: int64 [C], serial number of the position's game.
        ended_games: int64 [C], serial numbers of games that ended.
        ended_outcomes: int8 [C], their outcomes.
        ended_scores: int32 [C], their scores for player 0.
        counts: int64 [7]: positions, ended games, next serial number, simulations, plies of
            the ended games, evaluations by the network, and from the cache.
    """

    states: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    games: np.ndarray
    ended_games: np.ndarray
    ended_outcomes: np.ndarray
    ended_scores: np.ndarray
    counts: np.ndarray


class Games(NamedTuple):
    """B games of self-play in parallel, each with its own search.

    Attributes:
        tree: the searches.
        cache: answers of the network.
        log: positions searched and games that ended.
        serials: int64 [B], serial numbers of the games.
        rngs: int64 [B, 2], their random numbers.
        opening_plies: each game starts with 0 to this many random plies.
        planes: float32 [B, planes, cells], observations that wait for the network.
    """

    tree: Tree
    cache: Cache
    log: Log
    serials: np.ndarray
    rngs: np.ndarray
    opening_plies: int
    planes: np.ndarray


POSITIONS, ENDED, NEXT_GAME, SIMULATIONS, PLIES, EVALUATIONS, HITS = range(7)


@part
def is_full(log):
    """Whether the log may be too full for what the next move adds."""
    return log.counts[POSITIONS] == len(log.states) or log.counts[ENDED] == len(log.ended_games)


@part
def start_game(table, games, b):
    """Start a new game in slot ``b``, play its random opening, and begin its search."""
    state, rng = games.tree.states[b, 0], games.rngs[b]
    log = games.log
    num_actions = log.policies.shape[1]
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
def end_game(table, games, b):
    """Log how game ``b`` ended."""
    state, log = games.tree.states[b, 0], games.log
    row = log.counts[ENDED]
    log.ended_games[row] = games.serials[b]
    log.ended_outcomes[row] = state.outcome
    log.ended_scores[row] = rules.score(table, state)
    log.counts[ENDED] += 1
    log.counts[PLIES] += state.ply


@part
def record(games, settings, b):
    """Log the root of search ``b``, its policy target and its value."""
    log, tree, root = games.log, games.tree, games.tree.roots[b]
    row = log.counts[POSITIONS]
    log.states[row] = games.tree.states[b, 0]
    log.values[row] = root_value(root, tree.nodes[b], tree.edges[b], settings)
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
        nodes[0].draw = nodes[child].draw
        evaluate_root(search, settings, rng, nodes[child].raw_value)


@kernel
def begin_games(tables, games):
    """Start a game in every tree; each then waits for the network."""
    for b in range(len(games.serials)):
        start_game(tables[0], games, b)
        show(tables[0], games.tree.states[b, 0], games.cache, games.planes, b)


@kernel
def begin_searches(tables, games):
    """Begin the search of every game's present move; each then waits for the network."""
    for b in range(len(games.serials)):
        start_search(tables[0], search_of(games.tree, b))
        show(tables[0], games.tree.states[b, 0], games.cache, games.planes, b)


@kernel
def play_on(tables, games, settings, evaluation):
    """Apply the network's outputs; play until each game needs it again, or the log is full.

    ``evaluation``, an `Evaluation` of B, answers ``games.planes`` of the call before; a game whose
    search is finished while the log is full is PAUSED and moves later. Returns whether the log
    is full.
    """
    table = tables[0]
    tree, cache, log, planes = games.tree, games.cache, games.log, games.planes
    logits, wdl, score = evaluation
    for b in range(len(games.serials)):
        prefetch_tree(tree, cache, logits, b + 1)
        search, rng = search_of(tree, b), games.rngs[b]
        roots, nodes, edges, states = search
        root = roots[0]
        if root.waiting >= 0:
            log.counts[EVALUATIONS] += 1
            store(cache, b, evaluation, b)
            expand(table, search, settings, rng, logits[b], wdl[b], score[b])
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
            advance_root(table, search, settings, edge, rng)
            if states[0].outcome != ONGOING:
                end_game(table, games, b)
                start_game(table, games, b)
    return is_full(log)
