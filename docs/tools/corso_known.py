"""Writes the results that ship with Corso, so that the first plies are answered soon.

    python docs/tools/corso_known.py analysis/corso/5x5.known.safetensors

It finds who wins each position after the first plies, and writes this with the results of the
positions that took the search the most work.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ludarium.analysis.corso import CorsoSolver
from ludarium.analysis.corso.known import first_positions, write_known
from ludarium.analysis.window import is_open
from ludarium.envs.registry import make_game


def make_known(path: Path, size: int, plies: int, entries: int, mebibytes: int) -> str:
    """Write the file; return a line about it.

    Raises:
        ValueError: there are fewer ``entries`` than first positions, or the table was too small.
    """
    solver = CorsoSolver(make_game("corso", size=size), mebibytes << 20)
    positions, started = first_positions(solver.game, plies), time.perf_counter()
    if entries < len(positions):
        raise ValueError(
            f"--entries is {entries:,}, and there are {len(positions):,} positions of the first "
            "plies: ask for as many at least"
        )
    for _ in range(2):  # again, because later results displace some
        solver.answer_all(positions, leads=False)
    lost = sum(is_open(each.low, each.high, False) for each in map(solver.recall, positions))
    if lost:
        raise ValueError(
            f"the table has lost the results of {lost:,} positions of {len(positions):,}: give "
            "more --memory"
        )
    known = solver.known(positions, entries)
    write_known(path, solver.game, known)
    return (
        f"{path}: {len(known):,} entries, {len(positions):,} of them of the first plies, "
        f"{path.stat().st_size:,} bytes; {solver.nodes:,} positions searched in "
        f"{time.perf_counter() - started:.0f} s"
    )


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, default=5, help="of the board (default %(default)s)")
    parser.add_argument("--plies", type=int, default=3, help="first plies (default %(default)s)")
    parser.add_argument("--entries", type=int, default=4096, help="(default %(default)s)")
    parser.add_argument("--memory", type=int, default=4096, help="MiB (default %(default)s)")
    given = parser.parse_args()
    print(make_known(given.path, given.size, given.plies, given.entries, given.memory))


if __name__ == "__main__":
    main()
