"""The learner: gradient steps on positions from the replay."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ludarium.configs.schema import LearnerConfig
from ludarium.models.network import PolicyValueNetwork

from .objective import Objective, Terms, shares, weighted_terms
from .samples import Batch


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


class Learner:
    """Trains the network (AdamW, learning-rate warm-up and schedule) and keeps an EMA of it.

    Each batch is split between ``workers`` threads. Each thread runs one torch thread and has its
    own copy of the batch-normalisation statistics. For small networks this is faster than splitting
    every layer, and it does not stall when another process uses a core.

    Args:
        network: the network to train.
        config: see `ludarium.configs.schema.LearnerConfig`.
        has_score: whether the game has a score.
        device: torch's name of the device on which to learn.
        workers: number of threads, if there is no GPU; each learns from two positions or more.

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
            parts = min(workers, max(1, config.batch // 2))  # one position has no variance
            self._replicas += [_sharing_weights(self.network) for _ in range(parts - 1)]
        self._pool = ThreadPoolExecutor(len(self._replicas), thread_name_prefix="learner")
        decayed = [weight for weight in self.network.parameters() if weight.ndim > 1]
        others = [weight for weight in self.network.parameters() if weight.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": config.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=config.learning_rate_at(0.0),
            fused=True,
        )

    def learning_rate(self, progress: float) -> float:
        """Learning rate at ``progress`` (0 to 1) of the run."""
        warm = min(1.0, (self.step + 1) / max(1, self.config.warmup_steps))
        return warm * self.config.learning_rate_at(progress)

    def learn(self, batches: Sequence[Batch], progress: float, losses: Losses) -> None:
        """Do one gradient step and add its losses to ``losses``.

        Args:
            batches: positions of each game that the network plays; some may be empty.
            progress: progress of the run, 0 to 1.
            losses: the losses so far.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(progress)
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
        self.optimizer.step()
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
