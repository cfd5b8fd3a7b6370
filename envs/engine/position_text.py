"""A position as a line of text, such as ``5/2O2/1X3/5/5 0``; read and written for every game.

First the board, row by row from the top with ``/`` between rows: a letter for each piece, a number
for so many empty cells. Then the player to move, 0 or 1. Then fields ``name=value`` for whatever
else decides the rest of the game, each left out where it follows or has its value at the start.

A game describes its texts by a `PositionFormat`, whose two rule functions turn a position into
numbers, and numbers into a position: what each cell holds, and the values of the fields. Text and
numbers are turned into each other by the functions here, for all games. These functions and the
game's are compiled into the WebAssembly module and the C library too, so everybody reads and writes
the same texts, and refuses a text with the same message. In Python they run as they are.

A game without a format has ``-`` for the board, and the fields of its record; only Python reads
those. ``docs/guide/positions.md`` has each game's texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.base.messages import quoted, shortened
from ludarium.machine.marks import part

from .guarded import guarded
from .rule import ONGOING, TRUNCATED, record_dtype, table_record

if TYPE_CHECKING:
    from .game import Game

_LONGEST = 200_000  # characters of a text without a format
_NO_BOARD = "-"

# What is wrong with a text: numbers of messages. That of a field's values is `WRONG` + the field's
# number, a game's own are `OWN` + their number in its format.
FINE, TOO_LONG, TOO_SHORT, NO_PLAYER, ROWS, CELLS, MORE_CELLS, NO_LETTER = range(8)
NO_FIELD, TWICE, UNKNOWN, NOT_RISING, TOO_MANY, PAST_CAP, PLIES, STEPS = range(8, 16)
WRONG = 16
OWN = 32
_MOST_FIELDS = OWN - WRONG
_MESSAGES = {
    TOO_LONG: "it has {0} characters; accepted: at most {1}",
    TOO_SHORT: "write the board, a space, and the player to move, 0 or 1",
    NO_PLAYER: "the player to move is {0:text}; write 0 or 1 after the board and a space",
    ROWS: "its rows are {0}, not {1}; write them from the top, with / between them",
    CELLS: "the row {0:text} has {3} of {2} cells",
    MORE_CELLS: "the row {0:text} has more than {2} cells",
    NO_LETTER: "the row {0:text} has {3:text}; accepted: {letters}, and numbers of empty cells",
    NO_FIELD: "{0:text} is not a field: write name=value",
    TWICE: "it has the field {0:text} twice",
    UNKNOWN: "it has no field {0:text} here; fields: {fields}",
    NOT_RISING: "{0:text} is not in its place: these stand in rising order, each once, with *2 "
    "after one that occurred twice",
    TOO_MANY: "{0:text} is one value too many: this field has at most {2}",
    PAST_CAP: "a game has played {0} plies or more before this board, and ends after {1}",
    PLIES: "plies is {0}, but this board takes {1} plies, or more; leave out plies for {1}",
    STEPS: "plies is {0}, but this board takes {1} plies, or {2}, {3}, {4}, ...; leave out plies "
    "for {1}",
}
_ARGUMENTS = 6  # of a message
_LONGEST_MESSAGE = 400  # characters
_LONGEST_QUOTE = 40  # characters of the text
_MARK = 1  # stands before an argument in a message
_MOST_TIMES = 10**6
_NOTHING = -(1 << 62)  # stands for what is no number

_SPACE, _STAR, _COMMA, _MINUS, _ZERO, _NINE, _EQUALS, _LOW_A = b" *,-09=a"
_QUOTE, _DOT = b"'."


@dataclass(frozen=True)
class Field:
    """A field ``name=value`` of a position's text.

    Attributes:
        name: its name.
        words: what a value may be, which the rules know by number; empty: a value is a whole number
            of at most 9 digits.
        most: how many values it has at most, with commas between them.
        wrong: what to write, if a value is none of these; default: the words, or a whole number.
        counts: whether ``*2`` after a value stands for two of it; 1,000,000 at most.
        digits: hexadecimal digits before the word: the value is the word's number, then these
            digits. Such values stand in rising order.
    """

    name: str
    words: Sequence[str] = ()
    most: int = 1
    wrong: str = ""
    counts: bool = False
    digits: int = 0

    @property
    def message(self) -> str:
        """The message about a value that the field cannot have."""
        words = f"{', '.join(self.words)}, or no {self.name}" if self.words else "a whole number"
        return f"{self.name} has {{0:text}}; {self.wrong or f'accepted: {words}'}"

    @property
    def length(self) -> int:
        """The most characters, with the space before it."""
        longest = max(map(len, self.words), default=10) + self.digits + 1
        return len(self.name) + 2 + self.most * (longest + self.counts * 8)


@dataclass(frozen=True, kw_only=True)
class PositionFormat:
    """How a game's positions are written.

    Attributes:
        letters: the letter of what a cell holds, by number. The first one stands for an empty cell.
            If it is a digit, it is written like the others; else a text has the number of empty
            cells that lie side by side.
        rows: the first cell of each row and its length, as they are written; see `from_the_top`.
        write: rule function of ``tables``, ``state`` and ``said``, which has the attributes
            ``board`` (what each cell holds), ``mover``, and, by field, ``counts`` (how many values
            are there), ``values`` and ``times``. It writes ``board`` and the fields; before the
            call ``mover`` has been written, and ``counts`` are 0.
        read: rule function of the same, which writes every field of ``state`` and returns `FINE`,
            or the number of a fault: `OWN` + the number of a text in ``faults``, whose arguments
            are in ``said.numbers``, or that of `plies_of`.
        fields: the fields.
        faults: why the rules refuse a position. ``{0}`` is the number ``said.numbers[0]``,
            ``{0:last}`` the word of this number in the field ``last``.
        borders: the sign after each row but the last; default: ``/``.
        wrong_board: what to write, for a board that has another form; by default messages name the
            row and what is wrong there.

    Raises:
        ValueError: there are more than 16 fields.
    """

    letters: str
    rows: Sequence[tuple[int, int]]
    write: Callable | None = None
    read: Callable | None = None
    fields: Sequence[Field] = ()
    faults: Sequence[str] = ()
    borders: str = ""
    wrong_board: str = ""

    def __post_init__(self) -> None:
        if len(self.fields) > _MOST_FIELDS:
            raise ValueError(f"{len(self.fields)} fields are more than {_MOST_FIELDS}")

    @cached_property
    def tables(self) -> np.ndarray:
        """All this for compiled functions, structured [1], see `table_record`."""
        words: list[str] = []
        first: dict[tuple[str, ...], int] = {}
        for field in self.fields:
            if tuple(field.words) not in first:
                first[tuple(field.words)] = len(words)
                words += field.words
        own = [self._message(text) for text in self.faults]
        wrong = [self._message(field.message) for field in self.fields]
        generic = [self._message(_MESSAGES.get(number, "")) for number in range(WRONG)]
        if self.wrong_board:
            told = self._message(f"the board is {{0:text}}; {self.wrong_board}")
            generic[ROWS : NO_LETTER + 1] = [told] * 4
        messages = [*generic, *wrong, *[b""] * (_MOST_FIELDS - len(wrong)), *own]
        rows = np.array(self.rows)
        fields = self.fields or (Field(""),)
        borders = self.borders or "/" * (len(rows) - 1)
        return table_record(
            letters=_bytes([self.letters.encode()])[0],
            counts_empty=not self.letters[0].isdigit(),
            tells_rows=not self.wrong_board,
            reads=self.read is not None,
            first=rows[:, 0].astype(np.int32),
            width=rows[:, 1].astype(np.int32),
            borders=np.frombuffer(f"{borders} ".encode(), np.int8),
            fields=len(self.fields),
            **_texts("name", [field.name.encode() for field in fields]),
            **_texts("word", [word.encode() for word in words] or [b""]),
            **_texts("message", messages),
            first_word=np.array([first.get(tuple(each.words), 0) for each in fields], np.int32),
            num_words=np.array([len(each.words) for each in fields], np.int32),
            most=np.array([each.most for each in fields], np.int32),
            counts=np.array([each.counts for each in fields], np.int8),
            digits=np.array([each.digits for each in fields], np.int8),
        )

    @cached_property
    def unpacked(self) -> SimpleNamespace:
        """The record of `tables` for plain Python."""
        return _unpacked(self.tables[0])

    def new_text(self) -> np.ndarray:
        """Room for a text and what it says, structured [1]."""
        fields = self.fields or (Field(""),)
        shape = len(fields), max(field.most for field in fields)
        cells = max(first + width for first, width in self.rows)
        length = sum(width + 1 for _, width in self.rows) + 1 + sum(f.length for f in self.fields)
        return np.zeros(
            1,
            record_dtype(
                ("length", np.int32),
                ("mover", np.int32),
                ("counts", np.int32, (len(fields),)),
                ("times", np.int32, shape),
                ("values", np.int64, shape),
                ("numbers", np.int64, (_ARGUMENTS,)),
                ("told", np.int32),
                ("board", np.int8, (cells,)),
                ("message", np.int8, (_LONGEST_MESSAGE,)),
                ("text", np.int8, (length + 32,)),
            ),
        )

    def _message(self, text: str) -> bytes:
        """A message whose arguments are `_MARK` and a byte: the kind and number of each."""
        told = {
            "letters": ", ".join(self.letters[1:]),
            "fields": ", ".join(field.name for field in self.fields) or "none",
        }
        for name, value in told.items():
            text = text.replace(f"{{{name}}}", value)
        kinds = {"": 0, "text": 1, **{f.name: 2 + n for n, f in enumerate(self.fields)}}

        def coded(match: re.Match[str]) -> str:
            return chr(_MARK) + chr(2 + _ARGUMENTS * kinds[match[2] or ""] + int(match[1]))

        return re.sub(r"\{(\d):?(\w*)\}", coded, text).encode()


def no_format() -> PositionFormat:
    """The format of a game without one, for compiled functions: it has no text, and reads none."""
    fault = "positions of this game have no text outside Python: it has no PositionFormat"
    return PositionFormat(letters=".", rows=[(0, 1)], faults=[fault])


def from_the_top(widths: Sequence[int]) -> list[tuple[int, int]]:
    """Rows of a format, whose cells are numbered row by row from the bottom."""
    firsts = np.cumsum([0, *widths])
    return [(int(first), width) for first, width in zip(firsts, widths, strict=False)][::-1]


def _bytes(texts: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Texts one after the other, int8, and where each begins and the last ends."""
    return np.frombuffer(b"".join(texts) or b" ", np.int8), np.cumsum([0, *map(len, texts)])


