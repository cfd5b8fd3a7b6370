"""A position as a line of text, such as ``5/2O2/1X3/5/5 0``; read and written for every game.

First the board, row by row from the top with ``/`` between rows: a letter for each piece, a number
for so many empty cells. Then the player to move, 0 or 1. Then fields ``name=value`` for whatever
else decides the rest of the game, each left out where it follows or has its value at the start.
`Game.write_position` and `Game.read_position` are a game's part; without them a text has ``-`` for
the board, and the fields of the record. ``docs/guide/positions.md`` has each game's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.base.messages import quoted, shortened

from .guarded import guarded
from .rule import ONGOING, TRUNCATED

if TYPE_CHECKING:
    from .game import Game

_LONGEST = 200_000  # characters; Osiron's longest games have 140,000
_NO_BOARD = "-"


class PositionText:
    """A text that is being read: a game asks for the board and its fields.

    Every method raises a ``ValueError`` that says what is wrong, as a game's own checks do.

    Attributes:
        board: the text of the board.
        mover: the player to move, 0 or 1.
    """

    def __init__(self, text: str) -> None:
        words = text.split()
        if len(words) < 2:
            raise ValueError("write the board, a space, and the player to move, 0 or 1")
        self.board, mover, *fields = words
        if mover not in ("0", "1"):
            raise ValueError(
                f"the player to move is {quoted(mover)}; write 0 or 1 after the board and a space"
            )
        self.mover = int(mover)
        self._fields: dict[str, str] = {}
        for field in fields:
            name, equals, value = field.partition("=")
            if not equals or not name or not value:
                raise ValueError(f"{quoted(field)} is not a field: write name=value")
            if name in self._fields:
                raise ValueError(f"it has the field {quoted(name)} twice")
            self._fields[name] = value
        self._known: list[str] = []

    def field(self, name: str) -> str:
        """The value of a field; empty if it is left out."""
        self._known.append(name)
        return self._fields.get(name, "")

    def words(self, name: str) -> list[str]:
        """The values of a field that has several, with commas between them."""
        value = self.field(name)
        return value.split(",") if value else []

    def choice(self, name: str, values: Sequence[str]) -> int:
        """A field with a few values: 0 if it is left out, or else the value's number, from 1 on."""
        value = self.field(name)
        if value and value not in values:
            raise ValueError(
                f"{name} is {quoted(value)}; accepted: {', '.join(values)}, or no {name}"
            )
        return values.index(value) + 1 if value else 0

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A field with a whole number."""
        value = self.field(name)
        return whole(name, value, least, most) if value else default

    def plies(self, least: int, most: int, step: int = 1) -> int:
        """The field ``plies``: by default ``least``, and else a multiple of ``step`` more."""
        if least > most:
            raise ValueError(
                f"a game has played {least} plies or more before this board, and ends after {most}"
            )
        plies = self.whole("plies", least, 0, most)
        if plies < least or (plies - least) % step:
            more = f"{step}, {2 * step}, {3 * step}, ... more" if step > 1 else "more"
            raise ValueError(
                f"plies is {plies}, but this board takes {least} plies, or {more}; leave out plies "
                f"for {least}"
            )
        return plies

    def rows(self, letters: str, widths: Sequence[int]) -> list[int]:
        """What each cell holds, row by row from the bottom.

        Args:
            letters: the letter of each content; the first one stands for an empty cell, which a
                text has as a number.
            widths: the cells of each row, from the bottom.
        """
        rows = self.board.split("/")
        if len(rows) != len(widths):
            raise ValueError(
                f"the board has {_many(len(rows), 'row')}, not {len(widths)}; write them from the "
                "top, with / between them"
            )
        pieces = letters[1:]
        contents: list[int] = []
        for row, width in zip(reversed(rows), widths, strict=True):
            found: list[int] = []
            for word in re.findall("[0-9]+|.", row, re.DOTALL):
                if word in pieces:
                    found.append(letters.index(word))
                elif word.isdecimal() and word.isascii():
                    found += [0] * min(int(word[:6]), 2 * width)  # enough to be refused
                else:
                    raise ValueError(
                        f"the row {quoted(row)} has {quoted(word)}; accepted: {', '.join(pieces)}, "
                        "and numbers of empty cells"
                    )
                if len(found) > width:
                    raise ValueError(f"the row {quoted(row)} has more than {width} cells")
            if len(found) < width:
                raise ValueError(
                    f"the row {quoted(row)} has {_many(len(found), 'cell')}, not {width}"
                )
            contents += found
        return contents

    def require_known(self) -> None:
        """Refuse a field that nobody has asked for."""
        for name in self._fields:
            if name not in self._known:
                known = ", ".join(self._known)
                raise ValueError(f"it has no field {quoted(name)} here; fields: {known or 'none'}")


def whole(name: str, value: str, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most`` out of a text; ``ValueError`` if it is not one."""
    if not re.fullmatch("-?[0-9]{1,18}", value) or not least <= int(value) <= most:
        raise ValueError(
            f"{name} is {quoted(value)}; accepted: a whole number from {least} to {most}"
        )
    return int(value)


def counted(words: Sequence[str]) -> dict[str, int]:
    """How often each word stands in a list in which ``word*3`` stands for three."""
    counts: dict[str, int] = {}
    for each in words:
        word, star, times = each.partition("*")
        if word in counts:
            raise ValueError(f"{quoted(word)} stands there twice; write {shortened(word, 40)}*2")
        counts[word] = whole(f"the number of {quoted(word)}", times, 1, 10**6) if star else 1
    return counts


