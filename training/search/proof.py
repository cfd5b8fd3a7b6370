"""Exact values in the tree: proven bounds, backed up as minimax.

Score-bounded Monte-Carlo tree search (Cazenave and Saffidine, "Score Bounded Monte-Carlo Tree
Search", 2010; MCTS-Solver, Winands et al. 2008): a finished position has its value as both
bounds; a node's bounds are the best its mover has among its children's, where a child not
yet visited may be worth anything. A move that is settled and no better than what the mover
has for certain is not worth another simulation.
"""

from ludarium.envs.engine.rule import rule

from .tree import NO_NODE, sign


@rule
def update_bounds(tree, b, leaf):
    """Carry new bounds of ``leaf`` up the tree, as far as they change anything."""
    node = tree.parent[b, leaf]
    while node != NO_NODE:
        view = sign(tree.states[b, node].mover)
        low = -1  # in the mover's view: what is certain, and what is possible
        high = -1
        for action in range(tree.children.shape[2]):
            if tree.logits[b, node, action] == -float("inf"):
                continue
            child = tree.children[b, node, action]
            child_low = -1
            child_high = 1
            if child != NO_NODE:
                child_low = view * (tree.lower[b, child] if view > 0 else tree.upper[b, child])
                child_high = view * (tree.upper[b, child] if view > 0 else tree.lower[b, child])
            low = max(low, child_low)
            high = max(high, child_high)
        lower = low if view > 0 else -high
        upper = high if view > 0 else -low
        if tree.lower[b, node] == lower and tree.upper[b, node] == upper:
            return
        tree.lower[b, node] = lower
        tree.upper[b, node] = upper
        node = tree.parent[b, node]


@rule
def is_open(tree, b, node, action):
    """Whether an action is legal and not known to be worse than another.

    Of a proven node, only the actions that keep its value are open.
    """
    if tree.logits[b, node, action] == -float("inf"):
        return False
    child = tree.children[b, node, action]
    if child == NO_NODE:
        return tree.lower[b, node] != tree.upper[b, node]
    view = sign(tree.states[b, node].mover)
    node_low = view * (tree.lower[b, node] if view > 0 else tree.upper[b, node])
    child_low = view * (tree.lower[b, child] if view > 0 else tree.upper[b, child])
    child_high = view * (tree.upper[b, child] if view > 0 else tree.lower[b, child])
    if tree.lower[b, node] == tree.upper[b, node]:
        return child_low == node_low and child_high == node_low
    return child_high > -1 and child_high >= node_low
