"""When self-play gives up lost games, and how often that is wrong.

As in AlphaGo Zero (Silver et al., "Mastering the game of Go without human knowledge", 2017,
methods): a player resigns once the search's value of a position is as low as a threshold. Some
games, drawn when they start, are played to the end whatever happens: they tell how often a
player who would have resigned did not lose, and so where the threshold may be.
"""

from __future__ import annotations

import numpy as np

from .kernels.self_play import NEVER_RESIGN

#: One player in a game without resignation: the lowest value that a search gave him, in his own
#: view, and whether he lost.
TRIAL = np.dtype([("lowest", np.float32), ("lost", np.bool_)])

_FEWEST = 200  # trials before anybody resigns
_MOST = 2000  # the latest ones count, for the network changes


class Calibration:
    """Chooses the threshold from the latest trials.

    Args:
        accepted: the largest share of resignations that may be wrong.

    Attributes:
        trials: structured [T] of `TRIAL`, the latest last.
    """

    def __init__(self, accepted: float) -> None:
        self.accepted = accepted
        self.trials = np.zeros(0, TRIAL)

    def add(self, trials: np.ndarray) -> None:
        """Take in new trials and forget the oldest."""
        self.trials = np.concatenate([self.trials, trials])[-_MOST:]

    @property
    def threshold(self) -> float:
        """The highest value at which few enough of the trials' resignations were wrong.

        It is never above 0, and `NEVER_RESIGN` while there are too few trials.
        """
        if len(self.trials) < _FEWEST:
            return NEVER_RESIGN
        trials = np.sort(self.trials, order="lowest")
        lowest = trials["lowest"]
        wrong = np.cumsum(~trials["lost"]) / np.arange(1, len(trials) + 1)
        is_last = np.append(lowest[1:] > lowest[:-1], True)  # of those with the same value
        fitting = lowest[is_last & (wrong <= self.accepted) & (lowest <= 0)]
        return float(fitting[-1]) if len(fitting) else NEVER_RESIGN


def false_positive_rate(trials: np.ndarray, threshold: float) -> float | None:
    """Share of the trials that would have been resigned without being lost; None of none."""
    resigned = trials["lowest"] <= threshold
    return float(np.mean(~trials["lost"][resigned])) if resigned.any() else None
