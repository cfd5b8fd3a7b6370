"""The loss that trains a network, and its gradients on a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ludarium.configs.schema import LearnerConfig
from ludarium.models.family import FamilyNetwork
from ludarium.models.network import Output, channels_last

from .exact import CHOICE
from .samples import Batch

#: The terms of the loss by name, each a mean over positions: ``policy`` less the entropy of its
#: target, ``outcome``, and ``score`` if there is one to learn.
Terms = dict[str, Tensor]

_IMPOSSIBLE = -1e9  # log-probability of an excluded action; sums of it stay finite


@dataclass(frozen=True)
class Objective:
    """A weighted sum of cross-entropies of policy and outcome and the squared error of the score.

    For a solved position whose actions differ in value, the policy's loss is minus the logarithm of
    the total probability of the actions that keep the value.

    Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
    through self-play" (2018), with one more head; the optimizer does the weight decay.

    Attributes:
        config: holds the weights of values and scores.
        has_score: whether the game has a score.
    """

    config: LearnerConfig
    has_score: bool

    def gradients(
        self, network: nn.Module, batches: Sequence[Batch], device: torch.device
    ) -> tuple[list[Tensor], Terms]:
        """Gradients of the mean loss over all positions, by parameter, and the loss's terms.

        Args:
            network: the network, on ``device``.
            batches: a batch, or a part of one, for each game of the network. If all are empty, the
                gradients are zeros, and there are no terms.
            device: the device to compute on.
        """
        network.train()
        numbers = [number for number, batch in enumerate(batches) if batch.size]
        parameters = list(network.parameters())
        if not numbers:
            return [torch.zeros_like(weight) for weight in parameters], {}
        used = [batches[number] for number in numbers]
        observations = [channels_last(_moved(each.observations, device)) for each in used]
        if isinstance(network, FamilyNetwork):
            outputs = network.together(list(zip(numbers, observations, strict=True)))
        else:
            outputs = [network(each) for each in observations]
        found = [
            self._losses(output, batch, device) for output, batch in zip(outputs, used, strict=True)
        ]
        losses, terms = zip(*found, strict=True)
        weights = shares([batch.size for batch in used])
        gradients = torch.autograd.grad(weighted_sum(losses, weights), parameters)
        return list(gradients), weighted_terms(terms, weights)

    def _losses(self, output: Output, batch: Batch, device: torch.device) -> tuple[Tensor, Terms]:
        """The loss, and its terms, of the network's output on a device for a batch."""
        targets = {name: _moved(target, device) for name, target in batch.targets.items()}
        weights = _moved(batch.weights, device)
        policies, outcomes = targets["policy"], targets["outcome"]
        is_set = targets["solved"] == CHOICE
        # Policy: cross-entropy, -sum_a pi(a) log p(a); of a solved position -log sum_{a in S} p(a),
        # where S holds the actions that keep the value. Less the target's entropy it is logged.
        log_policy = output.policy.log_softmax(1)
        of_set = log_policy.masked_fill(policies <= 0, _IMPOSSIBLE).logsumexp(1)
        policy = -torch.where(is_set, of_set, (policies * log_policy).sum(1)).mean()
        entropy = -torch.xlogy(policies, policies).sum(1)
        entropy = torch.where(is_set, 0, entropy).mean()
        # Value: cross-entropy of win, draw and loss.
        outcome = (weights * F.cross_entropy(output.outcome, outcomes, reduction="none")).mean()
        loss = policy + self.config.value_weight * outcome
        terms = {"policy": policy - entropy, "outcome": outcome}
        # Score: squared error. Without a score to learn its weight is 0, so that every parameter
        # still has a gradient.
        if output.score is not None:
            score = (weights * (output.score - targets["score"]) ** 2).mean()
            loss = loss + (self.config.score_weight if self.has_score else 0.0) * score
            if self.has_score:
                terms["score"] = score
        return loss, terms


def _moved(array: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(array).to(device)


def shares(sizes: Sequence[int]) -> list[float]:
    """Each size as a share of their sum."""
    return [size / sum(sizes) for size in sizes]


def weighted_sum(values: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Sum in a fixed order, so that the result does not depend on the threads' timing."""
    total = values[0] * weights[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total += value * weight
    return total


def weighted_terms(parts: Sequence[Terms], weights: Sequence[float]) -> Terms:
    """The mean of each term over parts of a batch; parts without positions have no terms."""
    given = [(terms, weight) for terms, weight in zip(parts, weights, strict=True) if terms]
    of_given = [weight for _, weight in given]
    return {
        name: weighted_sum([terms[name].detach() for terms, _ in given], of_given)
        for name in given[0][0]
    }
