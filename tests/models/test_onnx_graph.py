"""Networks as ONNX models: written layer by layer, or by torch's exporter."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ludarium.models import NetworkShape, build_network
from ludarium.models.evaluation import Evaluation
from ludarium.models.network import layers_of
from ludarium.models.onnx_graph import onnx_by_torch, onnx_of
from tests.checkpoints import in_use

SHAPES = {
    "board": NetworkShape((3, 4, 4), 18, (*range(16), -1, -1)),
    "places out of order": NetworkShape((3, 2, 2), 7, (3, -1, 0, 6, -1, 1, 2)),
    "no places": NetworkShape((3, 4, 6), 30),
    "flat": NetworkShape((12,), 9),
}


class Own(nn.Module):
    """The sizes of the batch are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.linear = nn.Linear(16, 5)

    def forward(self, x):
        x = F.gelu(self.norm(self.conv(x)))
        return (self.linear(x.reshape(x.size(0), -1)),)


def run(model, observations):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert [each.name for each in session.get_inputs()] == ["observation"]
    return dict(
        zip(
            [each.name for each in session.get_outputs()],
            session.run(None, {"observation": observations}),
            strict=True,
        )
    )


def answers(network, observations):
    with torch.inference_mode():
        policy, outcome, score = network(torch.from_numpy(observations))
    return Evaluation(policy.numpy(), outcome.softmax(1).numpy(), score.numpy())


def assert_same(found, expected):
    assert list(found) == ["policy_logits", "outcome", "value", "score"]
    np.testing.assert_allclose(found["policy_logits"], expected.logits, atol=1e-5)
    np.testing.assert_allclose(found["outcome"], expected.wdl, atol=1e-5)
    np.testing.assert_allclose(found["value"], expected.values, atol=1e-5)
    np.testing.assert_allclose(found["score"], expected.score, atol=1e-5)


@pytest.mark.parametrize("name", SHAPES)
def test_networks_are_written_layer_by_layer(name):
    network = in_use(build_network(SHAPES[name], 8, 2))
    model = onnx_of(layers_of(network))
    for count in (1, 2, 7):
        observations = np.random.default_rng(count).random((count, *SHAPES[name].observation))
        observations = observations.astype(np.float32)
        assert_same(run(model, observations), answers(network, observations))
    assert "score" not in run(onnx_of(layers_of(network), has_score=False), observations)


def test_other_modules_are_written_by_torchs_exporter():
    module = Own().eval()
    model = onnx_by_torch(module, (3, 4, 4), ["y"])
    for count in (1, 2, 7):
        observations = np.random.default_rng(count).random((count, 3, 4, 4), np.float32)
        with torch.inference_mode():
            expected = module(torch.from_numpy(observations))[0]
        np.testing.assert_allclose(run(model, observations)["y"], expected, atol=1e-5)


def test_without_torchs_exporter_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r'pip install "ludarium\[export\]"'):
        onnx_by_torch(Own().eval(), (3, 4, 4), ["y"])


def test_what_torchs_exporter_cannot_write_is_refused():
    class Branches(nn.Module):
        def forward(self, x):
            return (x if x.sum() > 0 else -x,)

    with pytest.raises(ValueError, match="torch cannot write this network as ONNX"):
        onnx_by_torch(Branches().eval(), (3, 4, 4), ["y"])
