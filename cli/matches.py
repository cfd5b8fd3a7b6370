"""Arguments that commands which play matches share."""

from __future__ import annotations

import argparse

from ludarium.arena.contest import MOST_GAMES
from ludarium.training.evaluation.openings import MOST_PLIES

from .resources import read_number


def add_games(parser: argparse.ArgumentParser, about: str, default: int | None) -> None:
    """Add ``--games``."""
    parser.add_argument("--games", type=read_games, default=default, metavar="N", help=about)


def add_opening_plies(parser: argparse.ArgumentParser) -> None:
    """Add ``--opening-plies``."""
    parser.add_argument(
        "--opening-plies",
        type=_read_opening_plies,
        metavar="N",
        help="random plies at the start of each game; default: 0 to 3, varied",
    )


def read_games(text: str) -> int:
    """A number of games, two for each opening."""
    games = read_number(text, 2, MOST_GAMES, "a number of games")
    if games % 2:
        raise argparse.ArgumentTypeError(f"{games} is odd, and each opening has two games")
    return games


def _read_opening_plies(text: str) -> int:
    return read_number(text, 0, MOST_PLIES, "a number of random plies")
