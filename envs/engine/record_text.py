"""Game records as text: headers, numbered moves, comments, variations; see docs/guide/records.md.

    [Format "ludarium 1"]
    [Game "corso"]
    [Version 0]
    [Option "size" 5]
    [Seed 7]
    [Result "*"]

    1. c3; 2. b3 {too near} (2. b4; 3. c4); 3. c3!

`parse_record` and `format_record` go between such a text and the dict of ``engine.record``;
``play/js/record.js`` does the same in JavaScript, and both refuse the same texts at the same place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from .files import MEGABYTE, load_json
from .messages import quoted, shortened

#: Most characters of a text, moves with those of variations, variations within each other, headers.
MOST_CHARACTERS = 4 * MEGABYTE
MOST_MOVES = 100_000
MOST_DEPTH = 8
MOST_HEADERS = 200

_FORMAT = "ludarium 1"
_OWN_HEADERS = ("Format", "Game", "Version", "Option", "Seed", "Result")
_REQUIRED = ("Format", "Game", "Version")
_RESULTS: dict[str, list[int] | None] = {
    "1-0": [1, -1],
    "0-1": [-1, 1],
    "1/2-1/2": [0, 0],
    "*": None,
}
_PLAYERS = ("Player_0", "Player_1")
_SEAT = "Seat"
_DIGITS = {"Version": 8, "Seed": 38}  # besides the first
_LARGEST_NUMBER = 2**53 - 1  # of an option: what every language holds exactly
_WIDTH = 80  # of the lines of moves

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHITE = re.compile(r"[ \t\n]*")
_WHITES = re.compile(r"[ \t\n]+")
_HEADER = re.compile(r"\[([A-Za-z][A-Za-z0-9_]{0,39})[ \t]+")
_OPTION = re.compile(r'("(?:[^"\\]|\\.)*+")[ \t]+(.*)')
_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_WHOLE = {name: re.compile(f"0|[1-9][0-9]{{0,{most}}}") for name, most in _DIGITS.items()}
_NUMBER = re.compile(r"([0-9]+)\.[ \t\n]*")
_WORD = '[^ \t\n;{}()\\[\\]"\\x00-\\x1f\ud800-\udfff]+'
# A word and white space have no character in common, so that these take linear time. (Possessive
# ones would too, but Python 3.11.2 lets them end with a space.)
_BARE = re.compile(f"{_WORD}(?:[ \\t\\n]+{_WORD})*")
_IS_BARE = re.compile(f"(?![0-9]+\\.){_WORD}(?: {_WORD})*")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_COMMENT = re.compile(r"\{((?:[^{}\\]|\\.)*+)\}", re.DOTALL)


def looks_like_text(content: str) -> bool:
    """Whether a file's content begins as a record in this format does, rather than as JSON."""
    return re.match(r"[ \t\r\n]*\[[A-Za-z]", content) is not None


