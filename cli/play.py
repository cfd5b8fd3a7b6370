"""``ludarium play``: a game in the terminal against an agent."""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import check_record, make_record
from ludarium.envs.registry import GAMES, make_game
from ludarium.training.agents import Agent, make_agent
from ludarium.training.agents.checkpoints import shipped_agent

from .common import add_options, game_and_agent, print_json, read_options

_DESCRIPTION = """\
Play in the terminal.

  ludarium play corso                          the trained agent that comes along
  ludarium play runs/corso --seat 1            the agent of a run; it moves first
  ludarium play corso --opponent uct:1000      a baseline
  ludarium play corso --simulations 4          an agent that hardly looks ahead

At the prompt: a move in the game's notation, or moves, hint, undo, save FILE, help, quit."""

_HELP = """\
  a move   in the game's notation (`moves` lists them)
  moves    all legal moves
  hint     what the opponent would play in your place
  undo     take back your last move and the answers to it
  save F   write the game so far to file F; `--resume F` goes on with it
  quit     stop (the moves are printed, so nothing is lost)"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "play",
        help="play against an agent in the terminal",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "opponent_or_game",
        metavar="GAME|CHECKPOINT",
        help=f"a game ({', '.join(GAMES)}), a checkpoint, or a run's folder",
    )
    parser.add_argument(
        "--opponent",
        metavar="AGENT",
        help="random, greedy, uct:PLAYOUTS, alphabeta:DEPTH, perfect, ...",
    )
    parser.add_argument(
        "--seat", choices=("0", "1", "random"), default="random", help="0 moves first"
    )
    parser.add_argument(
        "--simulations", type=int, default=64, help="of a trained opponent, for each move"
    )
    parser.add_argument("--resume", metavar="FILE", help="go on with a saved game")
    add_options(parser)
    parser.add_argument(
        "--json", action="store_true", help="the record of the game as JSON on standard output"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Play one game."""
    options = read_options(given.option)
    name, seed = given.opponent_or_game, random.SystemRandom().getrandbits(32)
    moves: list[int] = []
    if given.resume is not None:
        record = _read_record(given.resume)
        if name in GAMES and record.get("game") != name:
            raise ValueError(f"{given.resume} is a game of {record.get('game')!r}, not of {name}")
        recorded, seed, moves = check_record(record, GAMES)
        options = dict(recorded.options) | options
    if given.opponent is not None and name in GAMES:
        game = make_game(name, **options)
        opponent: Agent = make_agent(given.opponent, game)
    elif name in GAMES and shipped_agent(name) is None:
        game = make_game(name, **options)
        opponent = make_agent("uct:1000", game)
    else:
        game, opponent = game_and_agent(name, options, given.simulations)
        if given.opponent is not None:
            opponent = make_agent(given.opponent, game)
    seat = random.SystemRandom().randrange(2) if given.seat == "random" else int(given.seat)
    table = _Table(
        game.start(seed), seed, opponent, seat, Console(highlight=False, stderr=given.json)
    )
    for action in moves:
        table.play(action)
    table.run()
    if given.json:
        print_json(table.record())
    return 0


def _read_record(file: str) -> dict:
    try:
        record = json.loads(Path(file).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is no saved game: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"{file} is no saved game: it holds no mapping")
    return record


class _Table:
    """A person, an agent, and the game between them."""

    def __init__(
        self, position: Position, seed: int, opponent: Agent, seat: int, console: Console
    ) -> None:
        self.position = position
        self.seed = seed
        self.opponent = opponent
        self.seat = seat
        self.console = console
        self.history: list[tuple[Position, str]] = []  # each position before a move, the move

    def record(self) -> dict:
        """The game so far."""
        moves = [text for _, text in self.history]
        return make_record(self.position.game, self.seed, moves, self.position)

    def play(self, action: int) -> str:
        """Play an action and return its text."""
        text = self.position.action_to_text(action)
        self.history.append((self.position.copy(), text))
        self.position.play(action)
        return text

    def run(self) -> None:
        """Play until the game is over or the person leaves."""
        title = self.position.game.title
        who = "first" if self.seat == 0 else "second"
        self.console.print(
            f"[bold]{title}[/] against {self.opponent.name}. You move {who}; `help` explains."
        )
        leaving = False
        while not self.position.is_over and not leaving:
            if self.position.mover == self.seat:
                self.show()
                leaving = not self._ask()
            else:
                with self.console.status("thinking ..."):
                    action = self.opponent.choose(self.position)
                self.console.print(f"{self.opponent.name} plays [bold]{self.play(action)}[/]")
        if self.position.is_over:
            self.show()
            mine = self.position.rewards[self.seat]
            result = {1: "You win", -1: f"{self.opponent.name} wins", 0: "A draw"}[mine]
            points = ""
            if self.position.game.max_score:
                lead = self.position.score * (1 - 2 * self.seat)
                points = f" by {abs(lead)}" if lead else ""
            self.console.print(f"[bold]{result}{points}.[/]")
        moves = " ".join(text for _, text in self.history)
        self.console.print(f"moves: {moves or 'none'}")

    def show(self) -> None:
        """Print the board."""
        self.console.print()
        self.console.print(Text(self.position.board_text()))
        if self.position.game.max_score:
            lead = self.position.score * (1 - 2 * self.seat)
            standing = f"{'ahead' if lead > 0 else 'behind'} by {abs(lead)}" if lead else "level"
            self.console.print(f"you are {standing}")

    def _ask(self) -> bool:
        """One line from the person; False when they leave."""
        try:
            line = self.console.input("your move: ").strip()
        except (EOFError, KeyboardInterrupt):
            self.console.print()
            return False
        word, _, rest = line.partition(" ")
        commands = {"help": self._help, "moves": self._moves, "hint": self._hint}
        if word.lower() in ("quit", "exit", "q"):
            return False
        if word.lower() in commands:
            commands[word.lower()]()
        elif word.lower() == "undo":
            self._undo()
        elif word.lower() == "save":
            self._save(rest.strip())
        elif line:
            try:
                self.play(self.position.text_to_action(line))
            except ValueError as error:
                self.console.print(Text(str(error), style="red"))
        return True

    def _help(self) -> None:
        self.console.print(_HELP)

    def _moves(self) -> None:
        texts = [self.position.action_to_text(action) for action in self.position.legal_actions]
        self.console.print(Text(" ".join(texts)))

    def _hint(self) -> None:
        action = self.opponent.choose(self.position)
        self.console.print(f"I would play [bold]{self.position.action_to_text(action)}[/]")

    def _undo(self) -> None:
        """Back to the person's last own decision."""
        for index in reversed(range(len(self.history))):
            before, _ = self.history[index]
            if before.mover == self.seat:
                self.position = before
                del self.history[index:]
                return
        self.console.print("there is nothing to take back")

    def _save(self, file: str) -> None:
        if not file:
            self.console.print("save where? write: save FILE")
            return
        try:
            Path(file).write_text(json.dumps(self.record(), indent=1), encoding="utf-8")
        except OSError as error:
            self.console.print(Text(f"not saved: {error}", style="red"))
        else:
            self.console.print(f"saved; go on with: ludarium play {_shell_name()} --resume {file}")


def _shell_name() -> str:
    """What the person called the opponent on the command line."""
    return sys.argv[2] if len(sys.argv) > 2 else "GAME"
