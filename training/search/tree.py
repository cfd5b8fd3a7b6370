"""Search trees of B games in parallel, in preallocated arrays.

Node 0 is the root. Values of nodes are in player 0's view, so nothing has to be negated
on the way up, whoever moves next; ``sign * value`` is the value for the node's mover.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludarium.base.memory import require_memory
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import compiled

NO_NODE = -1
NO_EDGE = -1

#: One node of a tree, without its position and edges. ``parent`` NO_NODE for the root; ``visits``
#: how many values were backed up through the node, its own included; ``sign`` +1 if player 0 is
#: to move, else -1; ``value`` and ``value_sq`` the means of the values and of their squares, or an
#: exact value, once backed up, and its square; ``raw_value`` and ``draw`` the network's value and
#: probability of a draw; ``lower``, ``upper`` bounds of the exact outcome, proven where they meet;
#: ``evaluated`` whether the network has answered; ``pending`` simulations through the node that
#: wait for the network, counted only where many leaves of one tree wait at a time (see `leaves`).
#: The node's edges, one for each legal action, are numbered from ``first`` to before ``end``.
NODE = np.dtype(
    [
        ("parent", np.int32),
        ("visits", np.int32),
        ("pending", np.int32),
        ("sign", np.float32),
        ("value", np.float32),
        ("value_sq", np.float32),
        ("raw_value", np.float32),
        ("draw", np.float32),
        ("first", np.int32),
        ("end", np.int32),
        ("lower", np.int8),
        ("upper", np.int8),
        ("evaluated", np.int8),
    ],
    align=True,
)

#: One legal action in a node. ``child`` is the number of the node it leads to or NO_NODE, ``logit``
#: the network's, ``prior`` the softmax of the node's logits, ``pruned`` whether proofs rule the
#: action out (see `proof`).
EDGE = np.dtype(
    [
        ("action", np.int16),
        ("pruned", np.int8),
        ("child", np.int32),
        ("logit", np.float32),
        ("prior", np.float32),
    ],
    align=True,
)


def root_dtype(actions: int) -> np.dtype:
    """Dtype of one search.

    ``size`` nodes and ``edges`` edges are in use; ``simulation`` simulations and ``evaluations``
    network evaluations are done; ``waiting`` is the node that waits for the network, or NO_NODE;
    ``greedy`` whether the best action is played, see `SearchSettings`; ``canonical`` whether the
    network sees positions, and numbers actions, in the canonical frame. By action: ``noise`` of
    the root, and ``policy``, the network's target. ``visited``, ``values``, ``best_unvisited`` and
    ``unvisited_prior`` are scratch space of `gumbel`, `puct` and `value`, for one node's edges.
    """
    return np.dtype(
        [
            ("size", np.int32),
            ("edges", np.int32),
            ("simulation", np.int32),
            ("evaluations", np.int32),
            ("waiting", np.int32),
            ("greedy", np.int8),
            ("canonical", np.int8),
            ("best_unvisited", np.int32),
            ("unvisited_prior", np.float32),
            ("noise", np.float32, (actions,)),
            ("visited", np.int32, (actions,)),
            ("values", np.float32, (actions,)),
            ("policy", np.float32, (actions,)),
        ],
        align=True,
    )


class Tree(NamedTuple):
    """B searches of at most M nodes.

    Attributes:
        states: structured [B, M + 1], the position of each node, and a scratch position.
        nodes: structured [B, M] of `NODE`.
        edges: structured [B, M * A] of `EDGE`. A node's edges follow each other in increasing
            order of the action, and the nodes' in the order in which they were made, so a
            small tree takes little memory.
        roots: structured [B] of `root_dtype`.
        considered_visits: int32 [max_considered + 1, simulations], see `gumbel`.
    """

    states: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    roots: np.ndarray
    considered_visits: np.ndarray


class OneSearch(NamedTuple):
    """One search of a `Tree`: its arrays of B searches without the first axis.

    ``roots`` keeps that axis, structured [1]: numba tuples cannot hold a single record.
    """

    roots: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    states: np.ndarray


@compiled
def search_of(tree, b):
    """Search ``b`` of a tree, as a `OneSearch`."""
    return OneSearch(tree.roots[b : b + 1], tree.nodes[b], tree.edges[b], tree.states[b])


def new_tree(game: Game, batch: int, settings: SearchSettings) -> Tree:
    """Allocate ``batch`` searches for these settings, or for fewer simulations.

    Raises:
        ValueError: they would take more memory than is free.
    """
    simulations = settings.simulations
    node = game.state_dtype.itemsize + NODE.itemsize + game.num_actions * EDGE.itemsize
    require_memory(
        f"a search of {batch} positions with {simulations} simulations",
        batch * (simulations + 1) * node,
    )
    tree = Tree(
        states=np.zeros((batch, simulations + 2), game.state_dtype),
        nodes=np.zeros((batch, simulations + 1), NODE),
        edges=np.zeros((batch, (simulations + 1) * game.num_actions), EDGE),
        roots=np.zeros(batch, root_dtype(game.num_actions)),
        considered_visits=np.zeros((settings.max_considered + 1, simulations), np.int32),
    )
    tree.roots["waiting"] = NO_NODE
    return tree


@compiled
def is_over(node):
    """Whether a node's position is finished: it has no edges."""
    return node.first == node.end


@compiled
def is_proven(node):
    """Whether the exact outcome of a node is known."""
    return node.lower == node.upper


@compiled
def is_settled(node, settings):
    """Whether the outcome of a node is known and all that counts: a search finds nothing more."""
    return is_proven(node) and settings.score == 0


@compiled
def within_bounds(node, value, settings):
    """A node's ``value``, player 0's view, moved to the nearest value within its bounds.

    The bounds limit the outcome; the score may be anything.
    """
    score = np.float32(settings.score)
    lower = (1 - score) * np.float32(node.lower) - score
    upper = (1 - score) * np.float32(node.upper) + score
    return min(max(value, lower), upper)


@compiled
def node_value(node, settings):
    """The value of a node for the search, player 0's view: the mean within the bounds.

    For a root's value that is reported, see `value.root_value`.
    """
    return within_bounds(node, node.value, settings)


@compiled
def back_up(nodes, leaf, value):
    """Add ``value`` to every node above ``leaf``."""
    number = nodes[leaf].parent
    while number != NO_NODE:
        node = nodes[number]
        # Incremental means: Q <- (N Q + v) / (N + 1), for the values and for their squares.
        node.value = (node.value * node.visits + value) / np.float32(node.visits + 1)
        node.value_sq = (node.value_sq * node.visits + value * value) / np.float32(node.visits + 1)
        node.visits += 1
        number = node.parent
