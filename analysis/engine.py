"""An analysis engine that talks in lines of JSON, for front ends and bots.

The protocol is in the manner of KataGo's analysis engine (D. J. Wu), with the names of its fields
where they fit; ``docs/guide/engine.md`` documents it and the differences.

One thread reads requests and answers those that are wrong; another thinks, with all cores, about
one position after another, those of highest priority first.
"""

from __future__ import annotations

import heapq
import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, BinaryIO

from ludarium.envs.engine.files import MEGABYTE, load_json
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted, shortened
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import SEED_LIMIT
from ludarium.training.agents import Agent

from .thinking import Estimate, PositionAnalysis, Thinker, make_thinker

LONGEST_LINE = MEGABYTE  # bytes of a request
_MOST_WAITING = 10_000  # positions
_MOST_SIMULATIONS = 10**9
_MOST_SECONDS = 24 * 3600.0
_LEAST_EVERY = 0.01  # seconds between reports
_LONGEST_ID = 200
_MOST_PRIORITY = 2**31

_QUERY_FIELDS = (
    "id",
    "moves",
    "seed",
    "analyzeTurns",
    "simulations",
    "seconds",
    "reportDuringSearchEvery",
    "priority",
    "priorities",
)
_ACTIONS = ("query_version", "terminate", "terminate_all")


