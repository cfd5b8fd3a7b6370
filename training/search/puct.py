"""PUCT: the selection rule of AlphaZero, with Dirichlet noise at the root.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play" (Science 2018), supplement. An action not visited yet is taken to be worth
what the network says of the node.
"""

import math

import numpy as np

from ludarium.envs.engine.rule import random_bits, rule

from .proof import is_open
from .tree import NO_NODE, is_proven, node_value, sign

_UNIFORM = 1.0 / 4294967296.0


@rule
def select(tree, settings, b, node):
    """The open action with the largest Q + c_puct * prior * sqrt(visits) / (1 + visits)."""
    num_actions = tree.children.shape[2]
    priors = tree.scratch[b, 1]
    best_logit = np.float32(-np.inf)
    for action in range(num_actions):
        best_logit = max(best_logit, tree.logits[b, node, action])
    total = np.float32(0)
    for action in range(num_actions):
        priors[action] = math.exp(tree.logits[b, node, action] - best_logit)
        total += priors[action]
    view = sign(tree.states[b, node].mover)
    explore = np.float32(settings.c_puct * math.sqrt(tree.visits[b, node]))
    best_action = -1
    best_score = np.float32(-np.inf)
    for action in range(num_actions):
        if not is_open(tree, b, node, action):
            continue
        prior = priors[action] / total
        if node == 0:
            prior += np.float32(settings.noise) * (tree.noise[b, action] - prior)
        child = tree.children[b, node, action]
        value = view * tree.raw_value[b, node]
        visits = 0
        if child != NO_NODE:
            if is_proven(tree, b, child):
                continue
            value = view * node_value(tree, b, child)
            visits = tree.visits[b, child]
        score = value + explore * prior / np.float32(1 + visits)
        if best_action < 0 or score > best_score:
            best_action = action
            best_score = score
    return best_action


@rule
def write_visit_policy(tree, settings, b, out):
    """Write the open root actions' shares of the visits into ``out`` [A].

    Of a proven root, all actions that keep its value share equally.
    """
    total = np.float32(0)
    proven = is_proven(tree, b, 0)
    for action in range(tree.children.shape[2]):
        out[action] = 0
        child = tree.children[b, 0, action]
        if child != NO_NODE and is_open(tree, b, 0, action):
            out[action] = 1 if proven else tree.visits[b, child]
        total += out[action]
    for action in range(tree.children.shape[2]):
        out[action] /= total


@rule
def choose_action(tree, settings, b, rng):
    """Draw from the visit counts to the power 1/temperature; 0 takes the most visited."""
    num_actions = tree.children.shape[2]
    weights = tree.scratch[b, 1]
    write_visit_policy(tree, settings, b, weights)
    best = 0
    for action in range(num_actions):
        if weights[action] > weights[best]:
            best = action
    if settings.temperature <= 0:
        return best
    total = np.float32(0)
    top = weights[best]
    for action in range(num_actions):
        if weights[action] > 0:
            weights[action] = math.pow(weights[action] / top, 1 / settings.temperature)
        total += weights[action]
    mark = np.float32(random_bits(rng) * _UNIFORM) * total
    for action in range(num_actions):
        mark -= weights[action]
        if mark < 0 and weights[action] > 0:
            return action
    return best


@rule
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
