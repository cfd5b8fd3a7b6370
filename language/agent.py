"""``llm:MODEL?endpoint=URL``: a language model as an agent, wherever an agent is taken."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.base.messages import escaped, quoted
from ludarium.base.numbers import checked_whole
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import RESIGN, Agent, AgentSpec, GameInPlay, Needs, Seed
from ludarium.training.agents.settings import (
    duration_text,
    read_duration,
    read_flag,
    read_number,
    read_real,
    setting,
)

from .endpoint import Answer, Endpoint, Journal, journal_at, key_of
from .text import PROMPTS, Fault, Message, read_answer

RETRIES = 2

_MOST_PARALLEL = 256
_MOST_RETRIES = 20
_NOTED = 2000  # characters of an answer that a record's note has
_MODEL = re.compile(r"[\w./:@+-]{1,200}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)


@dataclass(frozen=True)
class Decision:
    """What a model said in one position.

    Attributes:
        game: number of the game in its match.
        ply: actions before it.
        answers: its answers, of which the last counts.
        faults: what was wrong with each, see `Said.fault`.
        action: the action that it chose; `RESIGN` if no answer had a legal move.
    """

    game: int
    ply: int
    answers: tuple[Answer, ...]
    faults: tuple[Fault, ...]
    action: int


class LanguageAgent(Agent):
    """Plays what a language model says, and nothing else.

    After an answer without a legal move the model is told why, and asked again; after the last
    of ``retries`` more answers it resigns the game (`RESIGN`). What it said becomes notes of the
    game. Questions of many games are asked at a time.

    Args:
        game: the rules.
        endpoint: the model.
        retries: further questions after an answer without a legal move.
        shows_legal: whether questions list the legal moves.
        journal: keeps answers, by the endpoint and what is sent to it, the seed of `restart`, the
            game's number and the ply.
        name: the name in tables.
        seed: makes matches different in the journal; a model takes none. With ``None`` the journal
            has no answers for the match.

    Attributes:
        decisions: what it said since the last `restart`, in no particular order.

    Raises:
        ValueError: ``seed`` is not a seed.
    """

    def __init__(
        self,
        game: Game,
        endpoint: Endpoint,
        retries: int = RETRIES,
        shows_legal: bool = False,
        journal: Journal | None = None,
        name: str = "llm",
        seed: Seed = None,
    ) -> None:
        self.endpoint = endpoint
        self.retries = retries
        self.shows_legal = shows_legal
        self.journal = journal
        super().__init__(game, name, seed)

    def restart(self, seed: Seed = None) -> None:
        """Begin another match; see `Agent.restart`."""
        super().restart(seed)
        self._match = int(self.rng.integers(1 << 63))
        self.decisions: list[Decision] = []

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """The model's moves; see `Agent.play`.

        Raises:
            ValueError: ``states`` are not positions of the game; or the endpoint refuses, or fails
                too often (an `EndpointError`).
            StorageError: the journal cannot be written.
        """
        positions = [Position.of_state(self.game, state) for state in self._check(states)]
        chosen = np.full(len(games), RESIGN, np.int64)

        def decide(number: int) -> None:
            decision = self._decide(games[number], positions[number])
            chosen[number] = decision.action
            self.decisions.append(decision)

        at_a_time(decide, len(games), self.endpoint.parallel)
        return chosen

    def _decide(self, game: GameInPlay, position: Position) -> Decision:
        ply, said_so_far = len(game.actions), []
        answers: list[Answer] = []
        faults: list[Fault] = []
        messages = PROMPTS.opening(position, _moves(game, position), self.shows_legal)
        action: int | None = None
        while action is None and len(answers) <= self.retries:
            answer = self._answer(messages, game.number, ply, len(answers))
            said = read_answer(position, answer.text)
            action = said.action
            answers.append(answer)
            faults.append(said.fault)
            told = answer.text[-_NOTED:].strip() or "(no text)"
            said_so_far.append(f"{escaped(told, chr(10))}{said.fault and f'  [{said.reason}]'}")
            messages += [
                {"role": "assistant", "content": answer.text.strip() or "(no text)"},
                {"role": "user", "content": PROMPTS.correction(said)},
            ]
        game.notes[ply] = f"{self.name}: " + "\n\n".join(said_so_far)
        chosen = RESIGN if action is None else action
        return Decision(game.number, ply, tuple(answers), tuple(faults), chosen)

    def _answer(self, messages: list[Message], game: int, ply: int, number: int) -> Answer:
        if self.journal is None:
            return self.endpoint.ask(messages)
        asked = replace(self.endpoint, parallel=1, limit=0.0, key="")
        key = key_of(asked, self._match, game, ply, number, messages)
        return self.journal.answer(key, lambda: self.endpoint.ask(messages))


def _moves(game: GameInPlay, position: Position) -> list[str] | None:
    """The moves that led to a position; None if they are not known."""
    begun = game.game.start(game.seed, game.start)
    try:
        texts = begun.play_all(game.actions)
    except ValueError:
        return None
    return texts if begun == position else None


def at_a_time(task: Callable[[int], None], count: int, most: int) -> None:
    """Call ``task`` with all numbers below ``count``, at most ``most`` at a time.

    After a failure no more begin; the first error is raised when those that run have ended. An
    interrupt does not wait for these: they end by themselves, or with the process. `run_tasks` of
    ``base.threads`` would wait; and in a match of a contest, which is one of its tasks already, it
    would ask one question after the other.
    """
    numbers, lock = iter(range(count)), threading.Lock()
    errors: list[BaseException] = []

    def next_number() -> int | None:
        with lock:
            return None if errors else next(numbers, None)

    def work() -> None:
        try:
            while (number := next_number()) is not None:
                task(number)
        except BaseException as error:  # handed to the caller
            errors.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(most, count))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        errors.append(error)
        raise
    if errors:
        raise errors[0]


def _within(low: int, high: int, name: str) -> Callable[[str], int]:
    return lambda text: checked_whole(name, read_number(text), low, high)


def _read_variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(
            "key is the name of an environment variable that has the key, never the key itself"
        )
    return text


@dataclass(frozen=True, kw_only=True)
class LanguageSpec(AgentSpec):
    """A language model at an endpoint.

    Attributes:
        model: its name there. The other fields are the settings that a name can have.
    """

    usage = "llm:MODEL"
    help = (
        "a language model behind an endpoint of the usual chat-completions form, such as "
        "llm:NAME?endpoint=http://localhost:8000/v1; it resigns a game in which it says no legal "
        "move"
    )
    risk = "asks a server, with your key"
    needs = Needs.CODE

    endpoint: str = setting(str, "the address, such as https://host/v1", "")
    retries: int = setting(
        _within(0, _MOST_RETRIES, "retries"),
        f"further questions after an answer without a legal move, {RETRIES} by default",
        RETRIES,
    )
    legal: bool = setting(read_flag, "true lists the legal moves in each question", False)
    temperature: float | None = setting(read_real, "is sent; by default none is")
    max_tokens: int | None = setting(read_number, "most tokens of an answer; is sent if given")
    parallel: int = setting(
        _within(1, _MOST_PARALLEL, "parallel"),
        f"most questions at a time, {Endpoint.parallel} by default",
        Endpoint.parallel,
    )
    limit: float = setting(
        read_duration,
        f"time for an answer, {duration_text(Endpoint.limit)} by default",
        Endpoint.limit,
        write=duration_text,
    )
    key: str = setting(
        _read_variable,
        f"the environment variable that has the key, {Endpoint.key} by default",
        Endpoint.key,
    )
    journal: Path | None = setting(
        Path, "file that keeps all answers, from which an interrupted match takes them again"
    )
    model: str

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``MODEL``, which needs ``endpoint``; see `AgentSpec.read`."""
        if not _MODEL.fullmatch(argument or ""):
            raise ValueError(
                f"{quoted(argument or '')} is no model's name: 1 to 200 letters, digits and "
                "./:@+-_, as in llm:NAME?endpoint=URL"
            )
        spec = super().read(None, settings, model=argument, **others)
        assert isinstance(spec, LanguageSpec)
        if not spec.endpoint:
            raise ValueError("say where it is: llm:NAME?endpoint=https://host/v1")
        _ = spec._endpoint
        return spec

    @property
    def _endpoint(self) -> Endpoint:
        others = [each.name for each in fields(Endpoint) if each.name != "url"]
        return Endpoint(self.endpoint, **{name: getattr(self, name) for name in others})

    @property
    def subject(self) -> str:
        """``llm:`` and the model."""
        return f"llm:{self.model}"

    @property
    def label(self) -> str:
        """The model, with the settings that change how it plays."""
        plain = LanguageSpec(model=self.model)
        same = {name: getattr(plain, name) for name in ("endpoint", "parallel", "limit", "key")}
        return str(replace(self, **same, journal=None))

    def make(self, game: Game, seed: Seed = None) -> LanguageAgent:
        """Make the agent; see `AgentSpec.make`.

        Raises:
            ValueError, StorageError: the journal cannot be opened, see `Journal`.
        """
        journal = None if self.journal is None else journal_at(self.journal)
        legal, name = self.legal, self.label
        return LanguageAgent(game, self._endpoint, self.retries, legal, journal, name, seed)
