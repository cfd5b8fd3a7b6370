"""Agents, search, self-play training, evaluation: games and networks meet here. Import players from
`agents`, matches from `evaluation`, searches from `search`; `train` trains an agent.

    from ludarium.training import train

Torch is slow to import, and is imported only when a name that needs it is asked for.
"""

from typing import TYPE_CHECKING

from ludarium.base.messages import lazily

if TYPE_CHECKING:
    from .run import Iteration, train
    from .runs.trainer import RunResult

#: The module that defines each name, for names that need torch.
_MODULES = {"Iteration": "run", "RunResult": "runs.trainer", "train": "run"}

__all__ = ["Iteration", "RunResult", "train"]

__getattr__ = lazily(__name__, _MODULES)
