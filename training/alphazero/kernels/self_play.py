"""Self-play, compiled: search, record, move and start the next game.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.

A compiled network is called from the kernels and answers at once. For any other network games wait,
but not for each other: each continues with its next simulation, move or game until it needs the
network, so every batch for the network is full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.kernels import random_action
from ludarium.envs.engine.rule import ONGOING, random_below
from ludarium.machine.marks import kernel, part
from ludarium.models.evaluation import Evaluation
from ludarium.models.kernels import NONE, answer
from ludarium.training.search.cache import Cache, new_cache
from ludarium.training.search.settings import settings_record
from ludarium.training.search.simulate import (
    answer_from_cache,
    choose_root_edge,
    evaluate_root,
    next_leaf,
    receive,
    start_search,
)
from ludarium.training.search.tree import NO_NODE, Tree, new_tree, search_of

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

NEEDS_CODE = True  # see `specialise`
rules: Any = None  # one game's rules, filled in by `specialise`


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    count, actions = 1, game.num_actions
    planes = np.zeros((count, *game.planes_shape), np.float32)
    numbers = np.zeros(1, np.int64)
    log = Log(
        states=game.new_states(1),
        policies=np.zeros((1, actions), np.float32),
        games=numbers,
        ended_games=numbers,
        ended_outcomes=np.zeros(1, np.int8),
        ended_scores=np.zeros(1, np.int32),
        counts=numbers,
    )
    games = SelfPlayGames(
        tree=new_tree(game, count, SearchSettings(simulations=1)),
        cache=new_cache(planes, actions, 0),
        log=log,
        numbers=numbers,
        stride=1,
        seed=0,
        rngs=np.zeros((1, 2), np.int64),
        opening_plies=0,
        planes=planes,
        canonical=True,
    )
    yield "begin_games", (game.tables, games)
    yield "begin_searches", (game.tables, games)
    settings, evaluation = settings_record(SearchSettings(), game), Evaluation.empty(1, actions)
    yield "play_on", (game.tables, games, settings, evaluation, NONE, False)


class Log(NamedTuple):
    """The log of self-play: up to C positions, and up to E games that ended.

    Attributes:
        states: structured [C], the positions that were searched.
        policies: float32 [C, A], policy targets.
        games: int64 [C], number of the position's game.
        ended_games: int64 [E], numbers of games that ended.
        ended_outcomes: int8 [E], their outcomes.
        ended_scores: int32 [E], their scores for player 0.
        counts: int64 [8]: positions, and how many of them fill the log; ended games, number of the
            next game, simulations, plies of the ended games, evaluations by the network in finished
            searches, and answers from the cache.
    """

    states: np.ndarray
    policies: np.ndarray
    games: np.ndarray
    ended_games: np.ndarray
    ended_outcomes: np.ndarray
    ended_scores: np.ndarray
    counts: np.ndarray


class SelfPlayGames(NamedTuple):
    """B games of self-play in parallel, each with its own search.

    Attributes:
        tree: the searches.
        cache: answers of the network.
        log: positions searched and games that ended.
        numbers: int64 [B], numbers of the games.
        stride: difference between the numbers of two games that are started one after the other.
        seed: seed of the games; each game's generator is seeded by it and the game's number.
        rngs: int64 [B, 2], generator states of the games.
        opening_plies: each game starts with 0 to this many random plies.
        planes: float32 [B, planes, cells], observations for the network.
        canonical: whether the network sees the canonical frame.
    """

    tree: Tree
    cache: Cache
    log: Log
    numbers: np.ndarray
    stride: int
    seed: int
    rngs: np.ndarray
    opening_plies: int
    planes: np.ndarray
    canonical: bool


COUNTS = 8
POSITIONS, LIMIT, ENDED, NEXT_GAME, SIMULATIONS, PLIES, EVALUATIONS, HITS = range(COUNTS)


@part
def is_full(log):
    """Whether the next move might not fit into the log."""
    return log.counts[POSITIONS] >= log.counts[LIMIT] or log.counts[ENDED] == len(log.ended_games)


@part
def seed_game(games, b):
    """Seed the random numbers of the game in slot ``b``.

    The seed is mixed with the game's number by SplitMix64 (Steele, Lea and Flood, "Fast splittable
    pseudorandom number generators", 2014).
    """
    word = np.uint64(games.seed) + np.uint64(games.numbers[b] + 1) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    games.rngs[b, 0] = np.int64(word >> np.uint64(32))
    games.rngs[b, 1] = np.int64(word & np.uint64(0xFFFFFFFF)) | 1  # they must not both be 0


@part
def start_game(table, games, b):
    """Start a new game in slot ``b``, play its random opening, and begin its search."""
    state, rng = games.tree.states[b, 0], games.rngs[b]
    log = games.log
    num_actions = log.policies.shape[1]
    games.numbers[b] = log.counts[NEXT_GAME]
    log.counts[NEXT_GAME] += games.stride
    seed_game(games, b)
    rules.init(table, state, rng)
    for _ in range(random_below(rng, games.opening_plies + 1)):
        if state.outcome == ONGOING:
            rules.step(table, state, random_action(table, state, rng, num_actions))
    if state.outcome != ONGOING:  # the opening ended the game
        rules.init(table, state, rng)
    start_search(table, search_of(games.tree, b), games.canonical)


@part
def end_game(table, games, b):
    """Log the end of game ``b``."""
    state, log = games.tree.states[b, 0], games.log
    row = log.counts[ENDED]
    log.ended_games[row] = games.numbers[b]
    log.ended_outcomes[row] = state.outcome
    log.ended_scores[row] = rules.score(table, state)
    log.counts[ENDED] += 1
    log.counts[PLIES] += state.ply


@part
def record(games, b):
    """Log the root of search ``b`` and its policy target."""
    log, root = games.log, games.tree.roots[b]
    row = log.counts[POSITIONS]
    log.states[row] = games.tree.states[b, 0]
    log.games[row] = games.numbers[b]
    for action in range(len(root.policy)):
        log.policies[row, action] = root.policy[action]
    log.counts[POSITIONS] += 1


@part
def advance_root(table, search, settings, edge, rng):
    """Play an edge's action; the new root keeps the child's evaluation, if it has one.

    If it has none, the new root waits for the network.
    """
    _, nodes, edges, states = search
    child = edges[edge].child
    rules.step(table, states[0], int(edges[edge].action))
    start_search(table, search, search.roots[0].canonical)
    if child != NO_NODE and nodes[child].evaluated:  # `simulate` has looked for its winning edges
        first = nodes[child].first  # these edges come after the root's, so their logits are intact
        for edge in range(nodes[0].end):
            edges[edge].logit = edges[first + edge].logit
        nodes[0].draw = nodes[child].draw
        evaluate_root(search, settings, rng, nodes[child].raw_value)


@kernel
def begin_games(tables, games):
    """Start a game in every tree."""
    for b in range(len(games.numbers)):
        start_game(tables[0], games, b)


@kernel
def begin_searches(tables, games):
    """Begin the search of every game's present move again."""
    for b in range(len(games.numbers)):
        start_search(tables[0], search_of(games.tree, b), games.canonical)


