"""UCT: Monte-Carlo tree search with random playouts, over a game's rules.

Template functions for ``engine.compile.specialise``. UCB1: Auer, Cesa-Bianchi and Fischer,
"Finite-time Analysis of the Multiarmed Bandit Problem", 2002. UCT: Kocsis and Szepesvari,
"Bandit Based Monte-Carlo Planning", 2006. A playout tries one new node at most, as in Coulom,
"Efficient Selectivity and Backup Operators in Monte-Carlo Tree Search", 2006.

A tree is an array of `NODE` records, the root first; each search overwrites it. The children of a
node are contiguous. They are allocated when a second playout passes through the node, the root's at
once, so most nodes never have any. Results are counted from player 0's side, so the order of turns
does not matter. Positions are not stored: each playout replays the moves from the root, which costs
little beside playing on to the end.
"""

from typing import Any

import numpy as np

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.engine.kernels import random_playout
from ludarium.envs.engine.rule import ONGOING, random_below, reward

rules: Any = None  # one game's rule module, filled in by `specialise`

#: One node of a tree.
NODE = np.dtype(
    (
        np.record,
        [
            ("visits", np.int32),  # playouts through the node; 0 = untried
            ("total", np.int32),  # sum of their results: +1 for a win of player 0, -1 for a loss
            ("draws", np.int32),  # how many of them were drawn
            ("action", np.int32),  # action that leads here from the parent
            ("children", np.int32),  # index of the first child; 0 = not allocated yet
            ("width", np.int16),  # number of children: the legal actions
            ("tried", np.int16),  # how many of them have been visited: they come first
        ],
    )
)


@part
def take_room(table, state, tree, node, free, num_actions):
    """Allocate the children of ``node`` from ``free`` on, untried; return the next free index."""
    first = free
    for action in range(num_actions):
        if rules.is_legal(table, state, action):
            tree[free].visits = 0
            tree[free].total = 0
            tree[free].draws = 0
            tree[free].action = action
            tree[free].children = 0
            free += 1
    tree[node].children = first
    tree[node].width = free - first
    tree[node].tried = 0
    return free


@part
def untried_child(tree, node, rng):
    """A random untried child, which is moved behind the tried ones to become one of them."""
    tried = tree[node].tried
    child = tree[node].children + tried
    other = child + random_below(rng, int(tree[node].width) - int(tried))
    action = tree[other].action
    tree[other].action = tree[child].action
    tree[child].action = action
    tree[node].tried = tried + 1
    return child


@part
def most_promising_child(tree, node, mover, spreads, inverse_roots):
    """The child with the highest upper confidence bound for ``mover``; all must be tried.

    The bound of UCB1 is ``mean + c * sqrt(ln(n) / n_child)``, results counted in [-1, 1];
    ``spreads[n]`` is ``c * sqrt(ln(n))`` and ``inverse_roots[n]`` is ``1 / sqrt(n)``.
    """
    spread = spreads[tree[node].visits]
    first = tree[node].children
    sign = 1 - 2 * mover
    best = first
    highest = -np.inf
    for child in range(first, first + tree[node].width):
        inverse_root = inverse_roots[tree[child].visits]
        bound = inverse_root * (sign * tree[child].total * inverse_root + spread)
        if bound > highest:
            highest = bound
            best = child
    return best


@part
def plant_tree(table, root, tree, num_actions):
    """Begin a tree with the position ``root[0]``; return the index of the first free node."""
    tree[0].visits = 0
    tree[0].total = 0
    tree[0].draws = 0
    return take_room(table, root[0], tree, 0, 1, num_actions)


@part
def grow_tree(
    table, root, work, rng, tree, path, free, num_actions, playouts, spreads, inverse_roots
):
    """Run ``playouts`` more playouts from the position ``root[0]``.

    ``work[0]`` is a scratch position, ``path`` a scratch list of nodes. Takes and returns the index
    of the first free node.
    """
    for _ in range(playouts):
        work[0] = root[0]
        state = work[0]
        node = 0
        path[0] = 0
        length = 1
        is_new = False
        while not is_new and state.outcome == ONGOING:
            if tree[node].children == 0:
                if free + num_actions > len(tree):
                    break  # the tree is full: update its statistics without adding nodes
                free = take_room(table, state, tree, node, free, num_actions)
            is_new = tree[node].tried < tree[node].width
            if is_new:
                node = untried_child(tree, node, rng)
            else:
                node = most_promising_child(tree, node, state.mover, spreads, inverse_roots)
            rules.step(table, state, tree[node].action)
            path[length] = node
            length += 1
        random_playout(table, state, rng, num_actions)
        result = reward(state.outcome, 0)
        for i in range(length):
            tree[path[i]].visits += 1
            tree[path[i]].total += result
            tree[path[i]].draws += result == 0
    return free


@part
def most_visited(tree, rng):
    """The action of the root's most visited child, ties broken at random."""
    best = -1
    most = -1
    ties = 0
    for child in range(tree[0].children, tree[0].children + tree[0].width):
        if tree[child].visits > most:
            most = tree[child].visits
            ties = 0
        if tree[child].visits == most:
            ties += 1
            if random_below(rng, ties) == 0:
                best = tree[child].action
    return best


@kernel
def search(
    tables,
    states,
    rngs,
    playouts,
    spreads,
    inverse_roots,
    work,
    trees,
    paths,
    actions,
    visits,
    values,
    begin,
    end,
):
    """Search with the workers from ``begin`` to before ``end``.

    Worker w takes the positions w, w + workers, ...

    Args:
        tables: the game's tables, array of one record.
        states: positions, structured [N].
        rngs: int64[N, 2], a random stream for each position, so that results do not depend on
            the number of workers.
        playouts: playouts for each position.
        spreads, inverse_roots: float64[playouts + 1], see `most_promising_child`.
        work: structured [workers], a scratch position for each worker.
        trees: `NODE` [workers, nodes]; a full tree stops growing.
        paths: int32[workers, longest path].
        actions: int64[N], receives the most visited action, -1 where the game is over.
        visits: float32[N, A], receives the visits of the root's children.
        values: float32[N], receives the mean result in the view of the position's ``mover``.
    """
    workers = len(work)
    num_actions = visits.shape[1]
    for worker in range(begin, end):
        tree = trees[worker]
        for i in range(worker, len(states), workers):
            visits[i] = 0
            sign = 1 - 2 * states[i].mover
            if states[i].outcome != ONGOING:
                actions[i] = -1
                values[i] = sign * reward(states[i].outcome, 0)
                continue
            root = states[i : i + 1]
            free = plant_tree(tables[0], root, tree, num_actions)
            grow_tree(
                tables[0],
                root,
                work[worker : worker + 1],
                rngs[i],
                tree,
                paths[worker],
                free,
                num_actions,
                playouts,
                spreads,
                inverse_roots,
            )
            actions[i] = most_visited(tree, rngs[i])
            values[i] = sign * tree[0].total / tree[0].visits
            for child in range(tree[0].children, tree[0].children + tree[0].width):
                visits[i, tree[child].action] = tree[child].visits


@kernel
def plant(tables, root, tree, num_actions):
    """`plant_tree` for a search that continues from call to call."""
    return plant_tree(tables[0], root, tree, num_actions)


@kernel
def grow(tables, root, work, rngs, tree, path, free, num_actions, playouts, spreads, inverse_roots):
    """`grow_tree` for a search that continues from call to call; ``rngs`` int64[1, 2]."""
    return grow_tree(
        tables[0],
        root,
        work,
        rngs[0],
        tree,
        path,
        free,
        num_actions,
        playouts,
        spreads,
        inverse_roots,
    )
