"""Obsidio told as plainly as possible: a dictionary of tokens, one rule after another, no speed.

A cell is ``(file, rank)``, both counted from 0 at the bottom left. Size 7, with the targets ``#``
(both odd), the dark cells ``o`` (both even) and the light cells ``.`` (the rest)::

    7 | o . o . o . o
    6 | . # . # . # .
    5 | o . o . o . o
    4 | . # . # . # .
    3 | o . o . o . o
    2 | . # . # . # .
    1 | o . o . o . o
        a b c d e f g

Tokens belong to a colour: ``BLACK``, which moves first, or ``WHITE``, the other one. Which agent
has which colour changes only by the swap.
"""

from __future__ import annotations

from typing import Literal

Cell = tuple[int, int]
Kind = Literal["target", "dark", "light"]

BLACK, WHITE = 0, 1
FILES = "abcdefghijk"
DIRECTIONS = [(df, dr) for df in (-1, 0, 1) for dr in (-1, 0, 1) if (df, dr) != (0, 0)]
TOKENS_FOR_A_CLAIM = 4


def kind_of(cell: Cell) -> Kind:
    """Return whether a cell is a target, dark (diagonal to targets) or light (orthogonal)."""
    odd_coordinates = cell[0] % 2 + cell[1] % 2
    if odd_coordinates == 2:
        return "target"
    return "dark" if odd_coordinates == 0 else "light"


