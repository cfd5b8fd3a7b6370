"""The pages of the guide that are made from the code: `python docs/tools/generate.py`.

Configuration keys come from ``configs/schema.py``: sections, defaults and what is accepted from the
models, meanings from their docstrings, where ``key``: text explains a key. Metrics come from
``training/runs/metrics.py``. A test fails where a page is not what this program would write.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ludarium.configs.schema import ALGORITHMS, AlphaZeroConfig, Section, TrainingConfig
from ludarium.training.runs.metrics import GROUPS

GUIDE = Path(__file__).resolve().parents[1] / "guide"
_MADE = "<!-- Made by docs/tools/generate.py from {source}; change it there. -->\n"
#: Names that a docstring explains, and the explanation, up to the next ones or the end of it.
_ENTRY = re.compile(
    r"((?:``\w+``,\s)*``\w+``):\s(.*?)(?=\s(?:``\w+``,\s)*``\w+``:\s|\n\n|\Z)", re.DOTALL
)


def explanations(kind: type[BaseModel]) -> dict[str, str]:
    """What the docstrings of a section and of those that it extends say of each of its keys."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, Section):
            for names, text in _ENTRY.findall(inspect.getdoc(each) or ""):
                plain = " ".join(text.split()).rstrip(".").replace("``", "`")
                plain = re.sub(r"`docs/guide/([\w-]+)\.md`", r"[\1](\1.md)", plain)
                found |= dict.fromkeys(re.findall(r"\w+", names), plain)
    return found


def _accepted(field: FieldInfo) -> str:
    """What a key accepts, in words."""
    kind: Any = field.annotation
    metadata = list(field.metadata)
    while True:
        options = [each for each in get_args(kind) if each is not type(None)]
        if get_origin(kind) is not None and type(None) in get_args(kind) and len(options) == 1:
            (kind,) = options
        elif hasattr(kind, "__metadata__"):
            metadata += kind.__metadata__
            kind = kind.__origin__
        else:
            break
    if str(get_origin(kind)).endswith("Literal") and get_args(kind) == ("alphazero",):
        return ", ".join(f"`{each}`" for each in ALGORITHMS)
    if str(get_origin(kind)).endswith("Literal"):
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if kind is bool:
        return "`true`, `false`"
    if kind is str:
        return "a text"
    if get_origin(kind) is dict:
        return "keys and values"
    if get_origin(kind) is list:
        return "a list of sections, whose keys are below"
    try:
        TypeAdapter(field.rebuild_annotation()).validate_python(object())
    except ValidationError as error:
        for each in error.errors():
            if "accepted" in each.get("ctx", {}):
                even = any(getattr(item, "multiple_of", None) == 2 for item in metadata)
                return each["ctx"]["accepted"] + (", even" if even else "")
    raise TypeError(f"what does {kind} accept?")


def _default(value: Any) -> str:
    return (
        "none" if value is None else f"`{str(value).lower() if value in (True, False) else value}`"
    )


def _row(name: str, field: FieldInfo, meaning: str) -> str:
    default = "required" if field.is_required() else _default(field.get_default())
    return f"| `{name}` | {default} | {_accepted(field)} | {meaning} |"


def _section(name: str, kind: type[BaseModel]) -> str:
    doc = (inspect.getdoc(kind) or "").splitlines()
    text = explanations(kind)
    rows = [_row(key, field, text[key]) for key, field in kind.model_fields.items()]
    head = re.sub(r"``docs/guide/([\w-]+)\.md``", r"[\1](\1.md)", doc[0]).replace("``", "`")
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
    common = {key: AlphaZeroConfig.model_fields[key] for key in TrainingConfig.model_fields}
    text = explanations(TrainingConfig)
    rows = [
        _row(key, field, text[key])
        for key, field in common.items()
        if not _is_section(field.annotation)
    ]
    parts.append("## Of all algorithms\n\n" + _table(_KEYS, rows))
    parts += [
        _section(key, field.annotation)  # type: ignore[arg-type]
        for key, field in common.items()
        if _is_section(field.annotation)
    ]
    titles = {"alphazero": "AlphaZero", "ppo": "PPO"}
    for algorithm, kind in ALGORITHMS.items():
        own = {key: field for key, field in kind.model_fields.items() if key not in common}
        text = explanations(kind)
        rows = [
            _row(k, field, text[k]) for k, field in own.items() if not _is_section(field.annotation)
        ]
        parts.append(f"## {titles[algorithm]}\n" + ("\n" + _table(_KEYS, rows) if rows else ""))
        for key, field in own.items():
            kinds = [field.annotation, *get_args(field.annotation)]
            parts += [_section(key, kind) for kind in kinds if _is_section(kind)]
    return "\n".join(parts)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def metrics_page() -> str:
    """The page of all metrics."""
    parts = [
        "# Metrics\n\n" + _MADE.format(source="training/runs/metrics.py"),
        "Each iteration adds a line of JSON to `metrics.jsonl` in the [run's folder]"
        "(training.md#a-runs-folder) and a point to each curve of TensorBoard (numbers only). The "
        "last key of a line, `crc32`, is the checksum of what comes before it.\n",
    ]
    for heading, metrics in GROUPS.items():
        rows = [f"| `{name}` | {meaning} |" for name, meaning in metrics.items()]
        parts.append(f"## {heading}\n\n" + _table(("metric", "meaning"), rows))
    return "\n".join(parts)


PAGES = {"configuration.md": configuration_page, "metrics.md": metrics_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (GUIDE / name).write_text(page(), encoding="utf-8")