class RequestError(ValueError):
    """A request that is not accepted.

    Attributes:
        field: the one that is wrong, if it is one.
        id: of the request, if it has one.
    """

    def __init__(self, message: str, field: str | None = None, id: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.id = id

    def as_json(self) -> dict[str, Any]:
        """The answer to the request."""
        answer = {"error": str(self), "field": self.field, "id": self.id}
        return {name: value for name, value in answer.items() if value is not None}


@dataclass(frozen=True)
class Turn:
    """One position to analyse.

    Attributes:
        number: actions played before.
        position: after these.
        priority: higher ones come first.
    """

    number: int
    position: Position
    priority: int


@dataclass(frozen=True)
class Query:
    """A request to analyse positions of one game.

    Attributes:
        id: as given.
        seed: of the start.
        actions: all moves given, as numbers.
        turns: the positions.
        simulations, seconds: limits for each position; ``None``: not given.
        every: seconds between reports; ``None``: no reports.
        unknown: fields that are not known, which are ignored with a warning.
    """

    id: str
    seed: int
    actions: tuple[int, ...]
    turns: tuple[Turn, ...]
    simulations: int | None
    seconds: float | None
    every: float | None
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Action:
    """Another request.

    Attributes:
        name: one of the actions.
        request: all of it, which the answer repeats.
        terminate_id, turns: what to terminate; ``None``: all.
    """

    name: str
    request: dict[str, Any]
    terminate_id: str | None = None
    turns: tuple[int, ...] | None = None


def read_request(line: bytes, game: Game) -> Query | Action:
    """Read a request, which may come from a stranger.

    Args:
        line: JSON.
        game: the rules.

    Raises:
        RequestError: something is missing, unknown or illegal; the message names it.
    """
    if len(line) > LONGEST_LINE:
        raise RequestError(f"a request has at most {LONGEST_LINE:,} bytes")
    try:
        request = load_json(line, "the request")
    except ValueError as error:
        raise RequestError(str(error)) from None
    if not isinstance(request, dict):
        raise RequestError(f"a request is an object, not {quoted(request)}")
    name = request.get("id")
    if not isinstance(name, str) or len(name) > _LONGEST_ID:
        raise RequestError(
            f"id is {quoted(name)}; needed: a text of at most {_LONGEST_ID} characters", "id"
        )
    reader = _Fields(request, name)
    if "action" in request:
        return _read_action(reader)
    return _read_query(reader, game)


class _Fields:
    """The fields of a request, checked as they are read."""

    def __init__(self, request: dict[str, Any], name: str) -> None:
        self.request = request
        self.id = name

    def refuse(self, field: str, needed: str) -> RequestError:
        given = quoted(self.request.get(field))
        return self.error(field, f"{field} is {given}; needed: {needed}")

    def error(self, field: str, message: str) -> RequestError:
        return RequestError(shortened(message, 380), field, self.id)

    def number(
        self, field: str, least: float, most: float, needed: str, default: Any = None
    ) -> Any:
        value = self.request.get(field, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(field, needed)
        if not least <= value <= most:
            raise self.refuse(field, needed)
        return value

    def whole(
        self, field: str, least: int, most: int, needed: str, default: int | None = None
    ) -> Any:
        value = self.number(field, least, most, needed, default)
        if value is not None and not isinstance(value, int):
            raise self.refuse(field, needed)
        return value

    def whole_numbers(self, field: str, least: int, most: int, needed: str) -> list[int] | None:
        values = self.request.get(field)
        if values is None:
            return None
        if not isinstance(values, list) or not all(
            type(value) is int and least <= value <= most for value in values
        ):
            raise self.refuse(field, needed)
        return values


def _read_action(fields: _Fields) -> Action:
    request = fields.request
    name = request["action"]
    if name not in _ACTIONS:
        raise fields.refuse("action", f"one of {', '.join(_ACTIONS)}")
    turns = fields.whole_numbers(
        "turnNumbers", 0, _MOST_PRIORITY, "a list of whole numbers from 0 on"
    )
    terminated = None
    if name == "terminate":
        terminated = request.get("terminateId")
        if not isinstance(terminated, str):
            raise fields.refuse("terminateId", "the id of a query, a text")
    return Action(name, request, terminated, None if turns is None else tuple(turns))


def _read_query(fields: _Fields, game: Game) -> Query:
    request = fields.request
    seed = fields.whole("seed", 0, SEED_LIMIT - 1, "a whole number from 0 on", 0)
    moves = request.get("moves")
    if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
        raise fields.refuse("moves", "a list of moves in the game's notation, [] at the start")
    wanted = fields.whole_numbers(
        "analyzeTurns", 0, len(moves), f"a list of whole numbers from 0 to {len(moves)}"
    )
    turn_numbers = [len(moves)] if wanted is None else list(dict.fromkeys(wanted))
    if len(turn_numbers) > _MOST_WAITING:
        raise fields.error("analyzeTurns", f"analyzeTurns has more than {_MOST_WAITING:,} turns")
    needed = f"a whole number from {-_MOST_PRIORITY} to {_MOST_PRIORITY}"
    priority = fields.whole("priority", -_MOST_PRIORITY, _MOST_PRIORITY, needed, 0)
    priorities = fields.whole_numbers("priorities", -_MOST_PRIORITY, _MOST_PRIORITY, needed)
    if priorities is None:
        priorities = [priority] * len(turn_numbers)
    elif wanted is None or len(priorities) != len(wanted) or len(wanted) != len(turn_numbers):
        raise fields.refuse("priorities", "as many numbers as analyzeTurns, which are different")
    simulations = fields.whole(
        "simulations", 0, _MOST_SIMULATIONS, f"a whole number up to {_MOST_SIMULATIONS:,}"
    )
    seconds = fields.number("seconds", 0, _MOST_SECONDS, f"a number up to {_MOST_SECONDS:,.0f}")
    every = fields.number(
        "reportDuringSearchEvery",
        _LEAST_EVERY,
        _MOST_SECONDS,
        f"seconds from {_LEAST_EVERY} to {_MOST_SECONDS:,.0f}",
    )
    actions, positions = _replay(fields, game.start(seed), moves, set(turn_numbers))
    turns = tuple(
        Turn(number, positions[number], priority)
        for number, priority in zip(turn_numbers, priorities, strict=True)
    )
    unknown = tuple(sorted(shortened(name, 60) for name in request if name not in _QUERY_FIELDS))
    return Query(fields.id, seed, actions, turns, simulations, seconds, every, unknown[:10])


def _replay(
    fields: _Fields, position: Position, moves: list[str], wanted: set[int]
) -> tuple[tuple[int, ...], dict[int, Position]]:
    """Play the moves; the actions, and the wanted positions by the moves before them."""
    actions: list[int] = []
    positions = {0: position.copy()} if 0 in wanted else {}
    for number, text in enumerate(moves, 1):
        try:
            action = position.text_to_action(text)
            position.play(action)
        except ValueError as error:
            raise fields.error("moves", f"move {number}: {error}") from None
        actions.append(action)
        if number in wanted:
            positions[number] = position.copy()
    return tuple(actions), positions


@dataclass(order=True)
class _Task:
    """A position that waits to be analysed, or is being; the least comes first."""

    rank: tuple[int, int]
    query: Query = field(compare=False)
    turn: Turn = field(compare=False)
    is_terminated: bool = field(default=False, compare=False)

    @property
    def head(self) -> dict[str, Any]:
        return {"id": self.query.id, "turnNumber": self.turn.number}


class Engine:
    """Answers requests about positions of one game.

    Args:
        agent: whose thoughts they are, see `make_thinker`; its game is the engine's.
        write: is given each answer, from either thread, one at a time.
        simulations: for a position whose query gives neither these nor seconds.

    Raises:
        ValueError: the agent does not tell what it thinks.
    """

    def __init__(
        self, agent: Agent, write: Callable[[dict[str, Any]], None], simulations: int
    ) -> None:
        self.agent = agent
        self._write = write
        self._simulations = simulations
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[_Task] = []
        self._current: _Task | None = None
        self._is_closed = False
        self._is_aborted = False
        self._numbers = itertools.count()
        # The search that answered last, and the seed and actions that lead to its position.
        self._thinker: Thinker = make_thinker(agent, agent.game.start(0))
        self._place: tuple[int, tuple[int, ...]] = 0, ()
        self._thread = threading.Thread(target=self._run, name="ludarium engine", daemon=True)
        self._thread.start()

    def serve(self, lines: BinaryIO) -> None:
        """Answer requests line by line until the end, and finish those that wait."""
        while line := lines.readline(LONGEST_LINE + 2):
            if len(line) > LONGEST_LINE + 1 and not line.endswith(b"\n"):
                while not line.endswith(b"\n") and (line := lines.readline(LONGEST_LINE)):
                    pass
                line = b" " * (LONGEST_LINE + 1)  # refused for its length
            self.handle(line.rstrip(b"\r\n"))
        self.close()

    def handle(self, line: bytes) -> None:
        """Take one request; an empty line is none."""
        if not line.strip() and len(line) <= LONGEST_LINE:
            return
        try:
            request = read_request(line, self.agent.game)
            if isinstance(request, Query):
                self._submit(request)
            else:
                self._act(request)
        except RequestError as error:
            self._answer(error.as_json())

    def close(self) -> None:
        """Finish all that waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        while self._thread.is_alive():
            self._thread.join(0.2)  # Ctrl-C is noticed between two waits

    def abort(self) -> None:
        """End as soon as possible, without an answer to what waits."""
        with self._changed:
            self._is_aborted = self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self._thread.join(5)

    def _answer(self, answer: dict[str, Any]) -> None:
        with self._writing:
            self._write(answer)

    def _submit(self, query: Query) -> None:
        with self._changed:
            if len(self._waiting) + len(query.turns) > _MOST_WAITING:
                raise RequestError(
                    f"more than {_MOST_WAITING:,} positions would wait: ask again later",
                    id=query.id,
                )
            for name in query.unknown:
                warning = f"{name} is no field of a query, and is ignored"
                self._answer({"warning": warning, "field": name, "id": query.id})
            for turn in query.turns:
                rank = (-turn.priority, next(self._numbers))
                heapq.heappush(self._waiting, _Task(rank, query, turn))
            self._changed.notify_all()

    def _act(self, action: Action) -> None:
        if action.name == "query_version":
            known = {"version": version("ludarium"), "game": self.agent.game.name}
            self._answer({**action.request, **known, "options": dict(self.agent.game.options)})
            return
        with self._changed:
            ended = [task for task in self._waiting if _is_meant(action, task)]
            self._waiting = [task for task in self._waiting if not _is_meant(action, task)]
            heapq.heapify(self._waiting)
            if self._current is not None and _is_meant(action, self._current):
                self._current.is_terminated = True
        self._answer(action.request)
        for task in sorted(ended):
            self._answer({**task.head, "isDuringSearch": False, "noResults": True})

    # The thread that thinks.

    def _run(self) -> None:
        while True:
            with self._changed:
                self._current = None
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                task = self._current = heapq.heappop(self._waiting)
            try:
                self._analyse(task)
            except BrokenPipeError:
                return
            except Exception as error:  # the next query may have better luck
                reason = shortened(f"{type(error).__name__}: {error}")
                self._thinker = make_thinker(self.agent, self.agent.game.start(0))
                self._place = 0, ()
                self._answer({"error": reason, **task.head, "isDuringSearch": False})

    def _analyse(self, task: _Task) -> None:
        query, position = task.query, task.turn.position
        if position.is_over:
            over = {"noResults": True, "result": list(position.rewards)}
            self._answer({**task.head, "isDuringSearch": False, **over})
            return
        self._go_to(query.seed, query.actions[: task.turn.number], position)
        simulations = query.simulations
        if simulations is None and query.seconds is None:
            simulations = self._simulations

        def report(analysis: PositionAnalysis) -> None:
            self._answer({**task.head, "isDuringSearch": True, **as_answer(analysis)})

        analysis = self._thinker.think(
            simulations,
            query.seconds,
            lambda: task.is_terminated or self._is_aborted,
            None if query.every is None else report,
            query.every or 1.0,
        )
        if not self._is_aborted:
            self._answer({**task.head, "isDuringSearch": False, **as_answer(analysis)})

    def _go_to(self, seed: int, actions: tuple[int, ...], position: Position) -> None:
        """Have a thinker about the position: the last one, if it is on the way there."""
        last_seed, before = self._place
        if seed == last_seed and actions[: len(before)] == before:
            for action in actions[len(before) :]:
                self._thinker.play(action)
        else:
            self._thinker = make_thinker(self.agent, position)
        self._place = seed, actions


def _is_meant(action: Action, task: _Task) -> bool:
    """Whether a task is to be terminated."""
    is_query = action.terminate_id in (None, task.query.id)
    return is_query and (action.turns is None or task.turn.number in action.turns)


def as_answer(analysis: PositionAnalysis) -> dict[str, Any]:
    """The fields of an answer that tell what was found."""
    return {
        "moveInfos": [
            {
                "move": move.text,
                "order": order,
                "visits": move.visits,
                **_told(move.estimate),
                "prior": None if move.prior is None else round(move.prior, 6),
                "pv": list(move.variation),
            }
            for order, move in enumerate(analysis.moves)
        ],
        "rootInfo": {
            "currentPlayer": f"player_{analysis.mover}",
            "visits": analysis.simulations,
            **_told(analysis.estimate),
            "seconds": round(analysis.seconds, 3),
        },
    }


def _told(estimate: Estimate) -> dict[str, Any]:
    value = estimate.value
    return {"winrate": None if value is None else round((1 + value) / 2, 6), **estimate.as_json()}


def write_line(answer: dict[str, Any]) -> str:
    """An answer as a line; all but ASCII is escaped."""
    return json.dumps(answer, separators=(",", ":")) + "\n"
