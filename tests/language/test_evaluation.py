"""``ludarium language``: ratings, exact positions, resuming, and a page that escapes everything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ludarium.cli import main
from ludarium.envs import from_record, make_game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.language import endpoint as endpoints
from ludarium.language import evaluation
from ludarium.language.agent import Decision
from ludarium.language.endpoint import Answer
from ludarium.language.evaluation import (
    Loss,
    answers_in_all,
    ask_positions,
    exact_sets,
    losses,
    mistakes,
    rate,
)
from ludarium.language.scripted import ScriptedEndpoint, agent_script, position_asked
from ludarium.training.agents import RandomAgent, make_agent

GAME = make_game("corso")
SMALL = make_game("corso", size=3)
HOSTILE = "<script>alert(1)</script>&amp;\x1b[2J"


def _language(capsys: pytest.CaptureFixture[str], url: str, *words: object, game="corso"):
    agent = f"llm:m?endpoint={url}"
    status = main(["language", game, "--agent", agent, "--json", *map(str, words)])
    told = capsys.readouterr()
    return status, json.loads(told.out) if told.out else told.err


def _in_order(messages) -> str:
    """The first legal move: the same answer to the same question, with something wrong before."""
    if len(messages) == 2 and "player_1, and" in messages[1]["content"]:
        return f"{HOSTILE} <move>z9</move>"
    position = position_asked(GAME, messages)
    return f"{HOSTILE} <move>{position.action_to_text(position.legal_actions[0])}</move>"


def test_an_evaluation_goes_on_where_it_was_stopped(capsys, tmp_path: Path) -> None:
    limit = 10**9

    def script(messages):
        return _in_order(messages) if endpoint.asked <= limit else (400, "stop")

    words = ("--games", 12, "--seed", 3)
    with ScriptedEndpoint(script) as endpoint:
        status, whole = _language(capsys, endpoint.url, *words, "--folder", tmp_path / "whole")
        assert status == 0
        asked, stops = endpoint.asked, 0
        report = None
        while not isinstance(report, dict):
            endpoint.asked, limit = 0, 25
            status, report = _language(capsys, endpoint.url, *words, "--folder", tmp_path / "cut")
            stops += status == 2
            for journal in list(endpoints._JOURNALS.values()):  # as the end of a process does
                journal._holder.release()
            endpoints._JOURNALS.clear()
        endpoint.asked = 0
        assert _language(capsys, endpoint.url, *words, "--folder", tmp_path / "cut") == (0, report)
        assert endpoint.asked == 0
    assert stops > 2
    for told in (whole, report):
        del told["answers"]["seconds"]
    assert report == whole
    assert report["answers"]["answers"] == asked
    for folder in ("whole", "cut"):
        assert len((tmp_path / folder / "answers.jsonl").read_text().splitlines()) == asked
    games = [json.loads(line) for line in (tmp_path / "cut" / "games.jsonl").open()]
    assert len(games) == report["games"] == sum(row["score"]["count"] for row in whole["opponents"])
    known = evaluation.ladder_of(GAME)
    assert all(each["elo"] == known[each["opponent"]] for each in whole["opponents"])
    assert report["answers"]["faults"] == {"malformed": asked - report["answers"]["decisions"]}
    for game in games:
        from_record(game)
    page = (tmp_path / "cut" / "report.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;\\x1b[2J" in page
    assert "<script" not in page


def test_ratings_behind_an_endpoint_are_those_of_the_player() -> None:
    with ScriptedEndpoint(agent_script("random", GAME)) as endpoint:  # in the same order each time
        agent = make_agent(f"llm:m?endpoint={endpoint.url}&parallel=1", GAME)
        rated = rate(agent, within=100, most=32, seed=1)
    assert rated.rating.low < 0 < rated.rating.high
    assert next(iter(rated.results)) == "random"  # it fell to the lowest rung
    assert rated.games == 32
    assert rate(make_agent("random", GAME), within=1, most=6).games == 6
    assert rate(make_agent("random", GAME), within=999, most=32).games == 12
    with pytest.raises(ValueError, match="most is a positive even number"):
        rate(make_agent("random", GAME), within=999, most=13)


@pytest.mark.parametrize(("player", "share"), [("endgame:random", 1.0), ("random", 0.5)])
def test_exact_positions_tell_how_many_moves_keep_the_value(capsys, player, share) -> None:
    words = ("--positions", 60, "--option", "size=3")
    with ScriptedEndpoint(agent_script(player, SMALL)) as endpoint:
        status, report = _language(capsys, f"{endpoint.url}&parallel=1", *words)
    assert status == 0
    (fresh,) = report["positions"]
    assert (fresh["set"], fresh["positions"]) == ("fresh", 60)
    assert fresh["kept"]["value"] == pytest.approx(share, abs=0.2)
    assert fresh["kept_by_random_play"] == pytest.approx(0.5, abs=0.15)
    assert (fresh["value_lost"]["value"] == 0) == (share == 1)
    assert report["rating"] is None


def test_half_of_the_positions_are_the_fixed_ones(capsys, tmp_path: Path) -> None:
    words = ("--positions", 20, "--price", "1000,0", "--output", tmp_path / "page.html")
    with ScriptedEndpoint(_in_order) as endpoint:
        status, report = _language(capsys, endpoint.url, *words)
    assert status == 0
    fixed, fresh = report["positions"]
    assert (fixed["set"], fixed["positions"], fresh["positions"]) == ("fixed", 10, 10)
    assert fixed["made"]["file"] == "corso-5.test.jsonl"
    assert fixed["kept_by_random_play"] < fresh["kept_by_random_play"]
    tokens = report["answers"]["input_tokens"]
    assert report["answers"]["cost"] == pytest.approx(tokens / 1000)
    assert "Exact positions" in (tmp_path / "page.html").read_text()


def test_a_player_that_fails_is_told_that_its_positions_are_over() -> None:
    class Failing(RandomAgent):
        finished = 0

        def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
            raise ValueError("no answer")

        def finish(self, games: Sequence[GameInPlay]) -> None:
            self.finished += len(games)

    ((name, test),) = exact_sets(GAME, 1, seed=1).items()
    agent = Failing(GAME, 1)
    with pytest.raises(ValueError, match="no answer"):
        ask_positions(agent, name, test)
    assert agent.finished == 1


def test_a_single_position_is_a_fresh_one() -> None:
    ((name, test),) = exact_sets(GAME, 1, seed=1).items()
    assert (name, len(test)) == ("fresh", 1)


def test_a_resignation_loses_the_value_of_the_position() -> None:
    with ScriptedEndpoint(lambda messages: "I pass.") as endpoint:
        agent = make_agent(f"llm:m?endpoint={endpoint.url}&retries=0", GAME)
        found = losses(rate(agent, within=1, most=6))
    assert [each.game for each in found] == [*range(6)]  # over all rounds
    assert all(0 < each.value < 2 for each in found)


def test_the_cost_is_known_if_that_of_each_answer_is() -> None:
    answers = (Answer("b2", 1000, 10, cost=0.5), Answer("b2", 2000, 30))
    said = [Decision(0, 0, answers, ("", ""), 4)]
    costs = [answers_in_all(said, prices)["cost"] for prices in (None, (100.0, 1000.0))]
    assert costs == [None, 0.5 + 0.2 + 0.03]


def test_the_first_mistake_of_each_game_counts() -> None:
    moves = [(0, 3, 0, 0.1), (0, 5, 1, 2.0), (0, 7, 2, 1.0), (1, 2, 0, 0.6), (2, 1, 0, 0.0)]
    found = mistakes([Loss(*move, exact=move[3] >= 1) for move in moves], games=4)
    assert found["first_mistake"] == {"median_ply": 4.5, "plies": [3, 6]}
    assert found["games_without_mistake"] == 2
    assert found["loss"]["opening"]["value"] == pytest.approx(0.7 / 3, abs=1e-5)
    assert (found["loss"]["middle"]["exact"], found["loss"]["opening"]["exact"]) == (1, 0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--option", "size=3"], "there are no levels of Corso(size=3)"),
        (["--games", "3"], "3 is odd"),
        (["--positions", "0"], "not 1 or more"),
        (["--price", "1"], "not two prices"),
        (["--folder", "F", "--positions", "9", "--option", "size=3"], "leave journal out"),
    ],
)
def test_wrong_words_are_refused(words, says, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    agent = "llm:m?endpoint=http://127.0.0.1:9/v1&journal=a.jsonl"
    assert main(["language", "corso", "--agent", agent, *words]) == 2
    assert says in capsys.readouterr().err
