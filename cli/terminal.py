"""A game in the terminal against an agent: ``ludarium play --terminal``."""

from __future__ import annotations

import argparse
import json
import random
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from rich.markdown import Markdown
from rich.text import Text

from ludarium.analysis.thinking import make_thinker
from ludarium.arena.adaptive import AdaptiveAgent
from ludarium.base.console import plain_console, say
from ludarium.base.messages import named, quoted
from ludarium.base.storage import write_whole
from ludarium.envs.engine.compile import compile_in_background
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import Forfeit, RecordedGame, read_record_file
from ludarium.envs.registry import GAMES
from ludarium.training.agents import Agent, GameInPlay, read_agent
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS
from ludarium.training.table import text_table

from .common import agent_for, game_of, game_to_play, read_options, read_record
from .interrupt import STOPPED
from .modules import program
from .result import print_json
from .thoughts import headline, moves_table

_HELP = (
    ("a move", "in the game's notation (`moves` lists them)"),
    ("board", "the whole position"),
    ("moves", "all legal moves"),
    ("history", "the moves so far, numbered"),
    ("rules", "the rules in short"),
    ("hint", "the move that your opponent would play in your place"),
    ("eval", "your opponent's analysis of the position, and the best moves"),
    ("undo", "take back your last move and the answers to it"),
    ("save FILE", "write the game so far; `--resume FILE` goes on"),
    ("resign", "give the game up"),
    ("quit", "stop (moves and position are printed, so nothing is lost); Ctrl-C saves as well"),
)
_MOVES_SHOWN = 5  # moves shown by eval


def play_in_terminal(given: argparse.Namespace, remarks: Sequence[str] = ()) -> int:
    """Play one game; return the exit status.

    Args:
        given: the arguments of ``ludarium play``.
        remarks: lines to print first.
    """
    options = read_options(given.option)
    seed, saved_seat = random.SystemRandom().getrandbits(32), None
    start: str | None = given.position
    saved: RecordedGame | None = None
    if given.resume is not None:
        name = given.opponent_or_game if given.opponent_or_game in GAMES else None
        saved, record = read_record(given.resume, name, options, start=start)
        options, saved_seat = dict(saved.game.options), _seat_of(record, given.resume)
        if name is None:  # an agent of another game is refused
            game_of([given.opponent_or_game], {}, saved.game.name)
    game, opponent, notes = _find_opponent(given, options)
    begun = RecordedGame(game, seed, start) if saved is None else saved
    session = _TerminalGame(begun, opponent, _command_line(given), given.json)
    session.seat, why = _choose_seat(given, saved_seat, session.position)
    for note in [*remarks, *notes, why]:
        if note:
            session.say(note)
    status = session.run()
    if given.json:
        print_json(session.record())
    return status


def _find_opponent(
    given: argparse.Namespace, options: dict[str, Any]
) -> tuple[Game, Agent, list[str]]:
    """The game, the opponent, and notes on the choice for the person."""
    name, opponent = given.opponent_or_game, given.opponent
    if name in GAMES and opponent is None:
        return agent_for(name, None, options, given.simulations)
    game = game_to_play(name, opponent, options)
    return game, read_agent(opponent or name).with_simulations(given.simulations).make(game), []


def _choose_seat(
    given: argparse.Namespace, saved: int | None, position: Position
) -> tuple[int, str]:
    """The person's seat, and a note if the choice is not obvious."""
    if given.seat == "random" or (given.seat is None and given.resume is None):
        return random.SystemRandom().randrange(2), ""
    if given.seat is not None:
        return int(given.seat), ""
    if saved is not None:
        return saved, ""
    return position.mover, (
        f"{named(given.resume)} does not say which seat was yours: you take the seat that is to "
        f"move (--seat {1 - position.mover} takes the other)"
    )


def _seat_of(record: dict[str, Any], file: str) -> int | None:
    """The person's seat in a saved game; None if the record does not tell it."""
    seat = record.get("seat")
    if seat is not None and (type(seat) is not int or seat not in (0, 1)):
        raise ValueError(f"{named(file)}: seat is {quoted(seat)}; a seat is 0 or 1")
    return seat


