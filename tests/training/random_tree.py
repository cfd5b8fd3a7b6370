"""A game without sense, to compare searches with plain minimax on.

Positions are the nodes of a complete tree, or of another graph if ``children`` says so; who is to
move, which actions are legal, where the game ends, how, and every score are random: so players
often move several times in a row.
"""

from __future__ import annotations

import sys

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.options import Option
from ludarium.envs.engine.rule import rule, table_record
from ludarium.envs.engine.spec import Spec

ACTIONS = 3
PLIES = 6
NODES = (ACTIONS ** (PLIES + 1) - 1) // (ACTIONS - 1)
INNER_NODES = (ACTIONS**PLIES - 1) // (ACTIONS - 1)


@rule
def init(tables, state, rng):
    state.ply = 0
    state.node = 0
    state.mover = tables.mover[0]
    state.outcome = engine.ONGOING


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
    planes[0, 0] = state.node


@rule
def score(tables, state):
    return int(tables.lead[state.node])


class RandomTree(Game):
    name = "randomtree"
    summary = "a different game for every number"
    option_list = (Option("number", 0, range(1000), "which game"),)
    rules = sys.modules[__name__]

    def setup(self) -> Spec:
        random = np.random.default_rng(self.options["number"])
        outcome = random.choice(5, NODES, p=[0.8, 0.06, 0.06, 0.06, 0.02])
        outcome[0] = engine.ONGOING
        outcome[INNER_NODES:] = random.integers(1, 4, NODES - INNER_NODES)
        legal = random.random((NODES, ACTIONS)) < 0.8
        legal[np.arange(NODES), random.integers(ACTIONS, size=NODES)] = True
        return Spec(
            state_dtype=engine.state_dtype(("node", np.int32)),
            tables=table_record(
                children=np.arange(1, ACTIONS * NODES + 1, dtype=np.int32).reshape(-1, ACTIONS),
                mover=random.integers(0, 2, NODES).astype(np.int8),
                legal=legal.astype(np.int8),
                outcome=outcome.astype(np.int8),
                lead=random.integers(-4, 5, NODES).astype(np.int8),
            ),
            action_names=[f"child {action}" for action in range(ACTIONS)],
            observation_names=["node"],
            max_plies=PLIES,
            binary_observation=False,
        )
