"""A game without sense, to compare searches with plain minimax on.

Positions are the nodes of a complete tree; who is to move, which actions are legal, where the
game ends, how, and every score are random: so players often move several times in a row.
"""

from __future__ import annotations

import sys

import numpy as np

from ludarium.envs.board.picture import HEAD
from ludarium.envs.board.scene import Role, Scene
from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.game import Game, Symmetries
from ludarium.envs.engine.options import Option
from ludarium.envs.engine.rule import rule, table_record

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
    state.node = ACTIONS * state.node + 1 + action
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
    title = "Random tree"
    summary = "a different game for every number"
    credit = "nobody"
    option_list = (Option("number", 0, range(1000), "which game"),)
    rules = sys.modules[__name__]

    def setup(self) -> None:
        random = np.random.default_rng(self.options["number"])
        outcome = random.choice(5, NODES, p=[0.8, 0.06, 0.06, 0.06, 0.02])
        outcome[0] = engine.ONGOING
        outcome[INNER_NODES:] = random.integers(1, 4, NODES - INNER_NODES)
        legal = random.random((NODES, ACTIONS)) < 0.8
        legal[np.arange(NODES), random.integers(ACTIONS, size=NODES)] = True
        self.state_dtype = engine.state_dtype(("node", np.int32))
        self.tables = table_record(
            mover=random.integers(0, 2, NODES).astype(np.int8),
            legal=legal.astype(np.int8),
            outcome=outcome.astype(np.int8),
            lead=random.integers(-4, 5, NODES).astype(np.int8),
        )
        self.num_actions = ACTIONS
        self.action_names = [f"child {action}" for action in range(ACTIONS)]
        self.observation_shape = (1,)
        self.observation_names = ["node"]
        self.max_plies = PLIES

    def text_to_action(self, state: np.record, text: str) -> int:
        return int(text.removeprefix("child "))

    def board_text(self, state: np.record) -> str:
        return f"node {state.node}"

    def symmetries(self) -> Symmetries:
        return Symmetries(np.arange(ACTIONS)[None], np.arange(1)[None])

    def scene(self) -> Scene:
        return Scene(bottom=HEAD, ground=[], slots=[], roles=[Role("", ""), Role("", "")])
