"""Self-play, compiled: search, move, record what the move leaves behind, start the next game.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.

Tree learning: each expanded position is recorded once, with its last minimax value, when the game
leaves it behind: after a move all of the tree is recorded but what is below the new root.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.kernels import random_action
from ludarium.envs.engine.rule import ONGOING, random_below, random_bits
from ludarium.training.descent.minimax import ROWS, TURN, Requests, plant, receive, search_on
from ludarium.training.descent.tree import NO_NODE, NO_STATE, Tree, is_better, search_of

rules: Any = None


class Log(NamedTuple):
    """The log of self-play: room for the positions of a chunk, and of one move more.

    Attributes:
        states: structured [C], expanded positions.
        values, scores: float32 [C], their minimax values in player 0's view, see `tree.NODE`.
        resolved: int8 [C], whether these are exact.
        counts: int64 [4]: positions, ended games, plies of these, and expansions.
    """

    states: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    resolved: np.ndarray
    counts: np.ndarray


POSITIONS, ENDED, PLIES, EXPANSIONS = range(4)


class Games(NamedTuple):
    """B games of self-play in parallel, each with its own tree.

    Attributes:
        tree: the searches.
        requests: what they ask the network.
        log: positions that the games have left behind.
        rngs: int64 [B, 2], random numbers of the games.
        opening_plies: each game starts with 0 to this many random plies.
        positions: the chunk is full with so many positions.
        numbers: int32 [M], scratch space of `move_root`.
        passed: int8 [A], scratch space of `draw_child`.
    """

    tree: Tree
    requests: Requests
    log: Log
    rngs: np.ndarray
    opening_plies: int
    positions: int
    numbers: np.ndarray
    passed: np.ndarray


@part
def start_game(table, games, b):
    """Start a new game in slot ``b``, play its random opening, and plant its tree."""
    search, rng = search_of(games.tree, b), games.rngs[b]
    state = search.states[0]
    num_actions = len(games.passed)
    rules.init(table, state, rng)
    for _ in range(random_below(rng, games.opening_plies + 1)):
        if state.outcome == ONGOING:
            rules.step(table, state, random_action(table, state, rng, num_actions))
    if state.outcome != ONGOING:  # the opening was a whole game
        rules.init(table, state, rng)
    plant(search)


@part
def draw_child(nodes, settings, rng, passed):
    """Draw a child of the root by the ordinal distribution (Cohen-Solal, arXiv 2008.01188).

    It looks at ranks only: from the best child on, each of the n that are left is taken with the
    probability e + (1 - e) / n, where e is ``settings.exploitation``.
    """
    first, end = nodes[0].first, nodes[0].end
    for child in range(first, end):
        passed[child - first] = 0
    for left in range(end - first, 1, -1):
        best = NO_NODE
        for child in range(first, end):
            if not passed[child - first] and (
                best == NO_NODE
                or is_better(nodes[child], nodes[best], nodes[0].sign, settings.score_weight)
            ):
                best = child
        chance = settings.exploitation + (1 - settings.exploitation) / left
        if random_bits(rng) < chance * 4294967296.0:
            return best
        passed[best - first] = 1
    for child in range(first, end):
        if not passed[child - first]:
            return child
    return first


@part
def record(log, search, place):
    """Log an expanded position with its values."""
    node = search.nodes[search.holders[place]]
    row = log.counts[POSITIONS]
    log.states[row] = search.states[place]
    log.values[row] = node.value
    log.scores[row] = node.score
    log.resolved[row] = node.resolved
    log.counts[POSITIONS] += 1


@part
def number_subtree(search, child, numbers):
    """Write the new number of each node below ``child`` and its own, 0; NO_NODE for the others."""
    nodes = search.nodes
    size = 0
    for number in range(search.roots[0].nodes):
        is_kept = number == child
        if number > child:
            is_kept = numbers[nodes[number].parent] != NO_NODE
        numbers[number] = NO_NODE
        if is_kept:
            numbers[number] = size
            size += 1


@part
def move_root(search, log, child, numbers):
    """Make an expanded child the root; record what is not below it.

    Nodes come after their parents and positions in the order of their expansion, so both only ever
    move forward.
    """
    roots, nodes, states, holders = search
    root = roots[0]
    number_subtree(search, child, numbers)
    for place in range(root.states):
        if numbers[holders[place]] == NO_NODE:
            record(log, search, place)
    size = 0
    for number in range(root.nodes):
        if numbers[number] == NO_NODE:
            continue
        nodes[size] = nodes[number]
        node = nodes[size]
        if number == child:
            node.parent = NO_NODE
        else:
            node.parent = numbers[node.parent]
            parent = nodes[node.parent]
            if parent.first == number:  # its first child: the others follow
                parent.end += size - parent.first
                parent.first = size
        size += 1
    root.nodes = size
    size = 0
    for place in range(root.states):
        number = numbers[holders[place]]
        if number != NO_NODE:
            states[size] = states[place]
            holders[size] = number
            nodes[number].state = size
            size += 1
    root.states = size
    root.expansions = 0


@part
def kept_positions(search, child, numbers):
    """How many expanded positions are at or below ``child``."""
    number_subtree(search, child, numbers)
    count = 0
    for place in range(search.roots[0].states):
        count += numbers[search.holders[place]] != NO_NODE
    return count


@part
def make_move(table, games, b, child):
    """Play the action of a child of the root; keep the tree below it, or start the next game.

    A tree that would leave little room for more is searched anew.
    """
    search, log = search_of(games.tree, b), games.log
    root, nodes, states = search.roots[0], search.nodes, search.states
    log.counts[EXPANSIONS] += root.expansions
    is_kept = nodes[child].state != NO_STATE
    if is_kept:
        is_kept = 2 * kept_positions(search, child, games.numbers) <= len(search.holders)
    if is_kept:
        move_root(search, log, child, games.numbers)
        return
    for place in range(root.states):
        record(log, search, place)
    state = states[0]
    rules.step(table, state, int(nodes[child].action))
    if state.outcome == ONGOING:
        plant(search)
        return
    log.counts[ENDED] += 1
    log.counts[PLIES] += state.ply
    start_game(table, games, b)


@kernel
def begin_games(tables, games):
    """Start a game in every slot."""
    for b in range(len(games.rngs)):
        start_game(tables[0], games, b)


@kernel
def play_on(tables, games, settings, max_score, scores, values):
    """Take the network's answers; play until the requests or the log are full, or all games wait.

    ``scores`` [R, 1] and ``values`` [R] answer what the last call asked. Returns whether the log is
    full.
    """
    table, tree, requests, log = tables[0], games.tree, games.requests, games.log
    num_actions, counts = len(games.passed), requests.counts
    receive(tree, requests, scores, values)
    for _ in range(len(games.rngs)):
        if counts[ROWS] + num_actions > len(requests.nodes):
            break
        b = counts[TURN]
        search = search_of(tree, b)
        while not search_on(table, search, settings, requests, num_actions, max_score, b):
            if log.counts[POSITIONS] >= games.positions:
                return True
            child = draw_child(search.nodes, settings, games.rngs[b], games.passed)
            make_move(table, games, b, child)
        counts[TURN] = (b + 1) % len(games.rngs)
    return False
