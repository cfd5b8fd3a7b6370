"""`Spec`: what `Game.setup` returns for a game with its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .position_text import PositionFormat


@dataclass(frozen=True)
class BoardTurn:
    """The turn of the board after which both players play in the same direction.

    Both permutations are their own inverses, so they lead to the canonical frame and back:
    ``canonical = planes[:, cells]``, and ``actions[number]`` is the other frame's number.

    Attributes:
        cells: int[cells], or int[features] of a flat observation.
        actions: int[num_actions].
        is_turned: the rule function that says which player sees the board turned.

    Raises:
        ValueError: a table is not a permutation, or not its own inverse.
    """

    cells: np.ndarray
    actions: np.ndarray
    is_turned: Callable

    def __post_init__(self) -> None:
        for name in ("cells", "actions"):
            table = np.asarray(getattr(self, name))
            each = np.arange(len(table))
            if not np.array_equal(np.sort(table), each) or (table[table] != each).any():
                raise ValueError(
                    f"{name} of a turn of the board must be a permutation that is its own inverse"
                )


@dataclass(frozen=True)
class Texts:
    """Texts, and the rule function that chooses one of them by number.

    Attributes:
        texts: the texts.
        choose: the function; None for the default, see `hooks.HOOKS`.
    """

    texts: Sequence[str]
    choose: Callable | None = None


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Sizes, tables, names and further functions of a game with its options.

    `hooks.HOOKS` has the arguments of all functions.

    Attributes:
        state_dtype: dtype of a position, from ``rule.state_dtype``, which also declares the fields
            that are only working room, or only a log for pictures.
        action_names: a text for each action, which does not depend on the position.
        observation_names: a short name for each plane of the observation, or for each feature.
        board: height and width of the planes; None for an observation that is a row of features.
        max_plies: most plies that a game can last.
        tables: what the rules look up, from ``rule.table_record``; None for nothing.
        max_score: largest final ``score`` by absolute value; 0 if there is none, or it is only an
            estimate.
        binary_observation: all entries of the observation are 0 or 1, so uint8 can hold them; False
            if ``observe`` writes fractions, which `check_game` finds.
        random_start: the start depends on the seed.
        action_places: the cell on which each action is played, -1 where it has none (a pass,
            say); int[num_actions]. If actions share a cell, the k-th has ``k * height * width +
            cell``, k from 0. Networks and the default picture use it. None: no action has a place.
        canonical_turn: the turn of the board, where the players have different directions or goals.
        words: texts of actions, if they depend on the position; empty to use ``action_names``.
        tasks: ends of the sentence "the mover has to ...".
        reasons: ends of sentences that say why an action is not legal. ``{0}`` in it is the
            action's name, ``{1}`` that of another one.
        event_names: names of the rules whose use `Game.events` counts, for reports, such as
            ``capture``, the most striking first.
        view_tables: what ``show`` looks up besides the tables, from ``rule.table_record``; None for
            nothing.
        owner: the owner of a cell of the board, for `Position.ownership`; None: cells have none.
        takes: whether an action took something on a cell, for `Position.threats`.
        give_turn: lets the other player move, for `Position.threats`.
        position_format: how positions are written as text; None: as the fields of the record.
    """

    state_dtype: np.dtype
    action_names: Sequence[str]
    observation_names: Sequence[str]
    board: tuple[int, int] | None = None
    max_plies: int
    tables: np.ndarray | None = None
    max_score: int = 0
    binary_observation: bool = True
    random_start: bool = False
    action_places: np.ndarray | None = None
    canonical_turn: BoardTurn | None = None
    words: Texts = Texts(())
    tasks: Texts = Texts(("move",))
    reasons: Texts = Texts(("it is not legal in this position",))
    event_names: Sequence[str] = ()
    view_tables: np.ndarray | None = None
    owner: Callable | None = None
    takes: Callable | None = None
    give_turn: Callable | None = None
    position_format: PositionFormat | None = None
