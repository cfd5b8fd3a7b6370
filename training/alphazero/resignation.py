"""Resignation in self-play: its threshold, and how often it is wrong.

As in AlphaGo Zero (Silver et al., "Mastering the game of Go without human knowledge", 2017,
methods), a player resigns once the search's root value falls to a threshold. In a random fraction
of the games resignation is disabled, and these are played to the end. They show how often a player
who would have resigned did not lose, and the threshold is chosen from that.
"""

from __future__ import annotations

import numpy as np

from .kernels.self_play import NEVER_RESIGN

#: One player in a game without resignation: the lowest value that a search gave him, in his own
#: view, and whether he lost.
TRIAL = np.dtype([("lowest", np.float32), ("lost", np.bool_)])

_FEWEST = 200  # trials needed before resignation starts
_MOST = 2000  # number of latest trials used: the network changes


class Calibration:
    """Chooses the resignation threshold from the latest trials.

    Args:
        accepted: the largest fraction of resignations that may be wrong.

    Attributes:
        trials: structured [T] of `TRIAL`, the latest last.
    """

    def __init__(self, accepted: float) -> None:
        self.accepted = accepted
        self.trials = np.zeros(0, TRIAL)

    def add(self, trials: np.ndarray) -> None:
        """Add new trials and drop the oldest."""
        self.trials = np.concatenate([self.trials, trials])[-_MOST:]

    @property
    def threshold(self) -> float:
        """The highest threshold at which at most ``accepted`` of the resignations would be wrong.

        It is never above 0, and it is `NEVER_RESIGN` while there are too few trials.
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
