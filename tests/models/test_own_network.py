"""Networks of the user's own: the page about them is true, and nothing runs that was not named."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ludarium.cli import main
from ludarium.cli.modules import program
from ludarium.configs import apply_settings, load_config
from ludarium.models import (
    Architecture,
    Checkpoint,
    InferenceEngine,
    NetworkShape,
    architecture,
    load_checkpoint,
    make_network,
    register_network,
    save_checkpoint,
)
from ludarium.models.architecture import check_network

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "own-network.md"
SHAPE = NetworkShape((2, 3, 3), 9)
#: A run of seconds.
TINY = {
    "alphazero": [
        "self_play={games: 4, positions: 32, workers: 1, simulations: 4, max_considered: 4}",
        "learner={batch: 16}",
    ],
    "ppo": ["rollout={games: 4, steps: 8}", "learner={batch: 16}"],
}


class Net(nn.Module):
    """As on the page, with a score."""

    def __init__(self, shape: NetworkShape, width: int = 8) -> None:
        super().__init__()
        self.hidden = nn.Linear(int(np.prod(shape.observation)), width)
        self.policy = nn.Linear(width, shape.num_actions)
        self.outcome = nn.Linear(width, 3)
        self.score = nn.Linear(width, 1)

    def forward(self, observation):
        x = self.hidden(observation.flatten(1)).relu()
        return self.policy(x), self.outcome(x), self.score(x).tanh().flatten()


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Only `Net` is registered, whatever other tests did."""
    monkeypatch.setattr(architecture, "_own_modules", {})
    register_network("mine:Net", Net)


def checkpoint_of(module: str = "mine:Net", **options) -> Checkpoint:
    torch.manual_seed(0)
    chosen = Architecture(options, module)
    network = make_network(SHAPE, chosen).eval()
    return Checkpoint("tictactoe", 0, {}, SHAPE, chosen, 7, network)


