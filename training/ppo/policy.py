"""Our networks as policies of sb3-contrib's `MaskablePPO`."""

from __future__ import annotations

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn
from torch.nn import functional as F

from ludarium.models import PolicyValueNetwork
from ludarium.models.network import channels_last, expected_value

_NEVER = -1e8  # logit of an illegal action, the same as in sb3-contrib


class NetworkPolicy(MaskableActorCriticPolicy):
    """Actor and critic in one of our networks.

    The critic is the outcome head's expected value: the probability of a win minus that of a
    loss. It lies in [-1, 1], like all rewards, and is what searches with the network use, unless
    they weigh the score. The score head is not trained.

    Batch normalisation uses its running statistics, because rollout and learning must give the
    same probabilities; only `measure_statistics`, which sets them, uses those of its batches.

    Args:
        observation_space, action_space, lr_schedule: as in SB3's policies.
        network: the network; it is not copied.
    """

    def __init__(
        self,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        lr_schedule: Schedule,
        network: PolicyValueNetwork,
    ) -> None:
        super().__init__(observation_space, action_space, lr_schedule, normalize_images=False)
        self.network = network.eval()
        self.optimizer = self.optimizer_class(
            network.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        """Build nothing: the network has all layers."""

    def train(self, mode: bool = True) -> NetworkPolicy:
        """Set the training mode; the network stays in evaluation mode."""
        super().train(mode)
        self.network.eval()
        return self

    def forward(
        self,
        obs: Tensor,
        deterministic: bool = False,
        action_masks: np.ndarray | Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions int64 [B], drawn or best; values [B, 1]; log probabilities [B] of the actions."""
        logits, values = self._answers(obs)
        masks = _as_masks(action_masks, logits)
        if deterministic:
            actions = logits.masked_fill(~masks, _NEVER).argmax(dim=1)
        else:
            actions = draw_actions(logits, masks)
        chosen = _log_probabilities(logits, masks).gather(1, actions[:, None]).squeeze(1)
        return actions, values, chosen

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: np.ndarray | Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values [B, 1], log probabilities of ``actions`` [B], and entropies [B]."""
        logits, values = self._answers(obs)
        masks = _as_masks(action_masks, logits)
        every = _log_probabilities(logits, masks)
        chosen = every.gather(1, actions.long().reshape(-1, 1)).squeeze(1)
        entropies = -(every.exp() * every).masked_fill(~masks, 0).sum(dim=1)
        return values, chosen, entropies

    def predict_values(self, obs: PyTorchObs) -> Tensor:
        """Values [B, 1]."""
        return self._answers(obs)[1]

    def get_distribution(
        self, obs: PyTorchObs, action_masks: np.ndarray | Tensor | None = None
    ) -> MaskableDistribution:
        """The policy's distribution, for SB3's ``predict``."""
        distribution = self.action_dist.proba_distribution(action_logits=self._answers(obs)[0])
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

    def _answers(self, obs: PyTorchObs) -> tuple[Tensor, Tensor]:
        """Logits [B, A] and values [B, 1]."""
        assert isinstance(obs, Tensor), "observations are tensors here, not dictionaries"
        output = self.network(channels_last(obs.float()))
        return output.policy, expected_value(output.outcome)[:, None]


def draw_actions(logits: Tensor, masks: Tensor) -> Tensor:
    """Actions int64 [B] drawn from the softmax of ``logits`` over what ``masks`` [B, A] allow.

    It uses the Gumbel-max trick: the argmax of logits plus Gumbel noise has that distribution.
    """
    noise = -torch.empty_like(logits).exponential_().log()
    return (logits + noise).masked_fill(~masks, -torch.inf).argmax(dim=1)


def input_tensor(observations: np.ndarray, device: torch.device) -> Tensor:
    """Observations [B, ...] as a tensor on ``device``; boards in channels-last memory format."""
    return channels_last(torch.from_numpy(observations).to(device))


@torch.no_grad()
def measure_statistics(network: PolicyValueNetwork, observations: Tensor) -> None:
    """Set the running statistics of every batch normalisation, a custom network's too.

    They become the mean of those of chunks of ``observations``, weighted by their sizes.
    """
    kinds = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    layers = [module for module in network.modules() if isinstance(module, kinds)]
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
    network.train()
    seen = 0
    for part in observations.split(1024):
        seen += len(part)
        for layer in layers:
            layer.momentum = len(part) / seen  # each chunk counts by its size
        network(channels_last(part))
    network.eval()
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum


def _as_masks(masks: np.ndarray | Tensor | None, logits: Tensor) -> Tensor:
    if masks is None:
        return torch.ones_like(logits, dtype=torch.bool)
    return torch.as_tensor(masks, dtype=torch.bool, device=logits.device).reshape(logits.shape)


def _log_probabilities(logits: Tensor, masks: Tensor) -> Tensor:
    return F.log_softmax(logits.masked_fill(~masks, _NEVER), dim=1)
