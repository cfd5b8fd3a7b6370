"""`HOOKS` lists the functions that a game may have.

Those of the rules are found by name in the game's module ``rules``. Every other one is carried by
the object that it belongs to: by the `spec.Spec`, or by the picture, a `draw.scene.Scene`.
The compiler (`compile`), the checks (`check`, `game_check`) and a page of the guide use this list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .rule import rule

if TYPE_CHECKING:
    from .game import Game

rules: Any = None  # one game's functions, filled in as in templates


@dataclass(frozen=True)
class Hook:
    """A function of a game, decorated with ``rule.rule``.

    Attributes:
        name: what kernels call it.
        path: the attributes that lead to it from the game.
        arguments: the arguments' names.
        does: what it does or returns, in words.
        default: the function that replaces a missing one; None if the game must have one.
        is_seen: it shows a position to people, or reads one from them: only kernels of templates
            with ``NEEDS_VIEW`` call it.
        given: how a game gives it, for people; empty if it is a function of the rules.
    """

    name: str
    path: str
    arguments: tuple[str, ...]
    does: str
    default: Callable | None = None
    is_seen: bool = False
    given: str = ""

    def own(self, game: Game) -> Callable | None:
        """The game's own function, or None."""
        *way, name = self.path.split(".")
        found: Any = game
        for step in way:
            found = None if found is None else getattr(found, step)
        return getattr(found, name, None)

    def of(self, game: Game) -> Callable:
        """The game's function, or the default; `check.check_hooks` refuses a game without both."""
        function = self.own(game) or self.default
        assert function is not None
        return function


@rule
def _nothing(tables, state):
    return 0


@rule
def _at_any_time(tables, state):
    return True


@rule
def _nothing_of(tables, state, what):
    return 0


@rule
def _lead(tables, state):
    first, second = rules.points(tables, state)
    return first - second


@rule
def _no_points(tables, state):
    return 0, 0


@rule
def _itself(tables, state, number):
    return number


@rule
def _takes_nothing(tables, before, state, cell):
    return False


@rule
def _same_pose(tables, view, state, pose, way):
    return pose


@rule
def _show_nothing(tables, view, before, state, action, shown):
    return None


def _rules(name: str, arguments: str, does: str, default: Callable | None = None) -> Hook:
    return Hook(name, f"rules.{name}", ("tables", *arguments.split()), does, default)


def _seen(name: str, path: str, arguments: str, does: str, given: str, default: Callable) -> Hook:
    return Hook(name, path, ("tables", *arguments.split()), does, default, True, given)


_FORMAT = "Spec(position_format=PositionFormat(..., write=write, read=read))"

HOOKS = (
    _rules("init", "state rng", "writes every field of `state` for a new game"),
    _rules(
        "is_legal", "state action", "tells whether the mover may play `action`, any number in range"
    ),
    _rules(
        "step",
        "state action",
        "plays a legal action: sets `ply`, `mover` and, at the end, `outcome`",
    ),
    _rules(
        "observe",
        "state player planes",
        "writes what `player` sees into every entry of `planes` [planes, cells], or [1, features], "
        "in the board's own frame",
    ),
    _rules(
        "points",
        "state",
        "the points of player_0 and of player_1, if the game counts them",
        _no_points,
    ),
    _rules(
        "score",
        "state",
        "player_0's lead in a game without points, or an estimate of who is ahead; default: the "
        "difference of the points",
        _lead,
    ),
    _rules(
        "may_end",
        "state",
        "tells whether some legal action may end the game; if not, searches need not try each for "
        "a win; default: always",
        _at_any_time,
    ),
    Hook(
        "is_turned",
        "spec.canonical_turn.is_turned",
        ("tables", "state", "player"),
        "tells whether `player` sees the board turned, so that both play in the same direction",
        _nothing_of,
        given="Spec(canonical_turn=BoardTurn(cells, actions, is_turned))",
    ),
    _seen(
        "show",
        "drawn_scene.show",
        "view before state action shown",
        "writes for each slot of the scene the number of the shape that it shows",
        "Scene(show=show)",
        _show_nothing,
    ),
    _seen(
        "role",
        "drawn_scene.role",
        "state player",
        "the number of a player's role, if players may swap roles; default: `player`",
        "Scene(role=role)",
        _itself,
    ),
    _seen(
        "word",
        "spec.words.choose",
        "state action",
        "the number of the text of `action`; default: the action's number",
        "Spec(words=Texts(texts, word))",
        _itself,
    ),
    _seen(
        "task",
        "spec.tasks.choose",
        "state",
        "the number of the mover's task; default: the first, to move",
        "Spec(tasks=Texts(texts, task))",
        _nothing,
    ),
    _seen(
        "reason",
        "spec.reasons.choose",
        "state action",
        "the number of the reason why `action` is not legal, plus the number of reasons times the "
        "action that `{1}` in the text names; default: the first",
        "Spec(reasons=Texts(texts, reason))",
        _nothing_of,
    ),
    _seen(
        "owner",
        "spec.owner",
        "state cell",
        "the owner of a cell of the board: 1 player_0, -1 player_1, 0 nobody; default: cells have "
        "no owners",
        "Spec(owner=owner)",
        _nothing_of,
    ),
    _seen(
        "takes",
        "spec.takes",
        "before state cell",
        "tells whether the action that led from `before` to `state` took something on `cell`, such "
        "as a captured piece; default: threats are wins only",
        "Spec(takes=takes)",
        _takes_nothing,
    ),
    _seen(
        "give_turn",
        "spec.give_turn",
        "state",
        "writes the position in which the other player is to move, and returns `True`. Only "
        "threats use it; a pass in the game is an action; default: only the mover's threats are "
        "known",
        "Spec(give_turn=give_turn)",
        _nothing,
    ),
    _seen(
        "next_pose",
        "drawn_scene.handling.next_pose",
        "view state pose way",
        "the pose of the piece in hand after a turn or a flip",
        "Scene(handling=Handling(next_pose, ...))",
        _same_pose,
    ),
    _seen(
        "write_text",
        "spec.position_format.write",
        "state said",
        "writes what the cells hold, and the fields of the position's text",
        _FORMAT,
        _nothing_of,
    ),
    _seen(
        "read_text",
        "spec.position_format.read",
        "state said",
        "writes the position that a text describes, and returns 0, or the number of a fault",
        _FORMAT,
        _nothing_of,
    ),
    _seen(
        "set_up",
        "drawn_scene.diagram.set_up",
        "state places",
        "writes the start that people have agreed on; `places` has a bit for each place with the "
        "first letter",
        "Scene(diagram=Diagram(set_up, ...))",
        _nothing_of,
    ),
)
