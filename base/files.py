"""Reads files that may come from a stranger, with limits on size, depth and type.

No name and no statement of a file about itself is trusted, and bytes never become anything but
data.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from functools import cache
from typing import Any, BinaryIO

import msgspec
from msgspec import inspect

from .messages import named, quoted, shortened

MEGABYTE = 2**20

_MOST_DIGITS = 40  # digits of an integer: 128 bits, as in seeds and generator states
_MOST_DEPTH = 32
#: Matches strings with the colon after a key, brackets, and numbers with too many digits.
_TOKENS = re.compile(
    rf'("(?:[^"\\]+|\\.)*+"?)(\s*:)?|[\[\]{{}}]|\d{{{_MOST_DIGITS + 1},}}', re.DOTALL
)
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
#: Describes a type; kept, so that the type's annotations are evaluated only once.
_described = cache(inspect.type_info)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular_file(path: str | os.PathLike[str], limit: int, what: str) -> BinaryIO:
    """Open a file to read it; its type and size are checked on the open file.

    Args:
        path: path of the file.
        limit: most bytes that it may have.
        what: name of the expected content, for errors: ``a game record``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a regular file, too large, or cannot be opened.
    """
    name = named(path)
    try:
        # Without O_NONBLOCK, opening a FIFO waits until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"there is no file {name} to read {what} from") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot read {what} from {name}: {reason}") from None
    try:
        _check_status(os.fstat(descriptor), name, limit, what)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _check_status(status: os.stat_result, name: str, limit: int, what: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise ValueError(f"{name} is {kind}; {what} is read from a regular file")
    if status.st_size > limit:
        raise ValueError(_too_large(name, what, f"{status.st_size:,} bytes", limit))


def read_regular_file(path: str | os.PathLike[str], limit: int, what: str) -> bytes:
    """The contents of a file; arguments and errors as for `open_regular_file`."""
    name = named(path)
    with open_regular_file(path, limit, what) as file:
        try:
            # Its size may have been wrong, or have grown.
            content: bytes | None = file.read(limit + 1)
        except OSError as error:
            raise ValueError(f"cannot read {what} from {name}: {error.strerror}") from None
    if content is None:  # a file such as /proc/kmsg, which is not waited for
        raise ValueError(f"{name} has nothing to read yet; {what} is read from a whole file")
    if len(content) > limit:
        raise ValueError(_too_large(name, what, f"more than {limit:,} bytes", limit))
    return content


def read_text_file(path: str | os.PathLike[str], limit: int, what: str) -> str:
    """The text of a file in UTF-8; arguments and errors as for `open_regular_file`.

    Raises:
        ValueError: it is not UTF-8; or see there.
    """
    content = read_regular_file(path, limit, what)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{named(path)} is not UTF-8 text: {error}") from None


def _too_large(name: str, what: str, size: str, limit: int) -> str:
    return f"{name} has {size}; {what} has at most {limit:,}"


#: Types in the words of msgspec's errors, and in ours.
_TYPES = {
    **{"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"},
    **{"array": "a list", "object": "an object"},
}


class MisfitError(ValueError):
    """Data that does not fit the type asked for.

    Attributes:
        key: the outermost object's key whose value misfits, or that is missing or unknown; empty
            for none.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