def _texts(name: str, texts: Sequence[bytes]) -> dict[str, np.ndarray]:
    letters, at = _bytes(texts)
    return {f"{name}s": letters, f"{name}_at": at.astype(np.int32)}


# From text to numbers.


@part
def note(said, first, second, third):
    """Keep the arguments of a fault's message, three whole numbers."""
    said.numbers[0] = first
    said.numbers[1] = second
    said.numbers[2] = third


@part
def parse(form, said):
    """Read what cells hold, the player to move and the values of fields; return `FINE` or a fault.

    Args:
        form: the record of `PositionFormat.tables`.
        said: the record of `PositionFormat.new_text`, with ``text`` and its ``length``.
    """
    text, end = said.text, int(said.length)
    if not form.reads:
        return OWN
    if end > len(text):
        note(said, end, len(text), 0)
        return TOO_LONG
    for field in range(len(said.counts)):
        said.counts[field] = 0
    start = _past(text, 0, end, _SPACE)
    stop = _until(text, start, end, _SPACE)
    place = _past(text, stop, end, _SPACE)
    if place == end:
        return TOO_SHORT
    mover = int(text[place]) - _ZERO
    after = _until(text, place, end, _SPACE)
    if after > place + 1 or mover < 0 or mover > 1:
        note(said, place, after, 0)
        return NO_PLAYER
    said.mover = mover
    fault = _parse_board(form, said, start, stop)
    place = _past(text, after, end, _SPACE)
    while fault == FINE and place < end:
        stop = _until(text, place, end, _SPACE)
        fault = _parse_field(form, said, place, stop)
        place = _past(text, stop, end, _SPACE)
    return fault


