"""The simulation loop: grow each tree until it needs the network, or is done.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.kernels import observe_as
from ludarium.envs.engine.mathematics import exp, log
from ludarium.envs.engine.rule import ONGOING, random_bits, reward
from ludarium.machine.marks import kernel, part
from ludarium.models.evaluation import Evaluation
from ludarium.models.kernels import NONE, answer

from . import gumbel, puct
from .cache import NO_SLOT, lookup, new_cache, set_request, store, stored
from .proof import high_for, low_for, prune_edges, update_bounds
from .settings import GUMBEL, settings_record
from .tree import (
    NO_EDGE,
    NO_NODE,
    back_up,
    is_over,
    is_proven,
    is_settled,
    new_tree,
    node_value,
    search_of,
)
from .value import root_value

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

NEEDS_CODE = True  # see `specialise`
rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "search"


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    planes = np.zeros((1, *game.planes_shape), np.float32)
    tree = new_tree(game, 1, SearchSettings(simulations=1))
    cache = new_cache(planes, game.num_actions, 0)
    settings, rngs = settings_record(SearchSettings(), game), np.zeros((1, 2), np.int64)
    evaluation = Evaluation.empty(1, game.num_actions)
    values, actions = np.zeros((1, 1), np.float32), np.zeros(1, np.int64)
    yield "begin", (game.tables, tree, cache, planes, False, 0, 1)
    given = game.tables, tree, cache, settings, rngs, evaluation, NONE, planes
    yield "advance", (*given, 0, 1, False, 0)
    visits = np.zeros((1, 1), np.int32)
    yield "results", (tree, settings, rngs, actions, values[0], visits, values, 0, 1)


@part
def show(table, root, state, cache, planes, b):
    """Write the observation of search ``b``, the position as its mover sees it, and its hash."""
    observe_as(table, state, int(state.mover), planes[b], root.canonical != 0)
    set_request(cache, b)


@part
def new_node(table, search, number, parent):
    """Add a node for the position in ``states[number]``, not yet evaluated."""
    roots, nodes, edges, states = search
    root = roots[0]
    node, state = nodes[number], states[number]
    node.parent = parent
    node.visits = 0
    node.pending = 0
    node.sign = 1 - 2 * int(state.mover)
    node.value = 0
    node.value_sq = 0
    node.raw_value = 0
    node.lower = -1
    node.upper = 1
    node.evaluated = 0
    # Edges: one for each legal action, in the order of the actions.
    node.first = root.edges
    if state.outcome == ONGOING:
        next_edge = root.edges
        for action in range(len(root.policy)):  # the next action overwrites an illegal one
            edges[next_edge].action = action
            next_edge += int(rules.is_legal(table, state, action))
        for edge in range(root.edges, next_edge):
            edges[edge].child = NO_NODE
            edges[edge].pruned = 0
        root.edges = next_edge
    node.end = root.edges


@part
def start_search(table, search, canonical):
    """Begin a search from the root's position; the root then waits for the network.

    ``canonical`` says in which frame the network sees positions and numbers actions.
    """
    root = search.roots[0]
    root.canonical = canonical
    root.size = 1
    root.edges = 0
    new_node(table, search, 0, NO_NODE)
    root.simulation = 0
    root.evaluations = 0
    root.waiting = 0


@part
def value_of(wdl, score, settings):
    """The mover's value for a search: (1 - w) (win - loss) + w score, w = ``settings.score``."""
    value = wdl[0] - wdl[2]
    if settings.score > 0:
        value += np.float32(settings.score) * (score - value)
    return value


@part
def evaluate_node(node, edges, value):
    """Mark a node as evaluated: compute priors from its edges' logits, and count one visit.

    ``value`` is the network's value in player 0's view.
    """
    # p(a) = exp(l(a) - max l) / sum_b exp(l(b) - max l), over legal actions
    best = np.float32(-np.inf)
    for edge in range(node.first, node.end):
        best = max(best, edges[edge].logit)
    total = np.float32(0)
    for edge in range(node.first, node.end):
        edges[edge].prior = exp(edges[edge].logit - best)
        total += edges[edge].prior
    for edge in range(node.first, node.end):
        edges[edge].prior /= total
    node.evaluated = 1
    node.raw_value = value
    node.value = value
    node.value_sq = value * value
    node.visits = 1


