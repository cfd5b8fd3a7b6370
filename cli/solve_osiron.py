"""``ludarium solve osiron``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from ludarium.analysis import ValueBounds
from ludarium.analysis.osiron import (
    OsironSolution,
    RuleSet,
    SolvedTable,
    all_rule_sets,
    table_path,
    view_of_game,
)
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import make_game
from ludarium.training.table import text_table

from .arguments import add_json, add_options, add_threads
from .common import read_options
from .progress import shown_progress
from .result import Result

HELP = "every position, in seconds"
DESCRIPTION = """\
Compute the value of every position of Osiron for its mover - won, lost or drawn, and in how
many plies if the winner hurries and the loser delays - by retrograde analysis: from the
finished games backwards, on all cores, in seconds. A position is a colouring of the 24
spaces, a player to move, the kind of exchange, and the pair that may not be exchanged back,
if any. There is a table for each movement and for each way, up to symmetry, in which circles
do not count: 11 with basic movement, 18 with advanced, where it matters who begins the rounds.

Play without end counts as a draw; draws by repetition and the ply cap are ignored. From an
empty start the placing decides which table applies.

  ludarium solve osiron                              beginner's start, basic movement
  ludarium solve osiron --option movement=advanced --option setup=alternating
  ludarium solve osiron --option setup=LLLLLDLLLDLLDDLDDDDLDDDD
  ludarium solve osiron --all --option movement=advanced --json       all 18 tables
  ludarium probe osiron --moves "b1-c1"              ask it
  ludarium play osiron --opponent perfect            play against the solution

Tables are kept in the cache folder, where `probe` and the agent `perfect` look for them. They are
named by the circles that do not count, 1 to 7 from the bottom left, first those of the player who
begins the rounds: 12-67 in the beginner's start, 0-0 if all count."""

#: The columns of `_cells`.
_COUNTED = ("won", "lost", "drawn", "longest win")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_options(parser)
    parser.add_argument(
        "--all", action="store_true", help="all tables of the movement, whatever the setup"
    )
    add_threads(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Solve, keep the tables, and return how many positions have which value."""
    game = make_game("osiron", **read_options(given.option))
    return _solve_all(game, given) if given.all else _solve_one(game, given)


def _solve_one(game: Game, given: argparse.Namespace) -> Result:
    """Solve the rule set of a game."""
    rules, view = view_of_game(game)
    _, result = _solved(rules, given.threads, int(view[0].exchanged))
    start = OsironSolution(game).value(game.start())
    data = {"game": game.name, "options": dict(game.options), **result}
    lines = [
        f"{game}, table {rules}, solved in {result['seconds']:.1f} s",
        _phases_text(result["phases"]),
        f"value of the start for player_0: {start}",
        f"table: {result['table']} ({result['bytes'] / 1e6:.1f} MB)",
    ]
    return Result(data | {"start": ValueBounds.exact(start).as_json()}, "\n".join(lines))


def _solve_all(game: Game, given: argparse.Namespace) -> Result:
    """Solve all rule sets of a movement."""
    results, rows = [], []
    for rules in all_rule_sets(game.options["movement"]):
        table, result = _solved(rules, given.threads)
        results.append(result)
        free, every = (_cells(counts.as_json()) for counts in table.totals)
        rows.append([str(rules), *free, *every, f"{result['seconds']:.1f}"])
    heads = [*_COUNTED, *(f"all: {head}" for head in _COUNTED)]
    data = {"game": game.name, "movement": game.options["movement"], "tables": results}
    return Result(data, text_table(["table", *heads, "seconds"], rows))


def _solved(
    rules: RuleSet, threads: int | None, exchanged: int = 0
) -> tuple[SolvedTable, dict[str, Any]]:
    """A table, computed and kept, and its description.

    ``exchanged`` is 1 if the players are exchanged in the table.
    """
    started = time.perf_counter()
    with shown_progress() as progress:
        table = SolvedTable.solve(rules, progress, threads)
    seconds = time.perf_counter() - started
    path = table.save(table_path(rules))
    phases = [
        {
            "mover": f"player_{phase % 2 ^ exchanged}",
            "exchange": ("bordering", "pointing")[phase // 2],
            "free": counts[0].as_json(),
            "forbidden": counts[1].as_json() if len(counts) > 1 else None,
        }
        for phase, counts in enumerate(table.counts)
    ]
    free, every = table.totals
    return table, {
        "rules": str(rules),
        "phases": phases,
        "free": free.as_json(),
        "all": every.as_json(),
        "layers": progress.done,
        "seconds": round(seconds, 2),
        "table": str(path),
        "bytes": path.stat().st_size,
    }


def _phases_text(phases: list[dict[str, Any]]) -> str:
    rows = [
        [phase["mover"], phase["exchange"], words, *_cells(phase[key])]
        for phase in phases
        for key, words in (("free", "none"), ("forbidden", "each"))
        if phase[key] is not None
    ]
    heads = ["to move", "exchange", "forbidden pair", *_COUNTED]
    return text_table(heads, rows, left=range(3), names=3)


def _cells(counts: dict[str, Any]) -> list[str]:
    numbers = (counts["won"], counts["lost"], counts["drawn"] + counts["without_exchange"])
    return [*(f"{number:,}" for number in numbers), f"{counts['longest_win']} plies"]
