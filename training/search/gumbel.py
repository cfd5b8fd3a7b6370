"""Gumbel AlphaZero: which action to simulate, which to play, and what the policy learns.

Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel" (ICLR
2022): Gumbel-top-k with sequential halving at the root (algorithm 2), completed Q-values as
an improved policy (section 4 and appendix D), deterministic selection below the root
(section 5). On the same inputs it agrees with DeepMind's `mctx`, see
``tests/training/test_search_against_mctx.py``.
"""

import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.mathematics import exp
from ludarium.envs.engine.rule import compiled

from .tree import NO_EDGE, NO_NODE, is_settled, node_value

_TINY = np.float32(1.1754944e-38)
_NEVER = np.float32(-np.inf)


@compiled
def write_schedule(considered, simulations, out):
    """Sequential halving as a schedule: the visit count an action must have to be simulated.

    Entry ``s`` of ``out`` is the count for simulation ``s``: of the ``considered`` actions with as
    many visits, the best one is next. The budget is shared equally between about log2(considered)
    phases, and each phase keeps the better half of its actions (Karnin, Koren and Somekh, "Almost
    Optimal Exploration in Multi-Armed Bandits", 2013). So all that are left have equally many
    visits after each pass over them.
    """
    if considered <= 1:
        for simulation in range(simulations):
            out[simulation] = simulation
        return
    phases = 1  # ceil(log2(considered))
    while 1 << phases < considered:
        phases += 1
    survivors = considered
    visits = 0
    simulation = 0
    while simulation < simulations:
        # A phase gives each survivor floor(simulations / (phases * survivors)) visits, one at
        # least; then the better half goes on, two at least.
        for _ in range(max(1, simulations // (phases * survivors))):
            end = min(simulation + survivors, simulations)
            while simulation < end:
                out[simulation] = visits
                simulation += 1
            visits += 1
        survivors = max(2, survivors // 2)


def sequence_of_considered_visits(considered: int, simulations: int) -> list[int]:
    """The schedule of `write_schedule` as a list."""
    schedule = np.zeros(simulations, np.int32)
    # In plain Python, because compiling it would take far longer.
    write_schedule(considered, simulations, schedule)
    return schedule.tolist()


def write_considered_visits(settings: SearchSettings, out: np.ndarray) -> None:
    """Write the schedules of a search, one for each number of considered actions.

    ``out`` int32[max_considered + 1, simulations] may be larger on both axes.
    """
    for considered in range(settings.max_considered + 1):
        row = sequence_of_considered_visits(considered, settings.simulations)
        out[considered, : settings.simulations] = row


@compiled
def list_visited(root, nodes, edges, node, at_root):
    """Write a node's edges with visits into ``root.visited``; return how many there are.

    Pruned edges are left out. For those without visits, ``root.unvisited_prior`` gets the sum of
    the priors, and ``root.best_unvisited`` the edge with the largest prior, or if ``at_root`` the
    largest sum of noise and logit; NO_EDGE if there is none.
    """
    visited = 0
    best_unvisited = NO_EDGE
    largest = _NEVER
    rest = np.float32(0)
    for edge in range(node.first, node.end):
        if edges[edge].pruned:
            continue
        child = edges[edge].child
        if child != NO_NODE and nodes[child].visits > 0:  # a new, waiting leaf has no value yet
            root.visited[visited] = edge
            visited += 1
            continue
        prior = edges[edge].prior
        rest += max(prior, _TINY)
        score = root.noise[edges[edge].action] + edges[edge].logit if at_root else prior
        if best_unvisited == NO_EDGE or score > largest:
            best_unvisited = edge
            largest = score
    root.best_unvisited = best_unvisited
    root.unvisited_prior = rest
    return visited


@compiled
def complete_values(root, nodes, edges, settings, number, visited):
    """Find the completed Q-values of a node's edges; ``visited`` of them have visits.

    ``root.values`` gets those of the edges in ``root.visited``, in the same order. The others have
    the mixed value (equation 33): the mean of the network's value and the prior-weighted mean of
    the visited edges' Q-values, weighted with 1 and with the sum of their visits.

    Returns:
        The mixed value; the lowest and the highest Q-value of the visited edges, inf and -inf if
        there are none; the most visits of an edge.
    """
    node = nodes[number]
    visited_prior = np.float32(0)
    visited_value = np.float32(0)
    sum_visits = 0
    max_visits = 0
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    for index in range(visited):
        edge = root.visited[index]
        child = nodes[edges[edge].child]
        value = node.sign * node_value(child, settings)
        prior = max(edges[edge].prior, _TINY)
        visited_prior += prior
        visited_value += prior * value
        sum_visits += child.visits
        max_visits = max(max_visits, child.visits)
        low = min(low, value)
        high = max(high, value)
        root.values[index] = value
    # v_mix = (v + sum_b N(b) * (sum_b p(b) q(b) / sum_b p(b))) / (1 + sum_b N(b)), equation 33
    mixed = node.sign * node.raw_value
    if visited > 0:
        mean = visited_value / visited_prior
        mixed = (mixed + sum_visits * mean) / np.float32(sum_visits + 1)
    return mixed, low, high, max_visits


@compiled
def sigma_scale(settings, max_visits):
    """The factor of sigma (equation 8) if the most visited edge has ``max_visits``."""
    return np.float32((settings.maxvisit_init + max_visits) * settings.value_scale)


@compiled
def transform_values(root, nodes, edges, settings, number, visited):
    """Find sigma(completed Q) of a node's edges: ``root.values`` gets that of the visited ones.

    Returns:
        sigma of the mixed value.
    """
    mixed, low, high, max_visits = complete_values(root, nodes, edges, settings, number, visited)
    if visited < len(root.policy):
        # As in mctx, an illegal action counts as an unvisited one for the range of values.
        low = min(low, mixed)
        high = max(high, mixed)
    # sigma(q) = (c_visit + max_b N(b)) c_scale q, equation 8; q is rescaled to [0, 1] if asked for.
    scale = sigma_scale(settings, max_visits)
    base = np.float32(0)
    if settings.rescale_values:
        base = low
        scale /= max(high - low, np.float32(1e-8))
    for index in range(visited):
        root.values[index] = scale * (root.values[index] - base)
    return scale * (mixed - base)


@compiled
def improve(root, nodes, edges, settings, number):
    """Find softmax(logits + sigma(completed Q)) of a node's edges, the pruned ones left out.

    This is the prior times exp(sigma(completed Q)), normalised; unvisited edges share one
    exponential. The results of visited edges are left in ``root.values``; see also `list_visited`.

    Returns:
        How many edges were visited, and the factor of the others' priors.
    """
    visited = list_visited(root, nodes, edges, nodes[number], False)
    mixed = transform_values(root, nodes, edges, settings, number, visited)
    # pi'(a) = p(a) exp(sigma(a)) / sum_b p(b) exp(sigma(b)); the largest sigma is taken off first,
    # so that no exponential overflows.
    best = _NEVER if root.best_unvisited == NO_EDGE else mixed
    for index in range(visited):
        best = max(best, root.values[index])
    factor = np.float32(0)
    if root.best_unvisited != NO_EDGE:
        factor = np.float32(exp(mixed - best))
    total = root.unvisited_prior * factor
    for index in range(visited):
        gain = np.float32(exp(root.values[index] - best))
        root.values[index] = max(edges[root.visited[index]].prior, _TINY) * gain
        total += root.values[index]
    for index in range(visited):
        root.values[index] /= total
    return visited, factor / total


@compiled
def write_improved_policy(root, nodes, edges, settings):
    """Write the root's improved policy into ``root.policy``; 0 for pruned actions."""
    visited, factor = improve(root, nodes, edges, settings, 0)
    node = nodes[0]
    for action in range(len(root.policy)):
        root.policy[action] = 0
    for edge in range(node.first, node.end):
        if not edges[edge].pruned:
            root.policy[edges[edge].action] = max(edges[edge].prior, _TINY) * factor
    for index in range(visited):
        root.policy[edges[root.visited[index]].action] = root.values[index]


@compiled
def choose_at_root(root, nodes, edges, settings, considered_visits):
    """Best root edge by noise + logit + sigma(completed Q), at a given visit count.

    If no edge has that many visits (some are pruned, so the schedule runs ahead), the least
    visited ones count.
    """
    visited = list_visited(root, nodes, edges, nodes[0], True)
    has_wanted = False
    least = -1
    for index in range(visited):
        visits = nodes[edges[root.visited[index]].child].visits
        has_wanted = has_wanted or visits == considered_visits
        if least < 0 or visits < least:
            least = visits
    if root.best_unvisited != NO_EDGE and not has_wanted:  # the least visited have none
        return root.best_unvisited  # edges without visits all have the same value
    # argmax of g(a) + logits(a) + sigma(q(a)) among the equally visited, algorithm 2
    transform_values(root, nodes, edges, settings, 0, visited)
    best_edge = NO_EDGE
    best_score = _NEVER
    wanted = considered_visits if has_wanted else least
    for index in range(visited):
        edge = root.visited[index]
        score = root.noise[edges[edge].action] + edges[edge].logit + root.values[index]
        if nodes[edges[edge].child].visits == wanted and (
            best_edge == NO_EDGE or score > best_score
        ):
            best_edge = edge
            best_score = score
    return best_edge


@compiled
def select_root(root, nodes, edges, settings, considered_visits):
    """Select the root edge to simulate next, by sequential halving."""
    considered = min(settings.max_considered, nodes[0].end - nodes[0].first)
    visits = considered_visits[considered, root.simulation]
    return choose_at_root(root, nodes, edges, settings, visits)


@compiled
def select_inside(root, nodes, edges, settings, number):
    """Select the edge below the root whose visits lag most behind the improved policy (eq. 14).

    Pruned and settled edges are left out.
    """
    visited, factor = improve(root, nodes, edges, settings, number)
    sum_visits = 0
    for index in range(visited):
        sum_visits += nodes[edges[root.visited[index]].child].visits
    # argmax of pi'(a) - N(a) / (1 + sum_b N(b)), equation 14. Unvisited edges all have the same
    # factor, so the one with the largest prior stands for them; ties go to the first edge.
    share = np.float32(1) / np.float32(1 + sum_visits)
    best_edge = root.best_unvisited
    best_score = _NEVER
    if best_edge != NO_EDGE:
        best_score = max(edges[best_edge].prior, _TINY) * factor
    for index in range(visited):
        edge = root.visited[index]
        child = nodes[edges[edge].child]
        if is_settled(child, settings):
            continue
        score = root.values[index] - share * child.visits
        first = edge < best_edge
        if best_edge == NO_EDGE or score > best_score or (first and score == best_score):
            best_edge = edge
            best_score = score
    return best_edge


@compiled
def choose_edge(root, nodes, edges, settings):
    """The edge to play: the best of the most visited ones, with the root noise.

    A greedy search leaves out the noise here, where it makes play vary, but not before: the
    actions that are tried must vary, so that actions with a low prior are searched too.
    """
    node = nodes[0]
    if root.greedy:
        for action in range(len(root.noise)):
            root.noise[action] = 0
    most = 0
    for edge in range(node.first, node.end):
        child = edges[edge].child
        if child != NO_NODE and not edges[edge].pruned:
            most = max(most, nodes[child].visits)
    return choose_at_root(root, nodes, edges, settings, most)
