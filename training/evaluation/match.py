"""Matches between two agents: all games in parallel, every opening from both seats."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_seed, checked_whole
from ludarium.base.progress import UNWATCHED, StoppedError, Task
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.envs.registry import as_game

from ..agents import RESIGN, Agent, AgentLike, GameInPlay, make_agents
from .games import Games, columns
from .kernels import match as templates
from .openings import Openings, draw_openings


def play_match(
    game: Game | str,
    first: AgentLike,
    second: AgentLike,
    games: int,
    seed: int | None = None,
    opening_plies: int | None = None,
    task: Task = UNWATCHED,
    openings: Openings | None = None,
) -> Games:
    """Play a match; the same seed and agents give the same match.

    Games 2k and 2k + 1 start from the same opening; the first agent is ``player_0`` in the
    one and ``player_1`` in the other. Openings differ from each other if possible (see
    `draw_openings`). Both agents are restarted with seeds that are drawn from ``seed``.

    Args:
        game: the rules, or a game's name.
        first, second: agents, or objects that `as_agent` turns into one: a name, a function
            from a position to an action, a torch module.
        games: number of games, even.
        seed: seed of openings and agents; ``None`` plays a new match each time.
        opening_plies: random plies before the agents take over; ``None`` draws 0 to 3 for
            each opening.
        task: task that counts the finished games.
        openings: half as many as games, instead of drawn ones.

    Raises:
        ValueError: ``games`` is not a positive even number or not two for each opening, an agent
            plays another game, or an agent chose an illegal action; the message says which.
        StoppedError: the task was stopped.
    """
    check_games(games)
    game = as_game(game, {})
    one, other = make_agents([first, second], game)
    agents = one, other
    seeds = np.random.SeedSequence(None if seed is None else checked_seed(seed)).spawn(3)
    for agent, child in zip(agents, seeds[1:], strict=True):
        agent.restart(child)
    if openings is None:
        openings = draw_openings(game, games // 2, opening_plies, seeds[0])
    elif len(openings) != games // 2:
        raise ValueError(f"{len(openings)} openings are for {2 * len(openings)} games, not {games}")
    return play(game, agents, openings.twice(), task)


def check_games(games: int, name: str = "games") -> int:
    """Return a number of games, called ``name``; ``ValueError`` unless it is positive and even."""
    number = checked_whole(name, games, 2)
    if number % 2:
        raise ValueError(f"{name} is a positive even number (two per opening), not {quoted(games)}")
    return number


def play(
    game: Game, agents: tuple[Agent, Agent], openings: Openings, task: Task = UNWATCHED
) -> Games:
    """Play a game from each opening, all side by side.

    Args:
        game: the rules.
        agents: the two agents. The first is ``player_0`` in games with an even number.
        openings: the positions at which the games begin.
        task: task that counts the finished games.

    Raises:
        ValueError: an agent chose an illegal action; the message says which.
        StoppedError: the task was stopped.
    """
    states = openings.states.copy()
    count = len(states)
    seats = np.arange(count) % 2
    seeds = np.array(openings.seeds if game.random_start else [0] * count, np.int64)
    actions = [list(given) for given in openings.actions]
    seconds = [[0.0] * len(given) for given in openings.actions]
    sides = [
        [
            GameInPlay(game, number, int(seat), int(seeds[number]), states, actions[number])
            for number, seat in enumerate(of_agent)
        ]
        for of_agent in (seats, 1 - seats)
    ]
    step = specialise(templates, game).play
    with ExitStack() as abandoned:
        for agent, side in zip(agents, sides, strict=True):
            agent.begin(side)
            abandoned.callback(_abandon, agent, side, states)
        while len(going := np.flatnonzero(states["outcome"] == ONGOING)):
            if task.stopped:
                raise StoppedError
            of_first = states["mover"][going] == seats[going]
            for agent, side, group in zip(
                agents, sides, (going[of_first], going[~of_first]), strict=True
            ):
                if not len(group):
                    continue
                before = states[group]
                started = time.perf_counter()
                chosen = np.asarray(agent.play([side[number] for number in group], before))
                share = (time.perf_counter() - started) / len(group)
                goes_on = chosen != RESIGN
                resigned = group[~goes_on]
                winners = np.where(before["mover"][~goes_on], PLAYER_0_WINS, PLAYER_1_WINS)
                states["outcome"][resigned] = winners
                group, chosen, before = group[goes_on], chosen[goes_on], before[goes_on]
                after = before.copy()
                illegal = step(game.tables, after, chosen, game.num_actions)
                if illegal >= 0:
                    reason = Position.of_state(game, before[illegal]).refusal(chosen[illegal])
                    raise ValueError(f"agent {agent.name} in game {group[illegal]}: {reason}")
                states[group] = after
                for number, action in zip(group.tolist(), chosen, strict=True):
                    actions[number].append(int(action))
                    seconds[number].append(share)
                over = np.concatenate([resigned, group[after["outcome"] != ONGOING]])
                if len(over):
                    for each, handles in zip(agents, sides, strict=True):
                        each.finish([handles[number] for number in over])
                    task.advance(len(over))
    return Games(
        game=game,
        players=(agents[0].name, agents[1].name),
        seeds=seeds,
        seats=seats.astype(np.int8),
        opening_plies=np.array([len(given) for given in openings.actions], np.int64),
        actions=columns(actions, -1, np.int64),
        seconds=columns(seconds, 0.0, np.float64),
        plies=np.array([len(played) for played in actions], np.int64),
        outcomes=states["outcome"].astype(np.int8),
        notes=tuple(one.notes | other.notes for one, other in zip(*sides, strict=True)),
    )


def _abandon(agent: Agent, side: Sequence[GameInPlay], states: np.ndarray) -> None:
    """Tell an agent of the games that are not over."""
    left = np.flatnonzero(states["outcome"] == ONGOING)
    if len(left):
        agent.finish([side[number] for number in left.tolist()])
