"""Backends of a network for inference, on networks and observations of real games."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from ludarium.envs import make_game
from ludarium.models import InferenceEngine, build_network, inference
from ludarium.models.architecture import OwnNetwork
from ludarium.models.backends import _TRUNK, evaluating_model, prepare, quantised
from ludarium.models.network import Evaluating
from ludarium.training.networks import network_shape
from ludarium.training.random_positions import random_observations


def network_and_observations(name, **options):
    torch.manual_seed(0)
    game = make_game(name, **options)
    network = build_network(network_shape(game), 16, 2).eval()
    return network, random_observations(game, 70, seed=0)


@pytest.mark.parametrize("backend", ["eager", "onnx"])
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_every_batch_size_and_float_backend_gives_the_same_answers(name, backend):
    network, observations = network_and_observations(name)
    shape = observations.shape[1:]
    expected = InferenceEngine(network, shape, 128, "eager")(observations)
    engine = InferenceEngine(network, shape, 32, backend)
    for count in (1, 3, 32, 33, 70):
        for evaluate in (engine, engine.in_one_thread):
            for found, other in zip(evaluate(observations[:count]), expected, strict=True):
                np.testing.assert_allclose(found, other[:count], atol=1e-5)


@pytest.mark.parametrize("name", ["corso", "onyx", "osiron", "obelisk"])
def test_integer_networks_are_close_to_the_network_as_written(name):
    network, observations = network_and_observations(name)
    shape = observations.shape[1:]
    engine = InferenceEngine(network, shape, 32, "onnx-int8", examples=observations)
    deviation = engine.deviation(observations)
    assert 0 <= deviation.policy < 0.01
    assert 0 <= deviation.value < 0.02
    assert InferenceEngine(network, shape, 32, "eager").deviation(observations).value < 1e-5


@pytest.mark.parametrize(
    ("name", "operator", "heads"), [("onyx", "Conv", 3), ("obelisk", "Gemm", 3)]
)
def test_only_the_trunk_of_an_integer_network_is_in_integers(name, operator, heads):
    """A board's heads: cells of the policy and of the value, planes of the policy; a
    perceptron's: policy, outcome and score."""
    network, observations = network_and_observations(name)
    model = evaluating_model(Evaluating(network), observations.shape[1:])
    graph = quantised(model, observations).graph
    writer = {output: node for node in graph.node for output in node.output}

    def is_eight_bit(node):
        return all(
            name in writer and writer[name].op_type == "DequantizeLinear" for name in node.input[:2]
        )

    products = [node for node in graph.node if node.op_type == operator]
    trunk = [node for node in products if _TRUNK.match(node.name)]
    others = [node for node in products if node not in trunk]
    assert len(trunk) == 1 + 2 * len(network.blocks)
    assert len(others) == heads
    assert all(is_eight_bit(node) for node in trunk)
    assert all(node.input[0] in writer and node.input[1] not in writer for node in others)


def test_integer_networks_follow_new_weights():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    engine = InferenceEngine(network, shape, 70, "onnx-int8", examples=observations)
    before = engine(observations).logits
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    engine.update(network)
    after = engine(observations).logits
    assert np.abs(after - before).max() > 0.1
    assert engine.deviation(observations).value < 0.05


def test_bad_backends_are_refused():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    with pytest.raises(ValueError, match="backend is 'int4'; accepted: auto, eager"):
        InferenceEngine(network, shape, 32, "int4")
    with pytest.raises(ValueError, match="needs examples"):
        InferenceEngine(network, shape, 32, "onnx-int8")


class LibraryError(Exception):
    """As those of ONNX Runtime, which have no class in common with others but this."""


@pytest.mark.parametrize("fault", ["fails", "fails when asked", "wrong"])
def test_auto_leaves_out_what_does_not_work_here(monkeypatch, fault):
    network, observations = network_and_observations("corso")

    def fail(observations):
        raise LibraryError("no such instruction")

    def prepare_badly(network, backend, *others):
        if backend == "onnx" and fault == "fails":
            raise LibraryError("no such instruction")
        answer = prepare(network, backend, *others)
        if backend != "onnx":
            return answer
        if fault == "fails when asked":
            return fail
        return lambda observations: answer(observations)._replace(wdl=np.full((32, 3), np.nan))

    monkeypatch.setattr(inference, "prepare", prepare_badly)
    with pytest.warns(UserWarning, match="goes on without the backend onnx: (no such|values are)"):
        engine = InferenceEngine(network, observations.shape[1:], 32)
    assert engine.backend == "eager"
    assert np.isfinite(engine(observations)[1]).all()


