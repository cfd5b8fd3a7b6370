"""The search for Corso's values against plain minimax over the rules, and against itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis import Value
from ludarium.analysis.corso import SIZES, CorsoSolver, first_actions
from ludarium.analysis.corso.board import smallest_table
from ludarium.analysis.corso.kernels import Cells, board_record, new_workers
from ludarium.analysis.corso.solver import TableEntry
from ludarium.analysis.search import EndgameSolver
from ludarium.cli import main
from ludarium.envs import Position, make_game
from ludarium.training.exact_values import ValueBounds
from tests.analysis.corso_positions import minimax, position_of, random_position
from tests.games import after, children, random_game
from tests.kernels import compiled
from tests.processes import python

MEMORY = 1 << 25


@pytest.mark.parametrize("size", [2, 3])
def test_every_position_has_the_value_that_minimax_finds(size: int) -> None:
    game = make_game("corso", size=size)
    known: dict[tuple[bytes, int], int] = {}
    minimax(game.start(), known)
    positions = [position_of(game, cells, mover) for cells, mover in known]
    assert len(positions) == {2: 41 - 12, 3: 11_612 - 1_652}[size]
    answers = CorsoSolver(game, MEMORY).answer_all(positions)
    assert [answer.lead for answer in answers] == list(known.values())


@pytest.mark.parametrize("seed", range(25))
def test_late_positions_have_the_value_that_minimax_finds(seed: int) -> None:
    game = make_game("corso", size=5)
    position = random_position(game, seed, range(3, 6))
    lead = minimax(position, {})
    solver = CorsoSolver(game, MEMORY)
    assert solver.answer(position).lead == lead
    worth = solver.actions(position)
    assert set(worth) == set(position.legal_actions)
    assert max(answer.lead for answer in worth.values()) == lead
    for action, child in children(position).items():
        assert worth[action].lead == -minimax(child, {})
    leads = [answer.lead for answer in worth.values()]
    assert leads == sorted(leads, reverse=True)


@pytest.mark.parametrize(("lead", "best"), [(1, 0), (-1, 8)])
def test_a_win_is_played_with_the_least_effort_and_a_loss_with_the_most(lead, best, monkeypatch):
    """The effort of an action is the number of its cell."""

    def recall(_: CorsoSolver, child: Position) -> TableEntry:
        return TableEntry(-9, -lead, int(child.state.cells.argmax()), -1)

    monkeypatch.setattr(CorsoSolver, "recall", recall)
    solver = CorsoSolver(make_game("corso", size=3), MEMORY)
    answer = ValueBounds.exact(Value(lead, lead))
    assert solver.choices(make_game("corso", size=3).start(), answer) == [best]


@pytest.mark.parametrize(
    ("size", "leads"),
    [(2, {"a1": 2}), (3, {"a1": -3, "b1": 1, "b2": 3}), (4, {"a1": 0, "b1": 0, "b2": 0})],
)
def test_first_actions_of_small_boards(size: int, leads: dict[str, int]) -> None:
    game = make_game("corso", size=size)
    start = game.start()
    solver = CorsoSolver(game, MEMORY)
    assert [start.action_to_text(action) for action in first_actions(game)] == list(leads)
    assert solver.answer(start).lead == max(leads.values())
    for text, lead in leads.items():
        assert solver.answer(after(start, text)).lead == -lead


@pytest.mark.parametrize(
    "arguments",
    [{"memory": 1 << 13}, {"seed": 7}, {"eager": 1}, {"eager": 26}, {"threads": 3}],
    ids=str,
)
def test_values_do_not_depend_on_how_the_search_is_made(arguments: dict[str, int]) -> None:
    game = make_game("corso", size=4)
    positions = [random_position(game, seed, range(6, 12)) for seed in range(30)]
    usual = CorsoSolver(game, MEMORY).answer_all(positions)
    other = CorsoSolver(game, **{"memory": MEMORY, **arguments}).answer_all(positions)
    assert [answer.lead for answer in usual] == [answer.lead for answer in other]
    assert len({answer.lead for answer in usual}) > 5


def test_symmetric_positions_have_the_same_value_and_share_the_table() -> None:
    game = make_game("corso", size=5)
    position = random_position(game, 3, range(12, 15))
    solver = CorsoSolver(game, MEMORY)
    first = solver.answer(position)
    assert first.nodes > 100
    for symmetry in game.symmetries().actions:
        for mover in (0, 1):
            cells = position.state.cells[symmetry]
            if mover != position.mover:  # exchange the colours: 1 and 2, 3 and 4
                cells = np.array([0, 2, 1, 4, 3], np.int8)[cells]
            same = solver.answer(position_of(game, cells.tobytes(), mover))
            assert same.lead == first.lead
            assert same.nodes <= 4


def test_questions_about_the_lead_agree() -> None:
    game = make_game("corso", size=5)
    solver = CorsoSolver(game, MEMORY)
    for seed in range(20):
        position = random_position(game, seed, range(6, 11))
        lead = solver.answer(position).lead
        outcome = CorsoSolver(game, MEMORY).outcome(position)
        assert outcome.low == outcome.high == Value(np.sign(lead))
        assert solver.at_least(position, lead)
        assert not solver.at_least(position, lead + 1)
        *_, (last, _) = random_game(game, seed)
        lead = last.score if last.mover == 0 else -last.score
        assert solver.at_least(last, lead)
        assert not solver.at_least(last, lead + 1)


@pytest.mark.parametrize("size", [4, 5])
def test_the_search_of_every_game_finds_the_same(size: int) -> None:
    """It goes by proof numbers through the rules of the game: of this search it shares nothing."""
    game = make_game("corso", size=size)
    positions = [random_position(game, seed, range(5, 9)) for seed in range(20)]
    found, expected = (
        solver(game, MEMORY).answer_all(positions) for solver in (CorsoSolver, EndgameSolver)
    )
    assert [(each.low, each.high) for each in found] == [(each.low, each.high) for each in expected]
    assert len({each.lead for each in found}) > 5


def test_keys_tell_all_positions_apart_but_symmetric_ones() -> None:
    board = board_record(2, 16, 5)
    worker = new_workers(1, 5)
    keys = set()
    for number in range(5**4):
        digits = [number // 5**cell % 5 for cell in range(4)]
        sets = [
            sum(1 << cell for cell in range(4) if digits[cell] == content)
            for content in range(1, 5)
        ]
        keys.add(int(worker["keys"][0][compiled.write_keys(board, worker, Cells(*sets))]))
    fixed_by = 5**4 + 2 * 5 + 5**2 + 2 * 5**2 + 2 * 5**3  # turns, then reflections (Burnside)
    assert len(keys) == fixed_by // 8


@pytest.mark.parametrize("size", SIZES)
def test_scrambled_keys_stay_apart(size: int) -> None:
    board = board_record(size, 16, 11)
    largest = int(board["key_mask"][0])
    step = max(1, largest // 9_973)
    keys = list(range(0, largest + 1, step)) + list(range(largest - 500, largest + 1))
    scrambled = {int(compiled.scramble(board, key)) for key in keys}
    assert len(scrambled) == len(set(keys))
    assert min(scrambled) >= 0
    assert max(scrambled) <= largest


def test_finished_positions_have_the_lead_on_the_board() -> None:
    game = make_game("corso", size=3)
    position = game.start()
    while not position.is_over:
        position.play(int(position.legal_actions[0]))
    (answer,) = CorsoSolver(game, MEMORY).answer_all([position])
    assert answer.lead == position.score * (1 - 2 * position.mover)
    with pytest.raises(ValueError, match="the game is over"):
        CorsoSolver(game, MEMORY).actions(position)


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(ValueError, match="size 6 is out of reach"):
        CorsoSolver(make_game("corso", size=6))
    with pytest.raises(ValueError, match=f"give at least {smallest_table(5)}"):
        CorsoSolver(make_game("corso"), memory=smallest_table(5) - 1)
    for memory in (1 << 55, 1 << 70):
        with pytest.raises(ValueError, match=f"a table of {memory} bytes is more memory than"):
            CorsoSolver(make_game("corso", size=3), memory=memory)
    solver = CorsoSolver(make_game("corso", size=4), MEMORY)
    with pytest.raises(ValueError, match="this solves"):
        solver.answer(make_game("corso", size=3).start())


@pytest.mark.slow
def test_compiled_code_from_the_disk_cache_works(tmp_path: Path) -> None:
    """The search is recursive."""
    program = (
        "from ludarium.analysis.corso import CorsoSolver\n"
        "from ludarium.envs import make_game\n"
        "game = make_game('corso', size=3)\n"
        "print(CorsoSolver(game, 1 << 20).answer(game.start()))\n"
    )
    for _ in range(2):
        done = python(program, environment={"LUDARIUM_CODE_FOLDER": str(tmp_path)})
        assert done.stdout.strip() == "win by 3", done.stderr


def test_solve_prints_first_actions(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", "corso", "--option", "size=3", "--memory", "1MiB"]
    assert main([*words, "--score"]) == 0
    text = capsys.readouterr().out
    assert re.search("a1 +loss by 3", text)
    assert "value of the start for player_0: win by 3" in text
    told = [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) +\d+\.\d$", text, re.M)]
    assert f"\n{sum(told):,} positions in " in text
    assert "table 1 MiB, " in text
    assert main([*words, "--first-move", "b1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["first_actions"]) == ["b1"]
    assert found["first_actions"]["b1"]["value"] == "win"
    assert found["first_actions"]["b1"]["low"] == {"outcome": 1}  # the lead was not asked for
    assert 0 < found["table_filled"] < 0.003  # a share: some positions of 1 MiB
    assert found["start"] is None  # other first actions may be better
