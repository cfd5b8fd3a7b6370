"""Alpha-beta search to a fixed depth in plies, over a game's rules, with an explicit stack.

Template functions for ``engine.compile.specialise``. Alpha-beta pruning: Knuth and Moore, "An
Analysis of Alpha-Beta Pruning", 1975. Values are in the view of player 0, who maximises
while player 1 minimises, so the order of turns does not matter.

Iterative deepening: the search goes to 1, 2, ... ``depth`` plies, and each round orders the actions
of the next. First come, at the root, the best actions of the round before, elsewhere the *killer*
(the last action that caused a cutoff at that ply; Akl and Newborn, 1977), and then those that
caused the most cutoffs (*history heuristic*: Schaeffer, 1989).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.envs.engine.rule import ONGOING, random_below, reward
from ludarium.machine.marks import kernel, part

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

rules: Any = None  # one game's rules, filled in by `specialise`


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    if not game.has_score:
        return
    states, rngs, numbers = game.new_states(1), np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    keys, frames = np.zeros((1, 1, 1), np.int64), np.zeros((1, 1), FRAME)
    values, best = np.zeros(1, np.int32), np.zeros((1, 1), np.int8)
    room = (states[None], frames, keys.astype(np.int32), keys, keys)
    yield "search", (game.tables, states, rngs, 1, *room, numbers, values, best, 0, 1)


#: A win of player 0 has this value minus the plies that it took; it is far above any score.
WIN = 1 << 24
_INFINITY = 1 << 30
_FIRST = 1 << 62  # ordering key of an action that is tried before all others

#: The search's stack frame for each ply of the current line of play.
FRAME = np.dtype(
    (
        np.record,
        [
            ("sign", np.int32),  # +1 if player 0 is to move, -1 if player 1 is
            ("lower", np.int32),  # alpha: player 0 is sure of at least this value
            ("upper", np.int32),  # beta: player 1 can hold the value to this
            ("best", np.int32),  # value of the best action so far
            ("width", np.int32),  # number of legal actions
            ("tried", np.int32),  # how many of them have been tried: they come first
            ("killer", np.int32),  # last action that caused a cutoff at this ply, or -1
        ],
    )
)


@part
def evaluate(table, state, ply):
    """Value of a position ``ply`` plies from the root: its score, or the result of a finished game.

    A win is worth more the sooner it comes, and a loss is better the later it comes.
    """
    if state.outcome == ONGOING:
        return rules.score(table, state)
    return reward(state.outcome, 0) * (WIN - ply)


@part
def open_frame(table, state, frame, actions, keys, history, num_actions):
    """Begin a frame: list the position's legal actions with their keys; higher keys come first."""
    mover = int(state.mover)
    frame.sign = 1 - 2 * mover
    frame.best = -frame.sign * _INFINITY
    frame.tried = 0
    width = 0
    for action in range(num_actions):
        if rules.is_legal(table, state, action):
            actions[width] = action
            keys[width] = _FIRST if action == frame.killer else history[mover, action]
            width += 1
    frame.width = width


@part
def bring_forward(actions, keys, start, end):
    """Swap the entry with the highest key, of ``start`` to before ``end``, to ``start``."""
    highest = start
    for i in range(start + 1, end):
        if keys[i] > keys[highest]:
            highest = i
    action = actions[highest]
    key = keys[highest]
    actions[highest] = actions[start]
    keys[highest] = keys[start]
    actions[start] = action
    keys[start] = key


@part
def search_to(table, line, frames, actions, keys, history, best, depth):
    """Search ``line[0]`` to ``depth`` plies; return its value, mark its best actions in ``best``.

    Actions that the previous round marked are tried first. The window of the root's children is one
    wider than necessary, so that all actions of the best value are found, not only the first.
    """
    num_actions = len(best)
    frames[0].lower = -_INFINITY
    frames[0].upper = _INFINITY
    open_frame(table, line[0], frames[0], actions[0], keys[0], history, num_actions)
    for i in range(frames[0].width):
        if best[actions[0, i]]:
            keys[0, i] = _FIRST
    best[:] = 0
    ply = 0
    while True:
        frame = frames[ply]
        if frame.tried < frame.width and frame.lower < frame.upper:
            # At the last ply only the first action is chosen by its key: ordering the others
            # would cost more than it saves.
            if ply + 1 < depth or frame.tried == 0:
                bring_forward(actions[ply], keys[ply], frame.tried, frame.width)
            action = actions[ply, frame.tried]
            frame.tried += 1
            line[ply + 1] = line[ply]
            rules.step(table, line[ply + 1], action)
            if ply + 1 < depth and line[ply + 1].outcome == ONGOING:
                child = frames[ply + 1]
                child.lower = frame.lower - (ply == 0 and frame.sign > 0)
                child.upper = frame.upper + (ply == 0 and frame.sign < 0)
                ply += 1
                open_frame(table, line[ply], child, actions[ply], keys[ply], history, num_actions)
                continue
            value = evaluate(table, line[ply + 1], ply + 1)
        elif ply > 0:
            # All actions are tried, or there was a cutoff: the value goes to the ply above.
            value = frame.best
            ply -= 1
            frame = frames[ply]
            action = actions[ply, frame.tried - 1]
        else:
            return frame.best
        gain = frame.sign * (value - frame.best)
        if ply == 0 and gain >= 0:
            if gain > 0:
                best[:] = 0
            best[action] = 1
        if gain > 0:
            frame.best = value
            if frame.sign > 0:
                frame.lower = max(frame.lower, value)
            else:
                frame.upper = min(frame.upper, value)
            if frame.lower >= frame.upper:
                frame.killer = action
                history[line[ply].mover, action] += (depth - ply) ** 2


@kernel
def search(
    tables,
    states,
    rngs,
    depth,
    lines,
    frames,
    actions,
    keys,
    history,
    chosen,
    values,
    best,
    begin,
    end,
):
    """Search with workers ``begin`` to before ``end``; worker w takes positions w, w + workers, ...

    Args:
        tables: the game's tables, array of one record.
        states: positions, structured [N].
        rngs: int64[N, 2], a random stream for each position, for the choice among equals.
        depth: plies to look ahead.
        lines: structured [workers, depth + 1], the line of play being looked at.
        frames: `FRAME` [workers, depth].
        actions: int32[workers, depth, A], the legal actions at each ply of the line.
        keys: int64[workers, depth, A], their ordering keys; the highest is tried first.
        history: int64[workers, 2, A], weighted number of cutoffs that each player's actions caused.
        chosen: int64[N], receives a random one of the best actions, -1 where the game is over.
        values: int32[N], receives the minimax value in player 0's view.
        best: int8[N, A], receives 1 for every action of that value, 0 for the others.
    """
    workers = len(lines)
    for worker in range(begin, end):
        for i in range(worker, len(states), workers):
            best[i] = 0
            chosen[i] = -1
            values[i] = evaluate(tables[0], states[i], 0)
            if states[i].outcome != ONGOING:
                continue
            lines[worker, 0] = states[i]
            history[worker] = 0
            for ply in range(depth):
                frames[worker, ply].killer = -1
            for horizon in range(1, depth + 1):
                values[i] = search_to(
                    tables[0],
                    lines[worker],
                    frames[worker],
                    actions[worker],
                    keys[worker],
                    history[worker],
                    best[i],
                    horizon,
                )
                if abs(values[i]) > WIN // 2:
                    break  # solved within the horizon: a deeper search changes nothing
            count = 0
            for action in range(best.shape[1]):
                if best[i, action]:
                    count += 1
                    if random_below(rngs[i], count) == 0:
                        chosen[i] = action
