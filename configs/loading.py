"""Reading configurations, with errors that name the key."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from .schema import ALGORITHMS, TrainingConfig


def shipped() -> list[str]:
    """Names of the configurations that come with the package, such as ``corso/demo``."""
    root = files(__package__)
    return sorted(
        f"{room.name}/{file.name.removesuffix('.yaml')}"
        for room in root.iterdir()
        if room.is_dir()
        for file in room.iterdir()
        if file.name.endswith(".yaml")
    )


def load_config(source: str | Path) -> TrainingConfig:
    """Read a YAML file, or a shipped configuration by name.

    Raises:
        FileNotFoundError: neither a file nor a shipped name; the message lists the names.
        ValueError: the file is no YAML mapping, or a key or value is not accepted; the
            message names file, key, value and what is accepted.
    """
    path = Path(source)
    if path.is_file():
        text = path.read_text(encoding="utf-8")
    elif str(source) in shipped():
        text = files(__package__).joinpath(f"{source}.yaml").read_text(encoding="utf-8")
    else:
        raise FileNotFoundError(
            f"there is no configuration {source}; shipped ones: {', '.join(shipped())}"
        )
    return parse_config(text, str(source))


def parse_config(text: str, source: str) -> TrainingConfig:
    """Check the text of a configuration; ``source`` is what errors call it."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{source} is not YAML: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{source} holds no mapping of keys to values")
    return _validate(data, source)


def apply_settings(config: TrainingConfig, settings: Iterable[str]) -> TrainingConfig:
    """Override keys by ``key=value`` texts, such as ``learner.batch=256`` or ``seed=3``.

    Values are read as YAML.

    Raises:
        ValueError: no ``=``, no such key, or a value that is not accepted.
    """
    data = config.model_dump(mode="json")
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"{setting!r} is no setting: write key=value, such as seed=3")
        *parents, last = key.split(".")
        section: Any = data
        for parent in parents:
            if not isinstance(section.get(parent), dict):
                raise ValueError(f"{key!r} is no key of a configuration: {parent!r} is no section")
            section = section[parent]
        try:
            section[last] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ValueError(f"the value of {setting!r} is not YAML: {error}") from None
    return _validate(data, "the configuration")


def _validate(data: dict[str, Any], source: str) -> TrainingConfig:
    """The configuration that ``data`` says, of the algorithm that it names."""
    algorithm = data.get("algorithm", "alphazero")
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"{source} is not a valid configuration:\n  algorithm: there is none called "
            f"{algorithm!r}; accepted: {', '.join(ALGORITHMS)}"
        )
    try:
        return ALGORITHMS[algorithm].model_validate(data)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            key = ".".join(str(part) for part in problem["loc"]) or "as a whole"
            if problem["type"] == "extra_forbidden":
                lines.append(f"{key}: there is no such key")
            elif problem["type"] == "missing":
                lines.append(f"{key}: missing")
            else:
                lines.append(f"{key}: {problem['msg']} (given {problem['input']!r})")
        raise ValueError(
            f"{source} is not a valid configuration:\n  " + "\n  ".join(lines)
        ) from None
