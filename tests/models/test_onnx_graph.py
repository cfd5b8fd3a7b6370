"""Networks as ONNX models: written operation by operation, or by torch's exporter."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ludarium.models import NetworkShape, build_network, onnx_graph
from ludarium.models.backends import prepare
from ludarium.models.onnx_graph import UnknownOperationError, onnx_model, write_model

SHAPE = NetworkShape((3, 4, 4), 18, (*range(16), -1, -1))


class Network(nn.Module):
    """Every operation that is written here and that our own networks do not use."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1, groups=1)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout()
        self.linear = nn.Linear(4, 5)
        self.place = nn.Parameter(torch.randn(5))

    def forward(self, x):
        x = torch.sigmoid(self.norm(self.conv(x))) * 2.0 - 0.5
        x = self.drop(x).mean((2, 3), keepdim=True).flatten(1)
        return F.softmax(self.linear(x) + self.place, dim=1)


class Unknown(nn.Module):
    """Does what is not written here; the sizes of the batch are asked for as well."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.linear = nn.Linear(16, 5)

    def forward(self, x):
        x = F.gelu(self.norm(self.conv(x)))
        return (self.linear(x.reshape(x.size(0), -1)),)


class Pair(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return (self.network(x),)


def run(model, observations):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": observations})[0]


def answers(module, observations):
    with torch.inference_mode():
        return module(torch.from_numpy(observations))[0].numpy()


def in_use(module):
    """With statistics as after training, in evaluation mode."""
    torch.manual_seed(0)
    for buffer in module.buffers():
        if buffer.is_floating_point():
            buffer.copy_(0.5 + torch.rand_like(buffer))
    return module.eval()


def test_operations_are_written_one_by_one_for_any_batch():
    module = in_use(Pair(Network()))
    model = write_model(module, (3, 4, 4), "x", ["y"])
    onnx.checker.check_model(model, full_check=True)
    for count in (1, 2, 7):
        observations = np.random.default_rng(count).random((count, 3, 4, 4), np.float32)
        np.testing.assert_allclose(
            run(model, observations), answers(module, observations), atol=1e-6
        )


def test_only_what_the_outputs_need_is_written():
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = build_network(SHAPE, 8, 2)

        def forward(self, x):
            return (self.network(x).policy,)

    model = write_model(in_use(Policy()), SHAPE.observation, "x", ["y"])
    names = [array.name for array in model.graph.initializer]
    assert "network.policy.planes.weight" in names
    assert not any(name.startswith(("network.outcome", "network.score")) for name in names)
    assert [node.name for node in model.graph.node][:2] == [
        "/network/stem/0/Conv_0",
        "/network/stem/2/Relu_1",
    ]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (F.gelu, "gelu has no counterpart"),
        (lambda x: x.reshape(x.size(0), -1), "size has no counterpart"),
        (lambda x: x + torch.ones(3, 4, 4), "torch.ones has no counterpart"),
        (lambda x: x[:, 1:], "an index is slice"),
        (lambda x: x.mean((1, 2, 3), dtype=torch.float64), "something else than float32"),
        (lambda x: F.dropout(x), "drops at random"),
        (lambda x: x * x.shape[0], "shape.* has no counterpart"),
    ],
)
def test_what_is_not_known_is_not_written_wrongly(operation, message):
    class Does(nn.Module):
        def forward(self, x):
            return (operation(x),)

    with pytest.raises(UnknownOperationError, match=message):
        write_model(Does(), (3, 4, 4), "x", ["y"])


def test_a_network_by_torchs_exporter_gets_later_weights_by_name(monkeypatch):
    """Exported once; each weight is replaced, and any batch is answered."""
    module, kept = in_use(Unknown()), {}
    onnx_model(module, (3, 4, 4), "x", ["y"], kept)
    monkeypatch.setattr(onnx_graph, "_torch_model", lambda *_, **__: 1 / 0)
    with torch.no_grad():
        for value in module.state_dict().values():
            if value.is_floating_point():
                value.mul_(1.5)
    model = onnx_model(module, (3, 4, 4), "x", ["y"], kept)
    held = {array.name for array in model.graph.initializer}
    assert {name for name, _ in module.named_parameters()} <= held
    for count in (1, 2, 7):
        observations = np.random.default_rng(count).random((count, 3, 4, 4), np.float32)
        np.testing.assert_allclose(
            run(model, observations), answers(module, observations), atol=1e-5
        )


def test_without_torchs_exporter_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r'pip install "ludarium\[export\]"'):
        onnx_model(Unknown().eval(), (3, 4, 4), "x", ["y"])


@pytest.mark.parametrize("observation", [(5, 3, 3), (7,)], ids=["board", "flat"])
def test_our_networks_are_written_one_by_one_with_all_their_answers(observation, monkeypatch):
    def slow(*arguments, **others):
        raise AssertionError("by torch's exporter it is three times as slow")

    monkeypatch.setattr(onnx_graph, "_torch_model", slow)
    network = build_network(NetworkShape(observation, 9), 8, 2).eval()
    torch.nn.init.normal_(network.score.weight)
    observations = torch.randn(4, *observation)
    found = prepare(network, "onnx", observations.numpy(), torch.device("cpu"), 1)(
        observations.numpy()
    )
    with torch.inference_mode():
        policy, outcome, score = network(observations)
    np.testing.assert_allclose(found.logits, policy, atol=1e-5)
    np.testing.assert_allclose(found.wdl, F.softmax(outcome, dim=1), atol=1e-5)
    np.testing.assert_allclose(found.score, score, atol=1e-5)