@part
def _until(text, place, end, sign):
    """The first place of a sign, from ``place`` on, or ``end``."""
    while place < end and text[place] != sign:
        place += 1
    return place


@part
def _past(text, place, end, sign):
    """The first place of another sign, from ``place`` on, or ``end``."""
    while place < end and text[place] == sign:
        place += 1
    return place


@part
def _is_border(form, sign):
    """Whether a sign stands between rows."""
    found = False
    for row in range(len(form.borders) - 1):
        found |= sign == form.borders[row]
    return found


@part
def _parse_board(form, said, start, end):
    text, last = said.text, len(form.first) - 1
    borders = 0
    for place in range(start, end):
        borders += int(_is_border(form, text[place]))
    note(said, borders + 1 if form.tells_rows else start, last + 1 if form.tells_rows else end, 0)
    if borders != last:
        return ROWS
    place = start
    for row in range(last + 1):
        first, width = int(form.first[row]), int(form.width[row])
        stop = place
        while stop < end and not _is_border(form, text[stop]):
            stop += 1
        if row < last and text[stop] != form.borders[row]:
            return ROWS
        if form.tells_rows:
            note(said, place, stop, width)
        cell = 0
        while place < stop:
            content, times = 0, 0
            if form.counts_empty and _ZERO <= text[place] <= _NINE:
                while place < stop and _ZERO <= text[place] <= _NINE:
                    times = min(10 * times + int(text[place]) - _ZERO, width + 1)
                    place += 1
            else:
                content, times = _letter(form, text[place]), 1
                if content < 0:
                    said.numbers[3] = place
                    said.numbers[4] = place + 1
                    return NO_LETTER
                place += 1
            if cell + times > width:
                return MORE_CELLS
            for _ in range(times):
                said.board[first + cell] = content
                cell += 1
        if cell < width:
            said.numbers[3] = cell
            return CELLS
        place = stop + 1
    return FINE


