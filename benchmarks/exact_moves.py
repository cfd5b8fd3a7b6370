"""Measures how far the shipped agents are from perfect play, by simulations.

    python benchmarks/exact_moves.py              # all games: minutes
    python benchmarks/exact_moves.py --tests "Onyx 6 x 6"
    python benchmarks/exact_moves.py picture      # draws the measurements so far

It counts the moves that keep the exact value in the hard positions of each game
(`ludarium.analysis.exact_tests`). Measurements are in docs/img/exact-moves.json, and the picture is
beside it. `ludarium curve` measures the same for the agents that a run has kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from common import Row, new_parser, print_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "img"
DATA = FOLDER / "exact-moves.json"
PICTURE = FOLDER / "exact-moves.svg"

#: The games with a hard test: name in the picture, game and options.
TESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Corso 5 x 5": ("corso", {}),
    "Onyx 6 x 6": ("onyx", {"size": 6}),
    "Obsidio 7 x 7": ("obsidio", {"size": 7}),
    "Obelisk": ("obelisk", {}),
    "Osiron, beginner's setup": ("osiron", {}),
    "Osiron, alternating setup": ("osiron", {"setup": "alternating"}),
    "Osiron, advanced movement": ("osiron", {"movement": "advanced"}),
}
PARTS = ("shipped", "picture")
SIMULATIONS = (0, 16, 100, 400, 800)
_COLOURS = ("#2f6690", "#c8553d", "#588157", "#8d6a9f", "#b08900", "#3a3a3a", "#4fa3a5")
_FAINT = "#d0ccc2"


def measure(test_name: str, simulations: tuple[int, ...]) -> list[Row]:
    """The rows of the shipped agent, one for each number of simulations."""
    from ludarium.analysis.accuracy import accuracy, moves_that_keep
    from ludarium.analysis.exact_tests import find_exact_test
    from ludarium.envs import make_game
    from ludarium.training.agents import make_agent

    name, options = TESTS[test_name]
    test = find_exact_test("hard", make_game(name, **options))
    rows = []
    for number in simulations:
        player = make_agent(f"{name}:{number}", test.game)
        found = accuracy(moves_that_keep(player.actions(test.states), test))
        rows.append(
            {
                "test": test_name,
                "simulations": number,
                "kept": found.to_dict(),
            }
        )
    return rows


def add_rows(rows: list[Row]) -> None:
    """Write rows to the data file; they replace those of equal test and simulations."""
    known = json.loads(DATA.read_text()) if DATA.exists() else []

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["test"], row["simulations"]

    kept = {key(row): row for row in [*known, *rows]}
    lines = ",\n".join(json.dumps(row) for row in kept.values())
    DATA.write_text(f"[\n{lines}\n]\n")


def draw() -> None:
    """Draw the shares by simulations."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = json.loads(DATA.read_text())
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ludarium", "font.size": 10}):
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        axes = figure.add_subplot()
        places = {number: place for place, number in enumerate(SIMULATIONS)}
        for colour, test in zip(_COLOURS, TESTS, strict=True):
            of_test = [row for row in rows if row["test"] == test]
            _line(axes, [places[row["simulations"]] for row in of_test], of_test, colour, test)
        axes.set_xticks(range(len(SIMULATIONS)), ["network\nalone", *map(str, SIMULATIONS[1:])])
        axes.set_xlabel("simulations a move")
        axes.set_ylabel("moves that keep the exact value, %")
        axes.legend(fontsize=8, loc="lower right", frameon=False)
        axes.grid(axis="y", color=_FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        figure.savefig(PICTURE, metadata={"Date": None})


def _line(axes: Any, x: list[float], rows: list[Row], colour: str, label: str) -> None:
    """Draw a line through shares in percent, with their 95 % intervals."""
    if not rows:
        return
    order = sorted(range(len(rows)), key=lambda index: x[index])
    shares, low, high = (
        np.array([100 * rows[index]["kept"][end] for index in order])
        for end in ("value", "low", "high")
    )
    axes.errorbar(
        [x[index] for index in order],
        shares,
        yerr=[shares - low, high - shares],
        fmt="o-",
        color=colour,
        label=label,
        capsize=2,
        markersize=4,
        linewidth=1.4,
        elinewidth=0.8,
    )


def main() -> None:
    """Measure the shipped agents, or draw the picture."""
    parser = new_parser(__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, default="shipped")
    parser.add_argument("--tests", nargs="+", choices=list(TESTS), default=list(TESTS))
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if given.quick:
        print_table(measure("Corso 5 x 5", (0, 2)), given.json)
    elif given.part == "picture":
        draw()
    else:
        for test in given.tests:
            add_rows(print_table(measure(test, SIMULATIONS), given.json))


if __name__ == "__main__":
    main()
