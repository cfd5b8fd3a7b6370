"""UCT: Monte-Carlo tree search with random playouts, over a game's rules.

Template functions for ``engine.compile.specialise``. UCB1: Auer, Cesa-Bianchi and Fischer,
"Finite-time Analysis of the Multiarmed Bandit Problem", 2002. UCT: Kocsis and Szepesvari,
"Bandit Based Monte-Carlo Planning", 2006. A playout tries one new node at most, as in Coulom,
"Efficient Selectivity and Backup Operators in Monte-Carlo Tree Search", 2006.

A tree is an array of `NODE` records, the root first. The children of a node are contiguous. They
are allocated when a second playout passes through the node, the root's at once, so most nodes never
have any. Results are counted from player 0's side, so the order of turns does not matter. Positions
are not stored: each playout replays the moves from the root, which costs little beside playing on
to the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ludarium.envs.engine.kernels import random_playout
from ludarium.envs.engine.mathematics import log
from ludarium.envs.engine.rule import ONGOING, random_below, reward
from ludarium.machine.machines import OF_BATCHES
from ludarium.machine.marks import kernel, part

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

rules: Any = None  # one game's rules, filled in by `specialise`
KINDS = OF_BATCHES  # with vectors of 512 bits, playouts of Onyx take a sixth less time


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    numbers = np.zeros(1, np.int32)
    searches = Searches(
        roots=game.new_states(1),
        rngs=np.zeros((1, 2), np.int64),
        counts=np.zeros((1, 4, game.num_actions), np.int32),
        spreads=np.zeros(1),
        nodes=np.zeros((1, 1), NODE),
        sizes=numbers,
        searched=numbers,
        paths=np.zeros((1, 1), np.int32),
        states=game.new_states(1),
    )
    yield "search", (game.tables, searches, 0, 0, 1, 0, 0)


#: One node of a tree.
NODE = np.dtype(
    (
        np.record,
        [
            ("inverse_root", np.float64),  # 1 / sqrt(visits)
            ("visits", np.int32),  # playouts through the node; 0 = untried
            ("total", np.int32),  # sum of their results: +1 for a win of player 0, -1 for a loss
            ("draws", np.int32),  # how many of them were drawn
            ("action", np.int32),  # action that leads here from the parent
            ("children", np.int32),  # index of the first child; 0 = not expanded yet
            ("width", np.int16),  # number of children: the legal actions
            ("tried", np.int16),  # how many of them have been visited: they come first
        ],
    )
)

#: The rows of `Searches.counts`.
VISITS, TOTALS, DRAWS, ORDER = range(4)


class Searches(NamedTuple):
    """N searches, of which up to T go on at the same time, each in a tree of its own.

    Attributes:
        roots: structured [N], the positions.
        rngs: int64 [N, 2], a random stream for each search, so that results do not depend on the
            trees and threads.
        counts: int32 [N, 4, A], results for each action at the root: playouts, sum of their results
            for player 0, how many were drawn, and the action's rank, from 1 on, in the order of
            first tries, which is random and ends with the untried; 0 where it is not legal.
        spreads: float64 [S], ``c * sqrt(ln(n))`` for n visits, c being the weight of exploration.
        nodes: `NODE` [T, M]; a full tree stops growing.
        sizes: int32 [T], how many nodes of the tree are in use.
        searched: int32 [T], which search the tree belongs to; -1 for none.
        paths: int32 [T, L], the nodes of the present playout; L is above the longest game.
        states: structured [T], the position that the present playout has reached.
    """

    roots: np.ndarray
    rngs: np.ndarray
    counts: np.ndarray
    spreads: np.ndarray
    nodes: np.ndarray
    sizes: np.ndarray
    searched: np.ndarray
    paths: np.ndarray
    states: np.ndarray


@part
def new_node(node, action):
    """Set a node without visits."""
    node.visits = 0
    node.total = 0
    node.draws = 0
    node.action = action
    node.children = 0


@part
def expand(table, state, tree, node, size, num_actions):
    """Append untried children of ``node`` to a tree of ``size`` nodes; return its new size."""
    first = size
    for action in range(num_actions):
        if rules.is_legal(table, state, action):
            new_node(tree[size], action)
            size += 1
    tree[node].width = size - first
    tree[node].tried = 0
    tree[node].children = first
    return size


@part
def select_untried(tree, node, rng):
    """A random untried child, which is moved behind the tried ones to become one of them."""
    tried = tree[node].tried
    child = tree[node].children + tried
    other = child + random_below(rng, int(tree[node].width) - int(tried))
    action = tree[other].action
    tree[other].action = tree[child].action
    tree[child].action = action
    tree[node].tried = tried + 1
    return child


@part
def select(tree, node, mover, spreads):
    """The child with the highest upper confidence bound for ``mover``; all must be tried.

    UCB1: ``mean + c * sqrt(ln(n) / n_child)``, with results in [-1, 1].
    """
    visits = tree[node].visits
    if visits < len(spreads):
        spread = spreads[visits]  # c * sqrt(ln(n))
    else:
        spread = spreads[2] * np.sqrt(log(visits) / log(2))  # the same
    first = tree[node].children
    sign = 1 - 2 * mover
    best = first
    highest = -np.inf
    for child in range(first, first + tree[node].width):
        inverse_root = tree[child].inverse_root
        # mean + spread / sqrt(n_child), where mean = total / n_child
        bound = inverse_root * (sign * tree[child].total * inverse_root + spread)
        if bound > highest:
            highest = bound
            best = child
    return best


@part
def back_up(tree, path, length, result):
    """Add the result of a playout to the nodes of its path."""
    for i in range(length):
        node = tree[path[i]]
        node.visits += 1
        node.total += result
        node.draws += result == 0
        node.inverse_root = 1 / np.sqrt(np.float64(node.visits))


@part
def simulate(table, root, state, rng, tree, size, path, spreads, num_actions):
    """One playout from the position ``root`` on; return the size of the tree after it."""
    state[0] = root[0]
    node = 0
    path[0] = 0
    length = 1
    is_new = False
    # Select: down the tree to a child that is new, the end of the game, or where there is no room.
    while not is_new and state[0].outcome == ONGOING:
        # Expand: a node gets its children when a playout goes through it for the second time.
        if tree[node].children == 0:
            if size + num_actions > len(tree):
                break  # the tree is full: update its statistics without adding nodes
            size = expand(table, state[0], tree, node, size, num_actions)
        is_new = tree[node].tried < tree[node].width
        if is_new:
            node = select_untried(tree, node, rng)
        else:
            node = select(tree, node, state[0].mover, spreads)
        rules.step(table, state[0], tree[node].action)
        path[length] = node
        length += 1
    # Rollout: random moves to the end of the game.
    random_playout(table, state[0], rng, num_actions)
    back_up(tree, path, length, reward(state[0].outcome, 0))
    return size


@part
def write_counts(tree, counts):
    """Write what is known of the root's actions; see `Searches`."""
    first = tree[0].children
    for i in range(tree[0].width):
        child = tree[first + i]
        counts[VISITS, child.action] = child.visits
        counts[TOTALS, child.action] = child.total
        counts[DRAWS, child.action] = child.draws
        counts[ORDER, child.action] = 1 + i


