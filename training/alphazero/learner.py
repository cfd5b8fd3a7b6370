"""The learner: gradient steps on positions from the replay."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ludarium.configs.schema import Learner as LearnerConfig
from ludarium.models.network import PolicyValueNetwork

from .samples import Batch


@dataclass
class Losses:
    """Means over some learner steps; ``policy`` is the cross-entropy over the target's own."""

    policy: float = 0.0
    outcome: float = 0.0
    score: float = 0.0
    steps: int = 0

    def add(self, policy: Tensor, outcome: Tensor, score: Tensor) -> None:
        """Count one step."""
        self.steps += 1
        for name, loss in (("policy", policy), ("outcome", outcome), ("score", score)):
            mean = getattr(self, name)
            setattr(self, name, mean + (float(loss.detach()) - mean) / self.steps)


class Learner:
    """AdamW with warm-up and cosine decay, and a running average of the weights.

    Attributes:
        network: the network that learns.
        averaged: exponential moving average of it, which plays.
        step: gradient steps taken.
    """

    def __init__(
        self, network: PolicyValueNetwork, config: LearnerConfig, has_score: bool, device: str
    ) -> None:
        self.config = config
        self.device = torch.device(device)
        self.network = network.to(self.device)
        self.averaged = copy.deepcopy(self.network).eval().requires_grad_(False)
        self.has_score = has_score
        self.step = 0
        decayed = [weight for weight in self.network.parameters() if weight.ndim > 1]
        others = [weight for weight in self.network.parameters() if weight.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": config.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=config.learning_rate,
        )

    def learning_rate(self, share: float) -> float:
        """Learning rate when ``share`` of the run is over."""
        config = self.config
        warm = min(1.0, (self.step + 1) / max(1, config.warmup_steps))
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
        span = config.learning_rate - config.final_learning_rate
        return warm * (config.final_learning_rate + span * cosine)

    def learn(self, batch: Batch, share: float, losses: Losses) -> None:
        """One gradient step."""
        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(share)
        tensors = [torch.from_numpy(array).to(self.device) for array in batch]
        observations, policies, outcomes, scores = tensors
        if observations.dim() == 4:
            observations = observations.contiguous(memory_format=torch.channels_last)
        self.network.train()
        output = self.network(observations)
        entropy = -torch.xlogy(policies, policies).sum(1).mean()
        policy = F.cross_entropy(output.policy, policies)
        outcome = F.cross_entropy(output.outcome, outcomes)
        score = F.mse_loss(output.score, scores)
        loss = policy + config.value_weight * outcome
        if self.has_score:
            loss = loss + config.score_weight * score
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.gradient_clip)
        self.optimizer.step()
        self.step += 1
        self._average()
        losses.add(policy - entropy, outcome, score)

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged weights; early on the average is over fewer steps."""
        keep = min(self.config.average, (1 + self.step) / (10 + self.step))
        for average, weight in zip(
            self.averaged.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if average.dtype.is_floating_point:
                average.lerp_(weight, 1 - keep)
            else:
                average.copy_(weight)
