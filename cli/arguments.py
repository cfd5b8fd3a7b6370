"""Arguments that several commands share: numbers, output files, games and their options."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ludarium.arena.contest import MOST_GAMES
from ludarium.arena.schedule import MOST_SEED
from ludarium.base.files import MEGABYTE, read_text_file
from ludarium.base.messages import quoted
from ludarium.base.threads import available_cores
from ludarium.envs.one_side import MOST_OPENING_PLIES
from ludarium.training.evaluation.openings import MOST_DEFAULT_PLIES

_MOST_SECONDS = 7 * 24 * 3600.0
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def add_command(commands: argparse._SubParsersAction, name: str, module: ModuleType) -> None:
    """Add a command: a module with HELP, DESCRIPTION, add_arguments and, except `solve`, run."""
    parser = commands.add_parser(
        name,
        help=module.HELP,
        description=module.DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=name, run=getattr(module, "run", None))
    module.add_arguments(parser)
    words = parser._option_string_actions.items()
    options = {action.dest: word for word, action in words if word.startswith("--")}
    parser.set_defaults(option_words=options)


def read_bytes(text: str) -> int:
    """Read a number of bytes, such as ``4096``, ``512MiB`` or ``2G``, by powers of 1024."""
    match = re.fullmatch(
        r"([0-9]{1,18}(?:\.[0-9]{1,18})?)(?:([KMG])i?B?|B?)", text.strip(), re.IGNORECASE
    )
    if not match:
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} is not an amount of memory: write 2GiB or 512MiB"
        )
    return int(float(match[1]) * _UNITS[(match[2] or "").upper()])


def read_count(text: str) -> int:
    """Read a whole number from 0 to below 1e18, also written as ``1e7``."""
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        return int(text)  # all digits count, even beyond a float's
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e18 or number != int(number):
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} is not a whole number from 0 to below 1e18, such as 5000000 or 5e6"
        )
    return int(number)


def read_positive(text: str) -> int:
    """Read a whole number from 1 on, also written as ``1e7``."""
    number = read_count(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not 1 or more")
    return number


def read_seconds(text: str) -> float:
    """Read a number of seconds above 0, at most a week."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} is not a number of seconds above 0, at most {_MOST_SECONDS:.0f}"
        )
    return seconds


def read_number(text: str, low: int, high: int, what: str) -> int:
    """Read a whole number within bounds, in digits."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(high))
    if not is_number or not low <= int(text) <= high:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not {what} from {low} to {high:,}")
    return int(text)


def read_seed(text: str) -> int:
    """Read a seed."""
    return read_number(text, 0, MOST_SEED, "a seed")


def add_seed(parser: argparse.ArgumentParser, about: str, default: int | None = 1) -> None:
    """Add ``--seed``; the help names a default that is given."""
    told = about if default is None else f"{about} (default %(default)s)"
    parser.add_argument("--seed", type=read_seed, default=default, metavar="N", help=told)


def add_limit(parser: argparse.ArgumentParser, default: int) -> None:
    """Add ``--limit``, how many positions a search for exact values visits; absent it is None."""
    told = f"most positions searched to solve one (default {default:,}); more solves earlier ones"
    parser.add_argument("--limit", type=read_positive, metavar="N", help=told)


def add_position(parser: argparse._ActionsContainer, about: str) -> None:
    """Add ``--position``, the text of a position."""
    parser.add_argument(
        "--position", metavar="TEXT", help=f"{about}, as the guide's page on positions writes it"
    )


def add_simulations(
    parser: argparse.ArgumentParser, about: str, default: int | None = None
) -> None:
    """Add ``--simulations``; the help names a default that is given."""
    told = about if default is None else f"{about} (default %(default)s)"
    parser.add_argument("--simulations", type=read_count, default=default, metavar="N", help=told)


def output_file(*suffixes: str) -> Callable[[str], Path]:
    """An argument type for output files, which checks before any work that one can be written.

    Args:
        suffixes: the accepted suffixes; default: any.
    """

    def read(text: str) -> Path:
        if not text:
            raise argparse.ArgumentTypeError("the name of the file is empty")
        path = Path(text)
        if suffixes and path.suffix.lower() not in suffixes:
            raise argparse.ArgumentTypeError(
                f"{quoted(text, 200)} ends in none of {', '.join(suffixes)}"
            )
        try:
            require_writable(path)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return path

    return read


def require_writable(path: Path) -> None:
    """Raise ``ValueError`` unless a file can be written there, as far as can be told before."""
    name = quoted(str(path), 200)
    if path.is_dir():
        raise ValueError(f"{name} is a folder: name a file in it")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {quoted(str(folder), 200)}")
    if path.exists() and not path.is_file():
        raise ValueError(f"{name} is not a regular file: name another one")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"folder {quoted(str(folder), 200)} is not writable")


def add_resources(parser: argparse.ArgumentParser, memory: str) -> None:
    """Add ``--memory``, whose default is ``memory``, and ``--threads``."""
    parser.add_argument(
        "--memory",
        type=read_bytes,
        default=memory,
        metavar="BYTES",
        help="memory for the table of the search (default %(default)s)",
    )
    add_threads(parser)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add ``--threads``."""
    parser.add_argument(
        "--threads",
        type=read_positive,
        default=available_cores(),
        metavar="N",
        help="number of threads; default: one for each core that this process may use",
    )


