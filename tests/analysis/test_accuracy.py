"""Exact tests of agents: the positions, what is counted, and the command."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from ludarium.analysis import ILLEGAL
from ludarium.analysis.accuracy import accuracy, chosen_actions, moves_that_keep
from ludarium.analysis.exact_tests import make_exact_test
from ludarium.cli import main
from ludarium.envs import Position, make_game
from ludarium.envs.engine.position import contents_of
from ludarium.training.agents import Agent, make_agent
from ludarium.training.evaluation.statistics import wilson
from tests.analysis.corso_positions import minimax
from tests.games import after, children


class Blunderer(Agent):
    """Plays the worst action of a test's positions."""

    def __init__(self, test):
        super().__init__(test.game, "blunderer")
        results = np.where(test.results == ILLEGAL, 2, test.results)
        self.worst = {
            contents_of(state): int(action)
            for state, action in zip(test.states, results.argmin(axis=1), strict=True)
        }

    def play(self, games, states):
        for game, state in zip(games, states, strict=True):
            position = after(game.game.start(game.seed), *game.actions)
            assert (game.seat, contents_of(state)) == (position.mover, contents_of(position.state))
        return np.array([self.worst[contents_of(state)] for state in states])


@pytest.fixture(scope="module")
def corso_test():
    return make_exact_test(make_game("corso", size=3), 60, seed=2)


def test_results_are_those_of_minimax(corso_test):
    known: dict = {}
    assert len(corso_test) == 60
    for state, results in zip(corso_test.states, corso_test.results, strict=True):
        position = Position.of_state(corso_test.game, state)
        assert np.flatnonzero(results != ILLEGAL).tolist() == position.legal_actions.tolist()
        for action, child in children(position).items():
            assert results[action] == -np.sign(minimax(child, known))
    assert {-1, 1} <= set(corso_test.values.tolist())


def test_perfect_keeps_everything_and_a_blunderer_nothing(corso_test):
    assert moves_that_keep(
        make_agent("perfect", corso_test.game).actions(corso_test.states), corso_test
    ).all()
    kept = moves_that_keep(chosen_actions(Blunderer(corso_test), corso_test), corso_test)
    choice = corso_test.has_choice
    assert choice.any()
    assert not choice.all()
    assert not kept[choice].any()
    assert kept[~choice].all()
    assert accuracy(kept) == wilson(int((~choice).sum()), len(choice))


def test_only_choices_leaves_positions_where_something_can_be_lost():
    test = make_exact_test(make_game("corso", size=3), 40, seed=2, only_choices=True)
    assert len(test) == 40
    assert test.has_choice.all()
    assert (test.values >= 0).all()


def test_wrong_numbers_are_refused():
    game = make_game("corso", size=2)
    for wrong in ({"count": 0}, {"count": 2.5}, {"count": 10**5000}, {"limit": 0}):
        name = next(iter(wrong)).replace("count", "positions")
        with pytest.raises(ValueError, match=f"{name} is .*; accepted: a whole number"):
            make_exact_test(game, **({"count": 1} | wrong))
    with pytest.raises(ValueError, match="ask for fewer"):
        make_exact_test(game, 1_000)


def test_errors_of_values_are_absolute(monkeypatch, capsys):
    answers = (np.zeros(60, int), np.zeros(60))  # all drawn
    monkeypatch.setattr("ludarium.cli.accuracy._answers", lambda *_: answers)
    command = "accuracy random --game=corso --option=size=3 --positions=60 --seed=2 --json"
    assert main(command.split()) == 0
    errors = json.loads(capsys.readouterr().out)["value_errors"]
    values = make_exact_test(make_game("corso", size=3), 60, seed=2).values
    assert errors["random"]["value"] == pytest.approx(np.abs(values).mean())


def test_the_command_counts_by_kinds_of_positions(capsys):
    """Of an agent that plays the first legal action, counted again."""
    agent = "python:tests.games:first_legal"
    command = f"accuracy {agent} --game=corso --option=size=4 --positions=60 --seed=2"
    assert main([*command.split(), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    test = make_exact_test(make_game("corso", size=4), 60, seed=2)
    kept: dict[str, list[bool]] = {"all": [], "choices": [], "won": [], "drawn": []}
    for each in test.positions:
        best = max(each.results.values())
        of_kind = each.results[min(each.results)] == best
        kept["all"].append(of_kind)
        if min(each.results.values()) < best:
            kept["choices"].append(of_kind)
            kept[{1: "won", 0: "drawn"}[best]].append(of_kind)
    found = {kind: wilson(sum(each), len(each)) for kind, each in kept.items()}
    assert list(data["agents"].values()) == [{k: each.to_dict() for k, each in found.items()}]
    assert 0 < sum(kept["won"]) < len(kept["won"]) < len(kept["choices"]) < 60
    told = {"games_of": "random", "seed": 2, "positions": "all", "limit": 200_000}
    assert data["made"] == told | {"opening_plies": 6, "per_game": 4}
    assert main(command.split()) == 0
    printed = capsys.readouterr().out
    plies = test.states["ply"]
    first = (
        f"60 positions of Corso(size=4) from games of random, plies {min(plies)} to {max(plies)}"
    )
    assert printed.startswith(first)
    titles = "all positions", "where some move loses value", "of these: won", "of these: drawn"
    for title, each in zip(titles, found.values(), strict=True):
        row = re.search(rf"{title} +(\d+) +(.*)", printed)
        assert row is not None
        assert (int(row[1]), row[2]) == (each.count, f"{each:.1%}")
