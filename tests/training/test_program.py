"""``engine:COMMAND``: programs that play as they should, and those that fail in every way."""

from __future__ import annotations

import copy
import gc
import json
import os
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ludarium.cli import main
from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.single import SingleAgentEnv
from ludarium.training.agents import Agent, make_agent, read_agent
from ludarium.training.agents.program import ProgramSpec, _words
from ludarium.training.evaluation import play_match
from tests.games import first_legal
from tests.tictactoe import TicTacToe

GAME = TicTacToe()

#: Repeats what it reads, as `cat` does.
ECHO = f"engine:{shlex.join([sys.executable, '-uc', 'import sys; [print(x) for x in sys.stdin]'])}"

#: Plays the first free cell of tic-tac-toe, or fails as its argument says.
PROGRAM = """
import json, os, subprocess, sys, time
how, number = sys.argv[1], 0
print("this is", how, file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    def answer(**fields):
        print(json.dumps({"id": request["id"], **fields}), flush=True)
    if how == "mute":
        time.sleep(1000)
    if request.get("action") == "query_version":
        game, options = sys.argv[2:] or ["tictactoe", "{}"]
        answer(game=game, options=json.loads(options))
        continue
    number += 1
    cells = [file + rank for rank in "123" for file in "abc"]
    free = [cell for cell in cells if cell not in request["moves"]]
    if how == "crash" and number > 2:
        print("out of memory", file=sys.stderr, flush=True)
        sys.exit(3)
    if how == "parent":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        sys.exit(4)
    if how == "silent":
        continue
    if how == "illegal":
        free = ["a1"]
    if how == "garbage":
        print("my move is b2", flush=True)
    if how == "error":
        print(json.dumps({"error": f"what is the seed {request.get('seed')}"}), flush=True)
    if how == "nothing":
        answer(moveInfos=[])
    if how == "endless":
        while True:
            answer(isDuringSearch=True, moveInfos=[{"move": free[0]}])
    if how == "closing":
        os.close(1)
        time.sleep(1000)
    if how == "wordy":
        print("x" * 200_000 + "\\rpart\\rlast", file=sys.stderr, flush=True)
        print("\\n" + json.dumps({"id": "of nobody", "error": "that was long ago"}), flush=True)
    answer(warning="no komi")
    moves = [{"move": cell, "order": order} for order, cell in enumerate(free)]
    answer(isDuringSearch=False, moveInfos=moves[::-1], rootInfo={"visits": 1})
"""


