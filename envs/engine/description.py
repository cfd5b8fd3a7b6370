"""What the numbers of a game mean, as data for programs that do not have its code."""

from __future__ import annotations

from typing import Any

import numpy as np

from .game import Game


def describe_game(game: Game) -> dict[str, Any]:
    """Observation and actions of a game with its options, fit for JSON.

    Returns:
        - ``game``, ``title``, ``credit``, ``version``, ``options``: which game it is;
        - ``max_score``: largest final lead in points, 0 where the game counts none;
        - ``observation``: its ``shape``, ``dtype``, and a name for each plane or feature
          (``names``);
        - ``actions``: ``names`` by number; ``notation``, a sentence on how their text differs
          from the name, empty where it does not; and ``seen``, see `describe_seen_actions`.
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
            "seen": describe_seen_actions(game),
        },
    }


def describe_seen_actions(game: Game) -> dict[str, Any] | None:
    """How to bring a network's policy into the numbers that the game takes.

    Returns:
        None where a network numbers actions as the game does. Otherwise ``entry``, the index
        of the observation's plane or feature that tells the orientation, and ``numbers``
        [2][num_actions]: where that entry is 0 (or 1), ``policy[numbers[0]]`` (or
        ``policy[numbers[1]]``) has the game's numbers.
    """
    if game.orientation is None:
        return None
    entry = list(game.observation_names).index(game.orientation)
    position = game.start(0)
    numbers: list[list[int]] = [[], []]
    for player in (0, 1):
        orientation = int(np.max(position.observation(player)[entry]))
        numbers[orientation] = position.seen_actions(player).tolist()
    return {"entry": entry, "numbers": numbers}
