"""Obsidio's board: sizes and tables, text notation, symmetries, picture."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..engine.draw import picture
from ..engine.draw.grid import cell_name, draw_frame, read_cell, square_symmetries
from ..engine.draw.picture import (
    GOLD,
    last_mark,
    moved,
    open_mark,
    outlined,
    round_piece,
    square,
    svg_gradients,
)
from ..engine.draw.scene import Role, Scene, Slot, ranks, slots_at
from ..engine.game import Game, Symmetries
from ..engine.options import Option
from ..engine.position import Position
from ..engine.position_text import Field, PositionFormat, from_the_top
from ..engine.rule import table_record
from ..engine.spec import Spec, Texts
from . import rules, view
from .rules import (
    CLAIMING,
    CONTROL,
    DARK,
    IN_SIGHT,
    INFLUENCE,
    LIGHT,
    NEEDED,
    NUM_PLANES,
    SECOND,
    START,
    TARGET,
)

_COLOURS = ("black", "teal")
_WORDS = (
    "empty",
    *(f"{colour} {token}" for token in ("influence", "control") for colour in _COLOURS),
    "open",
)
_TEXT_SYMBOLS = ".btBT"  # by what a cell holds
_STAGES = ("second", "claiming")  # stages of a turn after its start
_EMPTY_SYMBOLS = {DARK: ":", LIGHT: ".", TARGET: "o"}

_PLANE_NAMES = (
    *("own influence", "other influence", "own control", "other control"),
    *("unclaimed", "dark cells", "light cells", "last", "visible"),
    *(f"{whose} count {count}" for whose in ("own", "other") for count in range(1, NEEDED + 1)),
    *("placing second", "claiming on", "may swap"),
)

#: The events that `events` counts; the last only under the swap rule.
_EVENTS = (
    *("claim", "further claim in a turn", "done after a claim", "pass on a full board"),
    *("dark token", "first light token", "second light token", "second light token forfeited"),
    *("token out of sight", "swap"),
)

_DIAGONALS = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_DIRECTIONS = ((-1, 0), (0, -1), (0, 1), (1, 0), *_DIAGONALS)

#: Reasons, numbered as in the view.
_REASONS = (
    "{0} holds a token",
    "this game is played without the swap rule",
    "colours can only be swapped as the very first action of player_1",
    "the second light token must be placed",
    "a token can be placed or a target claimed, so done is not possible",
    "{0} is not a light cell, and the second light token must be placed",
    "{0} is diagonally adjacent to the first light token ({1})",
    "{0} is not in line of sight of the first light token ({1})",
    "after a claim only more claims or done can follow in the same turn",
    *(
        f"{{0}} is not in line of sight of the last token ({{1}}), and another empty {kind} cell is"
        for kind in ("dark", "light")
    ),
    *(
        f"the target {{0}} needs {NEEDED} {colour} influence tokens around it, and has {count}"
        for colour in _COLOURS
        for count in range(NEEDED)
    ),
)

#: Faults of a position's text, numbered as in the view.
_LAST = (
    "last is the cell of the token that was placed last, such as last=c3: name it, or leave it out "
    "on an empty board; here it is "
)
_TURNS = (
    "such tokens take player_0 {0} to {1} turns and player_1 {2} to {3}, but with player_{4} to "
    "move "
)
_FAULTS = (
    "a wrong token is on {0:last}; B and T stand on targets, such as b2, b and t on other cells",
    *(
        f"the target {{0:last}} is {colour}'s, who has only {{1}} of {NEEDED} tokens around it"
        for colour in _COLOURS
    ),
    _LAST + "missing",
    _LAST + "{0:last}",
    _TURNS + "both have had as many",
    _TURNS + "player_0 has had one more",
    "a colour has claimed enough to win, so the player whose claim was the last is named as the "
    "player to move, and nothing as its turn",
    "turn=second needs the mover's first token on the light cell that last names, and a light cell "
    "that the second may take",
    "turn=claiming needs the mover's claim on the target that last names, and another target that "
    "it can claim",
)

#: Tasks, numbered as in the view.
_TASKS = (
    *("move", "move or swap", "place the second light token"),
    "claim another target, or write done to end the turn",
)

_BOARD = "#b9ae97"
_CELL_COLOURS = {DARK: "#8d8272", LIGHT: "#efe9db", TARGET: "#6a5a48"}
_HOLLOW, _RING = "#463a2d", "#c9a227"
_TOKEN_COLOURS = (("#26262b", "#0b0b0d", "#5a5a63"), ("#2bb3a5", "#0e5f58", "#a5f0e8"))
_GRADIENTS = svg_gradients("token", ((light, base) for base, _, light in _TOKEN_COLOURS))


class Obsidio(Game):
    """Obsidio (Phil Leduc, 2025): surround targets with tokens in line of sight, claim most.

    The last claim decides a tie.
    """

    name = "obsidio"
    title = "Obsidio"
    summary = "besiege targets with tokens placed in line of sight, claim most of them"
    credit = "Phil Leduc, 2025"
    option_list = (
        Option("size", 9, (7, 9, 11), "cells on a side of the square board"),
        Option(
            "diagonal_adjacency",
            True,
            (True, False),
            "whether the second light token may not be diagonally adjacent to the first",
        ),
        Option(
            "swap_rule",
            True,
            (True, False),
            "whether player_1 may swap colours instead of a first turn",
        ),
    )
    rules: ClassVar = rules

    def setup(self) -> Spec:
        size: int = self.options["size"]
        cells = size**2
        self.size = size
        self.cells = cells
        self.done, self.swap = cells, cells + 1
        self.kinds = np.array([_kind(*divmod(cell, size)) for cell in range(cells)], np.uint8)
        self.targets = np.flatnonzero(self.kinds == TARGET)
        targets_beside, num_beside = self._targets_beside()
        names = [cell_name(cell, size) for cell in range(cells)]
        return Spec(
            state_dtype=rules.state_dtype(cells),
            tables=table_record(
                kind=self.kinds,
                is_dark=(self.kinds == DARK).astype(np.uint8),
                is_light=(self.kinds == LIGHT).astype(np.uint8),
                step=np.array([size * up + right for up, right in _DIRECTIONS], np.int8),
                run=self._runs(),
                too_near=self._too_near(),
                target_cell=self.targets.astype(np.uint8),
                targets_beside=targets_beside,
                num_beside=num_beside,
                swap_rule=np.int64(self.options["swap_rule"]),
            ),
            action_names=[*names, "done", "swap"],
            observation_names=_PLANE_NAMES,
            board=(size, size),
            # A token on every cell; a pass before and a done after each claim; the swap.
            max_plies=cells + 2 * len(self.targets) + 1,
            max_score=len(self.targets) // 2 + 1,
            action_places=np.r_[0:cells, -1, -1].astype(np.int32),
            tasks=Texts(_TASKS, view.task),
            reasons=Texts(_REASONS, view.reason),
            event_names=_EVENTS[: None if self.options["swap_rule"] else -1],
            owner=view.owner,
            takes=view.takes,
            give_turn=view.give_turn,
            position_format=PositionFormat(
                letters=_TEXT_SYMBOLS,
                rows=from_the_top([size] * size),
                fields=[
                    Field("last", names, wrong="write a cell, such as c3"),
                    Field("turn", _STAGES),
                    *([Field("swapped", ["yes"])] if self.options["swap_rule"] else []),
                ],
                faults=_FAULTS,
                write=view.write_text,
                read=view.read_text,
            ),
        )

    def _runs(self) -> np.ndarray:
        """Number of cells in each direction before a target or the edge, uint8[cells + 1, 8].

        The last row is for no cell, and 0.
        """
        runs = np.zeros((self.cells + 1, len(_DIRECTIONS)), np.uint8)
        for cell in range(self.cells):
            for direction, (up, right) in enumerate(_DIRECTIONS):
                rank, file = divmod(cell, self.size)
                rank, file = rank + up, file + right
                while self._is_inside(rank, file) and _kind(rank, file) != TARGET:
                    runs[cell, direction] += 1
                    rank, file = rank + up, file + right
        return runs

    def _too_near(self) -> np.ndarray:
        """Where a second light token may not go, for each cell of the first, uint8[cells, 4].

        The rest of a row is filled up with the cell itself.
        """
        near = np.repeat(np.arange(self.cells, dtype=np.uint8)[:, None], 4, axis=1)
        if self.options["diagonal_adjacency"]:
            for cell in range(self.cells):
                for k, (up, right) in enumerate(_DIAGONALS):
                    rank, file = divmod(cell, self.size)
                    if self._is_inside(rank + up, file + right):
                        near[cell, k] = (rank + up) * self.size + file + right
        return near

    def _targets_beside(self) -> tuple[np.ndarray, np.ndarray]:
        """The tables ``targets_beside`` and ``num_beside``."""
        beside = np.zeros((self.cells, 4), np.uint8)
        number = np.zeros(self.cells, np.uint8)
        for target in self.targets.tolist():
            rank, file = divmod(target, self.size)
            for up, right in _DIRECTIONS:
                cell = (rank + up) * self.size + file + right
                beside[cell, number[cell]] = target
                number[cell] += 1
        return beside, number

    def _is_inside(self, rank: int, file: int) -> bool:
        return 0 <= rank < self.size and 0 <= file < self.size

    def text_to_action(self, position: Position, text: str) -> int:
        if text in ("done", "swap"):
            return self.done if text == "done" else self.swap
        try:
            return read_cell(text, self.size, self.size)
        except ValueError as error:
            raise ValueError(
                f"{error}; write a cell to place a token there, done to end the turn, "
                "or swap to exchange colours"
            ) from None

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        on_board = actions < self.cells
        cells = np.where(on_board, actions, 0)
        kinds = np.where(on_board, self.kinds[cells], -1)
        first = (kinds == LIGHT) & (before["stage"] == START)
        claims = kinds == TARGET
        in_sight = before["open"][np.arange(len(before)), cells] & IN_SIGHT != 0
        has_last = before["last"] < self.cells
        ends = (actions == self.done) & (before["stage"] == CLAIMING)
        counts = [
            claims,
            claims & (before["stage"] == CLAIMING),
            ends,
            (actions == self.done) & ~ends,
            kinds == DARK,
            first,
            (kinds == LIGHT) & (before["stage"] == SECOND),
            first & (after["stage"] != SECOND),
            on_board & ~claims & has_last & ~in_sight,
            actions == self.swap,
        ]
        return np.stack(counts[: len(self.event_names)], axis=1, dtype=np.int32)

    def board_text(self, position: Position) -> str:
        lines, state = [], position.state
        for rank in reversed(range(self.size)):
            row = range(rank * self.size, (rank + 1) * self.size)
            marked = [
                f"({self._symbol(state, cell)})"
                if cell == state.last
                else f" {self._symbol(state, cell)} "
                for cell in row
            ]
            lines.append(f"{rank + 1:>2} " + "".join(marked).rstrip())
        files = (cell_name(file, self.size)[0] for file in range(self.size))
        lines.append("    " + "  ".join(files))
        return "\n".join([*lines, position.standing()])

    def _symbol(self, state: np.record, cell: int) -> str:
        content = int(state.cells[cell])
        return _TEXT_SYMBOLS[content] if content else _EMPTY_SYMBOLS[int(self.kinds[cell])]

    def marks(self, position: Position, player: int) -> str:
        colour = player ^ int(position.state.black)
        influence, control = _TEXT_SYMBOLS[INFLUENCE + colour], _TEXT_SYMBOLS[CONTROL + colour]
        return f"{_COLOURS[colour]}: {influence}, {control}"

    def symmetries(self) -> Symmetries:
        return Symmetries.of_board(square_symmetries(self.size), NUM_PLANES, others=2)

    def scene(self) -> Scene:
        frame = draw_frame(self.size, self.size, _BOARD)
        kinds = self.kinds.tolist()
        places = [frame.place(cell) for cell in range(self.cells)]
        tiles = {kind: _tile(frame.unit, kind) for kind in (DARK, LIGHT, TARGET)}
        contents = {kind: _contents(frame.unit, kind) for kind in (DARK, LIGHT, TARGET)}
        return Scene(
            bottom=frame.bottom,
            ground=[
                _GRADIENTS,
                *frame.elements,
                *(moved(*place, tiles[kind]) for place, kind in zip(places, kinds, strict=True)),
            ],
            slots=[
                *(Slot(*place, contents[kind]) for place, kind in zip(places, kinds, strict=True)),
                *slots_at(places, _marks(frame.unit), several=True),
            ],
            roles=[Role(name, _token(24, number)) for number, name in enumerate(_COLOURS)],
            show=view.show,
            role=view.role,
            rows=ranks(
                [
                    name + " (target)" * (kind == TARGET)
                    for name, kind in zip(self.action_names, kinds, strict=False)
                ],
                _WORDS,
            ),
            note="diamond: last token",
        )


def _kind(rank: int, file: int) -> int:
    if rank % 2 != file % 2:
        return LIGHT
    return TARGET if rank % 2 else DARK


def _tile(unit: float, kind: int) -> str:
    """A dark or light cell, or the sunken tile of a target."""
    tile = f'{square(unit)} fill="{_CELL_COLOURS[kind]}" stroke="#a59b88"/>'
    if kind != TARGET:
        return tile
    return (
        f'{tile}{square(0.8 * unit, unit / 8)} fill="{_HOLLOW}"/>'
        f'<circle r="{0.26 * unit:g}" fill="none" stroke="{_RING}" stroke-width="{unit / 16:g}"/>'
    )


def _contents(unit: float, kind: int) -> list[str]:
    """Shapes of a cell, numbered as in the view; only targets hold control tokens."""
    is_open = open_mark(0.12 * unit)
    if kind == TARGET:
        return ["", "", "", *(_control(0.34 * unit, colour) for colour in (0, 1)), is_open]
    return ["", *(_token(0.36 * unit, colour) for colour in (0, 1)), "", "", is_open]


def _marks(unit: float) -> list[str]:
    """The marks of a cell: a diamond for the last token, and the last action."""
    half = 0.16 * unit
    diamond = (
        f"M0 {-half:.1f}l{half:.1f} {half:.1f}l{-half:.1f} {half:.1f}l{-half:.1f} {-half:.1f}z"
    )
    return [
        f'<path d="{diamond}" fill="{picture.LIGHT}" stroke="{picture.DARK}" stroke-width="2.5"/>',
        last_mark(square(0.86 * unit)),
    ]


def _token(radius: float, colour: int) -> str:
    """A token; the second colour's has a light ring, so that colours differ in more than hue."""
    token = round_piece(radius, f"url(#token{colour})", _TOKEN_COLOURS[colour][1])
    if colour == 0:
        return token
    return token + (
        f'<circle r="{0.5 * radius:g}" fill="none" stroke="{picture.LIGHT}" '
        f'stroke-width="{0.12 * radius:g}"/>'
    )


def _control(radius: float, colour: int) -> str:
    """A control token: a stack of two tokens, the upper one with a gold rim."""
    rise = 0.3 * radius
    token = _token(radius, colour)
    rim = outlined(f'<circle r="{0.85 * radius:g}"', GOLD, 0.16 * radius)
    return moved(0, rise, token) + moved(0, -rise, token + rim)
