"""The game in the terminal as a person meets it, on small boards, against quick opponents."""

from __future__ import annotations

import io
import json
import re
import signal
from pathlib import Path
from threading import Event, main_thread
from typing import Any

import numpy as np
import pytest

from ludarium.cli import main
from ludarium.cli.common import why_untrained
from ludarium.envs import GAMES, from_record, make_game
from ludarium.envs.engine import compile as compile_module
from ludarium.machine.unit import Unit
from ludarium.training.agents import Agent, RandomAgent
from ludarium.training.agents.checkpoints import shipped_agents
from ludarium.training.agents.uniform import RandomSpec
from tests.tictactoe import TicTacToe

QUICK = ("tictactoe", "--opponent", "random", "--seat", "0")


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """A folder to save games in, and tic-tac-toe, which compiles fast."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


class Typed(io.StringIO):
    """Lines from a keyboard; ``^C`` among them is Ctrl-C."""

    def readline(self, *limit: Any) -> str:
        line = super().readline(*limit)
        if line == "^C\n":
            raise KeyboardInterrupt
        return line


@pytest.fixture
def play(monkeypatch, capsys):
    """What `ludarium play` prints when a person types these lines."""

    def typed(lines: list[str], *arguments: str, status: int = 0) -> str:
        keyboard = Typed("".join(f"{line}\n" for line in lines))
        monkeypatch.setattr("sys.stdin", keyboard)
        monkeypatch.setattr("builtins.input", lambda: _line_of(keyboard))
        assert main(["play", *arguments]) == status
        return capsys.readouterr().out

    return typed


def _line_of(keyboard: Typed) -> str:
    line = keyboard.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def test_the_opponent_s_search_is_compiled_while_the_person_thinks(play, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(Unit, "load_quietly", lambda unit: asked.append(unit.title))
    monkeypatch.setattr(compile_module, "_specialised", {})
    play(["quit"], "tictactoe", "--opponent", "uct:10", "--seat", "0")
    assert "tictactoe: uct" in asked


def opponent(monkeypatch, agent: type[Agent]) -> None:
    """Lets ``--opponent random`` be another agent."""
    monkeypatch.setattr(RandomSpec, "make", lambda _, game: agent(game, "test"))


def test_moves_and_commands(play, here):
    lines = ["help", "moves", "a1", "z9", "hint", "undo", "b2", "save game.json", "quit"]
    out = play(lines, *QUICK)
    assert "a1 b1 c1" in out
    assert "'z9' is malformed" in out
    assert "random would play" in out
    record = json.loads((here / "game.json").read_text())
    assert record["moves"][0] == "b2"
    assert len(record["moves"]) == 2
    assert record["seat"] == 0
    assert from_record(record).unwrapped.position.ply == 2


def test_every_prompt_says_who_one_is_and_what_there_is_to_do(play):
    out = play(["a1", "nonsense", "quit"], *QUICK)
    assert out.count("you are player_0 (X), to move: ") == 3
    assert "You are player_0 (X) and move first" in out


def test_history_rules_and_board(play):
    out = play(["history", "b2", "history", "board", "rules", "quit"], *QUICK)
    assert "no move has been played" in out
    assert "  1. b2  (you)\n  2. " in out
    assert "not written down" in out
    assert "Cells start open" in play(["rules", "quit"], "corso", "--opponent", "random")


def test_the_position_that_quit_prints_can_be_gone_on_with(play):
    out = play(["b2", "quit"], "corso", "--opponent", "random", "--seat", "0")
    (text,) = re.findall(r"^position: (.*)$", out, re.MULTILINE)
    assert "O" in text
    again = play(["quit"], "corso", "--opponent", "random", "--seat", "0", "--position", text)
    assert f"moves: none\nposition: {text}\n" in again
    assert "position: " not in play(["b2", "resign"], *QUICK)


def test_resigning_loses(play, capsys):
    out = play(["b2", "resign"], *QUICK)
    assert "You resign: random wins." in out
    out = play(["b2", "resign"], *QUICK, "--json")
    assert json.loads(out)["result"] == [-1, 1]


def test_a_lost_game_does_not_go_on_when_it_is_resumed(play, here):
    play(["b2", "save game.json", "quit"], *QUICK)
    record = json.loads((here / "game.json").read_text())
    for change, told in (
        ({"result": [-1, 1]}, "You resign: random wins."),
        ({"result": [1, -1]}, "player_1 has resigned: you win."),
        (
            {"result": [-1, 1], "illegal_action": "b2"},
            "player_0 has lost by an illegal action, b2: random wins.",
        ),
    ):
        (here / "game.json").write_text(json.dumps(record | change))
        arguments = ("tictactoe", "--opponent", "random", "--resume", "game.json")
        out = play([], *arguments)
        assert told in out
        assert "to move: " not in out
        saved = json.loads(play([], *arguments, "--json"))
        assert saved == record | change


def test_to_the_end_names_the_winner_with_the_points(play):
    rows = [f"{file}{rank}" for rank in (1, 2, 3) for file in "abc"]
    out = play(rows * 5, *QUICK)
    assert any(result in out for result in ("You win.", "random wins.", "A draw."))
    cells = [f"{cell}{mark}" for cell in ("a1", "b1", "a2", "b2") for mark in ("", "!")]
    out = play(
        cells * 8, "corso", "--option", "size=2", "--opponent", "random", "--seat", "0"
    )  # fmt: skip
    assert any(f"{result}, " in out for result in ("You win", "random wins", "A draw"))


# Opponents.


@pytest.mark.usefixtures("without_agents_of_many")
def test_options_that_a_trained_agent_does_not_know_are_told():
    assert why_untrained("onyx", {}) == ("", [])
    assert why_untrained("onyx", {"max_plies": 50}) == (
        "",
        ["the agent was not trained for max_plies=50"],
    )
    reason, _ = why_untrained("onyx", {"size": 8})
    assert reason == "no trained agent of onyx is shipped for size=8"


def test_agents_of_another_version_of_the_rules_are_told(monkeypatch):
    monkeypatch.setattr(type(make_game("osiron")), "version", 99)
    assert why_untrained("osiron", {}) == (
        "no trained agent of osiron is shipped for these rules",
        [],
    )


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("uct:50", ["uct: +", "for you (win ", "visits", "best play"]),
        ("alphabeta:2", ["alphabeta:2: score +0 within 2 plies for you"]),
        ("random", ["random cannot say what it thinks"]),
    ],
)
def test_eval_tells_what_the_opponent_thinks(play, agent, words):
    out = play(["eval", "quit"], "tictactoe", "--opponent", agent, "--seat", "0")
    for word in words:
        assert word in out


class _Failing(RandomAgent):
    failures = 1

    def __init__(self, game: Any, name: str) -> None:
        super().__init__(game)

    def actions(self, states: np.ndarray) -> np.ndarray:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("no memory")
        return super().actions(states)


def test_an_opponent_that_fails_does_not_end_the_game(play, monkeypatch):
    opponent(monkeypatch, _Failing)
    out = play(["b2", "a1", "", "history", "quit"], *QUICK)
    assert "random cannot move: RuntimeError: no memory" in out
    assert "it is not your turn" in out
    assert "  2. " in out


def test_commands_that_fail_do_not_end_the_game(play, here):
    (here / "notes.txt").write_text("mine")
    out = play(["save", "save notes.txt", "save notes.txt/game.json", "b2", "quit"], *QUICK)
    assert "save where?" in out
    assert "notes.txt is not valid JSON" in out
    assert "cannot write notes.txt" in out
    assert (here / "notes.txt").read_text() == "mine"
    assert "moves: b2" in out


# Ctrl-C, and going on.


class _Interrupted(RandomAgent):
    def __init__(self, game: Any, name: str) -> None:
        super().__init__(game)

    def actions(self, states: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["while the opponent thinks", "at the prompt"])
def test_ctrl_c_saves_the_game_and_says_how_to_go_on(play, monkeypatch, here, where):
    lines = ["b2"]
    if where == "at the prompt":
        lines.append("^C")
    else:
        opponent(monkeypatch, _Interrupted)
    out = play(lines, *QUICK, status=130)
    (saved,) = here.glob("ludarium-tictactoe-*.json")
    assert f"go on with: ludarium play tictactoe --opponent random --resume {saved.name}" in out
    assert "moves: b2" in out
    monkeypatch.undo()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of POSIX")
def test_ctrl_c_does_not_wait_for_an_opponent_that_goes_on_thinking(play, monkeypatch):
    done, over = Event(), []

    class Slow(_Interrupted):
        def actions(self, states: np.ndarray) -> np.ndarray:
            signal.pthread_kill(main_thread().ident, signal.SIGINT)
            over.append(done.wait(20))
            return super().actions(states)

    opponent(monkeypatch, Slow)
    assert "moves: b2" in play(["b2"], *QUICK, status=130)
    assert not over
    done.set()


def test_an_opponent_sees_one_game_from_its_begin_to_its_result(play, monkeypatch):
    """So it may keep a tree from move to move, and learn from the result."""
    told: list[tuple[str, int, Any]] = []

    class Keeping(RandomAgent):
        def begin(self, games):
            told.append(("begin", games[0].seat, None))
            games[0].memory = 0

        def play(self, games, states):
            (game,) = games
            game.memory += 1
            assert game.position.ply == len(game.actions)
            assert (game.position.states == states).all()
            told.append(("play", game.seat, game.memory))
            return self.actions(states)

        def actions(self, states):
            return np.array([np.flatnonzero(states["cells"][0].ravel() == 0)[0]])

        def finish(self, games):
            told.append(("finish", games[0].seat, games[0].reward))

    opponent(monkeypatch, lambda game, seed: Keeping(game))
    out = play(["c3", "hint", "b2", "undo", "b3", "resign"], *QUICK)
    hint = [("begin", 0, None), ("play", 0, 1), ("finish", 0, None)]
    first = [("begin", 1, None), ("play", 1, 1), *hint, ("play", 1, 2), ("finish", 1, None)]
    assert told == [*first, ("begin", 1, None), ("play", 1, 1), ("finish", 1, 1)]
    assert "moves: c3 a1 b3 b1" in out


def test_an_opponent_that_adapts_tells_what_it_has_learnt(play):
    arguments = ("corso", "--opponent", "level:auto?elo=600", "--seat=1", "--terminal")
    (elo,) = re.findall(
        r'to go on from there: --opponent "level:auto\?elo=(\d+)"', play(["resign"], *arguments)
    )
    assert 300 < int(elo) < 590


def test_ctrl_c_stops_a_hint_and_not_the_game(play, monkeypatch, here):
    opponent(monkeypatch, _Interrupted)
    out = play(["hint", "moves", "quit"], *QUICK)
    assert "a1 b1 c1" in out
    assert not list(here.iterdir())


def test_a_saved_game_goes_on_in_the_same_seat(play):
    arguments = ("tictactoe", "--opponent", "random")
    for seat in ("0", "1"):
        # The person moves at once, or after the opponent.
        play(["b2", f"save {seat}.json", "quit"], *arguments, "--seat", seat)
        for _ in range(4):
            out = play(["quit"], *arguments, "--resume", f"{seat}.json")
            assert f"You are player_{seat}" in out
        moves = json.loads(Path(f"{seat}.json").read_text())["moves"]
        assert f"moves: {' '.join(moves)}" in out
        other = play(["quit"], *arguments, "--resume", f"{seat}.json", "--seat", str(1 - int(seat)))
        assert f"You are player_{1 - int(seat)}" in other


def test_a_plain_list_of_moves_goes_on(play, capsys):
    arguments = ("tictactoe", "--opponent", "random")
    Path("moves.txt").write_text("b2 a1\nc3")
    out = play(["quit"], *arguments, "--resume", "moves.txt")
    assert "moves.txt does not say which seat was yours" in out
    assert "moves: b2 a1 c3" in out
    Path("moves.txt").write_text("b2 b2")
    assert main(["play", *arguments, "--resume", "moves.txt"]) == 2
    assert "move 2 of the game record in moves.txt: 'b2'" in capsys.readouterr().err


def test_a_record_without_a_seat_takes_that_of_the_mover_and_says_so(play):
    record = {"game": "tictactoe", "version": 0, "options": {}, "seed": 0, "moves": ["b2"]}
    Path("game.json").write_text(json.dumps(record))
    out = play(["quit"], "tictactoe", "--opponent", "random", "--resume", "game.json")
    assert "game.json does not say which seat was yours" in out
    assert "--seat 0 takes the other" in out
    assert "You are player_1 (O)" in out


SAVED = '{"game": "%s", "version": 0, "options": {}, "moves": [], "seat": %s}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense", "move 1 of the game record in game.json: 'nonsense'"),
        ('{"game": ', "game.json is not valid JSON"),
        ("[]", "holds no game record"),
        ("{}", "the game record in game.json lacks game, version, options, moves"),
        (SAVED % ("corso", 0), "is a game of corso, not of tictactoe"),
        (SAVED % ("tictactoe", "true"), "a seat is 0 or 1"),
        (SAVED % ("tictactoe", 2), "a seat is 0 or 1"),
    ],
)
def test_what_is_no_saved_game_is_refused(content, message, capsys):
    Path("game.json").write_text(content)
    assert main(["play", "tictactoe", "--resume", "game.json"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "size"), [([], 6), (["--option", "swap_rule=true"], 12)], ids=["plain", "option"]
)
def test_any_opponent_plays_on_the_shipped_agents_board(arguments, size, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    main(["play", "onyx", "--terminal", "--opponent", "random", "--json", *arguments])
    assert json.loads(capsys.readouterr().out)["options"]["size"] == size


def test_a_record_of_another_game_than_the_agents_is_refused(capsys):
    Path("game.json").write_text(SAVED % ("onyx", 0))
    agent = str(shipped_agents("corso")[0])
    assert main(["play", agent, "--terminal", "--resume", "game.json"]) == 2
    assert "plays corso, not onyx" in capsys.readouterr().err


# Commands of a game of its own.


def test_obelisk_shows_blocks_and_where_they_come_to_rest(play):
    game = ("obelisk", "--opponent", "random", "--seat", "0")
    out = play(["help", "pile", "show blue-l-tall", "where green-o-flat", "quit"], *game)
    assert "show [ID ...]" in out
    assert out.count("blue-i-upright") == 1  # the pile is told when it is asked for
    assert "blue-l-tall (5 cubes, 3 points)" in out
    assert "4  # ." in out
    assert "r0  0-1  0-1  0-1  0-1" in out
    out = play(["choose red-i-flat", "choose red-i-flat", "quit"], *game)
    assert "no red-i-flat is left in the pile" in out


def test_obelisk_previews_a_placement(play):
    moves = ["choose red-i-flat", "choose green-i-upright", "pick green-i-upright"]
    record = {"game": "obelisk", "version": 0, "options": {}, "seed": 0, "moves": moves}
    Path("game.json").write_text(json.dumps(record | {"seat": 0}))
    lines = ["show", "where", "place a2 r0", "quit"]
    out = play(lines, "obelisk", "--opponent", "random", "--resume", "game.json")
    assert "player_0 has to place:" in out
    assert "r0  0-1" in out


def test_a_game_is_saved_over_itself_and_over_nothing_else(play):
    Path("game.json.partial").write_text("mine")
    play(["save game.json", "b2", "save game.json", "quit"], *QUICK)
    assert json.loads(Path("game.json").read_text())["moves"][0] == "b2"
    assert Path("game.json.partial").read_text() == "mine"


def test_without_a_trained_agent_uct_plays_and_is_announced(play):
    out = play(["quit"], "tictactoe", "--seat", "0")
    assert "no trained agent of tictactoe is shipped: uct:1000 plays instead" in out
