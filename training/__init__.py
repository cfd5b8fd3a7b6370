"""Agents, search, self-play training, evaluation: games and networks meet here. Import players from
`agents`, matches from `evaluation`, searches from `search`; `train` trains an agent.

    from ludarium.training import train

Torch is slow to import, and is imported only when a name that needs it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ludarium.base.messages import needing

if TYPE_CHECKING:
    from .run import Iteration, train
    from .runs.trainer import RunResult

#: The module that defines each name, for names that need torch.
_MODULES = {"Iteration": "run", "RunResult": "runs.trainer", "train": "run"}

__all__ = ["Iteration", "RunResult", "train"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needing("train"):
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value
