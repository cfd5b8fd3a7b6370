"""A second way to decide who wins, to check the first: proof numbers.

Depth-first proof-number search (Nagai, 2002) with weak proof numbers (Ueda and others, 2008):
where a sum would count a position twice that can be reached in two ways, the greatest term is
taken, and one for each other. It shares with the search's kernels the sets of cells and the
scrambling of keys, but not the order of moves, the bounds, the fixed cells, or the kind of table:
here the whole key is kept, and the question with it.

It answers one question, whether the mover can lead by ``target`` or more. In each position the
mover has a question of that form: to reach the target, or to prevent it. ``proof`` is how many
positions have at least to be decided for the mover's yes, ``refutation`` for a no.

Not cached on disk: numba's cache would not see changes of those kernels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ludarium.analysis.corso.board import board_record, cells_of, check_game
from ludarium.analysis.corso.kernels import (
    BUCKET,
    MOVES,
    PLIES,
    Cells,
    around,
    count,
    group_of,
    scramble,
    write_keys,
)
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import record_dtype

_compiled = njit(nogil=True, error_model="numpy")
_inlined = njit(nogil=True, error_model="numpy", forceinline=True)

_DECIDED = 1 << 26  # stands for infinity
_NUMBER = (1 << 27) - 1
_REFUTATION_SHIFT = 27
_WORK_SHIFT = 54


class ProofSolver:
    """Decides by proof numbers whether a lead can be reached.

    Args:
        game: the rules.
        memory: bytes that the table may take.
        seed: of the function that scrambles the keys of the table.
    """

    def __init__(self, game: Game, memory: int = 1 << 28, seed: int = 0) -> None:
        self.game = check_game(game)
        size = self.game.size
        entries = 1 << (memory // 16).bit_length() - 1
        self._table = np.zeros((max(entries, BUCKET), 2), np.int64)
        self._board = board_record(size, len(self._table), seed)[0]
        fields = (
            ("nodes", np.int64),
            ("keys", np.int64, (8,)),
            ("children", np.int64, (PLIES, MOVES, 4)),
            ("key", np.int64, (PLIES, MOVES)),
        )
        self._worker = np.zeros(1, record_dtype(*fields))[0]

    def at_least(self, position: Position, lead: int) -> bool:
        """Whether the mover can lead by ``lead`` or more at the end."""
        if position.is_over:
            return position.score * (1 - 2 * position.mover) >= lead
        self._table[:] = 0  # what it holds is about another question
        return bool(_decide(self._board, self._table, self._worker, cells_of(position), lead))


@_inlined
def _full_key(board, worker, cells, side):
    """The position, and whose question it is, scrambled; never 0."""
    symmetry = write_keys(board, worker, cells)
    return (scramble(board, worker.keys[symmetry]) << 1 | side) + 1


@_inlined
def _bucket(board, key):
    return (key - 1 >> 1 & board.bucket_mask) * BUCKET


@_inlined
def _look_up(board, table, key):
    """Proof and refutation numbers; 1 and 1 of a position that is not in the table."""
    bucket = _bucket(board, key)
    for place in range(bucket, bucket + BUCKET):
        if table[place, 0] == key:
            numbers = table[place, 1]
            return numbers & _NUMBER, numbers >> _REFUTATION_SHIFT & _NUMBER
    return 1, 1


@_inlined
def _keep(board, table, key, proof, refutation, spent):
    """Write an entry over its older one, an empty one, or the one of least work."""
    work = 0
    while spent > 0:
        spent >>= 1
        work += 1
    bucket = _bucket(board, key)
    chosen = bucket
    least = 1 << 10
    for place in range(bucket, bucket + BUCKET):
        if table[place, 0] == key or table[place, 0] == 0:
            chosen = place
            break
        if table[place, 1] >> _WORK_SHIFT < least:
            least = table[place, 1] >> _WORK_SHIFT
            chosen = place
    table[chosen, 0] = key
    table[chosen, 1] = proof | refutation << _REFUTATION_SHIFT | work << _WORK_SHIFT


@_inlined
def _list_children(board, worker, ply, cells, target, side):
    """Write the positions after each action, as the opponent sees them, and their keys.

    Returns:
        How many go on, and whether one that is finished gives the mover the target.
    """
    own, other, own_dye, other_dye = cells
    marbles = own | other
    open_cells = board.cells & ~(marbles | own_dye | other_dye)
    children = 0
    reached = False
    rest = own | open_cells
    while rest:
        mark = rest & -rest
        rest &= rest - 1
        if mark & own:
            group = group_of(board, mark, marbles)
            rest &= ~group
            area = group | around(board, group)
            own_after = own & ~area
            other_after = other & ~area
            own_dye_after = own_dye | area
            other_dye_after = other_dye & ~area
        else:
            own_after = own | mark
            other_after = other
            own_dye_after = own_dye
            other_dye_after = other_dye
        held = own_after | own_dye_after
        if held | other_after | other_dye_after == board.cells:
            reached |= 2 * count(held) - board.width * board.width >= target
            continue
        worker.children[ply, children, 0] = other_after
        worker.children[ply, children, 1] = own_after
        worker.children[ply, children, 2] = other_dye_after
        worker.children[ply, children, 3] = own_dye_after
        child = Cells(other_after, own_after, other_dye_after, own_dye_after)
        worker.key[ply, children] = _full_key(board, worker, child, 1 - side)
        children += 1
    return children, reached


@_compiled
def _expand(board, table, worker, cells, key, target, side, ply, limits):
    """Search below a position until one of its numbers reaches its limit; keep the numbers.

    ``limits`` are those of its proof and refutation numbers.
    """
    start = worker.nodes
    worker.nodes += 1
    children, reached = _list_children(board, worker, ply, cells, target, side)
    proof, refutation = (0, _DECIDED) if reached else (_DECIDED, 0)
    while not reached:
        # A child's numbers answer the opponent's question, so theirs are exchanged here.
        proof = _DECIDED
        second = _DECIDED
        hardest = 0
        undecided = 0
        best = 0
        for child in range(children):
            their_proof, their_refutation = _look_up(board, table, worker.key[ply, child])
            if their_refutation < proof:
                second = proof
                proof = their_refutation
                best = child
            elif their_refutation < second:
                second = their_refutation
            if their_proof > 0:
                undecided += 1
                hardest = max(hardest, their_proof)
        refutation = 0 if undecided == 0 else min(_DECIDED, hardest + undecided - 1)
        if proof == 0:
            refutation = _DECIDED
        if refutation == 0:
            proof = _DECIDED
        if proof >= limits[0] or refutation >= limits[1]:
            break
        chosen = worker.children[ply, best]
        child = Cells(chosen[0], chosen[1], chosen[2], chosen[3])
        below = (
            min(_DECIDED, limits[1] - undecided + 1),
            min(limits[0], second + second // 4 + 1),
        )
        key_below = worker.key[ply, best]
        _expand(board, table, worker, child, key_below, 1 - target, 1 - side, ply + 1, below)
    _keep(board, table, key, proof, refutation, worker.nodes - start)
    return proof


@_compiled
def _decide(board, table, worker, cells, target):
    key = _full_key(board, worker, cells, 0)
    return _expand(board, table, worker, cells, key, target, 0, 0, (_DECIDED, _DECIDED)) == 0