@kernel
def play_on(tables, games, settings_array, evaluation, net, is_answered):
    """Play until the log is full, or each game waits for the network.

    Args:
        tables: the game's tables.
        games: B games.
        settings_array: structured [1], the search's `SETTINGS`.
        evaluation: an `Evaluation` with B rows, which receives the network's answers.
        net: the network, see `ludarium.models.kernels.Called`.
        is_answered: whether ``evaluation`` answers the requests that the last call left.

    Returns:
        Whether the log is full.
    """
    table, settings = tables[0], settings_array[0]
    tree, cache, log, planes = games.tree, games.cache, games.log, games.planes
    for b in range(len(games.numbers)):
        search, rng = search_of(tree, b), games.rngs[b]
        roots, nodes, edges, states = search
        root = roots[0]
        if is_answered and root.waiting >= 0:
            receive(table, search, settings, rng, cache, evaluation, b)
        while not is_full(log):
            if root.waiting >= 0:
                if answer_from_cache(table, search, settings, rng, cache, planes, b):
                    log.counts[HITS] += 1
                elif answer(net, planes, evaluation, b):
                    receive(table, search, settings, rng, cache, evaluation, b)
                else:
                    break
            elif next_leaf(table, search, settings, tree.considered_visits) == NO_NODE:
                edge = choose_root_edge(root, nodes, edges, settings, rng)
                log.counts[SIMULATIONS] += root.simulation
                log.counts[EVALUATIONS] += root.evaluations
                record(games, b)
                advance_root(table, search, settings, edge, rng)
                if states[0].outcome != ONGOING:
                    end_game(table, games, b)
                    start_game(table, games, b)
    return is_full(log)
