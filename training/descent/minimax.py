"""The searches: expand the end of the best line, back up minimax values, again.

Template functions (see ``ludarium.envs.engine.compile``): ``rules`` is one game's rule module.

Both searches repeat one iteration: follow the best unresolved actions from the root to a position
that is not expanded, expand it, and back the values up. *Best-first minimax* (Korf and Chickering,
"Best-First Minimax Search", 1996; "unbounded" in Cohen-Solal, arXiv 2008.01188) does so for one
position. *Descent* (the same paper) goes on with the best child, and so on to the end of the game,
before it backs up: each iteration brings an exact result into the tree.

All children of a position are evaluated at once, and those of many trees in one batch.
"""

from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.kernels import observe_as
from ludarium.envs.engine.rule import ONGOING, reward
from ludarium.training.search.cache import NO_SLOT, Cache, lookup, set_request, store

from .tree import NO_NODE, add_node, back_up, follow_line, safest_child, search_of, update

rules: Any = None  # one game's rule module, filled in by `specialise`


class Requests(NamedTuple):
    """What the searches ask the network: up to R positions at a time.

    Attributes:
        planes: float32 [R, planes, cells], the observations.
        cache: answers by observation; ``cache.words`` are those of ``planes``.
        searches, nodes: int32 [R], the search and the node that each is of.
        counts: int64 [4]: rows that wait for an answer, the search whose turn it is, answers of
            the network, and of the cache.
    """

    planes: np.ndarray
    cache: Cache
    searches: np.ndarray
    nodes: np.ndarray
    counts: np.ndarray


ROWS, TURN, EVALUATIONS, HITS = range(4)


@part
def plant(search):
    """Begin a tree with the position in ``states[0]``."""
    root = search.roots[0]
    root.nodes = 0
    root.states = 0
    root.expansions = 0
    root.line = NO_NODE
    add_node(search, NO_NODE, -1)


@part
def take_answer(node, score, value):
    """Take the network's answer, which is in the view of the node's mover."""
    node.value = node.sign * value
    node.score = node.sign * score


@part
def take_result(table, node, state, max_score):
    """Take the exact values of a finished position; ``max_score`` 0: there are no points."""
    node.completion = reward(state.outcome, 0)
    node.value = node.completion
    node.resolved = 1
    if max_score > 0:
        node.score = rules.score(table, state) / np.float32(max_score)


@part
def ask(table, state, requests, b, search, number):
    """Ask for the values of a node with this position, or take them from the cache."""
    counts, cache = requests.counts, requests.cache
    row = counts[ROWS]
    node = search.nodes[number]
    node.sign = 1 - 2 * int(state.mover)
    observe_as(table, state, int(state.mover), requests.planes[row], True)
    set_request(cache, row)
    slot = lookup(cache, row)
    if slot != NO_SLOT:
        take_answer(node, cache.answers[slot, 0], cache.answers[slot, 1])
        counts[HITS] += 1
        return
    requests.searches[row] = b
    requests.nodes[row] = number
    counts[ROWS] += 1


@part
def receive(tree, requests, scores, values):
    """Give the network's answers, ``scores`` [R, 1] and ``values`` [R], to those who asked."""
    counts = requests.counts
    for row in range(counts[ROWS]):
        store(requests.cache, row, scores[row], values[row])
        node = tree.nodes[requests.searches[row], requests.nodes[row]]
        take_answer(node, scores[row, 0], values[row])
    counts[EVALUATIONS] += counts[ROWS]
    counts[ROWS] = 0


@part
def expand(table, search, requests, num_actions, max_score, b, number):
    """Add the children of a node; return whether they wait for the network.

    Where an action wins at once, nothing else needs to be known.
    """
    roots, nodes, states, holders = search
    root, node = roots[0], nodes[number]
    place = root.states
    state, trial = states[place], states[len(states) - 1]
    if number > 0:
        states[place] = states[nodes[node.parent].state]
        rules.step(table, state, int(node.action))
    root.states += 1
    root.expansions += 1
    holders[place] = number
    node.state = place
    node.sign = 1 - 2 * int(state.mover)
    node.first = root.nodes
    before = requests.counts[ROWS]
    for action in range(num_actions):
        if not rules.is_legal(table, state, action):
            continue
        child = add_node(search, number, action)
        states[len(states) - 1] = state
        rules.step(table, trial, action)
        if trial.outcome == ONGOING:
            ask(table, trial, requests, b, search, child)
        else:
            take_result(table, nodes[child], trial, max_score)
            if node.sign * nodes[child].completion > 0:
                requests.counts[ROWS] = before
                node.end = root.nodes
                return False
    node.end = root.nodes
    return requests.counts[ROWS] > before


@part
def has_room(search, num_actions):
    """Whether another position can be expanded."""
    root = search.roots[0]
    return root.states < len(search.holders) and root.nodes + num_actions <= len(search.nodes)


@part
def search_on(table, search, settings, requests, num_actions, max_score, b):
    """Search until children wait for the network; return False once the search is over."""
    root, nodes, weight = search.roots[0], search.nodes, settings.score_weight
    while True:
        number = root.line
        if number != NO_NODE:  # its children have their values now
            update(nodes, number, weight)
            if not settings.to_end or nodes[number].resolved or not has_room(search, num_actions):
                back_up(nodes, number, weight)
                number = NO_NODE
        if number == NO_NODE:
            root.line = NO_NODE
            if nodes[0].resolved or root.expansions >= settings.expansions:
                return False
            if not has_room(search, num_actions):
                return False
            number = 0
        root.line = follow_line(nodes, number, weight)
        if expand(table, search, requests, num_actions, max_score, b, root.line):
            return True


@kernel
def begin(tree, count):
    """Begin searches 0 to before ``count`` from ``tree.states[:, 0]``."""
    for b in range(count):
        plant(search_of(tree, b))


@kernel
def advance(tables, tree, settings, requests, num_actions, max_score, scores, values, count):
    """Take the network's answers, and search on until the requests are full.

    ``scores`` [R, 1] and ``values`` [R] answer what the last call asked. Returns how many positions
    wait; none once the searches 0 to before ``count`` are over.
    """
    receive(tree, requests, scores, values)
    counts = requests.counts
    for _ in range(count):
        if counts[ROWS] + num_actions > len(requests.nodes):
            break
        b = counts[TURN]
        search_on(tables[0], search_of(tree, b), settings, requests, num_actions, max_score, b)
        counts[TURN] = (b + 1) % count
    return counts[ROWS]


@kernel
def finish(tree, settings, requests, scores, values, count):
    """Take the network's answers as `advance` does, back them up, and search no further."""
    receive(tree, requests, scores, values)
    weight = settings.score_weight
    for b in range(count):
        line = tree.roots[b].line
        if line != NO_NODE:
            update(tree.nodes[b], line, weight)
            back_up(tree.nodes[b], line, weight)
            tree.roots[b].line = NO_NODE


@kernel
def results(tree, settings, actions, values, visits, action_values, count):
    """Read searches: the safest action, the root's value for its mover, and its children.

    ``visits`` int32 [B, A] comes with zeros, ``action_values`` float32 [B, A] with what stands for
    illegal actions.
    """
    for b in range(count):
        nodes = tree.nodes[b]
        root = nodes[0]
        actions[b] = nodes[safest_child(nodes, 0, settings.score_weight)].action
        values[b] = root.sign * root.value
        for child in range(root.first, root.end):
            visits[b, nodes[child].action] = nodes[child].visits
            action_values[b, nodes[child].action] = root.sign * nodes[child].value
