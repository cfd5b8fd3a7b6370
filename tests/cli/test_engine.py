"""The analysis engine: sessions, order, ends of all kinds, and requests that are refused."""

from __future__ import annotations

import io
import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ludarium.analysis import engine as engine_module
from ludarium.analysis.engine import LONGEST_LINE, Engine, format_line
from ludarium.cli import main
from ludarium.envs import GAMES
from ludarium.models import build_network
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.networks import network_shape
from tests.games import after
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

GAME = TicTacToe()
MOVES = ["a1", "b2", "a2", "c3"]


class Session:
    """An engine, and what it answered."""

    def __init__(self, agent: Any = "uct:100", simulations: int = 50) -> None:
        self.answers: list[dict[str, Any]] = []
        self.heard = threading.Condition()
        agent = make_agent(agent, GAME, seed=1) if isinstance(agent, str) else agent
        self.engine = Engine(agent, self._hear, simulations)

    def _hear(self, answer: dict[str, Any]) -> None:
        assert format_line(answer).count("\n") == 1
        with self.heard:
            self.answers.append(answer)
            self.heard.notify_all()

    def send(self, **request: Any) -> None:
        self.engine.handle(json.dumps(request).encode())

    def wait(self, **fields: Any) -> dict[str, Any]:
        """The first answer with these fields."""
        deadline = time.monotonic() + 300
        with self.heard:
            while True:
                for answer in self.answers:
                    if fields.items() <= answer.items():
                        return answer
                assert time.monotonic() < deadline, (fields, self.answers)
                self.heard.wait(1)


