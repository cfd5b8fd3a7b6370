"""Settings in the names of agents: ``?simulations=64&temperature=0.1``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import field, fields, is_dataclass
from functools import partial
from typing import Any

from ludarium.base.messages import quoted
from ludarium.configs.schema import SearchOption
from ludarium.training.search.settings import OPTIONS

DEFAULT_SIMULATIONS = 64  #: simulations of an agent with a network
#: Default ``lcb`` of searches with seconds, in standard errors.
LCB = 3.0
#: Help of the settings ``temperature`` and ``time``, which several kinds have.
TEMPERATURE_HELP = "above 0 draws the move from the policy to the power 1/temperature"
TIME_HELP = "thinking time for each move, such as 500ms or 1s, instead of a number"

_MOST_DIGITS = 12
_MOST_CHARACTERS = 30

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|min|h)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_LEAST_SECONDS, _MOST_SECONDS = 0.001, 3600.0


def split_settings(name: str) -> tuple[str, dict[str, str]]:
    """Split a name into the part before ``?`` and its settings; ``:KEY=VALUE`` is a setting too.

    Raises:
        ValueError: a setting is not ``KEY=VALUE``, or is given twice.
    """
    name, _, query = name.partition("?")
    head, colon, last = name.rpartition(":")
    if colon and re.match(r"\w+=", last):
        name, query = head, "&".join(filter(None, [last, query]))
    return name, _read_query(query)


def split_last_settings(name: str, known: Container[str]) -> tuple[str, dict[str, str]]:
    """Split a name whose argument may itself contain ``?`` and ``KEY=``, such as a command.

    Args:
        name: the name.
        known: keys of settings; the text after the last ``?`` belongs to the argument unless all
            its keys are among these.

    Raises:
        ValueError: a setting is not ``KEY=VALUE``, or is given twice.
    """
    argument, _, query = name.rpartition("?")
    if argument and all(text.partition("=")[0] in known for text in query.split("&")):
        return argument, _read_query(query)
    return name, {}


def settings_text(settings: Mapping[str, object]) -> str:
    """The end of a name that gives these settings: ``?KEY=VALUE&...``, or nothing for none.

    A setting that is ``None`` is left out.
    """
    texts = {key: text_of(value) for key, value in settings.items() if value is not None}
    given = "&".join(f"{key}={text}" for key, text in texts.items())
    return "?" + given if given else ""


def text_of(value: object) -> str:
    """A setting's value as the text that is read as this value."""
    if isinstance(value, bool):
        return str(value).lower()
    return _number_text(value) if isinstance(value, float) else str(value)


def _number_text(value: float) -> str:
    """A text that is read as this number, without ``.0`` if the number is below a million."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def with_settings(name: str, settings: Mapping[str, object]) -> str:
    """An agent's name with further settings."""
    told = settings_text(settings)
    return name + (told.replace("?", "&", 1) if "?" in name else told)


def _read_query(query: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for text in query.split("&") if query else []:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"the setting {quoted(text)} is not KEY=VALUE, such as simulations=64")
        if key in settings:
            raise ValueError(f"{quoted(key)} is set twice")
        settings[key] = value
    return settings


def setting(
    read: Callable[[str], Any],
    help: str,
    default: Any = None,
    write: Callable[[Any], str] = text_of,
) -> Any:
    """A field of an `AgentSpec` that an agent's name can set.

    Args:
        read: function that turns the text into the value; a wrong text is a ``ValueError``.
        help: a description of the setting in a line.
        default: the value if the name does not set it.
        write: function that turns the value into its text.
    """
    return field(default=default, metadata={"read": read, "help": help, "write": write})


def options_setting() -> Any:
    """A field of a dataclass for those options of a search that a name gives, as (name, value)."""
    return field(default=(), metadata={"options": True})


def settings_of(kind: type) -> dict[str, Mapping[str, Any]]:
    """The settings of a dataclass by name: ``read`` and ``help`` of each, see `setting`.

    Those of `options_setting` have the name of their field too, as ``field``.
    """
    known: dict[str, Mapping[str, Any]] = {}
    for each in fields(kind) if is_dataclass(kind) else ():
        if "read" in each.metadata:
            known[each.name] = each.metadata
        for option in OPTIONS if "options" in each.metadata else ():
            if option.in_names:
                read = partial(_read_option, option)
                known[option.name] = {"read": read, "help": option.help, "field": each.name}
    return known


def _read_option(option: SearchOption, text: str) -> Any:
    """Read the value of an option of a search."""
    readers: dict[Any, Callable[[str], Any]]
    readers = {bool: read_flag, int: read_number, float: read_real}
    value = readers.get(option.value_type, str)(text)
    option.check(value)
    return value


def read_number(text: str) -> int:
    """Read a whole number from 0 on."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise ValueError(
            f"{quoted(text, 40)} is not a whole number of at most {_MOST_DIGITS} digits"
        )
    return int(text)


def read_real(text: str) -> float:
    """Read a finite number from 0 on."""
    try:
        value = float(text) if len(text) <= _MOST_CHARACTERS else math.nan
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{quoted(text)} is not a number from 0 on")
    return value


def read_flag(text: str) -> bool:
    """Read ``true`` or ``false``."""
    if text not in ("true", "false"):
        raise ValueError(f"{quoted(text)} is neither true nor false")
    return text == "true"


def read_duration(text: str) -> float:
    """Read a time such as ``500ms``, ``1s``, ``2.5min``: 1 ms to 1 h, returned in seconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{quoted(text)} is not a time such as 500ms, 1s or 2.5min")
    # Rounded, so that 1.03min is 61.8s: 1.03 * 60 is 61.800000000000004.
    seconds = round(float(match[1]) * _UNITS[match[2]], 9)
    check_duration(seconds)
    return seconds


def check_duration(seconds: float) -> None:
    """Raise ``ValueError`` unless a thinking time is 1 ms to 1 h."""
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise ValueError(f"the time for a move is 1 ms to 1 h, not {seconds:g} s")


def duration_text(seconds: float) -> str:
    """A thinking time in the form that `read_duration` reads."""
    text = _number_text(round(seconds, 9))
    milliseconds = _number_text(round(1000 * seconds, 9))
    return f"{text}s" if seconds >= 1 else f"{milliseconds}ms"
