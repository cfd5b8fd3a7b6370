"""Networks, their inference, checkpoints and export. This package knows shapes, not games."""

from .architecture import Architecture, make_network, register_network
from .checkpoint import Checkpoint, checkpoint_options, load_checkpoint, save_checkpoint
from .inference import InferenceEngine
from .network import NetworkShape, Output, PolicyValueNetwork, build_network

__all__ = [
    "Architecture",
    "Checkpoint",
    "InferenceEngine",
    "NetworkShape",
    "Output",
    "PolicyValueNetwork",
    "build_network",
    "checkpoint_options",
    "load_checkpoint",
    "make_network",
    "register_network",
    "save_checkpoint",
]
