"""What each first move is worth, which are fair, and what the swap rule does about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.training.agents import Agent, make_agent
from ludarium.training.agents.agent import GameInPlay
from ludarium.training.evaluation import play_match
from ludarium.training.evaluation.kernels import match as match_templates
from ludarium.training.evaluation.statistics import Z_95

from .enumeration import enumerate_positions
from .estimates import Estimate, rounded, share
from .evaluators import (
    Evaluator,
    PlayoutValues,
    SearchedValues,
    exact_evaluator,
    exact_values,
    network_agent,
)
from .study import SWAP_OPTION, Study, varied, with_settings

#: A first move is fair if it leaves player 0 with a chance within this of one half.
FAIR = 0.05

_REPEATS = 3  # searches of the same position, each with playouts of its own


def openings(study: Study) -> dict[str, Any] | None:
    """The value of each first move for player 0; None where the start is drawn."""
    if study.game.random_start:
        return None
    game = without_swap(study.game)
    start = game.start()
    actions = start.legal_actions
    after = np.repeat(start.states, len(actions))
    specialise(match_templates, game.rules).play(game.tables, after, actions, game.num_actions)
    exact = exact_evaluator(game, enumerate_positions(game, study.settings.positions))
    known = exact_values(game, exact, after)
    orbits = _orbits(game, actions)
    searcher = exact or _searcher(study, game)
    chances = _searched(study, searcher, after)
    moves: list[dict[str, Any]] = [
        {
            "moves": [game.action_to_text(start.state, int(actions[place])) for place in orbit],
            "actions": [int(actions[place]) for place in orbit],
            "chance": estimate.to_dict(),
            "perfect": None if known is None else int(known[orbit[0]]),
        }
        for orbit, estimate in zip(orbits, _estimates(chances, orbits), strict=True)
    ]
    order = sorted(range(len(moves)), key=lambda number: -moves[number]["chance"]["value"])
    ranked = [moves[number] for number in order]
    values = np.array([move["chance"]["value"] for move in ranked])
    counts = np.array([len(move["moves"]) for move in ranked])
    fairest = int(np.abs(values - 0.5).argmin())
    tried = list(dict.fromkeys([0, fairest, len(ranked) - 1]))
    played = _played(study, game, [ranked[number]["actions"][0] for number in tried])
    return {
        "has_swap_rule": SWAP_OPTION in study.game.options,
        "swap_rule_in_this_game": bool(study.game.options.get(SWAP_OPTION, False)),
        "evaluator": searcher.name,
        "searches_per_move": chances.shape[1],
        "fair_within": FAIR,
        "moves": ranked,
        "legal": len(actions),
        "fair": int(counts[np.abs(values - 0.5) <= FAIR].sum()),
        "to_be_swapped": int(counts[values > 0.5].sum()),
        "fairest": ranked[fairest]["moves"][0],
        "chance_without_swap": ranked[0]["chance"],
        "chance_with_swap": rounded(np.minimum(values, 1 - values).max()),
        "played": [
            {"move": ranked[number]["moves"][0]} | result
            for number, result in zip(tried, played, strict=True)
        ],
    }


def without_swap(game: Game) -> Game:
    """The same game without its swap rule, if it has one."""
    if not game.options.get(SWAP_OPTION, False):
        return game
    return type(game)(**dict(game.options) | {SWAP_OPTION: False})


def _searcher(study: Study, game: Game) -> Evaluator:
    settings = study.settings
    if study.agent is not None and network_agent(game, study.agent) is not None:
        deeper = network_agent(
            game, with_settings(study.agent, simulations=settings.opening_simulations)
        )
        assert deeper is not None
        return SearchedValues(deeper)
    return PlayoutValues(game, settings.opening_playouts, study.seed(60))


def _searched(study: Study, searcher: Evaluator, after: np.ndarray) -> np.ndarray:
    """Player 0's chances, float64[first moves, searches]."""
    repeats = _REPEATS if isinstance(searcher, PlayoutValues) else 1
    reach = study.bar("first moves", repeats)
    columns = []
    for number in range(repeats):
        columns.append((searcher.values(after) + 1) / 2)
        reach(number + 1)
    return np.stack(columns, axis=1)


