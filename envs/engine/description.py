"""Describes the observations and actions of a game as data, for programs without its code."""

from __future__ import annotations

from typing import Any

from .game import Game


def describe_game(game: Game) -> dict[str, Any]:
    """Observation and actions of a game with its options, as JSON values.

    Returns:
        - ``game``, ``title``, ``credit``, ``version``, ``options``: which game it is;
        - ``max_score``: largest final lead, 0 if there is none, or only an estimate of it;
        - ``observation``: its ``shape``, ``dtype``, and a name for each plane or feature
          (``names``);
        - ``actions``: ``names`` by number, and ``notation``, a sentence on how their text differs
          from the name, empty where it does not;
        - ``canonical_turn``: None, or how the board is turned in the canonical frame of a player
          for whom `Position.is_turned` holds: the permutations ``cells``, of every plane (or of
          the features), and ``actions``, of the action numbers.
    """
    return {
        "game": game.name,
        "title": game.title,
        "credit": game.credit,
        "version": game.version,
        "options": dict(game.options),
        "max_score": game.max_score,
        "observation": {
            "shape": list(game.observation_shape),
            "dtype": "float32",
            "names": list(game.observation_names),
        },
        "actions": {
            "names": list(game.action_names),
            "notation": game.notation,
        },
        "canonical_turn": _describe_turn(game),
    }


def _describe_turn(game: Game) -> dict[str, Any] | None:
    turn = game.canonical_turn
    if turn is None:
        return None
    return {"cells": turn.cells.tolist(), "actions": turn.actions.tolist()}
