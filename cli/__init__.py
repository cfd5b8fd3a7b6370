"""The command line ``ludarium``: one module for each command; `main` is its entry point.

No other package of ludarium imports it.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn

from ludarium.base.console import UnreadError, output, say
from ludarium.base.messages import did_you_mean, quoted, shortened

try:
    from ludarium.envs import GAMES
    from ludarium.envs.engine.options import UnknownOptionError
except FileNotFoundError:  # PettingZoo asks for the current folder
    print("ludarium: the current folder was deleted: change to another one", file=sys.stderr)
    sys.exit(2)

from .interrupt import STOPPED, UNREAD, interrupt_by_signals, leave_by_signals
from .modules import describe_modules, take_modules
from .result import Result, name_options, show, warn, with_options

#: The commands in the order of the help; each is a module of this package.
_COMMANDS = (
    *("games", "agents", "train", "tune", "curve", "evaluate", "tournament", "compare", "levels"),
    *("report", "play", "page", "render", "analyse", "engine", "export", "push"),
    *("bench", "code", "solve", "probe", "accuracy", "puzzles", "language", "new", "check"),
)

#: The commands by other words of the field.
_SYNONYMS = {
    **{"match": "evaluate", "eval": "evaluate", "arena": "tournament", "elo": "tournament"},
    **{"selfplay": "train", "self-play": "train", "resume": "train", "serve": "play"},
    **{"sprt": "compare", "compile": "code", "upload": "push", "uci": "engine"},
}
#: The extra that is named where one of these commands lacks a package; for others it is "train".
_EXTRAS = {"export": "export", "tune": "tune"}
#: Packages of "train", which commands import only when they need them.
_TRAIN = ("matplotlib", "sb3_contrib", "stable_baselines3", "tensorboard", "torch", "yaml")

_DESCRIPTION = """\
Little-known abstract board games, and agents that learn them from nothing.

Look around and play
  ludarium help WORD                    a command, a game, or a kind of agent
  ludarium games                        the games, with their options
  ludarium agents                       the opponents, and how to name them
  ludarium play corso                   play against the shipped agent, in the browser
  ludarium play corso --opponent level:3  at a chosen strength; level:auto adapts to yours
  ludarium play onyx --option size=12 --opponent uct:1000
  ludarium page site                    the page to play on, for any web host
  ludarium render game.json --output game.gif  draw a saved game
  ludarium analyse corso --moves "c3 b2"      what the agent thinks of each move
  ludarium analyse corso --record game.json   ... and of each move of a game
  ludarium engine corso                 the same for programs: JSON lines in and out

Train and measure
  ludarium train corso                  train your own; Ctrl-C stops, the same command resumes
  ludarium tune corso --search learner.batch=256,512,1024   search for a better configuration
  ludarium curve runs/corso --test hard --plot curve.png   how it learnt, by time
  ludarium evaluate runs/corso          measure it against baselines
  ludarium evaluate runs/corso --against corso    ... and against the shipped agent
  ludarium tournament random uct:100 corso:16 corso    everyone against everyone, rated
  ludarium compare corso:128 corso:64   is it stronger? as few games as it takes
  ludarium levels corso                 opponents from weak to strong, and how they were measured
  ludarium export runs/corso            write its network as ONNX, for other programs
  ludarium push runs/corso me/corso     put it on the Hugging Face Hub, as hf:me/corso
  ludarium report corso                 a page about the game: balance, drama, skill, first moves
  ludarium bench                        how fast this machine is
  ludarium code corso --option size=6   compile a game beforehand, so that nothing waits for it

Exact values
  ludarium solve osiron                 compute the value of every position of a game
  ludarium probe osiron                 ask for the value of a position
  ludarium accuracy osiron              how often an agent plays a move of best value
  ludarium puzzles corso                positions in which one move alone keeps the win or the draw

Language models
  ludarium language corso --agent "llm:NAME?endpoint=URL"    a rating, and what its moves lose

A game of your own
  ludarium new noughts                  write its files: complete, small, yours to change
  ludarium check noughts                what is wrong with it
  ludarium --game-module noughts play noughts    a game that is in no installed package

