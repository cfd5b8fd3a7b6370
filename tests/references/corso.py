"""Corso told as plainly as possible: a dictionary of cells, one rule after another, no speed.

The board is a dictionary from a cell ``(file, rank)``, both counted from 0 at the bottom left, to
what lies there: ``None`` when open, or a piece ``(kind, player)``. Size 3, by action index::

    6 7 8    rank 2
    3 4 5    rank 1
    0 1 2    rank 0
    a b c
"""

from __future__ import annotations

from typing import Any, Literal

Cell = tuple[int, int]
Piece = tuple[Literal["marble", "dye"], int]

CODE: dict[Piece | None, int] = {
    None: 0,
    ("marble", 0): 1,
    ("marble", 1): 2,
    ("dye", 0): 3,
    ("dye", 1): 4,
}


class ReferenceCorso:
    """One game of Corso on a ``size`` x ``size`` board; player 0 moves first."""

    is_truncated = False

    def __init__(self, size: int = 5) -> None:
        """Set up the empty board."""
        self.size = size
        self.mover = 0
        self.board: dict[Cell, Piece | None] = {
            (file, rank): None for rank in range(size) for file in range(size)
        }

    @property
    def is_over(self) -> bool:
        """Whether no open cell is left."""
        return None not in self.board.values()

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in rising order; none once the game is over."""
        if self.is_over:
            return []
        playable = (None, ("marble", self.mover))
        return sorted(self._index(cell) for cell, piece in self.board.items() if piece in playable)

    def play(self, action: int) -> list[str]:
        """Place on the open cell ``action``, or expand the mover's marble there.

        Returns what happened that a weak test would never see.
        """
        cell, events = self._cell(action), list[str]()
        if self.board[cell] is None:
            self.board[cell] = ("marble", self.mover)
        else:
            group = self._group(cell)
            reached = group | {near for member in group for near in self._neighbours(member)}
            pieces = {self.board[target] for target in reached}
            if len(group) >= 4 and len({self.board[member] for member in group}) == 2:
                events.append("a chain of four or more marbles of both colours")
            if ("dye", 1 - self.mover) in pieces:
                events.append("dye laid over the opponent's dye")
            if None not in pieces:
                events.append("an expansion that reaches no open cell")
            for target in reached:
                self.board[target] = ("dye", self.mover)
            if self.is_over:
                events.append("the last open cell filled by an expansion")
        if self.is_over and self.rewards() == (0, 0):
            events.append("a draw")
        self.mover = 1 - self.mover
        return events

    def scores(self) -> tuple[int, int]:
        """Return how many cells each player holds now, dyed cells and marbles together."""
        owners = [piece[1] for piece in self.board.values() if piece is not None]
        return owners.count(0), owners.count(1)

    def rewards(self) -> tuple[int, int]:
        """Return the final rewards of players 0 and 1; ``(0, 0)`` for a draw or before the end."""
        first, second = self.scores()
        if not self.is_over or first == second:
            return 0, 0
        return (1, -1) if first > second else (-1, 1)

    def cells(self) -> list[int]:
        """Return the cells by action index: 0 open, 1/2 marble of player 0/1, 3/4 dye of 0/1."""
        return [CODE[self.board[self._cell(index)]] for index in range(self.size**2)]

    def snapshot(self) -> dict[str, Any]:
        """Return what is compared of a position."""
        first, second = self.scores()
        cells = self.cells()
        return {"cells": cells, "open_cells": cells.count(0), "score": first - second}

    def action_text(self, action: int) -> str:
        """Write a legal action: ``c3`` places, ``c3!`` expands."""
        file, rank = self._cell(action)
        mark = "" if self.board[file, rank] is None else "!"
        return f"{'abcdefghi'[file]}{rank + 1}{mark}"

    def _index(self, cell: Cell) -> int:
        file, rank = cell
        return rank * self.size + file

    def _cell(self, index: int) -> Cell:
        return index % self.size, index // self.size

    def _neighbours(self, cell: Cell) -> list[Cell]:
        """Return the cells left, right, below and above that are on the board."""
        file, rank = cell
        around = [(file - 1, rank), (file + 1, rank), (file, rank - 1), (file, rank + 1)]
        return [near for near in around if near in self.board]

    def _holds_marble(self, cell: Cell) -> bool:
        piece = self.board[cell]
        return piece is not None and piece[0] == "marble"

    def _group(self, start: Cell) -> set[Cell]:
        """Return the connected marbles of both colours around ``start``, breadth first."""
        group = {start}
        queue = [start]
        while queue:
            cell = queue.pop(0)
            for near in self._neighbours(cell):
                if near not in group and self._holds_marble(near):
                    group.add(near)
                    queue.append(near)
        return group
