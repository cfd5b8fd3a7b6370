"""A whole game, move by move: the value at each position, and what each move lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent
from ludarium.training.search import Budget

from .thinking import PositionAnalysis, make_thinker


@dataclass(frozen=True)
class PlayedMove:
    """One move of an analysed game.

    Attributes:
        ply: its number, from 1 on.
        mover: index of the player who made it.
        text: its notation.
        before: the analysis of the position in which it was made.
        best_value: value of that position for the mover, in [-1, 1]; ``None``: not known.
        value: value of the position after the move for the same player, or the result of the
            game; ``None``: not known.
    """

    ply: int
    mover: int
    text: str
    before: PositionAnalysis
    best_value: float | None
    value: float | None

    @property
    def loss(self) -> float | None:
        """How much value the move lost, in [0, 2]; ``None`` if that is not known."""
        if self.best_value is None or self.value is None:
            return None
        return max(0.0, self.best_value - self.value)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "ply": self.ply,
            "mover": f"player_{self.mover}",
            "move": self.text,
            "best": self.before.best.text,
            "best_value": _rounded(self.best_value),
            "value": _rounded(self.value),
            "loss": _rounded(self.loss),
            "exact": self.before.estimate.exact,
            "pv": list(self.before.best.variation),
        }


@dataclass(frozen=True)
class GameAnalysis:
    """An analysed game.

    Attributes:
        game: the rules.
        agent: name of the agent that analysed it.
        moves: the moves that were analysed, in the order of play.
        values: value of each position from the start on, for player 0, one more than moves; the
            last is the game's result if these moves end it, else an estimate. ``None``: not known.
        is_complete: whether all moves were analysed, with the whole budget.
    """

    game: Game
    agent: str
    moves: tuple[PlayedMove, ...]
    values: tuple[float | None, ...]
    is_complete: bool

    def worst(self, count: int = 5) -> list[PlayedMove]:
        """The ``count`` moves that lost most, the worst first; less than 0.005 does not count."""
        lost = [move for move in self.moves if move.loss is not None and move.loss >= 0.005]
        return sorted(lost, key=lambda move: -(move.loss or 0))[:count]

    def mean_loss(self, player: int) -> float | None:
        """Mean value lost by a player's moves; ``None`` if no loss is known."""
        losses = [move.loss for move in self.moves if move.mover == player]
        known = [loss for loss in losses if loss is not None]
        return sum(known) / len(known) if known else None

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "game": self.game.name,
            "options": dict(self.game.options),
            "agent": self.agent,
            "is_complete": self.is_complete,
            "values": [_rounded(value) for value in self.values],
            "mean_loss": [_rounded(self.mean_loss(player)) for player in (0, 1)],
            "worst": [move.ply for move in self.worst()],
            "moves": [move.as_json() for move in self.moves],
        }


def analyse_game(
    game: Game,
    seed: int,
    actions: Sequence[int],
    agent: Agent,
    budget: Budget | None = None,
    progress: Progress = SILENT,
    start: str | None = None,
) -> GameAnalysis:
    """Analyse every position of a game, from the start on.

    The value of a move is the value of the position after it, which is searched with the same
    budget as the one before. The search tree is kept from each position to the next.

    Args:
        game: the rules.
        seed: seed of the game's start.
        actions: the moves, all legal.
        agent: agent that analyses, see `make_thinker`.
        budget: budget for each position, see `Thinker.think`.
        progress: counts the moves; if stopped, the analysis ends with the results so far, of one
            move or more.
        start: the text of the position that the game began at; None for the game's start.

    Raises:
        ValueError: there are no moves, one is not legal, ``seed`` is not a seed, or ``start`` is no
            position of the game; or see `make_thinker`.
    """
    if not actions:
        raise ValueError("the game has no moves to analyse: actions is empty")
    budget = budget or Budget()
    position = game.start(seed, start)
    thinker = make_thinker(agent, position)
    found: list[PositionAnalysis] = []
    values: list[float | None] = []
    texts: list[str] = []
    progress.begin("moves analysed", len(actions))
    for action in actions:
        if found and progress.stopped:
            break
        analysis = thinker.think(budget, progress)
        found.append(analysis)
        values.append(_for_player_0(analysis))
        texts.append(position.action_to_text(action))
        position.play(action)
        if not position.is_over:
            thinker.play(action)
        progress.advance()
    if position.is_over:
        values.append(float(position.rewards[0]))
    else:
        values.append(_for_player_0(thinker.think(budget, progress)))
    is_complete = len(found) == len(actions) and not progress.stopped
    moves = []
    for index, (analysis, text) in enumerate(zip(found, texts, strict=True)):
        sign = 1 - 2 * analysis.mover
        after = values[index + 1]
        moves.append(
            PlayedMove(
                index + 1,
                analysis.mover,
                text,
                analysis,
                analysis.estimate.value,
                None if after is None else sign * after,
            )
        )
    return GameAnalysis(game, found[0].agent, tuple(moves), tuple(values), is_complete)


def _for_player_0(analysis: PositionAnalysis) -> float | None:
    value = analysis.estimate.value
    return None if value is None else (1 - 2 * analysis.mover) * value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