@kernel
def search(tables, searches, slot, begin, end, playouts, limit):
    """Continue the searches from ``begin`` to before ``end`` in one tree, one after the other.

    A search whose tree belongs to another by now starts over. Finished games are left out.

    Args:
        tables: the game's tables, array of one record.
        searches: see `Searches`.
        slot: number of the tree, below T; no other call may use it at the same time.
        begin, end: the searches.
        playouts: how many playouts each search is to have.
        limit: most playouts of this call.

    Returns:
        The first search that lacks playouts, or ``end``.
    """
    table, tree, path = tables[0], searches.nodes[slot], searches.paths[slot]
    state = searches.states[slot : slot + 1]
    num_actions = searches.counts.shape[2]
    number = begin
    while number < end:
        root, rng = searches.roots[number : number + 1], searches.rngs[number]
        if root[0].outcome != ONGOING:
            number += 1
            continue
        # Start over, or go on with the tree of an earlier call.
        size = int(searches.sizes[slot])
        if searches.searched[slot] != number:
            searches.searched[slot] = number
            new_node(tree[0], -1)
            size = expand(table, root[0], tree, 0, 1, num_actions)
        # Playouts: as many as the search lacks, or as this call may still make.
        count = min(limit, max(0, playouts - int(tree[0].visits)))
        for _ in range(count):
            size = simulate(
                table, root, state, rng, tree, size, path, searches.spreads, num_actions
            )
        limit -= count
        searches.sizes[slot] = size
        write_counts(tree, searches.counts[number])
        if tree[0].visits < playouts:
            break  # the limit is reached
        number += 1
    return number
