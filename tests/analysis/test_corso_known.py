"""What took longest to find, in a file: searches take less with it, and say the same."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis.corso import CorsoSolution, CorsoSolver, shipped_known
from ludarium.analysis.corso.known import first_positions, read_known, write_known
from ludarium.analysis.probing import solver_of
from ludarium.envs import make_game
from tests.analysis.corso_positions import random_position
from tests.games import after, states_of

MEMORY = 1 << 25
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("seed", [0, 7])
def test_what_is_known_is_not_searched_again(seed: int) -> None:
    game = make_game("corso", size=4)
    first = CorsoSolver(game, MEMORY)
    asked = first_positions(game, 1)
    expected = [answer.outcome for answer in first.answer_all(asked, leads=False)]
    known = first.known(asked, 1000)
    assert known.shape == (1000, 2)
    assert (np.diff(known[:, 0]) > 0).all()
    other = CorsoSolver(game, MEMORY, seed=seed)  # with another seed, at other places
    other.learn(known)
    assert [answer.outcome for answer in other.answer_all(asked, leads=False)] == expected
    assert other.nodes <= 2 * len(asked)  # a draw is two questions: no win, and no loss
    assert len(first.known(asked, 2)) == 2


def test_the_first_plies_are_answered_at_once() -> None:
    """Player 0 wins with every first action, and so every reply to one loses."""
    game = make_game("corso")
    solver = solver_of(game, MEMORY)
    answers = solver.actions(game.start(), 1000, leads=False)
    assert {answer.outcome for answer in answers.values()} == {1}
    for action in (0, 6, 12):
        replies = solver.actions(after(game.start(), action), 1000, leads=False)
        assert {answer.outcome for answer in replies.values()} == {-1}


def test_perfect_play_is_spared_the_search_of_what_is_known() -> None:
    game = make_game("corso")
    solution = CorsoSolution(game, MEMORY)
    positions = first_positions(game, 3)
    assert len(positions) == 1075
    assert all(solution.solver.outcome(each, 10).outcome in (-1, 1) for each in positions)
    solution.best_actions(states_of(positions[:10]))
    assert solution.solver.nodes < 10 * (1 << 19)  # without what is known, millions each


@pytest.mark.slow
def test_another_search_finds_what_the_shipped_file_says() -> None:
    game = make_game("corso")
    told, judge = CorsoSolver(game, MEMORY), CorsoSolver(game, 1 << 29, seed=5, eager=3)
    told.learn(shipped_known(game))
    positions = first_positions(game, 3)
    sample = np.random.default_rng(1).choice(len(positions), 12, replace=False)
    outcomes = [told.outcome(positions[each], 10).outcome for each in sample]
    assert set(outcomes) == {-1, 1}
    assert [judge.outcome(positions[each]).outcome for each in sample] == outcomes


@pytest.mark.parametrize("seed", [9, 11, 18])
def test_the_action_that_won_is_tried_first_where_only_the_win_is_known(seed: int) -> None:
    game = make_game("corso", size=5)
    position = random_position(game, seed, range(12, 15))
    first = CorsoSolver(game, MEMORY)
    assert first.outcome(position).outcome == 1
    other = CorsoSolver(game, MEMORY, seed=7)
    other.learn(first.known([position], 1))
    (action,) = other.choices(position, other.outcome(position))
    assert first.outcome(after(position, action)).outcome == -1
    assert other.nodes <= first.nodes  # it searches no other action


def test_a_file_is_written_and_a_wrong_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "3x3.known.safetensors"
    tool = runpy.run_path(str(ROOT / "docs/tools/corso_known.py"))
    assert "50 entries, 4 of them" in tool["make_known"](path, 3, 1, 50, 1)
    game = make_game("corso", size=3)
    known = read_known(path, game)
    assert known.shape == (50, 2)
    with pytest.raises(ValueError, match="is for something else: options"):
        read_known(path, make_game("corso", size=4))
    with pytest.raises(ValueError, match="--entries is 2, and there are 4 positions"):
        tool["make_known"](path, 3, 1, 2, 1)
    write_known(path, game, known)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        read_known(path, game)
    assert len(shipped_known(game)) == 0  # there is no need on small boards
