"""Matches between two agents: all games in parallel, every opening from both seats."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_seed, checked_whole
from ludarium.base.progress import SILENT, Progress
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
    progress: Progress = SILENT,
    openings: Openings | Sequence[str] = (),
) -> Games:
    """Play a match.

    The same seed and agents give the same match, unless an agent's moves depend on more than its
    seed, such as on time.

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
        progress: counts the finished games.
        openings: half as many as games, instead of drawn ones; or texts of positions, in which
            games begin in turn, by default without random plies.

    Raises:
        ValueError: there is no such game, ``games`` is not a positive even number or not two for
            each opening, ``seed`` or ``opening_plies`` is out of range, a text is no position in
            which the game goes on, an agent plays another game, or an agent chose an illegal
            action; the message says which.
        FileNotFoundError, ImportError: see `as_agent`.
        StoppedError: ``progress`` was stopped.
    """
    check_games(games)
    game = as_game(game, {})
    one, other = make_agents([first, second], game)
    agents = one, other
    seeds = np.random.SeedSequence(None if seed is None else checked_seed(seed)).spawn(3)
    for agent, child in zip(agents, seeds[1:], strict=True):
        agent.restart(child)
    if not isinstance(openings, Openings):
        openings = draw_openings(game, games // 2, opening_plies, seeds[0], openings)
    elif len(openings) != games // 2:
        raise ValueError(f"{len(openings)} openings are for {2 * len(openings)} games, not {games}")
    return play_games(game, agents, openings.twice(), progress)


def check_games(games: int, name: str = "games") -> int:
    """Return a number of games, called ``name``; ``ValueError`` unless it is positive and even."""
    number = checked_whole(name, games, 2)
    if number % 2:
        raise ValueError(f"{name} is a positive even number (two per opening), not {quoted(games)}")
    return number


def play_games(
    game: Game, agents: tuple[Agent, Agent], openings: Openings, progress: Progress = SILENT
) -> Games:
    """Play a game from each opening, all side by side.

    Args:
        game: the rules.
        agents: the two agents. The first is ``player_0`` in games with an even number. An agent
            that is both is asked for the moves of both players together.
        openings: the positions at which the games begin.
        progress: counts the finished games.

    Raises:
        ValueError: an agent chose an illegal action; the message says which.
        StoppedError: ``progress`` was stopped.
    """
    states = openings.states.copy()
    count = len(states)
    seats = np.arange(count) % 2  # the first agent's
    seeds = np.array(openings.seeds if game.random_start else [0] * count, np.int64)
    actions = [list(given) for given in openings.actions]
    seconds = [[0.0] * len(given) for given in openings.actions]
    views = [  # each game as either player sees it
        [
            GameInPlay(game, n, seat, int(seeds[n]), states, actions[n], openings.positions[n])
            for seat in (0, 1)
        ]
        for n in range(count)
    ]
    different = tuple(dict.fromkeys(agents))  # one agent, if it plays itself

    def views_of(agent: Agent, numbers: Iterable[int]) -> list[GameInPlay]:
        return [
            views[n][seat] for n in numbers for seat in (0, 1) if agents[(n + seat) % 2] is agent
        ]

    def finish(agent: Agent, numbers: np.ndarray) -> None:
        if len(numbers):
            agent.finish(views_of(agent, numbers.tolist()))

    def abandon(agent: Agent) -> None:
        finish(agent, np.flatnonzero(states["outcome"] == ONGOING))

    step = specialise(templates, game).play
    with ExitStack() as abandoned:
        for agent in different:
            agent.begin(views_of(agent, range(count)))
            abandoned.callback(abandon, agent)
        while len(going := np.flatnonzero(states["outcome"] == ONGOING)):
            progress.check()
            # 1. Whose move is it? Each agent gets all positions in which it is to move.
            of_first = states["mover"][going] == seats[going]
            groups = [going[of_first], going[~of_first]] if len(different) > 1 else [going]
            for agent, group in zip(different, groups, strict=True):
                if not len(group):
                    continue
                # 2. The agent chooses. Games share the time of the decision equally.
                before = states[group]
                movers = before["mover"].tolist()
                playing = [views[n][seat] for n, seat in zip(group.tolist(), movers, strict=True)]
                started = time.perf_counter()
                chosen = np.asarray(agent.play(playing, before))
                share = (time.perf_counter() - started) / len(group)
                resigns = chosen == RESIGN
                resigned = group[resigns]
                losers = before["mover"][resigns]
                states["outcome"][resigned] = np.where(losers, PLAYER_0_WINS, PLAYER_1_WINS)
                for n, loser in zip(resigned.tolist(), losers.tolist(), strict=True):
                    views[n][0].forfeited_by = views[n][1].forfeited_by = loser
                group, chosen, before = group[~resigns], chosen[~resigns], before[~resigns]
                # 3. The rules play its actions.
                after = before.copy()
                illegal = step(game.tables, after, chosen, game.num_actions)
                if illegal >= 0:
                    reason = Position.of_state(game, before[illegal]).refusal(chosen[illegal])
                    raise ValueError(f"agent {agent.name} in game {group[illegal]}: {reason}")
                states[group] = after
                for n, action in zip(group.tolist(), chosen, strict=True):
                    actions[n].append(int(action))
                    seconds[n].append(share)
                # 4. Both agents learn which games are over.
                over = np.concatenate([resigned, group[after["outcome"] != ONGOING]])
                for each in different:
                    finish(each, over)
                if len(over):
                    progress.advance(len(over))
    return Games(
        game=game,
        players=(agents[0].name, agents[1].name),
        seeds=seeds,
        positions=openings.positions,
        seats=seats.astype(np.int8),
        opening_plies=np.array([len(given) for given in openings.actions], np.int64),
        actions=columns(actions, -1, np.int64),
        seconds=columns(seconds, 0.0, np.float64),
        plies=np.array([len(played) for played in actions], np.int64),
        outcomes=states["outcome"].astype(np.int8),
        notes=tuple(one.notes | other.notes for one, other in views),
    )
