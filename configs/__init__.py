"""Training configurations: one YAML file per game and purpose, validated on load. Import what is in
`__all__` from here, sections and search options from `schema`, functions for texts from `loading`.

`load_config` reads a file or a shipped configuration by name (``corso/demo``), `shipped` lists
these names, `apply_settings` changes keys. YAML is imported only when one of them is asked for.
"""

from typing import TYPE_CHECKING

from ludarium.base.messages import lazily

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

__getattr__ = lazily(
    __name__, dict.fromkeys(("apply_settings", "load_config", "shipped"), "loading")
)
