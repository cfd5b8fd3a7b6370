"""The command line as a user meets it."""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from ludarium import cli
from ludarium.base.progress import Progress
from ludarium.cli import bench, main, train
from ludarium.cli.common import AGENTS_HELP, read_options
from ludarium.cli.evaluate import _usual_opponents
from ludarium.cli.games import play_command
from ludarium.configs import load_config
from ludarium.envs import GAMES
from ludarium.training.agents import read_agent
from ludarium.training.agents.checkpoints import selecting_options
from ludarium.training.alphazero.self_play import SelfPlay
from ludarium.training.run import describe_plan
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.trainer import RunResult
from tests.processes import python
from tests.tictactoe import TicTacToe
from tests.tiny_runs import ARGUMENTS


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "corso"
    arguments = ["train", "corso", "--folder", str(folder), *ARGUMENTS]
    assert main([*arguments, "--set=budget={iterations: 2}"]) == 0
    return folder


def test_help_names_each_default_from_where_it_is_decided():
    """The number stands in the sources once: as the parser's default, or as the code's constant."""
    written = re.compile(r"(?i)default:? [\d(]|\(\d[\d.,]*\)")
    for file in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not written.search(node.value), f"{file.name}:{node.lineno}"
    parsers, seen = [cli.command_line()], 0
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            elif action.help and isinstance(action.default, str | int | float):
                words = re.findall(r"\w+", action.help.replace(",", ""))
                assert action.default in ("", False) or str(action.default) not in words
                seen += "%(default)s" in action.help
    assert seen > 20


def test_games_lists_every_option(capsys):
    assert main(["games", "--json"]) == 0
    games = {game["name"]: game for game in json.loads(capsys.readouterr().out)}
    assert games["corso"]["options"][0]["name"] == "size"
    assert [agent["command"] for agent in games["onyx"]["trained_agents"]] == [
        "ludarium play onyx --option size=6",
        "ludarium play onyx --option size=12",  # one for all boards
    ]
    assert main(["games"]) == 0
    assert "size=5" in capsys.readouterr().out


def test_a_game_without_credit_and_summary_is_one_line(monkeypatch, capsys):
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    assert main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "tictactoe  Tic-tac-toe"
    assert all(line == line.rstrip() for line in lines)


def test_every_command_that_is_advertised_means_the_agent_advertised():
    from ludarium.models import load_header

    for name in GAMES:
        for path, options in selecting_options(name).items():
            program, command, game, *given = shlex.split(play_command(name, options))
            assert (program, command) == ("ludarium", "play")
            assert given[::2] == ["--option"] * len(options)
            chosen, agent = read_options(given[1::2]), read_agent(game)
            assert agent.checkpoint_path(chosen) == path
            header = load_header(path)
            assert agent.choose_game(chosen).options in (header.variants or [header.options])


