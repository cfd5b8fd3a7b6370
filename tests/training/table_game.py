"""A game given as explicit tables, to compare searches on (see ``fixtures``)."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.rule import rule, table_record


@rule
def init(tables, state, rng):
    state.ply = 0
    state.outcome = engine.ONGOING
    state.node = 0
    state.mover = tables.mover[0]


@rule
def is_legal(tables, state, action):
    return tables.legal[state.node, action] == 1


@rule
def step(tables, state, action):
    state.ply += 1
    state.node = tables.children[state.node, action]
    state.mover = tables.mover[state.node]
    state.outcome = tables.outcome[state.node]


@rule
def observe(tables, state, player, planes):
    """The node's number, so that an evaluator can look it up."""
    planes[0, 0] = state.node


MAX_NODES, MAX_ACTIONS = 160, 9  # one size for all cases, so that kernels compile once


def _padded(rows, dtype) -> np.ndarray:
    values = np.array(rows, dtype)
    room = (MAX_NODES, MAX_ACTIONS)[: values.ndim]
    return np.pad(values, [(0, most - size) for most, size in zip(room, values.shape, strict=True)])


def table_game(case: dict) -> SimpleNamespace:
    """What a search needs of a game, from a fixture's case; terminal values are -1, 0 or 1."""
    outcome_of = {1: engine.PLAYER_0_WINS, -1: engine.PLAYER_1_WINS, 0: engine.DRAW}
    outcome = [
        outcome_of[value] if terminal else engine.ONGOING
        for terminal, value in zip(case["terminal"], case["terminal_value"], strict=True)
    ]
    return SimpleNamespace(
        rules=sys.modules[__name__],
        state_dtype=engine.state_dtype(("node", np.int32)),
        tables=table_record(
            children=_padded(case["children"], np.int32),
            legal=_padded(case["legal"], np.int8),
            mover=_padded(case["mover"], np.int8),
            outcome=_padded(outcome, np.int8),
            turned_cells=np.arange(1, dtype=np.int32),
            turned_actions=np.arange(MAX_ACTIONS, dtype=np.int32),
        ),
        num_actions=case["num_actions"],
        observation_shape=(1,),
        planes_shape=(1, 1),
    )
