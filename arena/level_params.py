"""`LevelParams`: the parameters of a strength level, and their path from weak to strong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_whole

#: Fewest simulations of `params_at`: one for each move that the search compares.
FEWEST_SIMULATIONS = 16
#: Upper limits on simulations, and on every parameter in units of value or of logits.
MOST_SIMULATIONS = 10_000
MOST_TEMPERATURE = 1000.0

# The path of `params_at`: the strength at which searches begin to deepen; the largest loss and
# the noise, in temperatures; the temperatures above which some, and all, wins are overlooked.
_DEEPER = 5.0
_LOSS = 3.0
_NOISE = 8.0
_OVERLOOKS_SOME_WINS = 1.0
_OVERLOOKS_ALL_WINS = 2.0


@dataclass(frozen=True)
class LevelParams:
    """Parameters of a strength level. Values are in [-1, 1]: losing a won game costs 2.

    Attributes:
        simulations: simulations of the search for each move, 1 to 10,000.
        temperature: of two moves that the search favours alike, one that loses ``temperature`` more
            is chosen e times less often; 0 plays the best move found. 0 to 1000, as the two that
            follow.
        max_value_loss: largest loss of a move that may be chosen.
        logit_noise: scale of the Gumbel noise on the network's logits, which decides which moves
            the search tries; 0 tries the favourites, large values any.
        win_detection_prob: probability, at each decision, that every move that wins at once, for
            either player, is found.

    Raises:
        ValueError: a parameter is out of its range; the message names it.
    """

    simulations: int
    temperature: float = 0.0
    max_value_loss: float = 2.0
    logit_noise: float = 0.0
    win_detection_prob: float = 1.0

    def __post_init__(self) -> None:
        checked_whole("simulations", self.simulations, 1, MOST_SIMULATIONS)
        for name in ("temperature", "max_value_loss", "logit_noise"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value <= MOST_TEMPERATURE:
                raise ValueError(
                    f"{name} is a number from 0 to {MOST_TEMPERATURE:g}, not {quoted(value)}"
                )
        prob = self.win_detection_prob
        if type(prob) not in (int, float) or not 0 <= prob <= 1:
            raise ValueError(f"win_detection_prob is a number from 0 to 1, not {quoted(prob)}")


def params_at(strength: float, most_simulations: int) -> LevelParams:
    """The parameters at a point of the path from nearly random play to the strongest.

    Along the path mistakes get smaller: the temperature about halves with every step of 1, and is
    0 at the end. From `_DEEPER` on the search gets deeper too: its simulations double with every
    step.

    Args:
        strength: below about -3 all play is nearly random; from ``strongest(most_simulations)`` on
            it is the strongest, without mistakes.
        most_simulations: simulations of the strongest level, `FEWEST_SIMULATIONS` to 10,000.

    Raises:
        ValueError: ``most_simulations`` is out of range.
    """
    top = strongest(most_simulations)
    strength = min(strength, top)
    temperature = float(2.0 ** (1 - strength) - 2.0 ** (1 - top))
    doublings = max(0.0, strength - _DEEPER)
    overlooked = (temperature - _OVERLOOKS_SOME_WINS) / (_OVERLOOKS_ALL_WINS - _OVERLOOKS_SOME_WINS)
    return LevelParams(
        simulations=min(round(FEWEST_SIMULATIONS * 2**doublings), most_simulations),
        temperature=round(min(temperature, MOST_TEMPERATURE), 5),
        max_value_loss=round(min(_LOSS * temperature, 2.0), 5),
        logit_noise=round(min(_NOISE * temperature, MOST_TEMPERATURE), 5),
        win_detection_prob=round(1 - min(max(overlooked, 0.0), 1.0), 5),
    )


def strongest(most_simulations: int) -> float:
    """The strength at which the path of `params_at` ends.

    Raises:
        ValueError: ``most_simulations`` is out of range.
    """
    what = "number of simulations of the strongest level"
    checked_whole(what, most_simulations, FEWEST_SIMULATIONS, MOST_SIMULATIONS)
    return _DEEPER + math.log2(most_simulations / FEWEST_SIMULATIONS)
