"""Forms of a network for inference, on networks and observations of real games."""

import numpy as np
import onnx
import pytest
import torch

from ludarium.envs import make_game
from ludarium.models import InferenceEngine, build_network
from ludarium.models.forms import _TRUNK, _Answers, _quantised, _write_onnx
from ludarium.training.agents.network import network_shape
from ludarium.training.random_positions import random_observations


def network_and_observations(name, **options):
    torch.manual_seed(0)
    game = make_game(name, **options)
    network = build_network(network_shape(game), 16, 2).eval()
    return network, random_observations(game, 70, seed=0)


@pytest.mark.parametrize("form", ["eager", "frozen", "onnx"])
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_every_batch_size_and_float_form_gives_the_same_answers(name, form):
    network, observations = network_and_observations(name)
    shape = observations.shape[1:]
    expected, expected_values = InferenceEngine(network, shape, 128, "eager")(observations)
    engine = InferenceEngine(network, shape, 32, form)
    for count in (1, 3, 32, 33, 70):
        logits, values = engine(observations[:count])
        np.testing.assert_allclose(logits, expected[:count], atol=1e-5)
        np.testing.assert_allclose(values, expected_values[:count], atol=1e-5)


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
    ("name", "operator", "heads"), [("onyx", "Conv", 3), ("obelisk", "Gemm", 2)]
)
def test_only_the_trunk_of_an_integer_network_is_in_integers(tmp_path, name, operator, heads):
    """A board's heads: cells of the policy and of the value, planes of the policy; a
    perceptron's: policy and outcome."""
    network, observations = network_and_observations(name)
    file = tmp_path / "network.onnx"
    _write_onnx(_Answers(network).eval(), file, observations[:1])
    graph = onnx.load(_quantised(file, observations)).graph
    writer = {output: node for node in graph.node for output in node.output}

    def is_eight_bit(node):
        return all(
            name in writer and writer[name].op_type == "DequantizeLinear" for name in node.input[:2]
        )

    products = [node for node in graph.node if node.op_type == operator]
    trunk = [node for node in products if node.name.startswith(_TRUNK)]
    others = [node for node in products if node not in trunk]
    assert len(trunk) == 1 + 2 * len(network.blocks)
    assert len(others) == heads
    assert all(is_eight_bit(node) for node in trunk)
    assert all(node.input[0] in writer and node.input[1] not in writer for node in others)


def test_integer_networks_follow_new_weights():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    engine = InferenceEngine(network, shape, 70, "onnx-int8", examples=observations)
    before, _ = engine(observations)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    engine.update(network)
    after, _ = engine(observations)
    assert np.abs(after - before).max() > 0.1
    assert engine.deviation(observations).value < 0.05


def test_bad_forms_are_refused():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    with pytest.raises(ValueError, match="form is 'int4'; accepted: auto, eager"):
        InferenceEngine(network, shape, 32, "int4")
    with pytest.raises(ValueError, match="needs examples"):
        InferenceEngine(network, shape, 32, "onnx-int8")


def test_auto_takes_integers_only_with_examples(monkeypatch):
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    speed = {"onnx-int8": 1.0, "onnx": 2.0}
    monkeypatch.setattr(
        InferenceEngine,
        "_seconds",
        lambda self, forms: {form: speed.get(form, 3.0) for form in forms},
    )
    assert InferenceEngine(network, shape, 7, examples=observations).form == "onnx-int8"
    assert InferenceEngine(network, shape, 7).form == "onnx"


@pytest.mark.parametrize("form", ["onnx", "onnx-int8"])
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_onnx_answers_do_not_depend_on_the_rest_of_the_batch(name, form):
    """To the last bit: an agent's cache of answers relies on it."""
    network, observations = network_and_observations(name)
    engine = InferenceEngine(network, observations.shape[1:], 70, form, examples=observations)
    logits, values = engine(observations)
    order = np.random.default_rng(0).permutation(70)
    for count in (1, 2, 7, 33, 70):
        some, some_values = engine(np.ascontiguousarray(observations[order[:count]]))
        np.testing.assert_array_equal(some, logits[order[:count]])
        np.testing.assert_array_equal(some_values, values[order[:count]])
