"""Progress reports of long computations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a computation is.

    Attributes:
        done: units finished so far: positions answered or found, layers decided.
        total: units in all; None if that is not known.
        nodes: positions searched so far.
        stage: what the units belong to; empty if there is one stage only.
    """

    done: int
    total: int | None = None
    nodes: int = 0
    stage: str = ""


#: Called from time to time with the progress. If it returns true, a search stops soon and returns
#: what it knows by then; other computations ignore the return value.
Show = Callable[[Progress], bool | None]
