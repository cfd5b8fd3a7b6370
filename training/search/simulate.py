"""The simulation loop: grow each tree until it needs the network, or is done.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.
"""

import math
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.rule import ONGOING, random_bits, reward

from . import gumbel, puct
from .cache import NO_SLOT, find, remember
from .proof import update_bounds
from .settings import GUMBEL
from .tree import NO_ACTION, NO_NODE, back_up, is_proven, node_value

rules: Any = None  # one game's rule module, filled in by `specialise`


@part
def show(table, state, planes):
    """Write what the player to move in a position sees."""
    rules.observe(table, state, int(state.mover), planes)


@part
def clear_node(nodes, number, parent, mover):
    """Make a node fresh: no children, nothing known; `evaluate_node` fills in the rest."""
    node = nodes[number]
    node.parent = parent
    node.visits = 0
    node.sign = 1 - 2 * int(mover)
    node.value = 0
    node.raw_value = 0
    node.lower = -1
    node.upper = 1
    node.evaluated = 0
    for action in range(len(node.children)):
        node.children[action] = NO_NODE


@part
def plant(root, nodes, states):
    """Begin a search from the position in the root, which then waits for the network."""
    clear_node(nodes, 0, NO_NODE, states[0].mover)
    root.size = 1
    root.simulation = 0
    root.waiting = 0


@part
def evaluate_node(table, node, state, logits, value):
    """Give a node its evaluation: ``logits`` [A] and ``value`` in player 0's view."""
    best = np.float32(-np.inf)
    for action in range(len(node.children)):
        legal = rules.is_legal(table, state, action)
        node.open[action] = legal
        node.logits[action] = logits[action] if legal else np.float32(-np.inf)
        best = max(best, node.logits[action])
    total = np.float32(0)
    for action in range(len(node.children)):
        node.priors[action] = math.exp(node.logits[action] - best) if node.open[action] else 0
        total += node.priors[action]
    for action in range(len(node.children)):
        node.priors[action] /= total
    node.evaluated = 1
    node.raw_value = value
    node.value = value
    node.visits = 1


@part
def evaluate_root(table, root, nodes, states, settings, rng, logits, value):
    """Give the root its evaluation, and draw what kind of search it gets, and its noise."""
    evaluate_node(table, nodes[0], states[0], logits, value)
    root.waiting = NO_NODE
    root.legal = 0
    for action in range(len(nodes[0].children)):
        root.legal += nodes[0].open[action]
    root.fast = 0
    if settings.full_share < 1:
        root.fast = random_bits(rng) >= settings.full_share * 4294967296.0
    root.greedy = root.fast or states[0].ply >= settings.temperature_plies
    draw_noise(root, nodes[0], settings, rng)
    if settings.prove:
        action = winning_action(table, states, 0, len(nodes[0].children))
        if action != NO_ACTION:
            child = add_child(table, root, nodes, states, 0, action)
            count_exact(root, nodes, settings, child, nodes[0].sign)


@part
def draw_noise(root, node, settings, rng):
    """Root noise over the legal actions: scaled Gumbel, or Dirichlet for PUCT.

    With ``settings.noise`` 0 the search keeps the noise that it was given. A fast search has
    none: 0 for Gumbel, and the priors themselves for PUCT, which mixes the two.
    """
    if settings.noise == 0:
        return
    if root.fast:
        for action in range(len(root.noise)):
            root.noise[action] = 0 if settings.algorithm == GUMBEL else node.priors[action]
        return
    total = np.float32(0)
    for action in range(len(root.noise)):
        root.noise[action] = 0
        if not node.open[action]:
            continue
        if settings.algorithm == GUMBEL:
            uniform = (random_bits(rng) + 0.5) / 4294967296.0
            root.noise[action] = -settings.noise * math.log(-math.log(uniform))
        else:
            root.noise[action] = puct.gamma(settings.dirichlet_alpha, rng)
            total += root.noise[action]
    if total > 0:
        for action in range(len(root.noise)):
            root.noise[action] /= total


@part
def absorb(table, root, nodes, states, settings, rng, logits, value):
    """Give the waiting node its evaluation: ``logits`` [A] and ``value`` in its mover's view.

    The network numbers actions as the mover sees them; the tree, as the game does.
    """
    number = root.waiting
    state = states[number]
    for action in range(len(root.values)):
        root.values[action] = logits[rules.seen_action(table, state, int(state.mover), action)]
    value *= nodes[number].sign
    if number == 0:
        evaluate_root(table, root, nodes, states, settings, rng, root.values, value)
        return
    evaluate_node(table, nodes[number], state, root.values, value)
    root.waiting = NO_NODE
    root.simulation += 1
    back_up(nodes, number, value)


@part
def count_exact(root, nodes, settings, number, value):
    """A simulation that ended in a node whose value is exact, and so needs no network."""
    node = nodes[number]
    node.visits += 1
    node.value = value
    back_up(nodes, number, value)
    root.simulation += 1
    if settings.prove:
        node.lower = value
        node.upper = value
        update_bounds(nodes, number)


