"""Exact values in the tree: proven bounds, backed up as minimax.

Score-bounded Monte-Carlo tree search (Cazenave and Saffidine, "Score Bounded Monte-Carlo Tree
Search", 2010; MCTS-Solver, Winands et al. 2008): a finished position has its value as both
bounds, and so has one that the mover can win at once; a node's bounds are the best for its mover
among its children's, and an unvisited child may be worth anything. An action that is
known to be worse than another is closed: it is not searched, not played and not learnt.
"""

from ludarium.envs.engine.rule import compiled

from .tree import NO_NODE


@compiled
def low_for(node, sign):
    """Lower bound of a node's value, for the player with this sign."""
    return node.lower if sign > 0 else -node.upper


@compiled
def high_for(node, sign):
    """Upper bound of a node's value, for the player with this sign."""
    return node.upper if sign > 0 else -node.lower


@compiled
def update_bounds(nodes, edges, leaf, settings):
    """Propagate the bounds of ``leaf`` up the tree, as long as they change something."""
    number = nodes[leaf].parent
    while number != NO_NODE:
        node = nodes[number]
        sign = node.sign
        low = -1  # lower and upper bound in the mover's view
        high = -1
        for edge in range(node.first, node.end):
            child = edges[edge].child
            low = max(low, low_for(nodes[child], sign) if child != NO_NODE else -1)
            high = max(high, high_for(nodes[child], sign) if child != NO_NODE else 1)
        changed = low != low_for(node, sign) or high != high_for(node, sign)
        node.lower = low if sign > 0 else -high
        node.upper = high if sign > 0 else -low
        close_edges(nodes, edges, node, low, high, settings.score > 0)
        if not changed:
            return
        number = node.parent


@compiled
def close_edges(nodes, edges, node, low, high, score_counts):
    """Close the edges that are proven to be worse than ``low``, the mover's lower bound.

    Until the node is proven, edges that are proven to lose are closed too. In a proven node only
    the actions that are proven to keep its value stay open; if the score counts too, all that may
    keep it stay open, because one of them may gain more.
    """
    for edge in range(node.first, node.end):
        child = edges[edge].child
        if child == NO_NODE:
            edges[edge].open = score_counts or low != high
        elif low == high and not score_counts:
            edges[edge].open = low_for(nodes[child], node.sign) == low
        else:
            best = high_for(nodes[child], node.sign)
            edges[edge].open = best >= low and (best > -1 or low == high)
