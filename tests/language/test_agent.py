"""``llm:`` agents: they play what is said and nothing else, whatever the endpoint does."""

from __future__ import annotations

import copy
import errno
import json
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import numpy as np
import pytest

from ludarium.analysis.accuracy import chosen_actions, moves_that_keep
from ludarium.analysis.exact_tests import find_exact_test, make_exact_test
from ludarium.arena.contest import Tournament, play_contest
from ludarium.base import durable
from ludarium.cli import main
from ludarium.envs import from_record, make_game
from ludarium.language import endpoint as endpoints
from ludarium.language.agent import LanguageAgent
from ludarium.language.endpoint import Answer, Endpoint, EndpointError, Journal
from ludarium.language.scripted import ScriptedEndpoint, agent_script, position_asked
from ludarium.training.agents import RESIGN, make_agent, read_agent
from ludarium.training.evaluation import play_match

GAME = make_game("corso", size=3)


def _agent(endpoint: ScriptedEndpoint, settings: str = "") -> LanguageAgent:
    agent = make_agent(f"llm:some/model?endpoint={endpoint.url}{settings}", GAME)
    assert isinstance(agent, LanguageAgent)
    return agent


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_FIRST_WAIT", 0.001)


def test_a_match_plays_what_is_said_and_keeps_it_as_notes() -> None:
    with ScriptedEndpoint(agent_script("uct:20", GAME)) as endpoint:
        agent = _agent(endpoint)
        games = play_match(GAME, agent, "random", 4, seed=1)
    assert games.result.score.value > 0.5
    for number, record in enumerate(games.records()):
        from_record(record)
        mine = [each for each in agent.decisions if each.game == number]
        for each in mine:
            move = record["moves"][each.ply]
            assert f"<move>{move}</move>" in record["notes"][str(each.ply + 1)]
        assert sum(move in record["notes"] for move in map(str, range(20))) == len(mine)


def test_after_wrong_answers_it_is_told_why_then_asked_again_then_it_resigns() -> None:
    asked = []

    def script(messages):
        asked.append(messages)
        return "<move>b2</move>"

    with ScriptedEndpoint(script) as endpoint:
        agent = _agent(endpoint, "&retries=1")
        games = play_match(GAME, agent, "random", 2, seed=1, opening_plies=0)
    assert (games.result.wins, games.result.losses) == (0, 2)
    (record, *_) = games.records()
    assert record["result"] == [-1, 1]
    assert from_record(record).unwrapped.position.ply == len(record["moves"])
    assert "own marble stands on b2" in record["notes"][str(len(record["moves"]))]
    assert "own marble stands on b2" in asked[-1][-1]["content"]
    assert [each["role"] for each in asked[-1]] == ["system", "user", "assistant", "user"]
    last = max(agent.decisions, key=lambda each: (each.game, each.ply))
    assert (last.action, last.faults) == (RESIGN, ("illegal", "illegal"))


@pytest.mark.filterwarnings("ignore:the endpoint")  # a hundred of them
def test_a_thousand_hostile_answers_play_no_move_that_was_not_said() -> None:
    rng = random.Random(1)
    pieces = ["<move>", "</move>", "a1", "b2!", "c3", "<script>alert(1)</script>", "\x1b[2J"]
    pieces += ["\ud800", "{messages}", "\0", "Move: ", "\n", "<think>", "</think>", "answer" * 999]
    pieces += ["\u202e", "[["]

    def script(messages):
        if rng.random() < 0.1:
            return 200, rng.choice(["", "[]", '{"choices": []}', "[" * 9999, '{"choices": 1e999}'])
        return "".join(rng.choices(pieces, k=rng.randrange(12)))

    with ScriptedEndpoint(script) as endpoint:
        agent, seed, said = _agent(endpoint, "&retries=4&parallel=1"), 0, 0
        while endpoint.asked < 1000:
            games = play_match(GAME, agent, "random", 2, seed=seed)
            for record in json.loads(json.dumps(games.records())):
                assert "\x1b" not in str(record.get("notes"))
                from_record(record)
            for each in agent.decisions:
                if each.action != RESIGN:
                    text = GAME.action_names[each.action]
                    assert text in each.answers[-1].text
                    said += 1
            seed += 1
    assert said > 10


def test_failures_that_pass_are_tried_again() -> None:
    replies = [(503, "busy"), (429, "slowly"), (200, "no json"), (200, '{"choices": []}')]

    def script(messages):
        return replies.pop() if replies else "<move>b2</move>"

    with ScriptedEndpoint(script) as endpoint:
        assert _agent(endpoint).choose(GAME.start()) == 4
        assert endpoint.asked == 5


