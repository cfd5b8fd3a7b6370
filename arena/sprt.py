"""Is A stronger than B? A sequential test that stops as soon as the games can tell.

A. Wald's sequential probability ratio test ("Sequential Tests of Statistical Hypotheses", 1945)
decides between two hypotheses about A's Elo difference to B: H0, which says ``elo0``, and H1, which
says ``elo1``. After each pair of games, the logarithm of the likelihood ratio (LLR) of H1 to H0 is
compared to two bounds, ``log(beta / (1 - alpha))`` and ``log((1 - beta) / alpha)``.

The two games of a pair share an opening, so they are not independent; pairs are. So the unit is the
pair, and its score, 0, 1/4, 1/2, 3/4 or 1, follows a pentanomial distribution. Each hypothesis
fixes only the mean of this distribution: its likelihood is the largest among
all distributions with that mean. This is the generalised test of X. Li, J. Liu and Z. Ying,
"Generalized Sequential Probability Ratio Test for Separate Families of Hypotheses", 2014, as
M. Van den Bergh introduced it to Fishtest, the tests of the chess engine Stockfish ("A Practical
Introduction to the GSPRT"). A. B. Owen, "Empirical Likelihood Ratio Confidence Intervals for a
Single Functional", 1988, has the solution for a given mean, and the interval of the mean.

Hypotheses may also be in normalised Elo (M. Van den Bergh, "Normalized Elo", 2021, as in Fishtest):
``800 / log(10) * (s - 1/2) / (sqrt(2) * sigma)``, where ``s`` is the score and ``sigma`` the
standard deviation of the scores of pairs. It counts in standard deviations of a game; how many
games tell a difference of so many points does not depend on draws and openings. Without draws,
small differences are equal in both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ludarium.training.evaluation.statistics import (
    ELO,
    Z_95,
    IntervalEstimate,
    elo_difference,
    expected_score,
    rounded,
)

#: Scores of a pair of games: the mean of its two games' scores.
PAIR_SCORES = np.arange(5) / 4

#: An unseen pair score counts this often, so that distributions of any mean exist.
_UNSEEN = 1e-3
#: If this many pairs of games in a row repeat earlier ones, a test ends without a verdict.
MOST_REPEATS = 50

_MOST_STEPS = 100
_EXACT = 1e-11
_SAME = 1e-9  # shares that differ by less are equal
_HALVINGS = 20  # halvings of an interval, to a millionth


class Verdict(Enum):
    """The verdict of a test."""

    ACCEPTED = "H1"  #: A is stronger: H1 is accepted.
    REJECTED = "H0"  #: A is not stronger: H0 is accepted.
    OPEN = "open"  #: The games cannot tell yet.


_MOST_ELO = 1000
#: `normalised_likelihood` begins at even shares, and from there finds differences up to some 230.
_MOST_NORMALISED = 200


@dataclass(frozen=True)
class SPRT:
    """A test of H1, A is ``elo1`` points stronger than B, against H0, A is ``elo0`` stronger.

    If A is better than B by ``elo0`` or less, the test says "stronger" with a probability of about
    ``alpha`` at most; if A is better by ``elo1`` or more, the test says "not stronger" with a
    probability of about ``beta`` at most. In between it may say either. An Elo difference stands
    for an expected score (logistic; a draw is half a point). The rates are exact for many games; in
    tests that take 20 to 80 they are about two percentage points off
    (``docs/results/statistics.md``).

    Attributes:
        elo0, elo1, alpha, beta: see above.
        normalised: whether ``elo0`` and ``elo1`` are normalised Elo.

    Raises:
        ValueError: ``elo0`` is not below ``elo1``, either is not within 1000 points (200 of
            normalised Elo), or an error rate is not between 0 and 1/2.
    """

    elo0: float = 0.0
    elo1: float = 30.0
    alpha: float = 0.05
    beta: float = 0.05
    normalised: bool = False

    def __post_init__(self) -> None:
        most = _MOST_NORMALISED if self.normalised else _MOST_ELO
        if not -most <= self.elo0 < self.elo1 <= most:
            raise ValueError(
                f"elo0 is below elo1, and both are from {-most} to {most}, not "
                f"{self.elo0:g} and {self.elo1:g}"
            )
        for name, rate in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < rate < 0.5:
                raise ValueError(f"{name} is an error rate between 0 and 0.5, not {rate:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The test ends when the LLR is at the first or below, or at the second or above."""
        return (
            math.log(self.beta / (1 - self.alpha)),
            math.log((1 - self.beta) / self.alpha),
        )

    def llr(self, counts: np.ndarray) -> np.ndarray:
        """The logarithm of the likelihood ratio of H1 to H0.

        Args:
            counts: int or float [..., 5], how many pairs had each of `PAIR_SCORES`.

        Returns:
            float64[...]; 0 where there are no pairs.
        """
        counts = np.asarray(counts, float)
        likelihood = normalised_likelihood if self.normalised else elo_likelihood
        one, other = (likelihood(counts, elo) for elo in (self.elo1, self.elo0))
        return np.where(counts.sum(-1) > 0, one - other, 0.0)

    def verdict(self, llr: float) -> Verdict:
        """The verdict for an LLR."""
        low, high = self.bounds
        if llr >= high:
            return Verdict.ACCEPTED
        return Verdict.REJECTED if llr <= low else Verdict.OPEN


