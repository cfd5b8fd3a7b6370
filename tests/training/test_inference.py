"""Backends of a network for inference, on networks and observations of real games."""

import copy
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from ludarium.envs import make_game
from ludarium.models import InferenceEngine, backends, build_network, inference
from ludarium.models.inference import torch_threads
from ludarium.models.network import layers_of
from ludarium.training.agents import as_agent
from ludarium.training.networks import network_shape, random_observations
from tests.games import slow_but
from tests.tiny_runs import PPO, TinyRuns


def network_and_observations(name, **options):
    torch.manual_seed(0)
    game = make_game(name, **options)
    network = build_network(network_shape(game), 16, 2).eval()
    return network, random_observations(game, 70, seed=0)


def test_small_batches_have_one_torch_thread_and_large_ones_all(tmp_path, monkeypatch):
    seen = set()

    def see(*_):
        seen.add(torch.get_num_threads())

    network, observations = network_and_observations("corso")
    network.register_forward_hook(see)
    engine = InferenceEngine(network, observations.shape[1:], 32, "eager")
    module = nn.Sequential(nn.Flatten(), nn.Linear(observations[0].size, 25))
    module.register_forward_hook(see)
    run = TinyRuns("corso/ppo", PPO).begun(tmp_path)
    run.algorithm.network.register_forward_hook(see)

    def compute():
        seen.clear()
        engine(observations)
        as_agent(module, "corso").actions(make_game("corso").start().states)
        run.algorithm.play()
        run.algorithm.learn(1.0)
        return seen

    with torch_threads(2):
        assert compute() == {1}
        monkeypatch.setattr(inference, "_SMALL", 1)
        assert compute() == {2}
        assert torch.get_num_threads() == 2
    run.close()


@pytest.mark.parametrize("backend", ["eager", "compiled"])
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_every_batch_size_and_float_backend_gives_the_same_answers(name, backend):
    network, observations = network_and_observations(name)
    shape = observations.shape[1:]
    expected = InferenceEngine(network, shape, 128, "eager")(observations)
    engine = InferenceEngine(network, shape, 32, backend)
    for count in (1, 3, 32, 33, 70):
        for found, other in zip(engine(observations[:count]), expected, strict=True):
            np.testing.assert_allclose(found, other[:count], atol=1e-5)


@pytest.mark.parametrize(
    "name", slow_but(["corso", "obelisk"], ["corso", "onyx", "osiron", "obelisk"])
)
def test_integer_networks_are_close_to_the_network_as_written(name):
    network, observations = network_and_observations(name)
    shape = observations.shape[1:]
    engine = InferenceEngine(network, shape, 32, "compiled-int8", calibration_inputs=observations)
    deviation = engine.deviation(observations)
    assert 0 <= deviation.policy < 0.01
    assert 0 <= deviation.value < 0.02
    assert InferenceEngine(network, shape, 32, "eager").deviation(observations).value < 1e-5


def test_integer_networks_follow_new_weights():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    engine = InferenceEngine(network, shape, 70, "compiled-int8", calibration_inputs=observations)
    before = engine(observations).logits
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    engine.update(network)
    after = engine(observations).logits
    assert np.abs(after - before).max() > 0.1
    assert engine.deviation(observations).value < 0.05
    version = engine.version
    engine.update(network, 8 * observations)  # whose activations are beyond the earlier ranges
    assert engine.version != version
    assert engine.deviation(8 * observations).value < 0.05


def test_bad_backends_are_refused():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    with pytest.raises(ValueError, match="backend is 'int4'; accepted: auto, eager"):
        InferenceEngine(network, shape, 32, "int4")
    with pytest.raises(ValueError, match="needs calibration_inputs"):
        InferenceEngine(network, shape, 32, "compiled-int8")
    with pytest.raises(ValueError, match="'compiled' runs on the CPU, not on cuda"):
        InferenceEngine(network, shape, 32, "compiled", "cuda")
    with pytest.raises(ValueError, match="'eager' is for networks of torch, not for layers"):
        InferenceEngine(layers_of(network), shape, 32, "eager")


@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_layers_are_evaluated_as_their_network(name):
    network, observations = network_and_observations(name)
    shape = observations.shape[1:]
    expected = InferenceEngine(network, shape, 32)(observations)
    engine = InferenceEngine(layers_of(network), shape, 32)
    assert engine.backend == "compiled"
    for found, other in zip(engine(observations), expected, strict=True):
        np.testing.assert_array_equal(found, other)
    assert engine.deviation(observations).value == 0