def sha256_of(content: bytes) -> str:
    """The SHA-256 of some bytes, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file of any size, hexadecimal.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_json(text: str | bytes, what: str, kind: Any = Any) -> Any:
    """Parse a JSON text, and check what it holds.

    Args:
        text: a text whose size was checked; bytes are UTF-8.
        what: name of the text, for errors: ``the game record game.json``.
        kind: type of the answer, as msgspec understands it: a dataclass or a `msgspec.Struct` with
            bounds in its annotations, or plain lists and dictionaries.

    Raises:
        ValueError: it is not JSON, is nested too deeply, has a key twice, or a number that is not
            finite or has more than 40 digits in a row.
        MisfitError: it is not of this kind; the message names the place and the value.
    """
    described = _described(kind)
    try:
        content = text if isinstance(text, str) else text.decode("utf-8-sig")
        _check_tokens(content)
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.ValidationError as error:
            misfit = _misfit(what, error, msgspec.json.decode(content), described)
    except (ValueError, msgspec.MsgspecError) as error:  # msgspec 0.21 and later raise ValueError
        reason, _, _ = str(error).removeprefix("JSON is malformed: ").partition(" - at ")
        raise ValueError(f"{what} is not valid JSON: {shortened(reason, 120)}") from None
    raise misfit


def read_json_file(path: str | os.PathLike[str], limit: int, what: str, kind: Any = Any) -> Any:
    """Parse a JSON file; `open_regular_file` and `load_json` document arguments and errors."""
    content = read_regular_file(path, limit, what)
    return load_json(content, f"{what} in {named(path)}", kind)


def convert(value: Any, what: str, kind: Any) -> Any:
    """Check values that were parsed already, such as those of YAML; see `load_json`.

    Raises:
        MisfitError: they are not of this kind; the message names the place and the value.
    """
    described = _described(kind)
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError as error:  # half a surrogate pair in a key
        key = quoted(error.object)
        raise MisfitError(f"{what} has the key {key}, which is no text", "") from None
    except msgspec.ValidationError as error:
        raise _misfit(what, error, value, described) from None


def _misfit(
    what: str, error: msgspec.ValidationError, value: Any, kind: inspect.Type
) -> MisfitError:
    reason, _, path = str(error).partition(" - at `$")
    path = path.removesuffix("`")
    steps = re.findall(r"\.(\w+)|\[(\d+)\]", path)
    missing = re.search("`(.*)`", reason) if reason.startswith("Object ") else None
    key = steps[0][0] if steps else missing[1] if missing else ""
    place = shortened(path.lstrip("."), 60)
    reason = reason.removeprefix("Object ")
    reason = shortened(reason[:1].lower() + reason[1:])
    try:
        for name, index in steps:
            value = value[name or int(index)]
    except (LookupError, TypeError):  # the place is within a mapping, whose keys the path lacks
        value = {}
    accepted = ", ".join(map(str, _accepted(kind, steps)))
    if reason.startswith("expected `"):
        types, _, bounds = reason.removeprefix("expected `").partition("`")
        words = dict.fromkeys(_TYPES.get(each, each) for each in types.split(" | "))
        accepted = " or ".join(words) + bounds.partition(", got `")[0]
    if accepted:
        reason = f"accepted: {accepted}"
    if isinstance(value, dict):  # the reason names its key
        return MisfitError(": ".join(part for part in (what, place, reason) if part), key)
    mark = ";" if accepted else ":"
    return MisfitError(f"{what}: {place or 'it'} is {quoted(value)}{mark} {reason}", key)


def _accepted(kind: inspect.Type, steps: list[tuple[str, str]]) -> list[Any]:
    """The values that a type lists for a place, if it does.

    Each step is a field's name or a list's index.
    """
    if isinstance(kind, inspect.UnionType):
        return [value for each in kind.types for value in _accepted(each, steps)]
    if not steps:
        return list(getattr(kind, "values", ()))
    name, index = steps[0]
    if isinstance(kind, inspect.TupleType):
        inner = kind.item_types[int(index)] if index else None
    else:
        fields = {field.encode_name: field.type for field in getattr(kind, "fields", ())}
        inner = fields.get(name, getattr(kind, "item_type", None))
    return [] if inner is None else _accepted(inner, steps[1:])


def _check_tokens(text: str) -> None:
    """Refuse nesting and digits that would take much stack or time, and duplicate keys."""
    keys: list[set[str]] = []  # the keys of each object and list that is open
    for match in _TOKENS.finditer(text):
        first = text[match.start()]
        if first in "[{":
            keys.append(set())
            if len(keys) > _MOST_DEPTH:
                raise ValueError(f"lists and objects are nested more than {_MOST_DEPTH} deep")
        elif first in "]}":
            keys = keys[:-1]
        elif first == '"':
            if match[2] and keys:
                key = msgspec.json.decode(match[1]) if "\\" in match[1] else match[1][1:-1]
                if key in keys[-1]:
                    raise ValueError(f"key {shortened(match[1], 60)} occurs twice")
                keys[-1].add(key)
        else:
            digits = match.end() - match.start()
            raise ValueError(f"a number has {digits} digits; at most {_MOST_DIGITS} are allowed")