@pytest.fixture
def name(tmp_path: Path):
    """Names of agents, by how they fail."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)

    def named(how: str, *rules: str, settings: str = "limit=500ms") -> str:
        return f"engine:{shlex.join([sys.executable, str(file), how, *rules])}?{settings}"

    return named


def process_of(agent: Agent):
    return agent._program._process


def test_a_program_plays_whole_games_of_a_match(name, capfd):
    theirs = play_match(GAME, name("good"), "uct:20", 20, seed=3)
    ours = play_match(GAME, first_legal, "uct:20", 20, seed=3)
    np.testing.assert_array_equal(theirs.actions, ours.actions)
    assert theirs.players[0] == name("good").partition("?")[0]
    assert f"{theirs.players[0]}: this is good" in capfd.readouterr().err


def test_a_program_is_an_opponent_in_an_environment_and_its_copies(name):
    env = SingleAgentEnv(GAME, opponent=make_agent(name("good"), GAME), seat=0)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    for each in (env, twin):
        each.step(8)
        assert each.aec.moves == [8, 0]
        each.step(7)
        assert each.aec.moves == [8, 0, 7, 1]


def test_a_programs_moves_are_measured_and_make_positions(name, monkeypatch, capsys):
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    common = ["--game=tictactoe", "--positions=20", "--json"]
    found = []
    for agent in (name("good"), "python:tests.games:first_legal"):
        assert main(["accuracy", agent, *common]) == 0
        assert main(["accuracy", "python:tests.games:first_legal", "--by", agent, *common]) == 0
        decoder, out = json.JSONDecoder(), capsys.readouterr().out
        measured, end = decoder.raw_decode(out)
        made, _ = decoder.raw_decode(out[end:].lstrip())
        found.append([list(each["agents"].values()) for each in (measured, made)])
    assert found[0] == found[1]


def test_a_program_ends_with_its_agent(name):
    agent = make_agent(name("good"), GAME)
    process = process_of(agent)
    assert process.poll() is None
    del agent
    gc.collect()
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("crash", r"ended, with exit status 3; it said: this is crash / out of memory"),
        ("parent", "ended, with exit status 4"),
        ("silent", "did not answer within 500ms; it said: this is silent"),
        ("endless", "did not answer within 500ms"),
        ("closing", "closed its output"),
        ("illegal", r"chose a move that is not legal after .*a1.*: .*a1 is taken"),
        ("garbage", "wrote 'my move is b2.*is not valid JSON"),
        ("error", "answered with the error 'what is the seed None'"),
        ("nothing", "told no move after no moves"),
    ],
)
def test_a_program_that_fails_ends_the_match_and_is_named_and_ended(name, how, reason):
    agent = make_agent(name(how), GAME)
    process = process_of(agent)
    with pytest.raises(ValueError, match=rf"^engine:.*program.py {how} {reason}"):
        play_match(GAME, agent, "random", 4, seed=1, opening_plies=0)
    assert process.poll() is not None
    assert agent._program._inbox.qsize() <= 4  # however much it writes


def test_a_program_that_failed_is_started_again_for_the_next_match(name):
    agent = make_agent(name("crash"), GAME)
    for _ in range(2):
        with pytest.raises(ValueError, match="exit status 3"):
            play_match(GAME, agent, "random", 4, seed=1)


def test_what_cannot_play_is_refused_when_it_is_made(name, monkeypatch):
    monkeypatch.setattr("ludarium.training.agents.program._START", 0.5)
    for spec, reason in (
        ("engine:", 'engine needs a command: "engine:./mybot --fast"'),
        ("engine:'mybot", "the command .* cannot be read: No closing quotation"),
        ("engine:./no-such-program", "cannot be started: .*no-such-program"),
        (name("good", "chess", "{}"), "plays 'chess' with {}, not TicTacToe"),
        (ECHO, r"does not say its game and options, but answers query_version with .\{.id"),
        (name("mute"), "did not answer within 500ms"),
        (name("good", settings="limit=soon"), "'soon' is not a time such as 500ms"),
    ):
        with pytest.raises(ValueError, match=reason):
            make_agent(spec, GAME)
    with pytest.raises(ValueError, match="engine: runs a program, so it is not taken from a file"):
        make_agent(name("good"), GAME, from_file=True)


def test_words_of_any_length_blank_lines_and_errors_of_others_are_no_failure(name, capfd):
    agent = make_agent(name("wordy"), GAME)
    assert agent.choose(GAME.start(0)) == 0
    agent._program.fail("is ended")
    said = capfd.readouterr().err.splitlines()
    assert [line[-6:] for line in said[-2:]] == [": part", ": last"]
    assert max(map(len, said)) < 1000


@pytest.mark.skipif(sys.platform == "win32", reason="of groups of processes")
def test_what_a_program_has_started_ends_with_it(tmp_path):
    file = tmp_path / "parent.py"
    file.write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '100'], stdout=subprocess.DEVNULL)\n"
        "print(child.pid, file=sys.stderr, flush=True)\n"
    )
    with pytest.raises(ValueError, match=r"ended, with exit status 0|closed its output") as caught:
        make_agent(f"engine:{shlex.join([sys.executable, str(file)])}", GAME)
    child = int(str(caught.value).split("it said: ")[1].split(";")[0])
    deadline = time.monotonic() + 5
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(child)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")  # a zombie, where nobody collects orphans, has ended
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("spec", "command", "limit"),
    [
        ("engine:bot --at a?key=1", "bot --at a?key=1", 60),
        ("engine:bot --at a?key=1?limit=5s", "bot --at a?key=1", 5),
        ("engine:bot host:key=1", "bot host:key=1", 60),
        ("engine:bot ?time=1s&limit=2s", "bot ", 2),
        ("engine:bot ?time=1s&depth=2", "bot ?time=1s&depth=2", 60),
    ],
)
def test_a_command_keeps_what_only_looks_like_settings(spec, command, limit):
    found = read_agent(spec)
    assert isinstance(found, ProgramSpec)
    assert (found.command, found.limit) == (command, limit)


def test_words_on_windows_keep_their_backslashes():
    assert _words(r'"C:\my bots\bot.exe" --fast', posix=False) == [r"C:\my bots\bot.exe", "--fast"]
    assert _words("'my bot' --fast", posix=True) == ["my bot", "--fast"]


def test_a_position_without_its_game_is_refused(name):
    agent = make_agent(name("good"), GAME)
    position = GAME.start(0)
    assert agent.choose(position) == 0
    position.play(4)
    with pytest.raises(ValueError, match="needs whole games"):
        agent.choose(position)


@pytest.mark.slow
def test_the_analysis_engine_of_this_package_is_such_a_program():
    command = [sys.executable, "-c", "from ludarium.cli import main; main()", "engine", "corso"]
    command += ["--option", "size=3", "--agent", "uct", "--simulations", "5"]
    game = make_game("corso", size=3)
    agent = make_agent(f"engine:{shlex.join(command)}?simulations=200", game)
    assert agent.name.endswith("--simulations 5?simulations=200")
    games = play_match(game, agent, "random", 10, seed=1)
    assert games.result.score.value > 0.5
    with pytest.raises(ValueError, match=r"plays 'corso' with {'size': 3}, not Corso.size=4."):
        make_agent(f"engine:{shlex.join(command)}", make_game("corso", size=4))


def test_the_seed_of_a_drawn_start_is_told(name):
    game = make_game("osiron", setup="random")
    rules = [game.name, json.dumps(dict(game.options))]
    agent = make_agent(name("error", *rules), game)
    states = game.start(12).states
    handle = GameInPlay(game, 0, 0, 12, states, [])
    with pytest.raises(ValueError, match="'what is the seed 12'"):
        agent.play([handle], states)