def listed(counts: Mapping[str, int]) -> str:
    """The text that `counted` reads, in the order of the mapping."""
    return ",".join(
        word if times == 1 else f"{word}*{times}" for word, times in counts.items() if times
    )


def rows_text(contents: Sequence[int], letters: str, widths: Sequence[int]) -> str:
    """The text of a board, see `PositionText.rows`."""
    rows, first = [], 0
    for width in widths:
        runs = groupby(contents[first : first + width])
        rows.append(
            "".join(
                letters[content] * len(run) if content else str(len(run))
                for content, run in ((int(content), list(cells)) for content, cells in runs)
            )
        )
        first += width
    return "/".join(reversed(rows))


def write_position(game: Game, state: np.record) -> str:
    """The text of a position."""
    board, fields = game.write_position(state)
    named = [f"{name}={value}" for name, value in fields.items() if value not in ("", None)]
    return " ".join([board, str(int(state.mover)), *named])


def read_position(game: Game, text: str) -> np.ndarray:
    """The record of a position, structured [1].

    Raises:
        ValueError: it is no text, or no position that a game can reach by its counts; the message
            names the text and says why.
    """
    if not isinstance(text, str):
        raise ValueError(f"a position is written as a text (str), not {quoted(text)}")
    states = game.new_states(1)
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"it has {len(text):,} characters; accepted: at most {_LONGEST:,}")
        parsed = PositionText(text)
        game.read_position(parsed, states[0])
        parsed.require_known()
    except ValueError as error:
        raise ValueError(
            f"{quoted(text)} is no position of {game.name}: {shortened(str(error), 300)}"
        ) from None
    return states


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


# Games without a text of their own.


def write_fields(game: Game, state: np.record) -> tuple[str, dict[str, str]]:
    """The fields of the record, those that are zero left out."""
    fields = {}
    for name in _fields_of(game):
        values = np.ravel(state[name])
        if values.any():
            runs = ((repr(value), len(list(run))) for value, run in groupby(values.tolist()))
            fields[name] = ",".join(f"{n}*{value}" if n > 1 else value for value, n in runs)
    return _NO_BOARD, fields


def read_fields(game: Game, text: PositionText, state: np.record) -> None:
    """Write the fields of the record, and check that the rules can go on from there."""
    if text.board != _NO_BOARD:
        raise ValueError(f"the board is {quoted(text.board)}; write {_NO_BOARD}, and fields")
    state["mover"] = text.mover
    for name in _fields_of(game):
        words = text.words(name)
        if words:
            shape, dtype = state[name].shape, state[name].dtype
            state[name] = np.array(_values(name, words, dtype, state[name].size)).reshape(shape)
    if not ONGOING <= state["outcome"] <= TRUNCATED:
        raise ValueError(f"outcome is {int(state['outcome'])}; accepted: {ONGOING} to {TRUNCATED}")
    if not 0 <= state["ply"] < game.max_plies + bool(state["outcome"]):
        raise ValueError(f"ply is {int(state['ply'])}, and a game has at most {game.max_plies}")
    _try_rules(game, state)


def _fields_of(game: Game) -> list[str]:
    left_out = {"mover", *game.log_fields}
    return [name for name in game.state_dtype.names or () if name not in left_out]


def _values(name: str, words: Sequence[str], dtype: np.dtype, size: int) -> list[Any]:
    """The entries of a field, out of words such as ``4*0``."""
    values: list[Any] = []
    for word in words:
        times, star, value = word.rpartition("*")
        count = whole(f"a number of entries of {name}", times, 1, size) if star else 1
        if len(values) + count > size:
            break
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values += [whole(name, value, int(limits.min), int(limits.max))] * count
        elif dtype.kind == "b" and value in ("False", "True"):
            values += [value == "True"] * count
        elif dtype.kind == "f" and re.fullmatch(
            r"-?[0-9]{1,20}(\.[0-9]{1,20})?(e[-+]?\d\d)?", value
        ):
            values += [float(value)] * count
        else:
            raise ValueError(f"{name} is {quoted(value)}; accepted: values of {dtype}")
    else:
        if len(values) == size:
            return values
    raise ValueError(f"{name} has more or fewer than {_many(size, 'value')}")


def _try_rules(game: Game, state: np.record) -> None:
    """Refuse a position if rules in plain Python fail within a ply, or in a random game."""
    rules, table = game.rules, guarded(game.tables[0])

    def legal_actions(state: np.record) -> list[int]:
        planes = np.zeros(game.planes_shape, np.float32)
        for player in (0, 1):
            rules.observe(table, guarded(state), player, guarded(planes))
        actions = range(game.num_actions if state.outcome == ONGOING else 0)
        return [action for action in actions if rules.is_legal(table, guarded(state), action)]

    try:
        with np.errstate(all="raise"):
            for action in legal_actions(state):
                after = np.array(state, game.state_dtype).reshape(1)[0]
                rules.step(table, guarded(after), action)
                legal_actions(after)
            after, lot = np.array(state, game.state_dtype).reshape(1)[0], random.Random(0)
            while after.outcome == ONGOING:
                rules.step(table, guarded(after), lot.choice(legal_actions(after)))
                if after.ply > game.max_plies:
                    raise ValueError(f"a game has at most {game.max_plies} plies")
    except Exception as error:  # a stranger's position may lead the rules anywhere
        raise ValueError(f"the rules fail there: {type(error).__name__}: {error}") from None
