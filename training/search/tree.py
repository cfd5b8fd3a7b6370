"""Search trees of B games side by side, in preallocated arrays.

Node 0 is the root. All values are from player 0's point of view, so nothing has to be
negated on the way up, whoever moves next; a player's own view is ``sign(mover) * value``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import rule

NO_NODE = -1
PAUSED = -2  # in `waiting`: the search is finished and its result not taken yet


class Tree(NamedTuple):
    """B trees of at most M nodes, A actions.

    Attributes:
        states: structured [B, M], the position of each node.
        parent: int32 [B, M]; NO_NODE for the root.
        children: int32 [B, M, A], node number or NO_NODE.
        logits: float32 [B, M, A], the network's; -inf where the action is illegal.
        raw_value: float32 [B, M], the network's value.
        value: float32 [B, M], mean of everything backed up through the node, its own value
            included.
        visits: int32 [B, M], how many values that is.
        lower, upper: int8 [B, M], bounds of the exact value; proven where they meet.
        noise: float32 [B, A], Gumbel noise of the root, or Dirichlet noise.
        size: int32 [B], nodes in use.
        simulation: int32 [B], simulations done.
        waiting: int32 [B], node that waits for the network, NO_NODE or PAUSED.
        legal_at_root: int32 [B], number of legal root actions.
        considered_visits: int32 [max_considered + 1, simulations], see `gumbel`.
        scratch: float32 [B, 2, A].
    """

    states: np.ndarray
    parent: np.ndarray
    children: np.ndarray
    logits: np.ndarray
    raw_value: np.ndarray
    value: np.ndarray
    visits: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    noise: np.ndarray
    size: np.ndarray
    simulation: np.ndarray
    waiting: np.ndarray
    legal_at_root: np.ndarray
    considered_visits: np.ndarray
    scratch: np.ndarray


def new_tree(game: Game, batch: int, simulations: int, considered_visits: np.ndarray) -> Tree:
    """Room for ``batch`` searches of at most ``simulations`` simulations."""
    nodes, actions = simulations + 1, game.num_actions
    shape, edges = (batch, nodes), (batch, nodes, actions)
    return Tree(
        states=np.zeros(shape, game.state_dtype),
        parent=np.full(shape, NO_NODE, np.int32),
        children=np.full(edges, NO_NODE, np.int32),
        logits=np.zeros(edges, np.float32),
        raw_value=np.zeros(shape, np.float32),
        value=np.zeros(shape, np.float32),
        visits=np.zeros(shape, np.int32),
        lower=np.zeros(shape, np.int8),
        upper=np.zeros(shape, np.int8),
        noise=np.zeros((batch, actions), np.float32),
        size=np.zeros(batch, np.int32),
        simulation=np.zeros(batch, np.int32),
        waiting=np.full(batch, NO_NODE, np.int32),
        legal_at_root=np.zeros(batch, np.int32),
        considered_visits=considered_visits,
        scratch=np.zeros((batch, 2, actions), np.float32),
    )


@rule
def sign(mover):
    """+1 for player 0, -1 for player 1: turns player 0's view into the mover's."""
    return 1 - 2 * int(mover)


@rule
def is_proven(tree, b, node):
    """Whether the exact value of a node is known."""
    return tree.lower[b, node] == tree.upper[b, node]


@rule
def node_value(tree, b, node):
    """Best knowledge of a node's value, player 0's view: exact, or the mean within bounds."""
    value = tree.value[b, node]
    if value < tree.lower[b, node]:
        value = np.float32(tree.lower[b, node])
    if value > tree.upper[b, node]:
        value = np.float32(tree.upper[b, node])
    return value


@rule
def back_up(tree, b, leaf, value):
    """Add ``value`` to every node above ``leaf``."""
    node = tree.parent[b, leaf]
    while node != NO_NODE:
        visits = tree.visits[b, node]
        tree.value[b, node] = (tree.value[b, node] * visits + value) / np.float32(visits + 1)
        tree.visits[b, node] = visits + 1
        node = tree.parent[b, node]