def test_agents_lists_names_and_trained_agents(capsys):
    assert main(["agents", "onyx", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    usages = [name["usage"] for name in found["names"]]
    assert {"uct[:PLAYOUTS]", "GAME[:SIMULATIONS]", "PATH[:SIMULATIONS]"} <= set(usages)
    assert all(name["help"] for name in found["names"])
    assert all(re.search(rf"\b{re.split(r'[^A-Za-z]', each)[0]}\b", AGENTS_HELP) for each in usages)
    of_one = [agent["options"]["size"] for agent in found["trained"] if not agent["learnt"]]
    assert of_one == [6]
    assert found["trained"][0]["simulations"] == 64
    assert main(["agents"]) == 0
    shown = capsys.readouterr().out
    assert "alphabeta[:DEPTH]" in shown
    assert "ludarium play corso\n" in shown


def test_asking_for_help_compiles_no_game():
    """A new machine would compile for seconds, and any other look for what is compiled."""
    code = (
        "from ludarium.envs.engine import compile\n"
        "def refuse(*arguments): raise AssertionError(arguments)\n"
        "compile.specialise = refuse\n"
        "from ludarium.envs.engine.game import Game\n"
        "Game.start = Game.new_states = refuse\n"
        "from ludarium.cli import main\n"
        "main(['probe', 'onyx', '--help'])\n"
    )
    run = python(code)
    assert run.returncode == 0, run.stderr
    assert "probe onyx --record game.json --back 8" in run.stdout


def test_an_option_is_the_same_as_its_key(run_folder, capsys):
    """The run began with --option; nothing of it differs under --set, but for the budget."""
    settings = [each for each in ARGUMENTS if each.startswith("--set")]
    arguments = ["train", "corso", "--folder", str(run_folder), *settings]
    assert main([*arguments, "--set=options.size=3", "--set=budget={iterations: 3}"]) == 2
    told = capsys.readouterr().err
    assert "configuration (budget.iterations: 2 there, 3 now);" in told
    assert "give another --folder, or --restart to throw that run away" in told
    with pytest.raises(ValueError, match="give another folder, or restart=True to throw that run"):
        RunFolder(run_folder).open(load_config("corso/demo"))


def test_a_run_loads_no_compiler_of_torch_which_takes_as_long_as_a_first_iteration(tmp_path):
    program = "import sys; from ludarium.cli import main; main(sys.argv[1:])"
    ask = "; sys.exit('torch._dynamo' in sys.modules)"
    python(program + ask, "train", "corso", "--folder", tmp_path / "run", *ARGUMENTS, check=True)
    assert RunFolder(tmp_path / "run").agent.is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--option", "size=99"], "'size' is 99"),
        (["--option", "size"], "NAME=VALUE"),
        (["--set", "device=warp"], "device is 'warp'"),
        (["--set", "learner.batch=0"], "learner.batch"),
        (["--set", "evaluation.against=nobody"], "evaluation.against: no agent is called 'nobody'"),
        (["--set", "evaluation.against=[random, onyx]"], "plays onyx version 0"),
    ],
)
def test_what_cannot_be_trained_leaves_no_folder(arguments, message, capsys, tmp_path):
    folder = tmp_path / "runs" / "corso"
    assert main(["train", "corso", "--folder", str(folder), *ARGUMENTS, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not folder.exists()


def test_stopped_before_the_first_iteration_there_is_no_agent_to_use(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(Progress, "stopped", True)
    arguments = ["train", "corso", "--folder", str(tmp_path / "run"), *ARGUMENTS]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "stopped before the first iteration" in out
    assert "ludarium play" not in out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agent"] is None


@pytest.mark.parametrize(("finished", "step"), [(True, 99), (False, 0)])
def test_how_a_run_ended_is_told_with_what_to_do_next(finished, step, monkeypatch, capsys):
    ended = RunResult(7, finished, 444.04, step)
    monkeypatch.setattr("ludarium.training.run.train_in", lambda *_, **__: ended)
    command = ["train", "corso", "--folder", "runs/my run"]
    agent = "runs/my run/agent.safetensors"
    assert main(command) == 0
    told = capsys.readouterr()
    state = "finished" if finished else "stopped; the same command continues"
    assert told.out.splitlines() == [
        f"{state}: iteration 7, 7.4 minutes",
        f"agent: {agent}",
        "measure it: ludarium evaluate 'runs/my run'",
        "play it:    ludarium play 'runs/my run'",
    ]
    assert ("nothing was learnt" in told.err) == (step == 0)
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        **{"folder": "runs/my run", "agent": agent, "iteration": 7, "step": step},
        **{"finished": finished, "seconds": 444.0},
    }


def test_without_a_configuration_a_run_starts_as_shipped_ones_do(monkeypatch):
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    config, label = train.choose_config("tictactoe", None, [])
    assert label == "tictactoe"
    assert config.bootstrap.positions
    assert config.budget.minutes
    plan = describe_plan(config)
    assert "first 20,000 positions of games by tree search" in plan
    assert "until 20 minutes, or 400 iterations if sooner" in plan
    assert "games against uct:200 every 10 iterations" in plan
    short, _ = train.choose_config("tictactoe", None, ["budget.minutes=1"])
    assert "until 1 minute, or 400 iterations" in describe_plan(short)
    ppo = train.choose_config("tictactoe", None, [], "ppo")[0]
    assert ppo.budget.minutes
    assert describe_plan(ppo).startswith("plan: self-play; games against")


def test_evaluate_prints_results_as_json(run_folder, capsys):
    arguments = ["evaluate", str(run_folder), "--games=4", "--simulations=2", "--seed=3", "--json"]
    assert main([*arguments, "--against", "random", "--against", "greedy"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [result["second"] for result in results] == ["random", "greedy"]
    assert {(each["first"], each["seed"]) for each in results} == {(f"{run_folder}:2", 3)}
    words = "evaluate uct:20 --game=corso --games=2 --against=random --against=greedy"
    assert main(words.split()) == 0
    shown = capsys.readouterr().out
    assert [name for name in ("uct:20", "random", "greedy") if name not in shown] == []


def test_the_usual_opponents_are_those_that_can_play_the_game(monkeypatch):
    game = TicTacToe()
    own = read_agent("uct:7")
    usual = [str(spec) for spec in _usual_opponents(game, own)]
    assert usual == ["random", "greedy", "uct:1000", "alphabeta:4"]
    monkeypatch.setattr(game, "has_score", False)
    assert [str(spec) for spec in _usual_opponents(game, own)] == ["random", "uct:1000"]


def test_agents_with_one_label_are_told_apart(run_folder, capsys, tmp_path):
    """A label tells people who played; what a name means tells agents apart."""
    copy = shutil.copytree(run_folder, tmp_path / run_folder.name)
    for agent, *against in (
        (f"{run_folder}:64", "corso"),
        (f"{run_folder}:0", f"{copy}:0", "random"),
    ):
        others = [f"--against={name}" for name in against]
        assert main(["evaluate", agent, *others, "--game=corso", "--games=2", "--json"]) == 0
        played = [(each["first"], each["second"]) for each in json.loads(capsys.readouterr().out)]
        assert played == [(agent, name if name != "corso" else "corso:64") for name in against]


@pytest.mark.parametrize(
    ("agent", "others"),
    [
        ("uct", ["random", "greedy", "alphabeta:4"]),
        ("alphabeta", ["random", "greedy", "uct:1000"]),
        ("greedy", ["random", "uct:1000", "alphabeta:4"]),
    ],
)
def test_an_agent_does_not_meet_itself_among_the_usual_opponents(agent, others, capsys):
    assert main(["evaluate", agent, "--game=corso", "--option=size=3", "--games=2", "--json"]) == 0
    assert [each["second"] for each in json.loads(capsys.readouterr().out)] == others


def test_evaluate_warns_of_one_game_played_again_and_again(run_folder, capsys):
    arguments = ["evaluate", f"{run_folder}:0", "--against", f"{run_folder}:1", "--games=10"]
    assert main([*arguments, "--opening-plies=0", "--json"]) == 0
    assert "warning: corso:0 against corso:1: only 2 of 10 games" in capsys.readouterr().err


TOURNAMENT = ["tournament", "random", "uct:5", "--game", "corso"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "chess"], "no game is called 'chess'"),
        (["play", "chess"], "no game is called 'chess'; games: corso, onyx, "),
        (
            ["play", "corso", "--option=sise=4"],
            "ludarium: corso has no option 'sise' (given 4); did",
        ),
        (["help", "wombat"], "'wombat' is no game, kind of agent or setting"),
        (
            ["analyse", "corso", "--seed", str(2**64)],
            "not a seed from 0 to 18,446,744,073,709,551,615",
        ),
        (["train", "corso", "--config", "nowhere.yaml"], "no configuration 'nowhere.yaml'"),
        (["train", "corso", "--set", "algorithm=ppo"], "begin with one whose algorithm is ppo"),
        (["train", "corso", "--set", "game=onyx"], "the game is corso; name onyx instead"),
        (["train", "corso", "--config", ""], "the name of the configuration is empty"),
        (["train", "--folder", "nowhere"], "'nowhere' holds no run"),
        (["--game-module"], "argument --game-module: expected one argument (see"),
        (["evaluate", "random"], "'random' plays any game: say which, with --game"),
        (["evaluate", "corso", "--game=onyx"], "'corso' plays corso, not onyx"),
        (["bench", "onyx", "--agent", "corso"], "checkpoint corso plays corso"),
        (["bench", "--agent", "uct"], "agent 'uct' has no checkpoint"),
        (["export", "random"], "agent 'random' has no checkpoint"),
        (["export", "corso", "--as=c", "--target=amiga"], "no library for 'amiga'"),
        (["train", "corso", "--folder", "x" * 300], "x... (File name too long): name another"),
        (["--game-module", "no_such_module", "games"], "'no_such_module'); it is looked for in"),
        (["games", "--game-module=json"], "--game-module json: there is no game in it; subclasses"),
        (["games", "--game-module=tests.tictactoe:Tic"], "in it; subclasses of Game: TicTacToe ("),
        (["games", "--network-module", "mine"], "write MODULE:CLASS"),
        (["games", "--network-module", "no_such:Net"], "No module named 'no_such'"),
        (["games", "--network-module", "math:pi"], "not a subclass of torch.nn.Module"),
        (["games", "--network-module", "math:Net"], "there is no 'Net' in it"),
        (["compare", "--folder", "nowhere"], "there is no comparison in nowhere"),
        (["compare", "uct:5"], "a comparison is of two agents, A and B, not of 1"),
        (["compare", "--folder", "nowhere", "--alpha", "0.1"], "--alpha goes with agents"),
        (
            ["tournament"],
            "name the agents, as in `ludarium tournament uct:200 uct:100 --game corso`",
        ),
        ([*TOURNAMENT, "--gauntlet", "2"], "of 2 agents, 1 to 1 can run it"),
        ([*TOURNAMENT, "--anchor", "uct:5"], "is not an anchor: write AGENT=ELO"),
        ([*TOURNAMENT, "--anchor", "uct:6=1"], "uct:6 is the anchor, but not among"),
        (["tournament", "--folder", "nowhere"], "there is no tournament in nowhere"),
        (["tournament", "--folder", "nowhere", "--games", "4"], "--games goes with agents"),
        (["report", "corso", "--games", "2"], "even number from 4 on, not 2"),
        (["report", "corso", "--games", "3"], "argument --games: 3 is odd"),
        (["report", "corso", "--output", "page.txt"], "ends in none of .html, .htm"),
        (["report", "corso", "--compare", "size"], "write NAME=VALUE,VALUE"),
        (["report", "corso", "--compare", "size=5"], "two or more different values"),
        (["report", "corso", "--compare", "colour=1,2"], "has no option 'colour'"),
    ],
)
def test_what_a_user_can_put_right_is_one_line_and_status_2(
    arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main([str(argument) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--seed", ["-1", str(2**64), "one"]),
        ("--games", ["0", "-2", "7", str(10**9), "2.5"]),
        ("--opening-plies", ["-1", "500"]),
    ],
)
def test_numbers_of_matches_have_one_rule_in_all_commands(option, values, capsys):
    for command in ("evaluate", "tournament", "compare"):
        spelt = "--games-limit" if (command, option) == ("compare", "--games") else option
        for value in values:
            assert main([command, "random", "greedy", "--game=corso", spelt, value]) == 2
            error = capsys.readouterr().err
            assert error.startswith(f"ludarium: argument {spelt}: ")
            assert error.count("\n") == 1


def test_an_agent_against_itself_is_refused_by_all_commands(capsys):
    for command in ("evaluate random --against", "tournament random", "compare random"):
        assert main([*command.split(), "random", "--game=corso"]) == 2
        assert "agent 'random' is named twice" in capsys.readouterr().err
    for command in ("evaluate uct --against", "tournament uct", "compare uct"):
        assert main([*command.split(), "uct?playouts=1000", "--game=corso"]) == 2
        assert "agent 'uct:1000' is named twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["levels", "corso", "--measure", "--output", "nowhere/corso.json"],
        ["report", "corso", "--output", "nowhere/corso.html"],
        ["tournament", "random", "greedy", "--game=corso", "--plot", "nowhere/elo.svg"],
        ["accuracy", "corso", "--save", "nowhere/test.jsonl"],
        ["analyse", "corso", "--record", "game.json", "--picture", "nowhere/game.svg"],
    ],
)
def test_a_file_in_a_folder_that_is_not_there_is_refused_before_any_work(
    arguments, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert f"argument {arguments[-2]}: there is no folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "missing", "extra"),
    [
        ("train corso --folder", "torch", "train"),
        ("train corso --folder", "yaml", "train"),
        ("tune corso --folder", "yaml", "tune"),
        ("export corso --output", "torch", "export"),
    ],
)
def test_without_the_extra_packages_the_remedy_is_named(words, missing, extra, tmp_path):
    folder = tmp_path / "run"
    arguments = [*words.split(), str(folder)]
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"from ludarium.cli import main; sys.exit(main({arguments}))"
    )
    result = python(program)
    assert result.returncode == 2
    assert f'pip install "ludarium[{extra}]"' in result.stderr
    assert "Traceback" not in result.stderr
    assert not folder.exists()


