"""Reads and writes configurations, with errors that name the key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ludarium.base.files import MisfitError, convert, read_text_file
from ludarium.base.messages import did_you_mean, quoted, shortened
from ludarium.envs.engine.options import check_options
from ludarium.envs.registry import GAMES

from .schema import ALGORITHMS, RENAMED, SCHEDULES, TrainingConfig

_LARGEST_FILE = 2**16
_MOST_VALUES = 3000
_MOST_DEPTH = 16


class _PlainLoader(yaml.SafeLoader):
    """YAML loader for mappings, lists and plain values only.

    It refuses anchors and aliases, because aliases can multiply the size of a file, and tags,
    because tags choose which objects are made. It limits the number of keys and values, because
    each costs time, and their depth, which costs stack. Dates stay texts; numbers are those of
    YAML 1.2, where ``1e-3`` is one, ``010`` is ten and ``1:30`` a text; two escaped surrogates
    become one character, as in JSON. A duplicate key is refused.
    """

    yaml_implicit_resolvers = {
        first: [
            each for each in resolvers if not each[0].endswith((":timestamp", ":int", ":float"))
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = 0
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A value and the values within it."""
        event = self.peek_event()
        self._values += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _refused(event, "anchors and aliases are not accepted")
        if event.tag is not None:
            raise _refused(event, "tags are not accepted")
        if self._values > _MOST_VALUES:
            raise _refused(event, f"there are more than {_MOST_VALUES:,} keys and values")
        if self._depth > _MOST_DEPTH:
            raise _refused(event, f"values are nested more than {_MOST_DEPTH} deep")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_scalar(self, node: Any) -> str:
        """The text of a plain value."""
        text = super().construct_scalar(node)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """The keys and values of a mapping."""
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "a key occurs twice", node.start_mark
            )
        return mapping


class _PlainDumper(yaml.SafeDumper):
    """Writes what `_PlainLoader` reads back as it was."""


def _whole(_: _PlainLoader, node: yaml.ScalarNode) -> int:
    text = str(node.value)
    return int(text, 0 if text[:2] in ("0x", "0o") else 10)


_INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
for _each in (_PlainLoader, _PlainDumper):
    for _kind, _pattern in (("int", _INT), ("float", _FLOAT)):
        _each.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", _pattern, list("-+.0123456789"))
_PlainLoader.add_constructor("tag:yaml.org,2002:int", _whole)


def write_yaml(value: Any) -> str:
    """The YAML text of mappings, lists and plain values, which `read_yaml` reads."""
    return yaml.dump(value, Dumper=_PlainDumper, sort_keys=False)


def _refused(event: yaml.NodeEvent, problem: str) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, problem, event.start_mark)  # type: ignore[arg-type]