@pytest.fixture
def session():
    made: list[Session] = []

    def make(*arguments: Any) -> Session:
        made.append(Session(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.engine.abort()


def test_positions_of_a_game(session):
    one = session()
    one.send(id="foo", moves=MOVES, analyzeTurns=[0, 2, 4], simulations=80)
    one.engine.close()
    assert [answer["turnNumber"] for answer in one.answers] == [0, 2, 4]
    for answer in one.answers:
        assert (answer["id"], answer["isDuringSearch"]) == ("foo", False)
        infos, root = answer["moveInfos"], answer["rootInfo"]
        assert len(infos) == 9 - answer["turnNumber"]
        assert [info["order"] for info in infos] == list(range(len(infos)))
        assert sum(info["visits"] for info in infos) == root["visits"] == 80
        assert root["currentPlayer"] == f"player_{answer['turnNumber'] % 2}"
        assert root["winrate"] == pytest.approx((1 + root["value"]) / 2, abs=1e-5)
        assert all(info["pv"][0] == info["move"] for info in infos)
    assert one.answers[-1]["moveInfos"][0]["move"] == "a3"


def test_a_search_tree_is_kept_along_a_game(session):
    network = build_network(network_shape(GAME), 4, 1)
    one = session(NetworkAgent(GAME, network, 50, "mine", backend="eager"))
    one.send(id="a", moves=["b2"], simulations=60)
    best = one.wait(id="a")["moveInfos"][0]
    one.send(id="b", moves=["b2", best["move"]], simulations=0)
    assert one.wait(id="b")["rootInfo"]["visits"] == best["visits"] - 1
    one.send(id="c", moves=["a1"], simulations=0)
    assert one.wait(id="c")["rootInfo"]["visits"] == 0


def test_a_query_is_about_the_start_of_its_seed(session):
    game = Oddity()
    one = session(make_agent("uct:20", game, seed=1))
    for seed, moves in ((3, []), (5, []), (5, ["b2"]), (3, ["b2"])):
        one.send(id=f"{seed}{moves}", seed=seed, moves=moves, simulations=30 * (seed == 3))
        position = after(game.start(seed), *moves)
        answer = one.wait(id=f"{seed}{moves}")
        assert answer["rootInfo"]["currentPlayer"] == "player_0"
        assert answer["rootInfo"]["visits"] == 30 * (seed == 3)
        texts = [position.action_to_text(action) for action in position.legal_actions]
        assert sorted(info["move"] for info in answer["moveInfos"]) == sorted(texts)


def test_a_query_may_begin_at_a_position(session):
    one = session()
    position = "- 1 ply=1 cells=1,8*0"
    one.send(id="c", moves=["b2"], position=position, analyzeTurns=[0, 1])
    assert one.wait(id="c", turnNumber=0)["rootInfo"]["currentPlayer"] == "player_1"
    moves = {info["move"] for info in one.wait(id="c", turnNumber=1)["moveInfos"]}
    assert moves.isdisjoint({"a1", "b2"})
    one.send(id="d", moves=[], position="- 1 cells=1")
    assert "is no position of tictactoe" in one.wait(field="position")["error"]


def test_reports_and_an_end_by_request(session):
    one = session()
    one.send(id="long", moves=[], seconds=600, reportDuringSearchEvery=0.01)
    one.send(id="next", moves=["a1"], simulations=10)
    assert one.wait(id="long", isDuringSearch=True)["moveInfos"]
    request = {"id": "end", "action": "terminate", "terminateId": "long"}
    one.send(**request)
    assert one.wait(id="end") == request
    assert one.wait(id="long", isDuringSearch=False)["moveInfos"]
    assert one.wait(id="next", isDuringSearch=False)
    finals = [a for a in one.answers if a["id"] == "long" and not a["isDuringSearch"]]
    assert len(finals) == 1


def test_what_waits_is_terminated_without_results(session):
    one = session()
    one.send(id="long", moves=[], seconds=600, reportDuringSearchEvery=0.01)
    one.wait(id="long", isDuringSearch=True)
    one.send(id="foo", moves=MOVES, analyzeTurns=[1, 2, 3])
    one.send(id="end", action="terminate", terminateId="foo", turnNumbers=[1, 3])
    ended = {"id": "foo", "isDuringSearch": False, "noResults": True}
    assert one.wait(turnNumber=1) == {**ended, "turnNumber": 1}
    assert one.wait(turnNumber=3) == {**ended, "turnNumber": 3}
    one.send(id="all", action="terminate_all")
    assert one.wait(turnNumber=2) == {**ended, "turnNumber": 2}
    one.wait(id="long", isDuringSearch=False)


def test_high_priority_comes_first(session):
    one = session()
    one.send(id="long", moves=[], seconds=600, reportDuringSearchEvery=0.01)
    one.wait(id="long", isDuringSearch=True)
    one.send(id="low", moves=[], priority=-1)
    one.send(id="usual", moves=MOVES, analyzeTurns=[0, 1], priorities=[0, 3])
    one.send(id="high", moves=[], priority=2)
    one.send(id="end", action="terminate", terminateId="long")
    one.engine.close()
    finals = [a for a in one.answers if a.get("isDuringSearch") is False]
    order = [(answer["id"], answer["turnNumber"]) for answer in finals]
    assert order == [("long", 0), ("usual", 1), ("high", 0), ("usual", 0), ("low", 0)]


def test_a_finished_position_has_its_result(session):
    one = session()
    one.send(id="foo", moves=[*MOVES, "a3"])
    one.engine.close()
    assert one.answers == [
        {
            "id": "foo",
            "turnNumber": 5,
            "isDuringSearch": False,
            "noResults": True,
            "result": [1, -1],
        }
    ]


def test_version_and_unknown_fields(session):
    one = session()
    one.send(id="v", action="query_version")
    assert one.answers[0].items() >= {"id": "v", "game": "tictactoe", "options": {}}.items()
    one.send(id="foo", moves=[], komi=7.5)
    assert one.answers[1] == {
        "warning": "komi is not a field of a query, and is ignored",
        "field": "komi",
        "id": "foo",
    }
    assert one.wait(id="foo", turnNumber=0)["rootInfo"]["visits"] == 50


QUERY = {"id": "foo", "moves": ["b2"]}


@pytest.mark.parametrize(
    ("request_", "field", "message"),
    [
        ([], None, "a request is an object"),
        ({"moves": []}, "id", "id is None; needed: a text"),
        ({"id": "x" * 201, "moves": []}, "id", "at most 200"),
        ({"id": "foo"}, "moves", "missing required field `moves`"),
        ({"id": "foo", "moves": "b2"}, "moves", "moves is 'b2'; accepted: a list"),
        ({"id": "foo", "moves": [["B", "b2"]]}, "moves", r"moves\[0\] is"),
        ({"id": "foo", "moves": ["b2", "b2"]}, "moves", "move 2: .* taken"),
        ({"id": "foo", "moves": ["\x1b[31m"]}, "moves", "move 1"),
        ({"id": "foo", "moves": [*MOVES, "a3", "c1"]}, "moves", "move 6: .*over"),
        ({**QUERY, "analyzeTurns": [2]}, "analyzeTurns", "from 0 to 1"),
        ({**QUERY, "analyzeTurns": [True]}, "analyzeTurns", "is True; accepted: a whole number"),
        ({**QUERY, "analyzeTurns": []}, "analyzeTurns", "is empty"),
        ({**QUERY, "simulations": -1}, "simulations", "is -1; accepted: a whole number >= 0"),
        ({**QUERY, "seconds": 1e9}, "seconds", "<= 86400"),
        ({**QUERY, "reportDuringSearchEvery": 0}, "reportDuringSearchEvery", ">= 0.01"),
        ({**QUERY, "analyzeTurns": [0], "priorities": [1, 2]}, "priorities", "a number for each"),
        ({**QUERY, "seed": -1}, "seed", "is -1; accepted: a whole number >= 0"),
        ({**QUERY, "seed": 2**128}, "seed", "accepted: 0 to 2"),
        ({"id": "foo", "action": "quit"}, "action", "'quit'; accepted: query_version, terminate, "),
        ({"id": "foo", "action": "terminate"}, "terminateId", "the id of a query"),
    ],
)
def test_a_bad_request_is_refused_and_changes_nothing(session, request_, field, message):
    one = session()
    one.engine.handle(json.dumps(request_).encode())
    (answer,) = one.answers
    assert answer.get("field") == field
    assert re.search(message, answer["error"])
    assert len(answer["error"]) <= 400
    assert answer["error"].isprintable()
    one.send(id="good", moves=[])
    one.engine.close()
    assert len(one.answers) == 2


def test_lines_that_are_no_json_too_long_or_empty(session):
    one = session()
    long = b'{"id":"' + b"x" * (3 * LONGEST_LINE) + b'"}'
    good = b'{"id":"good","moves":[]}'
    one.engine.serve(io.BytesIO(b"\n".join([b"{", b"\xff\xfe", long, b"", b"  \r", good])))
    errors = [answer["error"] for answer in one.answers[:3]]
    assert "is not valid JSON" in errors[0]
    assert "is not valid JSON" in errors[1]
    assert errors[2] == "a request has at most 1,048,576 bytes"
    assert one.answers[3]["id"] == "good"
    assert len(one.answers) == 4


def test_too_many_positions_are_refused(session, monkeypatch):
    monkeypatch.setattr(engine_module, "_MOST_WAITING", 3)
    one = session()
    one.send(id="long", moves=[], seconds=600, reportDuringSearchEvery=0.01)
    one.wait(id="long", isDuringSearch=True)
    one.send(id="foo", moves=MOVES, analyzeTurns=[0, 1, 2])
    one.send(id="bar", moves=[])
    assert "would wait" in one.wait(id="bar")["error"]


def test_a_failing_agent_answers_with_an_error_and_goes_on(session, monkeypatch):
    one = session()
    think = one.engine._thinker.__class__.think

    def fail_once(*arguments: Any) -> Any:
        monkeypatch.setattr(one.engine._thinker.__class__, "think", think)
        raise MemoryError("none left")

    monkeypatch.setattr(one.engine._thinker.__class__, "think", fail_once)
    one.send(id="foo", moves=[])
    one.send(id="bar", moves=[])
    assert one.wait(id="foo")["error"] == "MemoryError: none left"
    assert one.wait(id="bar")["moveInfos"]


class _Lines:
    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def test_the_session_in_the_documentation(monkeypatch, capsys):
    text = Path(__file__).parents[2].joinpath("docs/guide/engine.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```jsonl\n(.*?)```", text, re.DOTALL)
    lines = [line for line in block.splitlines() if line]
    requests = [line.removeprefix("> ") for line in lines if line.startswith("> ")]
    expected = [json.loads(line.removeprefix("< ")) for line in lines if line.startswith("< ")]
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setattr("sys.stdin", _Lines("\n".join(requests)))
    assert main(["engine", "tictactoe", "--agent", "alphabeta:9"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for answer in answers:
        if "version" in answer:
            answer |= {"version": "0.1.0", "game": "noughts"}  # the guide's name for it
        if "rootInfo" in answer:
            answer["rootInfo"]["seconds"] = 0.0
    assert sorted(map(json.dumps, answers)) == sorted(map(json.dumps, expected))


def test_the_agent_is_named_without_its_budget_which_requests_set(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", _Lines(""))
    assert main(["engine", "corso", "--agent", "uct:7"]) == 0
    assert capsys.readouterr().err.endswith("ludarium: Corso(size=5) is ready, uct thinks\n")
