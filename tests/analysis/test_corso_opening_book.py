"""Corso's opening book and perfect play, against minimax and against the rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis.corso import CorsoSolution, CorsoSolver, OpeningBook
from ludarium.analysis.corso import solution as solutions
from ludarium.analysis.corso.known import first_positions
from ludarium.analysis.corso.opening_book import shipped_opening_book
from ludarium.analysis.corso.solution import LEAD_LIMIT
from ludarium.cli import main
from ludarium.envs import Game, Position, make_game
from tests.analysis.corso_positions import minimax, position_of, random_position
from tests.games import after, children, states_of

MEMORY = 1 << 25
PLIES = 4


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("corso", size=3)


@pytest.fixture(scope="module")
def book(game: Game) -> OpeningBook:
    return OpeningBook.build(CorsoSolver(game, MEMORY), PLIES)


def followed(book: OpeningBook, position: Position) -> list[tuple[Position, bool]]:
    """All positions that can arise from one while the opening book lasts, and whether it lasts."""
    advice = None if position.is_over else book.advice(position)
    found = [(position, advice is not None)]
    if advice is not None:
        child = after(position, advice.action)
        for reply in [child] if child.is_over else children(child).values():
            found += followed(book, reply)
    return found


def test_the_opening_book_knows_what_minimax_knows(game: Game, book: OpeningBook) -> None:
    known: dict[tuple[bytes, int], int] = {}
    minimax(game.start(), known)
    kept = set()
    for cells, mover in known:
        position = position_of(game, cells, mover)
        advice = book.advice(position)
        if advice is not None:
            lead = minimax(position, known)
            assert advice.won == (lead > 0)
            if advice.won:
                assert minimax(after(position, advice.action), known) < 0
            kept.add(book._number(position))
    assert len({number for number, _ in kept}) == len(book) > 10


@pytest.mark.parametrize("first", ["", "a1", "b1", "b2"])
def test_the_opening_book_has_all_that_can_arise(game: Game, book: OpeningBook, first: str) -> None:
    position = after(game.start(), *filter(None, [first]))
    lines = followed(book, position)
    assert sum(lasts for _, lasts in lines) > 2
    must_win = minimax(position, {}) > 0
    for end, lasts in lines:
        assert lasts or end.is_over or end.ply >= PLIES
        if must_win:
            assert minimax(end, {}) > 0 or end.rewards[position.mover] > 0


def test_a_strategy_for_all_plies_lasts_to_the_end(game: Game) -> None:
    book = OpeningBook.build(CorsoSolver(game, MEMORY), 100)
    lines = followed(book, game.start())
    ends = [position for position, lasts in lines if not lasts]
    assert len(ends) > 50
    assert all(position.is_over for position in ends)
    assert all(position.rewards[0] == 1 for position in ends)


def test_symmetric_positions_get_symmetric_actions(game: Game, book: OpeningBook) -> None:
    lines = followed(book, game.start())
    position = next(p for p, lasts in lines if lasts and p.ply == 2)
    action = book.advice(position).action
    for symmetry in game.symmetries().actions:
        cells = position.state.cells[symmetry]
        image = position_of(game, cells.tobytes(), position.mover)
        advice = book.advice(image)
        # Cells that exchange places leave the position as it is, so another may be named.
        assert book._number(image)[0] == book._number(position)[0]
        one, other = after(image, advice.action), after(position, action)
        assert book._number(one)[0] == book._number(other)[0]


def test_the_check_finds_nothing_wrong(game: Game, book: OpeningBook) -> None:
    check = book.check(CorsoSolver(game, MEMORY, seed=1, eager=2))
    assert check.won + check.lost == len(book)
    assert min(check.won, check.lost, check.beyond, check.finished) > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda words: words[:-1], "there is no entry for this position"),
        (lambda words: words | np.uint64(1), "does not win here"),  # all entries say won
        (lambda words: words & ~np.uint64(1), "said to be lost, but it is a win|does not win here"),
    ],
)
def test_the_check_notices(
    game: Game,
    book: OpeningBook,
    change: Callable[[np.ndarray], np.ndarray],
    message: str,
) -> None:
    changed = OpeningBook(game, change(book._words), book.plies)
    with pytest.raises(ValueError, match=message):
        changed.check(CorsoSolver(game, MEMORY))


def test_the_check_notices_an_action_that_does_not_win(game: Game, book: OpeningBook) -> None:
    start = game.start()
    number, _ = book._number(start)
    words = book._words.copy()
    place = int(np.flatnonzero(words // np.uint64(50) == number)[0])
    words[place] = number * 50 + 2 * start.text_to_action("a1") + 1  # loses
    with pytest.raises(ValueError, match=r"does not win here|there is no entry"):
        OpeningBook(game, words, book.plies).check(CorsoSolver(game, MEMORY))


def test_an_opening_book_is_kept_in_a_file(game: Game, book: OpeningBook, tmp_path: Path) -> None:
    path = book.save(tmp_path / "3x3.table")
    loaded = OpeningBook.load(path, game)
    assert (loaded._words == book._words).all()
    assert loaded.plies == book.plies
    with pytest.raises(ValueError, match=r"3x3\.table .* is for something else: options"):
        OpeningBook.load(path, make_game("corso", size=4))
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged"):
        OpeningBook.load(path, game)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(ValueError, match="no draws"):
        OpeningBook.build(CorsoSolver(make_game("corso", size=4), MEMORY), 2)
    with pytest.raises(ValueError, match="1 or more plies, not 0"):
        OpeningBook.build(CorsoSolver(make_game("corso", size=3), MEMORY), 0)


def test_a_limit_ends_a_search_and_spoils_nothing() -> None:
    game = make_game("corso", size=5)
    solver = CorsoSolver(game, MEMORY)
    position = random_position(game, 8, range(15, 17))
    exact = CorsoSolver(game, MEMORY).answer(position)
    assert exact.lead is not None
    assert exact.nodes > 2000
    for limit in range(1, exact.nodes, exact.nodes // 50):
        answer = solver.answer(position, limit=limit)
        assert answer.nodes <= limit
        assert answer.low <= exact.low <= answer.high
        known = solver.recall(position)
        assert known.low <= exact.lead <= known.high
    assert solver.answer(position).lead == exact.lead


@pytest.mark.parametrize("size", [2, 3])
def test_perfect_play_of_every_position_of_small_boards(size: int) -> None:
    game = make_game("corso", size=size)
    known: dict[tuple[bytes, int], int] = {}
    minimax(game.start(), known)
    positions = [position_of(game, cells, mover) for cells, mover in list(known)[:2000]]
    solution = CorsoSolution(game, MEMORY)
    states = states_of(positions)
    best = solution.best_actions(states)
    for position, chosen in zip(positions, best, strict=True):
        actions = np.flatnonzero(chosen)
        assert len(actions) > 0
        for action in actions:
            assert -minimax(after(position, action), known) == minimax(position, known)


@pytest.mark.parametrize("lead_limit", [LEAD_LIMIT, 1])
@pytest.mark.parametrize("size", [4, 5])
def test_perfect_play_keeps_the_value(
    size: int, lead_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solutions, "LEAD_LIMIT", lead_limit)
    game = make_game("corso", size=size)
    solution = CorsoSolution(game, MEMORY)
    judge = CorsoSolver(game, MEMORY, seed=3)
    outcomes = set()
    for seed in range(25):
        position = random_position(game, seed, range(5, 12))
        outcome = judge.outcome(position).outcome
        outcomes.add(outcome)
        (best,) = solution.best_actions(position.states)
        for action in np.flatnonzero(best):
            assert judge.outcome(after(position, action)).reversed().outcome == outcome
    assert outcomes == ({-1, 1} if size == 5 else {-1, 0, 1})


def test_what_is_known_answers_outside_the_opening_book() -> None:
    game = make_game("corso", size=5)
    solution = CorsoSolution(game, MEMORY)
    outside = [each for each in first_positions(game, 2) if solution.book.advice(each) is None]
    assert len(outside) == 71
    assert all(solution.solver.outcome(each, 10).outcome in (-1, 1) for each in outside)
    solution.best_actions(states_of(outside[:10]))
    assert solution.solver.nodes < 10 * (1 << 19)  # without what is known, millions each


def test_play_goes_on_where_the_search_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solutions, "OUTCOME_LIMIT", 1000)
    game = make_game("corso", size=5)
    solution = CorsoSolution(game, MEMORY)
    position = after(game.start(), "c3", "b2", "d4")
    assert solution.solver.outcome(position, 1000).outcome is None
    (best,) = solution.best_actions(position.states)
    assert best.any()
    assert not (best & ~position.mask.astype(bool)).any()


def test_perfect_play_follows_the_shipped_book_in_either_seat() -> None:
    solution = CorsoSolution(make_game("corso"), MEMORY)
    start = solution.game.start()
    positions = [start, *children(start).values()]
    advice = [solution.book.advice(each) for each in positions]
    assert [each.won for each in advice] == [True] + 25 * [False]
    best = solution.best_actions(states_of(positions))
    assert best.sum(axis=1).tolist() == 26 * [1]
    assert best.argmax(axis=1).tolist() == [each.action for each in advice]


def test_the_shipped_strategy_wins_where_it_ends() -> None:
    game = make_game("corso", size=5)
    book = shipped_opening_book(game)
    lots = np.random.default_rng(5)
    solver = CorsoSolver(game, MEMORY, seed=5, eager=3)
    for _ in range(5):
        position = game.start()
        while not position.is_over and (advice := book.advice(position)) is not None:
            assert advice.won
            position.play(advice.action)
            position.play(int(lots.choice(position.legal_actions)))
        assert position.ply >= book.plies
        assert solver.outcome(position).outcome == 1


def test_the_command_makes_and_checks_a_strategy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "3x3.table"
    words = ["solve", "corso", "--option", "size=3", "--opening-book", str(path), "--plies", "4"]
    assert main([*words, "--memory", "1MiB", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    book = OpeningBook.load(path, make_game("corso", size=3))
    assert found["won"] + found["lost"] == len(book)
    assert found["bytes"] == path.stat().st_size
    assert main([*words, "--memory", "1MiB"]) == 0
    assert "positions won" in capsys.readouterr().out
    assert main([*words, "--score"]) != 0
    assert "--opening-book takes neither" in capsys.readouterr().err