@part
def evaluate_root(search, settings, rng, value):
    """Call `evaluate_node` for the root, draw its noise, and decide whether play is greedy."""
    roots, nodes, edges, states = search
    root = roots[0]
    evaluate_node(nodes[0], edges, value)
    root.waiting = NO_NODE
    root.greedy = states[0].ply >= settings.temperature_plies
    draw_noise(root, nodes[0], edges, settings, rng)


@part
def keep_root(table, search, settings, rng):
    """Draw noise for an evaluated node that has become the root; if it is proven, `add_win`."""
    draw_noise(search.roots[0], search.nodes[0], search.edges, settings, rng)
    if is_proven(search.nodes[0]):
        add_win(table, search, settings)


@part
def draw_noise(root, node, edges, settings, rng):
    """Draw root noise for the legal actions: scaled Gumbel noise, or Dirichlet noise for PUCT.

    If ``settings.noise`` is 0, the search keeps the noise that it was given.
    """
    if settings.noise == 0:
        return
    for action in range(len(root.noise)):
        root.noise[action] = 0
    total = np.float32(0)
    for edge in range(node.first, node.end):
        action = edges[edge].action
        if settings.algorithm == GUMBEL:
            # Gumbel(0): -log(-log(u)), u strictly between 0 and 1
            uniform = (random_bits(rng) + 0.5) / 4294967296.0
            root.noise[action] = -settings.noise * log(-log(uniform))
        else:
            # Dirichlet(alpha): independent Gamma(alpha), divided by their sum
            root.noise[action] = puct.gamma(settings.dirichlet_alpha, rng)
            total += root.noise[action]
    if total > 0:
        for action in range(len(root.noise)):
            root.noise[action] /= total


@part
def write_evaluation(table, search, settings, number, logits, wdl, score):
    """Write a row of an `Evaluation` to a node; return its value in player 0's view."""
    node, edges, state = search.nodes[number], search.edges, search.states[number]
    turns = search.roots[0].canonical != 0 and rules.is_turned(table, state, int(state.mover))
    for edge in range(node.first, node.end):
        action = int(edges[edge].action)
        # A turn is its own inverse: it leads from the board's numbers to the network's too.
        edges[edge].logit = logits[table.turned_actions[action] if turns else action]
    node.draw = wdl[1]
    return value_of(wdl, score, settings) * node.sign


@part
def expand(table, search, settings, rng, logits, wdl, score):
    """Expand the waiting node with a row of an `Evaluation`."""
    root = search.roots[0]
    number = root.waiting
    value = write_evaluation(table, search, settings, number, logits, wdl, score)
    if number == 0:
        evaluate_root(search, settings, rng, value)
        if settings.solver:
            add_win(table, search, settings)
        return
    root.waiting = NO_NODE
    expand_leaf(search, number, value)


@part
def expand_leaf(search, number, value):
    """End a simulation in a node whose edges have logits; ``value`` is in player 0's view."""
    roots, nodes, edges, _ = search
    evaluate_node(nodes[number], edges, value)
    roots[0].simulation += 1
    back_up(nodes, number, value)


@part
def back_up_exact(search, number, value):
    """End a simulation in a node with an exact value, without the network."""
    roots, nodes, _, _ = search
    node = nodes[number]
    node.visits += 1
    node.value = value
    node.value_sq = value * value
    back_up(nodes, number, value)
    roots[0].simulation += 1


@part
def prove_outcome(search, settings, number, outcome):
    """Set the bounds of a node to its exact outcome, in player 0's view, and propagate them.

    This does nothing if ``settings.solver`` is 0.
    """
    _, nodes, edges, _ = search
    if settings.solver:
        nodes[number].lower = outcome
        nodes[number].upper = outcome
        update_bounds(nodes, edges, number, settings)


@part
def end_in_final(table, search, settings, number):
    """End a simulation in a node whose position is finished."""
    state = search.states[number]
    outcome = reward(state.outcome, 0)
    value = np.float32(outcome)
    if settings.score > 0:
        points = np.float32(rules.score(table, state) / settings.max_score)
        value += np.float32(settings.score) * (points - value)
    back_up_exact(search, number, value)
    prove_outcome(search, settings, number, outcome)


