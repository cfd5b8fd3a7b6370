"""Training configurations: one YAML file per game and purpose, validated on load. Import what is in
`__all__` from here, and the classes of single sections from `schema`.

`load_config` reads a file or one of the shipped ones by name (``corso/demo``); `shipped`
lists them. They need YAML, which is imported only when one of them is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ludarium.base.messages import needing

from .schema import ALGORITHMS, AlphaZeroConfig, PPOConfig, TrainingConfig

if TYPE_CHECKING:
    from .loading import apply_settings, load_config, shipped

__all__ = [
    "ALGORITHMS",
    "AlphaZeroConfig",
    "PPOConfig",
    "TrainingConfig",
    "apply_settings",
    "load_config",
    "shipped",
]


def __getattr__(name: str) -> Any:
    if name not in ("apply_settings", "load_config", "shipped"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needing("train"):
        value = getattr(import_module(".loading", __name__), name)
    globals()[name] = value
    return value
