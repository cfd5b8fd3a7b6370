"""The functions that a game may have: `HOOKS` lists them, and everything else asks it.

What is compiled (`compile`), what is checked (`check`, `trial`), and a page of the guide are made
from this list.
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
        name: of the function.
        module: where it stands.
        arguments: their names.
        does: what it does, in a sentence.
        default: what is used where the game has no such function; None where it must have one.
    """

    name: str
    module: Literal["rules", "view"]
    arguments: tuple[str, ...]
    does: str
    default: Callable | None = None

    def of(self, rules: ModuleType, view: ModuleType | None) -> Callable | None:
        """The function of a game, or else the default."""
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
    _rules("is_legal", "state action", "whether the mover may play `action`, any number in range"),
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
        "player_0's lead: in points, or a guess at who is ahead; without it 0",
        _nothing,
    ),
    _rules(
        "may_end",
        "state",
        "whether some legal action may end the game: where not, searches need not try each for a "
        "win; without it always",
        _at_any_time,
    ),
    _rules(
        "is_turned",
        "state player",
        "whether `player` sees the board after the `canonical_turn` of the `Spec`, so that both "
        "play in the same direction; without it never",
        _nothing_of,
    ),
    _rules(
        "set_up",
        "state places",
        "writes the start that people have agreed on, where the scene has a `Diagram`: `places` "
        "has a bit for each place with the first letter",
        _nothing_of,
    ),
    _view(
        "show",
        "view before state action shown",
        "writes for each slot of the scene the number of the shape that it shows; without it and "
        "without a scene the picture is the planes of the observation",
        _show_nothing,
    ),
    _view(
        "word",
        "state action",
        "which of the `words` is the text of `action`, any number in range; without it its number",
        _itself,
    ),
    _view(
        "task",
        "state",
        "which of the `tasks` the mover has; without it the first, to move",
        _nothing,
    ),
    _view(
        "reason",
        "state action",
        "why `action` is not legal: the number of one of the `reasons`, and, times how many there "
        "are, the action that `{1}` in it names; without it the first",
        _nothing_of,
    ),
    _view(
        "role",
        "state player",
        "which of the scene's roles a player has, where players may swap them; without it `player`",
        _itself,
    ),
    _view(
        "points",
        "state player",
        "the player's points, where the game counts them; their difference is `score`",
        _nothing_of,
    ),
    _view(
        "owner",
        "state cell",
        "who has a cell of the board, where the game has that: 1 player_0, -1 player_1, 0 nobody",
        _nothing_of,
    ),
    _view(
        "at_hand",
        "before state cell",
        "whether the action that led from `before` to `state` took something there: a capture, a "
        "claim; without it threats are wins only",
        _nothing_at_hand,
    ),
    _view(
        "pass_turn",
        "state",
        "writes the position in which the other player is to move, and returns `True`. It serves "
        "only the picture of threats, and is no pass in the game, which is an action; without it "
        "only the mover's threats are known",
        _nothing,
    ),
    _view(
        "next_pose",
        "view state pose way",
        "how the piece in hand lies after a turn or a flip, where the scene has a `Handling`",
        _same_pose,
    ),
)
