"""Exact tests: which positions are hard, files of them, and those that come along."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from ludarium.analysis import ILLEGAL
from ludarium.analysis.exact_tests import (
    FEW,
    make_exact_test,
    positions,
    read_exact_test,
    shipped_test,
    write_exact_test,
)
from ludarium.analysis.exact_tests.positions import ExactPosition, ExactTest
from ludarium.analysis.probing import prober_of
from ludarium.base.files import MEGABYTE
from ludarium.cli import main
from ludarium.envs import Position, make_game
from ludarium.envs.engine.position import contents_of
from ludarium.training.agents import make_agent
from tests.games import after, children
from tests.oddity import Oddity
from tests.progress import Told
from tests.tictactoe import TicTacToe

#: Games and options that have a hard test.
SHIPPED = [
    ("corso", {}),
    ("corso", {"size": 7}),
    ("obelisk", {}),
    ("obsidio", {"size": 7}),
    ("onyx", {"size": 6}),
    ("onyx", {"size": 8, "start": "open"}),
    ("osiron", {}),
    ("osiron", {"setup": "alternating"}),
]


@pytest.fixture(scope="module")
def corso_test():
    return make_exact_test(make_game("corso", size=3), 40, seed=5)


@pytest.fixture
def file(corso_test, tmp_path):
    path = tmp_path / "corso.test.jsonl"
    write_exact_test(path, corso_test)
    return path


def test_actions_lead_to_the_positions(corso_test):
    for state, each in zip(corso_test.states, corso_test.positions, strict=True):
        position = after(corso_test.game.start(each.seed), *each.actions)
        assert contents_of(position.states[0]) == contents_of(state)


def test_positions_are_hard_as_the_account_says():
    test, kinds = make_exact_test(make_game("corso", size=4), 250, seed=6), Counter[str]()
    for each in test.positions:
        best = max(each.results.values())
        optimal = {action for action, result in each.results.items() if result == best}
        ends = [after(each.position, action).is_over for action in optimal]
        unseen = 0
        for action in each.results.keys() - optimal:
            child = after(each.position, action)
            replies = () if child.is_over else children(child).values()
            refuted = any(end.is_over and end.rewards[child.mover] == 1 for end in replies)
            unseen += not child.is_over and not refuted
        if 5 * len(optimal) > len(each.results):
            kind = "many good ones"
        elif best == 1 and any(ends):
            kind = "won at once"
        else:
            kind = "hard" if unseen else "others lose at once"
        assert each.is_hard == (kind == "hard")
        kinds[kind] += 1
    assert min(kinds["hard"], kinds["many good ones"]) > 50
    assert kinds["won at once"]
    only_hard = make_exact_test(test.game, 9, seed=6, only_hard=True)
    assert all(each.is_hard for each in only_hard.positions)


def test_up_to_four_positions_are_drawn_of_each_game_which_is_searched_far_enough(monkeypatch):
    played, added, told, game = [], [], Told(), make_game("corso", size=3)
    play, find = positions.play_games, positions.exact_positions

    def spied(*given):
        played.append(play(*given))
        return played[-1]

    def each_game(*given):
        for each in find(*given):
            before = sum(told.steps)
            yield each
            added.append(sum(told.steps) - before)

    monkeypatch.setattr(positions, "play_games", spied)
    monkeypatch.setattr(positions, "exact_positions", each_game)
    test = make_exact_test(game, 120, seed=3, progress=told)
    assert (told.begun, sum(told.steps)) == ([("positions with exact results", 120)], 120)
    assert max(added) == 4
    assert {len(games) for games in played} == {32}
    assert {int(plies) for games in played for plies in games.opening_plies} == set(range(7))
    lines = [games.moves(number) for games in played for number in range(32)]
    for each in test.positions:
        assert any(line[: len(each.actions)] == [*each.actions] for line in lines)
    near = make_exact_test(game, 20, limit=40)
    assert test.states["ply"].min() == 0 < near.states["ply"].min()
    assert (test.made["seed"], near.made["seed"], near.made["limit"]) == (3, 0, 40)


def test_results_are_looked_up_where_a_table_has_them(monkeypatch):
    game = make_game("corso", size=3)

    def codes(states):
        masks = [Position.of_state(game, state).mask for state in states]
        return np.where(np.array(masks) == 1, 9 * (np.arange(9) % 3) - 9, ILLEGAL)

    table = SimpleNamespace(knows=lambda states: states["ply"] > 2, action_values=codes)
    monkeypatch.setattr(positions, "table_of", lambda _: table)
    test = make_exact_test(game, 20, seed=3)
    assert test.states["ply"].min() == 3
    signs = np.where(codes(test.states) == ILLEGAL, ILLEGAL, np.sign(codes(test.states)))
    np.testing.assert_array_equal(test.results, signs)


def test_a_wrong_action_whose_replies_only_draw_is_not_refuted_at_once():
    position = Oddity(max_plies=2).start(1)
    drawn, *lost = position.legal_actions.tolist()
    results = {drawn: 0} | dict.fromkeys(lost, -1)
    assert ExactPosition(position, 1, (), results).is_hard
    position = after(TicTacToe().start(), 0, 4, 1)  # what does not stop the row loses at once
    results = {action: -int(action != 2) for action in position.legal_actions.tolist()}
    assert not ExactPosition(position, 0, (), results).is_hard
    position = after(TicTacToe().start(), 0, 3, 1, 8)  # one wins at once, and no other loses so
    results = {action: int(action == 2) for action in position.legal_actions.tolist()}
    assert not ExactPosition(position, 0, (), results).is_hard


def test_files_keep_everything(corso_test, file):
    again = read_exact_test(file)
    assert again.game == corso_test.game
    assert again.made == corso_test.made
    order = {contents_of(state): index for index, state in enumerate(again.states)}
    indices = [order[contents_of(state)] for state in corso_test.states]
    assert sorted(indices) == list(range(len(corso_test)))
    np.testing.assert_array_equal(again.results[indices], corso_test.results)
    assert tuple(again.positions[index] for index in indices) == corso_test.positions
    write_exact_test(file.with_name("again"), again)
    assert file.with_name("again").read_bytes() == file.read_bytes()


def test_a_file_that_could_not_be_read_is_not_written(corso_test, tmp_path, monkeypatch):
    monkeypatch.setattr("ludarium.analysis.exact_tests.files._LARGEST_FILE", MEGABYTE + 99)
    with pytest.raises(ValueError, match=r"at most 99 fit: take fewer positions"):
        write_exact_test(tmp_path / "large.jsonl", corso_test)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_starts_that_are_drawn_are_kept(tmp_path):
    test = make_exact_test(make_game("osiron", setup="random"), 12, seed=1)
    assert len({each.seed for each in test.positions}) > 1
    write_exact_test(tmp_path / "test", test)
    again = read_exact_test(tmp_path / "test")
    assert {contents_of(state) for state in again.states} == {
        contents_of(state) for state in test.states
    }


@pytest.mark.slow
def test_actions_of_several_words_are_kept(tmp_path):
    game = make_game("obelisk")
    action = game.start(0).text_to_action("choose blue-x")
    position = after(game.start(0), action)
    drawn = dict.fromkeys(position.legal_actions.tolist(), 0)
    made = {"games_of": "nobody", "positions": "one"}
    test = ExactTest(game, (ExactPosition(position, 0, (action,), drawn),), made)
    write_exact_test(tmp_path / "test", test)
    assert read_exact_test(tmp_path / "test").positions == test.positions


def rewritten(file, change):
    """The file with its lines changed, and a checksum that fits."""
    import hashlib

    head, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    change(head, lines)
    body = "".join(json.dumps(line) + "\n" for line in lines)
    head["sha256"] = hashlib.sha256(body.encode()).hexdigest()
    file.write_text(json.dumps(head) + "\n" + body)


def leave_out(head, lines):
    entry = lines[0]["positions"][0]
    entry.pop(next(key for key in entry if key != "ply"))


def repeat_a_ply(head, lines):
    lines[0]["positions"].append(lines[0]["positions"][0])


def repeat_a_game(head, lines):
    lines.append(lines[0])


def name_twice(head, lines):
    entry = lines[0]["positions"][0]
    key = next(key for key in entry if key != "ply")
    entry[key].append(entry[key][0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head, lines: head.update(game="chess"), "chess"),
        (lambda head, lines: head.update(version=77), "version 77"),
        (lambda head, lines: head.update(format="another"), "format is 'another'"),
        (lambda head, lines: head.update(made={}), "made has no text as its games_of"),
        (lambda head, lines: lines[0].update(moves=["z9"]), "line 2: .*z9"),
        (lambda head, lines: lines[0].update(moves=[]), "does not reach ply"),
        (lambda head, lines: lines[0].update(seed=-1), "seed"),
        (
            lambda head, lines: lines[0].update(positions=[{}]),
            "a position has no whole number as its ply",
        ),
        (lambda head, lines: lines[0]["positions"][0].update(win=["b9"]), "b9"),
        (
            lambda head, lines: lines[0]["positions"][0].update(tie=[]),
            "has 'tie': .*; accepted: a list of moves under win, draw or loss",
        ),
        (leave_out, "each legal action"),
        (name_twice, "twice"),
        (repeat_a_ply, "line 2: the game has two positions at ply"),
        (repeat_a_game, "two of its positions are alike"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(file, change, message):
    rewritten(file, change)
    with pytest.raises(ValueError, match=message):
        read_exact_test(file)


def test_a_damaged_file_is_refused(file):
    file.write_text(file.read_text().replace("win", "loss", 1))
    with pytest.raises(ValueError, match="checksum"):
        read_exact_test(file)


@pytest.mark.parametrize(
    ("name", "options"),
    [SHIPPED[0], *(pytest.param(*each, marks=pytest.mark.slow) for each in SHIPPED[1:])],
)
def test_hard_tests_come_along(name, options):
    game = make_game(name, **options)
    path = shipped_test(game)
    test = read_exact_test(path)
    assert test.game == game
    assert len(test) >= 100
    assert test.made["positions"] == "hard"
    assert (test.optimal_mask.sum(axis=1) <= FEW * (test.results != ILLEGAL).sum(axis=1)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), SHIPPED)
def test_hard_tests_agree_with_the_prober(name, options):
    test = read_exact_test(shipped_test(make_game(name, **options)))
    prober = prober_of(test.game)
    for index in range(0, len(test), len(test) // 8):
        position = Position.of_state(test.game, test.states[index])
        for action, answer in prober.actions(position, 10_000_000, leads=False).items():
            assert answer.outcome == test.results[index, action]


def test_games_without_a_hard_test_say_so(capsys):
    assert shipped_test(make_game("corso", size=3)) is None
    assert main(["accuracy", "random", "--game", "corso", "--option", "size=3", "--test=hard"]) == 2
    assert "no hard test for Corso(size=3)" in capsys.readouterr().err


def test_the_command_keeps_and_reads_tests(tmp_path, capsys):
    file = str(tmp_path / "mine.jsonl")
    command = ["accuracy", "perfect", "--game", "corso", "--option", "size=3"]
    assert main([*command, "--positions", "20", "--only-choices", "--save", file]) == 0
    made = capsys.readouterr().out
    assert "20 positions (choices) of Corso(size=3) from games of random" in made
    assert "100.0 % (83.9 to 100.0)" in made
    assert "error of the value" not in made
    assert main([*command, "--test", file]) == 0
    assert capsys.readouterr().out == made
    assert main([*command, "--test", file, "--seed", "3"]) == 2
    assert "--seed is for new positions" in capsys.readouterr().err
    assert main(["accuracy", "random", "--game", "corso", "--test", file]) == 2
    assert "not of Corso(size=5)" in capsys.readouterr().err


@pytest.mark.slow
def test_several_numbers_of_simulations_are_rows(tmp_path, capsys):
    game = make_game("corso")
    test = make_exact_test(game, 3, agent=make_agent("random", game), limit=10_000)
    write_exact_test(tmp_path / "test", test)
    command = ["accuracy", "corso", "--test", str(tmp_path / "test"), "--json"]
    assert main([*command, "--simulations", "2,4"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = ["network alone", "corso:2", "corso:4"]
    assert [*data["agents"]] == [*data["value_errors"]] == rows
    assert main([*command, "--simulations", "0,2"]) == 0
    assert list(json.loads(capsys.readouterr().out)["agents"]) == ["corso:0", "corso:2"]
    assert main([*command, "--simulations", "2,x"]) == 2
    assert "not a list of numbers" in capsys.readouterr().err
