"""The simulation loop: grow each tree until it needs the network, or is done.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.
"""

import math
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.rule import ONGOING, random_bits, reward

from . import gumbel, puct
from .proof import update_bounds
from .settings import GUMBEL
from .tree import NO_NODE, back_up, is_proven, node_value, sign

rules: Any = None  # one game's rule module, filled in by `specialise`


@part
def write_observation(table, state, planes):
    """Show a position to its player to move."""
    for plane in range(planes.shape[0]):
        for cell in range(planes.shape[1]):
            planes[plane, cell] = 0
    rules.observe(table, state, int(state.mover), planes)


@part
def clear_node(tree, b, node, parent):
    """Make a node fresh: no children, nothing known."""
    tree.parent[b, node] = parent
    tree.visits[b, node] = 0
    tree.value[b, node] = 0
    tree.lower[b, node] = -1
    tree.upper[b, node] = 1
    for action in range(tree.children.shape[2]):
        tree.children[b, node, action] = NO_NODE
        tree.logits[b, node, action] = -np.inf


@part
def plant(tree, b):
    """Begin a search from the position in the root, which then waits for the network."""
    clear_node(tree, b, 0, NO_NODE)
    tree.size[b] = 1
    tree.simulation[b] = 0
    tree.waiting[b] = 0


@part
def draw_noise(tree, settings, b, rng):
    """Root noise over the legal actions: scaled Gumbel, or Dirichlet for PUCT.

    With ``settings.noise`` 0 the tree keeps the noise that it was given.
    """
    if settings.noise == 0:
        return
    total = np.float32(0)
    for action in range(tree.noise.shape[1]):
        tree.noise[b, action] = 0
        if tree.logits[b, 0, action] == -np.inf:
            continue
        if settings.algorithm == GUMBEL:
            uniform = (random_bits(rng) + 0.5) / 4294967296.0
            tree.noise[b, action] = -settings.noise * math.log(-math.log(uniform))
        else:
            tree.noise[b, action] = puct.gamma(settings.dirichlet_alpha, rng)
            total += tree.noise[b, action]
    if total > 0:
        for action in range(tree.noise.shape[1]):
            tree.noise[b, action] /= total


@part
def absorb(table, tree, settings, b, rng, logits, value):
    """Give the waiting node its evaluation: ``logits`` [A] and ``value`` in its mover's view."""
    node = tree.waiting[b]
    tree.waiting[b] = NO_NODE
    state = tree.states[b, node]
    legal = 0
    for action in range(logits.shape[0]):
        if rules.is_legal(table, state, action):
            tree.logits[b, node, action] = logits[action]
            legal += 1
    value = sign(state.mover) * value
    tree.raw_value[b, node] = value
    tree.value[b, node] = value
    tree.visits[b, node] = 1
    back_up(tree, b, node, value)
    if node == 0:
        tree.legal_at_root[b] = legal
        draw_noise(tree, settings, b, rng)
    else:
        tree.simulation[b] += 1


@part
def count_exact(tree, settings, b, node, value):
    """A simulation that ended in a node whose value is exact, and so needs no network."""
    tree.visits[b, node] += 1
    back_up(tree, b, node, value)
    tree.simulation[b] += 1
    if settings.prove:
        update_bounds(tree, b, node)


@part
def add_child(table, tree, b, node, action):
    """A new node for the position after ``action``; return its number."""
    child = tree.size[b]
    tree.size[b] += 1
    tree.children[b, node, action] = child
    clear_node(tree, b, child, node)
    tree.states[b, child] = tree.states[b, node]
    rules.step(table, tree.states[b, child], action)
    return child


@part
def select(tree, settings, b, node):
    """The action to follow from a node."""
    if settings.algorithm != GUMBEL:
        return puct.select(tree, settings, b, node)
    if node == 0:
        return gumbel.select_root(tree, settings, b)
    return gumbel.select_inside(tree, settings, b, node)


@part
def grow(table, tree, settings, b):
    """Run simulations until a new leaf needs the network; return it, or NO_NODE when done."""
    while tree.simulation[b] < settings.simulations and not is_proven(tree, b, 0):
        node = 0
        while True:
            action = select(tree, settings, b, node)
            child = tree.children[b, node, action]
            if child == NO_NODE:
                child = add_child(table, tree, b, node, action)
                outcome = tree.states[b, child].outcome
                if outcome == ONGOING:
                    tree.waiting[b] = child
                    return child
                value = np.float32(reward(outcome, 0))
                tree.value[b, child] = value
                tree.raw_value[b, child] = value
                if settings.prove:
                    tree.lower[b, child] = value
                    tree.upper[b, child] = value
                count_exact(tree, settings, b, child, value)
                break
            if tree.states[b, child].outcome != ONGOING or is_proven(tree, b, child):
                count_exact(tree, settings, b, child, node_value(tree, b, child))
                break
            node = child
    return NO_NODE


@kernel
def begin(tables, tree, planes, first, last):
    """Begin searches ``first`` to ``last`` from ``tree.states[:, 0]``; show the roots."""
    for b in range(first, last):
        plant(tree, b)
        write_observation(tables[0], tree.states[b, 0], planes[b])


@kernel
def advance(tables, tree, settings, rngs, logits, values, planes, first, last):
    """Take the evaluations of the waiting leaves and find the next ones.

    ``logits`` [B, A] and ``values`` [B] answer the observations that the last call wrote into
    ``planes`` [B, planes, cells]. Returns how many searches wait for the network again.
    """
    waiting = 0
    for b in range(first, last):
        if tree.waiting[b] < 0:
            continue
        absorb(tables[0], tree, settings, b, rngs[b], logits[b], values[b])
        leaf = grow(tables[0], tree, settings, b)
        if leaf != NO_NODE:
            write_observation(tables[0], tree.states[b, leaf], planes[b])
            waiting += 1
    return waiting


@part
def decide(tree, settings, b, rng, policy):
    """Write the policy target of a finished search into ``policy`` [A]; return the action."""
    if settings.algorithm == GUMBEL:
        action = gumbel.choose_action(tree, settings, b)
        gumbel.write_improved_policy(tree, settings, b, 0, policy)
    else:
        action = puct.choose_action(tree, settings, b, rng)
        puct.write_visit_policy(tree, settings, b, policy)
    return action


@part
def root_value(tree, b):
    """Value of the root in player 0's view: exact where proven, else what the search found."""
    if is_proven(tree, b, 0):
        return np.float32(tree.lower[b, 0])
    return tree.value[b, 0]


@kernel
def results(tree, settings, rngs, actions, policies, values, first, last):
    """Read finished searches: the action, policy target and root value (mover's view) of each."""
    for b in range(first, last):
        actions[b] = decide(tree, settings, b, rngs[b], policies[b])
        values[b] = sign(tree.states[b, 0].mover) * root_value(tree, b)
