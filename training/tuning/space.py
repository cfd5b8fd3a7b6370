"""The space of a search: keys of a configuration, and Optuna's distributions of their values.

A dimension is written as ``KEY=VALUES``, where the values are

- a list: ``learner.batch=256,512``, each value as YAML: ``network={size: tiny},{size: small}``;
- a range of integers if both ends are: ``self_play.simulations=16..64``, else of numbers:
  ``learner.score_weight=0..0.5``;
- a range on a logarithmic scale: ``learner.learning_rate=0.0005..0.01,log``.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

import msgspec
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

from ludarium.base.messages import quoted, shortened
from ludarium.configs import TrainingConfig, apply_settings
from ludarium.configs.loading import read_yaml

#: A trial's value of each key: a number of a range, or the JSON text of a value of a list.
Values = dict[str, Any]

_RANGE = re.compile(r"(?P<low>[^,]+?)\.\.(?P<high>[^,]+?)(?P<log>,\s*log)?", re.ASCII)
#: Sections and keys that are the same in all trials, and why.
_FIXED = {
    "game": "agents of several games cannot be compared",
    "options": "agents of several rules cannot be compared",
    "algorithm": "its keys are others; search for each algorithm by itself",
    "evaluation": "it measures all trials alike",
    "budget": "it is the same for all trials",
    "cluster": "it does not change what is learnt",
    "device": "it does not change what is learnt",
    "seed": "more seeds of each trial come with seeds=3",
}


def read_dimension(text: str) -> tuple[str, BaseDistribution]:
    """Read ``KEY=VALUES``, see the module.

    Raises:
        ValueError: it is not such a text, or the key is the same in all trials; the message says
            what is wrong.
    """
    key, equals, values = (part.strip() for part in text.partition("="))
    if not (key and equals and values):
        raise ValueError(
            f"{quoted(text)} says no values: write KEY=A,B,C or KEY=LOW..HIGH, such as "
            "learner.learning_rate=0.0005..0.01,log"
        )
    section = key.partition(".")[0]
    if section in _FIXED:
        raise ValueError(f"{quoted(key)} cannot be searched over: {_FIXED[section]}")
    found = _RANGE.fullmatch(values)
    if found is None:
        choices = [json.dumps(value) for value in read_yaml(f"[{values}]", quoted(text))]
        if len(set(choices)) < len(choices):
            raise ValueError(f"{quoted(text)} has a value twice")
        return key, CategoricalDistribution(choices)
    low, high = (read_yaml(found[end], quoted(text)) for end in ("low", "high"))
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, int | float):
            raise ValueError(f"{quoted(end)} in {quoted(text)} is not a number")
    is_whole = isinstance(low, int) and isinstance(high, int)
    try:
        if not low < high:
            raise ValueError("LOW is not below HIGH")
        return key, (IntDistribution if is_whole else FloatDistribution)(
            low, high, log=found["log"] is not None
        )
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not a range: {shortened(str(error))}") from None


class Space:
    """Keys of a configuration, and the values that each may take.

    Args:
        config: the configuration that the values change.
        texts: texts of the dimensions.

    Attributes:
        distributions: distributions of the values, by key.

    Raises:
        ValueError: a text is not a dimension, a key is searched over twice or unknown, or a value
            is not accepted.
    """

    def __init__(self, config: TrainingConfig, texts: tuple[str, ...]) -> None:
        self.config = config
        self.texts = texts
        self.distributions: dict[str, BaseDistribution] = {}
        for key, distribution in map(read_dimension, texts):
            if key in self.distributions:
                raise ValueError(f"{quoted(key)} is searched over twice")
            self.distributions[key] = distribution
            for value in _ends(distribution):
                self.configure({key: value})

    def suggest(self, trial: Trial) -> None:
        """Let a trial choose a value for each key that has none."""
        for key, each in self.distributions.items():
            if isinstance(each, CategoricalDistribution):
                trial.suggest_categorical(key, each.choices)
            elif isinstance(each, IntDistribution):
                trial.suggest_int(key, each.low, each.high, log=each.log)
            elif isinstance(each, FloatDistribution):
                trial.suggest_float(key, each.low, each.high, log=each.log)

    def configure(self, values: Mapping[str, Any]) -> TrainingConfig:
        """The configuration of a trial.

        Raises:
            ValueError: a value is not accepted, or does not go with another.
        """
        return apply_settings(self.config, [f"{key}={value}" for key, value in values.items()])

    @property
    def usual(self) -> Values:
        """The configuration's own values of the keys, if they belong to the space."""
        data, found = msgspec.to_builtins(self.config), {}
        for key, distribution in self.distributions.items():
            value = reduce(lambda section, name: (section or {}).get(name), key.split("."), data)
            if isinstance(distribution, CategoricalDistribution):
                value = json.dumps(value)
            in_it = value in _ends(distribution) or (
                isinstance(distribution, IntDistribution | FloatDistribution)
                and isinstance(value, int | type(distribution.low))
                and distribution.low <= value <= distribution.high
            )
            if in_it:
                found[key] = value
        return found

    def grid(self) -> list[Values]:
        """All combinations of the values.

        Raises:
            ValueError: a key has a range, whose values cannot be listed.
        """
        for key, distribution in self.distributions.items():
            if not isinstance(distribution, CategoricalDistribution):
                low, high = _ends(distribution)
                raise ValueError(f"a grid needs values, not a range: write {key}={low:g},{high:g}")
        combinations = itertools.product(*map(_ends, self.distributions.values()))
        return [dict(zip(self.distributions, values, strict=True)) for values in combinations]


def _ends(distribution: BaseDistribution) -> tuple[Any, ...]:
    """All values of a list; the smallest and the largest of a range."""
    if isinstance(distribution, CategoricalDistribution):
        return tuple(distribution.choices)
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    return distribution.low, distribution.high
