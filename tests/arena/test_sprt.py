"""The sequential test: its likelihoods, its rates of error, its intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ludarium.arena.sprt import (
    PAIR_SCORES,
    SPRT,
    SPRTResult,
    Verdict,
    likeliest,
    normalised_elo,
    score_of_pairs,
)
from ludarium.training.evaluation import elo_difference, expected_score
from tests.arena.simulation import pair_chances, simulate


def test_bounds_are_walds():
    low, high = SPRT(alpha=0.05, beta=0.1).bounds
    assert (low, high) == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))
    test = SPRT()
    assert test.verdict(3) is Verdict.ACCEPTED
    assert test.verdict(-3) is Verdict.REJECTED
    assert test.verdict(2.9) is test.verdict(-2.9) is Verdict.OPEN


@pytest.mark.parametrize("mean", [0.3, 0.5, 0.64])
def test_the_likelihood_of_a_mean_is_the_largest_of_all_distributions_with_it(mean):
    counts = np.array([7, 3, 20, 9, 4])
    likelihood, found = likeliest(counts, PAIR_SCORES - mean)
    assert [found.sum(), found @ PAIR_SCORES] == pytest.approx([1, mean])
    assert float(likelihood) == pytest.approx(counts @ np.log(found * counts.sum() / counts))
    for first in range(3):  # the logarithm is concave, and no way that keeps the mean leads up
        way = np.roll([1, -2, 1, 0, 0], first)
        assert counts / found @ way == pytest.approx(0, abs=1e-6)


def test_a_ratio_turns_with_the_sides_and_is_zero_without_pairs():
    counts = np.array([[1, 2, 30, 8, 4], [0, 0, 0, 0, 0]])
    forth = SPRT(-40, 40).llr(counts)
    back = SPRT(-40, 40).llr(counts[:, ::-1])
    assert forth == pytest.approx(-back)
    assert forth[0] > 0 == forth[1]


def test_normalised_elo_is_that_of_fishtest():
    """A test there: 256 games with these pairs, bounds 0 and 4; logistic bounds for comparison."""
    counts = np.array([13, 37, 50, 25, 3])
    assert normalised_elo(counts).value == pytest.approx(-63.97, abs=0.01)
    assert SPRT(0, 4, normalised=True).llr(counts) == pytest.approx(-0.54912, abs=1e-5)
    assert SPRT(0, 2.716).llr(counts) == pytest.approx(-0.53772, abs=1e-4)


def test_hypotheses_in_normalised_elo_are_within_reach():
    for counts in ([0, 0, 0, 3, 20], [5, 0, 0, 0, 0], [1, 2, 3, 2, 1]):
        assert np.isfinite(SPRT(-200, 200, normalised=True).llr(np.array(counts)))
    with pytest.raises(ValueError, match="both are from -200 to 200, not 0 and 300"):
        SPRT(0, 300, normalised=True)


# The rates of error: 200 tests of either hypothesis, as is stated in the documentation.


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        (SPRT(0, 30, 0.05, 0.05), "drawish"),
        (SPRT(0, 30, 0.05, 0.05), "decisive"),
        (SPRT(0, 100, 0.1, 0.05), "decisive"),
        (SPRT(-20, 20, 0.1, 0.02), "unfair openings"),
    ],
)
def test_errors_are_as_rare_as_stated(test, kind):
    """Within what 200 tests can tell: at most as many errors as one in 500 such samples has."""
    random = np.random.default_rng(11)
    for elo, wrong, rate in ((test.elo0, 1, test.alpha), (test.elo1, -1, test.beta)):
        verdicts, games = simulate(test, pair_chances(expected_score(elo), kind), 200, random)
        assert (verdicts != 0).all()
        errors = int((verdicts == wrong).sum())
        assert errors <= 200 * rate + 3 * math.sqrt(200 * rate * (1 - rate))
        assert errors >= 200 * rate - 3 * math.sqrt(200 * rate * (1 - rate))
        assert games.mean() < 1000


# Intervals.


def test_an_interval_has_the_means_that_are_nearly_as_likely():
    counts = np.array([7.0, 3, 20, 9, 4])
    score = score_of_pairs(counts)
    for end in (score.low, score.high):
        assert likeliest(counts, PAIR_SCORES - end)[0] == pytest.approx(-1.9207, abs=1e-4)
    assert score.low < counts @ PAIR_SCORES / 43 < score.high


def test_an_interval_is_within_the_scale_and_has_the_score():
    for counts in ([0, 0, 0, 0, 9], [0, 0, 9, 0, 0], [1, 0, 0, 0, 0], [5, 0, 0, 0, 5]):
        score = score_of_pairs(np.array(counts))
        assert score.value == pytest.approx(np.dot(counts, PAIR_SCORES) / sum(counts))
        assert 0 <= score.low <= score.value <= score.high <= 1
    assert elo_difference(score_of_pairs(np.array([0, 0, 0, 0, 9])).high) > 1000
    assert score_of_pairs(np.zeros(5)).to_dict()["value"] is None


# Results.


def test_a_test_without_games_knows_nothing():
    found = SPRTResult.of(SPRT(), np.zeros(0, np.int64), np.zeros((0, 2)))
    assert (found.games, found.repeated, found.caveat) == (0, 0, None)
    assert not found.has_ended
    assert found.line == "LLR 0 (-2.94 to 2.94)"


def test_a_pair_that_repeats_an_earlier_one_does_not_count():
    digests = np.array([[1, 2], [3, 4], [1, 2], [1, 4], [3, 4]])
    found = SPRTResult.of(SPRT(), np.array([4, 2, 4, 4, 2]), digests)
    assert found.counts.tolist() == [0, 0, 1, 0, 2]
    assert (found.games, found.repeated, found.is_fruitless) == (6, 2, False)
    assert found.caveat is not None
    assert found.caveat.startswith("2 of 5 pairs of games repeat an earlier one")
    assert f"LLR {found.llr:+.2f} (-2.94 to 2.94), 6 games, score 0.833 (" in found.line
    won = SPRTResult.of(SPRT(0, 100), np.full(99, 4), np.arange(198).reshape(99, 2))
    assert (won.verdict, won.repeated) == (Verdict.ACCEPTED, 0)  # nor do pairs after the verdict


@pytest.mark.parametrize(
    ("normalised", "llr", "is_over", "said"),
    [
        (False, 3.0, True, "x is stronger than y: H1 (+30 Elo) rather than H0 (-10 Elo)"),
        (True, -3.0, True, "x is not stronger than y: H0 (-10 {}) rather than H1 (+30 {})"),
        (False, 1.25, True, "no verdict within 32 games"),
        (False, 1.25, False, "no verdict yet after 32 games"),
    ],
)
def test_a_test_tells_its_state(normalised, llr, is_over, said):
    test = SPRT(-10, 30, 0.05, 0.1, normalised)
    counts = np.array([1, 2, 3, 5, 2])
    found = SPRTResult(test, counts, 3, llr, False)
    sentence, line, rates, pairs, warning = found.text("x", "y", is_over).splitlines()
    assert sentence == said.replace("{}", "normalised Elo")
    low, high = math.log(0.1 / 0.95), math.log(0.9 / 0.05)
    assert found.score.value == 31 / 52
    assert found.elo.value == pytest.approx(400 * math.log10(31 / 21))
    assert line == (
        f"LLR {llr:+.2f} ({low:.2f} to {high:.2f}), 26 games, score {found.score:.3f}, "
        f"Elo {found.elo:+.0f}, normalised Elo {normalised_elo(counts):+.0f}"
    )
    assert rates == "of tests with H0 true, 0.05 end with H1; with H1 true, 0.1 end with H0"
    assert pairs == "pairs of games in which x had 0, 1/2, 1, 3/2, 2 points: 1 2 3 5 2"
    assert warning.startswith("warning: 3 of 16 pairs of games repeat an earlier one")
    data = found.to_dict()
    assert (data["games"], data["repeated_pairs"], data["llr"]) == (26, 3, llr)
    assert data["pairs_by_score"] == [1, 2, 3, 5, 2]
    assert data["llr_bounds"] == pytest.approx([low, high])
    assert data["verdict"] == {3.0: "H1", -3.0: "H0"}.get(llr, "open")
    assert data["caveat"] == warning.removeprefix("warning: ")


def test_an_infinite_difference_is_left_out_of_the_json():
    won = SPRTResult(SPRT(), np.array([0, 0, 0, 0, 4]), 0, 1.0, False).to_dict()
    assert won["elo"]["value"] is won["elo"]["high"] is None
    low = elo_difference(score_of_pairs(np.array([0, 0, 0, 0, 4])).low)
    assert won["elo"]["low"] == pytest.approx(low, abs=1e-3)
    ahead = SPRTResult(SPRT(), np.array([0, 0, 2, 2, 0]), 0, 1.0, False).to_dict()
    assert ahead["score"]["value"] == 0.625
    assert ahead["elo"]["value"] == pytest.approx(88.74, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"elo0": 30, "elo1": 30}, "elo0 is below elo1"),
        ({"elo1": 2000}, "from -1000 to 1000"),
        ({"alpha": 0}, "alpha is an error rate between 0 and 0.5, not 0"),
        ({"beta": 0.5}, "beta is an error rate"),
        ({"elo1": math.nan}, "elo0 is below elo1"),
    ],
)
def test_tests_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SPRT(**arguments)
