"""Training configurations: one YAML file per game and purpose, validated on load. Import what is in
`__all__` from here, and the classes of single sections from `schema`.

`load_config` reads a file or one of the shipped ones by name (``corso/demo``); `shipped`
lists them.
"""

from ludarium.envs.engine.messages import needing

with needing("train"):
    from .loading import apply_settings, load_config, shipped
    from .schema import ALGORITHMS, AlphaZeroConfig, PPOConfig, TrainingConfig

__all__ = [
    "ALGORITHMS",
    "AlphaZeroConfig",
    "PPOConfig",
    "TrainingConfig",
    "apply_settings",
    "load_config",
    "shipped",
]