def test_without_the_extra_packages_python_is_told_the_remedy_too():
    names = {
        "ludarium.training": "train",
        "ludarium.models": "load_checkpoint",
        "ludarium.configs": "load_config",
        "ludarium.models.export": "load_exported",
        "ludarium.training.tuning": "study",
    }
    program = (
        "import sys\n"
        "for name in ('torch', 'yaml', 'optuna'): sys.modules[name] = None\n"
        f"for module, name in {names}.items():\n"
        "    try: exec(f'from {module} import {name}')\n"
        "    except ImportError as error: print(error)"
    )
    told = re.findall(r'more packages .*: pip install "ludarium\[(\w+)\]"', python(program).stdout)
    assert told == ["train", "train", "train", "export", "tune"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "usage: ludarium [-h]"),
        ("help", "usage: ludarium [-h]"),
        ("help help", "usage: ludarium [-h]"),
        ("version", "ludarium 0."),
        ("help train", "usage: ludarium train"),
        ("help solve osiron", "usage: ludarium solve osiron"),
    ],
)
def test_help_is_given_however_one_asks(words, told, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(told)


def test_a_game_a_kind_of_agent_and_a_setting_are_explained(capsys):
    for words, told, others in (
        ("help osiron", ["--option setup=", "levels: ludarium levels osiron", "-v1"], "corso"),
        ("help uct", ["uct[:PLAYOUTS]", "exploration"], "alphabeta"),
        ("agents depth", ["alphabeta[:DEPTH]"], "uct"),
    ):
        assert main(words.split()) == 0
        shown = capsys.readouterr().out
        assert [word for word in told if word not in shown] == []
        assert others not in shown
    (game,) = json.loads(_printed(capsys, "games osiron --json"))
    assert (game["name"], game["gymnasium"]) == ("osiron", "ludarium/Osiron-v1")
    assert json.loads(_printed(capsys, "agents uct --json"))["settings"].keys() == {"uct"}


def _printed(capsys, line):
    assert main(line.split()) == 0
    return capsys.readouterr().out


def test_bench_counts_by_the_clock(monkeypatch, capsys):
    """A second passes at each look: two parts of self-play, and the network once after each."""
    played, play = [], SelfPlay.play
    take = lambda *given: (played.append(play(*given)), played[-1])[1]  # noqa: E731
    monkeypatch.setattr(SelfPlay, "play", take)
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)
    monkeypatch.setattr(bench, "time", clock)
    monkeypatch.setattr(bench, "random_speed", lambda game, seconds: 1234.5 * seconds)
    command = "bench corso --option=size=3 --seconds=2 --set=network.channels=4"
    small = "--set=self_play={games: 8, positions: 64, workers: 1, simulations: 4, cache: 1}"
    assert main([*command.split(), small, "--set=backend=eager", "--set=network.blocks=1"]) == 0
    out = capsys.readouterr().out
    total = sum((each.counts for each in played[1:]), Counter())  # the first compiles
    hits = total["hits"] / (total["hits"] + total["evaluations"])
    speed = total["simulations"] / 2
    for row in (
        "random plies/s 2,469 one core",
        "network/s 512 4x1 eager on cpu, batch 8",
        f"simulations/s {speed:,.0f} 4 for each move, 1 workers",
        f"cache hits {hits:.2f} of the evaluations; "
        f"{total['evaluations'] / total['simulations']:.2f} by the network for each simulation",
        f"share {speed / 512:.2f}",
    ):
        assert row in re.sub(" +", " ", out)
    assert len(played) == 3


