"""An agent that plays perfectly, in games that are solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, AgentSpec, InstantSearch, Needs, Seed
from ludarium.training.agents.agent import best_first
from ludarium.training.agents.settings import read_flag, setting
from ludarium.training.search import Search, SearchResult

from .solution import ILLEGAL, Solution, TableSolution
from .solutions import solution_of
from .solver import after


class SolvedAgent(Agent):
    """Draws one of a solution's best actions uniformly.

    Args:
        solution: the game's solution.
        name, seed: see `Agent`.
        hard: draw among those best actions after which the fewest replies keep who wins, however
            late; without effect if the solution is no `TableSolution`.

    Attributes:
        solution: the same solution.

    Raises:
        ValueError: ``seed`` is not a seed.
    """

    def __init__(
        self, solution: Solution, name: str = "perfect", seed: Seed = None, hard: bool = False
    ) -> None:
        super().__init__(solution.game, name, seed)
        self.solution = solution
        self._hard = hard

    def search(self, states: np.ndarray) -> SearchResult:
        """The best actions, each with the same share of the policy, and one drawn of them.

        Values, -1, 0 or 1 and proven, are known from a `TableSolution` alone.

        Args:
            states: structured array [N] of ``game.state_dtype``; finished games get action -1.

        Raises:
            ValueError: a position has no value, see `TableSolution.knows`.
        """
        table = self.solution
        known: dict[str, Any] = {}
        if isinstance(table, TableSolution):
            codes = table.action_values(states)
            legal = codes != ILLEGAL
            best = legal & (codes == codes.max(axis=1, keepdims=True))
            outcomes = np.where(legal, np.sign(codes), np.nan).astype(np.float32)
            is_on = legal.any(axis=1)
            values = np.sign(codes.max(axis=1)).astype(np.float32)
            known = {
                "values": np.where(is_on, values, np.float32(np.nan)),
                "proven": is_on,
                "action_values": outcomes,
                "proven_actions": legal,
            }
            if self._hard:
                best = _hardest(table, states, best)
        else:
            best = table.best_actions(states)
        draws = self.rng.random(best.shape)
        count = best.sum(axis=1, keepdims=True)  # 0 in a finished game
        chosen = np.where(count[:, 0], np.where(best, draws, -1.0).argmax(axis=1), -1)
        return SearchResult.of(chosen, (best / count.clip(min=1)).astype(np.float32), **known)

    def start_search(self, position: Position) -> Search:
        """What the solution knows of a position, whatever the budget; see `Agent.start_search`."""
        return InstantSearch(position, self._explained)

    def _explained(self, position: Position) -> tuple[SearchResult, dict[int | None, str]]:
        """What is known of a position, and in words; see `InstantSearch`."""
        result, solution = self.search(position.states), self.solution
        if isinstance(solution, TableSolution):
            values = solution.actions(position).items()
            return result, {None: str(solution.value(position)), **{a: str(v) for a, v in values}}
        best = result.policies[0] > 0
        return result, {None: "", **best_first(position, best, "keeps what the position is worth")}


def _hardest(table: TableSolution, states: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Those of the best actions, bool[N, A], after which the fewest replies keep the value."""
    rows, actions = np.nonzero(best)
    if not len(rows):
        return best
    positions = {row: Position.of_state(table.game, states[row]) for row in np.unique(rows)}
    children = [after(positions[row], int(a)) for row, a in zip(rows, actions, strict=True)]
    values = table.action_values(np.concatenate([child.states for child in children]))
    outcomes = np.where(values == ILLEGAL, ILLEGAL, np.sign(values))
    optimal_mask = outcomes == outcomes.max(axis=1, keepdims=True)
    replies = np.full(best.shape, best.shape[1] + 1)
    replies[rows, actions] = (optimal_mask & (values != ILLEGAL)).sum(axis=1)  # 0: the game is over
    hardest: np.ndarray = best & (replies == replies.min(axis=1, keepdims=True))
    return hardest


@dataclass(frozen=True, kw_only=True)
class PerfectSpec(AgentSpec):
    """An agent that plays one of the best actions of a game's solution.

    With a table of all positions it wins as fast as possible, else draws, else loses as slowly as
    possible. A solution that searches, such as Corso's, documents what it prefers and how far its
    search goes.
    """

    usage = "perfect"
    help = "exact play, in solved games: it wins won positions, and never loses drawn ones"
    needs = Needs.NOTHING

    hard: bool = setting(
        read_flag,
        "true: of moves that are equally good, one after which the fewest replies keep the value; "
        "needs a table of all positions, as Osiron has",
        False,
    )

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent; the solution is loaded, or a missing table computed.

        Raises:
            ValueError: see `solution_of`; or the game is not solved from the start on, or not by a
                table, which ``hard`` needs.
        """
        solution = solution_of(game)
        table = solution if isinstance(solution, TableSolution) else None
        if table is not None and not table.knows(game.start(0).states)[0]:
            raise ValueError(
                f"{game} is not solved from the start on; take endgame:AGENT, such as "
                "endgame:random: it plays perfectly where the values are known"
            )
        if self.hard and table is None:
            raise ValueError(f"{game} has no table of values, which hard=true needs: leave it out")
        return SolvedAgent(solution, self.label, seed, self.hard)
