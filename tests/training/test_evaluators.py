"""Evaluators of the user's own: what they must not answer is refused by name at the first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from ludarium.configs.schema import SelfPlayConfig
from ludarium.envs import make_game
from ludarium.models import Evaluation, Evaluator
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.agents.settings import LCB
from ludarium.training.agents.timed import TimedNetworkAgent
from ludarium.training.alphazero.self_play import WorkerGames
from ludarium.training.search import BatchSearch, SearchSettings, TreeSearch
from tests.tictactoe import TicTacToe

GAME = TicTacToe()
SETTINGS = SearchSettings(simulations=8)


def lead(observations: np.ndarray) -> Evaluation:
    """Knows nothing, and says that it is ahead by half of all points."""
    count = len(observations)
    known = Evaluation.of_values(np.zeros((count, GAME.num_actions)), np.zeros(count))
    return known._replace(score=np.full(count, 0.5, np.float32))


def in_search(evaluate: Evaluator) -> None:
    BatchSearch(GAME, SETTINGS).run(GAME.start(0).states, evaluate)


def in_tree(evaluate: Evaluator) -> None:
    TreeSearch(GAME, GAME.start(0).states, evaluate)


def in_self_play(evaluate: Evaluator) -> None:
    corso = make_game("corso", size=3)  # whose self-play other tests compile too
    games = WorkerGames(corso, SelfPlayConfig(games=4, positions=8), SETTINGS)
    games.begin()
    games.step(evaluate)


def in_agent(evaluate: Evaluator) -> None:
    NetworkAgent(GAME, evaluate, 0).choose(GAME.start(0))


def in_thinking_agent(evaluate: Evaluator) -> None:
    TimedNetworkAgent(GAME, evaluate, 0.001)


WRONG: dict[str, tuple[Callable[[Evaluation], Any], str]] = {
    "nothing": (lambda answer: None, "NoneType: return"),
    "a dict": (lambda answer: answer._asdict(), "dict: return"),
    "a pair": (lambda answer: (answer.logits, answer.values), "tuple: return"),
    "NaN logits": (lambda answer: answer._replace(logits=answer.logits * np.nan), "not finite"),
    "infinite logits": (
        lambda answer: answer._replace(logits=answer.logits - np.inf),
        "not finite",
    ),
    "NaN wins": (lambda answer: answer._replace(wdl=answer.wdl * np.nan), "the value nan"),
    "a large value": (lambda answer: answer._replace(wdl=answer.wdl * [3, 1, 0]), "the value 1.5"),
    "few logits": (lambda answer: answer._replace(logits=answer.logits[:, 1:]), "logits of shape"),
    "few rows": (lambda answer: answer._replace(wdl=answer.wdl[1:]), "wdl of shape"),
    "no score": (lambda answer: answer._replace(score=None), r"score of shape \(\)"),
}


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("use", [in_search, in_tree, in_self_play, in_agent, in_thinking_agent])
def test_answers_of_another_form_are_refused_by_name(use, fault):
    spoil, message = WRONG[fault]

    def stubborn(observations: np.ndarray) -> Any:
        return spoil(lead(observations))

    with pytest.raises(ValueError, match=rf"the evaluator stubborn answered .*{message}"):
        use(stubborn)
    use(lead)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_a_share_of_the_value_is_the_score(share):
    settings = SearchSettings(simulations=4, solver=False, score=share)
    search = BatchSearch(GAME, settings)
    search.run(GAME.start(0).states, lead)
    assert search.tree.nodes["raw_value"][0, 0] == share * 0.5
    settings = replace(settings, algorithm="puct")
    assert TreeSearch(GAME, GAME.start(0).states, lead, settings).result().values[0] == share * 0.5
    agent = NetworkAgent(GAME, lead, 90, settings=settings)
    assert agent.search(GAME.start(0).states).simulations == 90
    assert agent.start_search(GAME.start(0)).result().values[0] == 0, "a thought is of who wins"
    assert np.isnan(agent.policy(GAME.start(0).states).draws[0]), "`lead` tells none"


def test_a_search_for_points_needs_a_score():
    def pointless(observations: np.ndarray) -> Evaluation:
        return lead(observations)._replace(score=np.full(len(observations), np.nan))

    settings = SearchSettings(score=0.1)
    with pytest.raises(ValueError, match="the evaluator pointless has no score to play for"):
        BatchSearch(GAME, settings).run(GAME.start(0).states, pointless)
    BatchSearch(GAME, SETTINGS).run(GAME.start(0).states, pointless)


@pytest.mark.parametrize("lcb", [-1, float("nan"), float("inf")])
def test_lcb_is_a_finite_number_from_0_on(lcb):
    with pytest.raises(ValueError, match=f"lcb is a number from 0 on, not {lcb}"):
        TimedNetworkAgent(GAME, lead, 1, lcb=lcb)


@pytest.mark.parametrize(("lcb", "used"), [(None, LCB), (0, 0), (1.5, 1.5)])
def test_moves_are_chosen_by_the_lcb_that_is_given(lcb, used, monkeypatch):
    asked, result = [], TreeSearch.result
    monkeypatch.setattr(TreeSearch, "result", lambda *now: asked.append(now[1:]) or result(*now))
    TimedNetworkAgent(GAME, lead, 0.001, lcb=lcb).choose(GAME.start())
    assert asked[-1] == (used,)


def test_lcb_beside_a_temperature_is_refused():
    with pytest.raises(ValueError, match="temperature draws one: give one of them"):
        TimedNetworkAgent(GAME, lead, 1, lcb=1, temperature=1)


def test_an_evaluator_may_answer_in_other_number_formats():
    def double(observations: np.ndarray) -> Evaluation:
        return Evaluation(*(array.astype(np.float64) for array in lead(observations)))

    (expected, found) = (
        BatchSearch(GAME, SETTINGS).run(GAME.start(0).states, evaluate)
        for evaluate in (lead, double)
    )
    np.testing.assert_array_equal(found.policies, expected.policies)


def test_a_tree_that_is_kept_grows_by_puct():
    with pytest.raises(ValueError, match="grows by PUCT"):
        TreeSearch(GAME, GAME.start(0).states, lead, SearchSettings())