def _orbits(game: Game, actions: np.ndarray) -> list[list[int]]:
    """Places in ``actions`` of first moves that a symmetry of the start takes to each other."""
    symmetries = game.symmetries()
    start = game.start()
    seen = start.observation().ravel()
    tables = [
        symmetries.actions_of(start.states, number)[0]
        for number in range(len(symmetries))
        if (seen[symmetries.observation[number]] == seen).all()
    ]
    place_of = {int(action): place for place, action in enumerate(actions)}
    orbits: list[list[int]] = []
    done: set[int] = set()
    for place, action in enumerate(actions):
        if place not in done:
            images = {int(table[action]) for table in tables}
            orbit = [place, *sorted({place_of[image] for image in images} - {place})]
            orbits.append(orbit)
            done.update(orbit)
    return orbits


def _estimates(chances: np.ndarray, orbits: list[list[int]]) -> list[Estimate]:
    """The mean of each orbit's searches; their spread, pooled over all moves, gives intervals.

    The intervals are about the noise of the searches, not about what all of them misjudge.
    """
    groups = [chances[orbit].ravel() for orbit in orbits]
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    spread = (squares / freedom) ** 0.5 if freedom else 0.0
    halves = [Z_95 * spread / len(group) ** 0.5 for group in groups]
    return [
        Estimate(
            float(group.mean()),
            max(0.0, float(group.mean()) - half),
            min(1.0, float(group.mean()) + half),
            len(group),
        )
        for group, half in zip(groups, halves, strict=True)
    ]


class OpensWith(Agent):
    """Begins games with given actions in turn, and goes on as another agent.

    Args:
        agent: that goes on.
        openings: first actions; game ``n`` of a match has number ``n // 2``, counted around.
    """

    def __init__(self, agent: Agent, openings: Sequence[int]) -> None:
        self.agent = agent
        self.openings = list(openings)
        super().__init__(agent.game, agent.name)

    def restart(self, seed: Any = None) -> None:
        """See `Agent.restart`."""
        super().restart(seed)
        self.agent.restart(seed)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The other agent's choice; only `play` knows which game it is."""
        return self.agent.actions(states)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """See `Agent.begin`."""
        self.agent.begin(games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """The given action at the start, later the other agent's choice."""
        chosen = np.full(len(states), -1, np.int64)
        later = np.flatnonzero(states["ply"] > 0)
        if len(later):
            chosen[later] = self.agent.play([games[n] for n in later.tolist()], states[later])
        for number in np.flatnonzero(states["ply"] == 0).tolist():
            chosen[number] = self.openings[games[number].number // 2 % len(self.openings)]
        return chosen

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """See `Agent.finish`."""
        self.agent.finish(games)


def _played(study: Study, game: Game, actions: list[int]) -> list[dict[str, Any]]:
    """Player 0's results of games of the strongest player that begin with each action."""
    spec = varied(game, study.strong_player)
    per_move = max(4, study.games // 4 * 2)
    games = per_move * len(actions)
    reach = study.bar(f"first moves played by {study.strong_name}", games)
    seed = study.seed(61)
    first, second = (OpensWith(make_agent(spec, game, seed + n), actions) for n in (0, 1))
    result = play_match(game, first, second, games, seed, 0, lambda done, total: reach(done))
    openings = np.array([played.actions[0] for played in result.played])
    outcomes = np.array([played.outcome for played in result.played])
    found = []
    for action in actions:
        of_move = outcomes[openings == action]
        wins = int((of_move == PLAYER_0_WINS).sum())
        draws = len(of_move) - wins - int((of_move == PLAYER_1_WINS).sum())
        found.append(
            {
                "players": study.strong_name,
                "player_0_score": share(wins + draws / 2, len(of_move)).to_dict(),
                "draws": draws,
            }
        )
    return found
