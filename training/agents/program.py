"""``engine:COMMAND``: an external program that speaks the engine's lines of JSON.

``docs/guide/engine.md`` documents the protocol, of which a program must support two requests, and
what happens when it fails.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, Full, Queue, SimpleQueue
from threading import Thread
from typing import IO, Any

import msgspec
import numpy as np

from ludarium.base.console import say
from ludarium.base.files import MEGABYTE, load_json
from ludarium.base.messages import quoted, shortened
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.position import Position
from ludarium.training.search.result import Budget

from .agent import Agent, AgentSpec, Seed
from .settings import duration_text, read_duration, read_number, setting

#: Seconds that a program has for an answer, beyond its thinking time.
LIMIT = 60.0

_START = 120.0  # seconds until the first answer, as a program may compile first
_LONGEST_LINE = 16 * MEGABYTE  # longest answer in bytes
_LINES_WAITING = 4  # unread answers; beyond them the program waits
_LONGEST_WORDS = 1 << 16  # bytes of a line of standard error; a longer one is split
_LINES_KEPT = 5  # lines of standard error that are kept for messages
_MOST_SAID = 150  # characters of these, the last ones
_GRACE = 2.0  # seconds for it to end by itself after its input has ended


class _Move(msgspec.Struct):
    move: str
    order: int = 0


class _EngineAnswer(msgspec.Struct, rename="camel"):
    """The fields of an answer that this module reads."""

    id: str | None = None
    error: str | None = None
    warning: Any = None
    is_during_search: bool = False
    move_infos: list[_Move] | None = None
    game: str | None = None
    options: dict[str, Any] | None = None


class _Program:
    """A running program, which ends with this object, or with Python.

    Args:
        name: the agent's name, for messages.
        command: the program and its arguments; no shell reads them.

    Attributes:
        heard: the last line that it wrote.

    Raises:
        ValueError: it cannot be started.
    """

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self._name = name
        self.heard = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is for this process, which then ends the program.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # on Windows
            )
        except (OSError, ValueError) as error:
            raise ValueError(f"{name} cannot be started: {error}") from None
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._inbox: Queue[bytes | None] = Queue(_LINES_WAITING)
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)
        self._ids = map(str, itertools.count(1))
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        writing, reading, talking = (
            Thread(target=work, args=arguments, daemon=True)
            for work, arguments in (
                (_write, (streams[0], self._outbox)),
                (_read, (streams[1], self._inbox, self._process)),
                (_repeat, (streams[2], name, self._said)),
            )
        )
        self._talking = talking
        for thread in (writing, reading, talking):
            thread.start()
        self.end = weakref.finalize(self, _end, self._process, self._outbox)

    def ask(self, requests: Sequence[dict[str, Any]], limit: float) -> list[_EngineAnswer]:
        """Send requests, and wait for the final answer to each.

        Args:
            requests: the requests, without their ``id``.
            limit: seconds until the first answer, and between answers.

        Raises:
            ValueError: the program has failed, and was ended; the message says how.
        """
        ids = [next(self._ids) for _ in requests]
        for name, request in zip(ids, requests, strict=True):
            self._outbox.put(json.dumps({"id": name, **request}).encode() + b"\n")
        answers: dict[str, _EngineAnswer] = {}
        deadline = time.monotonic() + limit
        had_ended = False
        while len(answers) < len(ids):
            left = deadline - time.monotonic()
            try:
                if left <= 0:  # even if lines came, none of which was an answer
                    raise Empty
                line = self._inbox.get(timeout=min(left, _GRACE))
            except Empty:
                status = self._process.poll()
                is_late = time.monotonic() >= deadline
                if status is not None and (had_ended or is_late):
                    # A child of its own keeps its output open.
                    raise self.fail(f"ended, with exit status {status}") from None
                if is_late:
                    raise self.fail(f"did not answer within {duration_text(limit)}") from None
                had_ended = status is not None
                continue
            if line is None:
                try:
                    status = self._process.wait(_GRACE)
                except subprocess.TimeoutExpired:
                    raise self.fail("closed its output") from None
                raise self.fail(f"ended, with exit status {status}")
            if not line.strip():
                continue
            self.heard = line
            try:
                answer: _EngineAnswer = load_json(line, "the answer", _EngineAnswer)
            except ValueError as error:
                raise self.fail(f"wrote {quoted(line.decode(errors='replace'))}: {error}") from None
            if answer.error is not None and answer.id in (None, *ids):
                raise self.fail(f"answered with the error {quoted(answer.error, 200)}")
            is_final = answer.warning is None and not answer.is_during_search
            if is_final and answer.id in ids:
                answers[answer.id] = answer
                deadline = time.monotonic() + limit
        return [answers[name] for name in ids]

    def fail(self, reason: str) -> ValueError:
        """End the program; return the error that says why."""
        self.end()
        self._talking.join(_GRACE)
        words = " / ".join(self._said)
        last = words if len(words) <= _MOST_SAID else f"...{words[-_MOST_SAID:]}"
        said = f"; it said: {last}" if last else ""
        return ValueError(f"{self._name} {shortened(reason)}{said}")


def _write(stream: IO[bytes], outbox: SimpleQueue[bytes | None]) -> None:
    """Write the box's contents until None, or until nobody reads."""
    with suppress(OSError), stream:
        while (line := outbox.get()) is not None:
            stream.write(line)
            stream.flush()