def test_a_failure_that_stays_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_TRIES", 2)
    failed = r"failed 2 times: status 429: slowly; try again later"
    with (
        ScriptedEndpoint(lambda messages: (429, "slowly")) as endpoint,
        pytest.raises(ValueError, match=failed),
    ):
        _agent(endpoint).choose(GAME.start())


def test_what_is_asked_on_this_machine_goes_through_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = ProxyHandler({"http": "http://127.0.0.1:9"})
    monkeypatch.setattr(endpoints, "_OPENER", build_opener(proxy))
    with ScriptedEndpoint(lambda messages: "<move>b2</move>") as endpoint:
        assert _agent(endpoint).choose(GAME.start()) == 4


def test_a_slow_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_TRIES", 2)

    def script(messages):
        time.sleep(0.5)
        return "b2"

    failed = r"failed 2 times: .*timed out; try again later"
    with ScriptedEndpoint(script) as endpoint, pytest.raises(ValueError, match=failed):
        _agent(endpoint, "&limit=50ms").choose(GAME.start())


def test_a_refusal_is_told_without_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    with ScriptedEndpoint(lambda messages: (401, "no such key: sk-secret")) as endpoint:
        agent = _agent(endpoint, "&key=MY_KEY")
        with pytest.raises(ValueError, match=r"status 401: no such key: \*\*\*"):
            agent.choose(GAME.start())
        assert endpoint.asked == 1
        far = make_agent("llm:m?endpoint=http://example.invalid/v1&key=MY_KEY", GAME)
        with pytest.raises(ValueError, match="would get the key in MY_KEY unencrypted"):
            far.choose(GAME.start())
        monkeypatch.setenv("MY_KEY", "a\nb: c")
        with pytest.raises(ValueError, match="another key: MY_KEY"):
            agent.choose(GAME.start())


