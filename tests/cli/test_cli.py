"""The command line as a user meets it."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from ludarium.cli import main
from ludarium.envs import from_record, make_game

TINY = [
    "--set=options={size: 3}",
    "--set=backend=eager",
    "--set=network={channels: 8, blocks: 1}",
    "--set=self_play={games: 8, positions: 64, workers: 1, simulations: 4}",
    "--set=bootstrap={positions: 32, playouts: 20}",
    "--set=learner={batch: 32}",
    "--set=evaluation={every: 1, games: 2, against: random, simulations: 2}",
]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "corso"
    arguments = ["train", "corso", "--folder", str(folder), *TINY]
    assert main([*arguments, "--set=budget={iterations: 2}"]) == 0
    return folder


def test_games_lists_every_option(capsys):
    assert main(["games", "--json"]) == 0
    games = {game["name"]: game for game in json.loads(capsys.readouterr().out)}
    assert games["corso"]["options"][0]["name"] == "size"
    assert games["corso"]["trained_agents"] == [{}]
    assert {"size": 6} in games["onyx"]["trained_agents"]
    assert main(["games"]) == 0
    assert "size=5" in capsys.readouterr().out


def test_a_games_agent_is_the_one_for_the_options(monkeypatch, tmp_path):
    """The usual one where the options say nothing, or nothing that an agent was trained for."""
    from ludarium.cli.common import game_and_agent
    from ludarium.models import Architecture, Checkpoint, build_network, save_checkpoint
    from ludarium.training.agents import checkpoints
    from ludarium.training.networks import network_shape

    (tmp_path / "shipped").mkdir()
    monkeypatch.setattr(checkpoints, "files", lambda _: tmp_path)
    assert checkpoints.shipped_agents("corso") == []
    assert checkpoints.shipped_agent("corso") is None
    for size, name in ((4, "corso"), (3, "corso-3"), (6, "corso-6")):
        game = make_game("corso", size=size)
        shape = network_shape(game)
        size_4x1 = Architecture({"channels": 4, "blocks": 1})
        network = build_network(shape, 4, 1)
        checkpoint = Checkpoint("corso", 0, dict(game.options), shape, size_4x1, 0, network)
        save_checkpoint(checkpoint, tmp_path / "shipped" / f"{name}.safetensors")
    names = [path.stem for path in checkpoints.shipped_agents("corso")]
    assert names == ["corso", "corso-3", "corso-6"]
    for options, name in (({}, "corso"), ({"size": 6}, "corso-6"), ({"size": 5}, "corso")):
        found = checkpoints.shipped_agent("corso", options)
        assert found is not None
        assert found.stem == name
    game, agent = game_and_agent("corso", {"size": 3}, 8)
    assert game.options["size"] == agent.game.options["size"] == 3


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
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert 'probe onyx --option size=6 --moves "a1, ..."' in run.stdout


def test_train_writes_what_it_promises(run_folder):
    for name in ("agent.safetensors", "config.yaml", "metrics.jsonl", "tensorboard"):
        assert (run_folder / name).exists(), name
    lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").open()]
    assert [line["iteration"] for line in lines] == [1, 2]
    assert all(line["opponent"] == "random" for line in lines)


def test_train_again_changes_nothing_when_finished(run_folder, capsys):
    before = (run_folder / "agent.safetensors").read_bytes()
    arguments = ["train", "corso", "--folder", str(run_folder), *TINY, "--json"]
    assert main([*arguments, "--set=budget={iterations: 2}"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["finished"]
    assert result["iteration"] == 2
    assert (run_folder / "agent.safetensors").read_bytes() == before


def test_train_under_another_configuration_is_refused(run_folder, capsys):
    arguments = ["train", "corso", "--folder", str(run_folder), *TINY]
    assert main([*arguments, "--set=budget={iterations: 3}"]) == 2
    assert "budget.iterations: 2 there, 3 now" in capsys.readouterr().err


def test_evaluate_prints_results_as_json(run_folder, capsys):
    arguments = ["evaluate", str(run_folder), "--games", "4", "--simulations", "2", "--json"]
    assert main([*arguments, "--against", "random", "--against", "greedy"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [result["second"] for result in results] == ["random", "greedy"]
    assert main(["evaluate", "uct:20", "--game", "corso", "--games", "2", "--against=random"]) == 0
    assert "uct:20" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "chess"], "no game is called 'chess'"),
        (["train", "corso", "--config", "nowhere.yaml"], "no configuration nowhere.yaml"),
        (["train", "corso", "--set", "seeds=1"], "seeds: there is no such key"),
        (["evaluate", "nowhere.safetensors"], "nowhere.safetensors"),
        (["evaluate", "uct:9", "--game", "corso", "--games", "3"], "even number"),
        (["evaluate", "uct:9", "--game", "corso", "--against", "alphazero"], "'alphazero'"),
        (["evaluate", "uct:9", "--game", "corso", "--option", "size=99"], "'size' is 99"),
        (["play", "corso", "--opponent", "uct:none"], "'uct:none'"),
        (["play", "corso", "--option", "size"], "NAME=VALUE"),
        (["play", "corso", "--resume", "nowhere.json"], "nowhere.json"),
        (["bench", "--seconds", "0"], "positive number"),
        (["bench", "onyx", "--agent", "corso"], "checkpoint corso plays corso"),
    ],
)
def test_what_a_user_can_put_right_is_one_line_and_status_2(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize("missing", ["rich", "pydantic", "yaml"])
def test_without_the_extra_packages_the_remedy_is_named(missing):
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from ludarium.cli import main; sys.exit(main(['games']))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 2
    assert 'pip install "ludarium[train]"' in result.stderr
    assert "Traceback" not in result.stderr


def play(monkeypatch, capsys, lines: list[str], *arguments: str) -> str:
    """What `ludarium play` prints when a person types these lines."""
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["play", *arguments]) == 0
    return capsys.readouterr().out


def test_play_takes_moves_and_commands(monkeypatch, capsys, tmp_path):
    saved = tmp_path / "game.json"
    out = play(
        monkeypatch,
        capsys,
        ["help", "moves", "a1", "z9", "hint", "undo", "b2", f"save {saved}", "quit"],
        *("corso", "--opponent", "random", "--seat", "0", "--option", "size=3"),
    )
    assert "a1 b1 c1" in out
    assert "'z9' is malformed" in out
    assert "I would play" in out
    record = json.loads(saved.read_text())
    assert record["moves"][0] == "b2"
    assert len(record["moves"]) == 2
    assert from_record(record).unwrapped.position.ply == 2
    resumed = play(
        monkeypatch, capsys, ["quit"], "corso", "--opponent", "random", "--resume", str(saved),
        "--seat", "0",
    )  # fmt: skip
    assert f"moves: {' '.join(record['moves'])}" in resumed


def test_play_to_the_end_names_the_winner(monkeypatch, capsys, run_folder):
    out = play(
        monkeypatch,
        capsys,
        ["a1", "b1", "a2", "b2", "a1!", "b1!", "a2!", "b2!"] * 4,
        *(str(run_folder), "--seat", "1", "--simulations", "4", "--option", "size=3"),
    )
    assert " wins by " in out or "You win by " in out or "A draw" in out or "moves:" in out


def test_bench_reports_the_share_of_the_network(capsys, tmp_path):
    config = tmp_path / "tiny.yaml"
    config.write_text("game: corso\nnetwork: {channels: 8, blocks: 1}\nbackend: eager\n")
    arguments = ["bench", "corso", "--config", str(config), "--seconds", "0.3", "--json"]
    small = ["--set", "self_play={games: 8, positions: 64, workers: 1, simulations: 4, cache: 1}"]
    assert main([*arguments, *small]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    ratio = result["simulations_per_second"] / result["network_per_second"]
    assert result["share"] == pytest.approx(ratio)
    assert 0 < result["cache_hits"] < 1
    assert main([*arguments, *small, "--agent", "corso", "--set", "self_play.cache=0"]) == 0
    (trained,) = json.loads(capsys.readouterr().out)
    assert trained["cache_hits"] == 0
    assert trained["network"] != {"channels": 8, "blocks": 1}