def _read(stream: IO[bytes], inbox: Queue[bytes | None], process: subprocess.Popen[bytes]) -> None:
    """Put each line into the box, and None at the end.

    If the box is full, this waits until it is not, or the program has ended.
    """
    line: bytes | None = b""
    with stream:
        while line is not None:
            line = stream.readline(_LONGEST_LINE) or None
            while True:
                try:
                    inbox.put(line, timeout=_GRACE)
                    break
                except Full:
                    if process.returncode is not None:
                        return


def _repeat(stream: IO[bytes], name: str, said: deque[str]) -> None:
    """Copy a program's standard error to ours, each line with the agent's name; keep the last."""
    with stream:
        while words := stream.readline(_LONGEST_WORDS):
            for line in words.replace(b"\r", b"\n").split(b"\n"):
                text = shortened(line.decode(errors="replace").rstrip(), 300)
                if text:
                    said.append(text)
                    say(f"{name}: {text}")


def _end(process: subprocess.Popen[bytes], outbox: SimpleQueue[bytes | None]) -> None:
    """End a program: close its input, then kill what still runs of it (on POSIX its children too).

    It has `_GRACE` seconds to end by itself.
    """
    outbox.put(None)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    with suppress(OSError):  # all of its processes have ended
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _words(command: str, posix: bool = os.name == "posix") -> list[str]:
    """The words of a command; on Windows a backslash is part of a path, not an escape."""
    words = shlex.split(command, posix=posix)
    if not posix:
        words = [word[1:-1] if re.fullmatch(r"([\"']).*\1", word) else word for word in words]
    return words