def read_yaml(text: str, what: str) -> Any:
    """Parse a YAML text into mappings, lists and plain values.

    Raises:
        ValueError: it is not YAML, is too long, or has anchors, tags, a duplicate key, too many
            keys and values, or values nested too deep; the message begins with ``what``.
    """
    if len(text) > _LARGEST_FILE:
        raise ValueError(
            f"{what} has {len(text):,} characters; at most {_LARGEST_FILE:,} are allowed"
        )
    try:
        return yaml.load(text, _PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        problem = f"{error.context or ''} {error.problem or ''}".strip()
        raise ValueError(f"{what} is not YAML: {shortened(problem)}{place}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # 5,000 digits or \UFFFFFFFF
        raise ValueError(f"{what} is not YAML: {shortened(str(error))}") from None


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
        ValueError: the name is empty, the file cannot be read or is too large, its text is not a
            YAML mapping in UTF-8, or a key or value is not accepted; the message names the file,
            and the key, the value and what is accepted.
    """
    if not str(source):
        raise ValueError("the name of the configuration is empty: name a file or a shipped one")
    path = Path(source)
    if str(source) in shipped() and not path.is_file():
        text = files(__package__).joinpath(f"{source}.yaml").read_text(encoding="utf-8")
        return parse_config(text, str(source))
    try:
        text = read_text_file(path, _LARGEST_FILE, "a configuration")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no configuration {quoted(str(source))}"
            f"{did_you_mean(str(source), shipped())}; shipped ones: {', '.join(shipped())}"
        ) from None
    return parse_config(text, shortened(str(source), 100))


def parse_config(text: str, source: str) -> TrainingConfig:
    """Check the text of a configuration; ``source`` is its name in errors.

    Raises:
        ValueError: as for `load_config`.
    """
    data = read_yaml(text, source)
    if not isinstance(data, dict):
        raise ValueError(f"{source} holds no mapping of keys to values")
    config = _validate(data, source)
    _check_options(config, source)
    return config


def apply_settings(config: TrainingConfig, settings: Iterable[str]) -> TrainingConfig:
    """Override keys by ``key=value`` texts, such as ``learner.batch=256`` or ``seed=3``.

    Values are read as YAML. Options of the game are checked only when it is made.

    Raises:
        ValueError: no ``=``, no such key, a value that is not accepted, or another algorithm.
    """
    data = msgspec.to_builtins(config)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"{quoted(setting)} is not a setting: write key=value, such as seed=3")
        *parents, last = key.split(".")
        section: Any = data
        for parent in parents:
            if not isinstance(section.get(parent), dict):
                sections = [name for name, value in section.items() if isinstance(value, dict)]
                raise ValueError(
                    f"{quoted(key)} is not a key of a configuration: {quoted(parent)} is not a "
                    "section"
                    f"{did_you_mean(parent, sections)}"
                )
            section = section[parent]
        section[last] = read_yaml(value, f"the value of {quoted(setting)}")
    algorithm = data["algorithm"]
    if algorithm != config.algorithm and algorithm in list(ALGORITHMS):
        raise ValueError(
            f"this configuration is for {config.algorithm}, and {algorithm} has other keys: begin "
            f"with one whose algorithm is {algorithm}"
        )
    return _validate(data, "the configuration")


def _validate(data: dict[Any, Any], source: str) -> TrainingConfig:
    """The configuration in ``data``, validated for the algorithm that it names."""
    algorithm = data.get("algorithm", "alphazero")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ValueError(
            f"{source}: algorithm: there is none called {quoted(algorithm)}; accepted: "
            f"{', '.join(ALGORITHMS)}"
        )
    if isinstance(data.get("network"), dict):
        data = data | {"network": _completed(data["network"])}
    try:
        config: TrainingConfig = convert(data, source, ALGORITHMS[algorithm])
    except MisfitError as error:
        raise ValueError(f"{error}{_remedy(error, ALGORITHMS[algorithm])}") from None
    return config


def _check_options(config: TrainingConfig, source: str) -> None:
    """Raise ``ValueError`` if the game does not accept the options, or those of a variant.

    A game that is not known may be registered later.
    """
    variants = getattr(config, "variants", ())
    sets = [{}, *(options for variant in variants for options in variant.combinations())]
    if config.game in GAMES:
        kind = GAMES[config.game]
        try:
            for options in sets:
                check_options(kind.name, kind.option_list, config.options | options)
        except ValueError as error:
            raise ValueError(f"{source}: {shortened(str(error), 280)}") from None


def _remedy(error: MisfitError, kind: type[TrainingConfig]) -> str:
    """What the key of the error accepts if that has several forms, or the key that was meant."""
    told = str(error).replace(": ", ".")
    for key, accepted in SCHEDULES.items():
        if key in told:
            return f"; give {accepted}"
    unknown = re.search(r": contains unknown field `(.*)`", str(error))
    if unknown is None:
        return ""
    keys, defaults = kind.__struct_fields__, kind.__struct_defaults__  # the last keys have these
    sections = dict(zip(keys[-len(defaults) :], defaults, strict=True))
    section = sections.get(error.key) if error.key in keys else kind  # an unknown key at the top
    known = getattr(section, "__struct_fields__", ())
    if RENAMED.get(unknown[1]) in known:
        return f": it is called {RENAMED[unknown[1]]}"
    return did_you_mean(unknown[1], list(known))


def _completed(network: dict[Any, Any]) -> dict[Any, Any]:
    """The network's section, ``small`` if empty; a custom network's other keys become options."""
    given = {key: value for key, value in network.items() if value is not None and value != {}}
    if not given:
        return {"size": "small"}
    options = given.pop("options", {})
    if "module" not in given or not isinstance(options, dict):
        return network
    module = given.pop("module")
    return {"module": module, "options": options | given}
