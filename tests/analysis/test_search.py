"""The generic search against plain minimax over the rules, other solvers, and itself."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from ludarium.analysis import ValueBounds
from ludarium.analysis.osiron import OsironSolution
from ludarium.analysis.search import EndgameSolver
from ludarium.analysis.search.solver import key_masks
from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.position import contents_of
from tests.games import ALL_GAMES, children, garbage, random_game, slow_but
from tests.progress import Told

MEMORY = 1 << 22

#: A result for player 0 (+1, 0, -1), then the score of a game that is won.
Result = tuple[int, int]
#: Positions with their results, by the contents of their records.
Known = dict[bytes, tuple[Position, Result]]


class TooManyError(Exception):
    """Minimax would take too long."""


def minimax(position: Position, known: Known, most: int) -> Result:
    """The result with best play, by the rules of the game alone; ``known`` is filled."""
    if position.is_over:
        result = position.rewards[0]
        return result, result and position.score
    key = contents_of(position.states)
    if key not in known:
        results = [minimax(child, known, most) for child in children(position).values()]
        known[key] = position, min(results) if position.mover else max(results)
        if len(known) > most:
            raise TooManyError
    return known[key][1]


def played(game: Game, seed: int) -> list[Position]:
    """The positions of a random game in which somebody had to act."""
    return [position.copy() for position, action in random_game(game, seed) if action is not None]


def with_results(game: Game, games: int, most: int) -> list[tuple[Position, Result]]:
    """All positions that can be reached from the last ones of random games, with their results.

    From each game's end on, while there are no more than ``most`` of them.
    """
    everything: Known = {}
    for seed in range(games):
        known: Known = {}
        try:
            for position in reversed(played(game, seed)):
                minimax(position, known, most)
        except TooManyError:
            pass
        everything |= known
    return list(everything.values())


def result_of(answer: ValueBounds, mover: int) -> Result | int:
    """What an answer says for player 0, without a score if the search does not count."""
    sign = 1 - 2 * mover
    assert answer.is_decided
    assert answer.outcome is not None
    if answer.lead is None:
        return answer.outcome * sign
    return answer.outcome * sign, answer.lead * sign


#: What a test needs that is about the search, not about a game: small, with leads and draws.
SMALL = make_game("corso", size=4)

#: Games with how many random ones to play, and how many positions minimax may look at in each.
CASES: dict[str, tuple[Callable[[], Game], int, int]] = {
    "tictactoe": (lambda: ALL_GAMES["tictactoe"](), 1, 6000),
    "oddity": (lambda: ALL_GAMES["oddity"](), 6, 6000),
    "corso": (lambda: make_game("corso"), 8, 400),
    "onyx": (lambda: make_game("onyx", size=6), 8, 400),
    "onyx-capped": (lambda: make_game("onyx", size=6, max_plies=21), 4, 400),
    "obsidio": (lambda: make_game("obsidio", size=7), 8, 400),
    "osiron": (lambda: make_game("osiron", setup="random", repetition=0, max_plies=9), 4, 400),
    "obelisk": (lambda: make_game("obelisk"), 8, 200),
    "obelisk-topple": (lambda: make_game("obelisk", scoring="topple", hourglass=True), 8, 200),
}


@pytest.mark.parametrize("case", slow_but(["tictactoe"], CASES))  # others compile for seconds
def test_late_positions_have_the_value_that_minimax_finds(case: str) -> None:
    make, games, most = CASES[case]
    game = make()
    expected = with_results(game, games, most)
    assert len(expected) > 500
    assert len({result for _, result in expected}) > 1
    positions = [position for position, _ in expected]
    for leads in (True, False):
        answers = EndgameSolver(game, MEMORY).answer_all(positions, leads=leads)
        for (position, result), answer in zip(expected, answers, strict=True):
            counts = leads and game.max_score > 0
            assert result_of(answer, position.mover) == (result if counts else result[0])


@pytest.mark.parametrize(
    "make",
    [
        ALL_GAMES["tictactoe"],
        ALL_GAMES["oddity"],
        lambda: SMALL,
        pytest.param(lambda: make_game("obelisk"), marks=pytest.mark.slow),
    ],
    ids=["tictactoe", "oddity", "corso", "obelisk"],
)
def test_actions_are_worth_what_comes_after_them(make: Callable[[], Game]) -> None:
    game = make()
    solver = EndgameSolver(game, memory=MEMORY)
    for position, result in with_results(game, 3, 300)[::10]:
        answers = solver.actions(position)
        assert set(answers) == set(position.legal_actions)
        order = [(answer.low, answer.high) for answer in answers.values()]
        assert order == sorted(order, reverse=True)
        known: Known = {}
        for action, child in children(position).items():
            expected = minimax(child, known, 1000)
            found = result_of(answers[action], position.mover)
            assert found == (expected if game.max_score else expected[0])
        best = result_of(ValueBounds.best(answers.values()), position.mover)
        assert best == (result if game.max_score else result[0])


@pytest.mark.slow
def test_osiron_is_won_within_the_ply_cap_where_its_table_says_so() -> None:
    endless = make_game("osiron", setup="random", repetition=0)
    capped = make_game("osiron", setup="random", repetition=0, max_plies=7)
    solution = OsironSolution.of(endless)
    solver = EndgameSolver(capped, memory=MEMORY)
    outcomes = []
    for seed in range(60):
        position = capped.start(seed)
        value = solution.value(endless.start(seed))
        is_near = value.plies is not None and value.plies <= 7
        outcomes.append(value.outcome if is_near else 0)
        assert solver.answer(position).outcome == outcomes[-1]
    assert len(set(outcomes)) > 1


@pytest.mark.parametrize("arguments", [{"memory": 1 << 12}, {"seed": 7}, {"threads": 3}], ids=str)
def test_values_do_not_depend_on_how_the_search_is_made(arguments: dict[str, int]) -> None:
    game = SMALL
    positions = [played(game, seed)[-6] for seed in range(12)]
    usual = EndgameSolver(game, memory=MEMORY).answer_all(positions)
    other = EndgameSolver(game, **{"memory": MEMORY, **arguments}).answer_all(positions)
    assert all(answer.is_decided for answer in usual + other)
    assert [answer.low for answer in usual] == [answer.low for answer in other]
    assert len({answer.low for answer in usual}) > 4
    assert any(answer.nodes > 300 for answer in other)


def test_a_limit_leaves_bounds_that_hold() -> None:
    undecided = 0
    for seed in range(8):
        position = played(SMALL, seed)[-6]
        exact = EndgameSolver(SMALL, memory=MEMORY).actions(position)
        bounded = EndgameSolver(SMALL, memory=MEMORY)
        some = bounded.actions(position, limit=500)
        assert bounded.nodes < 600
        for action, answer in some.items():
            assert answer.low <= exact[action].low <= answer.high
            undecided += not answer.is_decided
        nothing = EndgameSolver(SMALL, memory=MEMORY).answer(position, limit=0)
        assert nothing.outcome is None
        assert str(nothing) == "not decided"
    assert undecided > 10


def test_a_search_that_is_told_to_stop_says_what_it_knows() -> None:
    game = make_game("corso", size=5)  # takes this search hours, so the word comes in time
    solver = EndgameSolver(game, memory=MEMORY, threads=2)

    def stop_searching(told: Told) -> None:
        if solver.nodes > 0:
            told.stop()

    known = solver.actions(game.start(), progress=Told(stop_searching))
    assert set(known) == set(game.start().legal_actions)
    assert not any(answer.is_decided for answer in known.values())
    assert solver.answer(played(game, 1)[-1]).is_decided  # and can be asked again


def test_an_interrupt_ends_the_search_and_leaves_the_solver_usable() -> None:
    game = make_game("corso", size=5)
    solver = EndgameSolver(game, memory=MEMORY, threads=2)

    def interrupt(told: Told) -> None:
        if solver.nodes > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.actions(game.start(), limit=10**12, progress=Told(interrupt))
    nodes = solver.nodes
    time.sleep(0.1)
    assert solver.nodes == nodes  # nobody searches on
    position, result = with_results(game, 1, 50)[-1]
    assert result_of(solver.answer(position), position.mover) == result


@pytest.mark.parametrize("name", ALL_GAMES)
def test_log_fields_play_no_part(name: str) -> None:
    game = ALL_GAMES[name]()
    for position, action in random_game(game, 1, max_plies=60):
        other = position.copy()
        for field in game.log_fields:
            other.states[field] = 0
        np.testing.assert_array_equal(other.mask, position.mask)
        if action is None:
            continue
        after = position.copy()
        for each in (after, other):
            each.play(action)
        for field in set(game.state_dtype.names or ()) - set(game.log_fields):
            np.testing.assert_array_equal(after.states[field], other.states[field])


def test_keys_are_of_the_fields_and_not_of_what_lies_between_them() -> None:
    game = make_game("obelisk")
    masks = key_masks(game)
    states = garbage(game.new_states(2), 5)
    for name in set(game.state_dtype.names or ()) - set(game.log_fields):
        states[name][1] = states[name][0]
    words = states.view(np.uint32).reshape(2, -1) & masks
    assert states[0].tobytes() != states[1].tobytes()
    np.testing.assert_array_equal(words[0], words[1])
    states["active"][1] ^= 1
    words = states.view(np.uint32).reshape(2, -1) & masks
    assert (words[0] != words[1]).any()


def test_what_cannot_be_searched_is_refused() -> None:
    game = SMALL
    with pytest.raises(ValueError, match="64 bytes or more, not 63"):
        EndgameSolver(game, memory=63)
    with pytest.raises(ValueError, match="threads are 1 or more, not 0"):
        EndgameSolver(game, threads=0)
    solver = EndgameSolver(game, memory=MEMORY)
    with pytest.raises(ValueError, match="this solves Corso"):
        solver.answer(make_game("corso", size=3).start())
    with pytest.raises(ValueError, match="not -1"):
        solver.answer(game.start(), limit=-1)
    position = played(game, 0)[-1]
    *_, (over, _) = random_game(game, 0)
    with pytest.raises(ValueError, match="the game is over"):
        solver.actions(over)
    assert solver.answer(over).outcome == over.rewards[over.mover] != 0
    assert solver.actions(position)
