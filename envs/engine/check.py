"""Checks of a new game: some run whenever a game is made, others play it (`check_game`).

`check_description`, `check_rules` and `check_view` neither compile nor play anything, and take a
few milliseconds; every `Game` runs them when it is made. They find errors that compiled code does
not report: it reads and writes out of bounds silently, and for a misspelt field it only prints the
field's name.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .messages import quoted, shortened
from .rule import state_dtype

if TYPE_CHECKING:
    from .game import Game

_POSITION = ("tables", "state")
#: What the functions of a game's modules are called with. Of the arguments, `_RECORDS` have fields.
_RULES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("is_legal", "step"), (*_POSITION, "action")),
    **{"init": (*_POSITION, "rng"), "observe": (*_POSITION, "player", "planes")},
    **{"score": _POSITION, "may_end": _POSITION, "is_turned": (*_POSITION, "player")},
}
_VIEW: dict[str, tuple[str, ...]] = {
    **{"show": ("tables", "view", "before", "state", "action", "shown")},
    **{"word": (*_POSITION, "action"), "task": _POSITION},
    **dict.fromkeys(("role", "points"), (*_POSITION, "player")),
    **{"next_pose": ("tables", "view", "state", "pose", "way")},
    **{"owner": (*_POSITION, "cell"), "pass_turn": _POSITION},
    **{"at_hand": ("tables", "before", "state", "cell")},
}
_CALLS = {"rules": _RULES, "view": _VIEW}
_RECORDS = ("tables", "state", "view", "before")
_NEEDED = ("init", "is_legal", "step", "observe")
_MOST_ACTIONS = 2**15 - 1  # search trees store action numbers in two bytes
_MOST_PLIES = 2**31 - 1
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # numba's messages have colours where colorama is there
_WHOLE_NUMBERS = {
    "num_actions": (1, _MOST_ACTIONS),
    "max_plies": (1, _MOST_PLIES),
    "max_score": (0, _MOST_PLIES),
}
_FLAGS = ("binary_observation", "random_start", "has_owners", "has_points")


# What `setup` has set.


def check_description(game: Game) -> None:
    """Check the attributes of a game, as far as they can be checked without its rules.

    Raises:
        ValueError: one is missing, or does not fit the others; the message says which and how.
    """
    for fault in _faults_of_description(game):
        raise ValueError(f"{game.name}: {fault}")


def _faults_of_description(game: Game) -> Iterator[str]:
    names = ("state_dtype", "tables", "action_names", "observation_shape", "observation_names")
    for name in (*names, *_WHOLE_NUMBERS, *_FLAGS):
        if not hasattr(game, name):
            yield f"setup does not set {name}"
    for name, (least, most) in _WHOLE_NUMBERS.items():
        value = getattr(game, name)
        if type(value) is not int or not least <= value <= most:
            yield f"{name} is {quoted(value)}; it must be an integer from {least} to {most:,}"
    for name in _FLAGS:
        if type(getattr(game, name)) is not bool:
            yield f"{name} is {quoted(getattr(game, name))}; it must be True or False"
    shape = game.observation_shape
    is_shape = isinstance(shape, tuple) and len(shape) in (1, 3)
    if not is_shape or not all(type(size) is int and size > 0 for size in shape):
        yield f"observation_shape is {quoted(shape)}; write (planes, height, width) or (features,)"
    yield from _faults_of_names("action_names", game.action_names, game.num_actions, "actions")
    entries = "planes" if len(shape) == 3 else "features"
    yield from _faults_of_names("observation_names", game.observation_names, shape[0], entries)
    events = game.event_names
    number = len(events) if isinstance(events, Sequence) else 0
    yield from _faults_of_names("event_names", events, number, "events")
    for name in ("words", "tasks"):
        yield from _faults_of_texts(name, getattr(game, name))
    yield from _faults_of_clock(game)
    yield from _faults_of_records(game)
    yield from _faults_of_places(game)
    if game.has_owners and len(shape) != 3:
        yield "has_owners is True, but cells have owners only on a board (planes, height, width)"


def _faults_of_clock(game: Game) -> Iterator[str]:
    clock = game.clock
    if clock is None:
        return
    if game.options.get(clock.option) not in (True, False):
        yield f"its clock has the option {quoted(clock.option)}, which must be True or False"
    if clock.action not in game.action_names:
        yield f"its clock plays {quoted(clock.action)}, which is no action"


def _faults_of_texts(title: str, texts: Any) -> Iterator[str]:
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        yield f"{title} is {quoted(texts)}; it must be a list of texts"
    if not texts:
        yield f"{title} is empty; it must have a text"


def _faults_of_names(title: str, names: Any, count: int, what: str) -> Iterator[str]:
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        yield f"{title} is {quoted(names)}; it must be a list of texts"
    if len(names) != count:
        yield f"{title} are {len(names)}, but there are {count} {what}"
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        yield f"{title} has {quoted(twice)} twice; every name must differ"


def _faults_of_records(game: Game) -> Iterator[str]:
    dtype, common = game.state_dtype, state_dtype()
    if not isinstance(dtype, np.dtype) or dtype.names is None:
        yield f"state_dtype is {quoted(dtype)}; make it with engine.rule.state_dtype(...)"
    fields = dict(dtype.fields or {})
    if any(name not in fields or fields[name][0] != common[name] for name in common.names or ()):
        yield "state_dtype lacks ply, mover or outcome; make it with engine.rule.state_dtype(...)"
    for name in ("tables", "view_tables"):
        tables = getattr(game, name)
        if not isinstance(tables, np.ndarray) or tables.shape != (1,):
            yield f"{name} is {quoted(tables)}; make it with engine.rule.table_record(...)"
    for name in game.log_fields:
        if name not in fields or name in (common.names or ()):
            yield f"log_fields names {quoted(name)}; the game's own fields are " + ", ".join(
                field for field in fields if field not in (common.names or ())
            )


def _faults_of_places(game: Game) -> Iterator[str]:
    places = game.action_places
    if places is None:
        return
    if not isinstance(places, np.ndarray) or places.shape != (game.num_actions,):
        yield f"action_places is {quoted(places)}; it must be an array of num_actions numbers"
    if not np.issubdtype(places.dtype, np.integer) or (places < -1).any():
        yield "action_places must be whole numbers, -1 for an action without a place"
    if len(game.observation_shape) != 3:
        yield "action_places are places on a board, and the observation is none"
    on_board = places[places >= 0]
    if len(np.unique(on_board)) != len(on_board):
        numbers, counts = np.unique(on_board, return_counts=True)
        place = int(numbers[counts > 1][0])
        first, second = np.flatnonzero(places == place)[:2]
        yield (
            f"action_places puts actions {first} and {second} at the same place, {place}; use "
            "another plane for one of them (plane * height * width + cell)"
        )


# What the source of the rules and of the view tells.


def check_rules(game: Game) -> None:
    """Check what can be read in the source of a game's rules.

    Raises:
        ValueError: a rule function is missing or takes other arguments, uses a field that the
            records do not have, or ``init`` leaves a field of the position unwritten.
    """
    for fault in _faults_of_rules(game):
        raise ValueError(f"the rules of {game.name}: {fault}")


def check_view(game: Game) -> None:
    """Check what can be read in the source of a game's view.

    Raises:
        ValueError: a function takes other arguments, uses a field that the records do not have,
            or ``points`` and ``has_points`` do not go together.
    """
    for fault in _faults_of_view(game):
        raise ValueError(f"the view of {game.name}: {fault}")


def _faults_of_rules(game: Game) -> Iterator[str]:
    for name in _NEEDED:
        if not hasattr(game.rules, name):
            yield f"there is no function {name}"
    yield from _faults_of_module(game, game.rules, "rules")
    written = _read(game.rules, "rules").written
    if written is not None:
        unwritten = [name for name in game.state_dtype.names or () if name not in written]
        if unwritten:
            yield (
                f"init never writes state.{', state.'.join(unwritten[:5])}; it must write every "
                "field, for a record is used again for the next game"
            )


def _faults_of_view(game: Game) -> Iterator[str]:
    counts = hasattr(game.view, "points")
    if game.has_points and not counts:
        yield "has_points is True, but there is no function points"
    if counts and not game.has_points:
        yield "there is a function points, but has_points is False; set it in setup"
    if game.view is not None:
        yield from _faults_of_module(game, game.view, "view")


def _faults_of_module(game: Game, module: ModuleType, kind: str) -> Iterator[str]:
    """Functions with other arguments than those that they are called with, and unknown fields."""
    for name, arguments in _CALLS[kind].items():
        function = getattr(module, name, None)
        if function is not None:
            code = getattr(function, "py_func", function).__code__
            if code.co_argcount != len(arguments):
                yield (
                    f"{name} takes {code.co_argcount} arguments; it is called with {len(arguments)}"
                )
    states = game.state_dtype.names or ()
    fields = {
        **{"state": states, "before": states},
        **{"tables": game.tables.dtype.names or (), "view": game.view_tables.dtype.names or ()},
    }
    reading = _read(module, kind)
    for use in reading.uses:
        known = fields[use.record]
        if use.field not in known and not hasattr(np.ndarray, use.field):
            similar = get_close_matches(use.field, known, n=1) or [", ".join(known[:12])]
            yield (
                f"{use.function} (line {use.line} of {reading.file}) uses "
                f"{use.record}.{use.field}, a field that is not there; did you mean {similar[0]}?"
            )


@dataclass(frozen=True)
class _Use:
    """A field that a function uses, and where."""

    record: str  # one of `_RECORDS`
    field: str
    function: str
    line: int


@dataclass(frozen=True)
class _Reading:
    """Result of reading the source of the rules or the view: see `_read`."""

    file: str
    uses: tuple[_Use, ...]
    written: frozenset[str] | None


@cache
def _read(module: ModuleType, kind: str) -> _Reading:
    """Which fields the functions of the "rules" or "view" use, and which ones ``init`` writes.

    Only decorated functions count. Fields are recognised by the names of arguments: by their
    places in the functions that `_CALLS` lists, by the names in `_RECORDS` in helpers. ``written``
    is None where a function of another module gets the position, and so may write what it likes.
    """
    calls = _CALLS[kind]
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        return _Reading("", (), None)
    functions = {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }
    uses = tuple(use for function in functions.values() for use in _uses_in(function, calls))
    return _Reading(Path(str(module.__file__)).name, uses, _written_by("init", functions, calls))


def _records_of(function: ast.FunctionDef, calls: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The names by which a function knows the records, unless it gives them another meaning."""
    arguments = [argument.arg for argument in function.args.args]
    meanings = calls.get(function.name, arguments)
    records = {
        argument: meaning
        for argument, meaning in zip(arguments, meanings, strict=False)
        if meaning in _RECORDS
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            records.pop(node.id, None)
    return records


def _uses_in(function: ast.FunctionDef, calls: dict[str, tuple[str, ...]]) -> Iterator[_Use]:
    records = _records_of(function, calls)
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            record = records.get(_name(node.value))
            if record is not None:
                yield _Use(record, node.attr, function.name, node.lineno)


def _written_by(
    name: str, functions: dict[str, ast.FunctionDef], calls: dict[str, tuple[str, ...]]
) -> frozenset[str] | None:
    """The fields of the position that a function writes, by itself or by those that it calls."""
    written: set[str] = set()
    waiting, known = [name], {name}
    while waiting:
        function = functions.get(waiting.pop())
        if function is None:
            return None
        records = _records_of(function, calls)
        states = {alias for alias, record in records.items() if record == "state"}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                written |= {_field(target, states) for target in _targets(node)}
            elif isinstance(node, ast.Call):
                # An array that is handed on may be written.
                written |= {_field(argument, states) for argument in node.args}
                gives_state = any(_name(argument) in states for argument in node.args)
                called = _name(node.func)
                if gives_state and called not in known:
                    known.add(called)
                    waiting.append(called)
    return frozenset(written)


def _targets(assignment: ast.Assign) -> Iterator[ast.expr]:
    for target in assignment.targets:
        yield from target.elts if isinstance(target, ast.Tuple) else [target]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _field(node: ast.expr, states: set[str]) -> str:
    """The field of the position that an expression is, or of which it is an entry; or nothing."""
    while isinstance(node, ast.Subscript):
        node = node.value
    is_field = isinstance(node, ast.Attribute) and _name(node.value) in states
    return node.attr if is_field else ""  # type: ignore[attr-defined]


# What the compiler says.


def compile_error(game: Game, error: Exception) -> ValueError:
    """Shorten numba's error to two lines: which function, where, and what to do."""
    text = _COLOUR.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = next(
        (line for line in lines if not line.startswith("Failed in")), type(error).__name__
    )
    function = re.search(r"<function (\w+) at", text)
    name = function[1] if function else "a function"
    what, line = "view" if name in _VIEW and hasattr(game.view, name) else "rules", ""
    for kind, module in (("rules", game.rules), ("view", game.view)):
        source = re.escape(Path(str(getattr(module, "__file__", ""))).name)
        place = re.search(rf'File "[^"]*{source}", line (\d+)', text) if source else None
        if place:
            what, line = kind, f", line {place[1]}"
    return ValueError(
        f"the {what} of {game.name} cannot be compiled ({name}{line}): {shortened(reason)}\n"
        "run with NUMBA_DISABLE_JIT=1: rules are plain Python then, and an error shows its line"
    )
