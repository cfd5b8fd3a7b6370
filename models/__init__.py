"""Networks, their inference, checkpoints and export. This package knows shapes of observations and
numbers of actions, no rules; of ``ludarium.envs`` it imports helpers of compiled code alone. Import
what is in `__all__` from here, other names from their modules; `export` writes and reads ONNX
files.

Torch is slow to import, and is imported only when a name that needs it is asked for.
"""

from typing import TYPE_CHECKING

from ludarium.base.messages import lazily

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

__getattr__ = lazily(__name__, _MODULES)
