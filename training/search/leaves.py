"""One tree with many leaves that wait for the network at the same time.

Template functions (see ``ludarium.envs.engine.compile``) beside those of `simulate`, which run the
simulations. Two simulations under way at the same time would often end in the same leaf.
So a waiting leaf increments ``pending`` along its path, and `puct` counts it as a visit
whose value is not known yet. A simulation that ends in a waiting leaf even so (a collision)
increments ``pending`` too, so that the next one is likelier to go elsewhere, but is not counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.rule import DRAW
from ludarium.machine.marks import kernel, part
from ludarium.models.evaluation import Evaluation

from .cache import NO_SLOT, lookup, new_cache, store, stored
from .settings import settings_record
from .simulate import expand, expand_leaf, keep_root, show, simulate, start_search, write_evaluation
from .tree import NO_NODE, OneSearch, is_over, is_proven, is_settled, new_tree, node_value
from .value import root_value

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

NEEDS_CODE = True  # see `specialise`
rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "tree search"


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    planes = np.zeros((2, *game.planes_shape), np.float32)
    tree = new_tree(game, 1, SearchSettings(simulations=1))
    cache = new_cache(planes, game.num_actions, 0)
    search = OneSearch(tree.roots, tree.nodes[0], tree.edges[0], tree.states[0])
    settings, rngs = settings_record(SearchSettings(), game), np.zeros((1, 2), np.int64)
    evaluation, visits = Evaluation.empty(2, game.num_actions), np.zeros((1, 1), np.int32)
    numbers, tables = visits[0], game.tables
    yield "show_root", (tables, search, cache, planes, False, True)
    yield "open_root", (tables, search, settings, rngs, evaluation)
    yield "gather", (tables, search, cache, settings, visits, planes, numbers, numbers, 0)
    yield "receive", (tables, search, cache, settings, numbers, numbers, evaluation)
    yield "keep_subtree", (tables, search, settings, rngs, 0, numbers)
    row, flags = evaluation.logits[0], np.zeros(game.num_actions, np.bool_)
    result = np.zeros(1, np.int64), row, row, row, numbers, row, row, row, flags
    yield "read_root", (search, settings, 0.0, np.zeros((2, 2)), *result)
    yield "rank_edges", (search, settings, numbers)
    yield "write_line", (search, settings, 0, numbers)


_ATTEMPTS = 4  # simulations per call, for each leaf that may wait
_SEEN = 0.15  # the bound of an action counts from this share of the most visits on
_LEAST_VARIANCE = 1e-4  # least variance of an action's values


@part
def add_pending(nodes, leaf, count):
    """Add ``count`` to the pending simulations of a node and of all above it."""
    number = leaf
    while number != NO_NODE:
        nodes[number].pending += count
        number = nodes[number].parent


@kernel
def show_root(tables, search, cache, planes, canonical, is_new):
    """Write the root's observation to row 0 of ``planes``, and let the root wait for the answer.

    ``is_new`` begins a tree with the position in ``states[0]``; else the root is a kept node
    without an evaluation. Simulations are counted from 0.
    """
    root = search.roots[0]
    if is_new:
        start_search(tables[0], search, canonical)
    root.waiting = 0
    root.simulation = 0
    show(tables[0], root, search.states[0], cache, planes, 0)


@kernel
def open_root(tables, search, settings_array, rngs, evaluation):
    """Expand the root with row 0 of an `Evaluation`, as `simulate.expand` does."""
    logits, wdl, score = evaluation
    expand(tables[0], search, settings_array[0], rngs[0], logits[0], wdl[0], score[0])


@kernel
def gather(
    tables, search, cache, settings_array, considered_visits, planes, leaves, blocked, limit
):
    """Run simulations until ``leaves`` is full of waiting leaves; show these.

    This ends earlier at ``limit``, in a settled root, if ``blocked`` is full, or after `_ATTEMPTS`
    simulations for each entry of ``leaves``.

    Args:
        tables: the game's tables.
        search: a `OneSearch` with an evaluated root.
        cache: answers by observation; ``cache.words`` is a view of ``planes``.
        settings_array: structured [1], see `settings.SETTINGS`; the algorithm is PUCT.
        considered_visits: not used by PUCT.
        planes: float32 [n or more, planes, cells], receives the observations of the leaves.
        leaves: int32 [n], receives the numbers of the leaves.
        blocked: int32 [m], receives waiting leaves in which other simulations ended.
        limit: this ends when the tree's simulations and the leaves that wait here are so many.

    Returns:
        How many leaves wait, and how many simulations were blocked.
    """
    table, settings = tables[0], settings_array[0]
    root, nodes, states = search.roots[0], search.nodes, search.states
    waiting = 0
    collisions = 0
    for _ in range(_ATTEMPTS * len(leaves)):
        if waiting == len(leaves) or collisions == len(blocked):
            break
        if root.simulation + waiting >= limit or is_settled(nodes[0], settings):
            break
        leaf = simulate(table, search, settings, considered_visits)
        if leaf == NO_NODE:
            continue
        # A collision: the leaf waits already. The next simulation is likelier to go elsewhere.
        if nodes[leaf].pending > 0:
            blocked[collisions] = leaf
            collisions += 1
            add_pending(nodes, leaf, 1)
            continue
        # The cache may know the answer; else the leaf waits for the network.
        show(table, root, states[leaf], cache, planes, waiting)
        slot = lookup(cache, waiting)
        if slot != NO_SLOT:
            logits, wdl, score = stored(cache, slot)
            value = write_evaluation(table, search, settings, leaf, logits, wdl, score)
            expand_leaf(search, leaf, value)
            continue
        add_pending(nodes, leaf, 1)
        leaves[waiting] = leaf
        waiting += 1
    return waiting, collisions


@kernel
def receive(tables, search, cache, settings_array, leaves, blocked, evaluation):
    """Expand the leaves that `gather` found; undo the pending visits of these and of blocked ones.

    ``evaluation`` has a row for each of ``leaves``: the answer to what `gather` showed of it.
    """
    nodes = search.nodes
    logits, wdl, score = evaluation
    for index in range(len(leaves)):
        store(cache, index, evaluation, index)
        leaf = leaves[index]
        value = write_evaluation(
            tables[0], search, settings_array[0], leaf, logits[index], wdl[index], score[index]
        )
        expand_leaf(search, leaf, value)
        add_pending(nodes, leaf, -1)
    for index in range(len(blocked)):
        add_pending(nodes, blocked[index], -1)


@kernel
def keep_subtree(tables, search, settings_array, rngs, child, numbers):
    """Make ``child`` the root and drop everything that is not below it. No leaf may wait.

    Nodes come after their parents, and edges in the order of the nodes, so no index increases.
    A root that is evaluated gets new noise. One that is proven because it wins at once gets the
    child that wins, as a new root does.

    Args:
        tables: the game's tables.
        search: a `OneSearch`.
        settings_array: structured [1], see `settings.SETTINGS`.
        rngs: int64 [1, 2], state of the generator of noise.
        child: the number of the node to keep.
        numbers: int32 [nodes in use], scratch space for the new numbers.
    """
    roots, nodes, edges, states = search
    root = roots[0]
    size = 0
    next_edge = 0
    for number in range(root.size):
        numbers[number] = NO_NODE
        is_kept = number == child
        if number > child:
            is_kept = numbers[nodes[number].parent] != NO_NODE
        if not is_kept:
            continue
        # Move the node and its edges forward, to the next free places.
        first, end = nodes[number].first, nodes[number].end
        nodes[size] = nodes[number]
        nodes[size].parent = NO_NODE if number == child else numbers[nodes[number].parent]
        nodes[size].first = next_edge
        for edge in range(first, end):
            edges[next_edge] = edges[edge]
            next_edge += 1
        nodes[size].end = next_edge
        states[size] = states[number]
        numbers[number] = size
        size += 1
    # The children of the edges that are left have new numbers.
    for edge in range(next_edge):
        if edges[edge].child != NO_NODE:
            edges[edge].child = numbers[edges[edge].child]
    root.size = size
    root.edges = next_edge
    root.simulation = max(0, nodes[0].visits - 1)
    if nodes[0].evaluated:
        keep_root(tables[0], search, settings_array[0], rngs[0])


@part
def add_draws(root, nodes, states, sums):
    """Add up the draws of each node's simulations.

    A simulation that the network answered counts the probability of a draw; one that ended in an
    exact value counts 1 if that is a draw. One pass suffices, because nodes come after parents.

    Args:
        root, nodes, states: the search.
        sums: float64 [2, nodes in use], receives the sums, and the visits of the children.
    """
    for number in range(root.size):
        sums[0, number] = sums[1, number] = 0
    for number in range(root.size - 1, -1, -1):
        node = nodes[number]
        # Visits that did not go on to a child: the network's answer, and exact values.
        exact = node.visits - sums[1, number]
        if node.evaluated:
            sums[0, number] += node.draw
            exact -= 1
        if (is_proven(node) and node.lower == 0) or states[number].outcome >= DRAW:
            sums[0, number] += exact
        if number > 0:
            sums[0, node.parent] += sums[0, number]
            sums[1, node.parent] += node.visits


@part
def chance_of_draw(nodes, sums, number):
    """The probability of a draw in a node: known if it is proven, else a mean, see `add_draws`."""
    node = nodes[number]
    if is_proven(node):
        return 1.0 if node.lower == 0 else 0.0
    return sums[0, number] / node.visits


@part
def rank_of(nodes, edges, settings, node, edge):
    """What ranks a node's edge: whether it may be played, visits, value for the mover, prior.

    An edge may be played if it is not pruned, and in a proven node if it is proven to keep the
    value. The value of an edge that was not tried is -2.
    """
    child = edges[edge].child
    playable = not edges[edge].pruned
    if child == NO_NODE:
        return playable and not is_proven(node), 0, np.float32(-2), edges[edge].prior
    if is_proven(node):
        playable = playable and is_proven(nodes[child]) and nodes[child].lower == node.lower
    value = node.sign * node_value(nodes[child], settings)
    return playable, int(nodes[child].visits), value, edges[edge].prior


@part
def best_edge(nodes, edges, settings, node):
    """The edge of a node that ranks first."""
    best = int(node.first)
    for edge in range(node.first + 1, node.end):
        rank = rank_of(nodes, edges, settings, node, edge)
        if rank > rank_of(nodes, edges, settings, node, best):
            best = edge
    return best


@part
def edge_by_bound(nodes, edges, settings, best, lcb):
    """The root edge of the greatest lower confidence bound, as in KataGo; ``best`` if none counts.

    The bound is the value less ``lcb`` standard errors. Edges without a good share of the most
    visits, or with fewer than two, do not count: their errors are hardly known.
    """
    node = nodes[0]
    most = 0
    for edge in range(node.first, node.end):
        playable, visits, _, _ = rank_of(nodes, edges, settings, node, edge)
        most = max(most, visits * playable)
    greatest = -np.inf
    for edge in range(node.first, node.end):
        playable, visits, value, _ = rank_of(nodes, edges, settings, node, edge)
        if playable and visits >= max(2.0, _SEEN * most):
            # Q - lcb sqrt(Var / N), Var = E[v^2] - E[v]^2
            child = nodes[edges[edge].child]
            variance = max(child.value_sq - child.value * child.value, np.float32(_LEAST_VARIANCE))
            bound = np.float64(value) - lcb * math.sqrt(np.float64(variance) / visits)
            if bound > greatest:
                greatest = bound
                best = edge
    return best


@kernel
def read_root(
    search,
    settings_array,
    lcb,
    sums,
    actions,
    values,
    draws,
    policy,
    visits,
    priors,
    action_values,
    action_draws,
    proven_actions,
):
    """Read the result of a search that has an evaluated root, in the mover's view.

    Args:
        search: a `OneSearch`.
        settings_array: structured [1], see `settings.SETTINGS`.
        lcb: how many standard errors below the value the bound is that chooses the action, see
            `edge_by_bound`. With 0, and in a proven root, `best_edge` chooses.
        sums: float64 [2, nodes in use], scratch space of `add_draws`.
        actions, values, draws: [1], receive the action to play, and the root's value and draws.
        policy, visits, priors, action_values, action_draws, proven_actions: [A], receive what is
            known of the actions, see `SearchResult`; those that are unknown stay.
    """
    root, nodes, edges, settings = search.roots[0], search.nodes, search.edges, settings_array[0]
    node = nodes[0]
    add_draws(root, nodes, search.states, sums)
    # The action to play, and the root.
    best = best_edge(nodes, edges, settings, node)
    if lcb > 0 and not is_proven(node):
        best = edge_by_bound(nodes, edges, settings, best, lcb)
    actions[0] = edges[best].action
    values[0] = root_value(root, nodes, edges, settings)
    draws[0] = chance_of_draw(nodes, sums, 0)
    # The policy: shares of the visits of what may be played, equal ones if nothing was visited.
    total = 0
    choices = 0
    for edge in range(node.first, node.end):
        playable, count, _, _ = rank_of(nodes, edges, settings, node, edge)
        total += count * playable
        choices += playable
    for edge in range(node.first, node.end):
        action = edges[edge].action
        playable, count, value, priors[action] = rank_of(nodes, edges, settings, node, edge)
        if playable:
            policy[action] = count / total if total > 0 else 1.0 / choices
        if count > 0:
            child = edges[edge].child
            visits[action] = count
            action_values[action] = value
            action_draws[action] = chance_of_draw(nodes, sums, child)
            proven_actions[action] = is_proven(nodes[child])


@kernel
def rank_edges(search, settings_array, ranked):
    """Write the root's edges into ``ranked``, int32 [at least as many], the best first.

    Returns:
        How many edges there are.
    """
    nodes, edges, settings = search.nodes, search.edges, settings_array[0]
    node = nodes[0]
    for edge in range(node.first, node.end):  # insertion sort
        rank = rank_of(nodes, edges, settings, node, edge)
        place = edge - node.first
        while place > 0 and rank > rank_of(nodes, edges, settings, node, ranked[place - 1]):
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = edge
    return node.end - node.first


@kernel
def write_line(search, settings_array, edge, line):
    """Write the action of an edge and the best play after it into ``line``; return its length."""
    nodes, edges, settings = search.nodes, search.edges, settings_array[0]
    line[0] = edges[edge].action
    length = 1
    number = edges[edge].child
    while number != NO_NODE and not is_over(nodes[number]) and nodes[number].visits > 0:
        edge = best_edge(nodes, edges, settings, nodes[number])
        number = edges[edge].child
        if number != NO_NODE:
            line[length] = edges[edge].action
            length += 1
    return length