@dataclass(frozen=True)
class SPRTResult:
    """The state or end of a test.

    A pair of games that repeats an earlier one move for move does not count: agents that always
    answer alike would repeat it forever, and it tells nothing new.

    Attributes:
        test: the test.
        counts: int64[5], how many different pairs have each score of the first agent: 0, 1/4, 1/2,
            3/4, 1.
        repeated: how many pairs do not count.
        llr: logarithm of the likelihood ratio, see `SPRT`.
        is_fruitless: whether the last `MOST_REPEATS` pairs all repeated earlier ones, which ends
            the test without a verdict.
    """

    test: SPRT
    counts: np.ndarray
    repeated: int
    llr: float
    is_fruitless: bool

    @classmethod
    def of(cls, test: SPRT, points: np.ndarray, digests: np.ndarray) -> SPRTResult:
        """The result for pairs of games, in this order, up to the one that ends the test.

        Args:
            test: the test.
            points: int64[P], twice the first agent's points in each pair: 0 to 4.
            digests: [P, 2], equal for games that repeat each other.
        """
        pairs = len(points)
        if not pairs:
            return cls(test, np.zeros(5, np.int64), 0, 0.0, False)
        places = np.arange(pairs)
        is_new = np.zeros(pairs, bool)
        is_new[np.unique(digests, axis=0, return_index=True)[1]] = True
        counts = ((points[:, None] == np.arange(5)) & is_new[:, None]).cumsum(axis=0)
        llr = test.llr(counts)
        repeats = places - np.maximum.accumulate(np.where(is_new, places, 0))
        low, high = test.bounds
        ends = np.flatnonzero((llr <= low) | (llr >= high) | (repeats >= MOST_REPEATS))
        last = int(ends[0]) if len(ends) else pairs - 1
        repeated = last + 1 - int(counts[last].sum())
        is_fruitless = bool(repeats[last] >= MOST_REPEATS)
        return cls(test, counts[last], repeated, float(llr[last]), is_fruitless)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the pairs."""
        return self.test.verdict(self.llr)

    @property
    def has_ended(self) -> bool:
        """Whether more games would change nothing."""
        return self.verdict is not Verdict.OPEN or self.is_fruitless

    @property
    def games(self) -> int:
        """How many games count."""
        return 2 * int(self.counts.sum())

    @property
    def score(self) -> IntervalEstimate:
        """Points of the first agent per game, as for a number of games fixed in advance."""
        return score_of_pairs(self.counts)

    @property
    def elo(self) -> IntervalEstimate:
        """Elo difference for the score."""
        return self.score.map(elo_difference)

    @property
    def caveat(self) -> str | None:
        """How many pairs of games do not count, in words; ``None`` if all count."""
        if not self.repeated:
            return None
        pairs = self.repeated + int(self.counts.sum())
        return (
            f"{self.repeated:,} of {pairs:,} pairs of games repeat an earlier one move for move, "
            "and do not count; longer openings (opening_plies=4) help"
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; an infinite Elo difference is ``None``."""
        return {
            "verdict": self.verdict.value,
            "games": self.games,
            "pairs_by_score": [int(count) for count in self.counts],
            "repeated_pairs": self.repeated,
            "llr": rounded(self.llr),
            "llr_bounds": list(self.test.bounds),
            "score": self.score.to_dict(),
            "elo": self.elo.to_dict(),
            "normalised_elo": normalised_elo(self.counts).to_dict(),
            "caveat": self.caveat,
        }

    @property
    def line(self) -> str:
        """The state of the test, in a line."""
        low, high = self.test.bounds
        if not self.games:
            return f"LLR 0 ({low:.2f} to {high:.2f})"
        return (
            f"LLR {self.llr:+.2f} ({low:.2f} to {high:.2f}), {self.games:,} games, "
            f"score {self.score:.3f}, Elo {self.elo:+.0f}, "
            f"normalised Elo {normalised_elo(self.counts):+.0f}"
        )

    def text(self, first: str, second: str, is_over: bool) -> str:
        """The state or end of the test, for people.

        Args:
            first, second: names of the agents.
            is_over: whether no more games will be played.
        """
        test = self.test
        lines = [
            self._sentence(first, second, is_over),
            self.line,
            f"of tests with H0 true, {test.alpha:.3g} end with H1; with H1 true, {test.beta:.3g} "
            "end with H0",
            f"pairs of games in which {first} had 0, 1/2, 1, 3/2, 2 points: "
            f"{' '.join(map(str, self.counts))}",
        ]
        if self.caveat is not None:
            lines.append(f"warning: {self.caveat}")
        return "\n".join(lines)

    def _sentence(self, first: str, second: str, is_over: bool) -> str:
        test = self.test
        unit = "normalised Elo" if test.normalised else "Elo"
        h0, h1 = f"H0 ({test.elo0:+g} {unit})", f"H1 ({test.elo1:+g} {unit})"
        if self.verdict is Verdict.ACCEPTED:
            return f"{first} is stronger than {second}: {h1} rather than {h0}"
        if self.verdict is Verdict.REJECTED:
            return f"{first} is not stronger than {second}: {h0} rather than {h1}"
        if self.is_fruitless:
            return f"no verdict: the last {MOST_REPEATS} pairs of games repeat earlier ones"
        games = self.games + 2 * self.repeated
        return f"no verdict {'within' if is_over else 'yet after'} {games:,} games"