class ReferenceObsidio:
    """One game of Obsidio on a ``size`` x ``size`` board; player 0 moves first, with black."""

    is_truncated = False  # the game always comes to an end of its own

    def __init__(
        self, size: int = 9, diagonal_adjacency: bool = True, swap_rule: bool = True
    ) -> None:
        """Set up the empty board."""
        self.size = size
        self.diagonal_adjacency = diagonal_adjacency
        self.swap_rule = swap_rule
        self.mover = 0
        self.black_player = 0
        self.tokens: dict[Cell, int] = {}  # colour of each token that stands somewhere
        self.last: Cell | None = None  # where the latest token was placed
        self.last_claimer: int | None = None  # colour
        self.turns_ended = 0
        self.stage: Literal["start of turn", "second token", "claiming"] = "start of turn"
        self.claims_this_turn = 0
        self.is_over = False
        self.winner: int | None = None  # colour; None before the end and for a draw

        self.cells: list[Cell] = [(file, rank) for rank in range(size) for file in range(size)]
        self.by_kind: dict[Kind, list[Cell]] = {"target": [], "dark": [], "light": []}
        for cell in self.cells:
            self.by_kind[kind_of(cell)].append(cell)
        self.around: dict[Cell, list[Cell]] = {
            (file, rank): [(file + df, rank + dr) for df, dr in DIRECTIONS]
            for file, rank in self.by_kind["target"]
        }
        self.done = size**2
        self.swap = size**2 + 1

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in rising order; none once the game is over."""
        if self.is_over:
            return []
        claims = [self._index(target) for target in self._claimable(self._colour(self.mover))]
        if self.stage == "claiming":
            return sorted(claims + [self.done])
        if self.stage == "second token":
            return sorted(self._index(cell) for cell in self._second_cells())
        placements = [
            self._index(cell) for cell in self._placements("dark")[0] + self._placements("light")[0]
        ]
        actions = placements + claims or [self.done]
        if self.swap_rule and self.turns_ended == 1:
            actions = actions + [self.swap]
        return sorted(actions)

    def play(self, action: int) -> list[str]:
        """Play a legal action; return the names of the rare events that it brought about.

        The events: ``second token placed``, ``second token forfeited`` (no cell for it),
        ``new chain of dark`` or ``light`` (no empty cell of that kind could be seen from the last
        token), ``several claims in a turn`` (on the second one), ``stopped claiming`` (with claims
        left), ``turn ended by itself after a claim``, ``pass`` (``done`` at the start of a turn),
        ``swap``, ``majority``, ``board exhausted with targets left``, ``tie decided by the last
        claim`` and ``draw``.
        """
        if action == self.swap:
            self.black_player = 1 - self.black_player
            return ["swap", *self._end_turn()]
        if action == self.done:
            event = "stopped claiming" if self.stage == "claiming" else "pass"
            return [event, *self._end_turn()]
        cell = self._cell(action)
        kind = kind_of(cell)
        if kind == "target":
            return self._claim(cell)
        if self.stage == "second token":
            self._put(cell)
            return ["second token placed", *self._end_turn()]

        _, is_new_chain = self._placements(kind)
        self._put(cell)
        events = [f"new chain of {kind}"] if is_new_chain else []
        if kind == "light":
            if self._second_cells():
                self.stage = "second token"
                return events
            events.append("second token forfeited")
        return events + self._end_turn()

    def rewards(self) -> tuple[int, int]:
        """Return the final rewards of players 0 and 1; ``(0, 0)`` for a draw or before the end."""
        if self.winner is None:
            return 0, 0
        return (1, -1) if self.winner == self._colour(0) else (-1, 1)

    def claims(self) -> tuple[int, int]:
        """Return how many targets black and the other colour have claimed."""
        owners = [self.tokens.get(target) for target in self.by_kind["target"]]
        return owners.count(BLACK), owners.count(WHITE)

    def snapshot(self) -> dict[str, object]:
        """Return the facts of the position.

        ``cells``: for each cell, by index ``rank * size + file``, the colour of the token there
        (0 black, which moves first, or 1) or ``None``; ``last``: index of the cell of the latest
        token, or ``None``; ``black_player``: index of the agent that has black; ``claims``: the
        numbers of targets that black and the other colour have claimed.
        """
        return {
            "cells": [self.tokens.get(cell) for cell in self.cells],
            "last": None if self.last is None else self._index(self.last),
            "black_player": self.black_player,
            "claims": self.claims(),
        }

    def action_text(self, action: int) -> str:
        """Write a legal action: a cell such as ``c4``, ``done`` or ``swap``."""
        if action == self.done:
            return "done"
        if action == self.swap:
            return "swap"
        file, rank = self._cell(action)
        return f"{FILES[file]}{rank + 1}"

    # What may be done.

    def _placements(self, kind: Kind) -> tuple[list[Cell], bool]:
        """Return where a first token may go on cells of one kind, and whether it starts a chain.

        A chain starts anew when there is a last token but no empty cell of the kind is in its
        sight. (The very first token of a game starts no new chain.)
        """
        empty = [cell for cell in self.by_kind[kind] if cell not in self.tokens]
        if self.last is None:
            return empty, False
        seen = [cell for cell in self._empty_cells_in_sight(self.last) if kind_of(cell) == kind]
        return (seen, False) if seen else (empty, True)

    def _second_cells(self) -> list[Cell]:
        """Return where the second token may go: in sight of the first one, the last placed."""
        assert self.last is not None
        file, rank = self.last
        cells = [c for c in self._empty_cells_in_sight(self.last) if kind_of(c) == "light"]
        if self.diagonal_adjacency:
            corners = [(file + df, rank + dr) for df in (-1, 1) for dr in (-1, 1)]
            cells = [cell for cell in cells if cell not in corners]
        return cells

    def _claimable(self, colour: int) -> list[Cell]:
        """Return the unclaimed targets with four tokens of ``colour`` or more around them."""
        claimable = []
        for target in self.by_kind["target"]:
            if target not in self.tokens:
                colours = [self.tokens.get(cell) for cell in self.around[target]]
                if colours.count(colour) >= TOKENS_FOR_A_CLAIM:
                    claimable.append(target)
        return claimable

    def _empty_cells_in_sight(self, start: Cell) -> list[Cell]:
        """Return the empty dark and light cells in line of sight of ``start``.

        Each of the eight lines ends before the first target, claimed or not, or token.
        """
        in_sight = []
        for df, dr in DIRECTIONS:
            file, rank = start[0] + df, start[1] + dr
            while (
                0 <= file < self.size
                and 0 <= rank < self.size
                and (file, rank) not in self.tokens
                and kind_of((file, rank)) != "target"
            ):
                in_sight.append((file, rank))
                file, rank = file + df, rank + dr
        return in_sight

    # What happens.

    def _put(self, cell: Cell) -> None:
        self.tokens[cell] = self._colour(self.mover)
        self.last = cell

    def _claim(self, target: Cell) -> list[str]:
        colour = self._colour(self.mover)
        self._put(target)
        self.last_claimer = colour
        self.claims_this_turn += 1
        self.stage = "claiming"
        events = ["several claims in a turn"] if self.claims_this_turn == 2 else []

        claims = self.claims()
        targets = len(self.by_kind["target"])
        if 2 * claims[colour] > targets:
            self.is_over = True
            self.winner = colour
            return events + ["majority"]
        if sum(claims) == targets:  # with a half each, or somebody would have won before
            return events + self._end_by_count()
        if not self._claimable(colour):
            return events + ["turn ended by itself after a claim", *self._end_turn()]
        return events

    def _end_turn(self) -> list[str]:
        """Give the turn to the other player, if either of them can ever act again.

        One always can: with tokens on all eight cells around an unclaimed target, four of them
        are of one colour, so a full board leaves a claim to somebody. The rule is told all the
        same.
        """
        self.mover = 1 - self.mover
        self.turns_ended += 1
        self.stage = "start of turn"
        self.claims_this_turn = 0
        influence_cells = self.by_kind["dark"] + self.by_kind["light"]
        is_full = all(cell in self.tokens for cell in influence_cells)
        if is_full and not self._claimable(BLACK) and not self._claimable(WHITE):
            return ["board exhausted with targets left", *self._end_by_count()]
        return []

    def _end_by_count(self) -> list[str]:
        """End the game: more claims win, an equal number is decided for the last claimer."""
        self.is_over = True
        black_claims, white_claims = self.claims()
        if black_claims != white_claims:
            self.winner = BLACK if black_claims > white_claims else WHITE
            return []
        self.winner = self.last_claimer
        return ["draw"] if self.winner is None else ["tie decided by the last claim"]

    # Small things.

    def _colour(self, player: int) -> int:
        return BLACK if player == self.black_player else WHITE

    def _index(self, cell: Cell) -> int:
        file, rank = cell
        return rank * self.size + file

    def _cell(self, index: int) -> Cell:
        return index % self.size, index // self.size
