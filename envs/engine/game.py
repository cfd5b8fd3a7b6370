"""`Game`: the base class that a game's package implements and every part of the engine uses.

A game's package is a folder with ``rules.py`` (the rule functions), ``view.py`` (what a position
shows), ``board.py`` (the subclass of `Game`: geometry, text, symmetries, picture) and a README.
``docs/guide/new-game.md`` builds one step by step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from . import foresight as foresight_templates
from . import kernels as kernel_templates
from . import views as view_templates
from .check import COMPILE_ERRORS, check_description, check_rules, check_view, compile_error
from .codec import CanonicalTurn
from .compile import specialise
from .messages import quoted
from .options import Clock, Option, check_options
from .position import Position
from .rule import extended_record, seed_rng, table_record
from .text import GameText
from .views import NUM_FACTS, POINTS, TASK

if TYPE_CHECKING:
    from ..board.scene import Scene


_NOTHING = table_record(nothing=0)


@dataclass(frozen=True)
class Symmetries:
    """Symmetries of a game, relabellings that do not change it, for data augmentation.

    Row ``s`` of a table gathers: ``transformed = original[table[s]]``. Row 0 is the identity.

    Attributes:
        actions: int32[symmetries, num_actions], for masks and policies; int32[kinds,
            symmetries, num_actions] where actions are renumbered in another way in positions
            of another kind.
        observation: int32[symmetries, observation size], for the flattened observation.
        kind: the kind of each of the positions in a structured array [N], int[N]; needed with
            several kinds.
        as_other: int[symmetries], for each row the row of the same symmetry from the opponent's
            side; needed if a row treats own and opposing features differently. None: the same row.
    """

    actions: np.ndarray
    observation: np.ndarray
    kind: Callable[[np.ndarray], np.ndarray] | None = None
    as_other: np.ndarray | None = None

    def __post_init__(self) -> None:
        if (self.kind is None) != (self.actions.ndim == 2):
            raise ValueError("several kinds of positions need a function that tells them apart")
        for table in (self.actions, self.observation):
            identity = np.arange(table.shape[-1])
            if not (np.sort(table) == identity).all() or (table[..., 0, :] != identity).any():
                raise ValueError("a symmetry must be a permutation, and row 0 the identity")
        if self.actions.shape[-2] != len(self.observation):
            raise ValueError("actions and observation need the same number of symmetries")

    def __len__(self) -> int:
        return len(self.observation)

    def actions_of(self, states: np.ndarray, numbers: np.ndarray | int) -> np.ndarray:
        """Action tables int32[N, num_actions] of positions [N], under symmetries [N] or one."""
        if self.kind is not None:
            return self.actions[self.kind(states), numbers]
        return self.actions[np.broadcast_to(numbers, len(states))]

    def of_cells(self, cells: int) -> np.ndarray:
        """Table int32[symmetries, cells] for what lies on the cells as the planes do.

        Raises:
            ValueError: not every plane of the observation is relabelled cell by cell, and all of
                them in the same way.
        """
        planes = self.observation.reshape(len(self), -1, cells)
        table = planes[:, 0]
        if (planes != table[:, None] + cells * np.arange(planes.shape[1])[:, None]).any():
            raise ValueError(f"the symmetries relabel the planes in other ways than {cells} cells")
        return table


class Threats(NamedTuple):
    """What each player could do at once in a position, if it were their turn.

    Attributes:
        actions: int32[2, num_actions], by player: -1 for an action that wins at once, else on how
            many cells it takes what the game counts as at hand; 0 where it is not legal.
        cells: int32[2, height * width], by player: how many actions take what is there.
        is_passed: whether the player who is not to move was asked: in some games nobody can pass.
    """

    actions: np.ndarray
    cells: np.ndarray
    is_passed: bool


class Game(GameText):
    """One game with one set of options: its rules, sizes, tables, text, symmetries, picture.

    A subclass names the class attributes and sets the instance attributes in `setup`, which
    may read ``self.options``.

    Class attributes:
        name: lower-case name, as in the registry and in ``<name>_v<version>``.
        version: version of rules, observation and action numbers together; a change of any
            makes older checkpoints and records unreadable, and so needs a new number.
        title: name for people.
        summary: the game in one line.
        credit: inventor and year.
        option_list: the options.
        notation: how the text of an action differs from its name, in a sentence; empty if it
            is the name in every position.
        upright: where the rules have ``is_turned``: which of the ``observation_names`` is 1 (all
            over, if it is a plane) where the player's canonical view is the board's own, and 0
            where it is turned.
        clock: the `Clock` that an option brings into the game, if one does.
        boards: sets of options, besides the defaults, that a page with games offers.
        rules: module with the rule functions (all decorated with ``engine.rule.rule``):
            ``init(tables, state, rng)`` writes the start into every field of ``state``;
            ``is_legal(tables, state, action) -> bool`` for an unfinished game;
            ``step(tables, state, action)`` plays a legal action;
            ``observe(tables, state, player, planes)`` writes what ``player`` sees, in the board's
            own frame, into every entry of ``planes`` [planes, cells], or [1, features] for a
            flat observation;
            ``score(tables, state) -> int``, player 0's lead: the margin at the end of a game
            that has points, a guess at who is ahead for one that has none;
            ``is_turned(tables, state, player) -> bool``, whether the canonical view of ``player``
            is the board after ``canonical_turn``, so that both players play in the same
            direction there. The turn commutes with every symmetry;
            ``may_end(tables, state) -> bool``, false only where no legal action of an unfinished
            game ends it: searches then need not try each action for a win.
            ``set_up(tables, state, places)`` writes the start that people have agreed on, see
            `board.scene.Diagram`: ``places`` has a bit for each place with the first letter.
            The last four may be left out: no score, a board that is never turned, a game that may
            end at any time, and no such start.
        view: module with the functions that tell what people see, written and compiled like rule
            functions, so that a page shows what Python shows:
            ``show(tables, view, before, state, action, shown)`` writes for each slot of `scene`
            the number of the shape that it shows, int32[slots], in which anything may stand
            before; ``action`` led from ``before`` to ``state``; it may be -1, and ``before``
            may be ``state`` once more, where these are not known; ``view`` is the record of
            ``view_tables``;
            ``word(tables, state, action) -> int``, which of the ``words`` is the text of an action
            (default: its number);
            ``task(tables, state) -> int``, which of the ``tasks`` the mover has (default: 0);
            ``role(tables, state, player) -> int``, which of the scene's roles a player has
            (default: its number);
            ``points(tables, state, player) -> int``, where ``has_points``;
            ``owner(tables, state, cell) -> int``, 1, -1 or 0 for nobody, where ``has_owners``;
            ``at_hand(tables, before, state, cell) -> bool``, whether the action that led from
            ``before`` to ``state`` took what is worth a threat there (default: nothing is);
            ``pass_turn(tables, state) -> bool``, which writes the position in which the other
            player is to move, as if the mover had passed (default: nobody can, False);
            ``next_pose(tables, view, state, pose, way) -> int``, where people take pieces in hand:
            how the mover's piece lies after a turn or a flip (`engine.views.TURN`, ``FLIP``), by
            the numbers of the scene's `Handling`. A piece that then looks the same has the same
            pose, so that a legal action's pose leads to that of a legal action.

    Instance attributes:
        options: every option with its value.
        state_dtype: from ``rule.state_dtype``.
        tables: from ``rule.table_record``.
        num_actions: size of the action space.
        action_names: for each action a text that does not depend on the position.
        observation_shape: (planes, height, width) or (features,).
        observation_names: a short name for each plane or feature.
        max_score: largest absolute final ``score``, or 0 where it is only a guess.
        canonical_turn: the `CanonicalTurn` that goes with ``is_turned``; None without.
        action_places: a hint for networks on boards: for each action its place
            ``plane * height * width + cell`` on planes over the board, -1 where it has none
            (a pass, say); int32[num_actions], no place twice; or None.
        binary_observation: all observation entries are 0 or 1, so uint8 can hold them.
        max_plies: most plies that a game can last.
        random_start: starts differ, by the seed.
        log_fields: names of record fields that only tell how the position came about, for
            pictures; no rule reads them but to write them.
        has_owners: the view's ``owner`` says who has which cell of the board. Only for
            observations that are planes over the board, in games without a canonical turn.
        event_names: the rules whose use `events` counts, for reports on the game, such as
            ``capture``, the most striking first; none by default.
        words: texts of actions, see ``view``; ``action_names`` by default.
        tasks: what a mover may have to do, each after "to".
        has_points: the players have points, whose difference is ``score``.
        view_tables: from ``rule.table_record``, what ``show`` looks up besides the ``tables``.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 0
    title: ClassVar[str]
    summary: ClassVar[str]
    credit: ClassVar[str]
    option_list: ClassVar[tuple[Option, ...]] = ()
    notation: ClassVar[str] = ""
    upright: ClassVar[str | None] = None
    clock: ClassVar[Clock | None] = None
    boards: ClassVar[tuple[dict[str, Any], ...]] = ()
    rules: ClassVar[ModuleType]
    view: ClassVar[ModuleType | None] = None

    #: Observation shape as the rules see it: (planes, cells), or (1, features).
    planes_shape: tuple[int, int]
    #: The compiled functions of ``engine.kernels`` for this game's rules.
    kernels: SimpleNamespace

    state_dtype: np.dtype
    tables: np.ndarray
    num_actions: int
    action_names: Sequence[str]
    observation_shape: tuple[int, ...]
    observation_names: Sequence[str]
    max_score: int = 0
    canonical_turn: CanonicalTurn | None = None
    action_places: np.ndarray | None = None
    binary_observation: bool = False
    max_plies: int
    random_start: bool = False
    log_fields: tuple[str, ...] = ()
    has_owners: bool = False
    event_names: Sequence[str] = ()
    words: Sequence[str] = ()
    tasks: Sequence[str] = ("move",)
    has_points: bool = False
    view_tables: np.ndarray = _NOTHING

    def __init__(self, /, **options: Any) -> None:
        self.options = check_options(self.name, self.option_list, options)
        self.setup()
        self.words = self.words or self.action_names
        self._check()
        first, *board = self.observation_shape
        self.planes_shape = (first, prod(board)) if board else (1, first)
        self._add_turn()
        self.kernels = specialise(kernel_templates, self.rules)

    def _check(self) -> None:
        """Raise ``ValueError`` for errors that show without playing; `check_game` finds others."""
        check_description(self)
        check_rules(self)
        check_view(self)

    def _add_turn(self) -> None:
        """Add the canonical turn to the tables, where `kernels` look for it."""
        turn = self.canonical_turn
        if (turn is None) == hasattr(self.rules, "is_turned") or (turn is None) != (
            self.upright is None
        ):
            raise ValueError(
                f"{self.name}: the rule `is_turned`, `canonical_turn` and `upright` go together"
            )
        cells, actions = np.arange(self.planes_shape[1]), np.arange(self.num_actions)
        if turn is not None:
            if len(turn.cells) != len(cells) or len(turn.actions) != len(actions):
                raise ValueError(
                    f"{self.name}: its canonical turn is of {len(turn.cells)} cells and "
                    f"{len(turn.actions)} actions, but there are {len(cells)} and {len(actions)}"
                )
            cells, actions = turn.cells, turn.actions
        self.tables = extended_record(
            self.tables,
            turned_cells=np.asarray(cells, np.int32),
            turned_actions=np.asarray(actions, np.int32),
        )

    # What a game implements.

    @abstractmethod
    def setup(self) -> None:
        """Set the instance attributes from ``self.options``."""

    @abstractmethod
    def text_to_action(self, state: np.record, text: str) -> int:
        """Action number of ``text``, read in either case, legal in ``state`` or not.

        `parse_action` adds the check that it is legal.

        Raises:
            ValueError: the text is malformed; the message names it and says why.
        """

    @abstractmethod
    def scene(self) -> Scene:
        """What the picture is made of; which of it a position shows is up to its ``view``."""

    @abstractmethod
    def symmetries(self) -> Symmetries:
        """All symmetries of the game, the identity first."""

    def why_illegal(self, state: np.record, action: int) -> str:
        """Why a well-formed action is not legal in ``state``: the end of a sentence."""
        return "it is not legal in this position"

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        """How often each rule of ``event_names`` came into play in N plies.

        The rules are written once, in ``rules.py``: an event is what two records tell by their
        difference, in plain numpy over all plies at once.

        Args:
            before: the positions, structured [N].
            actions: what was played in them, int64[N].
            after: the positions that followed, structured [N].

        Returns:
            int[N, events], such as 2 where two pieces were captured.
        """
        return np.zeros((len(before), 0), np.int32)

    def action_spots(self) -> np.ndarray | None:
        """Where each action belongs in the picture, for programs that draw on it.

        Returns:
            float[num_actions, 2], x and y in the user units of `svg`, NaN for an action that has
            no place (a pass, say); or None, where no action has one.
        """
        return None

    # What the engine adds.

    def action_to_text(self, state: np.record, action: int) -> str:
        """Notation of ``action`` in the position ``state``, lower case.

        Messages and tools ask for illegal actions and in finished games too: there it is any text
        that a person recognises, such as the action's name.
        """
        return self.words[self.word(state, action)]

    def word(self, state: np.record, action: int) -> int:
        """Number of the text of ``action``, among the ``words``."""
        return int(self._ask("word", self.tables, self._alone(state), action))

    @property
    def running_clock(self) -> Clock | None:
        """The clock that it is played with; None without."""
        clock = self.clock
        return clock if clock is not None and self.options[clock.option] else None

    def owners(self, states: np.ndarray) -> np.ndarray:
        """Who has each cell in positions [N], where the game has that: see ``has_owners``.

        Returns:
            int8[N, height * width]: 1 player 0, -1 player 1, 0 nobody.

        Raises:
            NotImplementedError: cells of this game have no owners.
        """
        self._check_owners()
        found = np.empty((len(states), self.planes_shape[1]), np.int8)
        self._foresee("owners", self.tables, states, found)
        return found

    def ownership(self, state: np.record, playouts: int = 200, seed: int = 0) -> np.ndarray:
        """Who will have each cell, as far as random games from a position tell.

        Args:
            state: the position.
            playouts: random games, 1 or more.
            seed: of the random games.

        Returns:
            float32[height * width]: the mean of `owners` at their ends, from 1 to -1.

        Raises:
            NotImplementedError: cells of this game have no owners.
            ValueError: there are no playouts.
        """
        self._check_owners()
        if playouts < 1:
            raise ValueError(f"playouts are 1 or more, not {playouts}")
        sums = np.zeros(self.planes_shape[1], np.int32)
        there, room, lots = self._alone(state), self.new_states(1), seed_rng(seed)[0]
        self._foresee("ownership", self.tables, there, room, lots, self.num_actions, playouts, sums)
        return (sums / np.float32(playouts)).astype(np.float32)

    def threats(self, state: np.record) -> Threats:
        """What each player could do at once in a position, if it were their turn."""
        actions = np.zeros((2, self.num_actions), np.int32)
        cells = np.zeros((2, self.planes_shape[1]), np.int32)
        there = self._alone(state)
        is_passed = self._foresee("threats", self.tables, there, self.new_states(2), actions, cells)
        return Threats(actions, cells, bool(is_passed))

    def _check_owners(self) -> None:
        if not self.has_owners:
            raise NotImplementedError(f"cells of {self.name} have no owners")

    def next_pose(self, state: np.record, pose: int, way: int) -> int:
        """How the mover's piece lies after a turn or a flip, see `board.scene.Handling`.

        Args:
            state: the position.
            pose: how it lies.
            way: `engine.views.TURN` or ``FLIP``.
        """
        there = self._alone(state)
        return int(self._ask("next_pose", self.tables, self.view_tables, there, pose, way))

    def to_do(self, state: np.record) -> str:
        """The next task of the player to move, such as ``place the second token``."""
        return self.tasks[self.facts(state)[TASK]]

    def tally(self, state: np.record) -> tuple[int, int] | None:
        """Points of both players, of which ``score`` is the difference; None: there are none."""
        if not self.has_points:
            return None
        facts = self.facts(state)
        return int(facts[POINTS]), int(facts[POINTS + 1])

    def facts(self, state: np.record) -> np.ndarray:
        """What people are told of a position, int32[5]: see `engine.views`."""
        found = np.empty(NUM_FACTS, np.int32)
        self._ask("facts", self.tables, self._alone(state), found)
        return found

    def shown(
        self, state: np.record, last_action: int | None = None, before: np.record | None = None
    ) -> np.ndarray:
        """What each slot of the `scene` shows, by number, int32[slots]: see `board.scene.Slot`.

        Args: as for `svg`.
        """
        shown = np.zeros(len(self.drawn_scene.slots), np.int32)
        there = self._alone(state)
        action = -1 if last_action is None else last_action
        since = there if before is None else self._alone(before)
        self._ask("show", self.tables, self.view_tables, since, there, action, shown)
        return shown

    def svg(
        self,
        state: np.record,
        last_action: int | None = None,
        before: np.record | None = None,
    ) -> str:
        """The position as an SVG document.

        Args:
            state: the position.
            last_action: the action that led to it, which is marked.
            before: the position in which it was played; what it changed is then marked too,
                such as captured stones.
        """
        from ..board.scene import scene_document  # the games' drawing stands on the engine

        return scene_document(self, state, last_action, before)

    @cached_property
    def drawn_scene(self) -> Scene:
        """The `scene`, made once."""
        return self.scene()

    @cached_property
    def _views(self) -> SimpleNamespace:
        """The compiled functions of ``engine.views`` for this game."""
        return specialise(view_templates, self.rules, self.view)

    @cached_property
    def _foresight(self) -> SimpleNamespace:
        """The compiled functions of ``engine.foresight`` for this game."""
        return specialise(foresight_templates, self.rules, self.view)

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Call a compiled function of the view; ``ValueError`` says what cannot be compiled."""
        return self._call(self._views, name, arguments)

    def _foresee(self, name: str, *arguments: Any) -> Any:
        """Call a compiled function of `foresight`, likewise."""
        return self._call(self._foresight, name, arguments)

    def _call(self, compiled: SimpleNamespace, name: str, arguments: tuple[Any, ...]) -> Any:
        try:
            return getattr(compiled, name)(*arguments)
        except COMPILE_ERRORS as error:
            raise compile_error(self, error) from None

    def _alone(self, state: np.record) -> np.ndarray:
        """A record as an array of one."""
        return np.asarray(state, self.state_dtype).reshape(1)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({options})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.options == other.options

    def __hash__(self) -> int:
        return hash((type(self), repr(self.options)))

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self.options)

    def __deepcopy__(self, memo: dict) -> Game:
        return self  # rules do not change while they are played

    def start(self, seed: int | np.random.SeedSequence | None = None) -> Position:
        """A new game; ``seed`` matters only where the start is random."""
        return Position(self, seed)

    def new_states(self, count: int) -> np.ndarray:
        """Allocate ``count`` zeroed positions: structured array [count]."""
        return np.zeros(count, self.state_dtype)

    def parse_action(self, state: np.record, mask: np.ndarray, text: str) -> int:
        """Action number of a legal action's text.

        Raises:
            ValueError: the text is malformed or not legal in ``state``, or it is no text.
        """
        if not isinstance(text, str):
            raise ValueError(f"an action is written as a text (str), not {quoted(text)}")
        try:
            action = self.text_to_action(state, text.strip().lower())
        except ValueError as error:
            if quoted(text) in str(error):
                raise
            raise ValueError(f"{quoted(text)}: {error}") from None
        if not mask[action]:
            raise ValueError(f"{quoted(text)} is not legal now: {self.explain(state, action)}")
        return action

    def explain(self, state: np.record, action: int) -> str:
        """Why ``action`` is not legal in ``state``."""
        return "the game is over" if state.outcome else self.why_illegal(state, action)


def _rebuild(game: type[Game], options: dict[str, Any]) -> Game:
    return game(**options)