class ProgramAgent(Agent):
    """Asks a program that thinks about whole games: it is told all moves, and where they begin.

    The program is told the budget's simulations and seconds, if there are any. The program starts
    and ends with this object; a copy of this object starts its own. A program that fails is ended,
    and the caller gets the error; the next decision starts it again.

    Args:
        game: the rules.
        command: the program and its arguments.
        name: the agent's name.
        seed: see `Agent`; the program is not told it.
        budget: budget for each decision.
        limit: seconds for each answer, beyond those of the budget.

    Raises:
        ValueError: the program cannot be started, does not answer, or plays another game.
    """

    def __init__(
        self,
        game: Game,
        command: Sequence[str],
        name: str = "engine",
        seed: Seed = None,
        budget: Budget | None = None,
        limit: float = LIMIT,
    ) -> None:
        super().__init__(game, name, seed, budget=budget)
        self._command = list(command)
        self._limit = limit
        self._program: _Program | None = None
        self._running()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_program": None}

    def _running(self) -> _Program:
        """The program, started if it is not running."""
        if self._program is None or not self._program.end.alive:
            program = _Program(self.name, self._command)
            (answer,) = program.ask([{"action": "query_version"}], max(_START, self._limit))
            options = json.loads(json.dumps(dict(self.game.options)))
            if answer.game is None or answer.options is None:
                told = quoted(program.heard.decode(errors="replace").strip(), 100)
                raise program.fail(
                    f"does not say its game and options, but answers query_version with {told}"
                )
            if answer.game != self.game.name or answer.options != options:
                theirs = f"{quoted(answer.game)} with {quoted(answer.options, 200)}"
                raise program.fail(f"plays {theirs}, not {self.game}")
            self._program = program
        return self._program

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """The program's moves; see `Agent.play`.

        Raises:
            ValueError: the program has failed, or a position does not follow from its game's moves.
        """
        program, played, requests = self._running(), [], []
        told = {"simulations": self.budget.simulations, "seconds": self.budget.seconds}
        told = {key: value for key, value in told.items() if value is not None}
        for each in games:
            position = self.game.start(each.seed, each.start)
            texts = position.play_all(each.actions)
            if position != each.position:
                raise ValueError(
                    f"{self.name} needs whole games: the moves before this position are not known"
                )
            seed = {"seed": each.seed} if self.game.random_start else {}
            played.append((position, texts))
            begun = {} if each.start is None else {"position": each.start}
            requests.append({"moves": texts, **seed, **begun, **told})
        answers = program.ask(requests, self._limit + (self.budget.seconds or 0.0))
        return np.array(
            [_action(program, *each, answer) for each, answer in zip(played, answers, strict=True)],
            np.int64,
        )


def _action(
    program: _Program, position: Position, texts: Sequence[str], answer: _EngineAnswer
) -> int:
    """The best move of an answer, as an action; ``ValueError`` if there is no legal one."""
    played = shortened(" ".join(texts), 200) or "no moves"
    if not answer.move_infos:
        raise program.fail(f"told no move after {played}")
    move = min(answer.move_infos, key=lambda info: info.order).move
    try:
        return position.text_to_action(move)
    except ValueError as error:
        raise program.fail(f"chose a move that is not legal after {played}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class ProgramSpec(AgentSpec):
    """The agent of a program; see `ProgramAgent`.

    Attributes:
        command: the command line as typed, without anything that only a shell understands.
    """

    usage = "engine:COMMAND"
    help = "a program of any kind that answers lines of JSON as `ludarium engine` does"
    risk = "runs a program"

    simulations: int | None = setting(
        read_number, "simulations for each move; the program is told this number"
    )
    time: float | None = setting(
        read_duration, "time for each move; the program is told it", write=duration_text
    )
    limit: float = setting(
        read_duration,
        f"time for an answer, beyond the time to think; {duration_text(LIMIT)} by default",
        LIMIT,
        write=duration_text,
    )
    command: str

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``COMMAND``; see `AgentSpec.read`."""
        try:
            words = _words(argument or "")
        except ValueError as error:
            raise ValueError(f"the command {quoted(argument)} cannot be read: {error}") from None
        if not words:
            raise ValueError('engine needs a command: "engine:./mybot --fast"')
        return super().read(None, settings, command=argument or "")

    @property
    def subject(self) -> str:
        """``engine:`` and the command."""
        return f"engine:{self.command}"

    @property
    def label(self) -> str:
        """The name without the time limit for answers."""
        return str(replace(self, limit=LIMIT))

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent; see `AgentSpec.make`. The program is not told ``seed``."""
        budget = Budget(self.simulations, self.time)
        return ProgramAgent(game, _words(self.command), self.label, seed, budget, self.limit)