def blocks_of_page(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the page describes, for a small board."""
    (tmp_path / "mine.py").write_text(blocks_of_page("python")[0])
    config = blocks_of_page("yaml")[0] + "options: {size: 3}\nevaluation: {every: 0}\n"
    (tmp_path / "mine.yaml").write_text(config)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.setattr(architecture, "_own_modules", {})
    yield tmp_path
    sys.modules.pop("mine", None)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", TINY)
def test_the_page_is_true(folder, algorithm, capsys):
    settings = [*TINY[algorithm], "budget={iterations: 1}"]
    (folder / "mine.yaml").write_text(
        (folder / "mine.yaml").read_text() + f"algorithm: {algorithm}\n"
    )
    command = ["train", "corso", "--config", "mine.yaml", "--folder", "run", "--json"]
    command += [f"--set={setting}" for setting in settings]
    assert main([*command, "--network-module", "mine:Net"]) == 0
    capsys.readouterr()
    checkpoint = load_checkpoint(folder / "run" / "agent.safetensors")
    assert checkpoint.architecture == Architecture({"width": 128}, "mine:Net")
    assert checkpoint.network.module.hidden.out_features == 128
    export = ["export", "run", "--positions", "64", "--json", "--network-module", "mine:Net"]
    assert main(export) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "run/agent.onnx"
    assert program() == "ludarium --network-module=mine:Net"


@pytest.mark.parametrize("command", ["train corso --config mine.yaml", "export mine.safetensors"])
def test_what_is_not_named_on_the_command_line_does_not_run(folder, command, capsys):
    (folder / "mine.py").write_text("open('touched', 'w')\n")
    register_network("mine:Net", Net)
    save_checkpoint(checkpoint_of(), folder / "mine.safetensors")
    architecture._own_modules.clear()
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert "'mine:Net' is custom code" in error
    assert "--network-module" in error
    assert not (folder / "touched").exists()
    assert "mine" not in sys.modules


def test_checkpoints_keep_class_options_and_weights(tmp_path):
    checkpoint = checkpoint_of(width=5)
    loaded = load_checkpoint(save_checkpoint(checkpoint, tmp_path / "a.safetensors"))
    assert loaded == checkpoint
    assert str(loaded.architecture) == "mine:Net(width=5)"
    x = torch.rand(3, *SHAPE.observation)
    with torch.inference_mode():
        for ours, theirs in zip(checkpoint.network(x), loaded.network(x), strict=True):
            assert torch.equal(ours, theirs)
    with pytest.raises(ValueError, match="loaded: its name is not UTF-8, and torch reads no such"):
        load_checkpoint(save_checkpoint(checkpoint, tmp_path / "a\udcff.safetensors"))


def test_options_that_do_not_fit_the_class_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"mine:Net does not fit its options: .*'depth'"):
        make_network(SHAPE, Architecture({"depth": 5}, "mine:Net"))


class NoOutcome(Net):
    def forward(self, observation):
        return super().forward(observation)[0]


class WrongShape(Net):
    def forward(self, observation):
        policy, outcome, _ = super().forward(observation)
        return policy[:, 1:], outcome


class Unused(Net):
    def forward(self, observation):
        return super().forward(observation)[:2]


class Fixed(Net):
    def __init__(self, shape):
        super().__init__(shape)
        self.hidden.requires_grad_(False)


class NoMeta(Net):
    def __init__(self, shape):
        super().__init__(shape, width=int(torch.tensor(8.0).item()))


class Diverged(Net):
    def forward(self, observation):
        policy, outcome, score = super().forward(observation)
        return policy, outcome / observation.sum((1, 2, 3))[:, None], score


class Expanded(Net):
    def __init__(self, shape):
        super().__init__(shape)
        self.register_buffer("scale", torch.ones(1).expand(4))


class Unsaved(Net):
    def __init__(self, shape):
        super().__init__(shape)
        self.register_buffer("scale", torch.randn(8), persistent=False)

    def forward(self, observation):
        x = self.hidden(observation.flatten(1)).relu() * self.scale
        return self.policy(x), self.outcome(x), self.score(x).tanh().flatten()


class Counts(Unsaved):
    """Its answers depend on how often it was trained, which no state tells."""

    def __init__(self, shape):
        super().__init__(shape)
        self.scale = torch.ones(8)

    def forward(self, observation):
        self.scale += self.training
        return super().forward(observation)


class Lost(Net):
    def __init__(self, shape):
        raise KeyError("a file that is gone")


class Fails(Net):
    def forward(self, observation):
        raise KeyError("a layer")


class OneByOne(Net):
    def forward(self, observation):
        assert len(observation) > 1, "a batch of one"
        return super().forward(observation)


class Half(Net):
    def __init__(self, shape):
        super().__init__(shape)
        self.half()


class Detached(Net):
    def forward(self, observation):
        return tuple(each.detach() for each in super().forward(observation))


class Lazy(Net):
    def __init__(self, shape):
        super().__init__(shape)
        self.hidden = nn.LazyLinear(8)


class Nothing(nn.Module):
    def __init__(self, shape):
        super().__init__()

    def forward(self, observation):
        return torch.zeros(len(observation), 9), torch.zeros(len(observation), 3)


class Complex(Net):
    def __init__(self, shape):
        super().__init__(shape)
        self.register_buffer("turn", torch.ones(1, dtype=torch.complex64))


class Note(Net):
    def state_dict(self, *given, **named):
        state = super().state_dict(*given, **named)
        state["note"] = "a text"
        return state


class Tied(Net):
    """The outcome's second layer has the weights of its first; there is no score."""

    def __init__(self, shape, width=8):
        super().__init__(shape, width)
        del self.score
        self.again = nn.Linear(width, 3)
        self.again.weight = self.outcome.weight

    def forward(self, observation):
        x = self.hidden(observation.flatten(1))
        return self.policy(x.relu()), self.outcome(x.relu()) + self.again(x)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NoOutcome, "must return"),
        (WrongShape, r"the policy of mine:Bad must be float32 \[2, 9\] .* not float32 \[2, 8\]"),
        (Unused, r"nothing that mine:Bad returns depends on module\.score\.weight"),
        (Fixed, r"the parameter module\.hidden\.weight of mine:Bad does not learn"),
        (NoMeta, "cannot be made on torch's device 'meta'"),
        (Diverged, "the outcome of mine:Bad is not finite"),
        (Expanded, r"mine:Bad cannot be loaded later: .*module\.scale.*of its own \(\.clone"),
        (Unsaved, r"mine:Bad would be another network once .*\(not with persistent=False\)"),
        (Counts, "mine:Bad would be another network once it is saved"),
        (Lost, r"mine:Bad cannot be made: KeyError: .* gone' \(test_own_network\.py, line \d+\)"),
        (Fails, r"mine:Bad must return .*: KeyError: 'a layer' \(test_own_network\.py, line"),
        (OneByOne, "mine:Bad must return .*: AssertionError: a batch of one"),
        (Half, "mine:Bad must return .*: RuntimeError: .* same dtype"),
        (Detached, "nothing that mine:Bad returns has a gradient"),
        (Lazy, r"the parameter module\.hidden\.weight of mine:Bad has no shape yet"),
        (Nothing, "mine:Bad has no parameters"),
        (Complex, r"module\.turn of mine:Bad is tensor\(.*, which no checkpoint can hold"),
        (Note, "note of mine:Bad is 'a text', which no checkpoint can hold"),
    ],
)
def test_networks_that_cannot_be_trained_are_refused_before_they_are(kind, message):
    register_network("mine:Bad", kind)
    chosen = Architecture({}, "mine:Bad")
    with pytest.raises(ValueError, match=message):
        check_network(make_network(SHAPE, chosen), SHAPE, chosen)


