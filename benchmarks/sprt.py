"""How often sequential tests err, and how many games they take: simulated, with known strengths.

    python benchmarks/sprt.py                  200 tests of each hypothesis
    python benchmarks/sprt.py --tests 2000

Rates of error come with their 95 % intervals (Wilson).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from common import Row, new_parser, print_table

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
    parser = new_parser(__doc__)
    parser.add_argument("--tests", type=int, default=200, help="of each hypothesis (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tests = 5 if given.quick else given.tests
    print_table(rows(tests, np.random.default_rng(given.seed)), given.json)


def rows(tests: int, random: np.random.Generator) -> Iterator[Row]:
    """A row for each test, kind of games and hypothesis."""
    for test in TESTS:
        for kind in KINDS:
            for elo, wrong, rate in ((test.elo0, 1, test.alpha), (test.elo1, -1, test.beta)):
                chances = pair_chances(expected_score(elo), kind)
                verdicts, games = simulate(test, chances, tests, random)
                errors = int((verdicts == wrong).sum())
                low, high = wilson_interval(errors, tests)
                yield {
                    "test": f"{test.elo0:g} / {test.elo1:g}",
                    "games": kind,
                    "true Elo": f"{elo:g}",
                    "wrong": f"{errors / tests:.1%} ({low:.1%}..{high:.1%})",
                    "stated": f"{rate:g}",
                    "mean games": round(games.mean()),
                    "95 % of tests within": round(float(np.quantile(games, 0.95))),
                }


if __name__ == "__main__":
    main()