def test_graphs_without_a_gpu_are_refused():
    network, observations = network_and_observations("corso")
    with pytest.raises(ValueError, match="'graph-fp16' runs on a GPU, not on cpu"):
        InferenceEngine(network, observations.shape[1:], 32, "graph-fp16")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_graphs_on_a_gpu_are_close_to_the_network_as_written(name):
    network, observations = network_and_observations(name)
    engine = InferenceEngine(network, observations.shape[1:], 32, "graph-fp16", "cuda")
    with ThreadPoolExecutor(4) as pool:  # several threads at once, which capture the graphs too
        together = list(pool.map(lambda count: engine(observations[:count]), [1, 32, 70] * 20))
    alone = [engine(observations[:count]) for count in (1, 32, 70)]
    for index, found in enumerate(together):
        for mine, expected in zip(found, alone[index % 3], strict=True):
            np.testing.assert_array_equal(mine, expected)
    deviation = engine.deviation(observations)
    assert deviation.policy < 1e-4
    assert deviation.value < 0.002


def test_threads_that_ask_at_once_prepare_a_network_once(monkeypatch):
    network, observations = network_and_observations("corso")
    engine = InferenceEngine(network, observations.shape[1:], 32, "eager")
    prepare, prepared, running = backends.eager_evaluator, [], threading.Lock()

    def slowly(network, device):
        assert running.acquire(blocking=False), "two are prepared at once"
        time.sleep(0.05)
        prepared.append(device)
        running.release()
        return prepare(network, device)

    monkeypatch.setattr(backends, "eager_evaluator", slowly)
    others = [copy.copy(engine) for _ in range(2)]  # copies prepare the network again
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda other: other(observations[:8]), [*others, *others]))
    assert len(prepared) == 2
    for answer in answers:
        np.testing.assert_array_equal(answer.logits, engine(observations[:8]).logits)


def test_auto_takes_integers_only_with_examples():
    network, observations = network_and_observations("corso")
    shape = observations.shape[1:]
    assert (
        InferenceEngine(network, shape, 7, calibration_inputs=observations).backend
        == "compiled-int8"
    )
    assert InferenceEngine(network, shape, 7).backend == "compiled"


@pytest.mark.parametrize("backend", ["auto", "eager", "compiled", "compiled-int8"])
def test_a_network_without_finite_answers_is_refused_by_name(backend):
    network, observations = network_and_observations("corso")
    engine = InferenceEngine(
        network, observations.shape[1:], 16, backend, calibration_inputs=observations
    )
    with torch.no_grad():
        network.policy.planes.weight.fill_(3e38)
        network.policy_cells.bias.fill_(3e38)
    with pytest.raises(ValueError, match="answers are not finite numbers"):
        engine.update(network)
    with pytest.raises(ValueError, match="answers are not finite numbers"):
        InferenceEngine(
            network, observations.shape[1:], 16, backend, calibration_inputs=observations
        )


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_layers_with_weights_that_are_not_finite_are_refused_by_name(name, wrong):
    """A compiled ReLU takes NaN for 0, so the answers do not tell."""
    network, observations = network_and_observations(name)
    layers = layers_of(network)
    engine = InferenceEngine(layers, observations.shape[1:], 16)
    before = engine(observations)
    layers.blocks[0].first.weight.flat[5] = wrong
    with pytest.raises(ValueError, match=r"not finite numbers \(blocks\.0\.first\.weight\)"):
        engine.update(layers)
    for array, expected in zip(engine(observations), before, strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("backend", ["eager", "compiled"])
def test_torch_weights_that_are_not_finite_are_refused_by_name(backend):
    network, observations = network_and_observations("corso")
    with torch.no_grad():
        network.blocks[1].first[0].weight[3, 2, 1, 1] = torch.nan
    with pytest.raises(ValueError, match=r"not finite numbers \(blocks\.1\.first\.0\.weight\)"):
        InferenceEngine(network, observations.shape[1:], 16, backend)


def test_the_callers_network_stays_where_it_is_and_as_it_is():
    """``meta`` stands for another device: tensors that are moved there lose their values."""
    network, observations = network_and_observations("corso")
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with pytest.raises(Exception, match="meta"):
        InferenceEngine(network, observations.shape[1:], 16, "eager", "meta")
    assert all(not weight.is_meta for weight in network.parameters())
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
