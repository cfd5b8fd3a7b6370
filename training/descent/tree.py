"""Minimax trees of B games in parallel, in preallocated arrays.

A position is *expanded* once all of its children are in the tree, with their values. Node 0 is the
root. Values are from player 0's point of view, so nothing has to be negated on the way up, whoever
moves next.

Completion (Cohen-Solal, arXiv 2008.01188; that it is complete: arXiv 2603.24572): beside its value
a node has what is proven of it. It is *resolved* if its game is over, if its mover
has an action that wins for sure, or if all of its children are resolved. Its ``completion`` is then
its exact result. Resolved positions are not searched again; a proven win comes before any value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import compiled

NO_NODE = -1
NO_STATE = -1

#: One node. ``parent`` NO_NODE for the root; its children are the nodes ``first`` to before
#: ``end``, one for each legal action in increasing order. ``state`` is the place of its position,
#: NO_STATE before it is expanded; ``action`` led to it; ``sign`` is +1 where player 0 is to move,
#: else -1; ``visits`` how many lines went through it. ``value`` and ``score`` are those of the leaf
#: that best play leads to: expected result and final score as a share of the largest, the
#: network's, or exact where the game is over. For ``completion`` and ``resolved`` see the module.
NODE = np.dtype(
    [
        ("parent", np.int32),
        ("first", np.int32),
        ("end", np.int32),
        ("state", np.int32),
        ("visits", np.int32),
        ("value", np.float32),
        ("score", np.float32),
        ("action", np.int16),
        ("sign", np.int8),
        ("completion", np.int8),
        ("resolved", np.int8),
    ],
    align=True,
)

#: One search: ``nodes`` and ``states`` in use; ``expansions`` done for this move; ``line`` the node
#: of the line under way whose children wait for their values, or NO_NODE.
ROOT = np.dtype(
    [
        ("nodes", np.int32),
        ("states", np.int32),
        ("expansions", np.int32),
        ("line", np.int32),
    ],
    align=True,
)


class Tree(NamedTuple):
    """B searches of at most E expanded positions and M nodes.

    Attributes:
        roots: structured [B] of `ROOT`.
        nodes: structured [B, M] of `NODE`; nodes come after their parents, siblings together.
        states: structured [B, E + 1], the expanded positions in the order of their expansion, and
            room to try an action in.
        holders: int32 [B, E], the node of each position.
    """

    roots: np.ndarray
    nodes: np.ndarray
    states: np.ndarray
    holders: np.ndarray


class OneSearch(NamedTuple):
    """One search of a `Tree`: the same without the first axis, ``roots`` structured [1]."""

    roots: np.ndarray
    nodes: np.ndarray
    states: np.ndarray
    holders: np.ndarray


@compiled
def search_of(tree, b):
    """Search ``b`` of a tree, a `OneSearch`."""
    return OneSearch(tree.roots[b : b + 1], tree.nodes[b], tree.states[b], tree.holders[b])


def new_tree(game: Game, batch: int, states: int) -> Tree:
    """Allocate ``batch`` searches of at most ``states`` expanded positions each."""
    return Tree(
        roots=np.zeros(batch, ROOT),
        nodes=np.zeros((batch, 1 + states * game.num_actions), NODE),
        states=np.zeros((batch, states + 1), game.state_dtype),
        holders=np.zeros((batch, states), np.int32),
    )


@compiled
def add_node(search, parent, action):
    """Add a node whose value is not known yet; return its number."""
    root = search.roots[0]
    number = root.nodes
    root.nodes += 1
    node = search.nodes[number]
    node.parent = parent
    node.first = 0
    node.end = 0
    node.state = NO_STATE
    node.visits = 0
    node.value = 0
    node.score = 0
    node.action = action
    node.sign = 1
    node.completion = 0
    node.resolved = 0
    return number


@compiled
def is_better(node, other, sign, score_weight):
    """Whether the player with this sign prefers ``node``: by what is proven, then by value."""
    if node.completion != other.completion:
        return sign * node.completion > sign * other.completion
    mine = node.value + score_weight * node.score
    return sign * mine > sign * (other.value + score_weight * other.score)


@compiled
def best_child(nodes, number, score_weight, open_only):
    """The best child of an expanded node, or the best unresolved one; NO_NODE if there is none."""
    best = NO_NODE
    for child in range(nodes[number].first, nodes[number].end):
        if open_only and nodes[child].resolved:
            continue
        if best == NO_NODE or is_better(
            nodes[child], nodes[best], nodes[number].sign, score_weight
        ):
            best = child
    return best


@compiled
def safest_child(nodes, number, score_weight):
    """The child to play: best by what is proven, then most visited, then by value."""
    sign = nodes[number].sign
    best = nodes[number].first
    for child in range(best + 1, nodes[number].end):
        mine, other = nodes[child], nodes[best]
        if mine.completion != other.completion or mine.visits == other.visits:
            prefers = is_better(mine, other, sign, score_weight)
        else:
            prefers = mine.visits > other.visits
        if prefers:
            best = child
    return best


@compiled
def update(nodes, number, score_weight):
    """Give an expanded node the values of its best child, and see whether it is resolved."""
    node = nodes[number]
    best = nodes[best_child(nodes, number, score_weight, False)]
    node.value = best.value
    node.score = best.score
    node.completion = best.completion
    node.resolved = 1
    if node.sign * node.completion <= 0:
        for child in range(node.first, node.end):
            if not nodes[child].resolved:
                node.resolved = 0
                return


@compiled
def back_up(nodes, number, score_weight):
    """Update all nodes above a node."""
    number = nodes[number].parent
    while number != NO_NODE:
        update(nodes, number, score_weight)
        number = nodes[number].parent


@compiled
def follow_line(nodes, number, score_weight):
    """Follow the best unresolved actions from a node down to one that is not expanded."""
    while nodes[number].state != NO_STATE:
        number = best_child(nodes, number, score_weight, True)
        nodes[number].visits += 1
    return number
