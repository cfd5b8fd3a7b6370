"""What a run would take is reckoned, and compared with the machine, before anything is made."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludarium.base import memory
from ludarium.base.memory import available_memory
from ludarium.configs import apply_settings, load_config, shipped
from ludarium.configs.loading import parse_config
from ludarium.envs.registry import GAMES, make_game
from ludarium.training.alphazero.actors import search_settings
from ludarium.training.run import make_trainer
from ludarium.training.runs import resources
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.resources import check_resources, memory_of
from ludarium.training.runs.trainer import games_of
from ludarium.training.search.tree import new_tree
from tests.tictactoe import TicTacToe


@pytest.fixture
def game(monkeypatch):
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    return TicTacToe()


@pytest.fixture
def machine(monkeypatch):
    """24 GB, 4 cores, no GPU."""
    monkeypatch.setattr(memory, "available_memory", lambda: 24 * 2**30)
    monkeypatch.setattr(resources, "available_cores", lambda: 4)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def config_of(algorithm, *settings):
    return apply_settings(
        parse_config(f"game: tictactoe\nalgorithm: {algorithm}", "some.yaml"), settings
    )


@pytest.mark.parametrize("name", shipped())
def test_shipped_configurations_fit_into_four_gigabytes(monkeypatch, machine, name):
    monkeypatch.setattr(memory, "available_memory", lambda: 4 * 2**30)
    config = load_config(name)
    assert config.game == name.split("/")[0]
    check_resources(config, [game for game, _ in games_of(config)])


@pytest.mark.parametrize(
    ("algorithm", "settings", "message"),
    [
        (
            "alphazero",
            ["backend=eager", "self_play.games=65536", "self_play.simulations=10000"],
            r"the run, most of all its self_play\.games or self_play\.simulations, would take "
            r"[\d,.]+ GiB of memory, and 24\.0 GiB are free: ask for less$",
        ),
        ("alphazero", ["replay.last=1000000000"], r"most of all its replay\.last, would take"),
        ("alphazero", ["self_play.cache=1000000"], r"most of all its self_play\.cache, would"),
        ("alphazero", ["device=cuda"], "device is 'cuda', which is not on this machine.* cpu"),
        ("ppo", ["rollout={games: 65536, steps: 65536}"], r"its rollout\.games or rollout\.steps,"),
        (
            "ppo",
            ["network={channels: 1024, blocks: 20}", "opponents.pool=1000"],
            r"opponents\.pool",
        ),
        ("ppo", ["device='cuda:1'"], "device is 'cuda:1', which is not on"),
        ("ppo", ["device=nonsense"], "device is 'nonsense'"),
    ],
)
def test_what_the_machine_cannot_do_is_refused_before_anything_is_made(
    tmp_path, game, machine, algorithm, settings, message
):
    config = config_of(algorithm, *settings)
    with pytest.raises(ValueError, match=message) as caught:
        make_trainer(config, RunFolder(tmp_path / "run"))
    assert len(str(caught.value)) <= 300
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("backend", "device", "games", "trees"),
    [("auto", "cpu", 32, 6), ("eager", "cpu", 32, 32), ("auto", "meta", 32, 32)]
    + [("eager", "cpu", 2, 3)],  # a game for each worker at least
)
def test_trees_are_reckoned_as_they_are_made(game, monkeypatch, backend, device, games, trees):
    monkeypatch.setattr(resources, "check_device", lambda _: device)
    config = config_of(
        "alphazero",
        f"self_play={{games: {games}, simulations: [[0, 9], [0.5, 50], [1, 20]], workers: 3}}",
        f"backend={backend}",
    )
    tree = new_tree(game, trees, search_settings(config, 0.5))
    made = sum(array.nbytes for array in tree)
    games = [make_game("corso", size=2), game]  # memory is for the larger one
    reckoned = memory_of(config, games)["self_play.games or self_play.simulations"]
    assert 0.9 * made <= reckoned <= 1.1 * made


def test_what_ppo_keeps_is_reckoned_as_it_is_made(tmp_path, game):
    config = config_of("ppo", "rollout={games: 16, steps: 8}", "network={channels: 8, blocks: 3}")
    run = make_trainer(config, RunFolder(tmp_path / "run"))
    buffer = run.algorithm.model.rollout_buffer
    network = run.algorithm.network.state_dict().values()
    run.close()
    assert memory_of(config, [game]) == {
        "rollout.games or rollout.steps": sum(
            each.nbytes for each in vars(buffer).values() if isinstance(each, np.ndarray)
        ),
        "opponents.pool": config.opponents.pool * 4 * sum(weight.numel() for weight in network),
    }


def test_on_a_cluster_trees_are_those_of_others(monkeypatch, machine, game):
    settings = ["self_play={games: 65536, simulations: 10000}", "backend=eager"]
    config = config_of("alphazero", *settings)
    check_resources(config, [game], on_cluster=True)
    config = apply_settings(config, ["replay.last=1000000000"])
    with pytest.raises(ValueError, match=r"its replay\.last, would take"):
        check_resources(config, [game], on_cluster=True)


@pytest.mark.parametrize(
    ("limit", "free"), [("2147483648", 2**31 - 2**30 + 2**20), ("1", 0), ("max", 2**40)]
)
def test_a_containers_limit_counts(limit, free, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "meminfo")
    assert available_memory() == float("inf")
    (tmp_path / "meminfo").write_text("Mem:\n\nMemTotal: much kB\nMemFree: 7 kB\n")
    assert available_memory() == float("inf")
    (tmp_path / "meminfo").write_text(f"MemTotal: 7 kB\nMemAvailable: {2**30} kB\nHugePages: 0\n")
    assert available_memory() == 2**40
    files = {"max": limit, "current": f"{2**30}", "stat": f"odd\nanon 7\ninactive_file {2**20}"}
    for name, content in files.items():
        (tmp_path / f"memory.{name}").write_text(f"{content}\n")
    assert available_memory() == free


def test_memory_is_known_here():
    assert 2**20 < available_memory() < float("inf")