def add_games(parser: argparse.ArgumentParser, about: str, default: int | None) -> None:
    """Add ``--games``; the help names a default that is given."""
    told = about if default is None else f"{about} (default %(default)s)"
    parser.add_argument("--games", type=read_games, default=default, metavar="N", help=told)


def add_opening_plies(parser: argparse.ArgumentParser) -> None:
    """Add ``--opening-plies``."""
    parser.add_argument(
        "--opening-plies",
        type=_read_opening_plies,
        metavar="N",
        help=f"random plies at the start of each game; default: up to {MOST_DEFAULT_PLIES}, "
        "varied, or none with --positions",
    )


def add_positions(parser: argparse.ArgumentParser) -> None:
    """Add ``--positions``, the texts in a file, which are checked with the game."""
    parser.add_argument(
        "--positions",
        type=_read_positions,
        metavar="FILE",
        help="games begin in turn at the positions of a file, one in each line, as the guide's "
        "page on positions writes them; each is played from both seats",
    )


def _read_positions(file: str) -> tuple[str, ...]:
    try:
        text = read_text_file(file, MEGABYTE, "positions")
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{quoted(file, 200)} has no positions: write one a line")
    return found


def read_games(text: str) -> int:
    """Read a number of games, two for each opening."""
    games = read_number(text, 2, MOST_GAMES, "a number of games")
    if games % 2:
        raise argparse.ArgumentTypeError(f"{games} is odd, and each opening has two games")
    return games


def _read_opening_plies(text: str) -> int:
    return read_number(text, 0, MOST_OPENING_PLIES, "a number of random plies")


def add_folder(parser: argparse.ArgumentParser, about: str) -> None:
    """Add ``--folder``, whose name must not be empty: that would be the current folder."""
    parser.add_argument("--folder", type=_folder, metavar="DIR", help=about)


def _folder(name: str) -> str:
    if not name:
        raise argparse.ArgumentTypeError("the name of the folder is empty")
    return name


def add_game(parser: argparse.ArgumentParser) -> None:
    """Add ``--game``, for commands that take agents."""
    parser.add_argument("--game", help="the game, for agents that are not trained")


def add_options(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add ``--option``, for the options of the game; ``more`` is the end of its help."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"an option of the game, such as size=6 (may be repeated; see `ludarium games`){more}",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="results as JSON on standard output; progress goes to standard error",
    )
