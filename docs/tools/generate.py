"""Writes the pages of the guide that are made from code: `python docs/tools/generate.py`.

Configuration keys come from ``configs/schema.py``: its models have the sections, defaults and
accepted values, and a sentence for each key. Metrics come from
``training/runs/metrics.py``, functions of games from ``envs/engine/hooks.py``. A test fails if a
page differs from the output of this program.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from ludarium.configs.schema import (
    ALGORITHMS,
    NUMBERS,
    AlphaZeroConfig,
    Section,
    TrainingConfig,
    metas,
    number_words,
    search_options,
)
from ludarium.envs.engine.hooks import HOOKS
from ludarium.envs.engine.spec import Spec
from ludarium.training.runs.metrics import GROUPS

GUIDE = Path(__file__).resolve().parents[1] / "guide"
_MADE = "<!-- Made by docs/tools/generate.py from {source}; change it there. -->\n"


def explanations(kind: type[Section]) -> dict[str, str]:
    """The sentence under each key of a section and its base classes, or of a search's options."""
    found = {each.name: f"{each.help[0].upper()}{each.help[1:]}." for each in search_options()}
    for each in reversed(kind.__mro__):
        if issubclass(each, Section):
            (section,) = ast.parse(inspect.getsource(each)).body
            assert isinstance(section, ast.ClassDef)
            for key, below in pairwise(section.body):
                match key, below:
                    case (
                        ast.AnnAssign(target=ast.Name(name)),
                        ast.Expr(ast.Constant(str(text))),
                    ):
                        found[name] = _linked(" ".join(text.split()))
    return found


def _linked(text: str) -> str:
    """A docstring's text for the page, with links to other pages."""
    return re.sub(r"``docs/guide/([\w-]+)\.md``", r"[\1](\1.md)", text).replace("``", "`")


def _accepted(kind: Any) -> str:
    """The values that a key accepts, in words; ``kind`` is its type."""
    options = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) in (Union, UnionType):
        return ", or ".join(_accepted(each) for each in options)
    bounds = metas(kind)
    kind = get_args(kind)[0] if bounds else kind
    if get_origin(kind) is Literal:
        values = list(ALGORITHMS) if get_args(kind) == ("alphazero",) else get_args(kind)
        return ", ".join(f"`{each}`" for each in values)
    if kind in NUMBERS:
        return number_words(kind, bounds)
    if get_origin(kind) is list and _is_section(get_args(kind)[0]):
        return "a list of sections, whose keys are below"
    if get_origin(kind) is list:
        return f"a list of these: {_accepted(get_args(kind)[0])}"
    if get_origin(kind) is tuple:
        return f"[{', '.join(map(_accepted, get_args(kind)))}]"
    return _OTHERS[get_origin(kind) or kind]


_OTHERS = {bool: "`true`, `false`", str: "a text", dict: "keys and values"}


def _default(field: FieldInfo) -> str:
    if field.default is not NODEFAULT:
        value = field.default
    elif field.default_factory is not NODEFAULT:
        value = field.default_factory()
    else:
        return "required"
    return (
        "none" if value is None else f"`{str(value).lower() if value in (True, False) else value}`"
    )


def _row(field: FieldInfo, meaning: str) -> str:
    return f"| `{field.name}` | {_default(field)} | {_accepted(field.type)} | {meaning} |"


def _section(name: str, kind: type[Section]) -> str:
    text = explanations(kind)
    rows = [_row(field, text[field.name]) for field in fields(kind)]
    head = _linked(inspect.getdoc(kind) or "")
    return f"### `{name}`\n\n{head}\n\n{_table(_KEYS, rows)}"


_KEYS = ("key", "default", "accepted", "meaning")


def _table(columns: Sequence[str], rows: Sequence[str]) -> str:
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    return head + "\n".join(rows) + "\n"


def configuration_page() -> str:
    """The page of all configuration keys."""
    parts = [
        "# Configuration keys\n\n" + _MADE.format(source="configs/schema.py"),
        "A configuration is a YAML file, see [training](training.md#configurations); "
        "`--set section.key=value` changes one key. An unknown key or a value out of range is an "
        "error that names the key.\n",
    ]
    shared = {field.name for field in fields(TrainingConfig)}
    common = [field for field in fields(AlphaZeroConfig) if field.name in shared]
    parts.append("## Keys of all algorithms\n\n" + _plain_rows(common, TrainingConfig))
    parts += [_section(field.name, field.type) for field in common if _is_section(field.type)]
    titles = {"alphazero": "AlphaZero", "ppo": "PPO"}
    for algorithm, kind in ALGORITHMS.items():
        own = [field for field in fields(kind) if field.name not in shared]
        parts.append(f"## {titles[algorithm]}\n\n" + _plain_rows(own, kind))
        for field in own:
            kinds = [field.type, *_within(field.type)]
            parts += [_section(field.name, each) for each in kinds if _is_section(each)]
    return "\n".join(parts)


def _plain_rows(found: Sequence[FieldInfo], kind: type[Section]) -> str:
    """The table of the keys that are not sections."""
    text = explanations(kind)
    rows = [_row(field, text[field.name]) for field in found if not _is_section(field.type)]
    return _table(_KEYS, rows) if rows else ""


def _within(kind: Any) -> list[Any]:
    """All types within a type."""
    return [found for each in get_args(kind) for found in [each, *_within(each)]]


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def metrics_page() -> str:
    """The page of all metrics."""
    parts = [
        "# Metrics\n\n" + _MADE.format(source="training/runs/metrics.py"),
        "Each iteration adds a line of JSON to `metrics.jsonl` in the [run's folder]"
        "(training.md#a-runs-folder) and a point to each curve of TensorBoard (numbers only).\n",
    ]
    for heading, metrics in GROUPS.items():
        rows = [f"| `{name}` | {meaning} |" for name, meaning in metrics.items()]
        parts.append(f"## {heading}\n\n" + _table(("metric", "meaning"), rows))
    return "\n".join(parts)


def hooks_page() -> str:
    """The page of all functions that a game may have, and of its spec."""
    parts = [
        "# Functions of a game\n\n" + _MADE.format(source="envs/engine/hooks.py and spec.py"),
        "[A new game](new-game.md) has the first four. They are decorated with `rule` of "
        "`ludarium.envs.engine.rule`, and compiled.\n",
    ]
    rules = [
        f"| `{hook.name}({', '.join(hook.arguments)})` | {hook.does} |"
        for hook in HOOKS
        if not hook.given
    ]
    parts.append("## `rules.py`: the game\n\n" + _table(("function", "does"), rules))
    parts.append(
        "## Functions that objects carry\n\nThey may have any name, and stand in any module, such "
        "as `view.py`.\n"
    )
    carried = [
        f"| `{hook.name}({', '.join(hook.arguments)})` | `{hook.given}` | {hook.does} |"
        for hook in HOOKS
        if hook.given
    ]
    parts.append(_table(("function", "given as", "does"), carried))
    entries = re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", _attributes(Spec), re.S | re.M)
    rows = [f"| `{name}` | {' '.join(text.split()).replace('``', '`')} |" for name, text in entries]
    parts.append("## The spec\n\n" + _table(("of a `Spec`", "what"), rows))
    return "\n".join(parts)


def _attributes(kind: type) -> str:
    """The part of a docstring that explains the attributes."""
    return (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]


PAGES = {
    "configuration.md": configuration_page,
    "metrics.md": metrics_page,
    "hooks.md": hooks_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (GUIDE / name).write_text(page(), encoding="utf-8")
