"""Reports on a game: right on games with known answers, one self-contained page, any game."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest

from ludarium.arena.report import Report, ReportSettings, compare_options, complexity, make_report
from ludarium.arena.report.charts import Row, dot_chart, share_chart, spot_radius
from ludarium.arena.report.drama import value_games
from ludarium.arena.report.games import random_games
from ludarium.arena.report.openings import _estimates, fit_chances
from ludarium.arena.report.pictures import packed
from ludarium.arena.report.replays import replays
from ludarium.arena.report.skill import skill
from ludarium.arena.report.study import begin_study, trained_agent
from ludarium.arena.report.summary import summarise
from ludarium.arena.report.value_sources import exact_evaluator
from ludarium.cli import main
from ludarium.cli.report import read_comparison
from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.rule import DRAW
from ludarium.training.agents import RandomAgent, read_agent
from ludarium.training.agents.checkpoints import NetworkSpec
from ludarium.training.evaluation import Games, match
from ludarium.training.evaluation.openings import Openings
from ludarium.training.evaluation.statistics import IntervalEstimate
from tests.games import children, slow_but, states_of
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

TINY = ReportSettings(
    games=20,
    playouts=(10, 40),
    rungs=(5, 10, 20),
    opening_playouts=50,
    value_playouts=20,
    positions=10_000,
)


@pytest.fixture(scope="module")
def tictactoe() -> Report:
    return make_report(TicTacToe(), TINY)


@pytest.fixture(scope="module")
def corso() -> Report:
    """Boards of 4 x 4 and 3 x 3."""
    return compare_options(make_game("corso", size=3), "size", [4, 3], TINY)


def play(game: Any, *moves: str) -> Games:
    """One game, and no more of it than these moves."""
    position = game.start(0)
    actions = []
    for move in moves:
        actions.append(position.text_to_action(move))
        position.play(actions[-1])
    agent = RandomAgent(game)
    opening = Openings(position.states, (0,), (tuple(actions),), (None,))
    games = match.play_games(game, (agent, agent), opening)  # played on to the end
    return replace(
        games,
        players=("test", "test"),
        actions=games.actions[:, : len(actions)],
        plies=np.array([len(actions)]),
        outcomes=np.array([position.outcome]),
    )


# Figures that are known.


def test_tictactoe_is_counted_and_drawn_with_perfect_play(tictactoe: Report) -> None:
    data = tictactoe.data
    counted = data["complexity"]["counted"]
    assert data["complexity"]["positions"] == 5478
    assert counted["positions_by_ply"] == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    assert counted["paths_by_ply"][:6] == [1, 9, 72, 504, 3024, 15120]
    assert data["balance"]["perfect"] == 0
    assert data["openings"]["perfect_wins_draws_losses"] == [0, 9, 0]
    assert [len(move["moves"]) for move in data["openings"]["moves"]] == [4, 4, 1]


def test_the_shortest_game_is_found_where_all_are_drawn() -> None:
    study = begin_study(TicTacToe(), TINY)
    sample = random_games(TicTacToe(), 20, seed=1)
    assert sample.plies[0] > sample.plies.min()
    study.samples = {"random": replace(sample, outcomes=np.full(20, DRAW, np.int8))}
    shortest = replays(study, value_games(study))[0]
    assert shortest["why"][0] == "the shortest game"
    assert len(shortest["actions"]) == sample.plies.min()


def test_the_shortest_game_is_called_decided_where_drawn_ones_are_shorter() -> None:
    study = begin_study(TicTacToe(), TINY)
    sample = random_games(TicTacToe(), 20, seed=1)
    outcomes = np.where(sample.plies == sample.plies.min(), DRAW, sample.outcomes)
    study.samples = {"random": replace(sample, outcomes=outcomes.astype(np.int8))}
    shortest = replays(study, value_games(study))[0]
    assert shortest["why"][0] == "the shortest decided game"
    assert len(shortest["actions"]) == sample.plies[outcomes != DRAW].min() > sample.plies.min()


def test_an_agent_that_is_on_the_ladder_meets_each_neighbour_once() -> None:
    study = begin_study(TicTacToe(), replace(TINY, agent="uct:20"))
    matches = skill(study)["matches"]
    assert [match["player"] for match in matches] == ["uct:5", "uct:10", "uct:20"]
    assert matches[0]["score"]["value"] > 0.5  # against random play


@pytest.mark.parametrize("agent", ["random", "uct:10"])
def test_a_weak_player_of_every_report_is_not_its_strongest(agent: str) -> None:
    with pytest.raises(ValueError, match=f"{agent} is one of the weak players"):
        replace(TINY, agent=agent)
    plies = {10.0: 400, 30.0: 400, 33.0: 360, 90.0: 130, 999.0: 40}
    assert {n: ReportSettings().for_plies(n).games for n in plies} == plies


def test_a_position_of_very_long_games_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complexity, "_OBSERVED", 1)
    study = begin_study(TicTacToe(), TINY)
    assert complexity.complexity(study)["positions_at_most"]["observed_positions"] > 0


def test_events_are_counted_from_records() -> None:
    corso = make_game("corso", size=3)
    names = list(corso.event_names)
    counts = dict(zip(names, play(corso, "a1", "a2", "c3", "a2!").events[0], strict=True))
    assert counts == {
        "opponent's marble taken": 1,
        "opponent's dye taken": 0,
        "expansion": 1,
        "chain reaction": 1,
        "marble set off by another": 1,
    }
    onyx = make_game("onyx", size=6, start="open", swap_rule=True)
    counts = dict(zip(onyx.event_names, play(onyx, "a1", "swap", "ab23").events[0], strict=True))
    assert counts == {
        "pair captured": 0,
        "two pairs captured at once": 0,
        "midpoint taken": 1,
        "swap": 1,
    }


@pytest.mark.parametrize("name", slow_but(["corso"], GAMES))
def test_every_game_names_its_events_and_spots(name: str) -> None:
    """Counts are whole, never negative, and at least one rule comes into play at random."""
    game = make_game(name)
    sample = random_games(game, 2, seed=1)
    assert sample.events.shape == (2, len(game.event_names))
    assert (sample.events >= 0).all()
    assert sample.events.any()
    spots = game.action_spots()
    if spots is not None:
        assert spots.shape == (game.num_actions, 2)
        assert spot_radius(spots) > 0


def last_states(sample: Games) -> np.ndarray:
    """How each game ended."""
    states = sample.starts()
    for _, playing, _, after in sample.replay():
        states[playing] = after
    return states


def counted(sample: Games, *names: str) -> np.ndarray:
    """How often any of these events came in each game."""
    places = [list(sample.game.event_names).index(name) for name in names]
    return sample.events[:, places].sum(axis=1)


def test_events_add_up_to_what_lies_on_the_board() -> None:
    """Stones, tokens and blocks at the end are those that were placed, less those captured."""
    onyx = random_games(make_game("onyx", size=6, swap_rule=True), 20, seed=2)
    stones = ((last_states(onyx)["board"] & 3) != 0).sum(axis=1)
    placed = onyx.plies - counted(onyx, "swap")
    assert (stones == 8 + placed - 2 * counted(onyx, "pair captured")).all()
    assert counted(onyx, "pair captured").any()

    obelisk = random_games(make_game("obelisk"), 10, seed=2)
    logged = last_states(obelisk)["logged"]
    assert (counted(obelisk, "block placed", "black block placed") == logged).all()


# Estimates.


def test_calibration_follows_the_games() -> None:
    """Estimates of 60 and 40 % that are 90 and 10 % in play: those between move along."""
    estimates = [IntervalEstimate(value, value, value, 1) for value in (0.6, 0.5, 0.4)]
    points, games = np.array([180.0, 20.0]), np.array([200, 200])
    found = fit_chances(estimates, [0, 2], points, games)
    assert found[0].value == pytest.approx(0.9, abs=0.03)
    assert found[1].value == pytest.approx(0.5, abs=0.03)
    assert found[2].low < 0.1 < found[2].high
    assert found[1].high - found[1].low < 0.3
    assert [each.count for each in found] == [200, 400, 200]
    vague = [replace(each, low=each.value - 0.2, high=each.value + 0.2) for each in estimates]
    middle = fit_chances(vague, [0, 2], points, games)[1]
    assert middle.high - middle.low > 0.4
    hardly = fit_chances(estimates, [0], np.array([0.5]), np.array([1]))
    assert hardly[2].value == pytest.approx(0.4, abs=0.02)  # as it was estimated


def test_a_move_that_was_misjudged_goes_by_its_games() -> None:
    """As c1 in Corso, which the trained agent thinks good and loses with."""
    estimates = [IntervalEstimate(value, value, value, 1) for value in (0.8, 0.75, 0.7, 0.65)]
    points, games = np.array([95.0, 12.0, 90.0]), np.array([100, 100, 100])
    found = fit_chances(estimates, [0, 1, 2], points, games)
    assert found[0].value == pytest.approx(0.95, abs=0.03)
    assert found[1].value == pytest.approx(0.12, abs=0.05)
    assert found[3].high - found[3].low > 0.5  # so little is known of the one not played


def test_searches_of_first_moves_differ_by_a_spread_that_all_share() -> None:
    found = _estimates(np.array([[0.4, 0.6], [0.1, 0.3], [0.2, 0.2]]), [[0], [1, 2]])
    spread = ((2 * 0.1**2 + 0.1**2 + 0.1**2) / (1 + 3)) ** 0.5
    for each, value, count in zip(found, (0.5, 0.2), (2, 4), strict=True):
        expected = value + 1.96 * spread / count**0.5 * np.array([0, -1, 1])
        np.testing.assert_allclose([each.value, each.low, each.high], expected, atol=1e-4)


def test_a_table_tells_of_each_position_how_it_ends_for_player_0(monkeypatch) -> None:
    start = TicTacToe().start()
    every = partial(np.full_like, fill_value=5, dtype=np.int8)  # known, and won by the mover
    table = SimpleNamespace(source="a table", knows=every, values=every)
    monkeypatch.setattr("ludarium.arena.report.value_sources.table_of", lambda _: table)
    found = exact_evaluator(start.game, SimpleNamespace(values=None))
    assert found.values(states_of([start, children(start)[4]])).tolist() == [1, -1]


# Mirrors, swaps, names.


def test_settings_of_trained_agents_are_replaced() -> None:
    numbered, timed = read_agent("corso:128"), read_agent("corso?time=1ms&c_puct=2&lcb=2")
    assert isinstance(numbered, NetworkSpec)
    assert isinstance(timed, NetworkSpec)
    assert str(numbered.drawing(0.3)) == "corso:128?temperature=0.3"
    assert numbered.drawing(0.3).drawing(0.5) == numbered.drawing(0.3)
    assert str(numbered.searching(0)) == str(timed.searching(0)) == "corso:0"
    assert str(timed.searching(16)) == "corso:16?algorithm=puct&c_puct=2"
    assert str(timed.drawing(0.3)) == "corso?time=1ms&temperature=0.3&c_puct=2"
    study = begin_study(TicTacToe(), TINY)
    assert str(study.varied_player) == study.strong_name == "uct:40"
    assert replace(study, agent=numbered).varied_player == numbered.drawing(0.3)
    learnt = ({}, {"swap_rule": True}, {"start": "open"})
    found = [trained_agent(make_game("onyx", **options)) is not None for options in learnt]
    assert found == [True, True, False]


# The page and the figures.


@pytest.mark.slow
def test_the_page_is_well_formed_and_needs_nothing_else(tictactoe: Report, corso: Report) -> None:
    for report in (tictactoe, corso):
        html = report.html
        minidom.parseString(html.removeprefix("<!DOCTYPE html>"))  # every element is closed
        assert not re.search(r"\b(src|href|data)=", html)
        assert "@import" not in html
        assert html.count("http") == html.count("http://www.w3.org/2000/svg")
        assert len(html) < 2_000_000


@pytest.mark.slow
def test_a_winner_who_is_never_clear_before_the_end_has_no_interval(corso: Report) -> None:
    data = deepcopy(corso.data["reports"][0])
    for row in data["decisiveness"]["by_strength"]:
        row["clear_at"] |= {"value": 1.0, "low": 1.0, "high": 1.0}
    (told,) = (text for text in summarise(data) if text.startswith("The winner is clear"))
    assert told.startswith("The winner is clear (a chance of 90 % that lasts) only at the end; the")


def test_names_are_text_on_the_page(tictactoe: Report) -> None:
    name = "<img src=x>&\"'"
    data = json.loads(json.dumps(tictactoe.data).replace("uct:40", "NAME"))
    data |= {"title": name, "credit": name, "summary": [name], "strongest": name}
    report = Report(tictactoe.games, json.loads(json.dumps(data).replace("NAME", "<i>")))
    page = minidom.parseString(report.html.removeprefix("<!DOCTYPE html>"))
    assert page.getElementsByTagName("h1")[0].firstChild.data == name
    assert page.getElementsByTagName("li")[0].firstChild.data == name
    for tag in ("th", "text"):  # of tables, of charts
        assert "<i>" in {t.data for e in page.getElementsByTagName(tag) for t in e.childNodes}
    assert not page.getElementsByTagName("img") + page.getElementsByTagName("i")


def test_replays_step_to_the_pictures_of_the_game() -> None:
    frames = ["a\nb\nc", "a\nx\nc", "a\nx\nc\nd", "c"]
    lines: dict[str, int] = {}
    changes = packed(frames, lines)
    rows: list[int] = []
    for frame, edits in zip(frames, changes, strict=True):
        for start, count, added in edits:
            rows[start : start + count] = added
        assert "\n".join(list(lines)[row] for row in rows) == frame


def test_a_game_without_much_has_a_report_too() -> None:
    """No board, no score, no events, a random start, players who see it turned."""
    report = make_report(Oddity(), TINY)
    assert report.data["openings"] is None
    assert report.data["rules_in_play"]["rules"] == []
    assert "First moves" not in report.html
    minidom.parseString(report.html.removeprefix("<!DOCTYPE html>"))


# The command.


def test_the_command_writes_both_files(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    page = tmp_path / "ttt.html"
    assert main(["report", "tictactoe", "--quick", "--games", "4", "--output", str(page)]) == 0
    assert "With perfect play the game is a draw" in capsys.readouterr().out
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(page.with_suffix(".json").read_text())["games"] == 4


def test_a_file_that_cannot_be_written_is_told_before_any_game(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "it.json").mkdir()
    assert main(["report", "corso", "--output", str(tmp_path / "it.html")]) == 2
    assert "it.json' is a folder" in capsys.readouterr().err


def test_comparisons_are_read_as_options_are() -> None:
    assert read_comparison("size=5,6") == ("size", [5, 6])
    assert read_comparison("swap_rule=true,false") == ("swap_rule", [True, False])


@pytest.mark.parametrize("name", ["uct:1000", "corso:16 against itself", "runs/" + "x" * 60])
def test_names_beside_rows_are_within_the_chart(name: str) -> None:
    rows = [Row(name, 0.5, 0.4, 0.6, shares=(0.5, 0.5))]
    for chart in (dot_chart(rows, "t", "{:.1f}".format), share_chart(rows, ("a", "b"), "t")):
        found = re.search(r'<text class="label" x="([0-9.]+)"[^>]*>([^<]*)</text>', chart)
        assert found is not None
        end, shown = float(found[1]), found[2]
        assert 6.4 * len(shown) <= end <= 240
        assert shown == name or (name.endswith(shown.removeprefix("...")) and name in chart)
