"""How far agents are from perfect play: by simulations, and by the time of training.

    python benchmarks/learning_curves.py shipped                # agents that come along
    python benchmarks/learning_curves.py trained --minutes 0.5 1 2
    python benchmarks/learning_curves.py picture                # of what was measured so far

Counts the moves that keep the exact value in the hard positions of each game
(`ludarium.analysis.exact_tests`). ``trained`` trains Corso from nothing on one core, by the shipped
configuration, once for each number of minutes of processor time. What was measured is in
docs/img/learning-curves.json, which each part adds its rows to; the picture is beside it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ablations import train_by_processor_time
from common import Row, new_parser, print_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "img"
DATA = FOLDER / "learning-curves.json"
PICTURE = FOLDER / "learning-curves.svg"

#: Name in the picture, game and options of what has a hard test.
TESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Corso 5 x 5": ("corso", {}),
    "Onyx 6 x 6": ("onyx", {"size": 6}),
    "Obsidio 7 x 7": ("obsidio", {"size": 7}),
    "Obelisk": ("obelisk", {}),
    "Osiron, beginner's setup": ("osiron", {}),
    "Osiron, alternating setup": ("osiron", {"setup": "alternating"}),
    "Osiron, advanced movement": ("osiron", {"movement": "advanced"}),
}
PARTS = ("shipped", "trained", "picture")
SIMULATIONS = (0, 16, 100, 400, 800)
_TRAINED = "Corso 5 x 5"
_SHIPPED = "shipped"
_COLOURS = ("#2f6690", "#c8553d", "#588157", "#8d6a9f", "#b08900", "#3a3a3a", "#4fa3a5")
_FAINT = "#d0ccc2"


def measure(test_name: str, agent: str, simulations: tuple[int, ...]) -> list[Row]:
    """Rows of an agent, given by name, at each number of simulations."""
    from ludarium.analysis.accuracy import accuracy, moves_that_keep
    from ludarium.analysis.exact_tests import read_exact_test, shipped_test
    from ludarium.envs import make_game
    from ludarium.training.agents import make_agent

    name, options = TESTS[test_name]
    path = shipped_test(make_game(name, **options))
    if path is None:
        raise SystemExit(f"there is no hard test of {test_name}")
    test = read_exact_test(path)
    rows = []
    for number in simulations:
        player = make_agent(f"{agent}:{number}", test.game)
        found = accuracy(moves_that_keep(player.actions(test.states), test))
        rows.append(
            {
                "test": test_name,
                "agent": _SHIPPED if agent == name else agent,
                "simulations": number,
                "kept": found.kept,
                "positions": found.positions,
                "share": round(found.share, 4),
                "interval_95": [round(end, 4) for end in found.interval],
            }
        )
    return rows


def train(minutes: float, folder: Path) -> None:
    """Train Corso from nothing for so many minutes of processor time on one core."""
    from ludarium.configs import apply_settings, load_config

    config = apply_settings(
        load_config("corso/default"),
        ["self_play.workers=1", "evaluation.every=0", f"budget.minutes={minutes}"],
    )
    train_by_processor_time(config, folder)


def trained_rows(minutes: float) -> list[Row]:
    """Rows of an agent that is trained for so many minutes."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        train(minutes, run)
        rows = measure(_TRAINED, str(run), (0, 16, 100))
    return [{**row, "agent": f"{minutes:g} min", "minutes": minutes} for row in rows]


def add_rows(rows: list[Row]) -> None:
    """Write rows to the data file, in place of older ones of the same agents and numbers."""
    known = json.loads(DATA.read_text()) if DATA.exists() else []

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["test"], row["agent"], row["simulations"]

    kept = {key(row): row for row in [*known, *rows]}
    lines = ",\n".join(json.dumps(row) for row in kept.values())
    DATA.write_text(f"[\n{lines}\n]\n")


def draw() -> None:
    """Draw the data: shares by simulations, and by minutes of training."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = json.loads(DATA.read_text())
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ludarium", "font.size": 10}):
        figure = Figure(figsize=(9.6, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        places = {number: place for place, number in enumerate(SIMULATIONS)}
        for colour, test in zip(_COLOURS, TESTS, strict=True):
            shipped = [row for row in rows if (row["test"], row["agent"]) == (test, _SHIPPED)]
            _line(left, [places[row["simulations"]] for row in shipped], shipped, colour, test)
        left.set_xticks(range(len(SIMULATIONS)), ["network\nalone", *map(str, SIMULATIONS[1:])])
        left.set_xlabel("simulations a move")
        left.set_ylabel("moves that keep the exact value, %")
        left.set_title("Agents that come along", loc="left", fontsize=11)
        left.legend(fontsize=8, loc="lower right", frameon=False)
        trained = [row for row in rows if "minutes" in row]
        for colour, number in zip(_COLOURS, (0, 16, 100), strict=False):
            line = [row for row in trained if row["simulations"] == number]
            label = f"{number} simulations" if number else "network alone"
            _line(right, [row["minutes"] for row in line], line, colour, label)
        minutes = sorted({row["minutes"] for row in trained})
        right.set_xscale("log")
        right.set_xticks(minutes, [f"{each:g}" for each in minutes])
        right.minorticks_off()
        right.set_xlabel("minutes of training, one core")
        right.set_title(f"{_TRAINED}, trained from nothing", loc="left", fontsize=11)
        right.legend(fontsize=8, loc="lower right", frameon=False)
        for axes in (left, right):
            axes.grid(axis="y", color=_FAINT, linewidth=0.6)
            axes.set_axisbelow(True)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        figure.savefig(PICTURE, metadata={"Date": None})


def _line(axes: Any, x: list[float], rows: list[Row], colour: str, label: str) -> None:
    """A line through shares in percent, with their 95 % intervals."""
    if not rows:
        return
    order = sorted(range(len(rows)), key=lambda index: x[index])
    shares = [100 * rows[index]["share"] for index in order]
    below = [100 * (rows[i]["share"] - rows[i]["interval_95"][0]) for i in order]
    above = [100 * (rows[i]["interval_95"][1] - rows[i]["share"]) for i in order]
    axes.errorbar(
        [x[index] for index in order],
        shares,
        yerr=[below, above],
        fmt="o-",
        color=colour,
        label=label,
        capsize=2,
        markersize=4,
        linewidth=1.4,
        elinewidth=0.8,
    )


def main() -> None:
    """Measure one part, or draw the picture."""
    parser = new_parser(__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, default="shipped")
    parser.add_argument("--tests", nargs="+", choices=list(TESTS), default=list(TESTS))
    parser.add_argument("--minutes", nargs="+", type=float, default=[0.5, 1, 2])
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if given.quick:
        print_table(measure(_TRAINED, "corso", (0, 2)), given.json)
    elif given.part == "picture":
        draw()
    elif given.part == "trained":
        for minutes in given.minutes:
            add_rows(print_table(trained_rows(minutes), given.json))
    else:
        for test in given.tests:
            add_rows(print_table(measure(test, TESTS[test][0], SIMULATIONS), given.json))


if __name__ == "__main__":
    main()