@part
def _letter(form, sign):
    """The number of a letter, or -1."""
    for content in range(int(form.counts_empty), len(form.letters)):
        if form.letters[content] == sign:
            return content
    return -1


@part
def _parse_field(form, said, start, end):
    text = said.text
    equals = _until(text, start, end, _EQUALS)
    note(said, start, end, 0)
    if equals == start or equals >= end - 1:
        return NO_FIELD
    field = _found(form.names, form.name_at, 0, form.fields, text, start, equals)
    note(said, start, equals, 0)
    if field < 0:
        return UNKNOWN
    if said.counts[field] > 0:
        return TWICE
    place, count = equals + 1, 0
    while place <= end:
        stop = _until(text, place, end, _COMMA)
        note(said, place, stop, int(form.most[field]))
        if count == form.most[field]:
            return TOO_MANY
        last, times = stop, 1
        if form.counts[field]:
            last = _until(text, place, stop, _STAR)
            if last < stop:
                times = _whole(text, last + 1, stop)
        value = _value(form, text, field, place, last)
        if value == _NOTHING or times < 1 or times > _MOST_TIMES:
            return WRONG + field
        if form.digits[field] and count > 0 and said.values[field, count - 1] >= value:
            return NOT_RISING
        said.values[field, count] = value
        said.times[field, count] = times
        count += 1
        place = stop + 1
    said.counts[field] = count
    return FINE


@part
def _found(letters, at, first, count, text, start, end):
    """The number, from 0 on, of a text among ``count`` texts from ``first`` on; -1: none."""
    length = end - start
    for number in range(count):
        begin = int(at[first + number])
        if at[first + number + 1] - begin == length:
            same = 0
            while same < length and letters[begin + same] == text[start + same]:
                same += 1
            if same == length:
                return number
    return -1


@part
def _whole(text, start, end):
    """A whole number of at most 9 digits, or `_NOTHING`."""
    first = start + 1 if start < end and text[start] == _MINUS else start
    if first == end or end - first > 9:
        return _NOTHING
    number = 0
    for place in range(first, end):
        digit = int(text[place]) - _ZERO
        if digit < 0 or digit > 9:
            return _NOTHING
        number = 10 * number + digit
    return number if first == start else -number


@part
def _value(form, text, field, start, end):
    """The value that a word stands for, or `_NOTHING`."""
    if form.num_words[field] == 0:
        return _whole(text, start, end)
    first = start + int(form.digits[field])
    if first > end:
        return _NOTHING
    low = 0
    for place in range(start, first):
        digit = int(text[place]) - _ZERO
        if digit > 9:
            digit = int(text[place]) - _LOW_A + 10 if text[place] >= _LOW_A else -1
        if digit < 0 or digit > 15:
            return _NOTHING
        low = 16 * low + digit
    words = int(form.first_word[field])
    word = _found(form.words, form.word_at, words, int(form.num_words[field]), text, first, end)
    return _NOTHING if word < 0 else word << 4 * (first - start) | low


@part
def plies_of(said, field, least, most, step):
    """The plies of a position: the value of a field, or ``least`` if the text lacks the field.

    Args:
        said: the record of `PositionFormat.new_text`, parsed.
        field: the number of the field.
        least: how many plies the board takes.
        most: how many a game has at most.
        step: the value is ``least``, or a multiple of ``step`` more.

    Returns:
        The plies; or the number of a fault, negative.
    """
    plies = int(said.values[field, 0]) if said.counts[field] > 0 else least
    if least > most or plies > most:
        note(said, max(least, plies), most, 0)
        return -PAST_CAP
    if plies < least or (plies - least) % step != 0:
        note(said, plies, least, least + step)
        said.numbers[3] = least + 2 * step
        said.numbers[4] = least + 3 * step
        return -PLIES if step == 1 else -STEPS
    return plies


