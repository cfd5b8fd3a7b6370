"""Networks, their inference, checkpoints and export. This package knows shapes, not games. Import
what is in `__all__` from here; `export` writes and reads ONNX files.

Torch is slow to import, and is imported only when a name that needs it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ludarium.base.messages import needing

from .evaluation import Evaluation, Evaluator
from .header import CheckpointHeader, load_header
from .shape import Architecture, NetworkShape

if TYPE_CHECKING:
    from .architecture import make_network, register_network
    from .checkpoint import Checkpoint, load_checkpoint, save_checkpoint
    from .inference import InferenceEngine
    from .network import Output, PolicyValueNetwork, build_network

#: The module that defines each name, for names that need torch or take long to import.
_MODULES = {
    **dict.fromkeys(("make_network", "register_network"), "architecture"),
    **dict.fromkeys(("Checkpoint", "load_checkpoint", "save_checkpoint"), "checkpoint"),
    "InferenceEngine": "inference",
    **dict.fromkeys(("Output", "PolicyValueNetwork", "build_network"), "network"),
}

__all__ = [
    "Architecture",
    "Checkpoint",
    "CheckpointHeader",
    "Evaluation",
    "Evaluator",
    "InferenceEngine",
    "NetworkShape",
    "Output",
    "PolicyValueNetwork",
    "build_network",
    "load_checkpoint",
    "load_header",
    "make_network",
    "register_network",
    "save_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needing("train"):
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value
