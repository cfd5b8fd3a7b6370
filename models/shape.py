"""The shape that a network must fit, and the network's kind and size; torch is not needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta


@dataclass(frozen=True)
class NetworkShape:
    """The shape that a network must fit; a game determines it.

    Attributes:
        observation: (planes, height, width) or (features,).
        num_actions: number of policy logits.
        action_places: each action's place ``plane * height * width + cell`` on planes
            over the board, -1 where it has none; None where no action has one.
    """

    observation: tuple[Annotated[int, Meta(ge=1)], ...]
    num_actions: Annotated[int, Meta(ge=1, le=1 << 16)]
    action_places: tuple[Annotated[int, Meta(ge=-1, lt=1 << 31)], ...] | None = None


@dataclass(frozen=True)
class Architecture:
    """The class and size of a network.

    Attributes:
        options: a network of this package has ``channels``, the width of the trunk, and
            ``blocks``, the number of residual blocks, and one for many sets of a game's options
            also ``features``, the number of these options' features; a user's class has its
            keyword arguments.
        module: ``package.module:Class`` for a custom network, None for the others.
    """

    options: dict[str, Any]
    module: str | None = None

    def __str__(self) -> str:
        if self.module is None:
            return f"{self.options['channels']}x{self.options['blocks']}"
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.module}({options})"

    def described(self) -> dict[str, Any]:
        """The options as a JSON value, preceded by ``module`` for a custom network."""
        return ({} if self.module is None else {"module": self.module}) | self.options


def check_shape(shape: NetworkShape) -> None:
    """Raise ``ValueError`` unless a network of this package can have this shape."""
    if len(shape.observation) not in (1, 3):
        raise ValueError(f"no network for observations {shape.observation}; needed: 1 or 3 axes")
    if len(shape.observation) == 1 or shape.action_places is None:
        return
    on_board = [place for place in shape.action_places if place != -1]
    if len(shape.action_places) != shape.num_actions or not on_board:
        raise ValueError(
            f"action_places has {len(shape.action_places)} entries, {len(on_board)} of them on "
            f"the board; needed: one for each of {shape.num_actions} actions, some on the board"
        )
    if min(on_board) < 0 or len(set(on_board)) < len(on_board):
        raise ValueError("action_places must be -1 or places from 0 on, none of them twice")


def check_member(family: NetworkShape, member: NetworkShape) -> None:
    """Check that a network made for the shape ``family`` can serve a game of shape ``member``.

    Raises:
        ValueError: it cannot; the message says why.
    """
    if len(family.observation) == 1:
        if family != member:
            raise ValueError(
                f"observations of shape {list(member.observation)} and {member.num_actions} "
                f"actions are not those of the network, {list(family.observation)} and "
                f"{family.num_actions}"
            )
        return
    if len(member.observation) != 3 or member.observation[0] > family.observation[0]:
        raise ValueError(
            f"observations of shape {list(member.observation)} do not fit a network that takes "
            f"up to {family.observation[0]} planes"
        )
    (planes, without), (wanted, wanted_without) = policy_planes(family), policy_planes(member)
    if wanted > planes or wanted_without != without:
        raise ValueError(
            f"a policy of {wanted} planes and {wanted_without} actions without a place does not "
            f"fit a network that has up to {planes} and {without}"
        )


def policy_planes(shape: NetworkShape) -> tuple[int, int]:
    """How many planes over the board the policy needs, and how many actions have no place.

    Raises:
        ValueError: no action has a place.
    """
    if shape.action_places is None:
        raise ValueError("one network for many boards needs actions with places on the board")
    _, height, width = shape.observation
    return max(shape.action_places) // (height * width) + 1, shape.action_places.count(-1)