def parse_record(text: str) -> dict[str, Any]:
    """Read a game record in the text format, which may come from a stranger.

    Returns:
        The record as a dict, as JSON records have it: ``game``, ``version``, ``options``, ``seed``,
        ``moves`` (list of texts) and ``result`` (``None`` where the game goes on); and, if the text
        has them, ``players`` (two names), ``seat`` (0 or 1), ``headers`` (a text for each name) and
        ``notes``: for each main move that has a comment or variations, in order, a dict of its
        number ``move`` (from 1), ``comment``, and ``variations``, lists of moves in its place, each
        a dict of ``text``, ``comment`` and ``variations``. `check_record` validates all that is of
        the game, variations too.

    Raises:
        ValueError: it is no such text, or beyond a limit; the message has line, column and move.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters; the most are {MOST_CHARACTERS:,}")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    source = _Source(text)
    control = _CONTROL.search(text)
    if control:
        source.refuse(control.start(), f"the character {quoted(control[0])} is not accepted")
    record, index = _read_headers(source)
    moves = _read_moves(source, index)
    record["moves"] = [move["text"] for move in moves]
    notes = [
        {"move": number, **{key: value for key, value in move.items() if key != "text"}}
        for number, move in enumerate(moves, 1)
        if len(move) > 1
    ]
    return record | ({"notes": notes} if notes else {})


def format_record(record: Mapping[str, Any]) -> str:
    """Write a game record as text; `parse_record` reads it back.

    Args:
        record: as `parse_record` returns it. What else it has, such as the seconds of a match, is
            left out.

    Raises:
        ValueError: something in it cannot be written; the message names it.
    """
    lines = [f"[{name} {value}]" for name, value in _headers_of(record)]
    try:
        moves = _joined(_pieces(_tree(record), 1, 0))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"moves and notes of a game record are lists of texts and of mappings, see "
            f"docs/guide/records.md ({type(error).__name__}: {shortened(str(error), 100)})"
        ) from None
    text = "\n".join([*lines, "", *([moves] if moves else [])]) + "\n"
    parse_record(text)  # so that limits and types are told here, and not when it is read
    return text


@dataclass(frozen=True)
class _Source:
    """A text with places to point at."""

    text: str

    def refuse(self, index: int, message: str, move: int = 0) -> NoReturn:
        before = self.text[:index]
        line, column = before.count("\n") + 1, index - before.rfind("\n")
        where = f"line {line}, column {column}" + (f" (move {move})" if move else "")
        raise ValueError(f"{where}: {message}")

    def skip(self, index: int) -> int:
        """The next place from ``index`` on that is not white."""
        match = _WHITE.match(self.text, index)
        assert match is not None
        return match.end()

    def json(self, index: int, value: str, what: str, move: int = 0) -> Any:
        try:
            return load_json(value, what)
        except ValueError as error:
            self.refuse(index, str(error), move)


# Headers.


def _read_headers(source: _Source) -> tuple[dict[str, Any], int]:
    """The record without its moves, and where these begin."""
    own: dict[str, Any] = {}
    options: dict[str, Any] = {}
    free: dict[str, str] = {}
    index, count = source.skip(0), 0
    while source.text.startswith("[", index):
        name, value, place, end = _read_header(source, index)
        count += 1
        if count > MOST_HEADERS:
            source.refuse(index, f"there are more than {MOST_HEADERS} headers")
        if (name == "Format") != (count == 1):
            source.refuse(index, f'the first header, and no other, is [Format "{_FORMAT}"]')
        if name in own or name in free:
            source.refuse(index, f"there is a second header {name}")
        if name == "Option":
            key, setting = _option(source, place, value)
            if key in options:
                source.refuse(place, f"there is a second option {quoted(key)}")
            options[key] = setting
        elif name in _OWN_HEADERS:
            own[name] = _own_value(source, place, name, value)
        else:
            free[name] = _free_value(source, place, name, value)
        index = source.skip(end)
    for name in _REQUIRED:
        if name not in own:
            source.refuse(index, f"the headers lack {name}")
    return _record_of(own, options, free), index


def _read_header(source: _Source, index: int) -> tuple[str, str, int, int]:
    """A header's name and value, where the value begins, and where the line ends."""
    end = source.text.find("\n", index)
    end = len(source.text) if end < 0 else end
    line = source.text[index:end].rstrip(" \t")
    match = _HEADER.match(line)
    if match is None or not line.endswith("]"):
        source.refuse(index, 'a header is a line of its own, such as [Game "corso"]')
    return match[1], line[match.end() : -1].rstrip(" \t"), index + match.end(), end


def _record_of(
    own: dict[str, Any], options: dict[str, Any], free: dict[str, str]
) -> dict[str, Any]:
    record = {
        "game": own["Game"],
        "version": own["Version"],
        "options": options,
        "seed": own.get("Seed", 0),
        "moves": [],
        "result": _RESULTS[own.get("Result", "*")],
    }
    if all(name in free for name in _PLAYERS):
        record["players"] = [free.pop(name) for name in _PLAYERS]
    if _SEAT in free:
        record["seat"] = int(free.pop(_SEAT))
    return record | ({"headers": free} if free else {})


def _own_value(source: _Source, place: int, name: str, value: str) -> Any:
    if name in _WHOLE:
        if not _WHOLE[name].fullmatch(value):
            source.refuse(place, f"{name} is {quoted(value)}, not a whole number")
        return int(value)
    text = _text_value(source, place, name, value)
    if name == "Format" and text != _FORMAT:
        source.refuse(place, f"Format is {quoted(text)}; this reads {quoted(_FORMAT)}")
    if name == "Result" and text not in _RESULTS:
        source.refuse(place, f"Result is {quoted(text)}; accepted: {', '.join(_RESULTS)}")
    return text