def test_random_games_are_counted_by_the_clock():
    """Two thousand games of Tic-tac-toe, which are of 7.6 plies on average, in four seconds."""
    found = bench.random_speed(TicTacToe(), 2.5, itertools.count().__next__)
    assert found == pytest.approx(2000 * 7.63 / 4, rel=0.02)


def test_bench_reports_the_share_of_the_network(capsys, tmp_path, run_folder):
    config = tmp_path / "tiny.yaml"
    config.write_text("game: corso\nnetwork: {channels: 4, blocks: 1}\nbackend: eager\n")
    arguments = ["bench", "corso", "--config", str(config), "--seconds", "0.3", "--json"]
    arguments += ["--option", "size=3"]
    small = ["--set", "self_play={games: 8, positions: 64, workers: 1, simulations: 4, cache: 1}"]
    assert main([*arguments, *small]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    ratio = result["simulations_per_second"] / result["network_per_second"]
    assert result["share"] == pytest.approx(ratio)
    assert 0 < result["cache_hits"] < 1
    agent = ["--agent", str(run_folder), "--set", "self_play.cache=0"]
    assert main([*arguments, *small, *agent]) == 0
    (trained,) = json.loads(capsys.readouterr().out)
    assert trained["cache_hits"] == 0
    assert trained["network"] == {"channels": 8, "blocks": 1} != result["network"]
