"""Exact values in the tree: proven bounds, backed up as minimax.

Score-bounded Monte-Carlo tree search (Cazenave and Saffidine, "Score Bounded Monte-Carlo Tree
Search", 2010; MCTS-Solver, Winands et al. 2008), where the settings ask for it. Bounds are of the
outcome, +1, 0 or -1: a finished position has it as both bounds, and so has one that the mover can
win at once; a node's bounds are the best for its mover among its children's, and a child that was
not tried may be worth anything. An action that is known to be worse than another, or to lose, is
pruned: it is not searched or learnt, and played only by a level that errs. In a position that is
proven lost all actions stay.
"""

from ludarium.envs.engine.rule import compiled

from .tree import NO_NODE


@compiled
def low_for(node, sign):
    """Lower bound of a node's outcome, for the player with this sign."""
    return node.lower if sign > 0 else -node.upper


@compiled
def high_for(node, sign):
    """Upper bound of a node's outcome, for the player with this sign."""
    return node.upper if sign > 0 else -node.lower


@compiled
def update_bounds(nodes, edges, leaf, settings):
    """Propagate the bounds of ``leaf`` up the tree, as long as they change something."""
    number = nodes[leaf].parent
    while number != NO_NODE:
        node = nodes[number]
        sign = node.sign
        # Minimax of the bounds in the mover's view: low = max over children of their low, and high
        # likewise. An untried child may be worth anything, -1 to 1, but what was proven stays.
        low = low_for(node, sign)
        high = -1
        for edge in range(node.first, node.end):
            child = edges[edge].child
            low = max(low, low_for(nodes[child], sign) if child != NO_NODE else -1)
            high = max(high, high_for(nodes[child], sign) if child != NO_NODE else 1)
        # Nodes above can only learn something if this one did.
        changed = low != low_for(node, sign) or high != high_for(node, sign)
        node.lower = low if sign > 0 else -high
        node.upper = high if sign > 0 else -low
        prune_edges(nodes, edges, node, low, high, settings.score > 0)
        if not changed:
            return
        number = node.parent


@compiled
def prune_edges(nodes, edges, node, low, high, score_counts):
    """Prune the edges that are proven to be worse than ``low``, the mover's lower bound.

    Until the node is proven, edges that are proven to lose are pruned too. In a proven node only
    the actions that are proven to keep its value stay; if ``score_counts``, all that may keep it
    stay, because one of them may gain more.
    """
    for edge in range(node.first, node.end):
        child = edges[edge].child
        if child == NO_NODE:
            # Untried: it matters no more once the value is proven, unless for points.
            edges[edge].pruned = low == high and not score_counts
        elif low == high and not score_counts:
            # Proven: only what is proven to be worth as much is kept.
            edges[edge].pruned = low_for(nodes[child], node.sign) != low
        else:
            # Not proven, or for points: what may still be worth as much is kept, but no sure loss.
            best = high_for(nodes[child], node.sign)
            edges[edge].pruned = best < low or (best == -1 and low != high)
