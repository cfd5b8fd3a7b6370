"""The command line ``ludarium``: one module for each command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

#: Where each command lives, in the order of the help.
_COMMANDS = (
    "ludarium.cli.games",
    "ludarium.cli.train",
    "ludarium.cli.evaluate",
    "ludarium.cli.rate",
    "ludarium.cli.play",
    "ludarium.cli.export",
    "ludarium.cli.bench",
    "ludarium.cli.solve",
    "ludarium.cli.probe",
    "ludarium.cli.accuracy",
)

_DESCRIPTION = """\
Little-known abstract board games, and agents that learn them from nothing.

  ludarium games                        what there is to play
  ludarium play corso                   play against the trained agent that comes along
  ludarium train corso                  train one of your own; Ctrl-C stops, the same resumes
  ludarium evaluate runs/corso          measure it against baselines
  ludarium rate corso                   put baselines on a common Elo scale
  ludarium export corso                 write its network for programs without PyTorch
  ludarium bench                        how fast this machine is
  ludarium solve osiron                 compute what every position of a game is worth
  ludarium probe osiron                 ask what a position is worth
  ludarium accuracy osiron              how often an agent keeps what a position is worth

Each command explains itself: ludarium train --help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status (2 for what the user can put right)."""
    parser = argparse.ArgumentParser(
        prog="ludarium",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ludarium {version('ludarium')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    try:
        for module in _COMMANDS:
            import_module(module).add_parser(commands)
    except ModuleNotFoundError as error:
        print(
            f"ludarium: the command line needs more packages ({error}): "
            'pip install "ludarium[train]"',
            file=sys.stderr,
        )
        return 2
    given = parser.parse_args(arguments)
    try:
        return given.run(given)
    except BrokenPipeError:
        return 0
    except (ValueError, OSError) as error:
        print(f"ludarium: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        if "ludarium[" not in str(error):
            raise
        print(f"ludarium: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nludarium: stopped", file=sys.stderr)
        return 130
