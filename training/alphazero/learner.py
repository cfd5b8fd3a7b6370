"""The learner: gradient steps on positions from the replay."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from ludarium.configs.schema import LearnerConfig
from ludarium.models.network import PolicyValueNetwork

from ..runs.state import flatten
from .objective import Objective, Terms, shares, weighted_terms
from .samples import Batch

_adamw = partial(adamw, fused=True, amsgrad=False, maximize=False, beta1=0.9, beta2=0.999, eps=1e-8)


@dataclass
class Losses:
    """Mean losses over the learner steps so far.

    Attributes:
        steps: how many steps.
        means: the mean of each term by its name, see `Objective`. That of ``policy`` is the
            cross-entropy minus the entropy of the target (the KL divergence).
    """

    steps: int = 0
    means: dict[str, float] = field(default_factory=dict)

    def add(self, terms: Terms) -> None:
        """Count one step."""
        self.steps += 1
        for name, loss in terms.items():
            mean = self.means.get(name, 0.0)
            self.means[name] = mean + (float(loss) - mean) / self.steps


class AdamW:
    """AdamW by torch's own kernel, which updates all weights in one pass ("fused").

    ``torch.optim.AdamW`` gives the same weights, but loads torch's compiler when it is made: 2 s,
    as much as all else before a first iteration.

    Args:
        weights: the network's weights; their gradients have the same memory layout.
        decay: weight decay of those with more than one dimension; others have none.
    """

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        decayed = [weight for weight in weights if weight.ndim > 1]
        self._groups = (decayed, decay), ([each for each in weights if each.ndim <= 1], 0.0)
        self._moments = {
            weight: {
                "step": torch.zeros((), device=weight.device),
                "exp_avg": torch.zeros_like(weight, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(weight, requires_grad=False),
            }
            for group, _ in self._groups
            for weight in group
        }

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Update the weights that have gradients; ``rate`` is the learning rate."""
        for group, decay in self._groups:
            weights = [weight for weight in group if weight.grad is not None]
            moments = [self._moments[weight] for weight in weights]
            means, squares, steps = (
                [each[name] for each in moments] for name in ("exp_avg", "exp_avg_sq", "step")
            )
            gradients = [weight.grad for weight in weights if weight.grad is not None]
            _adamw(weights, gradients, means, squares, [], steps, lr=rate, weight_decay=decay)

    def tensors(self) -> dict[str, Tensor]:
        """The moments and step counts, as ``number.name``."""
        return flatten(dict(enumerate(self._moments.values())))

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` returned."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors.get(name, tensor))


class Learner:
    """Trains the network (AdamW, learning-rate warm-up and schedule) and keeps an EMA of it.

    On a CPU each batch is split between ``workers`` threads. Each thread runs one torch thread and
    has its own copy of the batch-normalisation statistics. For small networks this is faster than
    splitting every layer, and it does not stall when another process uses a core.

    Args:
        network: the network to train.
        config: see `ludarium.configs.schema.LearnerConfig`.
        has_score: whether the game has a score.
        device: torch's name of the device on which to learn.
        workers: number of threads on a CPU; there are at most half as many as a batch has
            positions, but one at least.

    Attributes:
        network: the network that is trained.
        ema_network: exponential moving average (EMA) of the network; self-play uses it.
        step: gradient steps done.
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
        self._objective = Objective(config, has_score)
        self.device = torch.device(device)
        # With channels last and AdamW in one pass (fused), a step takes two thirds of the time.
        network = network.to(self.device)
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.ema_network = copy.deepcopy(self.network).eval().requires_grad_(False)
        self.step = 0
        self._replicas = [self.network]
        if self.device.type == "cpu":
            parts = min(workers, max(1, config.batch // 2))  # BatchNorm1d refuses a single position
            self._replicas += [_sharing_weights(self.network) for _ in range(parts - 1)]
        self._pool = ThreadPoolExecutor(len(self._replicas), thread_name_prefix="learner")
        self.optimizer = AdamW(list(self.network.parameters()), config.weight_decay)

    def learning_rate(self, progress: float) -> float:
        """Learning rate of the next step, at ``progress`` (0 to 1) of the run."""
        warm = min(1.0, (self.step + 1) / max(1, self.config.warmup_steps))
        return warm * self.config.learning_rate_at(progress)

    def learn(self, batches: Sequence[Batch], progress: float, losses: Losses) -> None:
        """Do one gradient step and add its losses to ``losses``.

        Args:
            batches: positions of each game that the network plays; some may be empty.
            progress: progress of the run, 0 to 1.
            losses: the losses so far.
        """
        for replica in self._replicas[1:]:
            for ours, theirs in zip(replica.buffers(), self.network.buffers(), strict=True):
                ours.copy_(theirs)
        parts = _split(batches, len(self._replicas))
        weights = shares([sum(batch.size for batch in part) for part in parts])
        results = list(self._pool.map(self._gradients, self._replicas, parts))
        for index, parameter in enumerate(self.network.parameters()):
            # The fused step ignores strides: gradients need the memory layout of the weights.
            parameter.grad = torch.zeros_like(parameter)
            for (gradients, _), weight in zip(results, weights, strict=True):
                parameter.grad.add_(gradients[index], alpha=weight)
        self._average_statistics()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.gradient_clip)
        self.optimizer.step(self.learning_rate(progress))
        self.step += 1
        self._average()
        losses.add(weighted_terms([terms for _, terms in results], weights))

    def _gradients(
        self, network: nn.Module, batches: Sequence[Batch]
    ) -> tuple[list[Tensor], Terms]:
        """Gradients of the loss on one part of the batches, and the loss terms."""
        torch.set_num_threads(1)
        return self._objective.gradients(network, batches, self.device)

    @torch.no_grad()
    def _average_statistics(self) -> None:
        """Average the replicas' batch-normalisation statistics into the network's."""
        buffers = zip(*(replica.buffers() for replica in self._replicas), strict=True)
        for first, *others in buffers:
            if others and first.dtype.is_floating_point:
                first.copy_(torch.stack([first, *others]).mean(0))

    @torch.no_grad()
    def _average(self) -> None:
        """Update the EMA network.

        In the first steps the EMA decay is smaller, so that the random initial weights fade
        quickly.
        """
        keep = min(self.config.ema_decay, (1 + self.step) / (10 + self.step))
        averages, weights = self.ema_network.state_dict(), self.network.state_dict()
        once = {  # tied weights occur under two names
            average.data_ptr(): (average, weights[name])  # or as views; the largest counts
            for name, average in sorted(averages.items(), key=lambda each: each[1].numel())
        }
        for average, weight in once.values():
            if average.dtype.is_floating_point:
                average.lerp_(weight, 1 - keep)
            else:
                average.copy_(weight)

    def close(self) -> None:
        """Stop the worker threads."""
        self._pool.shutdown()


def _sharing_weights(network: nn.Module) -> nn.Module:
    """A copy of a network that shares its parameters but has its own buffers."""
    twin = copy.deepcopy(network)
    for ours, theirs in zip(twin.modules(), network.modules(), strict=True):
        for name, parameter in theirs._parameters.items():
            ours._parameters[name] = parameter
    return twin


def _split(batches: Sequence[Batch], count: int) -> list[list[Batch]]:
    """Divide batches into ``count`` parts; remainders go to other parts in each batch."""
    parts: list[list[Batch]] = [[] for _ in range(count)]
    for number, batch in enumerate(batches):
        for place, part in enumerate(batch.split(count)):
            parts[(number + place) % count].append(part)
    return parts