@part
def say(said, field, value):
    """Add a value to a field of ``said``; ``field`` is the field's number."""
    said.values[field, said.counts[field]] = value
    said.times[field, said.counts[field]] = 1
    said.counts[field] += 1


# From numbers to text.


@part
def write(form, said):
    """Write ``said.text`` and its ``length`` from the cells, the player to move and the fields.

    Args:
        form: the record of `PositionFormat.tables`.
        said: the record of `PositionFormat.new_text`.
    """
    text, length = said.text, 0
    for row in range(len(form.first)):
        first, empty = int(form.first[row]), 0
        for cell in range(first, first + int(form.width[row])):
            content = int(said.board[cell])
            if form.counts_empty and content == 0:
                empty += 1
                continue
            if empty > 0:
                length = _put_number(text, length, empty)
                empty = 0
            length = _put(text, length, form.letters[content])
        if empty > 0:
            length = _put_number(text, length, empty)
        length = _put(text, length, form.borders[row])
    length = _put_number(text, length, int(said.mover))
    for field in range(form.fields):
        for number in range(said.counts[field]):
            if number == 0:
                length = _put(text, length, _SPACE)
                length = _copy(text, length, form.names, form.name_at, field)
            length = _put(text, length, _COMMA if number > 0 else _EQUALS)
            value, times = int(said.values[field, number]), int(said.times[field, number])
            if form.num_words[field] == 0:
                length = _put_number(text, length, value)
            else:
                digits = int(form.digits[field])
                for place in range(digits):
                    digit = value >> 4 * (digits - 1 - place) & 15
                    sign = _ZERO + digit if digit < 10 else _LOW_A + digit - 10
                    length = _put(text, length, sign)
                word = int(form.first_word[field]) + (value >> 4 * digits)
                length = _copy(text, length, form.words, form.word_at, word)
            if times > 1:
                length = _put_number(text, _put(text, length, _STAR), times)
    said.length = length


@part
def tell(form, said, fault):
    """Write ``said.message``, and its length ``said.told``, about a fault."""
    message, told = said.message, 0
    place, end = int(form.message_at[fault]), int(form.message_at[fault + 1])
    while place < end:
        if form.messages[place] != _MARK:
            told = _put(message, told, form.messages[place])
            place += 1
            continue
        coded = int(form.messages[place + 1]) - 2
        kind, argument = coded // _ARGUMENTS, coded % _ARGUMENTS
        number = int(said.numbers[argument])
        if kind == 0:
            told = _put_number(message, told, number)
        elif kind == 1:
            stop = min(int(said.numbers[argument + 1]), int(said.length))
            told = _put(message, told, _QUOTE)
            for sign in range(number, min(stop, number + _LONGEST_QUOTE)):
                told = _put(message, told, said.text[sign])
            if stop > number + _LONGEST_QUOTE:
                for _ in range(3):
                    told = _put(message, told, _DOT)
            told = _put(message, told, _QUOTE)
        else:
            word = int(form.first_word[kind - 2]) + number
            told = _copy(message, told, form.words, form.word_at, word)
        place += 2
    said.told = told


@part
def _put(text, length, sign):
    """Write a sign if there is room; return the new length."""
    if length < len(text):
        text[length] = sign
        length += 1
    return length