def _free_value(source: _Source, place: int, name: str, value: str) -> str:
    text = _text_value(source, place, name, value)
    if name == _SEAT and text not in ("0", "1"):
        source.refuse(place, f'Seat is {quoted(text)}; accepted: "0" and "1"')
    return text


def _text_value(source: _Source, place: int, name: str, value: str) -> str:
    if not _QUOTED.fullmatch(value):
        source.refuse(place, f'{name} is {quoted(value)}; write a text between " and "')
    return source.json(place, value, f"the value of {name}")


def _option(source: _Source, place: int, value: str) -> tuple[str, Any]:
    match = _OPTION.fullmatch(value)
    if match is None:
        source.refuse(place, 'an option is [Option "NAME" VALUE], with a value in JSON')
    name = source.json(place, match[1], "the name of an option")
    setting = source.json(place + match.start(2), match[2], f"option {quoted(name, 30)}")
    if any(_is_inexact(each) for each in _scalars(setting)):
        source.refuse(
            place + match.start(2), f"option {quoted(name)} has a number of more than 2**53 - 1"
        )
    return name, setting


def _scalars(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        else:
            yield each


def _is_inexact(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > _LARGEST_NUMBER


# Moves.


@dataclass
class _Line:
    """A main line or variation while it is read.

    Attributes:
        moves: so far.
        first: number of the first.
        begin: where it begins in the text.
        is_open: whether a comment, a variation or the end may follow: after a move.
    """

    moves: list[dict[str, Any]]
    first: int
    begin: int
    is_open: bool = False

    @property
    def number(self) -> int:
        """Of the move that is read: the last one while it is open, else the one to come."""
        return self.first + len(self.moves) - self.is_open


def _read_moves(source: _Source, index: int) -> list[dict[str, Any]]:
    main = line = _Line([], 1, index)
    outer: list[_Line] = []
    count = 0
    while (index := source.skip(index)) < len(source.text):
        mark, move = source.text[index], line.moves[-1] if line.is_open else None
        if mark == ";" or mark == ")":
            if move is None and (mark == ";" or not line.moves):
                source.refuse(index, f"a move is missing before {mark}", line.number)
            if mark == ")":
                if not outer:
                    source.refuse(index, "there is no variation that ) ends", line.number)
                line = outer.pop()
            line.is_open = mark == ")"
            index += 1
        elif mark == "(" or mark == "{":
            if move is None:
                what = "variation" if mark == "(" else "comment"
                source.refuse(index, f"a {what} follows the move that it is about", line.number)
            if mark == "{":
                index = _read_comment(source, index, move, line.number)
                continue
            if len(outer) == MOST_DEPTH:
                source.refuse(index, f"more than {MOST_DEPTH} variations are within each other")
            outer.append(line)
            line = _Line([], line.number, index)
            move.setdefault("variations", []).append(line.moves)
            index += 1
        else:
            if move is not None:
                source.refuse(index, "after a move comes ; or a comment or variation", line.number)
            count += 1
            if count > MOST_MOVES:
                source.refuse(index, f"there are more than {MOST_MOVES:,} moves", line.number)
            text, index = _read_move(source, index, line.number)
            line.moves.append({"text": text})
            line.is_open = True
    if outer:
        source.refuse(line.begin, "the variation has no end: write )", outer[-1].number)
    return main.moves


def _read_move(source: _Source, index: int, number: int) -> tuple[str, int]:
    """A move's text and where it ends."""
    match = _NUMBER.match(source.text, index)
    if match is not None:
        if match[1] != str(number):
            source.refuse(index, f"this is move {number}, but is numbered {match[1][:10]}", number)
        index = match.end()
    match = _BARE.match(source.text, index)
    if match is not None:
        return _WHITES.sub(" ", match[0]), match.end()
    match = _QUOTED.match(source.text, index)
    if match is None:
        source.refuse(index, "here should be a move", number)
    return source.json(index, match[0], "the move", number), match.end()


def _read_comment(source: _Source, index: int, move: dict[str, Any], number: int) -> int:
    match = _COMMENT.match(source.text, index)
    if match is None:
        source.refuse(index, r"a comment ends with }; within it write \{ and \}", number)
    if "comment" in move:
        source.refuse(index, "the move has a comment already", number)
    parts = match[1].split("\\\\")
    move["comment"] = "\\".join(part.replace("\\{", "{").replace("\\}", "}") for part in parts)
    return match.end()


# Writing.


def _headers_of(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values as they are written."""
    missing = [key for key in ("game", "version", "options", "moves") if key not in record]
    if missing:
        raise ValueError(f"the game record lacks {', '.join(missing)}")
    options, headers = record["options"], {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options are {quoted(options)}; they must be a mapping by name")
    players, seat = record.get("players"), record.get("seat")
    if players is not None:
        if not isinstance(players, list | tuple) or len(players) != 2:
            raise ValueError(f"players of a game record are two names, not {quoted(players)}")
        headers = dict(zip(_PLAYERS, players, strict=True))
    if seat is not None:
        headers[_SEAT] = str(seat)
    headers |= record.get("headers") or {}
    yield "Format", _as_json(_FORMAT)
    yield "Game", _as_json(record["game"])
    yield "Version", _as_json(record["version"])
    for name, value in options.items():
        yield "Option", f"{_as_json(name)} {_as_json(value)}"
    yield "Seed", _as_json(record.get("seed", 0))
    yield "Result", _as_json(_result_text(record.get("result")))
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name) or name in _OWN_HEADERS:
            raise ValueError(
                f"{quoted(name)} is no name of a header: take letters, digits and _, and none of "
                f"{', '.join(_OWN_HEADERS)}"
            )
        yield name, _as_json(value)


def _result_text(result: Any) -> str:
    given = None if result is None else list(result)
    for text, rewards in _RESULTS.items():
        if rewards == given:
            return text
    raise ValueError(f"the result of the game record is {quoted(result)}, not two rewards")


def _as_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{quoted(value)} cannot be written in a game record: {shortened(str(error), 100)}"
        ) from None
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _tree(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The main line as moves with their notes."""
    if not isinstance(record["moves"], list | tuple):
        raise ValueError(
            f"moves of a game record are a list of texts, not {quoted(record['moves'])}"
        )
    moves = [{"text": text} for text in record["moves"]]
    for note in record.get("notes") or []:
        number = note["move"]
        if type(number) is not int or not 1 <= number <= len(moves):
            raise ValueError(
                f"a note of the game record is of move {quoted(number)}; there are {len(moves)}"
            )
        moves[number - 1] |= {key: note[key] for key in ("comment", "variations") if key in note}
    return moves


def _pieces(moves: Iterable[Mapping[str, Any]], first: int, depth: int) -> list[str]:
    """What lines are made of: no line ends within one, but in a comment's own lines."""
    if depth > MOST_DEPTH:
        raise ValueError(f"more than {MOST_DEPTH} variations are within each other")
    pieces: list[str] = []
    for number, move in enumerate(moves, first):
        if pieces:
            pieces[-1] += ";"
        text = move["text"]
        pieces.append(f"{number}. {text if _IS_BARE.fullmatch(text) else _as_json(text)}")
        if "comment" in move:
            pieces.append(_comment_text(move["comment"], number))
        for variation in move.get("variations", ()):
            inner = _pieces(variation, number, depth + 1)
            if not inner:
                raise ValueError(f"a variation of move {number} has no moves")
            pieces += [f"({inner[0]}", *inner[1:]]
            pieces[-1] += ")"
    return pieces


def _comment_text(comment: str, number: int) -> str:
    wrong = _CONTROL.search(comment) or _SURROGATE.search(comment)
    if wrong:
        raise ValueError(f"the comment of move {number} has the character {quoted(wrong[0])}")
    escaped = comment.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")
    return "{" + escaped + "}"


def _joined(pieces: Iterable[str]) -> str:
    """The pieces in lines of `_WIDTH` characters, where they are not longer themselves."""
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + 1 + len(piece.partition("\n")[0]) <= _WIDTH:
            piece = f"{lines.pop()} {piece}"
        lines += piece.split("\n")
    return "\n".join(lines)
