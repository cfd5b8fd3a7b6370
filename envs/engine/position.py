"""`Position`: one position of a game, for environments and tools that play from Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_flag, checked_whole, index, require_seed
from ludarium.machine.compiler import CompileError

from .check import compile_error
from .draw.layers import add_layers
from .draw.scene import scene_document
from .position_text import read_position, write_position
from .rule import ONGOING, RESULTS, TRUNCATED, reward, seed_rng
from .views import NUM_FACTS, POINTS, TASK, Threats

if TYPE_CHECKING:
    from .game import Game

_NO_RNG = np.ones((1, 2), np.int64)


class IllegalActionError(ValueError):
    """An action is not legal in a position."""


def contents_of(state: np.void | np.ndarray) -> bytes:
    """The content of a position's record, or of an array of records, as bytes.

    Records with equal fields have equal contents. The bytes of the records themselves may differ,
    because numpy does not copy the padding between fields.
    """
    return b"".join(state[name].tobytes() for name in state.dtype.names or ())


def checked_dtype(game: Game, dtype: Any) -> np.dtype:
    """The dtype of observations: float32, or uint8 if the game allows it; else ``ValueError``."""
    try:
        chosen = np.dtype(dtype)
    except TypeError:
        chosen = None
    if chosen not in (np.float32, np.uint8):
        raise ValueError(f"observation_dtype is {quoted(dtype)}; accepted: float32, uint8")
    if chosen == np.uint8 and not game.binary_observation:
        raise ValueError(
            f"observation_dtype is uint8, but observations of {game.name} are not all zeros "
            "and ones; use float32"
        )
    return chosen


def split_moves(game: Game, text: str) -> list[str]:
    """Split a text into moves: at commas and line ends, and at spaces if no move has one."""
    has_spaces = any(" " in word for word in game.words)
    pieces = re.split(r"[,\r\n]" if has_spaces else r"[,\s]", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def starts_in(
    game: Game, options: Mapping[str, Any] | None, count: int = 1
) -> list[Position] | None:
    """The positions at which games begin, by the option ``position`` of a reset.

    Args:
        game: the rules.
        options: what `reset` got: a text under ``position``, or a list of ``count`` texts.
        count: how many games begin.

    Returns:
        A position for each game, the same object for equal texts; None without the option.

    Raises:
        ValueError: a text is no position of the game, or the game is over there; or there are more
            or fewer than ``count``.
    """
    given = None if options is None else options.get("position")
    if given is None:
        return None
    texts = list(given) if isinstance(given, list | tuple) else [given] * count
    if len(texts) != count:
        raise ValueError(
            f"position is a list of {len(texts)} for {count} games; give one text, or one for each"
        )
    positions: dict[Any, Position] = {}
    for text in texts:
        if not isinstance(text, str) or text not in positions:
            positions[text] = Position.from_text(game, text)
            if positions[text].is_over:
                raise ValueError(
                    f"the game is over at {quoted(text)}: give a position to play on from"
                )
    return [positions[text] for text in texts]


class Position:
    """A game being played.

    Args:
        game: the `Game`, with its options.
        seed: seed of the start, for a game whose start is random; None draws one.

    Attributes:
        game: as given.
        mover: index of the player to move, 0 or 1.
        outcome: whether and how the game has ended, a constant of `ludarium.envs.engine.rule`.

    Raises:
        ValueError: see `restart`.
    """

    # Callers get copies: compiled rules trust the record, and the mask is kept for later calls.
    __slots__ = ("_mask", "_states", "game", "mover", "outcome")

    _mask: np.ndarray | None  # computed when needed

    def __init__(self, game: Game, seed: int | np.random.SeedSequence | None = None) -> None:
        self.game = game
        self._states = game.new_states(1)
        self.restart(seed)

    def restart(self, seed: int | np.random.SeedSequence | None = None) -> None:
        """Go back to the start of a new game.

        Raises:
            ValueError: ``seed`` is not a seed, whether or not the start is random; or the rules
                cannot be compiled.
        """
        require_seed(seed)
        mask, planes = self._new_arrays()
        self._restart(seed, mask, planes)
        self._mask = mask

    def _new_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """New arrays for the mask and the planes of a position."""
        game = self.game
        return np.empty(game.num_actions, np.int8), np.empty(game.planes_shape, np.float32)

    def _restart(
        self,
        seed: int | np.random.SeedSequence | None,
        mask: np.ndarray,
        planes: np.ndarray,
        canonical: bool = False,
    ) -> None:
        """Like `restart`, with a checked seed; writes mask and planes as `_play` does."""
        game = self.game
        rng = seed_rng(seed) if game.random_start else _NO_RNG
        try:
            code = int(
                game.kernels.start_one(game.tables, self._states, rng, mask, planes, canonical)
            )
        except CompileError as error:  # most games are first compiled here
            raise compile_error(game, error) from None
        self._mask = None
        self.mover = code & 1
        self.outcome = code >> 1

    @classmethod
    def of_state(cls, game: Game, state: np.ndarray) -> Position:
        """The position in a record (one of ``states``, or an array of one), which is copied."""
        position = object.__new__(cls)
        position.game = game
        position._states = np.array(state, game.state_dtype).reshape(1)
        position._mask = None
        position.mover = int(position._states["mover"][0])
        position.outcome = int(position._states["outcome"][0])
        return position

    @classmethod
    def from_text(cls, game: Game, text: str) -> Position:
        """The position in a line of text, such as ``5/2O2/1X3/5/5 0``; see `text`.

        Raises:
            ValueError: the text is malformed; or no game can reach the position, as numbers in it
                show, such as those of pieces, or as the rules fail there. The message says why.
        """
        return cls.of_state(game, read_position(game, text))

    @property
    def text(self) -> str:
        """The position as a line of text, from which `from_text` makes it again.

        It has what decides the rest of the game. Where the game has a `PositionFormat`, it has
        nothing else: positions that were reached in different ways and go on alike have the same
        text. ``docs/guide/positions.md`` has the format of each game.
        """
        return write_position(self.game, self.state)

    def copy(self) -> Position:
        """An independent copy."""
        return Position.of_state(self.game, self._states)

    __copy__ = copy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return self.game == other.game and bool((self._states == other._states).all())

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        self._states = self._states.view(self.game.state_dtype)  # pickling loses the aligned flag

    __hash__ = None  # type: ignore[assignment]

    @property
    def states(self) -> np.ndarray:
        """The rule record of the position, structured [1]; a copy."""
        return self._states.copy()

    @property
    def state(self) -> Any:
        """The rule record (``np.record``), with named fields; a copy."""
        return self._states.copy()[0]

    @property
    def ply(self) -> int:
        """Actions played so far."""
        return int(self._states["ply"][0])

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.outcome != ONGOING

    @property
    def is_truncated(self) -> bool:
        """Whether the game ended at the ply cap."""
        return self.outcome == TRUNCATED

    @property
    def rewards(self) -> tuple[int, int]:
        """Final rewards of the two players; zeros while the game goes on."""
        outcome = self.outcome
        return reward(outcome, 0), reward(outcome, 1)

    @property
    def score(self) -> int:
        """Player 0's lead; where the rules know none, an estimate of it, as in Osiron, or 0."""
        return int(self.game.kernels.score(self.game.tables, self._states))

    @property
    def mask(self) -> np.ndarray:
        """int8[num_actions], 1 for each legal action; all zero when the game is over; a copy."""
        return self._legal().copy()

    def _legal(self) -> np.ndarray:
        """The `mask` without a copy."""
        if self._mask is None:
            masks = np.empty((1, self.game.num_actions), np.int8)
            self.game.kernels.legal_actions(self.game.tables, self._states, masks)
            self._mask = masks[0]
        return self._mask

    @property
    def legal_actions(self) -> np.ndarray:
        """Numbers of the legal actions, int64, ascending."""
        return np.flatnonzero(self._legal())

    def play(self, action: int) -> int:
        """Play an action and return the outcome (``ONGOING`` is 0).

        Args:
            action: a legal action's number.

        Raises:
            ValueError: the action is not legal (an `IllegalActionError`); the message names it and
                says why, and the position is unchanged. Or the rules cannot be compiled.
        """
        mask, planes = self._new_arrays()
        outcome = self._play(action, mask, planes)
        self._mask = mask
        return outcome

    def _play(
        self, action: int, mask: np.ndarray, planes: np.ndarray, canonical: bool = False
    ) -> int:
        """Like `play`; writes mask and observation of the next player to move too.

        Args:
            action: as for `play`.
            mask: int8[num_actions].
            planes: float32 of ``game.planes_shape``.
            canonical: the frame in which mask and observation are written.
        """
        game, number = self.game, self._number(action)
        try:
            code = int(
                game.kernels.play(game.tables, self._states, number, mask, planes, canonical)
            )
        except CompileError as error:
            raise compile_error(game, error) from None
        if code < 0:
            raise IllegalActionError(self.refusal(number))
        self._mask = None
        self.mover = code & 1
        self.outcome = code >> 1
        return self.outcome

    def _go_to(self, states: np.ndarray) -> None:
        """Take the place of another position, structured [1], of the same game."""
        self._states[:] = states
        self._mask = None
        self.mover, self.outcome = int(states["mover"][0]), int(states["outcome"][0])

    def _number(self, action: Any) -> int:
        """The number of an action, legal or not; `IllegalActionError` if it is not one."""
        try:
            number = index(action)
        except TypeError:
            raise IllegalActionError(self.refusal(action)) from None
        if not 0 <= number < self.game.num_actions:  # huge numbers do not fit the kernels' type
            raise IllegalActionError(self.refusal(number))
        return number

    def play_all(self, actions: Iterable[int]) -> list[str]:
        """Play actions one after the other; return their texts.

        Raises:
            ValueError: one is not legal, see `play`; those before it have been played.
        """
        texts = []
        for action in actions:
            texts.append(self.action_to_text(action))
            self.play(action)
        return texts

    def play_moves(self, text: str) -> list[int]:
        """Play moves out of one text, such as ``"c3 b2"``; return their action numbers.

        Commas or line ends stand between them, or spaces if no move of the game has one.

        Raises:
            ValueError: a move is malformed or not legal; those before it have been played.
        """
        actions = []
        for number, move in enumerate(split_moves(self.game, text), 1):
            try:
                actions.append(self.text_to_action(move))
            except ValueError as error:
                raise ValueError(f"move {number}: {error}") from None
            self.play(actions[-1])
        return actions

    def refusal(self, action: Any) -> str:
        """The error message for an action that is not legal here."""
        try:
            number = index(action)
        except TypeError:
            return f"action {quoted(action)} is not an integer"
        count = self.game.num_actions
        if not 0 <= number < count:
            return f"action {quoted(number)} is out of range; actions are 0 to {count - 1}"
        text = self.action_to_text(number)
        return f"action {number} ({text}) is not legal: {self.why_illegal(number)}"

    def why_illegal(self, action: int) -> str:
        """Why an action that is not legal here is not: the end of a sentence."""
        return "the game is over" if self.is_over else self.game.why_illegal(self, action)

    def observation(
        self, player: int | None = None, dtype: Any = np.float32, canonical: bool = False
    ) -> np.ndarray:
        """Observation from ``player``'s side (default: the player to move).

        It is in the board's own frame, or in the ``canonical`` one, see `is_turned`.

        Returns:
            A new array of ``game.observation_shape``; ``dtype`` is float32, or uint8 where
            `Game.binary_observation` is true.

        Raises:
            ValueError: an argument is none of these.
        """
        game = self.game
        if dtype is not np.float32:
            dtype = checked_dtype(game, dtype)
        if canonical is not False:
            canonical = checked_flag("canonical", canonical)
        observation: np.ndarray = np.empty(game.observation_shape, dtype)
        planes = observation.reshape(game.planes_shape)
        viewer = self._viewer(player)
        game.kernels.observe(game.tables, self._states, viewer, planes, canonical)
        return observation

    def _viewer(self, player: int | None) -> int:
        """``player``, or the player to move; checked, as compiled rules use it as an index."""
        if player is None:
            player = self.mover
        if isinstance(player, bool) or not (
            isinstance(player, int | np.integer) and 0 <= player <= 1
        ):
            raise ValueError(f"player is {quoted(player)}; accepted: 0, 1 or None")
        return int(player)

    def is_turned(self, player: int | None = None) -> bool:
        """Whether the canonical view of ``player`` (default: the mover) is the board turned.

        If so, `Game.canonical_turn` leads from one frame to the other. In a game without a
        canonical turn it never is.

        Raises:
            ValueError: ``player`` is not 0, 1 or None.
        """
        game = self.game
        viewer = self._viewer(player)
        return bool(game.kernels.is_turned(game.tables, self._states, viewer))

    def turned_action(self, action: int) -> int:
        """The number of the mover's action in the other frame, canonical or the board's own.

        Raises:
            ValueError: ``action`` is not an action number.
        """
        turn, number = self.game.canonical_turn, self._number(action)
        return int(turn.actions[number]) if turn is not None and self.is_turned() else number

    def perft(self, depth: int) -> int:
        """Number of action sequences of exactly ``depth`` plies from here, to check rules by.

        Raises:
            ValueError: ``depth`` is negative.
        """
        if depth < 0:
            raise ValueError(f"depth is 0 or more, not {depth}")
        game = self.game
        states = game.new_states(depth + 1)
        states[0] = self._states[0]
        next_action = np.zeros(depth + 1, np.int64)
        return int(game.kernels.perft(game.tables, states, next_action, game.num_actions))

    # Texts.

    def action_to_text(self, action: int) -> str:
        """Notation of an action number, lower case; ``ValueError`` if it is not one.

        The texts of legal actions differ, and `text_to_action` reads them. Those of other actions
        are for eyes alone.
        """
        return self.game.words[self.word(self._number(action))]

    def text_to_action(self, text: str) -> int:
        """Action number of the text of a legal action.

        Raises:
            ValueError: the text is malformed or not legal here, or it is not a text.
        """
        if not isinstance(text, str):
            raise ValueError(f"an action is written as a text (str), not {quoted(text)}")
        try:
            action = self.game.text_to_action(self, text.strip().lower())
        except ValueError as error:
            if quoted(text) in str(error):
                raise
            raise ValueError(f"{quoted(text)}: {error}") from None
        if not self._legal()[action]:
            raise ValueError(f"{quoted(text)} is not legal now: {self.why_illegal(action)}")
        return action

    def word(self, action: int) -> int:
        """The number of an action's text among `Game.words`; ``action`` is not checked."""
        return int(self._view("word", action))

    def reason(self, action: int) -> int:
        """The number that tells why an action is not legal, see `hooks.HOOKS`; not checked."""
        return int(self._view("reason", action))

    def board_text(self) -> str:
        """The position as lines of text, see `Game.board_text`."""
        return self.game.board_text(self)

    def to_do(self) -> str:
        """The next task of the player to move, such as ``place the second token``."""
        return self.game.tasks[self.facts()[TASK]]

    @property
    def points(self) -> tuple[int, int] | None:
        """Points of both players, whose difference is `score`; None if the game has none."""
        if not self.game.has_points:
            return None
        facts = self.facts()
        return int(facts[POINTS]), int(facts[POINTS + 1])

    def standing(self) -> str:
        """One line: whose turn it is or how the game ended; players' marks and points, if any."""
        is_over, points = self.is_over, self.points
        status = RESULTS[self.outcome] if is_over else f"player_{self.mover} to {self.to_do()}"
        marks = [self.game.marks(self, player) for player in (0, 1)]
        if points is None and not marks[0]:
            return status
        sides = [
            f"player_{player}"
            + (f" ({marks[player]})" if marks[player] else "")
            + ("" if points is None else f" {points[player]}")
            for player in (0, 1)
        ]
        return f"{status}; {'' if points is None else 'points: '}{', '.join(sides)}"

    # What is on the board.

    def facts(self) -> np.ndarray:
        """The mover's task, and both players' roles and points, int32[5]: see `engine.views`."""
        found = np.empty(NUM_FACTS, np.int32)
        self._view("facts", found)
        return found

    def threats(self) -> Threats:
        """What each player could do at once, if it were their turn; see `Threats`."""
        game = self.game
        actions = np.zeros((2, game.num_actions), np.int32)
        cells = np.zeros((2, game.planes_shape[1]), np.int32)
        covers = self._view("threats", game.new_states(2), actions, cells)
        return Threats(actions, cells, bool(covers))

    def owners(self) -> np.ndarray:
        """The owner of each cell, int8[height * width]: 1 player 0, -1 player 1, 0 nobody.

        Raises:
            NotImplementedError: cells of this game have no owners.
        """
        self._check_owners()
        found = np.empty(self.game.planes_shape[1], np.int8)
        self._view("owners", found)
        return found

    def ownership(self, playouts: int = 200, seed: int = 0) -> np.ndarray:
        """The expected owner of each cell at the end, estimated by random games from here.

        Args:
            playouts: random games, 1 or more.
            seed: seed of the random games.

        Returns:
            float32[height * width]: the mean of `owners` at their ends, from 1 to -1.

        Raises:
            NotImplementedError: cells of this game have no owners.
            ValueError: ``playouts`` is not a whole number from 1 on, or ``seed`` is not a seed.
        """
        self._check_owners()
        game, playouts = self.game, checked_whole("playouts", playouts, 1)
        sums = np.zeros(game.planes_shape[1], np.int32)
        rng = seed_rng(require_seed(seed))[0]
        self._view("ownership", game.new_states(1), rng, game.num_actions, playouts, sums)
        return (sums / np.float32(playouts)).astype(np.float32)

    def _check_owners(self) -> None:
        if not self.game.has_owners:
            raise NotImplementedError(f"cells of {self.game.name} have no owners")

    # The picture.

    def svg(
        self,
        last_action: int | None = None,
        before: Position | None = None,
        layers: Mapping[str, Any] | None = None,
    ) -> str:
        """The position as an SVG document.

        Args:
            last_action: the action that led to it; it is marked.
            before: the position in which it was played; what the action changed is then marked too.
            layers: what to draw on the board, by name; see `ludarium.envs.engine.draw.layers`. For
                example ``{"legal": None}``, or ``{"policy": shares}`` with float[num_actions].

        Raises:
            ValueError: ``last_action`` is not an action number, ``before`` is of another game, or a
                layer is unknown or its data misfits; the message says which.
        """
        svg = scene_document(self, last_action, before)
        return add_layers(svg, self, layers) if layers else svg

    def slots(self, last_action: int | None = None, before: Position | None = None) -> np.ndarray:
        """The number that each slot of the `Game.scene` shows, int32[slots].

        Args and raises: as for `svg`.
        """
        if last_action is not None:
            last_action = self._number(last_action)
        if before is not None and before.game != self.game:
            raise ValueError(f"before is a position of {before.game}, not of {self.game}")
        game = self.game
        slots = np.zeros(len(game.drawn_scene.slots), np.int32)
        since = self if before is None else before
        planes = np.empty(game.planes_shape, np.float32)
        action = -1 if last_action is None else last_action
        states = since._states, self._states
        game.view("show", game.tables, game.view_tables, *states, action, planes, slots)
        return slots

    def next_pose(self, pose: int, way: int) -> int:
        """The pose of the mover's piece after a turn or a flip, see `draw.scene.Handling`.

        Args:
            pose: its pose before, a number of ``Handling.poses``.
            way: `engine.views.ROTATE` or ``FLIP``.
        """
        game = self.game
        states = game.view_tables, self._states
        return int(game.view("next_pose", game.tables, *states, pose, way))

    def _view(self, name: str, *arguments: Any) -> Any:
        """Ask a function of ``engine.views`` about this position."""
        return self.game.view(name, self.game.tables, self._states, *arguments)

    def _repr_svg_(self) -> str:
        """The picture that notebooks show."""
        return self.svg()

    def __repr__(self) -> str:
        status = f"player_{self.mover} to move"
        if self.is_over:
            status = RESULTS[self.outcome]
        return f"<Position of {self.game!r}: ply {self.ply}, {status}>"

    def __str__(self) -> str:
        return self.board_text()
