"""``ludarium export`` as a user meets it, with the agents that come along, and the example."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ludarium.arena.ladder import ladder_beside, load_ladder
from ludarium.cli import main
from ludarium.envs import GAMES
from ludarium.models import load_checkpoint, save_checkpoint
from ludarium.models.export import TOLERANCE, load_exported
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.networks import fitted, random_observations
from tests.games import after, slow_but

ROOT = Path(__file__).resolve().parents[2]
TRAINED = [name for name in GAMES if shipped_agent(name)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Callable[[str], Path]:
    """Tells the ONNX file of an agent that comes along, written where the command was called."""

    @cache
    def file_of(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            assert main(["export", name, "--positions", "300"]) == 0
        (file,) = folder.iterdir()
        assert file.name == f"{name}.onnx"
        return file

    return file_of


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_the_example_plays_a_legal_game_without_torch(name, exported):
    rewards = []
    for seat in ("0", "1"):
        result = subprocess.run(
            [
                *(sys.executable, str(ROOT / "examples" / "play_onnx.py")),
                *(str(exported(name)), "--seat", seat, "--seed", "1"),
            ],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines = result.stdout.splitlines()
        assert any(line.startswith("network ") for line in lines)
        assert any(line.startswith("random ") for line in lines)
        rewards.append(re.fullmatch(r"the network (wins|draws|loses)", lines[-1])[1])
    assert "loses" not in rewards  # to random moves


@pytest.mark.parametrize("name", slow_but(["corso"], TRAINED))
def test_the_file_has_the_favourite_that_the_agent_plays(name, exported):
    """What the example does with the policy, against the agent's own way to actions."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        from play_onnx import favourite
    finally:
        sys.path.pop(0)
    import onnxruntime

    checkpoint = load_checkpoint(shipped_agent(name))
    game = GAMES[name](**checkpoint.options)
    checkpoint = fitted(checkpoint, game, name)
    agent = NetworkAgent(game, checkpoint.network, simulations=0, backend="eager")
    session = onnxruntime.InferenceSession(exported(name))
    random, position = np.random.default_rng(1), game.start(1)
    while not position.is_over:
        found, _ = favourite(session, position)
        assert found == agent.choose(position)
        position.play(random.choice(position.legal_actions))


def test_a_run_is_exported_beside_its_checkpoint(tmp_path, capsys):
    checkpoint = load_checkpoint(shipped_agent("corso"))
    save_checkpoint(checkpoint, tmp_path / "agent.safetensors")
    arguments = ["export", str(tmp_path), "--positions", "70", "--json"]
    assert main(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["file"] == str(tmp_path / "agent.onnx")
    assert result["bytes"] == (tmp_path / "agent.onnx").stat().st_size
    assert result["positions"] == 70
    assert list(result["differences"]) == ["policy_logits", "outcome", "value", "score"]
    assert max(result["differences"].values()) <= result["tolerance"] == TOLERANCE
    output = tmp_path / "elsewhere" / "corso.onnx"
    output.parent.mkdir()
    assert main(["export", str(tmp_path), "--output", str(output)]) == 0
    told, size = capsys.readouterr().out, output.stat().st_size / 1e6
    assert f"corso.onnx  {size:.1f} MB, Corso(size=5), step {checkpoint.step:,}\n" in told
    assert "greatest difference from the network on 1,024 random" in told
    assert load_exported(output).metadata["game"] == "corso"


def test_a_library_is_told_with_the_number_of_levels(monkeypatch, tmp_path, capsys):
    (tmp_path / "a.a").write_bytes(bytes(2345))
    monkeypatch.setattr("ludarium.cli.export.write_library", lambda *_: [tmp_path / "a.a"])
    assert main(["export", "corso", "--as=c", "--output", str(tmp_path)]) == 0
    levels = len(load_ladder(ladder_beside(shipped_agent("corso"))).levels)
    assert f"  Corso(size=5), {levels} levels; " in capsys.readouterr().out


def test_the_positions_are_those_of_many_plies_in_the_movers_frame():
    game = GAMES["onyx"](size=6)
    observations = random_observations(game, 1000, seed=1)
    assert len(np.unique(observations, axis=0)) > 800
    found = {each.tobytes() for each in observations}
    second = [after(game.start(), move) for move in ("a2", "c3", "f6")]
    assert {each.observation(canonical=True).tobytes() for each in second} & found
    assert not {each.observation().tobytes() for each in second} & found
