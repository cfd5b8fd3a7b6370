"""An analysis engine that speaks lines of JSON, for front ends and bots.

The protocol follows KataGo's analysis engine (D. J. Wu), with the same names of fields
where they fit; ``docs/guide/engine.md`` documents it and the differences.

One thread reads requests, and answers actions and invalid requests; another thinks, with all
cores, about one position after another, by priority.
"""

from __future__ import annotations

import heapq
import itertools
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
from msgspec import Meta

from ludarium.base.files import MEGABYTE, MisfitError, convert, load_json
from ludarium.base.messages import quoted, shortened
from ludarium.base.numbers import SEED_LIMIT
from ludarium.base.progress import Periodic, Progress
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent
from ludarium.training.search import Budget

from .thinking import Estimate, PositionAnalysis, Thinker, make_thinker

LONGEST_LINE = MEGABYTE  # bytes of a request
_MOST_WAITING = 10_000  # positions that may wait
_LONGEST_ID = 200


class RequestError(ValueError):
    """A request that is not accepted.

    Attributes:
        field: the wrong field, if there is one.
        id: the request's id, if it has one.
    """

    def __init__(self, message: str, field: str | None = None, id: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.id = id

    def as_json(self) -> dict[str, Any]:
        """The answer to the request, as JSON values."""
        answer = {"error": str(self), "field": self.field, "id": self.id}
        return {name: value for name, value in answer.items() if value is not None}


_TurnNumber = Annotated[int, Meta(ge=0, le=2**31)]
_Priority = Annotated[int, Meta(ge=-(2**31), le=2**31)]


class Action(msgspec.Struct, rename="camel"):
    """A request that is not a query; ``terminate_id`` and ``turn_numbers`` select what to end."""

    id: str
    action: Literal["query_version", "terminate", "terminate_all"]
    terminate_id: str | None = None
    turn_numbers: list[_TurnNumber] | None = None


class Query(msgspec.Struct, rename="camel"):
    """A request to analyse positions of one game, see ``docs/guide/engine.md``."""

    id: str
    moves: list[str]
    seed: Annotated[int, Meta(ge=0)] = 0
    position: str | None = None
    analyze_turns: list[_TurnNumber] | None = None
    simulations: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    seconds: Annotated[float, Meta(ge=0, le=24 * 3600)] | None = None
    report_during_search_every: Annotated[float, Meta(ge=0.01, le=24 * 3600)] | None = None
    priority: _Priority = 0
    priorities: list[_Priority] | None = None

    @property
    def start(self) -> tuple[int, str | None]:
        """Where the game begins: the seed, and the position, if there is one."""
        return self.seed, self.position


@dataclass(frozen=True)
class QueriedPosition:
    """One position to analyse.

    Attributes:
        query: the query that asks for it.
        actions: the actions that were played before, as numbers.
        position: the position after them.
        priority: positions with higher priorities come first.
    """

    query: Query
    actions: tuple[int, ...]
    position: Position
    priority: int

    @property
    def head(self) -> dict[str, Any]:
        """The fields that all its answers have."""
        return {"id": self.query.id, "turnNumber": len(self.actions)}


def read_request(line: bytes, game: Game) -> tuple[dict[str, Any], Action | list[QueriedPosition]]:
    """Read a request, which may come from a stranger.

    Args:
        line: the request, as JSON.
        game: the rules.

    Returns:
        The request's fields; and the action that it asks for, or the positions of its query.

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
    try:
        if "action" in request:
            action: Action = convert(request, "the action", Action)
            if action.action == "terminate" and action.terminate_id is None:
                raise MisfitError("terminate needs terminateId, the id of a query", "terminateId")
            return request, action
        return request, _queried(convert(request, "the query", Query), game)
    except MisfitError as error:
        raise RequestError(shortened(str(error), 380), error.key, name) from None


def _queried(query: Query, game: Game) -> list[QueriedPosition]:
    """The positions that a query asks for."""
    if query.seed >= SEED_LIMIT:
        raise MisfitError(f"seed is {quoted(query.seed)}; accepted: 0 to 2**128 - 1", "seed")
    wanted, moves = query.analyze_turns, query.moves
    numbers = [len(moves)] if wanted is None else list(dict.fromkeys(wanted))
    if not numbers:
        raise MisfitError("analyzeTurns is empty: leave it out for the last turn", "analyzeTurns")
    if len(numbers) > _MOST_WAITING:
        raise MisfitError(f"analyzeTurns has more than {_MOST_WAITING:,} turns", "analyzeTurns")
    if max(numbers) > len(moves):
        raise MisfitError(
            f"analyzeTurns are from 0 to {len(moves)}, not {quoted(wanted)}", "analyzeTurns"
        )
    priorities = query.priorities
    if priorities is None:
        priorities = [query.priority] * len(numbers)
    elif wanted is None or len(priorities) != len(wanted) or len(wanted) != len(numbers):
        raise MisfitError(
            "priorities must have a number for each of analyzeTurns, none twice", "priorities"
        )
    try:
        position = game.start(query.seed, query.position)
    except ValueError as error:
        raise MisfitError(str(error), "position") from None
    actions: list[int] = []
    positions, needed = {0: position.copy()}, set(numbers)
    for number, text in enumerate(moves, 1):
        try:
            actions.append(position.text_to_action(text))
            position.play(actions[-1])
        except ValueError as error:
            raise MisfitError(f"move {number}: {error}", "moves") from None
        if number in needed:
            positions[number] = position.copy()
    return [
        QueriedPosition(query, tuple(actions[:number]), positions[number], priority)
        for number, priority in zip(numbers, priorities, strict=True)
    ]


@dataclass(order=True)
class _Waiting:
    """A position that waits for analysis, or is being analysed; the least one comes first."""

    rank: tuple[int, int]
    queried: QueriedPosition = field(compare=False)


class Engine:
    """Answers requests about positions of one game.

    Args:
        agent: agent that analyses, see `make_thinker`; its game is the engine's.
        write: function called with each answer, from either thread, one at a time.
        simulations: simulations for a position whose query gives neither these nor seconds.

    Raises:
        ValueError: see `make_thinker`.
    """

    def __init__(
        self, agent: Agent, write: Callable[[dict[str, Any]], None], simulations: int
    ) -> None:
        self.agent = agent
        self._write = write
        self._simulations = simulations
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._current: _Waiting | None = None
        self._progress = Progress()  # of the current one
        self._is_closed = False
        self._is_aborted = False
        self._unheard: OSError | None = None  # from a failed write; then no more are tried
        self._numbers = itertools.count()
        # The search that answered last, and the start and actions that lead to its position.
        self._thinker: Thinker = make_thinker(agent, agent.game.start(0))
        self._place: tuple[tuple[int, str | None], tuple[int, ...]] = (0, None), ()
        self._thread = threading.Thread(target=self._run, name="ludarium engine", daemon=True)
        self._thread.start()

    def serve(self, lines: BinaryIO) -> None:
        """Answer requests line by line until the end, and finish waiting ones.

        Raises:
            OSError: an answer could not be written.
        """
        while line := lines.readline(LONGEST_LINE + 2):
            rest = line
            while not rest.endswith(b"\n") and (rest := lines.readline(LONGEST_LINE)):
                pass  # skip the rest of a line that is too long
            self.handle(line.rstrip(b"\r\n"))
        self.close()

    def handle(self, line: bytes) -> None:
        """Handle one request; an empty line is ignored.

        Raises:
            OSError: an answer could not be written.
        """
        if not line.strip() and len(line) <= LONGEST_LINE:
            return
        try:
            request, asked = read_request(line, self.agent.game)
            if isinstance(asked, Action):
                self._act(request, asked)
            else:
                self._submit(request, asked)
        except RequestError as error:
            self._answer(error.as_json())

    def close(self) -> None:
        """Finish all waiting positions.

        Raises:
            OSError: an answer could not be written.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        while self._thread.is_alive():
            self._thread.join(0.2)  # short waits let Ctrl-C through
        if self._unheard is not None:
            raise self._unheard

    def abort(self) -> None:
        """End as soon as possible, without an answer for positions that are not done."""
        with self._changed:
            self._is_aborted = self._is_closed = True
            self._waiting.clear()
            self._progress.stop()
            self._changed.notify_all()
        self._thread.join(5)

    def _answer(self, answer: dict[str, Any]) -> None:
        with self._writing:
            if self._unheard is not None:
                raise self._unheard
            try:
                self._write(answer)
            except OSError as error:
                self._unheard = error
                raise

    def _submit(self, request: dict[str, Any], positions: list[QueriedPosition]) -> None:
        with self._changed:
            if len(self._waiting) + len(positions) > _MOST_WAITING:
                raise RequestError(
                    f"more than {_MOST_WAITING:,} positions would wait: ask again later",
                    id=request["id"],
                )
            known = Query.__struct_encode_fields__
            for name in sorted(shortened(name, 60) for name in request if name not in known)[:10]:
                warning = f"{name} is not a field of a query, and is ignored"
                self._answer({"warning": warning, "field": name, "id": request["id"]})
            for queried in positions:
                rank = (-queried.priority, next(self._numbers))
                heapq.heappush(self._waiting, _Waiting(rank, queried))
            self._changed.notify_all()

    def _act(self, request: dict[str, Any], action: Action) -> None:
        if action.action == "query_version":
            known = {"version": version("ludarium"), "game": self.agent.game.name}
            self._answer({**request, **known, "options": dict(self.agent.game.options)})
            return
        with self._changed:
            ended = [task for task in self._waiting if _is_meant(action, task.queried)]
            self._waiting = [task for task in self._waiting if not _is_meant(action, task.queried)]
            heapq.heapify(self._waiting)
            if self._current is not None and _is_meant(action, self._current.queried):
                self._progress.stop()
        self._answer(request)
        for task in sorted(ended):
            self._answer({**task.queried.head, "isDuringSearch": False, "noResults": True})

    # The thinking thread.

    def _run(self) -> None:
        while self._unheard is None:
            with self._changed:
                self._current = None
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                task = self._current = heapq.heappop(self._waiting)
                every = task.queried.query.report_during_search_every
                report = partial(self._report, task.queried)
                self._progress = Progress() if every is None else Periodic(report, every or 1.0)
            with suppress(OSError):  # the reading thread raises it, from `handle` or `close`
                self._try(task)

    def _report(self, queried: QueriedPosition) -> None:
        """Answer with the results so far."""
        found = as_answer(self._thinker.analysis())
        self._answer({**queried.head, "isDuringSearch": True, **found})

    def _try(self, task: _Waiting) -> None:
        """Analyse a position, or answer why that failed."""
        try:
            self._analyse(task)
        except Exception as error:  # the next query may succeed
            reason = shortened(f"{type(error).__name__}: {error}")
            self._thinker = make_thinker(self.agent, self.agent.game.start(0))
            self._place = (0, None), ()
            self._answer({"error": reason, **task.queried.head, "isDuringSearch": False})

    def _analyse(self, task: _Waiting) -> None:
        queried, query = task.queried, task.queried.query
        if queried.position.is_over:
            over = {"noResults": True, "result": list(queried.position.rewards)}
            self._answer({**queried.head, "isDuringSearch": False, **over})
            return
        self._go_to(queried)
        simulations = query.simulations
        if simulations is None and query.seconds is None:
            simulations = self._simulations

        analysis = self._thinker.think(Budget(simulations, query.seconds), self._progress)
        if not self._is_aborted:
            self._answer({**queried.head, "isDuringSearch": False, **as_answer(analysis)})

    def _go_to(self, queried: QueriedPosition) -> None:
        """Set the thinker; keep the last one if the position descends from its own."""
        start, before = self._place
        if start == queried.query.start and queried.actions[: len(before)] == before:
            for action in queried.actions[len(before) :]:
                self._thinker.play(action)
        else:
            self._thinker = make_thinker(self.agent, queried.position)
        self._place = queried.query.start, queried.actions


def _is_meant(action: Action, queried: QueriedPosition) -> bool:
    """Whether a position is to be terminated."""
    is_query = action.action == "terminate_all" or action.terminate_id == queried.query.id
    turns = action.turn_numbers
    return is_query and (turns is None or len(queried.actions) in turns)


def as_answer(analysis: PositionAnalysis) -> dict[str, Any]:
    """The fields of an answer with the results of an analysis."""
    return {
        "moveInfos": [
            {
                "move": move.text,
                "order": order,
                "visits": move.visits,
                **_fields_of(move.estimate),
                "prior": None if move.prior is None else round(move.prior, 6),
                "pv": list(move.variation),
            }
            for order, move in enumerate(analysis.moves)
        ],
        "rootInfo": {
            "currentPlayer": f"player_{analysis.mover}",
            "visits": analysis.simulations,
            **_fields_of(analysis.estimate),
            "seconds": round(analysis.seconds, 3),
        },
    }


def _fields_of(estimate: Estimate) -> dict[str, Any]:
    value = estimate.value
    return {"winrate": None if value is None else round((1 + value) / 2, 6), **estimate.as_json()}


def format_line(answer: dict[str, Any]) -> str:
    """An answer as a line, in ASCII with escapes."""
    return json.dumps(answer, separators=(",", ":")) + "\n"