@part
def winning_edge(table, search, number):
    """An edge that wins the game at once for a node's mover, or NO_EDGE.

    Trying all edges costs far less than asking the network, which may overlook a win. They are
    tried in the last of the ``states``, which belongs to no node.
    """
    _, nodes, edges, states = search
    node, state, trial = nodes[number], states[number], states[len(states) - 1]
    if not rules.may_end(table, state):
        return NO_EDGE
    mover = int(state.mover)
    for edge in range(node.first, node.end):
        states[len(states) - 1] = state
        rules.step(table, trial, int(edges[edge].action))
        if trial.outcome != ONGOING and reward(trial.outcome, mover) > 0:
            return edge
    return NO_EDGE


@part
def add_win(table, search, settings):
    """Add the child after a root's action that wins the game at once, if there is one."""
    edge = winning_edge(table, search, 0)
    if edge != NO_EDGE and search.edges[edge].child == NO_NODE:
        child = add_child(table, search, 0, edge)
        end_in_final(table, search, settings, child)


@part
def add_child(table, search, number, edge):
    """Add a node for the position after an edge's action; return its number."""
    roots, _, edges, states = search
    root = roots[0]
    child = root.size
    root.size += 1
    edges[edge].child = child
    states[child] = states[number]
    rules.step(table, states[child], int(edges[edge].action))
    new_node(table, search, child, number)
    return child


@part
def select(root, nodes, edges, settings, considered_visits, number):
    """The edge to follow from a node."""
    if settings.algorithm != GUMBEL:
        return puct.select(root, nodes, edges, settings, number)
    if number == 0:
        return gumbel.select_root(root, nodes, edges, settings, considered_visits)
    return gumbel.select_inside(root, nodes, edges, settings, number)


@part
def simulate(table, search, settings, considered_visits):
    """Run a simulation down to a leaf.

    Returns:
        The leaf if it waits for the network: a new one, or one that waits already. NO_NODE if an
        exact value was backed up instead.
    """
    roots, nodes, edges, states = search
    number = 0
    while True:
        # Selection.
        edge = select(roots[0], nodes, edges, settings, considered_visits, number)
        child = edges[edge].child
        if child == NO_NODE:
            # Expansion: a new leaf. Only one that is not exact waits for the network.
            child = add_child(table, search, number, edge)
            if states[child].outcome != ONGOING:
                end_in_final(table, search, settings, child)
                return NO_NODE
            if settings.solver and winning_edge(table, search, child) != NO_EDGE:
                prove_outcome(search, settings, child, nodes[child].sign)
                if is_settled(nodes[child], settings):
                    back_up_exact(search, child, nodes[child].sign)
                    return NO_NODE
            return child
        # A node whose value is exact is backed up again, without going further down.
        if is_over(nodes[child]) or is_settled(nodes[child], settings):
            back_up_exact(search, child, node_value(nodes[child], settings))
            return NO_NODE
        if not nodes[child].evaluated:
            return child
        number = child


@part
def next_leaf(table, search, settings, considered_visits):
    """Run simulations until a new leaf needs the network; return it, or NO_NODE when done."""
    root, nodes = search.roots[0], search.nodes
    while root.simulation < settings.simulations and not is_settled(nodes[0], settings):
        leaf = simulate(table, search, settings, considered_visits)
        if leaf != NO_NODE:
            root.waiting = leaf
            return leaf
    return NO_NODE


@part
def answer_from_cache(table, search, settings, rng, cache, planes, b):
    """Write the waiting node's observation; if it is cached, expand the node and return True."""
    root = search.roots[0]
    show(table, root, search.states[root.waiting], cache, planes, b)
    slot = lookup(cache, b)
    if slot == NO_SLOT:
        return False
    logits, wdl, score = stored(cache, slot)
    expand(table, search, settings, rng, logits, wdl, score)
    return True


