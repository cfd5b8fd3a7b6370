"""How often sequential tests err, and how many games they take: simulated, with known strengths.

    python benchmarks/sprt.py                  200 tests of each hypothesis
    python benchmarks/sprt.py --tests 2000

Prints a Markdown table. Rates of error come with their 95 % intervals (Wilson).
"""

from __future__ import annotations

import argparse

import numpy as np

from ludarium.arena.simulation import KINDS, pair_chances, simulate
from ludarium.arena.sprt import SPRT
from ludarium.training.evaluation import expected_score, wilson_interval

TESTS = (
    SPRT(0, 30),
    SPRT(0, 30, 0.01, 0.01),
    SPRT(-20, 20, 0.1, 0.02),
    SPRT(0, 100),
    SPRT(0, 200),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", type=int, default=200, help="of each hypothesis (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    print("| test | games | true Elo | wrong | stated | mean games | 95 % of tests within |")
    print("|---|---|---|---|---|---|---|")
    for test in TESTS:
        for kind in KINDS:
            for elo, wrong, rate in ((test.elo0, 1, test.alpha), (test.elo1, -1, test.beta)):
                chances = pair_chances(expected_score(elo), kind)
                verdicts, games = simulate(test, chances, given.tests, random)
                errors = int((verdicts == wrong).sum())
                low, high = wilson_interval(errors, given.tests)
                print(
                    f"| {test.elo0:g} / {test.elo1:g} | {kind} | {elo:g} | "
                    f"{errors / given.tests:.1%} ({low:.1%}..{high:.1%}) | {rate:g} | "
                    f"{games.mean():.0f} | {np.quantile(games, 0.95):.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
