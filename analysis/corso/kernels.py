"""The search in compiled code: alpha-beta with null windows and a table of exact keys.

**Positions** are four sets of cells (`Cells`). Colours do not appear: a position stands for two
positions of the game, one for each player to move. The value of a position is the lead of its
mover at the end, if both play for the greatest lead.

**Fixed cells** are dyed and have no open cell and no marble beside them. Nothing can dye them
again: an expansion reaches only neighbours of marbles, and a marble can come only to an open
cell. So they count for their present owners, and the rest of the game does not depend on who owns
them. Positions that differ only in these owners share an entry of the table: its bounds leave out
the lead on the fixed cells, and its key has them as the mover's dye.

**Keys.** Each cell is a digit to base 5, so a position is a number below ``5**cells``; of
its eight numbers under symmetry, the least is the key. It has 59 bits on 5 x 5. A one-to-one
function scrambles them; some of the scrambled bits are the bucket, and the table keeps all the
others. Two positions are therefore never confused, and no result is only
probable.

**Entries** of the table are single words, read and written as a whole, so threads share it
without locks::

    bits  0-5   proven lower bound of the value, plus 32
    bits  6-11  proven upper bound of the value, plus 32
    bits 12-16  cell of the best move, in the symmetric position of the key; 31 if not known
    bits 17-22  length in bits of the number of positions searched for it, see `known`
    bits 23-62  the scrambled key without the bits that form the bucket

Kernels take ``boards`` of `board_record`, ``table`` int64[entries], see above, and
``workers`` of `new_workers`, as far as they need them; parts take one record of ``boards`` and
``workers``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ludarium.base.numbers import require_seed
from ludarium.envs.corso.rules import DYE, MARBLE
from ludarium.envs.engine.draw.grid import square_symmetries
from ludarium.envs.engine.rule import record_dtype, table_record
from ludarium.machine.marks import brief_kernel, inlined, kernel, part

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

TITLE = "solver"

#: Board sizes whose keys fit into the table.
SIZES = range(2, 6)
_LARGEST = SIZES[-1]
#: Entries in a bucket of the table.
BUCKET = 4
#: Bits of a key that fit into an entry.
TAG_BITS = 40
#: Upper limits on plies, on boards of up to 25 cells, and on actions of a position.
PLIES = 52
MOVES = 26

#: First bits of an entry's key and of its work, and a mask of the bits that are not key.
TAG_SHIFT = 23
WORK_SHIFT = 17
DATA_MASK = (1 << TAG_SHIFT) - 1

_NO_CELL = 31
_OFFSET = 32
_CELL_SHIFT = 12
_HIGH_SHIFT = 6
_FIRST = 1 << 60  # rank of the transposition table's move
_GAIN_SHIFT = 40  # ranks good expansions above all history, which is below 1 << 39
_HISTORY_LIMIT = 1 << 38
_FEWER_THAN_ANY = -64  # less than every value


class Cells(NamedTuple):
    """A position as its mover sees it: sets of cells, as integers with one bit for each cell.

    Attributes:
        own: the mover's marbles.
        other: the opponent's marbles.
        own_dye: cells that are dyed for the mover.
        other_dye: cells that are dyed for the opponent.
    """

    own: int
    other: int
    own_dye: int
    other_dye: int


def board_record(size: int, entries: int, seed: int) -> np.ndarray:
    """Constants of the search: an array of one record, whose type is the same for every size.

    Args:
        size: the board's size.
        entries: number of the table's entries.
        seed: seed of the function that scrambles keys.
    """
    cells = size * size
    symmetries = square_symmetries(size).astype(np.int64)
    sets = np.arange(1 << size)
    numbers = np.zeros((_LARGEST, 1 << _LARGEST, len(symmetries)), np.int64)
    for rank in range(size):
        for file in range(size):
            digits = 5 ** symmetries[:, rank * size + file]
            numbers[rank, sets] += (sets >> file & 1)[:, None] * digits
    to = np.zeros((len(symmetries), _LARGEST**2), np.int64)
    to[:, :cells] = symmetries
    back = np.zeros_like(to)
    back[:, :cells] = np.argsort(symmetries, axis=1)
    all_cells = (1 << cells) - 1
    first_file = sum(1 << rank * size for rank in range(size))
    bits = key_bits(size)
    key_mask = (1 << bits) - 1
    bucket_bits = (entries // BUCKET).bit_length() - 1
    factors = np.random.default_rng(require_seed(seed)).integers(1 << 62, size=2) & key_mask | 1
    return table_record(
        width=size,
        cells=all_cells,
        rank=(1 << size) - 1,
        not_first_file=all_cells & ~first_file,
        not_last_file=all_cells & ~(first_file << size - 1),
        numbers=numbers,
        to=to,
        back=back,
        factors=factors,
        key_mask=key_mask,
        key_shift=bits // 2,
        bucket_bits=bucket_bits,
        bucket_mask=(1 << bucket_bits) - 1,
    )


def new_workers(threads: int, eager: int) -> np.ndarray:
    """Scratch space of the search, one record per thread.

    Fields: ``nodes``, positions searched so far; ``limit``, the number at which a search ends;
    ``stop``, set to end a search; ``eager``, the least gain for which an expansion that takes
    opposing marbles comes before placements; ``keys``, a position's number under each symmetry;
    ``history`` of placements and of expansions, by cell; ``cell``, ``area`` and ``rank`` of the
    actions at each ply.
    """
    fields = (
        ("nodes", np.int64),
        ("limit", np.int64),
        ("stop", np.int64),
        ("eager", np.int64),
        ("keys", np.int64, (8,)),
        ("history", np.int64, (2, _LARGEST**2)),
        ("cell", np.int64, (PLIES, MOVES)),
        ("area", np.int64, (PLIES, MOVES)),
        ("rank", np.int64, (PLIES, MOVES)),
    )
    workers = np.zeros(threads, record_dtype(*fields))
    workers["limit"] = 1 << 62  # none
    workers["eager"] = eager
    return workers


def key_bits(size: int) -> int:
    """Bits of a key."""
    return (5 ** (size * size) - 1).bit_length()


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    boards, workers = board_record(2, BUCKET, 0), new_workers(1, 0)
    table, known, cells = np.zeros(2, np.int64), np.zeros((2, 2), np.int64), Cells(0, 0, 0, 0)
    yield "sets_of", (np.zeros(2, np.int8), 0)
    yield "ask", (boards, table, workers, 0, cells, 0)
    yield "recall", (boards, table, workers, cells)
    yield "entry_of", (boards, table, workers, cells)
    yield "number_of", (boards, workers, cells)
    yield "learn_all", (boards, table, known)


@brief_kernel
def sets_of(contents, mover):
    """See `cells_of`."""
    return cells_of(contents, mover)


@kernel
def ask(boards, table, workers, thread, cells, target):
    """See `search`; ``thread`` is the number of the worker."""
    return search(boards[0], table, workers[thread], cells, target, 0)


@part
def cells_of(contents, mover):
    """The cells of a position of the rules, given what each cell holds and who moves."""
    own = 0
    other = 0
    own_dye = 0
    other_dye = 0
    for cell in range(len(contents)):
        content = int(contents[cell])
        own |= int(content == MARBLE + mover) << cell
        other |= int(content == MARBLE + 1 - mover) << cell
        own_dye |= int(content == DYE + mover) << cell
        other_dye |= int(content == DYE + 1 - mover) << cell
    return Cells(own, other, own_dye, other_dye)


@inlined
def count(cells):
    """How many cells a set has."""
    pairs = cells - (cells >> 1 & 0x55555555)
    fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
    eights = fours + (fours >> 4) & 0x0F0F0F0F
    return (eights * 0x01010101 & 0xFFFFFFFF) >> 24


@inlined
def around(board, cells):
    """The orthogonal neighbours of the cells; some may themselves belong to the cells."""
    return board.cells & (
        cells << board.width
        | cells >> board.width
        | (cells & board.not_last_file) << 1
        | (cells & board.not_first_file) >> 1
    )


@inlined
def group_of(board, seed, marbles):
    """The marbles connected with the marble ``seed``, including it."""
    group = seed
    grown = seed | around(board, seed) & marbles
    while grown != group:
        group = grown
        grown = group | around(board, group) & marbles
    return group


@inlined
def fixed_cells(board, cells):
    """The dyed cells that have no open cell and no marble beside them."""
    restless = board.cells & ~(cells.own_dye | cells.other_dye)
    return board.cells & ~(restless | around(board, restless))


@inlined
def with_fixed_as_own(cells, fixed):
    """The representative of all positions that differ only in who owns the fixed cells."""
    return Cells(cells.own, cells.other, cells.own_dye | fixed, cells.other_dye & ~fixed)


@inlined
def after_placement(cells, mark):
    """The position after a placement, as the opponent sees it."""
    return Cells(cells.other, cells.own | mark, cells.other_dye, cells.own_dye)


@inlined
def after_expansion(cells, area):
    """The position after an expansion that dyes an area, as the opponent sees it."""
    left = ~area
    return Cells(cells.other & left, cells.own & left, cells.other_dye & left, cells.own_dye | area)


@inlined
def write_keys(board, worker, cells):
    """Write the position's number by symmetry into ``worker.keys``; return the least's index."""
    for symmetry in range(8):
        worker.keys[symmetry] = 0
    for rank in range(board.width):
        shift = rank * board.width
        ones = cells.own >> shift & board.rank
        twos = cells.other >> shift & board.rank
        threes = cells.own_dye >> shift & board.rank
        fours = cells.other_dye >> shift & board.rank
        for symmetry in range(8):
            worker.keys[symmetry] += (
                board.numbers[rank, ones, symmetry]
                + 2 * board.numbers[rank, twos, symmetry]
                + 3 * board.numbers[rank, threes, symmetry]
                + 4 * board.numbers[rank, fours, symmetry]
            )
    least = 0
    for symmetry in range(1, 8):
        if worker.keys[symmetry] < worker.keys[least]:
            least = symmetry
    return least


@inlined
def scramble(board, key):
    """A one-to-one function on ``range(board.key_mask + 1)``."""
    for factor in board.factors:
        key = int(key) * int(factor) & int(board.key_mask)
        key ^= key >> board.key_shift
    return key


@inlined
def _list_moves(board, worker, ply, cells, known):
    """Write the actions that do not end the game into ``worker``, with their ranks.

    An expansion is written once for each group, with the cells that it dyes and one of the
    group's cells with a marble of the mover; a placement has no cells to dye.

    Args:
        known: the cell of the action to come first, or `_NO_CELL`.

    Returns:
        How many actions there are, and the best lead of those that end the game at once,
        `_FEWER_THAN_ANY` if none does.
    """
    marbles = cells.own | cells.other
    mine = cells.own | cells.own_dye
    theirs = cells.other | cells.other_dye
    open_cells = board.cells & ~(mine | theirs)
    lead = count(mine) - count(theirs)
    best = _FEWER_THAN_ANY
    moves = 0
    rest = cells.own
    while rest:
        group = group_of(board, rest & -rest, marbles)
        mark = rest & -rest
        rest &= ~group
        area = group | around(board, group)
        gain = count(area & ~mine) + count(area & theirs)
        if open_cells & ~area == 0:
            best = max(best, lead + gain)
            continue
        cell = count(mark - 1)
        if known != _NO_CELL and group >> known & 1:
            rank = _FIRST
        elif group & cells.other and gain >= worker.eager:
            rank = (gain << _GAIN_SHIFT) + worker.history[1, cell]
        else:
            rank = gain - board.width * board.width - 1
        worker.cell[ply, moves] = cell
        worker.area[ply, moves] = area
        worker.rank[ply, moves] = rank
        moves += 1
    if open_cells & (open_cells - 1) == 0:
        return moves, max(best, lead + 1)
    rest = open_cells
    while rest:
        cell = count((rest & -rest) - 1)
        rest &= rest - 1
        worker.cell[ply, moves] = cell
        worker.area[ply, moves] = 0
        worker.rank[ply, moves] = _FIRST if cell == known else worker.history[0, cell]
        moves += 1
    return moves, best


@inlined
def _bring_forward(worker, ply, place, moves):
    """Swap the highest-ranked of the actions from ``place`` on into ``place``, and return it."""
    top = place
    for other in range(place + 1, moves):
        if worker.rank[ply, other] > worker.rank[ply, top]:
            top = other
    cell = worker.cell[ply, top]
    area = worker.area[ply, top]
    worker.cell[ply, top] = worker.cell[ply, place]
    worker.area[ply, top] = worker.area[ply, place]
    worker.rank[ply, top] = worker.rank[ply, place]
    worker.cell[ply, place] = cell
    worker.area[ply, place] = area
    return cell, area


@inlined
def _praise(worker, kind, cell, open_cells):
    """Update the history heuristic for a cutoff; more open cells give it more weight."""
    worker.history[kind, cell] += 1 << open_cells
    if worker.history[kind, cell] > _HISTORY_LIMIT:
        for each in range(worker.history.shape[1]):
            worker.history[0, each] >>= 1
            worker.history[1, each] >>= 1


@inlined
def _keep(table, bucket, tag, low, high, cell, work):
    """Write an entry: over the same position's older one, else a free one or that with least work.

    ``low`` and ``high`` are narrowed by the older entry's bounds.
    """
    place = bucket
    least = 1 << 10
    for other in range(bucket, bucket + BUCKET):
        entry = table[other]
        if entry == 0:
            place = other
            break
        if entry >> TAG_SHIFT == tag:
            place = other
            low = max(low, (entry & 63) - _OFFSET)
            high = min(high, (entry >> _HIGH_SHIFT & 63) - _OFFSET)
            work = max(work, entry >> WORK_SHIFT & 63)
            if cell == _NO_CELL:
                cell = entry >> _CELL_SHIFT & 31
            break
        if entry >> WORK_SHIFT & 63 < least:
            least = entry >> WORK_SHIFT & 63
            place = other
    table[place] = (
        tag << TAG_SHIFT
        | work << WORK_SHIFT
        | cell << _CELL_SHIFT
        | high + _OFFSET << _HIGH_SHIFT
        | low + _OFFSET
    )


@part
def search(board, table, worker, cells, target, ply):
    """Whether the mover can lead by at least ``target``, as a bound on the position's value.

    Args:
        board, table, worker: see above.
        cells: an unfinished position.
        target: the lead asked about.
        ply: depth below the root of the search, 0 at the root.

    Returns:
        A number that is at least ``target`` if the mover can, and then a lower bound; else a
        number below ``target``, and then an upper bound. Meaningless if the search was cut
        off: if ``worker.stop`` was set meanwhile, or ``worker.nodes`` is at ``worker.limit``.
    """
    if worker.nodes >= worker.limit:
        return 0
    worker.nodes += 1
    fixed = fixed_cells(board, cells)
    base = count(fixed & cells.own_dye) - count(fixed & cells.other_dye)
    live = count(board.cells & ~fixed)
    goal = target - base
    if goal > live:
        return base + live
    if goal <= -live:
        return base - live
    # The lead on the live cells is odd if their number is odd, else even: ask for a possible one.
    goal += (goal ^ live) & 1
    target = base + goal

    symmetry = write_keys(board, worker, with_fixed_as_own(cells, fixed))
    scrambled = scramble(board, worker.keys[symmetry])
    bucket = (scrambled & board.bucket_mask) * BUCKET
    tag = scrambled >> board.bucket_bits
    known = _NO_CELL
    for place in range(bucket, bucket + BUCKET):
        entry = table[place]
        if entry != 0 and entry >> TAG_SHIFT == tag:
            low = (entry & 63) - _OFFSET
            high = (entry >> _HIGH_SHIFT & 63) - _OFFSET
            if low >= goal:
                return base + low
            if high < goal:
                return base + high
            known = entry >> _CELL_SHIFT & 31
            if known != _NO_CELL:
                known = board.back[symmetry, known]
            break

    start = worker.nodes
    moves, best = _list_moves(board, worker, ply, cells, known)
    if best >= target:
        return best
    decisive = _NO_CELL
    for place in range(moves):
        cell, area = _bring_forward(worker, ply, place, moves)
        child = after_expansion(cells, area) if area != 0 else after_placement(cells, 1 << cell)
        value = -search(board, table, worker, child, 1 - target, ply + 1)
        if worker.stop != 0 or worker.nodes >= worker.limit:
            return 0
        if value > best:
            best = value
            if value >= target:
                decisive = board.to[symmetry, cell]
                taken = cells.own | cells.other | cells.own_dye | cells.other_dye
                _praise(worker, 1 if area != 0 else 0, cell, count(board.cells & ~taken))
                break
    work = 0
    spent = worker.nodes - start
    while spent > 0:
        spent >>= 1
        work += 1
    if best >= target:
        _keep(table, bucket, tag, best - base, live, decisive, work)
    else:
        _keep(table, bucket, tag, -live, best - base, decisive, work)
    return best


@inlined
def _entry(board, table, number):
    """The entry of a position, by its number; 0 if there is none."""
    scrambled = scramble(board, number)
    bucket = (scrambled & board.bucket_mask) * BUCKET
    tag = scrambled >> board.bucket_bits
    for place in range(bucket, bucket + BUCKET):
        if table[place] != 0 and table[place] >> TAG_SHIFT == tag:
            return table[place]
    return 0


@kernel
def recall(boards, table, workers, cells):
    """Bounds of a position's value without a search: from its fixed cells and the table.

    Returns:
        The least and the greatest possible value, the length in bits of the number
        of positions searched for them, 0 if the table has no entry, and the cell of the
        best move, -1 if it is not known.
    """
    board, worker = boards[0], workers[0]
    fixed = fixed_cells(board, cells)
    base = count(fixed & cells.own_dye) - count(fixed & cells.other_dye)
    live = count(board.cells & ~fixed)
    symmetry = write_keys(board, worker, with_fixed_as_own(cells, fixed))
    entry = _entry(board, table, worker.keys[symmetry])
    if entry == 0:
        return base - live, base + live, 0, -1
    low = (entry & 63) - _OFFSET
    high = (entry >> _HIGH_SHIFT & 63) - _OFFSET
    known = entry >> _CELL_SHIFT & 31
    cell = board.back[symmetry, known] if known != _NO_CELL else -1
    return base + low, base + high, entry >> WORK_SHIFT & 63, cell


@kernel
def number_of(boards, workers, cells):
    """The least of the position's eight numbers under symmetry."""
    return workers[0].keys[write_keys(boards[0], workers[0], cells)]


@kernel
def learn_all(boards, table, known):
    """See `learn`."""
    learn(boards[0], table, known)


@part
def learn(board, table, known):
    """Write earlier results into the table: int64[N, 2], see ``known``."""
    for number in range(len(known)):
        scrambled = scramble(board, known[number, 0])
        bucket = (scrambled & board.bucket_mask) * BUCKET
        tag = scrambled >> board.bucket_bits
        data = known[number, 1]
        low = (data & 63) - _OFFSET
        high = (data >> _HIGH_SHIFT & 63) - _OFFSET
        cell = data >> _CELL_SHIFT & 31
        _keep(table, bucket, tag, low, high, cell, data >> WORK_SHIFT)


@kernel
def entry_of(boards, table, workers, cells):
    """The number under which the table has a position, and its entry's low 23 bits, 0 if none."""
    board, worker = boards[0], workers[0]
    fixed = fixed_cells(board, cells)
    symmetry = write_keys(board, worker, with_fixed_as_own(cells, fixed))
    number = worker.keys[symmetry]
    return number, _entry(board, table, number) & DATA_MASK
