"""`HOOKS` lists the functions that a game may define.

The compiler (`compile`), the checks (`check`, `trial`) and a page of the guide use this list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from .rule import rule


@dataclass(frozen=True)
class Hook:
    """A function of a game's module ``rules`` or ``view``, decorated with ``rule.rule``.

    Attributes:
        name: the function's name.
        module: the module that defines it.
        arguments: the arguments' names.
        does: what it does or returns, in words.
        default: the function that replaces a missing one; None if the game must have one.
    """

    name: str
    module: Literal["rules", "view"]
    arguments: tuple[str, ...]
    does: str
    default: Callable | None = None

    def of(self, rules: ModuleType, view: ModuleType | None) -> Callable | None:
        """The game's function, or the default."""
        module = rules if self.module == "rules" else view
        return getattr(module, self.name, self.default)


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
def _itself(tables, state, number):
    return number


@rule
def _nothing_at_hand(tables, before, state, cell):
    return False


@rule
def _same_pose(tables, view, state, pose, way):
    return pose


@rule
def _show_nothing(tables, view, before, state, action, shown):
    return None


def _rules(name: str, arguments: str, does: str, default: Callable | None = None) -> Hook:
    return Hook(name, "rules", ("tables", *arguments.split()), does, default)


def _view(name: str, arguments: str, does: str, default: Callable) -> Hook:
    return Hook(name, "view", ("tables", *arguments.split()), does, default)


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
        "score",
        "state",
        "player_0's lead: in points, or an estimate of who is ahead; default: 0",
        _nothing,
    ),
    _rules(
        "may_end",
        "state",
        "tells whether some legal action may end the game; if not, searches need not try each for "
        "a win; default: always",
        _at_any_time,
    ),
    _rules(
        "is_turned",
        "state player",
        "tells whether `player` sees the board after the `canonical_turn` of the `Spec`, so that "
        "both play in the same direction; default: never",
        _nothing_of,
    ),
    _rules(
        "set_up",
        "state places",
        "writes the start that people have agreed on, if the scene has a `Diagram`: `places` "
        "has a bit for each place with the first letter",
        _nothing_of,
    ),
    _view(
        "show",
        "view before state action shown",
        "writes for each slot of the scene the number of the shape that it shows; default, if "
        "there is no scene either: the picture shows the planes of the observation",
        _show_nothing,
    ),
    _view(
        "word",
        "state action",
        "the number, among the `words`, of the text of `action`; default: the action's number",
        _itself,
    ),
    _view(
        "task",
        "state",
        "the number of the mover's task among the `tasks`; default: the first, to move",
        _nothing,
    ),
    _view(
        "reason",
        "state action",
        "the number of the reason, among the `reasons`, why `action` is not legal, plus the number "
        "of reasons times the action that `{1}` in the text names; default: the first",
        _nothing_of,
    ),
    _view(
        "role",
        "state player",
        "the number of a player's role in the scene, if players may swap roles; default: `player`",
        _itself,
    ),
    _view(
        "points",
        "state player",
        "the player's points, if the game counts them; their difference is `score`",
        _nothing_of,
    ),
    _view(
        "owner",
        "state cell",
        "the owner of a cell of the board, in games with owners: 1 player_0, -1 player_1, 0 nobody",
        _nothing_of,
    ),
    _view(
        "at_hand",
        "before state cell",
        "tells whether the action that led from `before` to `state` took something on `cell`, such "
        "as a captured piece; default: threats are wins only",
        _nothing_at_hand,
    ),
    _view(
        "pass_turn",
        "state",
        "writes the position in which the other player is to move, and returns `True`. Only "
        "`threats` uses it; a pass in the game is an action; default: only the mover's threats "
        "are known",
        _nothing,
    ),
    _view(
        "next_pose",
        "view state pose way",
        "the pose of the piece in hand after a turn or a flip, if the scene has a `Handling`",
        _same_pose,
    ),
)