Each command explains itself: ludarium help train. Most take --json for programs, and
--option NAME=VALUE for the rules of the game. A network of your own is taken from a module:
ludarium --network-module mine:Net train corso --config mine.yaml."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status.

    The status is 2 for a user's error or too little memory, `UNREAD` if nobody reads the output,
    and `STOPPED` after Ctrl-C, which is the usual end, with 0, of ``train`` and of the page that
    ``play`` serves. The help of a command tells where it is 1.

    Args:
        arguments: the words after ``ludarium``; default: those of this process, whose signals then
            act as `interrupt` says.

    Raises:
        SystemExit: the help or the version was printed.
        ImportError: an import fails that no extra of the package mends.
    """
    if arguments is None:
        interrupt_by_signals()
    words = sys.argv[1:] if arguments is None else arguments
    _ready_streams()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: warn(str(message))
        try:
            return _run(words)
        except UnicodeEncodeError as error:
            say(f"ludarium: {quoted(error.object)} cannot be stored as {error.encoding}")
            return 2
        except UnreadError:
            return UNREAD
        except (ValueError, OSError) as error:
            if isinstance(error, OSError) and error.filename is not None:
                name = quoted(os.fspath(error.filename), 100)
                error = OSError(f"cannot use {name} ({error.strerror}): name another one")
            # Python's half of this message is for libraries that pass keyword arguments.
            told = error.args[0] if isinstance(error, UnknownOptionError) else error
            say(f"ludarium: {with_options(str(told))}")
            return 2
        except MemoryError as error:
            say(f"ludarium: there is not enough memory: ask for less ({shortened(str(error))})")
            return 2
        except ImportError as error:
            if str(error.name).partition(".")[0] in _TRAIN:
                error = _needs_more(error.__cause__ or error, words)
            if "pip install" not in str(error):
                raise
            say(f"ludarium: {error}")
            return 2
        except KeyboardInterrupt:
            if arguments is None:
                leave_by_signals()  # even while Python ends
            say("\nludarium: stopped")
            return STOPPED


def _ready_streams() -> None:
    """Make the standard streams take any text, such as names of files that are not UTF-8.

    A closed standard input is then an empty one; writing to a closed standard output is an error,
    and what is written to a closed standard error is lost.
    """
    for name, mode, errors in (
        ("stdin", "r", "surrogateescape"),
        ("stdout", "r", "backslashreplace"),
        ("stderr", "w", "backslashreplace"),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like those of commands: one line, and the exit status 2."""

    _given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Raise ``ValueError``; an unknown option is reported rather than a missing argument."""
        if message.startswith("the following arguments are required"):
            for word in self._given:
                if word.startswith("--") and not self._begins_option(word.partition("=")[0]):
                    message = self._unrecognized([word])
                    break
        raise ValueError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest a similar word if the value is not among the choices."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            known = [str(each) for each in action.choices or ()]
            synonym = _SYNONYMS.get(str(value))
            meant = did_you_mean(synonym if synonym in known else str(value), known)
            message = error.message.replace(repr(value), quoted(value))
            raise argparse.ArgumentError(action, f"{message}{meant}") from None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments, and suggest what was meant."""
        self._given = args or ()
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(self._unrecognized(rest))
        return found, rest

    def _begins_option(self, word: str) -> bool:
        return any(name.startswith(word) for name in self._option_string_actions)

    def _unrecognized(self, words: Sequence[str]) -> str:
        word = words[0].partition("=")[0]
        meant = did_you_mean(word, self._option_string_actions) if word[:1] == "-" else ""
        return f"unrecognized arguments: {shortened(' '.join(words))}{meant}"

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print the help or the version; raise ``OSError`` if it cannot be printed."""
        output(message, end="")


def _run(arguments: Sequence[str]) -> int:
    """Run a command; errors are raised."""
    others = take_modules(arguments)  # first, because commands name the games in their help
    others = _answering_help(others)
    given = command_line(others[:1]).parse_args(others)
    name_options(given)
    result: Result | int = given.run(given)
    return result if isinstance(result, int) else show(result, given.json)


def _answering_help(words: list[str]) -> list[str]:
    """The words of the command that answers ``help`` and ``version``; other words as they are."""
    if words in ([], ["help"], ["help", "--help"]):
        return ["--help"]
    if words == ["version"]:
        return ["--version"]
    if words[0] != "help":
        return words
    _, word, *others = words
    if word in ("help", "version"):
        return ["--help"]
    if word in GAMES:
        return ["games", word, *others]
    is_command = word in (*_COMMANDS, *_SYNONYMS) or did_you_mean(word, _COMMANDS)
    return [word, *others, "--help"] if is_command else ["agents", word, *others]


def command_line(names: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        names: names of the commands to include; all if there are none or one is no command.

    Raises:
        ImportError: a package that a command of ``names`` imports is not installed; the message
            says how to install it. With all commands, the help says so instead.
    """
    from .arguments import add_command  # it takes long: only where Ctrl-C works

    parser = _Parser(
        prog="ludarium",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ludarium {version('ludarium')}")
    describe_modules(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    # `_answering_help` answers these two; other programs may parse a line of them.
    about = commands.add_parser("help", help="explain a command, a game, or a kind of agent")
    about.add_argument("words", nargs="*", metavar="WORD")
    commands.add_parser("version", help="print the version")
    asked = names if set(names) <= set(_COMMANDS) else ()
    for name in asked or _COMMANDS:
        try:
            command = import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if asked:
                raise _needs_more(error.__cause__ or error, names) from error
            commands.add_parser(name, help=f"needs more packages: {_installing([name])}")
        else:
            add_command(commands, name, command)
    return parser


def _needs_more(error: BaseException, words: Sequence[str]) -> ImportError:
    """The error if a package is not installed, with the extra of the command."""
    return ImportError(f"this needs more packages ({error}): {_installing(words)}")


def _installing(words: Sequence[str]) -> str:
    """How to install what the first command among some words needs."""
    command = next((word for word in words if word in _COMMANDS), "")
    return f'pip install "ludarium[{_EXTRAS.get(command, "train")}]"'
