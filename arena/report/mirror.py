"""Mirror play: a player answers each opposing turn by its image under a symmetry of the game.

In some games mirror play wins or draws without any thought, a flaw that a rule must mend. Every
symmetry is tried from both seats.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ludarium.envs.engine.game import Game, Symmetries
from ludarium.envs.engine.position import Position
from ludarium.training.agents import AgentSpec, RandomAgent
from ludarium.training.agents.agent import GameInPlay
from ludarium.training.agents.uniform import RandomSpec

from .study import Study

_OFTEN = 0.05  # symmetries whose images are legal less often are left out of the report
_AGAINST_SEARCH = 3  # the most often legal symmetries are also tried against the search


class MirrorAgent(RandomAgent):
    """Plays the images of the opponent's last actions; without one that is legal, at random.

    Args:
        game: the rules.
        symmetries: the game's symmetries.
        number: the symmetry's number.

    Attributes:
        tried: how many images there were to play, by seat, int64[2].
        legal: how many of them were legal, by seat, int64[2].
    """

    def __init__(self, game: Game, symmetries: Symmetries, number: int) -> None:
        self._symmetries = symmetries
        self._number = number
        self.tried = np.zeros(2, np.int64)
        self.legal = np.zeros(2, np.int64)
        super().__init__(game)
        self.name = f"mirror {number}"

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Prepare to follow the games."""
        for game in games:
            game.memory = _Follower(self.game.start(game.seed, game.start))

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """The next image if it is legal, else a random action."""
        chosen = self.actions(states)
        for number, game in enumerate(games):
            follower: _Follower = game.memory
            follower.follow(game, self._image)
            if not follower.images:
                continue
            image = follower.images.popleft()
            is_legal = bool(follower.position.mask[image])
            self.tried[game.seat] += 1
            self.legal[game.seat] += is_legal
            if is_legal:
                chosen[number] = image
        return chosen

    def _image(self, position: Position, action: int) -> int:
        """The image of an action played in a position; both numbers are in the board's frame."""
        table = self._symmetries.actions_of(position.states, self._number)[0]
        image = int(np.flatnonzero(table == action)[0])
        turn = self.game.canonical_turn
        return image if turn is None else int(turn.actions[image])


class _Follower:
    """Replays one game to know in which position each action was played."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self.images: deque[int] = deque()  # images of the opponent's last turn, still to be played
        self._known = 0  # how many of the game's actions were followed
        self._ours: bool = True  # whether the last action was our own, or there was none

    def follow(self, game: GameInPlay, image: Any) -> None:
        """Catch up with the game's actions."""
        for action in game.actions[self._known :]:
            is_ours = self.position.mover == game.seat
            if not is_ours:
                if self._ours:  # a new turn of the opponent
                    self.images.clear()
                self.images.append(image(self.position, action))
            self._ours = is_ours
            self._known += 1
            self.position.play(action)


def mirror(study: Study) -> dict[str, Any]:
    """How often images are legal and what mirror play scores, for each seat.

    Symmetries whose images are seldom legal in both seats are left out, see `_OFTEN`.
    """
    symmetries = study.game.symmetries()
    numbers = range(len(symmetries))
    found = [_try(study, symmetries, number, RandomSpec(), 70) for number in numbers]
    legal = {
        number: max(seat["legal"]["value"] for seat in row) for number, row in enumerate(found)
    }
    often = [number for number in numbers if legal[number] >= _OFTEN]
    best = sorted(often, key=lambda number: -legal[number])[:_AGAINST_SEARCH]
    search = study.searches[0]
    for number in best:
        found[number] += _try(study, symmetries, number, search, 71)
    return {
        "symmetries": len(symmetries),
        "legal_at_least": _OFTEN,
        "played": [
            {"symmetry": name_of(study.game, symmetries, number), "number": number} | row
            for number in sorted(often, key=lambda number: -legal[number])
            for row in found[number]
        ],
    }


def _try(
    study: Study, symmetries: Symmetries, number: int, opponent: AgentSpec, place: int
) -> list[dict[str, Any]]:
    """Results of mirror play by one symmetry against an opponent; ``place``: see `Study.seed`."""
    player = MirrorAgent(study.game, symmetries, number)
    other = opponent.make(study.game, 1)
    title = f"mirror {number} against {opponent.label}"
    games, seed = max(4, study.games // 4 * 2), study.seed(place, number)
    played = study.match(title, player, other, games, seed, 0)
    return [
        {
            "seat": seat,
            "against": opponent.label,
            "score": result.score.to_dict(),
            "legal": {
                "value": float(player.legal[seat] / max(1, player.tried[seat])),
                "moves": int(player.tried[seat]),
                "games": result.games,
            },
        }
        for seat, result in enumerate((played.result_as(0), played.result_as(1)))
    ]


def name_of(game: Game, symmetries: Symmetries, number: int) -> str:
    """A symmetry in words, if there are simple ones."""
    turned = " with the sides exchanged" if game.canonical_turn is not None else ""
    if number == 0:
        return "the same move" + turned
    if len(game.observation_shape) == 3:
        _, height, width = game.observation_shape
        plain = _plain_name(symmetries, number, height, width)
        if plain:
            return plain + turned
    return f"symmetry {number}" + turned


def _plain_name(symmetries: Symmetries, number: int, height: int, width: int) -> str:
    try:
        table = symmetries.of_cells(height * width)[number].reshape(height, width)
    except ValueError:
        table = symmetries.observation[number][: height * width].reshape(height, width)
    board = np.arange(height * width).reshape(height, width)
    images = {
        "half a turn": board[::-1, ::-1],
        "left for right": board[:, ::-1],
        "top for bottom": board[::-1],
        "a quarter turn": np.rot90(board),
        "a quarter turn the other way": np.rot90(board, 3),
        "mirrored on a diagonal": board.T,
        "mirrored on the other diagonal": np.rot90(board, 2).T,
    }
    for name, image in images.items():
        if image.shape == table.shape and (image == table).all():
            return name
    return ""
