"""PUCT: the selection rule of AlphaZero, with Dirichlet noise at the root.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play" (Science 2018), supplement, with a constant exploration rate, ``c_puct``. The
Q-value of an unvisited action is the network's value of the node.

When many leaves of one tree wait for the network at the same time, a pending visit counts in the
exploration term but not in the Q-value (Liu et al., "Watch the Unobserved: A Simple
Approach to Parallelizing Monte Carlo Tree Search", ICLR 2020).
"""

import math

import numpy as np

from ludarium.envs.engine.mathematics import exp, log
from ludarium.envs.engine.rule import compiled, random_bits

from .tree import NO_EDGE, NO_NODE, is_settled, node_value

_UNIFORM = 1.0 / 4294967296.0
_TINY = np.float32(1.1754944e-38)


@compiled
def select(root, nodes, edges, settings, number):
    """The edge of largest Q + c_puct * prior * sqrt(node visits) / (1 + visits).

    Pruned edges are left out, and settled ones, where a search would find nothing more.
    """
    node = nodes[number]
    explore = np.float32(settings.c_puct * math.sqrt(node.visits + node.pending))
    best_edge = NO_EDGE
    best_score = np.float32(-np.inf)
    for edge in range(node.first, node.end):
        if edges[edge].pruned:
            continue
        # P(s, a), at the root mixed with noise: (1 - eps) p + eps eta.
        prior = edges[edge].prior
        if number == 0:
            prior += np.float32(settings.noise) * (root.noise[edges[edge].action] - prior)
        # Q(s, a) in the mover's view; of an unvisited action the network's value of the node.
        child = edges[edge].child
        value = node.sign * node.raw_value
        visits = 0
        if child != NO_NODE:
            if is_settled(nodes[child], settings):
                continue
            visits = nodes[child].visits
            if visits > 0:
                value = node.sign * node_value(nodes[child], settings)
            visits += nodes[child].pending
        # Q(s, a) + c_puct P(s, a) sqrt(N(s)) / (1 + N(s, a))
        score = value + explore * prior / np.float32(1 + visits)
        if best_edge == NO_EDGE or score > best_score:
            best_edge = edge
            best_score = score
    return best_edge


@compiled
def write_visit_policy(nodes, edges, settings, out):
    """Write the root actions' shares of the visits into ``out`` [A]; 0 for pruned ones.

    In a settled root, all actions that are proven to keep its value have equal shares. If no
    visited action is left, the priors of the others count.
    """
    node = nodes[0]
    for action in range(len(out)):
        out[action] = 0
    # pi(a) = N(s, a) / sum_b N(s, b)
    total = np.float32(0)
    for edge in range(node.first, node.end):
        child = edges[edge].child
        if child != NO_NODE and not edges[edge].pruned:
            visits = nodes[child].visits
            out[edges[edge].action] = 1 if is_settled(node, settings) else visits
            total += out[edges[edge].action]
    if total == 0:
        for edge in range(node.first, node.end):
            if not edges[edge].pruned:
                out[edges[edge].action] = max(edges[edge].prior, _TINY)
                total += out[edges[edge].action]
    for edge in range(node.first, node.end):
        out[edges[edge].action] /= total


@compiled
def choose_edge(root, nodes, edges, settings, rng):
    """Draw a root edge by its share in `write_visit_policy`, to the power 1/temperature.

    At temperature 0, and in a greedy search, take the edge of the largest share.
    """
    node = nodes[0]
    write_visit_policy(nodes, edges, settings, root.policy)
    best = 0
    for edge in range(node.first, node.end):
        if root.policy[edges[edge].action] > root.policy[edges[best].action]:
            best = edge
    if root.greedy or settings.temperature <= 0:
        return best
    # Inverse transform sampling of pi(a)^(1/T): the first edge at which the running sum of the
    # weights passes u times their total. Weights are relative to the largest, so none overflows.
    top = root.policy[edges[best].action]
    total = np.float32(0)
    for edge in range(node.first, node.end):
        root.values[edge] = tempered(root.policy[edges[edge].action] / top, settings)
        total += root.values[edge]
    mark = np.float32(random_bits(rng) * _UNIFORM) * total
    for edge in range(node.first, node.end):
        mark -= root.values[edge]
        if mark < 0 and root.values[edge] > 0:
            return edge
    return best


@compiled
def tempered(weight, settings):
    """A weight to the power 1/temperature; 0 stays 0."""
    return exp(log(weight) / settings.temperature)


@compiled
def gamma(alpha, rng):
    """Draw from the Gamma distribution (Marsaglia and Tsang, 2000)."""
    boost = 1.0
    if alpha < 1:  # Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha)
        boost = exp(log((random_bits(rng) + 0.5) * _UNIFORM) / alpha)
        alpha += 1
    d = alpha - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:  # d v is Gamma(alpha) if log u < x^2/2 + d - d v + d log v, v = (1 + c x)^3
        normal = standard_normal(rng)
        v = 1 + c * normal
        if v > 0:
            v = v * v * v
            u = (random_bits(rng) + 0.5) * _UNIFORM
            if log(u) < 0.5 * normal * normal + d - d * v + d * log(v):
                return boost * d * v


@compiled
def standard_normal(rng):
    """Draw from the normal distribution (Marsaglia and Bray's polar method, 1964)."""
    while True:
        x = (random_bits(rng) + 0.5) * (2 * _UNIFORM) - 1
        y = (random_bits(rng) + 0.5) * (2 * _UNIFORM) - 1
        # A point in the unit disc at radius r gives x sqrt(-2 log(r^2) / r^2).
        square = x * x + y * y
        if square < 1:  # never 0: x and y are odd multiples of 2**-32
            return x * math.sqrt(-2 * log(square) / square)