def test_graphs_without_a_gpu_are_refused():
    network, observations = network_and_observations("corso")
    with pytest.raises(ValueError, match="'graph-fp16' runs on a GPU, not on cpu"):
        InferenceEngine(network, observations.shape[1:], 32, "graph-fp16")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_graphs_on_a_gpu_are_close_to_the_network_as_written(name):
    network, observations = network_and_observations(name)
    engine = InferenceEngine(network, observations.shape[1:], 32, "graph-fp16", "cuda")
    alone = [engine(observations[:count]) for count in (1, 32, 70)]
    with ThreadPoolExecutor(4) as pool:  # the same from several threads at once
        together = list(pool.map(lambda count: engine(observations[:count]), [1, 32, 70] * 20))
    for index, found in enumerate(together):
        for mine, expected in zip(found, alone[index % 3], strict=True):
            np.testing.assert_array_equal(mine, expected)
    deviation = engine.deviation(observations)
    assert deviation.policy < 1e-4
    assert deviation.value < 0.002


def test_auto_takes_integers_only_with_examples():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    assert InferenceEngine(network, shape, 7, examples=observations).backend == "onnx-int8"
    assert InferenceEngine(network, shape, 7).backend == "onnx"


@pytest.mark.parametrize("backend", ["auto", "eager", "onnx", "onnx-int8"])
def test_a_network_without_finite_answers_is_refused_by_name(backend):
    network, observations = network_and_observations("corso")
    engine = InferenceEngine(network, observations.shape[1:], 16, backend, examples=observations)
    with torch.no_grad():
        network.policy.planes.weight.fill_(3e38)
        network.policy_cells.bias.fill_(3e38)
    with pytest.raises(ValueError, match="answers are not finite numbers"):
        engine.update(network)
    with pytest.raises(ValueError, match="answers are not finite numbers"):
        InferenceEngine(network, observations.shape[1:], 16, backend, examples=observations)


def test_the_callers_network_stays_where_it_is_and_as_it_is():
    """``meta`` stands for another device: what is moved there has no weights any more."""
    network, observations = network_and_observations("corso")
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with pytest.raises(Exception, match="meta"):
        InferenceEngine(network, observations.shape[1:], 16, "eager", "meta")
    assert all(not weight.is_meta for weight in network.parameters())
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_a_network_of_ones_own_is_exported_once_for_all_its_copies():
    """By torch's exporter, which takes seconds; then an update takes a moment."""

    class Own(torch.nn.Module):
        def __init__(self, shape):
            super().__init__()
            self.policy = torch.nn.Linear(75, shape.num_actions)
            self.outcome = torch.nn.Linear(75, 3)

        def forward(self, x):
            x = torch.nn.functional.gelu(x.reshape(x.size(0), -1))
            return self.policy(x), self.outcome(x)

    _, observations = network_and_observations("corso", size=5)
    shape = network_shape(make_game("corso", size=5))
    observations = observations[:, :3]
    network = OwnNetwork("mine:Own", Own(shape))
    engine = InferenceEngine(network, observations.shape[1:], 32, "onnx")
    assert len(network.onnx_graphs) == 1
    (graph,) = network.onnx_graphs.values()
    for factor in (1.5, 0.5):
        with torch.no_grad():
            for weight in network.parameters():
                weight.mul_(factor)
        engine.update(copy.deepcopy(network))
        (again,) = network.onnx_graphs.values()
        assert again is graph
        for count in (1, 3, 70):
            found = engine(observations[:count])
            eager = InferenceEngine(network, observations.shape[1:], 128, "eager")
            expected = eager(observations[:count])
            np.testing.assert_allclose(found.logits, expected.logits, atol=1e-5)
            np.testing.assert_allclose(found.wdl, expected.wdl, atol=1e-5)
            assert np.isnan(found.score).all()
            assert np.isnan(expected.score).all()


@pytest.mark.parametrize("backend", ["onnx", "onnx-int8"])
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_onnx_answers_do_not_depend_on_the_rest_of_the_batch(name, backend):
    """To the last bit: an agent's cache of answers relies on it."""
    network, observations = network_and_observations(name)
    engine = InferenceEngine(network, observations.shape[1:], 70, backend, examples=observations)
    expected = engine(observations)
    order = np.random.default_rng(0).permutation(70)
    for count in (1, 2, 7, 33, 70):
        found = engine(np.ascontiguousarray(observations[order[:count]]))
        for some, all_ in zip(found, expected, strict=True):
            np.testing.assert_array_equal(some, all_[order[:count]])
