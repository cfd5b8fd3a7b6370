"""The search for exact results, in compiled code: who wins, asked as a question of yes or no.

Is the result of a position for its mover at least ``target``, 1 a win or 0 a draw? It is if some
move leads to a position whose result for the other player is not at least ``1 - target``. A player
who can win at once has won, and moves after which the opponent could are never tried.

A position is two sets of bits, as in the rules: the mover's stones, and all stones. Their sum, plus
the lowest bit of each column, is its number, which no other position has. A row of the table has
the number, combined by exclusive or with the data, so that a row which two threads wrote at the
same time is not found; and the data: bits 0-1 the least result + 1, bits 2-3 the greatest + 1, bit
4 set, and scrambled bits of the number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ludarium.envs.engine.bits import ONE, ZERO, bit_count
from ludarium.envs.engine.rule import record_dtype, table_record
from ludarium.machine.marks import inlined, kernel, part

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

#: Most columns of a board, and most frames of a line of play.
WIDTH, PLIES = 8, 57

_SCRAMBLER = np.uint64(0x9E3779B97F4A7C15)
_RESULT = np.uint64(3)
_HIGH_SHIFT = np.uint64(2)
_PRESENT = np.uint64(16)
_SCRAMBLED = ~np.uint64(31)

#: A position of the line of play, with the moves to try, the best first.
FRAME = record_dtype(
    ("own", np.uint64),
    ("stones", np.uint64),
    ("moves", np.uint64, (WIDTH,)),
    ("worth", np.int64, (WIDTH,)),
    ("count", np.int64),
    ("next", np.int64),
    ("target", np.int64),
)
#: The state of a thread: the depth of its line, the last answer, and positions searched.
WORKER = record_dtype(("depth", np.int64), ("answer", np.int64), ("nodes", np.int64))


def board_record(game: Game, rows: int) -> np.ndarray:
    """Constants of the search; their dtype is the same for every board.

    Args:
        game: the rules.
        rows: rows of the table of positions, a power of two.
    """
    width, height = game.options["width"], game.options["height"]
    stride = height + 1
    columns = sorted(range(width), key=lambda column: abs(2 * column - width + 1))
    in_order = np.zeros(WIDTH, np.uint64)
    in_order[:width] = [((1 << height) - 1) << column * stride for column in columns]
    return table_record(
        cells=width * height,
        steps=np.array([stride - 1, stride, stride + 1], np.uint64),
        board=np.bitwise_or.reduce(in_order),
        bottom=np.uint64(sum(1 << column * stride for column in columns)),
        columns=in_order,
        width=width,
        row_shift=np.uint64(65 - rows.bit_length()),
    )


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    room = np.zeros((2, 2), np.uint64), np.zeros(1, WORKER), np.zeros(PLIES, FRAME)
    setting = (board_record(game, 2), *room)
    yield "begin", (*setting, np.zeros(2, np.uint64), 1)
    yield "search", (*setting, 1)


@kernel
def begin(boards, table, workers, frames, stones, target):
    """Ask whether the owner of ``stones[0]``, who is to move, gets ``target``."""
    workers[0].depth = -1
    both = stones[0] | stones[1]
    workers[0].answer = _enter(boards[0], table, workers[0], frames, stones[0], both, target)


@kernel
def search(boards, table, workers, frames, share):
    """Search up to ``share`` more positions; returns whether the question is answered."""
    board = boards[0]
    worker = workers[0]
    end = worker.nodes + share
    while worker.depth >= 0 and worker.nodes < end:
        frame = frames[worker.depth]
        if worker.answer == 0 or frame.next == frame.count:
            worker.answer = int(worker.answer == 0)  # no for the opponent is yes for the mover
            _keep(board, table, frame, worker.answer)
            worker.depth -= 1
        else:
            placed = frame.moves[frame.next]
            frame.next += 1
            other = frame.stones ^ frame.own
            stones = frame.stones | placed
            worker.answer = _enter(board, table, worker, frames, other, stones, 1 - frame.target)
    return worker.depth < 0


@part
def _enter(board, table, worker, frames, own, stones, target):
    """The answer for a position, 1 or 0; or -1, after its frame has been added to the line."""
    worker.nodes += 1
    playable = (stones + board.bottom) & board.board
    if (_winning(board, own) & playable) != ZERO:
        return 1
    threats = _winning(board, stones ^ own)
    forced = playable & threats
    moves = playable if forced == ZERO else forced
    if (forced & (forced - ONE)) != ZERO and forced != ZERO:
        return 0  # two wins to prevent
    moves = moves & ~(threats >> ONE)
    if moves == ZERO and playable != ZERO:
        return 0
    if bit_count(stones) >= board.cells - 2:
        return int(target <= 0)
    number = own + stones + board.bottom
    data = _known(board, table, number)
    if data != ZERO:
        if _result(data) >= target:
            return 1
        if _result(data >> _HIGH_SHIFT) < target:
            return 0
    worker.depth += 1
    frame = frames[worker.depth]
    frame.own = own
    frame.stones = stones
    frame.target = target
    frame.next = 0
    _list_moves(board, frame, moves)
    return -1


@part
def _list_moves(board, frame, moves):
    """Write the moves: those that make most threats first, then those nearest to the middle."""
    count = 0
    for k in range(board.width):
        move = moves & board.columns[k]
        if move != ZERO:
            worth = bit_count(_winning(board, frame.own | move) & ~frame.stones)
            place = count
            while place > 0 and frame.worth[place - 1] < worth:
                frame.moves[place] = frame.moves[place - 1]
                frame.worth[place] = frame.worth[place - 1]
                place -= 1
            frame.moves[place] = move
            frame.worth[place] = worth
            count += 1
    frame.count = count


@part
def _winning(board, own):
    """The cells of the board that complete four in a row, taken ones too."""
    one = own << ONE
    found = one & (one << ONE) & (one << _HIGH_SHIFT)
    for direction in range(3):
        step = board.steps[direction]
        up = own << step
        two_up = up & (up << step)
        down = own >> step
        two_down = down & (down >> step)
        found |= two_up & ((up << step << step) | down)
        found |= two_down & (up | (down >> step >> step))
    return found & board.board


@inlined
def _result(bits):
    return int(np.int64(bits & _RESULT)) - 1


@inlined
def _row(board, scrambled):
    return int(scrambled >> board.row_shift)


@part
def _known(board, table, number):
    """The data of the row with this position, or 0."""
    row = _row(board, number * _SCRAMBLER)
    data = table[row, 1]
    return data if table[row, 0] ^ data == number else ZERO


@part
def _keep(board, table, frame, answer):
    """Write what an answer says of a position, with what was known of it."""
    number = frame.own + frame.stones + board.bottom
    data = _known(board, table, number)
    low = -1
    high = 1
    if data != ZERO:
        low = _result(data)
        high = _result(data >> _HIGH_SHIFT)
    if answer:
        low = max(low, int(frame.target))
    else:
        high = min(high, int(frame.target) - 1)
    scrambled = number * _SCRAMBLER
    data = (scrambled & _SCRAMBLED) | _PRESENT | np.uint64(low + 1 + 4 * (high + 1))
    row = _row(board, scrambled)
    table[row, 0] = number ^ data
    table[row, 1] = data
