"""Kernels that call a part alone: parts are compiled only where a kernel calls them."""

from __future__ import annotations

from types import SimpleNamespace

from ludarium.analysis.corso import kernels as corso
from ludarium.envs.engine import bits, mathematics
from ludarium.machine.marks import kernel
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit
from ludarium.training.search import cache as answers
from ludarium.training.search import gumbel, puct


@kernel
def bit(cell):
    return bits.bit(cell)


@kernel
def bit_count(board):
    return bits.bit_count(board)


@kernel
def lowest_cell(board):
    return bits.lowest_cell(board)


@kernel
def shifted(board, steps):
    return bits.shifted(board, steps)


@kernel
def exp(number):
    return mathematics.exp(number)


@kernel
def log(number):
    return mathematics.log(number)


@kernel
def write_visit_policy(nodes, edges, settings, policy):
    puct.write_visit_policy(nodes, edges, settings[0], policy)


@kernel
def mixed_value(tree, settings):
    root, nodes, edges = tree[0][0], tree[1][0], tree[2][0]
    visited = gumbel.list_visited(root, nodes, edges, nodes[0], False)
    return gumbel.complete_values(root, nodes, edges, settings[0], 0, visited)[0]


@kernel
def choose_at_root(tree, settings, considered_visits):
    root, nodes, edges = tree[0][0], tree[1][0], tree[2][0]
    return gumbel.choose_at_root(root, nodes, edges, settings[0], considered_visits)


@kernel
def set_request(cache, search):
    answers.set_request(cache, search)


@kernel
def lookup(cache, search):
    return answers.lookup(cache, search)


@kernel
def store(cache, search, evaluation, row):
    answers.store(cache, search, evaluation, row)


@kernel
def write_keys(boards, workers, cells):
    return corso.write_keys(boards[0], workers[0], cells)


@kernel
def scramble(boards, key):
    return corso.scramble(boards[0], key)


compiled = SimpleNamespace(**Unit("tests-parts", "", Recipe(__name__), lambda: ()).kernels)
