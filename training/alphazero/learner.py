"""The learner: gradient steps on positions from the replay."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ludarium.configs.schema import Learner as LearnerConfig
from ludarium.models.network import BoardNetwork, OwnershipNetwork, PolicyValueNetwork

from .samples import Batch

#: Policy, outcome, score and ownership loss.
Terms = tuple[Tensor, ...]


@dataclass
class Losses:
    """Means over some learner steps; ``policy`` is the cross-entropy over the target's own.

    Positions of resigned games count as 0 in ``score`` and ``ownership``.
    """

    policy: float = 0.0
    outcome: float = 0.0
    score: float = 0.0
    ownership: float = 0.0
    steps: int = 0

    def add(self, policy: Tensor, outcome: Tensor, score: Tensor, ownership: Tensor) -> None:
        """Count one step."""
        self.steps += 1
        losses = {"policy": policy, "outcome": outcome, "score": score, "ownership": ownership}
        for name, loss in losses.items():
            mean = getattr(self, name)
            setattr(self, name, mean + (float(loss.detach()) - mean) / self.steps)


class Learner:
    """AdamW with warm-up and cosine decay, and a running average of the weights.

    A batch is shared out between ``workers`` threads, each with one torch thread and its own
    copy of the normalisation statistics: for small networks that is faster than sharing out
    every layer, and does not stall when a core is busy elsewhere.

    With an ``ownership_weight`` a head for ownership learns along; the EMA network has none.

    Attributes:
        network: the network that learns.
        ownership: the head for ownership, if there is one.
        ema_network: exponential moving average of the network, which plays.
        step: gradient steps taken.

    Raises:
        ValueError: ownership is to be learnt by a network that sees no board.
    """

    def __init__(
        self,
        network: PolicyValueNetwork,
        config: LearnerConfig,
        has_score: bool,
        device: str = "cpu",
        workers: int = 1,
    ) -> None:
        self.config = config
        self.device = torch.device(device)
        # Channels last, and AdamW in one pass (fused): a step takes two thirds of the time.
        network = network.to(self.device)
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.ema_network = copy.deepcopy(self.network).eval().requires_grad_(False)
        self.has_score = has_score
        self.step = 0
        self.ownership: nn.Module | None = None
        self._learning: nn.Module = self.network
        if config.ownership_weight:
            if not isinstance(self.network, BoardNetwork):
                raise ValueError(
                    "learner.ownership_weight needs a network of ludarium for boards; leave it out"
                )
            whole = OwnershipNetwork(self.network).to(self.device)
            self.ownership, self._learning = whole.ownership, whole
        self._replicas = [self._learning]
        if self.device.type == "cpu":
            parts = min(workers, config.batch)  # the mean of an empty part is not a number
            self._replicas += [_sharing_weights(self._learning) for _ in range(parts - 1)]
        self._pool = ThreadPoolExecutor(len(self._replicas), thread_name_prefix="learner")
        decayed = [weight for weight in self._learning.parameters() if weight.ndim > 1]
        others = [weight for weight in self._learning.parameters() if weight.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": config.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=config.learning_rate,
            fused=True,
        )

    def learning_rate(self, progress: float) -> float:
        """Learning rate when ``progress`` of the run is over."""
        config = self.config
        warm = min(1.0, (self.step + 1) / max(1, config.warmup_steps))
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        span = config.learning_rate - config.final_learning_rate
        return warm * (config.final_learning_rate + span * cosine)

    def learn(self, batch: Batch, progress: float, losses: Losses) -> None:
        """One gradient step."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(progress)
        for replica in self._replicas[1:]:
            _copy_statistics(self._learning, replica)
        parts = [
            Batch(*arrays)
            for arrays in zip(
                *(np.array_split(array, len(self._replicas)) for array in batch), strict=True
            )
        ]
        results = list(self._pool.map(self._gradients, self._replicas, parts))
        weights = [len(part.scores) / len(batch.scores) for part in parts]
        for index, parameter in enumerate(self._learning.parameters()):
            # The fused step takes numbers as they lie in memory: gradients must lie as weights do.
            parameter.grad = torch.zeros_like(parameter)
            for (gradients, _), weight in zip(results, weights, strict=True):
                parameter.grad.add_(gradients[index], alpha=weight)
        torch.nn.utils.clip_grad_norm_(self._learning.parameters(), self.config.gradient_clip)
        self.optimizer.step()
        self.step += 1
        self._average()
        losses.add(
            *(
                _weighted_sum(values, weights)
                for values in zip(*(terms for _, terms in results), strict=True)
            )
        )

    def _gradients(self, network: nn.Module, batch: Batch) -> tuple[list[Tensor], Terms]:
        """Gradients of the loss on a part of a batch, and the terms of the loss."""
        if len(self._replicas) > 1:
            torch.set_num_threads(1)
        tensors = [torch.from_numpy(array).to(self.device) for array in batch]
        observations, policies, outcomes, scores, owners, ended = tensors
        if observations.ndim == 4:
            observations = observations.contiguous(memory_format=torch.channels_last)
        network.train()
        ownership = torch.zeros((), device=self.device)
        if self.ownership is None:
            output = network(observations)
        else:
            output, expected = network(observations)
            ownership = F.mse_loss(ended[:, None] * expected, ended[:, None] * owners)
        entropy = -torch.xlogy(policies, policies).sum(1).mean()
        policy = F.cross_entropy(output.policy, policies)
        outcome = F.cross_entropy(output.outcome, outcomes)
        score = F.mse_loss(ended * output.score, ended * scores)
        loss = policy + self.config.value_weight * outcome
        # Without a score its weight is 0, so that every parameter still has a gradient.
        loss = loss + (self.config.score_weight if self.has_score else 0.0) * score
        loss = loss + self.config.ownership_weight * ownership
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        terms = (policy - entropy, outcome, score, ownership)
        return list(gradients), tuple(term.detach() for term in terms)

    @torch.no_grad()
    def _average(self) -> None:
        """Average the replicas' statistics, then move the EMA's weights.

        Early on the average is over fewer steps.
        """
        buffers = zip(*(replica.buffers() for replica in self._replicas), strict=True)
        for first, *others in buffers:
            if others and first.dtype.is_floating_point:
                first.copy_(torch.stack([first, *others]).mean(0))
        keep = min(self.config.ema_decay, (1 + self.step) / (10 + self.step))
        for average, weight in zip(
            self.ema_network.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if average.dtype.is_floating_point:
                average.lerp_(weight, 1 - keep)
            else:
                average.copy_(weight)

    def close(self) -> None:
        """End the worker threads."""
        self._pool.shutdown()


def _sharing_weights(network: nn.Module) -> nn.Module:
    """A copy of a network with the very same parameters, but buffers of its own."""
    twin = copy.deepcopy(network)
    for ours, theirs in zip(twin.modules(), network.modules(), strict=True):
        for name, parameter in theirs._parameters.items():
            ours._parameters[name] = parameter
    return twin


def _copy_statistics(source: nn.Module, target: nn.Module) -> None:
    for ours, theirs in zip(target.buffers(), source.buffers(), strict=True):
        ours.copy_(theirs)


def _weighted_sum(values: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Sum in a fixed order, so that threads do not change the result."""
    total = values[0] * weights[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total += value * weight
    return total
