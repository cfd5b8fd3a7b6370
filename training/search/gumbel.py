"""Gumbel AlphaZero: which action to simulate, which to play, and what the policy learns.

Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel" (ICLR
2022): Gumbel-top-k with sequential halving at the root (algorithm 2), completed Q-values as
an improved policy (section 4 and appendix D), deterministic selection below the root
(section 5). On the same inputs it agrees with DeepMind's `mctx`, see
``tests/training/test_search_against_mctx.py``.
"""

import math

import numpy as np

from ludarium.envs.engine.rule import compiled

from .settings import SearchSettings
from .tree import NO_NODE, is_proven, node_value

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


def write_considered_visits(settings: SearchSettings, out: np.ndarray) -> None:
    """Write the schedules of full and of fast searches, for every number of actions.

    ``out`` int32[2, max_considered + 1, simulations] may have room for more simulations.
    """
    for kind, simulations in enumerate((settings.simulations, settings.fast_simulations)):
        for considered in range(settings.max_considered + 1):
            sequence = sequence_of_considered_visits(considered, simulations)
            out[kind, considered, :simulations] = sequence


@compiled
def write_completed_values(nodes, settings, number, out):
    """Write sigma(completed Q) of every open action into ``out`` [A]; others get 0.

    An action not visited has the mixed value (equation 33): of the network's value and the
    policy-weighted mean of the visited actions' Q-values. Returns sigma of the mixed value.
    """
    node = nodes[number]
    num_actions = len(node.children)
    visited_prior = np.float32(0)
    visited_value = np.float32(0)
    sum_visits = 0
    max_visits = 0
    num_visited = 0
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    for action in range(num_actions):
        out[action] = 0
        child = node.children[action]
        if child != NO_NODE and node.open[action]:
            value = node.sign * node_value(nodes[child])
            prior = max(node.priors[action], _TINY)
            visits = nodes[child].visits
            visited_prior += prior
            visited_value += prior * value
            sum_visits += visits
            max_visits = max(max_visits, visits)
            num_visited += 1
            low = min(low, value)
            high = max(high, value)
            out[action] = value
    mixed = node.sign * node.raw_value
    if num_visited > 0:
        mean = visited_value / visited_prior
        mixed = (mixed + sum_visits * mean) / np.float32(sum_visits + 1)
    if num_visited < num_actions:
        # As in mctx, an illegal action counts as an unvisited one for the range of values.
        low = min(low, mixed)
        high = max(high, mixed)
    scale = np.float32((settings.maxvisit_init + max_visits) * settings.value_scale)
    base = np.float32(0)
    if settings.rescale_values:
        base = low
        scale /= max(high - low, np.float32(1e-8))
    mixed = scale * (mixed - base)
    for action in range(num_actions):
        if node.open[action]:
            if node.children[action] == NO_NODE:
                out[action] = mixed
            else:
                out[action] = scale * (out[action] - base)
    return mixed


@compiled
def write_improved_policy(nodes, settings, number, out):
    """Write softmax(logits + sigma(completed Q)) of the open actions into ``out`` [A].

    That is the prior times exp(sigma(completed Q)), normalised; the actions not visited share
    one exponential.
    """
    mixed = write_completed_values(nodes, settings, number, out)
    node = nodes[number]
    num_actions = len(node.children)
    best = _NEVER
    for action in range(num_actions):
        if node.open[action]:
            best = max(best, out[action])
    unvisited = np.float32(math.exp(min(mixed - best, np.float32(0))))
    total = np.float32(0)
    for action in range(num_actions):
        if node.open[action]:
            gain = unvisited
            if node.children[action] != NO_NODE:
                gain = np.float32(math.exp(out[action] - best))
            out[action] = max(node.priors[action], _TINY) * gain
            total += out[action]
    for action in range(num_actions):
        out[action] /= total


@compiled
def choose_at_root(root, nodes, settings, considered_visits):
    """Best open root action by noise + logit + sigma(completed Q), at a given visit count.

    When no action has that many visits (some are closed, so the schedule runs ahead), the
    least visited ones count.
    """
    write_completed_values(nodes, settings, 0, root.values)
    node = nodes[0]
    wanted = -1
    for action in range(len(node.children)):
        if node.open[action]:
            child = node.children[action]
            visits = nodes[child].visits if child != NO_NODE else 0
            if visits == considered_visits:
                wanted = visits
                break
            if wanted < 0 or visits < wanted:
                wanted = visits
    best_action = -1
    best_score = _NEVER
    for action in range(len(node.children)):
        if node.open[action]:
            child = node.children[action]
            visits = nodes[child].visits if child != NO_NODE else 0
            score = root.noise[action] + node.logits[action] + root.values[action]
            if visits == wanted and (best_action < 0 or score > best_score):
                best_action = action
                best_score = score
    return best_action


@compiled
def select_root(root, nodes, settings, considered_visits):
    """The root action to simulate next, by sequential halving."""
    considered = min(settings.max_considered, root.legal)
    visits = considered_visits[root.fast, considered, root.simulation]
    return choose_at_root(root, nodes, settings, visits)


@compiled
def select_inside(root, nodes, settings, number):
    """The action below the root whose visits lag most behind the improved policy (eq. 14)."""
    write_improved_policy(nodes, settings, number, root.policy)
    node = nodes[number]
    sum_visits = 0
    for action in range(len(node.children)):
        child = node.children[action]
        if child != NO_NODE and node.open[action]:
            sum_visits += nodes[child].visits
    share = np.float32(1) / np.float32(1 + sum_visits)
    best_action = -1
    best_score = _NEVER
    for action in range(len(node.children)):
        if not node.open[action]:
            continue
        child = node.children[action]
        score = root.policy[action]
        if child != NO_NODE:
            if is_proven(nodes[child]):
                continue
            score -= share * nodes[child].visits
        if best_action < 0 or score > best_score:
            best_action = action
            best_score = score
    return best_action


@compiled
def choose_action(root, nodes, settings):
    """The action to play: the best of the most visited open ones, with the root noise.

    A greedy search leaves out the noise here, where it makes play vary, but not before: which
    actions are tried must vary all the same, or those that the network thinks little of would
    never be seen to be good.
    """
    node = nodes[0]
    if root.greedy:
        for action in range(len(root.noise)):
            root.noise[action] = 0
    most = 0
    for action in range(len(node.children)):
        child = node.children[action]
        if child != NO_NODE and node.open[action]:
            most = max(most, nodes[child].visits)
    return choose_at_root(root, nodes, settings, most)