def elo_likelihood(counts: np.ndarray, elo: float) -> np.ndarray:
    """The log of the largest likelihood with an Elo difference, relative to that with any.

    Args:
        counts: float[..., 5], how many pairs had each of `PAIR_SCORES`.
        elo: the difference.

    Returns:
        float64[...], logarithms of likelihood ratios, at most 0.
    """
    excess = np.broadcast_to(PAIR_SCORES - expected_score(elo), counts.shape)
    return likeliest(counts, excess)[0]


def normalised_likelihood(counts: np.ndarray, elo: float) -> np.ndarray:
    """The same as `elo_likelihood` for a difference in normalised Elo.

    The constraint, ``mean - 1/2 = t sigma``, is not linear in the probabilities. So it is replaced
    by its linear part about the solution of the step before, until that stays where it is.
    """
    t = elo * math.sqrt(2) / (2 * ELO)
    shares = np.full(counts.shape, 1 / len(PAIR_SCORES))
    for _ in range(_MOST_STEPS):
        mean = (shares @ PAIR_SCORES)[..., None]
        sigma = np.sqrt((shares * (PAIR_SCORES - mean) ** 2).sum(-1, keepdims=True))
        excess = PAIR_SCORES - 0.5 - t * sigma * (1 + ((PAIR_SCORES - mean) / sigma) ** 2) / 2
        likelihood, found = likeliest(counts, excess)
        is_exact = bool(np.abs(found - shares).max(initial=0) < _SAME)
        shares = found
        if is_exact:
            break
    return likelihood


