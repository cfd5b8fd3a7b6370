"""Runs that start from a trained agent."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest
import torch

from ludarium.cli import main
from ludarium.configs import load_config
from ludarium.envs.corso import Corso
from ludarium.models import load_checkpoint
from ludarium.training.alphazero.learner import Losses
from ludarium.training.alphazero.self_play import SelfPlayResult
from tests.survival.test_folder import contents
from tests.tiny_runs import ALPHAZERO, ARGUMENTS, PPO, TinyRuns

VARIANTS = "variants=[{options: {size: [2, 3]}}]"
RUNS = TinyRuns("corso/demo", ALPHAZERO)
OF_ALL = {"alphazero": RUNS, "ppo": TinyRuns("corso/ppo", (*PPO, "budget.iterations=1"))}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """The folder of a run of AlphaZero that others start from."""
    folder = tmp_path_factory.mktemp("teacher")
    RUNS.trained(folder, "budget.iterations=1", "seed=5")
    return folder


def weights_in(folder):
    return load_checkpoint(folder / "agent.safetensors").network.state_dict()


def same(ours, theirs):
    return all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("algorithm", sorted(OF_ALL))
def test_a_run_begins_with_the_agents_weights(tmp_path, teacher, algorithm):
    trainer = OF_ALL[algorithm].begun(tmp_path, f"start={teacher}")
    assert same(trainer.algorithm.agent().state_dict(), weights_in(teacher))
    trainer.run()
    assert not same(trainer.algorithm.agent().state_dict(), weights_in(teacher))
    trainer.close()


def test_a_larger_network_begins_as_the_agents(tmp_path, teacher):
    larger = "network={channels: 12, blocks: 2}"
    trainer = RUNS.begun(tmp_path / "run", f"start={teacher}", larger)
    small = load_checkpoint(teacher / "agent.safetensors").network.eval()
    observations = torch.rand(16, 5, 3, 3)
    with torch.no_grad():
        for ours, theirs in zip(
            trainer.algorithm.agent().eval()(observations), small(observations), strict=True
        ):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    trainer.run()
    trainer.close()
    assert load_checkpoint(tmp_path / "run" / "agent.safetensors").architecture.options == {
        "channels": 12,
        "blocks": 2,
    }


def test_a_run_does_not_go_on_by_other_rules(tmp_path, teacher, monkeypatch):
    folder = shutil.copytree(teacher, tmp_path / "run")
    monkeypatch.setattr(Corso, "version", Corso.version + 1)
    with pytest.raises(ValueError, match=r"version 0 of corso; this program has 1.*start anew"):
        RUNS.begun(folder, "budget.iterations=1", "seed=5")


def test_one_network_for_many_boards_starts_from_another_that_learnt_them(tmp_path):
    first = tmp_path / "first"
    RUNS.trained(first, VARIANTS, "budget.iterations=1")
    shares = "variants=[{options: {size: 2}, share: 9}, {options: {size: 3}}]"
    trainer = RUNS.begun(tmp_path / "second", shares, f"start={first}")
    assert same(trainer.algorithm.agent().state_dict(), weights_in(first))
    trainer.close()
    other = "variants=[{options: {size: [3, 4]}}]"
    with pytest.raises(ValueError, match="learnt other values"):
        RUNS.begun(tmp_path / "third", other, f"start={first}")
    with pytest.raises(ValueError, match="the agent learns many sets of options"):
        RUNS.begun(tmp_path / "third", f"start={first}")


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("network={channels: 8, blocks: 0}", "fewer channels or blocks"),
        ("start=uct:200", "not a trained agent"),
        ("start=osiron", "plays osiron"),
        ("start=nowhere.safetensors", "no such file or folder"),
        ("network={channels: 4, blocks: 1}", "'channels': 8.*'channels': 4"),
        ("options={size: 4}", "options"),
        (VARIANTS, "the run learns many sets of options"),
    ],
)
def test_an_agent_that_does_not_fit_is_refused_and_leaves_no_folder_and_the_old_run(
    tmp_path, teacher, setting, told
):
    settings = [setting] if setting.startswith("start") else [setting, f"start={teacher}"]
    with pytest.raises((ValueError, FileNotFoundError), match=told):
        RUNS.begun(tmp_path / "run", *settings)
    assert not (tmp_path / "run").exists()
    before = contents(teacher)
    with pytest.raises((ValueError, FileNotFoundError), match=told):
        RUNS.begun(teacher, *settings, restart=True)
    assert contents(teacher) == before


def test_the_command_takes_the_agents_network_and_plays_no_bootstrap(tmp_path, teacher, capsys):
    folder = tmp_path / "run"
    command = ["train", "corso", "--folder", str(folder), *ARGUMENTS, "--from", str(teacher)]
    command = [argument for argument in command if not argument.startswith("--set=bootstrap")]
    settings = ["--set=budget={iterations: 1}", "--set=network.blocks=1"]
    assert main([*command, *settings]) == 0
    config = load_config(folder / "config.yaml")
    assert config.start == str(teacher)
    assert (config.network.channels, config.network.blocks) == (8, 1)
    assert config.bootstrap.positions == 0
    assert main([*command, *settings]) == 0, "the same command resumes"
    assert "finished: iteration 1," in capsys.readouterr().out
    of_file = ["train", "--config", str(folder / "config.yaml"), "--folder", str(tmp_path / "new")]
    assert main(of_file) == 0, "the configuration names the game"
    assert "finished: iteration 1," in capsys.readouterr().out


def test_the_command_goes_on_where_the_agent_is_gone(tmp_path, teacher, capsys):
    start = shutil.copy(teacher / "agent.safetensors", tmp_path / "start.safetensors")
    command = ["train", "corso", "--folder", str(tmp_path / "run"), *ARGUMENTS, f"--from={start}"]
    settings = ["--set=budget={iterations: 1}", "--set=network.blocks=2"]
    assert main([*command, *settings]) == 0
    (tmp_path / "start.safetensors").unlink()
    assert main([*command, *settings]) == 0
    assert "finished: iteration 1," in capsys.readouterr().out
    (tmp_path / "run" / "config.yaml").write_text("junk")
    assert main(["train", "--folder", str(tmp_path / "run")]) == 0, "the folder is enough"
    told = capsys.readouterr()
    assert "finished: iteration 1," in told.out
    assert "blocks: 2" in (tmp_path / "run" / "config.yaml").read_text(), "it is written again"
    assert main([*command, *settings, "--set=network.blocks=3"]) == 2
    assert "network.blocks: 2 there, 3 now" in capsys.readouterr().err
    assert main([*command, *settings, "--restart"]) == 2
    assert "no such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--folder", "run", "--algorithm", "ppo"]])
def test_without_a_game_there_must_be_a_run(tmp_path, monkeypatch, teacher, capsys, arguments):
    shutil.copytree(teacher, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments]) == 2
    assert "give a GAME to train, a --config that names one, or" in capsys.readouterr().err
    assert [item.name for item in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(("game", "has_score"), [("corso", True), ("osiron", False)])
def test_what_is_not_there_is_not_measured(game, has_score, tmp_path):
    """A score to learn in a game without points, and what finished games have where none did."""
    settings = [f"game={game}", "options={}", "backend=eager", "self_play.solve=9"]
    trainer = RUNS.begun(tmp_path, *settings)
    algorithm, losses = trainer.algorithm, Losses()
    samples = np.zeros(2, algorithm.packer.dtype)
    samples["state"], samples["policy"] = trainer.game.start().state, 1
    batches = algorithm.packer.batches(samples, np.random.default_rng(0))
    algorithm.learner.learn(batches, 0.0, losses)
    for ended in (0, 4):
        played = SelfPlayResult([], Counter(games=ended, solved=ended), seconds=1.0)
        found = algorithm._metrics(played, losses, 1.0)
        assert {"mean_plies", "solved"} & found.keys() == (
            {"mean_plies", "solved"} if ended else set()
        )
        assert ("score_loss" in found) == has_score
    trainer.close()


def test_a_run_that_learns_nothing_says_so(tmp_path, capsys):
    command = ["train", "corso", "--folder", str(tmp_path / "run"), *ARGUMENTS]
    settings = ["--set=budget={iterations: 1}", "--set=learner.batch=4096", "--json"]
    assert main([*command, *settings]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["step"] == 0
    assert "nothing was learnt" in told.err
    (line,) = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert not [name for name in json.loads(line) if name.endswith("_loss")]