def test_an_answer_is_kept_without_the_key_however_json_writes_it(monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk/secret")
    said = '{"choices": [{"message": {"content": "your key is s\\u006B\\/secret"}}], "usage": '
    said += '{"prompt_tokens": true, "completion_tokens": 7}}'
    with ScriptedEndpoint(lambda messages: (200, said)) as endpoint:
        answer = Endpoint(f"{endpoint.url}/", "m", key="MY_KEY").ask([])
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("your key is ***", 0, 7)
    monkeypatch.setenv("MY_KEY", "sk-" + 200 * "s")
    said = '{"choices": "your key, which is long, is sk-%s"}' % (200 * "s")
    refused = pytest.raises(ValueError, match="is no chat completion")
    with ScriptedEndpoint(lambda messages: (200, said)) as endpoint, refused as raised:
        Endpoint(endpoint.url, "m", key="MY_KEY").ask([])
    assert "sk-s" not in str(raised.value)


def test_a_line_that_a_full_disk_cut_is_taken_back(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "answers.jsonl"
    journal = Journal(path)
    assert journal.answer("a", lambda: Answer("one")).text == "one"

    write, whole = os.write, path.stat().st_size

    def full(file: int, content: bytes) -> int:
        if path.stat().st_size > whole:
            raise OSError(errno.ENOSPC, "no space left")
        return write(file, content[:9])

    with monkeypatch.context() as patch:
        patch.setattr(durable.os, "write", full)
        with pytest.raises(durable.StorageError):
            journal.answer("b", lambda: Answer("two"))
    journal.answer("b", lambda: Answer("two"))
    journal._holder.release()
    assert {*Journal(path)._answers} == {"a", "b"}
    for other in (b'{"a": 1}', b"words"):
        (tmp_path / "own").write_bytes(other)
        with pytest.raises(ValueError, match="holds something else than a journal"):
            Journal(tmp_path / "own")
        assert (tmp_path / "own").read_bytes() == other


def test_no_more_questions_at_a_time_than_allowed() -> None:
    now, most = 0, 0
    plays = agent_script("random", GAME)

    def script(messages):
        nonlocal now, most
        now += 1
        most = max(most, now)
        time.sleep(0.005)
        now -= 1
        return plays(messages)

    with ScriptedEndpoint(script) as endpoint:
        play_match(GAME, _agent(endpoint, "&parallel=3"), "random", 20, seed=1)
    assert 1 < most <= 3


def test_what_stopped_is_played_on_without_asking_again(tmp_path: Path) -> None:
    plan, limit = Tournament(("random", "llm"), games=24), 0
    plays = agent_script("random", GAME)

    def script(messages):
        return plays(messages) if endpoint.asked < limit else (400, "stop")

    with ScriptedEndpoint(script) as endpoint:
        name = f"llm:m?endpoint={endpoint.url}&journal={tmp_path / 'answers.jsonl'}"
        stops = 0
        contest = None
        while contest is None:
            endpoint.asked, limit = 0, 20
            with suppress(EndpointError if stops > 9 else ValueError):
                contest = play_contest(GAME, plan, {"llm": name}, folder=tmp_path / "games")
            for journal in list(endpoints._JOURNALS.values()):  # as the end of a process does
                journal._holder.release()
            endpoints._JOURNALS.clear()
            if contest is None:
                stops += 1
                with open(tmp_path / "answers.jsonl", "ab") as file:
                    file.write(b'{"key":"cut')  # as a kill does
    assert stops  # how often depends on the questions under way
    assert contest.is_over
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    records = [json.loads(each) for each in (tmp_path / "games" / "games.jsonl").open()]
    moves = sum(len(each["notes"]) for each in records)
    assert len(lines) == len({json.loads(line)["key"] for line in lines}) == moves


def test_a_copy_shares_the_journal_and_another_process_may_not(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda messages: "<move>b2</move>") as endpoint:
        agent = _agent(endpoint, f"&journal={tmp_path / 'a.jsonl'}")
        agent.restart(1)
        assert agent.choose(GAME.start()) == copy.deepcopy(agent).choose(GAME.start()) == 4
        assert endpoint.asked == 1
        for match, asked in ((2, 2), (1, 2), (2, 2)):  # another match has answers of its own
            agent.restart(match)
            assert agent.choose(GAME.start()) == 4
            assert endpoint.asked == asked
        (tmp_path / "b.jsonl").write_text("{}\n")
        with pytest.raises(ValueError, match=r"line 1 of .*b\.jsonl"):
            _agent(endpoint, f"&journal={tmp_path / 'b.jsonl'}")


def test_exact_positions_know_that_no_answer_keeps_no_value() -> None:
    test = make_exact_test(GAME, 6, seed=1)
    with ScriptedEndpoint(lambda messages: "I do not know") as endpoint:
        agent = _agent(endpoint, "&retries=0")
        actions = chosen_actions(agent, test)
        assert (actions == RESIGN).all()
        assert not moves_that_keep(actions, test).any()


def test_the_position_asked_is_the_position() -> None:
    test = find_exact_test("hard", make_game("obelisk"))
    from ludarium.envs.engine.position import Position
    from ludarium.language.text import PROMPTS

    for state in test.states[:5]:
        position = Position.of_state(test.game, state)
        found = position_asked(test.game, PROMPTS.opening(position, None, True))
        assert found.text == position.text
        assert np.array_equal(found.legal_actions, position.legal_actions)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("llm:m", "say where it is"),
        ("llm?endpoint=http://h", "no model's name"),
        ("llm:a b?endpoint=http://h", "no model's name"),
        ("llm:m?endpoint=ftp://h", "not an address"),
        ("llm:m?endpoint=http://", "not an address"),
        ("llm:m?endpoint=http://h:99999", "not an address"),
        ("llm:m?endpoint=http://a..b/v1", "not an address"),
        ("llm:m?endpoint=https://me:secret@h/v1", "an address without user"),
        ("llm:m?endpoint=https://h/v1?key=3", "an address without user"),
        ("llm:m?endpoint=http://h&retries=99", "retries is 99; accepted"),
        ("llm:m?endpoint=http://h&parallel=0", "parallel is 0; accepted"),
        ("llm:m?endpoint=http://h&key=sk-12-3", "never the key itself"),
        ("llm:m?endpoint=http://h&retry=2", "accepted here: endpoint, retries"),
    ],
)
def test_wrong_names_say_what_is_wrong(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_agent(name)
    with pytest.raises(ValueError, match="asks a server"):
        read_agent("llm:m?endpoint=http://h", from_file=True)


def test_names_are_written_as_they_are_read_and_short_in_tables() -> None:
    name = "llm:org/m:free?endpoint=https://h/v1&retries=0&legal=true&limit=5s"
    spec = read_agent(name)
    assert read_agent(str(spec)) == spec
    assert spec.label == "llm:org/m:free?retries=0&legal=true"


def test_commands_take_it_wherever_they_take_agents(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedEndpoint(agent_script("uct:20", GAME)) as endpoint:
        name = f"llm:m?endpoint={endpoint.url}"
        words = ["--game", "corso", "--option", "size=3", "--against", "random", "--games", "4"]
        assert main(["evaluate", name, *words]) == 0
    assert "llm:m" in capsys.readouterr().out