@part
def _put_number(text, length, number):
    if number < 0:
        length = _put(text, length, _MINUS)
        number = -number
    power = 1
    while power * 10 <= number:
        power *= 10
    while power > 0:
        length = _put(text, length, _ZERO + number // power % 10)
        power //= 10
    return length


@part
def _copy(text, length, letters, at, number):
    """Write one of several texts."""
    for place in range(at[number], at[number + 1]):
        length = _put(text, length, letters[place])
    return length


# Python.


def write_position(game: Game, state: np.record) -> str:
    """The text of a position."""
    form = game.position_format
    if form is None:
        return _write_fields(game, state)
    assert form.write is not None
    said = _unpacked(form.new_text()[0])
    said.mover = int(state.mover)
    form.write(_unpacked(game.tables[0]), _unpacked(state), said)
    write(form.unpacked, said)
    return bytes(said.text[: said.length]).decode()


def read_position(game: Game, text: str) -> np.ndarray:
    """The record of a position, structured [1].

    Raises:
        ValueError: it is no text (str), is malformed, or describes a position that the game's
            format or rules refuse; the message names the text and says why.
    """
    if not isinstance(text, str):
        raise ValueError(f"a position is written as a text (str), not {quoted(text)}")
    states, form = game.new_states(1), game.position_format
    try:
        if form is None:
            _read_fields(game, text, states[0])
        else:
            _read_text(game, form, text, states[0])
    except ValueError as error:
        raise ValueError(
            f"{quoted(text)} is no position of {game.name}: {shortened(str(error), 300)}"
        ) from None
    return states


def _read_text(game: Game, form: PositionFormat, text: str, record: np.record) -> None:
    assert form.read is not None
    said, state = _unpacked(form.new_text()[0]), _unpacked(record)
    content = " ".join(text.split()).encode("ascii", "replace")
    said.length, room = len(content), len(said.text)
    said.text[: min(len(content), room)] = content[:room]
    fault = parse(form.unpacked, said) or form.read(_unpacked(game.tables[0]), state, said)
    if fault:
        tell(form.unpacked, said, fault)
        raise ValueError(bytes(said.message[: said.told]).decode())
    for name, value in vars(state).items():
        record[name] = value


def _unpacked(record: np.record) -> SimpleNamespace:
    """The fields of a record as attributes, which plain Python reads much faster."""
    found = SimpleNamespace()
    for name in record.dtype.names or ():
        value = record[name]
        if value.dtype.kind != "u":
            value = value if value.ndim > 1 else value.tolist()
        setattr(found, name, value)
    return found


# Games without a format.


def _write_fields(game: Game, state: np.record) -> str:
    """``-``, the player to move, and the fields of the record that are not zero."""
    words = [_NO_BOARD, str(int(state.mover))]
    for name in _fields_of(game):
        values = np.ravel(state[name])
        if values.any():
            runs = ((repr(value), len(list(run))) for value, run in groupby(values.tolist()))
            words.append(f"{name}=" + ",".join(f"{n}*{v}" if n > 1 else v for v, n in runs))
    return " ".join(words)


def _read_fields(game: Game, text: str, state: np.record) -> None:
    """Write the fields of the record, and check that the rules can go on from there."""
    if len(text) > _LONGEST:
        raise ValueError(f"it has {len(text):,} characters; accepted: at most {_LONGEST:,}")
    board, mover, *fields = [*text.split(), "", ""][: max(2, len(text.split()))]
    if board != _NO_BOARD or mover not in ("0", "1"):
        raise ValueError(f"write {_NO_BOARD}, a space, the player to move, 0 or 1, and fields")
    state["mover"] = int(mover)
    given: dict[str, str] = {}
    for field in fields:
        name, _, value = field.partition("=")
        if name in given or name not in _fields_of(game) or not value:
            raise ValueError(
                f"{quoted(field)} is no field here: write name=value, each once; names: "
                f"{', '.join(_fields_of(game))}"
            )
        given[name] = value
        shape, dtype = state[name].shape, state[name].dtype
        values = _values(name, value.split(","), dtype, state[name].size)
        state[name] = np.array(values).reshape(shape)
    if not ONGOING <= state["outcome"] <= TRUNCATED:
        raise ValueError(f"outcome is {int(state['outcome'])}; accepted: {ONGOING} to {TRUNCATED}")
    if not 0 <= state["ply"] < game.max_plies + bool(state["outcome"]):
        raise ValueError(f"ply is {int(state['ply'])}, and a game has at most {game.max_plies}")
    _try_rules(game, state)


def _fields_of(game: Game) -> list[str]:
    left_out = {"mover", *game.log_fields}
    return [name for name in game.state_dtype.names or () if name not in left_out]


def _number(name: str, value: str, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most`` out of a text; ``ValueError`` if it is not one."""
    if not re.fullmatch("-?[0-9]{1,18}", value) or not least <= int(value) <= most:
        raise ValueError(
            f"{name} is {quoted(value)}; accepted: a whole number from {least} to {most}"
        )
    return int(value)


def _values(name: str, words: Sequence[str], dtype: np.dtype, size: int) -> list[Any]:
    """The entries of a field, out of words such as ``4*0``."""
    values: list[Any] = []
    for word in words:
        times, star, value = word.rpartition("*")
        count = _number(f"a number of entries of {name}", times, 1, size) if star else 1
        if len(values) + count > size:
            break
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values += [_number(name, value, int(limits.min), int(limits.max))] * count
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
    raise ValueError(f"{name} has more or fewer than {size} values")


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
