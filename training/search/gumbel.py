"""Gumbel AlphaZero: which action to simulate, which to play, and what the policy learns.

Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel" (ICLR
2022): Gumbel-top-k with sequential halving at the root (algorithm 2), completed Q-values as
an improved policy (section 4 and appendix D), deterministic selection below the root
(section 5). On the same inputs it agrees with DeepMind's `mctx`, see
``tests/training/test_search_against_mctx.py``.
"""

import math

import numpy as np

from ludarium.envs.engine.rule import rule

from .proof import is_open
from .tree import NO_NODE, is_proven, node_value, sign

_TINY = np.float32(1.1754944e-38)
_NEVER = np.float32(-np.inf)


def sequence_of_considered_visits(considered: int, simulations: int) -> list[int]:
    """Sequential halving as a schedule: the visit count an action must have to be simulated.

    Entry ``s`` is for simulation ``s``: of the actions with that many visits, the best one is
    next. The budget is shared equally between about log2(considered) phases, and each phase
    keeps the better half of its actions (Karnin et al. 2013).
    """
    if considered <= 1:
        return list(range(simulations))
    phases = math.ceil(math.log2(considered))
    visits = [0] * considered
    sequence: list[int] = []
    survivors = considered
    while len(sequence) < simulations:
        for _ in range(max(1, int(simulations / (phases * survivors)))):
            sequence.extend(visits[:survivors])
            for rank in range(survivors):
                visits[rank] += 1
        survivors = max(2, survivors // 2)
    return sequence[:simulations]


def table_of_considered_visits(max_considered: int, simulations: int) -> np.ndarray:
    """Schedules for every number of actions, int32[max_considered + 1, simulations]."""
    return np.array(
        [
            sequence_of_considered_visits(considered, simulations)
            for considered in range(max_considered + 1)
        ],
        np.int32,
    ).reshape(max_considered + 1, simulations)


@rule
def write_completed_values(tree, settings, b, node, out):
    """Write sigma(completed Q) of every action into ``out``; return the largest visit count.

    An action not visited has the mixed value (equation 33): the network's value and the
    policy-weighted mean of the visited actions' Q-values. Actions that are not open keep 0.
    """
    view = sign(tree.states[b, node].mover)
    num_actions = tree.children.shape[2]
    best_logit = _NEVER
    for action in range(num_actions):
        if is_open(tree, b, node, action):
            best_logit = max(best_logit, tree.logits[b, node, action])
    total = np.float32(0)
    visited_total = np.float32(0)
    visited_value = np.float32(0)
    sum_visits = 0
    max_visits = 0
    num_visited = 0
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    for action in range(num_actions):
        out[action] = 0
        if not is_open(tree, b, node, action):
            continue
        prior = np.float32(math.exp(tree.logits[b, node, action] - best_logit))
        total += prior
        child = tree.children[b, node, action]
        if child != NO_NODE:
            value = view * node_value(tree, b, child)
            prior = max(prior, _TINY)
            visited_total += prior
            visited_value += prior * value
            sum_visits += tree.visits[b, child]
            max_visits = max(max_visits, tree.visits[b, child])
            num_visited += 1
            low = min(low, value)
            high = max(high, value)
    mixed = view * tree.raw_value[b, node]
    if num_visited > 0:
        mixed = (mixed + sum_visits * (visited_value / visited_total)) / np.float32(sum_visits + 1)
    if num_visited < num_actions:
        # As in mctx, an illegal action counts as an unvisited one for the range of values.
        low = min(low, mixed)
        high = max(high, mixed)
    scale = np.float32((settings.maxvisit_init + max_visits) * settings.value_scale)
    spread = max(high - low, np.float32(1e-8))
    for action in range(num_actions):
        if not is_open(tree, b, node, action):
            continue
        child = tree.children[b, node, action]
        value = mixed
        if child != NO_NODE:
            value = view * node_value(tree, b, child)
        if settings.rescale_values:
            value = (value - low) / spread
        out[action] = scale * value
    return max_visits


@rule
def write_improved_policy(tree, settings, b, node, out):
    """Write softmax(logits + sigma(completed Q)) of the open actions into ``out`` [A]."""
    write_completed_values(tree, settings, b, node, out)
    num_actions = tree.children.shape[2]
    best = _NEVER
    for action in range(num_actions):
        if is_open(tree, b, node, action):
            out[action] += tree.logits[b, node, action]
            best = max(best, out[action])
        else:
            out[action] = _NEVER
    total = np.float32(0)
    for action in range(num_actions):
        if out[action] != _NEVER:
            out[action] = math.exp(out[action] - best)
            total += out[action]
        else:
            out[action] = 0
    for action in range(num_actions):
        out[action] /= total


@rule
def choose_at_root(tree, settings, b, considered_visits):
    """Best open root action by noise + logit + sigma(completed Q), at a given visit count.

    When no action has that many visits (some are settled, so the schedule runs ahead), the
    least visited ones count.
    """
    num_actions = tree.children.shape[2]
    values = tree.scratch[b, 0]
    write_completed_values(tree, settings, b, 0, values)
    fewest = -1
    for action in range(num_actions):
        if is_open(tree, b, 0, action):
            child = tree.children[b, 0, action]
            visits = tree.visits[b, child] if child != NO_NODE else 0
            if visits == considered_visits:
                fewest = visits
                break
            if fewest < 0 or visits < fewest:
                fewest = visits
    best_action = -1
    best_score = _NEVER
    for action in range(num_actions):
        if is_open(tree, b, 0, action):
            child = tree.children[b, 0, action]
            visits = tree.visits[b, child] if child != NO_NODE else 0
            score = tree.noise[b, action] + tree.logits[b, 0, action] + values[action]
            if visits == fewest and (best_action < 0 or score > best_score):
                best_action = action
                best_score = score
    return best_action


@rule
def select_root(tree, settings, b):
    """The root action to simulate next, by sequential halving."""
    considered = min(settings.max_considered, tree.legal_at_root[b])
    return choose_at_root(tree, settings, b, tree.considered_visits[considered, tree.simulation[b]])


@rule
def select_inside(tree, settings, b, node):
    """The action below the root whose visits lag most behind the improved policy (eq. 14)."""
    policy = tree.scratch[b, 1]
    write_improved_policy(tree, settings, b, node, policy)
    num_actions = tree.children.shape[2]
    sum_visits = 0
    for action in range(num_actions):
        child = tree.children[b, node, action]
        if child != NO_NODE and is_open(tree, b, node, action):
            sum_visits += tree.visits[b, child]
    best_action = -1
    best_score = _NEVER
    for action in range(num_actions):
        if not is_open(tree, b, node, action):
            continue
        child = tree.children[b, node, action]
        visits = 0
        if child != NO_NODE:
            if is_proven(tree, b, child):
                continue
            visits = tree.visits[b, child]
        score = policy[action] - visits / np.float32(1 + sum_visits)
        if best_action < 0 or score > best_score:
            best_action = action
            best_score = score
    return best_action


@rule
def choose_action(tree, settings, b):
    """The action to play: the best of the most visited open ones, with the root noise."""
    most = 0
    for action in range(tree.children.shape[2]):
        child = tree.children[b, 0, action]
        if child != NO_NODE and is_open(tree, b, 0, action):
            most = max(most, tree.visits[b, child])
    return choose_at_root(tree, settings, b, most)
