"""Obelisk in a terminal: blocks drawn layer by layer, the pile, and where a block comes to rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

import numpy as np

from ..engine.draw.grid import cell_name
from ..engine.position import Position
from .blocks import Block, Catalogue, catalogue_of
from .geometry import COLUMNS, HEIGHT, SIDE, Cube, orientation_text, oriented, own_orientations
from .rules import BLACK_ACTIVE, NO_BLOCK, resting_height

_WIDTH = 78  # longest line of drawings and titles, in characters
_BESIDE = "    "  # stands between drawings side by side

COMMANDS = (
    ("pile", "the blocks that are left, with their values"),
    ("show [ID ...]", "blocks in all their orientations, layer by layer"),
    ("where [ID]", "where it, or what you place, comes to rest; a black one: on the other tower"),
)


def before_a_move(position: Position) -> str:
    """The text before each move of a person: towers, the pile in short, the blocks in play."""
    blocks, state = catalogue_of(position.game.options["blocks"]), position.state
    pile = [] if position.is_over else [pile_in_short(blocks, state)]
    return "\n".join([*towers(state), *pile, *in_play(blocks, state), position.standing()])


def answer(position: Position, words: Sequence[str]) -> str | None:
    """The answer to one of `COMMANDS`, None for anything else; see `Terminal`."""
    blocks, state = catalogue_of(position.game.options["blocks"]), position.state
    command, *rest = words
    if command == "pile" and not rest:
        return "\n".join(pile_lines(blocks, state))
    if command == "show":
        numbers = [_number_of(blocks, name) for name in rest] or _held(state)
        if not numbers:
            raise ValueError("no block lies in the building zone or in a hand; write: show ID")
        shown = [all_orientations(blocks.everything[number]) for number in numbers]
        return "\n\n".join("\n".join(lines) for lines in shown)
    if command == "where" and len(rest) < 2:
        return "\n".join(_where(position, blocks, rest))
    return None


# Blocks.


def summary(block: Block) -> str:
    """A block's name, size and value."""
    return f"{block.id} ({_counted(len(block.cubes), 'cube')}, {_counted(block.value, 'point')})"


def layers(cubes: Sequence[Cube]) -> list[str]:
    """The layers of a block as seen from above, the highest first, each with its number."""
    width, depth, height = (1 + max(cube[axis] for cube in cubes) for axis in range(3))
    lines = []
    for z in reversed(range(height)):
        for y in reversed(range(depth)):
            row = " ".join("#" if (x, y, z) in cubes else "." for x in range(width))
            lines.append(f"{z + 1 if y == depth - 1 else ' '}  {row}")
        if z and depth > 1:
            lines.append("")
    return lines


def all_orientations(block: Block) -> list[str]:
    """A block in each of its orientations, side by side."""
    lines = [f"{summary(block)}; layers from above, the highest first"]
    drawings = [
        [orientation_text(number), *layers(oriented(block.cubes, number))]
        for number in own_orientations(block.cubes)
    ]
    return [*lines, *side_by_side(drawings)]


def side_by_side(drawings: Sequence[Sequence[str]], titles: int = 1) -> list[str]:
    """Drawings beside each other, as many as fit on a line.

    The first ``titles`` lines of each are its title, at the top; the others stand at the bottom.
    """
    lines: list[str] = []
    row: list[Sequence[str]] = []
    for drawing in drawings:
        if row and sum(_width(one) + len(_BESIDE) for one in [*row, drawing]) > _WIDTH:
            lines += [*_joined(row, titles), ""]
            row = []
        row.append(drawing)
    return lines + _joined(row, titles)


def _joined(drawings: Sequence[Sequence[str]], titles: int) -> list[str]:
    height = max(map(len, drawings), default=0)
    columns = []
    for drawing in drawings:
        room = [""] * (height - len(drawing))
        padded = [*drawing[:titles], *room, *drawing[titles:]]
        columns.append([line.ljust(_width(drawing)) for line in padded])
    return [_BESIDE.join(line).rstrip() for line in zip(*columns, strict=True)]


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if abs(number) == 1 else 's'}"


# The position.


def pile_lines(blocks: Catalogue, state: np.record) -> Iterator[str]:
    """The common pile by colour, with values, and the black blocks."""
    left = list(zip(blocks.types, state.pile.tolist(), strict=True))
    yield f"pile: {_counted(int(state.pile_blocks), 'block')}"
    for (colour, value), group in groupby(left, lambda entry: (entry[0].colour, entry[0].value)):
        names = [
            block.id if count == 1 else f"{count}_x_{block.id}" for block, count in group if count
        ]
        if names:
            line = f"  {colour}, {_counted(value, 'point')}: {', '.join(names)}"
            lines = wrap(line, 100, subsequent_indent="    ", break_on_hyphens=False)
            yield from (part.replace("_x_", " x ") for part in lines)  # keeps "2 x name" unbroken
    black = blocks.black
    yield f"black blocks left: {int(state.black_left)}, {_counted(black.value, 'point')} each"


