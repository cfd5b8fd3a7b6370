"""Our Gumbel search against DeepMind's mctx: same inputs, same choices, same policy targets.

mctx made the answers in ``fixtures/mctx_gumbel.json``. A case is a random zero-sum game for players
0 and 1, as tables over nodes, the root first, and actions: ``children`` (-1 where illegal),
``legal``, the network's ``logits`` before masking, its ``value`` for the node's ``mover``,
``terminal`` and, for player 0, ``terminal_value``. Several edges may lead to one node; the search
has a node for each path to it. No choice hangs on a difference below 0.001, so that another order
of floating-point operations gives the same tree.

``gumbel`` is the noise that mctx drew for the root, scaled. Of ``expected``, ``action``,
``action_weights``, ``visit_counts`` and ``value`` (the mean over the visits) are the root's;
``mixed_value`` stands for the Q-values of actions not tried; ``policy_value`` is the completed
Q-values' mean under the improved policy, not rescaled; ``leaves`` are the table's nodes that the
simulations reached.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.options import Option
from ludarium.envs.engine.rule import table_record
from ludarium.envs.engine.spec import Spec
from ludarium.models import Evaluation
from ludarium.training.search import BatchSearch, SearchSettings
from ludarium.training.search.gumbel import sequence_of_considered_visits
from ludarium.training.search.settings import settings_record
from tests.kernels import compiled

from . import random_tree

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "mctx_gumbel.json").read_text())
CASES = FIXTURE["cases"]


def _padded(rows, dtype) -> np.ndarray:
    """With as many nodes as a `RandomTree`, so that trees of three actions compile once."""
    values = np.array(rows, dtype)
    return np.pad(values, [(0, random_tree.NODES - len(values)), (0, 0)][: values.ndim])


class TableGame(Game):
    """The game of a case; terminal values are -1, 0 or 1."""

    name = "tablegame"
    option_list = (Option("case", 0, range(len(CASES)), "which case"),)
    rules = random_tree

    def setup(self) -> Spec:
        case = CASES[self.options["case"]]
        outcome_of = {1: engine.PLAYER_0_WINS, -1: engine.PLAYER_1_WINS, 0: engine.DRAW}
        outcome = [
            outcome_of[value] if terminal else engine.ONGOING
            for terminal, value in zip(case["terminal"], case["terminal_value"], strict=True)
        ]
        return Spec(
            state_dtype=engine.state_dtype(("node", np.int32)),
            tables=table_record(
                children=_padded(case["children"], np.int32),
                mover=_padded(case["mover"], np.int8),
                legal=_padded(case["legal"], np.int8),
                outcome=_padded(outcome, np.int8),
                lead=np.zeros(random_tree.NODES, np.int8),
            ),
            action_names=[f"child {action}" for action in range(case["num_actions"])],
            observation_names=["node"],
            max_plies=len(outcome),
            binary_observation=False,
        )


def run(case: dict):
    """Our answers to a case, with the root noise that mctx drew."""
    game = TableGame(case=CASES.index(case))
    settings = SearchSettings(
        simulations=case["num_simulations"],
        max_considered=case["max_num_considered_actions"],
        value_scale=case["value_scale"],
        maxvisit_init=case["maxvisit_init"],
        rescale_values=case["rescale_values"],
        noise=0.0,
        solver=False,
    )
    search = BatchSearch(game, settings, batch=1, seed=0)
    all_logits = np.array(case["logits"], np.float32)
    all_values = np.array(case["value"], np.float32)
    leaves = []

    def evaluate(observations):
        nodes = observations[:, 0].astype(int)
        leaves.extend(nodes)
        return Evaluation.of_values(all_logits[nodes], all_values[nodes])

    state = np.zeros(1, game.state_dtype)
    state["mover"] = case["mover"][0]
    noise = np.array([case["gumbel"]], np.float32)
    return search.run(state, evaluate, noise), search, leaves


def mixed_value(search: BatchSearch) -> float:
    """What stands for the Q-values of the root's actions that were not tried."""
    tree, settings = search.tree, settings_record(search.settings, search.game)
    return compiled.mixed_value((tree.roots, tree.nodes, tree.edges), settings)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case["name"], marks=[] if case["name"][:2] == "a3" else [pytest.mark.slow]
        )
        for case in CASES  # each number of actions is compiled anew: three are enough to be quick
    ],
)
def test_agrees_with_mctx(case):
    found, search, leaves = run(case)
    expected = case["expected"]
    new_leaves = [leaf for leaf in expected["leaves"] if not case["terminal"][leaf]]
    assert leaves[1:] == new_leaves
    np.testing.assert_array_equal(found.visits[0], expected["visit_counts"])
    assert found.actions[0] == expected["action"]
    np.testing.assert_allclose(found.policies[0], expected["action_weights"], atol=1e-5)
    root = search.tree.nodes[0, 0]
    assert root["sign"] * root["value"] == pytest.approx(expected["value"], abs=1e-5)
    assert mixed_value(search) == pytest.approx(expected["mixed_value"], abs=1e-5)
    assert found.values[0] == pytest.approx(expected["policy_value"], abs=1e-5)


def test_schedule_of_sequential_halving_agrees_with_mctx():
    for entry in FIXTURE["considered_visits"]:
        ours = sequence_of_considered_visits(
            entry["max_num_considered_actions"], entry["num_simulations"]
        )
        assert ours == entry["visits"]
