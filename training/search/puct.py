"""PUCT: the selection rule of AlphaZero, with Dirichlet noise at the root.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play" (Science 2018), supplement. An action not visited yet is taken to be worth
what the network says of the node.
"""

import math

import numpy as np

from ludarium.envs.engine.rule import compiled, random_bits

from .tree import NO_NODE, is_proven, node_value

_UNIFORM = 1.0 / 4294967296.0
_TINY = np.float32(1.1754944e-38)


@compiled
def select(root, nodes, settings, number):
    """The open action with the largest Q + c_puct * prior * sqrt(visits) / (1 + visits)."""
    node = nodes[number]
    explore = np.float32(settings.c_puct * math.sqrt(node.visits))
    best_action = -1
    best_score = np.float32(-np.inf)
    for action in range(len(node.children)):
        if not node.open[action]:
            continue
        prior = node.priors[action]
        if number == 0:
            prior += np.float32(settings.noise) * (root.noise[action] - prior)
        child = node.children[action]
        value = node.sign * node.raw_value
        visits = 0
        if child != NO_NODE:
            if is_proven(nodes[child]):
                continue
            value = node.sign * node_value(nodes[child])
            visits = nodes[child].visits
        score = value + explore * prior / np.float32(1 + visits)
        if best_action < 0 or score > best_score:
            best_action = action
            best_score = score
    return best_action


@compiled
def write_visit_policy(nodes, out):
    """Write the open root actions' shares of the visits into ``out`` [A].

    Of a proven root, all actions that keep its value share equally. Where all actions that were
    visited are closed, because they are proven to be worse, the priors of the others count.
    """
    node = nodes[0]
    total = np.float32(0)
    for action in range(len(node.children)):
        out[action] = 0
        child = node.children[action]
        if child != NO_NODE and node.open[action]:
            out[action] = 1 if is_proven(node) else nodes[child].visits
        total += out[action]
    if total == 0:
        for action in range(len(node.children)):
            if node.open[action]:
                out[action] = max(node.priors[action], _TINY)
            total += out[action]
    for action in range(len(node.children)):
        out[action] /= total


@compiled
def choose_action(root, nodes, settings, rng):
    """Draw from the visit counts to the power 1/temperature; 0 takes the most visited.

    So does a greedy search.
    """
    weights = root.policy
    write_visit_policy(nodes, weights)
    best = 0
    for action in range(len(weights)):
        if weights[action] > weights[best]:
            best = action
    if root.greedy or settings.temperature <= 0:
        return best
    total = np.float32(0)
    top = weights[best]
    for action in range(len(weights)):
        if weights[action] > 0:
            weights[action] = math.pow(weights[action] / top, 1 / settings.temperature)
        total += weights[action]
    mark = np.float32(random_bits(rng) * _UNIFORM) * total
    for action in range(len(weights)):
        mark -= weights[action]
        if mark < 0 and weights[action] > 0:
            return action
    return best


@compiled
def gamma(alpha, rng):
    """A draw from the Gamma distribution (Marsaglia and Tsang, 2000)."""
    boost = 1.0
    if alpha < 1:
        boost = math.pow((random_bits(rng) + 0.5) * _UNIFORM, 1 / alpha)
        alpha += 1
    d = alpha - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        radius = math.sqrt(-2 * math.log((random_bits(rng) + 0.5) * _UNIFORM))
        normal = radius * math.cos(2 * math.pi * random_bits(rng) * _UNIFORM)
        v = 1 + c * normal
        if v > 0:
            v = v * v * v
            u = (random_bits(rng) + 0.5) * _UNIFORM
            if math.log(u) < 0.5 * normal * normal + d - d * v + d * math.log(v):
                return boost * d * v
