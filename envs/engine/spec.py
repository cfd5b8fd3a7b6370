"""`Spec`: what `Game.setup` returns for a game with its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BoardTurn:
    """The turn of the board after which both players play in the same direction.

    The rule function ``is_turned(tables, state, player)`` says which player sees the board turned
    in the canonical frame. Both permutations are their own inverses, so they lead to that frame and
    back: ``canonical = planes[:, cells]``, and ``actions[number]`` is the other frame's number.

    Attributes:
        cells: int[cells], or int[features] of a flat observation.
        actions: int[num_actions].

    Raises:
        ValueError: a table is not a permutation, or not its own inverse.
    """

    cells: np.ndarray
    actions: np.ndarray

    def __post_init__(self) -> None:
        for name in ("cells", "actions"):
            table = np.asarray(getattr(self, name))
            each = np.arange(len(table))
            if not np.array_equal(np.sort(table), each) or (table[table] != each).any():
                raise ValueError(
                    f"{name} of a turn of the board must be a permutation that is its own inverse"
                )


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Sizes, tables and names of a game with its options; no attribute follows from another.

    Attributes:
        state_dtype: dtype of a position, from ``rule.state_dtype``.
        action_names: a text for each action, which does not depend on the position.
        observation_names: a short name for each plane of the observation, or for each feature.
        board: height and width of the planes; None for an observation that is a row of features.
        max_plies: most plies that a game can last.
        tables: what the rules look up, from ``rule.table_record``; None for nothing.
        max_score: largest final ``score`` by absolute value; 0 if it is only an estimate.
        binary_observation: all entries of the observation are 0 or 1, so uint8 can hold them.
        random_start: the start depends on the seed.
        action_places: the cell on which each action is played, -1 where it has none (a pass,
            say); int[num_actions]. If actions share a cell, the k-th has ``k * height * width +
            cell``, k from 0. Networks and the default picture use it. None: no action has a place.
        canonical_turn: the turn of the board, where the players have different directions or goals;
            it needs the hook ``is_turned``.
        words: texts of actions that the hook ``word`` chooses from; empty to use ``action_names``.
        tasks: ends of the sentence "the mover has to ..."; the hook ``task`` chooses one.
        reasons: ends of sentences that say why an action is not legal; the hook ``reason`` chooses
            one. ``{0}`` in it is the action's name, ``{1}`` that of another one.
        event_names: names of the rules whose use `Game.events` counts, for reports, such as
            ``capture``, the most striking first.
        log_fields: fields of the record that only tell how the position arose, for pictures; rules
            write but never read them. Exact search treats positions that differ only there as
            equal.
        view_tables: what the hook ``show`` looks up besides the tables, from
            ``rule.table_record``; None for nothing.
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
    canonical_turn: BoardTurn | None = None
    words: Sequence[str] = ()
    tasks: Sequence[str] = ("move",)
    reasons: Sequence[str] = ("it is not legal in this position",)
    event_names: Sequence[str] = ()
    log_fields: Sequence[str] = ()
    view_tables: np.ndarray | None = None
