"""Networks, their inference, checkpoints and export. They know shapes, not games."""

from .checkpoint import Checkpoint, checkpoint_options, load_checkpoint, save_checkpoint
from .inference import InferenceEngine
from .network import NetworkShape, PolicyValueNetwork, build_network

__all__ = [
    "Checkpoint",
    "InferenceEngine",
    "NetworkShape",
    "PolicyValueNetwork",
    "build_network",
    "checkpoint_options",
    "load_checkpoint",
    "save_checkpoint",
]
