"""Gradient steps, number by number, against the same in numpy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from ludarium.configs.schema import LearnerConfig
from ludarium.models import NetworkShape, build_network
from ludarium.models.network import Output
from ludarium.training.alphazero.exact import CHOICE, UNSOLVED
from ludarium.training.alphazero.learner import AdamW, Learner, Losses
from ludarium.training.alphazero.samples import Batch

STEPS = 12
USUAL = LearnerConfig(
    learning_rate=0.02, warmup_steps=3, weight_decay=0.1, gradient_clip=0.7, ema_decay=0.5
)


class Constant(nn.Module):
    """Answers each position alike: its weights are logits and score. It counts what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Parameter(torch.tensor([[0.3, -0.2, 0.5, 0.1]]))
        self.outcome = nn.Parameter(torch.tensor([0.2, -0.1, 0.4]))
        self.score = nn.Parameter(torch.tensor(0.25))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, observations: torch.Tensor) -> Output:
        count = len(observations)
        self.seen += observations.mean()
        self.calls += 1
        answers = self.policy.expand(count, 4), self.outcome.expand(count, 3)
        return Output(*answers, self.score.expand(count))


def batches() -> Iterator[Batch]:
    """A batch of ten positions, with weights of their own, for each step."""
    rng = np.random.default_rng(5)
    for step in range(STEPS):
        policies = rng.random((10, 4), np.float32) * (rng.random((10, 4)) < 0.7)
        policies[:, step % 4] += 0.1
        yield Batch(
            observations=rng.random((10, 2), np.float32),
            targets={
                "policy": policies / policies.sum(1, keepdims=True),
                "outcome": np.eye(3, dtype=np.float32)[rng.choice(3, 10, p=[0.6, 0.1, 0.3])],
                "score": rng.uniform(-1, 1, 10).astype(np.float32),
                "solved": np.where(rng.random(10) < 0.4, CHOICE, UNSOLVED),
            },
            weights=rng.uniform(0.2, 3, 10).astype(np.float32),
        )


def learnt(config: LearnerConfig, has_score: bool = True, workers: int = 1) -> np.ndarray:
    """What a learner has come to; each batch is of games with none, four and six positions.

    Weights and statistics of the network and of its average, then mean losses and steps.
    """
    learner, losses = Learner(Constant(), config, has_score, "cpu", workers), Losses()
    for step, batch in enumerate(batches()):
        learner.learn([batch[:0], batch[:4], batch[4:]], step / STEPS, losses)
    learner.close()
    networks = [learner.network, learner.ema_network]
    numbers = [value.flatten() for each in networks for value in each.state_dict().values()]
    assert ("score" in losses.means) == has_score
    told = [*losses.means.values(), losses.steps, learner.step]
    return np.array([*torch.cat(numbers).tolist(), *told])


def by_hand(config: LearnerConfig, has_score: bool = True, workers: int = 1) -> np.ndarray:
    """What `learnt` returns, by formulas."""
    network = np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.1, 0.4, 0.25, 0, 0])
    weights, average = network[:8], network.copy()
    first, second, losses = np.zeros(8), np.zeros(8), np.zeros(3)
    for step, batch in enumerate(batches(), 1):
        policy, outcome = (
            np.exp(each) / np.exp(each).sum() for each in (weights[:4], weights[4:7])
        )
        # Where values are exact, only the probability of all good actions together counts.
        policies, outcomes, scores, solved = batch.targets.values()
        good = (policies > 0) * policy
        good /= good.sum(1, keepdims=True)
        wanted = np.where(solved[:, None] == CHOICE, good, policies)
        divergence = (wanted * np.log(np.maximum(wanted, 1e-30) / policy)).sum(1)
        surprise, error = -(outcomes * np.log(outcome)).sum(1), weights[7] - scores
        share = batch.weights / 10
        losses += [divergence.mean(), (share * surprise).sum(), (share * error**2).sum()]
        of_outcome = config.value_weight * share @ (outcome - outcomes)
        of_score = config.score_weight * has_score * 2 * share @ error
        gradient = np.array([*(policy - wanted).mean(0), *of_outcome, of_score])
        gradient *= min(1, config.gradient_clip / np.linalg.norm(gradient))
        cosine = (1 + np.cos(np.pi * (step - 1) / STEPS)) / 2
        if isinstance(config.learning_rate, list):
            rate = np.interp((step - 1) / STEPS, *zip(*config.learning_rate, strict=True))
        else:
            rate = config.learning_rate * cosine + config.final_learning_rate * (1 - cosine)
        rate *= min(1, step / config.warmup_steps)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        weights[:4] *= 1 - rate * config.weight_decay  # not of biases
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        for part in np.split(batch.observations, [4]):  # a thread's statistics are of its share
            network[8] += np.mean([each.mean() for each in np.array_split(part, workers)])
            network[9] += 1
        keep = min(config.ema_decay, (1 + step) / (10 + step))
        average = keep * average + (1 - keep) * network
        average[9] = network[9]  # a count
    return np.array([*network, *average, *losses[: 2 + has_score] / STEPS, STEPS, STEPS])


@pytest.mark.parametrize("has_score", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
def test_steps_follow_the_formulas_with_any_number_of_workers(has_score, workers):
    """Also where workers share the work."""
    told = USUAL, has_score, workers
    np.testing.assert_allclose(learnt(*told), by_hand(*told), rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize(("batch", "parts"), [(1, 1), (2, 1), (5, 2), (9, 4)])
def test_no_thread_learns_from_a_single_position(batch, parts):
    network = build_network(NetworkShape((7,), 6), 16, 2)
    learner = Learner(network, LearnerConfig(batch=batch), True, "cpu", workers=4)
    learner.close()
    assert len(learner._replicas) == parts


def test_weights_without_gradients_stay_and_the_others_get_their_own():
    weights, others = ([nn.Parameter(torch.full((2, 2), float(n))) for n in range(3)] for _ in "ab")
    for each in weights, others:
        each[0].grad, each[2].grad = torch.ones(2, 2), -torch.ones(2, 2)
    AdamW(weights, 0.1).step(0.5)
    torch.optim.AdamW(others, lr=0.5, weight_decay=0.1).step()
    for weight, other in zip(weights, others, strict=True):
        torch.testing.assert_close(weight, other)