@kernel
def begin(tables, tree, cache, planes, canonical, first, last):
    """Begin searches ``first`` to before ``last`` from ``tree.states[:, 0]``; show the roots.

    ``canonical`` says in which frame the network sees positions and numbers actions.
    """
    for b in range(first, last):
        start_search(tables[0], search_of(tree, b), canonical)
        show(tables[0], tree.roots[b], tree.states[b, 0], cache, planes, b)


@part
def receive(table, search, settings, rng, cache, evaluation, b):
    """Expand the waiting node of search ``b`` with row ``b`` of an `Evaluation`; cache the row."""
    logits, wdl, score = evaluation
    store(cache, b, evaluation, b)
    expand(table, search, settings, rng, logits[b], wdl[b], score[b])
    search.roots[0].evaluations += 1


@kernel
def advance(
    tables,
    tree,
    cache,
    settings_array,
    rngs,
    evaluation,
    net,
    planes,
    first,
    last,
    is_answered,
    limit,
):
    """Continue until each search has ended, or waits for the network.

    Args:
        tables: the game's tables.
        tree: B searches.
        cache: the network's answers.
        settings_array: structured [1], see `settings.SETTINGS`.
        rngs: int64 [B, 2], generator states.
        evaluation: an `Evaluation` with a row for each search, which receives answers of ``net``.
        net: the network, see `ludarium.models.kernels.Called`, or `NONE`.
        planes: float32 [B, planes, cells], where searches show their requests.
        first, last: searches ``first`` to before ``last``.
        is_answered: whether ``evaluation`` answers the requests that the last call left.
        limit: most calls of ``net``; once they are used up, searches wait that could continue.

    Returns:
        How many searches wait for the network.
    """
    table, settings = tables[0], settings_array[0]
    waiting = 0
    asked = 0
    for b in range(first, last):
        search, rng = search_of(tree, b), rngs[b]
        if search.roots[0].waiting < 0:
            continue
        # First the request that the last call left.
        if not is_answered:
            if asked == limit or not answer(net, planes, evaluation, b):
                waiting += 1
                continue
            asked += 1
        receive(table, search, settings, rng, cache, evaluation, b)
        # Then simulation after simulation; leaves in the cache need no network.
        while next_leaf(table, search, settings, tree.considered_visits) != NO_NODE:
            if answer_from_cache(table, search, settings, rng, cache, planes, b):
                continue
            if asked == limit or not answer(net, planes, evaluation, b):
                waiting += 1
                break
            asked += 1
            receive(table, search, settings, rng, cache, evaluation, b)
    return waiting


@part
def choose_root_edge(root, nodes, edges, settings, rng):
    """Write a finished search's policy target into ``root.policy``; return the edge to play.

    If the outcome is proven, the edge is one that is proven to keep it.
    """
    node = nodes[0]
    if is_proven(node) and not is_settled(node, settings):
        prune_edges(nodes, edges, node, low_for(node, node.sign), high_for(node, node.sign), False)
    if settings.algorithm == GUMBEL:
        edge = gumbel.choose_edge(root, nodes, edges, settings)
        gumbel.write_improved_policy(root, nodes, edges, settings)
    else:
        edge = puct.choose_edge(root, nodes, edges, settings, rng)
    return edge


@kernel
def results(tree, settings_array, rngs, actions, values, visits, action_values, first, last):
    """Read finished searches: action, value, and visits and values of the root actions.

    ``actions`` int64 [B], ``values`` float32 [B], in the mover's view, see `root_value`;
    ``visits`` int32 [B, A] must be zero-filled; ``action_values`` float32 [B, A] must be prefilled
    for actions that were not tried; policies stay in the roots.
    """
    settings = settings_array[0]
    for b in range(first, last):
        nodes, edges = tree.nodes[b], tree.edges[b]
        root = nodes[0]
        actions[b] = edges[choose_root_edge(tree.roots[b], nodes, edges, settings, rngs[b])].action
        values[b] = root_value(tree.roots[b], nodes, edges, settings)
        for edge in range(root.first, root.end):
            child = edges[edge].child
            if child != NO_NODE and nodes[child].visits > 0:
                value = root.sign * node_value(nodes[child], settings)
                visits[b, edges[edge].action] = nodes[child].visits
                action_values[b, edges[edge].action] = value