def _command_line(given: argparse.Namespace) -> str:
    """The command that resumes a game against the same opponent, up to the file's name."""
    words = ["play", given.opponent_or_game]
    if given.opponent is not None:
        words += ["--opponent", given.opponent]
    if given.simulations != DEFAULT_SIMULATIONS:
        words += ["--simulations", str(given.simulations)]
    return f"{program()} {shlex.join([*words, '--resume'])}"


class _TerminalGame:
    """A person, an agent, and the game between them, which may be a saved one.

    Attributes:
        position: the present position.
        seat: the person's seat.
        history: the position before each move, and the move's text.
        forfeit: how the game was lost, if the person has resigned, or the saved game says so.
    """

    seat: int

    def __init__(
        self,
        begun: RecordedGame,
        opponent: Agent,
        command: str,
        to_stderr: bool,
    ) -> None:
        self.position = begun.game.start(begun.seed, begun.start)
        self.history: list[tuple[Position, str]] = []
        self.forfeit = begun.forfeit
        self._gone = ""  # the error, once the terminal is closed
        self._begun = begun
        # The position and all actions, as the opponent sees them.
        self._states = self.position.states
        self._actions: list[int] = []
        self._opponent = opponent
        self._opponents_game: GameInPlay | None = None
        self._command = command
        self._console = plain_console(stderr=to_stderr)
        self._thought: Thread | None = None
        self._commands: dict[str, Callable[[str], object]] = {
            "help": self._help,
            "board": self._board,
            "moves": self._moves,
            "history": self._history,
            "rules": self._rules,
            "hint": self._hint,
            "eval": self._eval,
            "undo": self._undo,
            "save": self._save,
        }
        for action in begun.actions:
            self.play(action)

    def say(self, text: str, style: str = "") -> None:
        """Print a text as it is, without wrapping its lines."""
        try:
            self._console.print(Text(text, style=style), soft_wrap=True)
        except OSError as error:
            self._gone = error.strerror or str(error)  # `_ask` then ends and saves the game

    def record(self) -> dict[str, Any]:
        """The game so far, with the person's seat."""
        played = self._begun._replace(actions=self._actions, forfeit=self.forfeit)
        return played.to_record() | {"seat": self.seat}

    def play(self, action: int) -> str:
        """Play an action and return its text."""
        before = self.position.copy()
        self.position.play(action)
        text = before.action_to_text(action)
        self.history.append((before, text))
        self._actions.append(action)
        self._states[:] = self.position.states
        return text

    def run(self) -> int:
        """Play until the game is over or the person leaves; return the exit status."""
        compile_in_background(self.position.game)  # for the opponent, while the person thinks
        first = "first" if self.seat == 0 else "second"
        self.say(f"{self.position.game.title} against {self._opponent.name}", "bold")
        self.say(f"You are {self._who(self.seat)} and move {first}; `help` explains.")
        status = 0
        try:
            while not self.position.is_over and self.forfeit is None and self._go_on():
                pass
        except KeyboardInterrupt:
            status = STOPPED
            self._keep()
        self._tell_result()
        if self._thought is None or not self._thought.is_alive():  # or it would be waited for
            self._end_opponents_game()
        self.say(f"moves: {self._listed(text for _, text in self.history) or 'none'}")
        if self.forfeit is None and not self.position.is_over:
            self.say(f"position: {self.position.text}")
        return status

    def _go_on(self) -> bool:
        """Play the opponent's move, or ask the person for one; False if the person stops."""
        if self.position.mover == self.seat:
            self.say("\n" + self.position.game.terminal.text(self.position))
            return self._ask_until_moved()
        try:
            with self._console.status("thinking ..."):
                action = self._think(self._opponents_choice)
            self.say(f"{self._opponent.name} plays {self.play(action)}", "bold")
        except Exception as error:  # whatever an agent raises, the game goes on
            self._opponents_game = None  # what it kept of the game may be wrong
            self.say(f"{self._opponent.name} cannot move: {_message_of(error)}", "red")
            return self._ask("Enter lets it try again; or undo, save FILE, quit: ")
        return True

    def _opponents_choice(self) -> int:
        """The opponent's move here, in its one game, of which it may keep a search tree."""
        if self._opponents_game is None:
            self._opponents_game = self._game_of(1 - self.seat)
        return int(self._opponent.play([self._opponents_game], self.position.states)[0])

    def _game_of(self, seat: int) -> GameInPlay:
        """The game so far in the opponent's view, as this player."""
        begun = self._begun
        game = GameInPlay(
            *(begun.game, 0, seat, begun.seed, self._states, self._actions, begun.start)
        )
        self._opponent.begin([game])
        return game

    def _end_opponents_game(self) -> None:
        """Tell the opponent that its game is over, or has gone back, so that it may learn."""
        game, self._opponents_game = self._opponents_game, None
        if game is None:
            return
        if self.forfeit is not None:
            game.forfeited_by = self.forfeit.player
        with suppress(Exception):  # whatever an agent raises, the result stays
            self._think(lambda: self._opponent.finish([game]))
        if game.reward is not None and isinstance(self._opponent, AdaptiveAgent):
            elo = f"{self._opponent.estimate.elo:.0f}"
            self.say(
                f"{self._opponent.name} takes you for {elo} Elo points now; to go on from there: "
                f'--opponent "level:auto?elo={elo}"'
            )

    def _ask_until_moved(self) -> bool:
        """Read lines until the number of moves changes; return False if the person stops."""
        played = len(self.history)
        while len(self.history) == played:
            to_do = self.position.to_do()
            if not self._ask(f"you are {self._who(self.seat)}, to {to_do}: "):
                return False
        return True

    def _ask(self, prompt: str) -> bool:
        """Read a line and do what it says; return False if the person stops: leaves or resigns.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed at the prompt, or the terminal is closed.
        """
        try:
            line = "" if self._gone else self._console.input(Text(prompt)).strip()
        except EOFError:
            self.say("")
            return False
        except OSError as error:
            self._gone = error.strerror or str(error)
        if self._gone:
            say(f"ludarium: the terminal is gone ({self._gone}), the game stops")
            raise KeyboardInterrupt
        word, _, rest = line.partition(" ")
        word = word.lower()
        if word in ("quit", "exit", "q"):
            return False
        if word == "resign":
            self.forfeit = Forfeit(self.seat)
            return False
        try:
            if word in self._commands:
                self._commands[word](rest.strip())
            elif line:
                self._answer_or_play(line)
        except KeyboardInterrupt:
            self.say("")  # Ctrl-C stops a hint or an analysis, not the game
        except Exception as error:  # no input ends the game
            self.say(_message_of(error), "red")
        return True

    def _answer_or_play(self, line: str) -> None:
        """Run a command of the game, or play a move."""
        game, position = self.position.game, self.position
        answer = game.terminal.answer(position, line.lower().split())
        if answer is not None:
            self.say(answer)
        elif position.mover != self.seat:
            raise ValueError(f"it is not your turn: {self._who(1 - self.seat)} is to move")
        else:
            self.play(position.text_to_action(line))

    def _who(self, player: int) -> str:
        marks = self.position.game.marks(self.position, player)
        return f"player_{player} ({marks})" if marks else f"player_{player}"

    def _tell_result(self) -> None:
        name = self._opponent.name
        if self.forfeit == Forfeit(self.seat):
            self.say(f"You resign: {name} wins.", "bold")
        elif self.forfeit is not None:
            winner = "you win" if self.forfeit.player != self.seat else f"{name} wins"
            self.say(f"{self.forfeit.told(self.position.game)}: {winner}.", "bold")
        elif self.position.is_over:
            self.say("\n" + self.position.game.terminal.text(self.position))
            points = self.position.points
            told = f", {max(points)} to {min(points)}" if points is not None else ""
            results = {1: "You win", -1: f"{name} wins", 0: "A draw"}
            self.say(f"{results[self.position.rewards[self.seat]]}{told}.", "bold")

    def _think(self, function: Callable[[], Any]) -> Any:
        """Call a function of the opponent in a thread, so that Ctrl-C works during compiled code.

        An interrupted call runs to its end before the next one starts, because both would write
        into the same memory.
        """
        if self._thought is not None:
            self._thought.join()
        result: list[Any] = []

        def work() -> None:
            try:
                result.append(function())
            except BaseException as error:
                result.append(error)

        self._thought = Thread(target=work, daemon=True)
        self._thought.start()
        self._thought.join()
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]

    # Commands.

    def _help(self, _: str) -> None:
        commands = [*_HELP, *self.position.game.terminal.commands]
        self.say(text_table(None, commands, left=(0, 1), terminal=False))

    def _board(self, _: str) -> None:
        self.say(self.position.board_text())

    def _moves(self, _: str) -> None:
        texts = [self.position.action_to_text(action) for action in self.position.legal_actions]
        self._console.print(Text(self._listed(texts)))

    def _listed(self, texts: Any) -> str:
        """Moves in a line, with commas between them if any contains a space."""
        texts = list(texts)
        return (", " if any(" " in text for text in texts) else " ").join(texts)

    def _history(self, _: str) -> None:
        if not self.history:
            self.say("no move has been played")
        for number, (before, text) in enumerate(self.history, 1):
            who = "you" if before.mover == self.seat else self._opponent.name
            self.say(f"{number:>3}. {text}  ({who})")

    def _rules(self, _: str) -> None:
        self._console.print(Markdown(self.position.game.rules_text()))

    def _hint(self, _: str) -> None:
        action = self._think(self._choice_in_your_place)
        self.say(f"{self._opponent.name} would play {self.position.action_to_text(action)}")

    def _choice_in_your_place(self) -> int:
        game = self._game_of(self.position.mover)
        try:
            return int(self._opponent.play([game], self.position.states)[0])
        finally:
            self._opponent.finish([game])

    def _eval(self, _: str) -> None:
        analysis = self._think(lambda: make_thinker(self._opponent, self.position, True).think())
        mover = self.position.mover
        self.say(headline(analysis, "you" if mover == self.seat else self._opponent.name))
        self.say(moves_table(analysis, _MOVES_SHOWN, terminal=False))

    def _undo(self, _: str) -> None:
        """Go back to the position before the person's last move."""
        for index in reversed(range(len(self.history))):
            before, _ = self.history[index]
            if before.mover == self.seat:
                self._end_opponents_game()
                self.position = before
                del self.history[index:]
                self._actions = self._actions[:index]
                self._states = before.states
                return
        self.say("there is nothing to take back")

    def _save(self, file: str) -> None:
        if not file:
            raise ValueError("save where? write: save FILE")
        if Path(file).exists() and not {"game", "moves"} <= read_record_file(file).keys():
            raise ValueError(f"{named(file)} is not a saved game: it has no game and moves")
        self._write(Path(file))

    def _write(self, path: Path) -> None:
        content = json.dumps(self.record(), ensure_ascii=False, indent=1) + "\n"
        write_whole(path, content.encode())
        self.say(f"saved; go on with: {self._command} {shlex.quote(str(path))}")

    def _keep(self) -> None:
        """Save the game under a new name in this folder, or else in the temporary folder."""
        self.say("")
        if not self.history:
            return
        name = f"ludarium-{self.position.game.name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        for folder in (Path(), Path(tempfile.gettempdir())):
            try:
                self._write(folder / name)
            except OSError as error:
                self.say(f"not saved: {error}", "red")
            else:
                return


def _message_of(error: Exception) -> str:
    """An error in a line; its type is left out if the message explains it."""
    if isinstance(error, ValueError | OSError):
        return str(error)
    return f"{type(error).__name__}: {error}"
