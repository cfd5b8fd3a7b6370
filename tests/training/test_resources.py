"""What a run would take is reckoned, and compared with the machine, before anything is made."""

from __future__ import annotations

import ctypes
import struct
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from ludarium.configs import apply_settings, load_config, shipped
from ludarium.configs.loading import parse_config
from ludarium.envs import make_game
from ludarium.envs.registry import GAMES
from ludarium.models import make_network
from ludarium.training.alphazero.actors import search_settings
from ludarium.training.networks import chosen_architecture, network_shape
from ludarium.training.runs import resources
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.games import games_of
from ludarium.training.runs.reporting import Reporter
from ludarium.training.runs.resources import (
    available_memory,
    check_device,
    check_resources,
    memory_of,
)
from ludarium.training.search.tree import new_tree
from ludarium.training.trainers import make_trainer
from tests.tictactoe import TicTacToe


@pytest.fixture
def game(monkeypatch):
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    return TicTacToe()


@pytest.fixture
def machine(monkeypatch):
    """24 GB, 4 cores, no GPU."""
    monkeypatch.setattr(resources, "available_memory", lambda: 24 * 2**30)
    monkeypatch.setattr(resources, "available_cores", lambda: 4)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def config_of(algorithm, *settings):
    return apply_settings(
        parse_config(f"game: tictactoe\nalgorithm: {algorithm}", "some.yaml"), settings
    )


@pytest.mark.parametrize("name", shipped())
def test_shipped_configurations_fit_into_four_gigabytes(monkeypatch, machine, name):
    monkeypatch.setattr(resources, "available_memory", lambda: 4 * 2**30)
    config = load_config(name)
    check_resources(config, [game for game, _ in games_of(config)])


@pytest.mark.parametrize(
    ("algorithm", "settings", "message"),
    [
        (
            "alphazero",
            ["backend=eager", "self_play.games=65536", "self_play.simulations=10000"],
            r"the run would take [\d,.]+ GB of memory, most of it for self_play\.games or "
            r"self_play\.simulations, and 24\.0 GB are free: lower self_play\.games or "
            r"self_play\.simulations$",
        ),
        (
            "alphazero",
            ["replay.last=1000000000"],
            r"most of it for replay\.last.*lower replay\.last$",
        ),
        ("alphazero", ["replay.first=1000000000"], r"lower replay\.last$"),
        ("alphazero", ["network={channels: 4096, blocks: 256}"], "lower network$"),
        ("alphazero", ["self_play.workers=33"], r"workers is 33; 32 are the most on 4 cores"),
        ("alphazero", ["device=cuda"], "device is 'cuda', which is not on this machine.* cpu"),
        ("ppo", ["device='cuda:1'"], "device is 'cuda:1', which is not on"),
        ("ppo", ["device=nonsense"], "device is 'nonsense'"),
        ("ppo", ["network={channels: 4096, blocks: 256}"], "lower network$"),
    ],
)
def test_what_the_machine_cannot_do_is_refused_before_anything_is_made(
    tmp_path, game, machine, algorithm, settings, message
):
    config = config_of(algorithm, *settings)
    with pytest.raises(ValueError, match=message) as caught:
        make_trainer(config, RunFolder(tmp_path / "run"), Reporter())
    assert len(str(caught.value)) <= 300
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("backend", "device", "games", "trees"),
    [("auto", "cpu", 32, 3), ("eager", "cpu", 32, 32), ("auto", "meta", 32, 32)]
    + [("eager", "cpu", 2, 3)],  # a game for each worker at least
)
def test_trees_are_reckoned_as_they_are_made(game, monkeypatch, backend, device, games, trees):
    monkeypatch.setattr(resources, "check_device", lambda _: device)
    config = config_of(
        "alphazero",
        f"self_play={{games: {games}, simulations: 50, workers: 3}}",
        f"backend={backend}",
    )
    tree = new_tree(game, trees, search_settings(config, 0.0))
    made = sum(array.nbytes for array in tree)
    reckoned = memory_of(config, [game])["self_play.games or self_play.simulations"]
    assert 0.9 * made <= reckoned <= 1.1 * made


@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_weights_are_reckoned_as_they_are_made(name):
    """But for what a block does not have: the first layer and the heads."""
    game, settings = make_game(name), ["network={channels: 96, blocks: 8}"]
    config = apply_settings(load_config(f"{name}/ppo"), settings)
    network = make_network(network_shape(game), chosen_architecture(game, config.network))
    made = 6 * sum(weight.nbytes for weight in network.parameters())
    assert 0.7 * made <= memory_of(config, [game])["network"] <= made


def test_on_a_cluster_trees_and_workers_are_those_of_others(monkeypatch, machine, game):
    settings = ["self_play={games: 65536, simulations: 10000, workers: 99}", "backend=eager"]
    config = config_of("alphazero", *settings)
    check_resources(config, [game], on_cluster=True)
    config = apply_settings(config, ["replay.last=1000000000"])
    with pytest.raises(ValueError, match=r"lower replay\.last$"):
        check_resources(config, [game], on_cluster=True)


@pytest.mark.parametrize(
    ("limit", "free"), [("2147483648", 2**31 - 2**30 + 2**20), ("1", 0), ("max", None)]
)
def test_a_containers_limit_counts(limit, free, tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_CONTAINER", tmp_path)
    monkeypatch.setattr(resources, "_system_memory", lambda: 2**40)
    assert available_memory() == 2**40
    files = {"max": limit, "current": f"{2**30}", "stat": f"anon 7\ninactive_file {2**20}"}
    for name, content in files.items():
        (tmp_path / f"memory.{name}").write_text(f"{content}\n")
    assert available_memory() == (2**40 if free is None else free)


def test_memory_is_known_here():
    there = resources.available_memory()
    assert there is not None
    assert there > np.ones(1000).nbytes


def test_the_processor_is_always_there(machine):
    assert check_device("auto") == check_device("cpu") == "cpu"


@pytest.mark.parametrize("is_told", [True, False])
def test_windows_is_asked_what_is_free(is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the function that it has for it, which fills in 64 bytes as its documentation says."""

    def fill(status: Any) -> bool:
        content = (ctypes.c_char * 64).from_address(ctypes.addressof(status._obj))
        assert struct.unpack_from("<I", content)[0] == 64
        struct.pack_into("<IQQ", content, 4, 37, 16 << 30, 5 << 30)
        return is_told

    kernel = SimpleNamespace(GlobalMemoryStatusEx=fill)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert available_memory() == (5 << 30 if is_told else None)