def test_a_network_that_has_become_another_than_its_state_is_not_saved(tmp_path):
    class Turns(Unsaved):
        def __init__(self, shape):
            super().__init__(shape)
            self.scale = torch.arange(8.0)

    register_network("mine:Net", Turns)
    checkpoint = checkpoint_of()
    drawn = torch.random.get_rng_state()
    saved = save_checkpoint(checkpoint, tmp_path / "a.safetensors").read_bytes()
    assert torch.equal(torch.random.get_rng_state(), drawn)
    checkpoint.network.module.scale += 1
    with pytest.raises(ValueError, match="mine:Net would be another network once it is saved"):
        save_checkpoint(checkpoint, tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == saved


def test_configurations_keep_a_networks_own_keys(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('game: corso\nnetwork: {module: "mine:Net", width: 5, blocks: 2}\n')
    network = load_config(path).network
    assert (network.module, network.options) == ("mine:Net", {"width": 5, "blocks": 2})
    assert apply_settings(load_config(path), ["seed=3"]).network == network
    changed = apply_settings(load_config(path), ["network.width=6"]).network
    assert changed.options == {"width": 6, "blocks": 2}
    with pytest.raises(ValueError, match="options are for a custom network"):
        apply_settings(load_config("corso/default"), ["network={options: {width: 5}}"])
    with pytest.raises(ValueError, match="network: contains unknown field `width`"):
        apply_settings(load_config("corso/default"), ["network={width: 5}"])


def test_tied_weights_learn_and_are_saved(tmp_path):
    register_network("mine:Net", Tied)
    config = tmp_path / "mine.yaml"
    config.write_text(
        'game: corso\nnetwork: {module: "mine:Net"}\noptions: {size: 3}\nevaluation: {every: 0}\n'
    )
    settings = [*TINY["alphazero"], "budget={iterations: 2}"]
    command = ["train", "corso", "--config", str(config), "--folder", str(tmp_path / "run")]
    assert main([*command, "--json", *(f"--set={setting}" for setting in settings)]) == 0
    module = load_checkpoint(tmp_path / "run" / "agent.safetensors").network.module
    assert module.again.weight is module.outcome.weight
    assert (module.again.weight != 0).any()
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        losses = [name for name in json.loads(line) if name.endswith("_loss")]
        assert losses == ["policy_loss", "outcome_loss"]


def test_a_network_without_a_score_says_so():
    register_network("mine:Net", Tied)
    chosen = Architecture({}, "mine:Net")
    network = make_network(SHAPE, chosen)
    check_network(network, SHAPE, chosen)
    observations = np.ones((3, *SHAPE.observation), np.float32)
    found = InferenceEngine(network, SHAPE.observation, 4)(observations)
    assert np.isnan(found.score).all()
    assert np.isfinite(found.wdl).all()


def test_kernels_are_refused_for_a_network_whose_layers_are_not_known():
    network = checkpoint_of().network
    observations = np.zeros((4, *SHAPE.observation), np.float32)
    for backend in ("compiled", "compiled-int8"):
        with pytest.raises(ValueError, match=f"'{backend}' is for the networks of ludarium"):
            InferenceEngine(network, SHAPE.observation, 4, backend, calibration_inputs=observations)
    engine = InferenceEngine(network, SHAPE.observation, 4, calibration_inputs=observations)
    assert engine.backend == "eager"