def pile_in_short(blocks: Catalogue, state: np.record) -> str:
    """The numbers of blocks left, by colour."""
    counts: dict[str, int] = {}
    for block, left in zip(blocks.types, state.pile.tolist(), strict=True):
        counts[block.colour] = counts.get(block.colour, 0) + left
    colours = ", ".join(f"{count} {colour}" for colour, count in counts.items() if count)
    return f"pile: {colours or 'empty'}; {int(state.black_left)} black aside"


def towers(state: np.record) -> list[str]:
    """The heights of both towers' columns, from above."""
    heads = [
        f"player_{player}: {side} tower, {'active' if state.active == player else 'passive'}"
        for player, side in enumerate(("left", "right"))
    ]
    return side_by_side(
        [[head, *_heights(tower)] for head, tower in zip(heads, state.heights, strict=True)]
    )


def in_play(blocks: Catalogue, state: np.record) -> list[str]:
    """The blocks in the building zone and in the players' hands, drawn."""
    named = [("in the building zone:", number) for number in state.zone.tolist()]
    named += [
        (f"player_{player} has to place:", number) for player, number in enumerate(state.hand)
    ]
    shown = [(where, blocks.types[number]) for where, number in named if number != NO_BLOCK]
    return side_by_side(
        [[where, summary(block), *layers(block.cubes)] for where, block in shown], titles=2
    )


def _heights(heights: np.ndarray) -> list[str]:
    rows = [
        f"{rank + 1} " + " ".join(f"{int(height):2}" for height in heights[SIDE * rank :][:SIDE])
        for rank in reversed(range(SIDE))
    ]
    return [*rows, "   " + "  ".join(cell_name(column, SIDE)[0] for column in range(SIDE))]


# Places where a block comes to rest.


def _rest(tables: np.record, number: int, place: int, heights: np.ndarray) -> str:
    """The text of a placement: heights of the block's foot and top, ``!`` if over, cells lost."""
    low = resting_height(tables, heights, number, place)
    underside, top = (
        low + table[number, place].astype(int) for table in (tables.underside, tables.top)
    )
    lost = (underside - heights)[underside < top].sum()
    return f"{low}-{top.max()}{'!' if top.max() > HEIGHT else ''}{f' -{lost}' if lost else ''}"


def _where(position: Position, blocks: Catalogue, words: list[str]) -> list[str]:
    """The answer to the command ``where``."""
    if position.is_over:
        raise ValueError("the game is over")
    state, black = position.state, len(blocks.types)
    player, tables = int(state.mover), position.game.tables[0]
    number = black if state.phase >= BLACK_ACTIVE else int(state.hand[player])
    if words:
        number = _number_of(blocks, words[0])
    if number == NO_BLOCK:
        raise ValueError("you have no block to place now; name one: where ID")
    heights = state.heights[1 - player if number == black else player]
    return _all_placements(blocks, tables, number, heights)


def _all_placements(
    blocks: Catalogue, tables: np.record, number: int, heights: np.ndarray
) -> list[str]:
    """A table: a row for each orientation, a column for each position."""
    placements = blocks.placements[number]
    positions = sorted({place % COLUMNS for place in placements})
    rows = [["", *(cell_name(position, SIDE) for position in positions)]]
    for orientation in sorted({place // COLUMNS for place in placements}):
        row = [orientation_text(orientation)]
        for position in positions:
            place = COLUMNS * orientation + position
            is_there = place in placements
            row.append(_rest(tables, number, place, heights) if is_there else "")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    title = (
        f"{summary(blocks.everything[number])}: the heights between which it would stand; "
        f"-2: two cells below it are lost; !: above {HEIGHT}"
    )
    lines = [
        "  ".join(entry.ljust(width) for entry, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [*wrap(title, _WIDTH, break_on_hyphens=False), *lines]


def _number_of(blocks: Catalogue, name: str) -> int:
    """The number of the block called ``name``, the black one included."""
    if name == blocks.black.id:
        return len(blocks.types)
    return blocks.type_named(name)


def _held(state: np.record) -> list[int]:
    """The blocks in the zone and in the mover's hand, or else in the other player's, each once."""
    mover = int(state.mover)
    numbers = [*state.zone.tolist(), int(state.hand[mover])]
    found = [number for number in numbers if number != NO_BLOCK]
    other = int(state.hand[1 - mover])
    return list(dict.fromkeys(found)) or [other] * (other != NO_BLOCK)
