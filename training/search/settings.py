"""Settings of a search."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

GUMBEL = 0
PUCT = 1
NEVER = 2**31 - 1  # a ply number that no game reaches


class SearchSettings(NamedTuple):
    """Settings of one search, as plain numbers that compiled kernels accept directly.

    Attributes:
        simulations: simulations for each move; fewer where the root is settled.
        algorithm: `GUMBEL` (sequential halving at the root) or `PUCT`.
        max_considered: Gumbel: how many root actions sequential halving starts with at most.
        noise: Gumbel: scale of the root noise; PUCT: share of Dirichlet noise in the root
            prior, at most 1. 0 draws none, for play at full strength.
        value_scale, maxvisit_init: sigma in equation 8 of the Gumbel AlphaZero paper multiplies
            Q-values by ``(maxvisit_init + max visits) * value_scale``. PUCT uses both in the
            root's value only.
        rescale_values: Gumbel: rescale the Q-values of a node to [0, 1], as mctx does, for
            choices and the policy target, not for the root's value.
        c_puct: PUCT: weight of the prior.
        dirichlet_alpha: PUCT: concentration of the root noise.
        temperature: PUCT: the action is drawn by its visits to the power 1/temperature; 0 plays
            the most visited one.
        prove: take finished positions, and those that the mover can win at once, as proven, back
            up their values as bounds, and do not search settled nodes.
        temperature_plies: from this ply of the game on, a search is greedy: it plays the best
            action found. PUCT takes the most visited one, as at temperature 0; Gumbel leaves
            the noise out of the final choice. The noise stays in the search.
        score: share of the final score in the value, 0 to below 1; the rest is the outcome's. Above
            0 the network must have a score head, and an outcome that is proven bounds the value,
            but does not end the search.
        max_score: final scores are divided by this.
    """

    simulations: int = 64
    algorithm: int = GUMBEL
    max_considered: int = 16
    noise: float = 0.0
    value_scale: float = 0.1
    maxvisit_init: float = 50.0
    rescale_values: bool = True
    c_puct: float = 1.5
    dirichlet_alpha: float = 0.3
    temperature: float = 0.0
    prove: bool = True
    temperature_plies: int = NEVER
    score: float = 0.0
    max_score: int = 1

    def checked(self) -> SearchSettings:
        """The settings in the number types that compiled searches take.

        Raises:
            ValueError: a setting is not accepted; the message names it.
        """
        checked = SearchSettings._make(_checked(name, getattr(self, name)) for name in self._fields)
        if checked.algorithm == PUCT and checked.noise > 1:
            raise ValueError(
                f"the setting noise of a search is {self.noise!r}; accepted with PUCT: from 0 to 1"
            )
        return checked


_LEAST = {"max_considered": 1, "max_score": 1}  # the other numbers are at least 0


def _checked(name: str, value: Any) -> bool | int | float:
    kind, least = type(SearchSettings._field_defaults[name]), _LEAST.get(name, 0)
    is_number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if name == "algorithm" and not (is_number and value in (GUMBEL, PUCT)):
        raise ValueError(
            f"the setting algorithm of a search is {value!r}; accepted: GUMBEL ({GUMBEL}) or PUCT "
            f"({PUCT}) of ludarium.training.search"
        )
    if kind is bool and value in (False, True):
        return bool(value)
    end = 1 if name == "score" else math.inf
    if kind is not bool and is_number and least <= value < end:
        return kind(value)
    wanted = {
        bool: "False or True",
        int: f"a whole number from {least} on",
        float: f"a finite number from {least} on" if end == math.inf else "from 0 to below 1",
    }[kind]
    raise ValueError(f"the setting {name} of a search is {value!r}; accepted: {wanted}")