@part
def winning_action(table, states, number, num_actions):
    """An action that wins the game at once for a node's mover, or NO_ACTION.

    To try them all costs far less than to ask the network, which may well overlook them. The
    last of the ``states`` belongs to no node and is there to try them in.
    """
    state, trial = states[number], states[len(states) - 1]
    mover = int(state.mover)
    for action in range(num_actions):
        if rules.is_legal(table, state, action):
            states[len(states) - 1] = state
            rules.step(table, trial, action)
            if trial.outcome != ONGOING and reward(trial.outcome, mover) > 0:
                return action
    return NO_ACTION


@part
def add_child(table, root, nodes, states, number, action):
    """A new node for the position after ``action``; return its number."""
    child = root.size
    root.size += 1
    nodes[number].children[action] = child
    states[child] = states[number]
    rules.step(table, states[child], action)
    clear_node(nodes, child, number, states[child].mover)
    return child


@part
def select(root, nodes, settings, considered_visits, number):
    """The action to follow from a node."""
    if settings.algorithm != GUMBEL:
        return puct.select(root, nodes, settings, number)
    if number == 0:
        return gumbel.select_root(root, nodes, settings, considered_visits)
    return gumbel.select_inside(root, nodes, settings, number)


@part
def grow(table, root, nodes, states, settings, considered_visits):
    """Run simulations until a new leaf needs the network; return it, or NO_NODE when done."""
    budget = settings.fast_simulations if root.fast else settings.simulations
    while root.simulation < budget and not is_proven(nodes[0]):
        number = 0
        while True:
            action = select(root, nodes, settings, considered_visits, number)
            child = nodes[number].children[action]
            if child == NO_NODE:
                child = add_child(table, root, nodes, states, number, action)
                outcome = states[child].outcome
                if outcome != ONGOING:
                    count_exact(root, nodes, settings, child, np.float32(reward(outcome, 0)))
                    break
                if settings.prove:
                    win = winning_action(table, states, child, len(nodes[child].children))
                    if win != NO_ACTION:
                        count_exact(root, nodes, settings, child, nodes[child].sign)
                        break
                root.waiting = child
                return child
            if states[child].outcome != ONGOING or is_proven(nodes[child]):
                count_exact(root, nodes, settings, child, node_value(nodes[child]))
                break
            number = child
    return NO_NODE


@part
def answer_from_cache(table, root, nodes, states, settings, rng, cache, planes, search):
    """Show the waiting node; where the cache has the answer, absorb it and return True."""
    show(table, states[root.waiting], planes[search])
    slot = find(cache, search)
    if slot == NO_SLOT:
        return False
    absorb(table, root, nodes, states, settings, rng, cache.logits[slot], cache.values[slot])
    return True


@kernel
def begin(tables, tree, planes, first, last):
    """Begin searches ``first`` to ``last`` from ``tree.states[:, 0]``; show the roots."""
    for b in range(first, last):
        plant(tree.roots[b], tree.nodes[b], tree.states[b])
        show(tables[0], tree.states[b, 0], planes[b])


@kernel
def advance(tables, tree, cache, settings, rngs, logits, values, planes, first, last):
    """Take the evaluations of the waiting leaves and find the next that the cache has not.

    ``logits`` [B, A] and ``values`` [B] answer the observations that the last call wrote into
    ``planes`` [B, planes, cells]. Returns how many searches wait for the network again.
    """
    table = tables[0]
    waiting = 0
    for b in range(first, last):
        root, nodes, states = tree.roots[b], tree.nodes[b], tree.states[b]
        if root.waiting < 0:
            continue
        rng = rngs[b]
        remember(cache, b, logits[b], values[b])
        absorb(table, root, nodes, states, settings, rng, logits[b], values[b])
        while grow(table, root, nodes, states, settings, tree.considered_visits) != NO_NODE:
            if not answer_from_cache(table, root, nodes, states, settings, rng, cache, planes, b):
                waiting += 1
                break
    return waiting


@part
def decide(root, nodes, settings, rng):
    """Write the policy target of a finished search into ``root.policy``; return the action."""
    if settings.algorithm == GUMBEL:
        action = gumbel.choose_action(root, nodes, settings)
        gumbel.write_improved_policy(root, nodes, settings)
    else:
        action = puct.choose_action(root, nodes, settings, rng)
        puct.write_visit_policy(nodes, root.policy)
    return action


@kernel
def results(tree, settings, rngs, actions, values, first, last):
    """Read finished searches: action and value (mover's view); policies stay in the roots."""
    for b in range(first, last):
        nodes = tree.nodes[b]
        actions[b] = decide(tree.roots[b], nodes, settings, rngs[b])
        values[b] = nodes[0].sign * node_value(nodes[0])
