"""CUDA graphs, on a stand-in for the GPU that records what is captured and replays it.

What only a GPU shows is in ``tests/training/test_inference.py``, in tests that need one.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ludarium.models import NetworkShape, build_network
from ludarium.models.backends import HalfPrecision, _with_normalisation_folded
from ludarium.models.cuda_graphs import CapturedNetwork
from ludarium.models.network import InferenceModule


class Recorder(TorchDispatchMode):
    """Writes down every operation on tensors with what it works on."""

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        result = operation(*arguments, **(options or {}))
        self.operations.append((operation, arguments, options or {}, result))
        return result


class Graph:
    """Replays in the memory that was there at the capture, and nowhere else."""

    @torch.inference_mode()
    def replay(self):
        for operation, arguments, options, result in self.recorder.operations:
            again = operation(*arguments, **options)
            if isinstance(result, torch.Tensor) and again is not result:
                result.copy_(again)


class Stream:
    def synchronize(self):
        pass


@contextlib.contextmanager
def capture(graph, stream, capture_error_mode):
    assert capture_error_mode == "thread_local"
    graph.recorder = Recorder()
    with graph.recorder:
        yield


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    for context in ("stream", "device"):
        monkeypatch.setattr(torch.cuda, context, lambda _: contextlib.nullcontext())
    return torch.device("cpu")


class Standardised(nn.Conv2d):
    """Its weight is normalised wherever it runs."""

    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight / weight.std(), bias)


@pytest.mark.parametrize(
    ("kind", "has_statistics", "is_folded"),
    [(nn.Conv2d, True, True), (nn.Conv2d, False, False), (Standardised, True, False)],
)
def test_only_what_stays_the_same_is_folded(kind, has_statistics, is_folded):
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(4, track_running_stats=has_statistics)
    if has_statistics:
        norm.running_var.fill_(9.0)
    plain = nn.Sequential(kind(2, 4, 3), norm).eval()
    folded = _with_normalisation_folded(plain)
    assert isinstance(folded[1], nn.Identity) == is_folded
    images = torch.randn(2, 2, 5, 5)
    torch.testing.assert_close(folded(images), plain(images), rtol=1e-4, atol=1e-5)


def test_a_captured_network_answers_each_batch(gpu):
    torch.manual_seed(0)
    network = build_network(NetworkShape((6, 4, 4), 16), 8, 2).eval()
    module = InferenceModule(HalfPrecision(network)).eval()
    captured = CapturedNetwork(module, (5, 6, 4, 4), gpu)
    batches = np.random.default_rng(0).random((40, 5, 6, 4, 4), np.float32)
    first = captured(batches[0])
    with ThreadPoolExecutor(4) as pool:  # more threads than graphs
        answers = list(pool.map(captured, batches))
    for batch, found in zip(batches, answers, strict=True):
        with torch.inference_mode():
            expected = module(torch.from_numpy(batch))
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-5)
    # What was answered stays, whatever is asked later.
    np.testing.assert_array_equal(first[0], answers[0][0])
    assert np.abs(answers[0][0] - answers[1][0]).max() > 1e-3
