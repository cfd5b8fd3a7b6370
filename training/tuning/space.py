"""The space of a search: keys of a configuration, and the values that each may take.

A dimension is written as ``KEY=VALUES``, where the values are

- a list: ``learner.batch=256,512``, each value as YAML: ``network={size: tiny},{size: small}``;
- a range: ``self_play.simulations=16..64`` (integers), ``learner.search_value=0..1`` (numbers);
- a range in which ratios count: ``learner.learning_rate=0.0005..0.01,log``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ludarium.configs import TrainingConfig, apply_settings
from ludarium.configs.loading import read_yaml
from ludarium.envs.engine.messages import quoted

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: What a trial gives each key: a number of a range, or the YAML text of a value of a list.
Values = dict[str, int | float | str]

_RANGE = re.compile(r"(?P<low>[^,]+?)\.\.(?P<high>[^,]+?)(?P<log>,\s*log)?", re.ASCII)
_MOST_VALUES = 1000
#: Sections and keys that are the same in all trials, and why.
_FIXED = {
    "game": "agents of several games cannot be compared",
    "options": "agents of several rules cannot be compared",
    "algorithm": "its keys are others; search for each algorithm by itself",
    "evaluation": "it measures all trials alike",
    "budget": "it is the same for all trials",
    "cluster": "it does not change what is learnt",
    "device": "it does not change what is learnt",
    "seed": "more seeds of each trial come with --seeds",
}


@dataclass(frozen=True)
class Choice:
    """A key that takes one of several values, each as YAML text."""

    key: str
    values: tuple[str, ...]

    @property
    def ends(self) -> Sequence[str]:
        """All values."""
        return self.values

    @property
    def distribution(self) -> BaseDistribution:
        """As Optuna has it."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)

    def value_of(self, given: Any) -> str | None:
        """The value that a configuration has, if it is one of these."""
        return next((text for text in self.values if read_yaml(text, self.key) == given), None)


@dataclass(frozen=True)
class Range:
    """A key that takes a number from ``low`` to ``high``, both included.

    Attributes:
        low, high: integers, if only these are meant.
        log: whether equal ratios are equally likely, not equal differences.
    """

    key: str
    low: int | float
    high: int | float
    log: bool

    @property
    def ends(self) -> Sequence[int | float]:
        """The least and the greatest number."""
        return self.low, self.high

    @property
    def distribution(self) -> BaseDistribution:
        """As Optuna has it."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if isinstance(self.low, int) and isinstance(self.high, int):
            return IntDistribution(self.low, self.high, log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)

    def value_of(self, given: Any) -> int | float | None:
        """The value that a configuration has, if it is in the range."""
        kinds = int if isinstance(self.low, int) else int | float
        is_number = isinstance(given, kinds) and not isinstance(given, bool)
        return given if is_number and self.low <= given <= self.high else None


Dimension = Choice | Range


def read_dimension(text: str) -> Dimension:
    """Read ``KEY=VALUES``, see the module.

    Raises:
        ValueError: it is no such text; the message says what is wrong with it.
    """
    key, equals, values = text.partition("=")
    key, values = key.strip(), values.strip()
    if not (key and equals and values):
        raise ValueError(
            f"{quoted(text)} says no values: write KEY=A,B,C or KEY=LOW..HIGH, such as "
            "learner.learning_rate=0.0005..0.01,log"
        )
    section = key.partition(".")[0]
    if section in _FIXED:
        raise ValueError(f"{quoted(key)} cannot be searched over: {_FIXED[section]}")
    found = _RANGE.fullmatch(values)
    if found:
        low, high = (_number(found[name], text) for name in ("low", "high"))
        if not (isinstance(low, int) and isinstance(high, int)):
            low, high = float(low), float(high)
        if not low < high:
            raise ValueError(f"the range {quoted(text)} is empty: write KEY=LOW..HIGH")
        if found["log"] and low <= 0:
            raise ValueError(f"the range {quoted(text)} has ratios only above 0")
        return Range(key, low, high, bool(found["log"]))
    texts = tuple(part.strip() for part in _split(values))
    if len(texts) > _MOST_VALUES:
        raise ValueError(f"{quoted(text)} has more than {_MOST_VALUES:,} values: write LOW..HIGH")
    if "" in texts or len(set(texts)) < len(texts):
        raise ValueError(f"{quoted(text)} has a value twice, or an empty one")
    return Choice(key, texts)


def _number(text: str, where: str) -> int | float:
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    raise ValueError(f"{quoted(text)} in {quoted(where)} is no number")


def _split(text: str) -> Iterator[str]:
    """The parts between commas that are not within brackets."""
    depth = begin = 0
    for place, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if character == "," and not depth:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


@dataclass(frozen=True)
class Space:
    """Dimensions, each of another key.

    Args:
        config: that the values change.
        texts: of the dimensions.

    Raises:
        ValueError: a text is no dimension, a key is searched over twice or unknown, or a value is
            not accepted.
    """

    config: TrainingConfig
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        keys = [dimension.key for dimension in self.dimensions]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"{quoted(key)} is searched over twice")
        for dimension in self.dimensions:
            for value in dimension.ends:
                self.configure({dimension.key: value})

    @property
    def dimensions(self) -> list[Dimension]:
        """In the order that they were given in."""
        return [read_dimension(text) for text in self.texts]

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The dimensions as Optuna has them."""
        return {dimension.key: dimension.distribution for dimension in self.dimensions}

    def configure(self, values: Mapping[str, int | float | str]) -> TrainingConfig:
        """The configuration of a trial.

        Raises:
            ValueError: a value is not accepted, or does not go with another.
        """
        return apply_settings(self.config, [f"{key}={value}" for key, value in values.items()])

    @property
    def usual(self) -> Values | None:
        """The values that the configuration has anyway, if all of them are in the space."""
        data = msgspec.to_builtins(self.config)
        values: Values = {}
        for dimension in self.dimensions:
            given: Any = data
            for part in dimension.key.split("."):
                given = given.get(part) if isinstance(given, dict) else None
            value = dimension.value_of(given)
            if value is None:
                return None
            values[dimension.key] = value
        return values

    def grid(self) -> list[Values]:
        """All combinations of the values.

        Raises:
            ValueError: a key has a range, which has no end of values.
        """
        choices: list[Sequence[str]] = []
        for dimension in self.dimensions:
            if isinstance(dimension, Range):
                raise ValueError(
                    f"a grid needs values, not a range: write {dimension.key}="
                    f"{dimension.low:g},{dimension.high:g}"
                )
            choices.append(dimension.values)
        keys = [dimension.key for dimension in self.dimensions]
        return [dict(zip(keys, values, strict=True)) for values in itertools.product(*choices)]
