"""`Spec`: what `Game.setup` returns of a game with its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .codec import CanonicalTurn


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Sizes, tables and names of a game with its options; nothing follows from something else.

    Attributes:
        state_dtype: of a position, from ``rule.state_dtype``.
        action_names: for each action a text that does not depend on the position.
        observation_names: a short name for each plane of the observation, or for each feature.
        board: height and width of the planes; None for an observation that is a row of features.
        max_plies: most plies that a game can last.
        tables: what the rules look up, from ``rule.table_record``; None if that is nothing.
        max_score: largest final ``score`` by absolute value; 0 where it is only a guess.
        binary_observation: all entries are 0 or 1, so uint8 can hold them.
        random_start: starts differ, by the seed.
        action_places: for each action the cell that it is played on, -1 where it has none (a pass,
            say); int[num_actions]. If actions share a cell, add ``height * width`` to the second,
            twice that to the third. Networks and the picture of the planes make use of it. None:
            no action has a place.
        canonical_turn: for players with different directions or goals; goes with the hook
            ``is_turned``.
        words: texts of actions that the hook ``word`` chooses from; empty for ``action_names``.
        tasks: what a mover may have to do, each after "to", that the hook ``task`` chooses from.
        reasons: why an action is not legal, each the end of a sentence, that the hook ``reason``
            chooses from; ``{0}`` in it is the action's name, ``{1}`` that of another one.
        event_names: the rules whose use `Game.events` counts, for reports, such as ``capture``,
            the most striking first.
        log_fields: fields of the record that only tell how the position came about, for pictures;
            no rule reads them but to write them. Exact search takes positions that differ only
            there for the same.
        view_tables: what the hook ``show`` looks up besides the tables, from
            ``rule.table_record``; None if that is nothing.
    """

    state_dtype: np.dtype
    action_names: Sequence[str]
    observation_names: Sequence[str]
    board: tuple[int, int] | None = None
    max_plies: int
    tables: np.ndarray | None = None
    max_score: int = 0
    binary_observation: bool = False
    random_start: bool = False
    action_places: np.ndarray | None = None
    canonical_turn: CanonicalTurn | None = None
    words: Sequence[str] = ()
    tasks: Sequence[str] = ("move",)
    reasons: Sequence[str] = ("it is not legal in this position",)
    event_names: Sequence[str] = ()
    log_fields: Sequence[str] = ()
    view_tables: np.ndarray | None = None
