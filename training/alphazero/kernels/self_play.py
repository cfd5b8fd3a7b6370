"""Self-play, compiled: search, record, move and start the next game.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.

Each game repeats: search its position, record the position with the search's policy, play the
action that the search chooses (Silver et al., "A general reinforcement learning algorithm that
masters chess, shogi, and Go through self-play", 2018).

A compiled network for boards is called from the kernels and answers at once. For any other network,
or where its answer is not finite, games wait, but not for each other: each continues with its next
simulation, move or game until it needs the network, so every batch for the network is full.
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

#: What is counted: searched positions, games that ended and their plies, openings included; of
#: finished searches the simulations, and the positions that the network evaluated; and the answers
#: from the cache. `training.runs.metrics` makes metrics of these.
COUNTS = np.dtype(
    [
        (name, np.int64)
        for name in ("positions", "games", "plies", "simulations", "evaluations", "hits")
    ]
)


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    count, actions = 1, game.num_actions
    planes = np.zeros((count, *game.planes_shape), np.float32)
    numbers = np.zeros(1, np.int64)
    games = SelfPlayGames(
        tree=new_tree(game, count, SearchSettings(simulations=1)),
        cache=new_cache(planes, actions, 0),
        log=new_log(game, 1, 1),
        numbers=numbers,
        next_number=numbers,
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
    yield "advance_games", (game.tables, games, settings, evaluation, NONE, False, 1)


class Log(NamedTuple):
    """The log of self-play: up to C positions, and up to E games that ended.

    Attributes:
        states: structured [C], the positions that were searched.
        policies: float32 [C, A], policy targets.
        games: int64 [C], number of the position's game.
        ended_games: int64 [E], numbers of games that ended.
        ended_states: structured [E], their last positions.
        counts: structured [1] of `COUNTS`.
    """

    states: np.ndarray
    policies: np.ndarray
    games: np.ndarray
    ended_games: np.ndarray
    ended_states: np.ndarray
    counts: np.ndarray


def new_log(game: Game, positions: int, endings: int) -> Log:
    """Allocate a log for these numbers of positions and of ended games."""
    return Log(
        states=game.new_states(positions),
        policies=np.zeros((positions, game.num_actions), np.float32),
        games=np.zeros(positions, np.int64),
        ended_games=np.zeros(endings, np.int64),
        ended_states=game.new_states(endings),
        counts=np.zeros(1, COUNTS),
    )


class SelfPlayGames(NamedTuple):
    """B games of self-play in parallel, each with its own search.

    Attributes:
        tree: the searches.
        cache: answers of the network.
        log: positions searched and games that ended.
        numbers: int64 [B], numbers of the games.
        next_number: int64 [1], number of the game to start next.
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
    next_number: np.ndarray
    stride: int
    seed: int
    rngs: np.ndarray
    opening_plies: int
    planes: np.ndarray
    canonical: bool


@part
def is_full(log, limit):
    """Whether the next move might not fit into the log, or there are ``limit`` positions."""
    counts = log.counts[0]
    return counts.positions >= limit or counts.games == len(log.ended_games)


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
    num_actions = games.log.policies.shape[1]
    games.numbers[b] = games.next_number[0]
    games.next_number[0] += games.stride
    seed_game(games, b)
    rules.init(table, state, rng)
    for _ in range(random_below(rng, games.opening_plies + 1)):
        if state.outcome == ONGOING:
            rules.step(table, state, random_action(table, state, rng, num_actions))
    if state.outcome != ONGOING:  # the opening ended the game
        rules.init(table, state, rng)
    start_search(table, search_of(games.tree, b), games.canonical)


@part
def end_game(games, b):
    """Log the end of game ``b``."""
    log, counts = games.log, games.log.counts[0]
    log.ended_games[counts.games] = games.numbers[b]
    log.ended_states[counts.games] = games.tree.states[b, 0]
    counts.games += 1
    counts.plies += games.tree.states[b, 0].ply


@part
def record(games, b):
    """Log the root of search ``b`` and its policy target."""
    log, counts, root = games.log, games.log.counts[0], games.tree.roots[b]
    row = counts.positions
    log.states[row] = games.tree.states[b, 0]
    log.games[row] = games.numbers[b]
    for action in range(len(root.policy)):
        log.policies[row, action] = root.policy[action]
    counts.positions += 1
    counts.simulations += root.simulation
    counts.evaluations += root.evaluations


@part
def advance_root(table, search, settings, edge, rng):
    """Play an edge's action; the new root keeps the child's evaluation, if it has one.

    If it has none, the new root waits for the network.
    """
    _, nodes, edges, states = search
    child = edges[edge].child
    rules.step(table, states[0], int(edges[edge].action))
    start_search(table, search, search.roots[0].canonical)
    if child != NO_NODE and nodes[child].evaluated:  # `simulate` would have proven a win at once
        first = nodes[child].first  # behind the root's edges: logits are read before they change
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
def advance_games(tables, games, settings_array, evaluation, net, is_answered, limit):
    """Play until the log is full, or each game waits for the network.

    Args:
        tables: the game's tables.
        games: B games.
        settings_array: structured [1], the search's `SETTINGS`.
        evaluation: an `Evaluation` with B rows, which receives the network's answers.
        net: the network, see `ludarium.models.kernels.Called`.
        is_answered: whether ``evaluation`` answers the requests that the last call left.
        limit: with so many positions the log is full.

    Returns:
        Whether the log is full.
    """
    table, settings = tables[0], settings_array[0]
    tree, cache, log, planes = games.tree, games.cache, games.log, games.planes
    for b in range(len(games.numbers)):
        search, rng = search_of(tree, b), games.rngs[b]
        roots, nodes, edges, states = search
        root = roots[0]
        # 1. The network has answered: evaluate the leaf, and back its value up.
        if is_answered and root.waiting >= 0:
            receive(table, search, settings, rng, cache, evaluation, b)
        while not is_full(log, limit):
            # 2. A leaf needs the network: ask the cache, then a compiled network. Any other
            #    answers between two calls, so the game waits.
            if root.waiting >= 0:
                if answer_from_cache(table, search, settings, rng, cache, planes, b):
                    log.counts[0].hits += 1
                elif answer(net, planes, evaluation, b):
                    receive(table, search, settings, rng, cache, evaluation, b)
                else:
                    break
            # 3. Select the next leaf, from the root down.
            elif next_leaf(table, search, settings, tree.considered_visits) == NO_NODE:
                # 4. None is left or needed: record the position with its policy target, and play.
                edge = choose_root_edge(root, nodes, edges, settings, rng)
                record(games, b)
                advance_root(table, search, settings, edge, rng)
                # 5. The game is over: keep its end, and start the next one in its place.
                if states[0].outcome != ONGOING:
                    end_game(games, b)
                    start_game(table, games, b)
    return is_full(log, limit)
