"""Agents that search a fixed number of plies and trust the game's score: alpha-beta, greedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.base.numbers import checked_whole
from ludarium.base.threads import available_cores, parallel_for
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.search.result import Search, SearchResult

from .agent import Agent, AgentSpec, InstantSearch, Needs, Seed, best_first
from .kernels import alphabeta as templates
from .settings import read_number, setting

DEFAULT_DEPTH = 4
MOST_DEPTH = 64

#: A win of player 0 in n plies has the value ``WIN - n``, a win of player 1 ``n - WIN``; scores
#: are far smaller by absolute value.
WIN = templates.WIN


class AlphaBetaAgent(Agent):
    """Plays one of the best actions by minimax to ``depth`` plies, with alpha-beta.

    The value of a position at the horizon is its score, and a draw has the value 0. A win is better
    than any score, the sooner the better; a loss is worse than any, the sooner the worse. Of
    equally good actions one is drawn uniformly. The budget is ignored. Each core searches some of
    the positions.

    Args:
        game: the rules.
        depth: plies to look ahead.
        name, seed: see `Agent`.

    Attributes:
        depth: as given.

    Raises:
        ValueError: ``depth`` is out of range, or the game's rules have no ``score``.
    """

    def __init__(
        self, game: Game, depth: int = DEFAULT_DEPTH, name: str = "alphabeta", seed: Seed = None
    ) -> None:
        depth = checked_whole("alphabeta depth", depth, 1, MOST_DEPTH)
        if not game.has_score:
            raise ValueError(
                f"alphabeta and greedy need a score, and the rules of {game.name} have none; "
                "uct plays any game"
            )
        super().__init__(game, name, seed)
        self.depth = depth
        self._kernels = specialise(templates, game)
        workers = available_cores()
        self._lines = game.new_states(workers * (depth + 1)).reshape(workers, depth + 1)
        self._frames = np.empty((workers, depth), templates.FRAME)
        self._lists = np.empty((workers, depth, game.num_actions), np.int32)
        self._keys = np.empty((workers, depth, game.num_actions), np.int64)
        self._history = np.empty((workers, 2, game.num_actions), np.int64)

    def search(self, states: np.ndarray) -> SearchResult:
        """Search each position; a value is known only if the search found a forced win or loss."""
        return self._search(states)[0]

    def start_search(self, position: Position) -> Search:
        """See `Agent.start_search`."""
        return InstantSearch(position, self._explained)

    def _explained(self, position: Position) -> tuple[SearchResult, dict[int | None, str]]:
        """What is found in a position, and in words; see `InstantSearch`."""
        result, (score,) = self._search(position.states)
        value = int(score) * (1 - 2 * position.mover)
        if result.proven[0]:
            note = f"{'win' if value > 0 else 'loss'} in {WIN - abs(value)}"
        else:
            words = "1 ply" if self.depth == 1 else f"{self.depth} plies"
            note = f"score {value:+d} within {words}"
        return result, {None: note, **best_first(position, result.policies[0] > 0, note)}

    def _search(self, states: np.ndarray) -> tuple[SearchResult, np.ndarray]:
        """The result, and the scores of `minimax`."""
        actions, scores, best = self.minimax(states)
        decided = np.abs(scores) >= WIN - self.depth
        values = np.where(decided, np.sign(scores) * (1 - 2 * states["mover"]), np.nan)
        proven_actions = (best == 1) & decided[:, None]
        result = SearchResult.of(
            actions,
            (best / np.maximum(best.sum(axis=1, keepdims=True), 1)).astype(np.float32),
            values=values.astype(np.float32),
            proven=decided,
            action_values=np.where(proven_actions, values[:, None], np.nan).astype(np.float32),
            proven_actions=proven_actions,
        )
        return result, scores

    def minimax(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Search, and return scores rather than values.

        Returns:
            int64 [N], a random one of the best actions, -1 where the game is over; int32 [N],
            minimax values in player 0's view: a score, `WIN` minus the plies to a win, or the
            negative for a loss; int8 [N, A], 1 for every action of that value.

        Raises:
            ValueError: ``states`` is not a structured array [N] of the game's positions.
        """
        states = self._check(states)
        count = len(states)
        actions, values = np.empty(count, np.int64), np.empty(count, np.int32)
        best = np.empty((count, self.game.num_actions), np.int8)
        streams = self._streams(count)
        workers = max(1, min(len(self._lines), count))

        def share(begin: int, end: int) -> None:
            self._kernels.search(
                self.game.tables,
                states,
                streams,
                self.depth,
                self._lines[:workers],
                self._frames,
                self._lists,
                self._keys,
                self._history,
                actions,
                values,
                best,
                begin,
                end,
            )

        parallel_for(share, workers, workers)
        return actions, values, best


@dataclass(frozen=True, kw_only=True)
class AlphaBetaSpec(AgentSpec):
    """An `AlphaBetaAgent`."""

    usage = "alphabeta[:DEPTH]"
    help = "minimax over the score"
    argument = "depth"
    needs = Needs.SCORE

    depth: int = setting(
        read_number, f"plies to look ahead, {DEFAULT_DEPTH} by default", DEFAULT_DEPTH
    )

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read the depth; one ply is ``greedy``. See `AgentSpec.read`."""
        spec = super().read(argument, settings, **others)
        return GreedySpec() if spec == cls(depth=1) else spec

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        return AlphaBetaAgent(game, self.depth, self.label, seed)


class GreedySpec(AgentSpec):
    """An agent that plays for the best score after one ply, or wins at once; ties at random."""

    usage = "greedy"
    help = "the action with the best score after one ply"
    needs = Needs.SCORE

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        return AlphaBetaAgent(game, 1, self.label, seed)