def likeliest(counts: np.ndarray, excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most likely probabilities of pair scores among those for which ``excess`` has mean 0.

    They are ``p / (1 + x excess)``, where ``p`` are the observed shares, and ``x`` is chosen to
    give that mean (Owen 1988).

    Args:
        counts: float[..., 5], how many pairs had each of `PAIR_SCORES`.
        excess: float[..., 5], with numbers below and above 0.

    Returns:
        Logarithms of likelihood ratios to ``p``, float64[...], at most 0; and the probabilities.
    """
    seen = np.where(counts > 0, counts, _UNSEEN)
    # Find the root of a decreasing function by Newton's method within a shrinking interval.
    low, high = -1 / excess.max(-1), -1 / excess.min(-1)
    x = np.zeros(counts.shape[:-1])
    for _ in range(_MOST_STEPS):
        terms = 1 + x[..., None] * excess
        value = (seen * excess / terms).sum(-1)
        slope = -(seen * (excess / terms) ** 2).sum(-1)
        low, high = np.where(value > 0, x, low), np.where(value < 0, x, high)
        moved = x - value / slope
        moved = np.where((moved > low) & (moved < high), moved, (low + high) / 2)
        is_exact = (np.abs(moved - x) <= _EXACT * (1 + np.abs(x))).all()
        x = moved
        if is_exact:
            break
    terms = 1 + x[..., None] * excess
    shares = seen / terms
    return -(seen * np.log(terms)).sum(-1), shares / shares.sum(-1, keepdims=True)


def score_of_pairs(counts: np.ndarray) -> IntervalEstimate:
    """The mean score of pairs, with the 95 % interval by empirical likelihood (Owen 1988).

    After a test that stopped early the interval is the same as for a fixed number of games: the
    score at the stop is a little further from 1/2 than it should be.

    Args:
        counts: int or float [5], how many pairs had each of `PAIR_SCORES`; without any, the score
            is NaN.
    """
    counts, pairs = np.asarray(counts, float), int(np.sum(counts))
    if not pairs:
        return IntervalEstimate(math.nan, 0.0, 1.0, 0)
    seen = np.where(counts > 0, counts, _UNSEEN)
    inside, outside = np.full(2, seen @ PAIR_SCORES / seen.sum()), np.array([0.0, 1.0])
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        ratio = likeliest(np.stack([counts, counts]), PAIR_SCORES - middle[:, None])[0]
        is_inside = ratio >= -(Z_95**2) / 2
        inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
    score = float(counts @ PAIR_SCORES / pairs)
    return IntervalEstimate(
        score, min(float(inside[0]), score), max(float(inside[1]), score), 2 * pairs
    )


def normalised_elo(counts: np.ndarray) -> IntervalEstimate:
    """The difference in normalised Elo, see the top of this file.

    Its interval is that of the score, in units of the observed standard deviation.

    Args:
        counts: int or float [5], how many pairs had each of `PAIR_SCORES`; without any, it is NaN.
    """
    seen = np.where(counts > 0, counts, _UNSEEN)
    mean = seen @ PAIR_SCORES / seen.sum()
    sigma = math.sqrt(seen @ (PAIR_SCORES - mean) ** 2 / seen.sum())
    return score_of_pairs(counts).map(
        lambda score: 2 * ELO * (score - 0.5) / (math.sqrt(2) * sigma)
    )
