"""`Game`: the base class that a game's package implements and every part of the engine uses.

A game's package is a folder with ``rules.py`` (the rule functions), ``board.py`` (the subclass of
`Game`: geometry, text, symmetries, picture), perhaps ``view.py`` (functions that say what people
see of a position), and a README.
``docs/guide/new-game.md`` builds a game step by step.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from ludarium.base.memory import sealed
from ludarium.base.messages import quoted
from ludarium.machine.compiler import CompileError

from . import batch_kernels as batch_templates
from . import kernels as kernel_templates
from . import views as view_templates
from .check import check_hooks, check_spec, compile_error, fault_of_class
from .compile import specialise
from .draw.planes import planes_scene, planes_text, spots_of_places
from .draw.scene import Scene
from .hooks import HOOKS
from .options import Clock, Option, check_options
from .position import Position
from .position_text import PositionFormat
from .rule import declared_fields, extended_record, table_record, undeclared
from .spec import Spec

_SOME_NAMES = 6  # actions in a message
_NOTHING = table_record(nothing=0)


@dataclass(frozen=True)
class Terminal:
    """What a game has of its own in a terminal.

    Attributes:
        text: function of a `Position`, the text before each move of a person, where `board_text` is
            too long.
        commands: (usage, explanation) of each command that ``answer`` knows.
        answer: function of a `Position` and a command with its arguments, in lower case, that gives
            lines of text; None if it is not such a command. A ``ValueError`` says what is wrong
            with the arguments.
    """

    text: Callable[[Position], str] = Position.board_text
    commands: tuple[tuple[str, str], ...] = ()
    answer: Callable[[Position, Sequence[str]], str | None] = lambda position, words: None


@dataclass(frozen=True)
class Symmetries:
    """Symmetries of a game, relabellings that do not change it, for data augmentation.

    Row ``s`` of a table gathers: ``transformed = original[table[s]]``. Row 0 is the identity.

    Attributes:
        actions: int32[symmetries, num_actions], for masks and policies; int32[kinds, symmetries,
            num_actions] if positions of different kinds renumber their actions differently.
        observation: int32[symmetries, observation size], for the flattened observation. A row that
            treats own and opposing features differently needs its counterpart among the others,
            which is the same symmetry from the opponent's side.
        kind: function that gives int[N], the kind of each position of a structured array [N];
            needed if there are several.

    Raises:
        ValueError: a row is no permutation, row 0 is not the identity, the tables have different
            numbers of symmetries, or ``kind`` and the shape of ``actions`` contradict each other.
    """

    actions: np.ndarray
    observation: np.ndarray
    kind: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        sealed(self)
        if (self.kind is None) != (self.actions.ndim == 2):
            raise ValueError("several kinds of positions need a function that tells them apart")
        for table in (self.actions, self.observation):
            identity = np.arange(table.shape[-1])
            if not (np.sort(table) == identity).all() or (table[..., 0, :] != identity).any():
                raise ValueError("a symmetry must be a permutation, and row 0 the identity")
        if self.actions.shape[-2] != len(self.observation):
            raise ValueError("actions and observation need the same number of symmetries")

    @classmethod
    def of_board(cls, cells: np.ndarray, planes: int, others: int = 0) -> Symmetries:
        """Symmetries that relabel every plane, and the actions, as they do the cells.

        Args:
            cells: int[symmetries, cells]; action ``k`` belongs to cell ``k``.
            planes: planes of the observation.
            others: how many actions follow those of the cells; they stay what they are.

        Raises:
            ValueError: see `Symmetries`.
        """
        count, size = cells.shape
        rest = np.broadcast_to(np.arange(size, size + others), (count, others))
        offsets = size * np.arange(planes)[None, :, None]
        return cls(
            actions=np.hstack([cells, rest]).astype(np.int32),
            observation=(offsets + cells[:, None, :]).reshape(count, -1).astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.observation)

    def actions_of(self, states: np.ndarray, numbers: np.ndarray | int) -> np.ndarray:
        """Action tables int32[N, num_actions] of positions [N], under symmetries [N] or one."""
        if self.kind is not None:
            return self.actions[self.kind(states), numbers]
        return self.actions[np.broadcast_to(numbers, len(states))]

    def of_cells(self, cells: int) -> np.ndarray:
        """Table int32[symmetries, cells] for values that lie on the cells as the planes do.

        Raises:
            ValueError: the symmetries do not relabel every plane of the observation cell by cell
                and in the same way.
        """
        planes = self.observation.reshape(len(self), -1, cells)
        table = planes[:, 0]
        if (planes != table[:, None] + cells * np.arange(planes.shape[1])[:, None]).any():
            raise ValueError(f"the symmetries relabel the planes in other ways than {cells} cells")
        return table


class Game(ABC):
    """One game with one set of options: its rules, sizes, tables, text, symmetries, picture.

    A subclass has the class attributes ``name`` and ``rules``, and a method `setup` that returns a
    `Spec`, whose sizes, tables, names and texts the game has too, under the same names; the board's
    size is in ``observation_shape``. All other methods have a default.

    Everyone who plays a game with the same options may share the object. So when it is made, all
    arrays in public attributes become read-only.

    Class attributes:
        name: lower-case name, as in the registry and in ``<name>_v<version>``.
        rules: module with the functions of the rules, see `hooks.HOOKS`.
        version: version of rules, observation and action numbers together. A change of any of them
            makes older checkpoints and records unreadable, and so needs a new number.
        title: name for people; by default ``name`` with a capital letter.
        summary: the game in one line.
        credit: inventor and year.
        option_list: the options.
        notation: how the text of an action differs from its name, in a sentence; empty if it
            is the name in every position.
        clock: the `Clock` that an option brings into the game, if one does.
        featured_options: sets of options, besides the defaults, that the browser page offers.
        terminal: what the game has of its own in a terminal.

    Attributes:
        options: every option with its value.
        spec: what `setup` returned.
        num_actions: size of the action space.
        observation_shape: (planes, height, width) or (features,).
        planes_shape: the same shape for the rules: (planes, cells), or (1, features).
        log_fields: the fields of a position that decide nothing, see `rule.state_dtype`.
        has_points: the players have points, whose difference is ``score``.
        has_score: the rules tell who is ahead, by points or otherwise.
        has_owners: cells of the board have owners.
        kernels: the compiled functions of ``engine.kernels`` for this game's rules.
        words, tasks, reasons: the texts of the spec; ``action_names`` if it has no words.
        position_format: how positions are written as text; None: as the fields of the record.

    Raises:
        UnknownOptionError: there is no such option.
        FileNotFoundError: an option is the path of a file that does not exist.
        ValueError: an option does not accept its value, or the class, its spec or a function has a
            fault; the message says which.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 0
    title: ClassVar[str]
    summary: ClassVar[str] = ""
    credit: ClassVar[str] = ""
    option_list: ClassVar[tuple[Option, ...]] = ()
    notation: ClassVar[str] = ""
    clock: ClassVar[Clock | None] = None
    featured_options: ClassVar[tuple[dict[str, Any], ...]] = ()
    terminal: ClassVar[Terminal] = Terminal()
    rules: ClassVar[ModuleType]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "title") and isinstance(getattr(cls, "name", None), str):
            cls.title = cls.name.capitalize()

    def __init__(self, /, **options: Any) -> None:
        fault = fault_of_class(type(self))
        if fault is not None:
            raise ValueError(f"{type(self).__qualname__} {fault}")
        self.options = check_options(self.name, self.option_list, options)
        spec = self.setup()
        check_spec(self, spec)
        self._adopt(spec)
        check_hooks(self, [hook for hook in HOOKS if not hook.path.startswith("drawn_scene.")])
        for name, value in vars(self).items():
            if not name.startswith("_"):
                sealed(value)
        self.kernels = specialise(kernel_templates, self)

    def _adopt(self, spec: Spec) -> None:
        """Set the attributes that follow from a spec."""
        self.spec = spec
        self.state_dtype = undeclared(spec.state_dtype)
        self.action_names, self.num_actions = spec.action_names, len(spec.action_names)
        self.observation_names, first = spec.observation_names, len(spec.observation_names)
        self.observation_shape = (first, *(spec.board or ()))
        self.planes_shape = (first, prod(spec.board)) if spec.board else (1, first)
        self.max_plies, self.max_score = spec.max_plies, spec.max_score
        self.binary_observation, self.random_start = spec.binary_observation, spec.random_start
        self.action_places, self.canonical_turn = spec.action_places, spec.canonical_turn
        self.words = spec.words.texts or spec.action_names
        self.tasks, self.reasons = spec.tasks.texts, spec.reasons.texts
        self.event_names = spec.event_names
        self.log_fields = declared_fields(spec.state_dtype, "log")
        self.position_format: PositionFormat | None = spec.position_format
        self.view_tables = _NOTHING if spec.view_tables is None else spec.view_tables
        self.has_points = hasattr(self.rules, "points")
        self.has_score = self.has_points or hasattr(self.rules, "score")
        self.has_owners = spec.owner is not None
        self.tables = self._engine_tables(spec)

    def _engine_tables(self, spec: Spec) -> np.ndarray:
        """The tables of the rules, with those that the engine's templates need."""
        turn, cells = spec.canonical_turn, self.planes_shape[1]
        turned = (np.arange(cells), np.arange(self.num_actions))
        if turn is not None:
            turned = turn.cells, turn.actions
        places = np.full(self.num_actions, -1) if spec.action_places is None else spec.action_places
        return extended_record(
            _NOTHING if spec.tables is None else spec.tables,
            turned_cells=np.asarray(turned[0], np.int32),
            turned_actions=np.asarray(turned[1], np.int32),
            action_cells=np.where(places < 0, -1, places % cells).astype(np.int32),
        )

    # Methods that a game must implement.

    @abstractmethod
    def setup(self) -> Spec:
        """The spec of the game with ``self.options``, which have been checked."""

    # Methods that it may implement.

    def text_to_action(self, position: Position, text: str) -> int:
        """Action number of ``text``, which is in lower case; the action need not be legal.

        `Position.text_to_action` also checks that it is legal. By default the text must equal the
        result of `Position.action_to_text` for one of the actions.

        Raises:
            ValueError: the text is malformed, or means no action here; the message names it and
                says why.
        """
        for action in range(self.num_actions):
            if position.action_to_text(action) == text:
                return action
        some = ", ".join(self.action_names[:_SOME_NAMES])
        more = "" if self.num_actions <= _SOME_NAMES else f", ... ({self.num_actions} in all)"
        raise ValueError(f"{quoted(text)} is malformed: actions are {some}{more}")

    def board_text(self, position: Position) -> str:
        """The position as lines of text, with `Position.standing`; by default its planes."""
        return "\n".join([*planes_text(position), position.standing()])

    def marks(self, position: Position, player: int) -> str:
        """The marks of ``player``'s pieces in `board_text`, such as ``O, o``; or an empty text."""
        return ""

    def scene(self) -> Scene:
        """The parts of the picture, and which of them a position shows.

        By default they are the planes of the observation, cell by cell.
        """
        return planes_scene(self)

    def symmetries(self) -> Symmetries:
        """All symmetries of the game, the identity first; by default no other."""
        return Symmetries(
            actions=np.arange(self.num_actions, dtype=np.int32)[None],
            observation=np.arange(prod(self.observation_shape), dtype=np.int32)[None],
        )

    def why_illegal(self, position: Position, action: int) -> str:
        """Why a well-formed action is not legal in the position: the end of a sentence.

        By default it is the text among the ``reasons`` of the spec that the function there chooses.
        """
        other, reason = divmod(position.reason(action), len(self.reasons))
        return self.reasons[reason].format(self.action_names[action], self.action_names[other])

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        """How often each rule of ``event_names`` came into play in N plies.

        The rules stand in ``rules.py`` alone: events are found by comparing two records, in plain
        numpy over all plies at once.

        Args:
            before: the positions, structured [N].
            actions: the actions played in them, int64[N].
            after: the positions that followed, structured [N].

        Returns:
            int[N, events], such as 2 where two pieces were captured.
        """
        return np.zeros((len(before), 0), np.int32)

    def action_spots(self) -> np.ndarray | None:
        """The place of each action in the picture, for programs that draw on it.

        Returns:
            float[num_actions, 2], x and y in the user units of `Position.svg`, NaN for an action
            that has no place (a pass, say); or None, where no action has one. By default it is the
            place of the action's cell in a rectangular frame, as ``action_places`` says.
        """
        return spots_of_places(self)

    # Methods that the engine adds.

    @property
    def running_clock(self) -> Clock | None:
        """The clock that this game is played with, or None."""
        clock = self.clock
        return clock if clock is not None and self.options[clock.option] else None

    def rules_text(self) -> str:
        """The rules in short, in Markdown: the README's section "Rules" without its subsections.

        A last line names the README; if there is none, a sentence says so instead.
        """
        readme = self._readme_path()
        if not readme.is_file():
            return f"The rules of {self.title} are not written down: there is no {readme}."
        short = self.rules_section().partition("\n### ")[0].rstrip()
        return f"{short or 'It has no section with rules.'}\n\nMore: {readme}"

    def rules_section(self) -> str:
        """The README's section "Rules" with its subsections; empty if there is none."""
        return self._readme_part(r"^## Rules\n(.*?)(?=^## |\Z)")

    def origin_section(self) -> str:
        """The origin of the game in Markdown, from the README's beginning; empty if it has none."""
        return self._readme_part(r"\A# [^\n]*\n(.*?)(?=^##|\Z)")

    def pictured(self) -> list[tuple[str, list[str], str]]:
        """Pictures of positions in the README: file, moves from the start, and what they show.

        An image in its section "Positions" is one if its title is a list of moves:
        ``![what it shows](picture.png "a1 b2")``.
        """
        section = self._readme_part(r"^## Positions\n(.*?)(?=^##|\Z)")
        found = re.findall(r'!\[([^\]]*)\]\((\S+) "([^"]+)"\)', section)
        return [
            (file, moves.split(", ") if "," in moves else moves.split(), told)
            for told, file, moves in found
        ]

    def picture_of(self, moves: Sequence[str]) -> str:
        """The position after moves, as SVG, with the last move and the legal actions marked.

        Raises:
            ValueError: a move is malformed or not legal.
        """
        position, action, before = self.played(moves)
        return position.svg(action, before, layers={"legal": None})

    def played(self, moves: Sequence[str]) -> tuple[Position, int | None, Position]:
        """The position after moves, the last action (None without one), and the position before it.

        Raises:
            ValueError: a move is malformed or not legal.
        """
        position = before = self.start()
        action = None
        for text in moves:
            before, action = position.copy(), position.text_to_action(text)
            position.play(action)
        return position, action, before

    def _readme_path(self) -> Path:
        return Path(inspect.getfile(type(self))).with_name("README.md")

    def _readme_part(self, pattern: str) -> str:
        path = self._readme_path()
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = re.search(pattern, text, re.DOTALL | re.M)
        return found[1].strip() if found else ""

    @cached_property
    def drawn_scene(self) -> Scene:
        """The `scene`, which is made once."""
        return sealed(self.scene())

    @cached_property
    def _viewing(self) -> SimpleNamespace:
        """The compiled functions of ``engine.views`` for this game."""
        check_hooks(self, HOOKS)
        return specialise(view_templates, self)

    @cached_property
    def batch_kernels(self) -> SimpleNamespace:
        """The compiled functions of ``engine.batch_kernels`` for this game."""
        return specialise(batch_templates, self)

    def _is_current(self) -> bool:
        """Whether rules and view are those that were compiled, and have not been reloaded since."""
        viewing = vars(self).get("_viewing")
        return self.kernels is specialise(kernel_templates, self) and (
            viewing is None or viewing is specialise(view_templates, self)
        )

    def view(self, name: str, *arguments: Any) -> Any:
        """Call a function of ``engine.views``; a ``ValueError`` says what cannot be compiled."""
        try:
            return getattr(self._viewing, name)(*arguments)
        except CompileError as error:
            raise compile_error(self, error) from None

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

    def start(
        self, seed: int | np.random.SeedSequence | None = None, position: str | None = None
    ) -> Position:
        """A new game; ``seed`` matters only where the start is random.

        With the text of a ``position``, the game begins there, see `Position.from_text`.

        Raises:
            ValueError: ``seed`` is not a seed, the text is no position, or the rules cannot be
                compiled.
        """
        return Position(self, seed) if position is None else Position.from_text(self, position)

    def new_states(self, count: int) -> np.ndarray:
        """Allocate ``count`` zeroed positions: structured array [count]."""
        return np.zeros(count, self.state_dtype)


def _rebuild(game: type[Game], options: dict[str, Any]) -> Game:
    return game(**options)
