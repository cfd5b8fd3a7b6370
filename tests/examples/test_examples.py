"""The scripts in `examples/`: each runs, briefly, and learns or plays as it says.

Each runs as a user runs it, in a process of its own, with fewer steps than by default. An illegal
action anywhere would end the script with an error: they all play where that is a ``ValueError``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

#: Script: the modules it needs, its arguments here, and the least share of points to be trained to.
LEARNERS = {
    "sb3_maskable_ppo.py": (["sb3_contrib"], ["--steps", "6000"], 75),
    "torchrl_ppo.py": (["torchrl"], ["--frames", "4000"], 75),
    "tianshou_dqn.py": (["tianshou"], ["--steps", "8000"], 78),
    "rllib_ppo.py": (["ray.rllib", "tree"], ["--iterations", "2"], 75),
}
#: Algorithms on a page: their arguments here; at most of it untrained, at least of it trained.
ALGORITHMS = {
    "alphazero.py": (
        ["--iterations", "8"],
        {
            r"([\d.]+)% of moves keep the exact value": (50, 60),
            r"value, ([\d.]+)% with search": (75, 85),
        },
    ),
    "ppo.py": (
        ["--steps", "150000"],
        {
            r"score ([\d.]+)% against random": (70, 75),
            r"score ([\d.]+)% against uct:100": (15, 20),
        },
    ),
}


def run(script: str, *arguments: str) -> str:
    """What the script prints."""
    ended = subprocess.run(
        [sys.executable, EXAMPLES / script, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"RAY_AUTH_MODE": "disabled"},  # or Ray writes a token to the home folder
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def require(modules: list[str]) -> None:
    """Skip the test unless the modules are installed."""
    for module in modules:
        if find_spec(module.partition(".")[0]) is None:
            pytest.skip(f"{module} is not installed; docs/guide/plugs.md says how to")


def percent(pattern: str, output: str) -> float:
    """The percentage in the output that the pattern's group finds."""
    found = re.search(pattern, output)
    assert found, output
    return float(found[1])


def test_every_script_is_tested_and_documented():
    # What they share; tested where networks are exported; what other pages of the guide explain.
    others = {"scoring.py", "play_onnx.py", "own_agent.py", "own_logger.py", "inventors_corso.py"}
    scripts = {path.name for path in EXAMPLES.glob("*.py")} - others
    assert scripts == {*LEARNERS, *ALGORITHMS, "openspiel_algorithms.py"}
    text = (EXAMPLES.parent / "docs" / "guide" / "plugs.md").read_text(encoding="utf-8")
    assert [script for script in scripts if f"examples/{script}" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("script", LEARNERS)
def test_what_learns_beats_random_play(script):
    modules, arguments, least = LEARNERS[script]
    require(modules)
    assert percent(r"([\d.]+)% trained", run(script, *arguments)) >= least


@pytest.mark.slow
@pytest.mark.parametrize("script", ALGORITHMS)
def test_algorithms_on_a_page_learn(script):
    require(["torch"])
    assert len((EXAMPLES / script).read_text(encoding="utf-8").splitlines()) <= 170
    arguments, expected = ALGORITHMS[script]
    output = run(script, *arguments)
    for pattern, (most, least) in expected.items():
        assert percent(rf"untrained: .*?{pattern}", output) <= most
        assert percent(rf"\ntrained: .*?{pattern}", output) >= least


@pytest.mark.parametrize("size", ["2", "5"])
def test_corsos_rules_are_those_of_the_inventors_program(size):
    output = run("inventors_corso.py", "--compare", "200", "--size", size)
    assert "200 games" in output
    assert "the same moves, boards and results" in output


def test_openspiels_algorithms_play_and_solve():
    require(["pyspiel"])
    output = run("openspiel_algorithms.py", "--games", "10", "--iterations", "10")
    assert "value +1 for player 0" in output
    found = re.search(r"exploitability ([\d.]+) of random play, ([\d.]+) after", output)
    assert found, output
    assert float(found[2]) < 0.1 < float(found[1])
    assert percent(r"score against random play: ([\d.]+)%", output) >= 70


def test_the_shared_measure_gives_random_play_half_of_the_points(monkeypatch):
    import numpy as np

    monkeypatch.syspath_prepend(EXAMPLES)
    from scoring import score_against_random

    random = np.random.default_rng(0)

    def choose(observations, masks):
        return (random.random(masks.shape) * masks).argmax(axis=1)

    assert 0.45 <= score_against_random(choose, "corso", {"size": 3}, games=2000) <= 0.55
    with pytest.raises(ValueError, match="is not legal"):
        score_against_random(lambda seen, masks: masks.argmin(axis=1), "corso", {"size": 3})


@pytest.mark.slow
def test_a_network_of_ones_own_imitates_and_beats_random_play():
    require(["torch"])
    output = run("own_agent.py", "--games", "20", "--against", "random", "--teacher", "uct:100")
    score = percent(r"Sequential +random +20 +\S+ +(\d\.\d+)", output)
    assert score > 0.7, output


@pytest.mark.slow
def test_a_logger_of_ones_own_is_told_and_ends_the_run(tmp_path):
    require(["torch"])
    config = tmp_path / "tiny.yaml"
    config.write_text(
        "game: corso\noptions: {size: 3}\nbackend: eager\nnetwork: {channels: 8, blocks: 1}\n"
        "self_play: {games: 16, positions: 128, workers: 1, simulations: 4}\n"
        "learner: {batch: 32}\nbudget: {iterations: 50}\n"
    )
    arguments = ["--config", str(config), "--folder", str(tmp_path / "run")]
    output = run("own_logger.py", *arguments, "--against", "random", "--until", "0.3")
    assert percent(r"iteration 2: ([\d.]+) % \(\d+ to \d+\) against random", output) >= 30
    assert "strong enough: 2 iterations" in output
    heading, *lines = (tmp_path / "run.csv").read_text().splitlines()
    assert heading.startswith("iteration,seconds,policy_loss")
    assert [line.split(",")[0] for line in lines] == ["1", "2"]
