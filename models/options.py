"""A game's options as numbers, for a network that plays with many of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def option_features(
    variants: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> list[float]:
    """The options of a game as the input of a network that learnt several sets of options.

    An option that is a number in all variants gives one feature, linear from -1 for the smallest to
    1 for the largest, and 0 for a value that is not a number. Any other option gives a feature for
    each value that was learnt, 1 if the game has this value and 0 otherwise; for a value that was
    not learnt, each is 1 divided by their number. Options that never differ give none.

    Args:
        variants: the complete sets of options that the network learns or learnt.
        options: options of the game to play.

    Returns:
        Floats; their number does not depend on ``options``.
    """
    features: list[float] = []
    for name in sorted(variants[0]):
        learnt = {_text(variant[name]): variant[name] for variant in variants}
        value = options[name]
        if len(learnt) < 2:
            continue
        if all(type(each) in (int, float) for each in learnt.values()):
            low, high = min(learnt.values()), max(learnt.values())
            is_number = type(value) in (int, float)
            features.append(2 * (value - low) / (high - low) - 1 if is_number else 0.0)
        else:
            text = _text(value)
            unknown = 0.0 if text in learnt else 1 / len(learnt)
            features += [1.0 if text == each else unknown for each in sorted(learnt)]
    return features


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
