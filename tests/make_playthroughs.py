"""Golden playthroughs: random games written down in full, one file per game and option set.

``tests/envs/test_playthroughs.py`` compares the files in ``tests/playthroughs`` with games
played anew, so that a change of rules, notation, numbering or observation shows as a readable
difference. ``python -m tests.make_playthroughs`` rewrites them; read what ``git diff`` then
says before it is committed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.envs import Game, Position
from ludarium.envs.engine.rule import (
    DRAW,
    PLAYER_0_WINS,
    PLAYER_1_WINS,
    TRUNCATED,
    random_below,
    seed_rng,
)
from tests.games import ALL_GAMES

FOLDER = Path(__file__).parent / "playthroughs"
SEED = 1

#: Option sets worth a file of their own, beside each game's defaults.
MORE_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "corso": [{"size": 3}, {"size": 4}],
    "onyx": [{"size": 6}],
    "osiron": [
        {"setup": "alternating"},
        {"movement": "advanced"},
        {"setup": "empty", "movement": "advanced"},
    ],
    "obsidio": [{"size": 7}],
    "obelisk": [{"hourglass": True}],
}

_RESULTS = {
    PLAYER_0_WINS: "player_0 wins",
    PLAYER_1_WINS: "player_1 wins",
    DRAW: "a draw",
    TRUNCATED: "a draw, at the ply cap",
}
_WIDTH = 100


def playthroughs() -> dict[str, Game]:
    """Every game to be played, by the name of its file."""
    chosen = {}
    for name, kind in ALL_GAMES.items():
        for options in [{}, *MORE_OPTIONS.get(name, [])]:
            parts = [name, *(f"{option}={value}" for option, value in options.items())]
            chosen["-".join(parts) + ".txt"] = kind(**options)
    return chosen


def transcript(game: Game, seed: int = SEED) -> str:
    """A random game from beginning to end, as text."""
    return "\n".join([*_lines(game, seed), ""])


def _lines(game: Game, seed: int) -> Iterator[str]:
    yield f"{game.title}, version {game.version}, options {json.dumps(game.options)}, seed {seed}"
    yield f"{game.num_actions} actions, observation {game.observation_shape}"
    position, rng = game.start(seed), seed_rng(seed)[0]
    while True:
        is_in_full = _in_full(position.ply)
        if is_in_full or position.is_over:
            yield from ("", f"Ply {position.ply}", *position.board_text().splitlines())
        if position.is_over:
            break
        legal = position.legal_actions.tolist()
        if is_in_full:
            texts = [f"{position.action_to_text(action)}={action}" for action in legal]
            yield from _wrapped(f"player_{position.mover} may play", texts)
            yield from _observations(position)
        action = legal[random_below(rng, len(legal))]
        text = position.action_to_text(action)
        yield f"player_{position.mover} plays {text} ({action}), one of {len(legal)}"
        position.play(action)
    yield from _observations(position)
    yield f"The end: {_RESULTS[position.outcome]}"
    yield f"Rewards {position.rewards[0]:+d} {position.rewards[1]:+d}, score {position.score:+d}"


def _in_full(ply: int) -> bool:
    """Whether to show more than the action: long games would fill thousands of lines."""
    return ply < 4 or ply % 12 == 0


def _observations(position: Position) -> Iterator[str]:
    for player in (0, 1):
        observation = position.observation(player)
        if observation.ndim == 3:
            yield f"player_{player} sees"
            yield from _planes(observation)
        else:
            entries = [f"{i}={observation[i]:g}" for i in np.flatnonzero(observation)]
            yield from _wrapped(f"player_{player} sees", entries)


def _planes(observation: np.ndarray) -> Iterator[str]:
    """Planes side by side, rank 1 at the bottom: nothing is a dot, one a disc, else tenths."""
    per_row = max(1, _WIDTH // (observation.shape[2] + 1))
    for first in range(0, len(observation), per_row):
        for rank in reversed(range(observation.shape[1])):
            rows = observation[first : first + per_row, rank]
            yield "  " + " ".join("".join(map(_symbol, row)) for row in rows)


def _symbol(value: float) -> str:
    return {0.0: ".", 1.0: "●"}.get(float(value)) or str(int(10 * value))


def _wrapped(title: str, words: list[str]) -> Iterator[str]:
    line = f"{title}:"
    for word in words:
        if len(line) + 1 + len(word) > _WIDTH:
            yield line
            line = " "
        line += f" {word}"
    yield line


def main() -> None:
    """Rewrite all files, and remove those of games and options that do not exist."""
    wanted = playthroughs()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        if path.name not in wanted:
            path.unlink()
    for name, game in wanted.items():
        (FOLDER / name).write_text(transcript(game), encoding="utf-8")
    print(f"{len(wanted)} playthroughs written to {FOLDER}")


if __name__ == "__main__":
    main()
