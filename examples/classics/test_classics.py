"""Tests of the games: ``python -m pytest`` in this folder; ``-m slow`` are the long ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from classics import ConnectFour, Hex, Othello
from classics.connect_four.solver import ConnectFourSolver

from ludarium.envs import Game, Position, check_game, make, register_game
from ludarium.training.evaluation import play_match

GAMES: dict[str, Game] = {
    "connect_four": ConnectFour(),
    "connect_four(rows=7,columns=5)": ConnectFour(width=5, height=7),
    "hex(board_size=11)": Hex(),
    "hex(board_size=4,swap=True)": Hex(size=4, swap_rule=True),
    "othello": Othello(),
}
SMALL_OTHELLO = Othello(size=6)
#: Each game, and as slow tests other options: each set of options is compiled anew.
FIRST = [GAMES["connect_four"], GAMES["hex(board_size=4,swap=True)"], SMALL_OTHELLO]
OTHERS = [game for game in GAMES.values() if game not in FIRST]
ALL = [*FIRST, *(pytest.param(game, marks=pytest.mark.slow) for game in OTHERS)]


class Reference:
    """Othello once more, slow and obvious: a board of characters, and every line walked."""

    def __init__(self, size: int) -> None:
        self.size, self.mover, self.passes = size, "X", 0
        self.board = {(x, y): "." for x in range(size) for y in range(size)}
        low, high = size // 2 - 1, size // 2
        self.board |= {(low, low): "O", (high, high): "O", (low, high): "X", (high, low): "X"}

    def turned(self, x: int, y: int, mover: str) -> list[tuple[int, int]]:
        """The discs that a new one turns."""
        found = []
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                line, place = [], (x + dx, y + dy)
                while self.board.get(place, ".") not in (".", mover):
                    line.append(place)
                    place = place[0] + dx, place[1] + dy
                if self.board.get(place) == mover:
                    found += line
        return found

    def cells(self, mover: str) -> list[tuple[int, int]]:
        """Where a player can put a disc."""
        return [at for at in self.board if self.board[at] == "." and self.turned(*at, mover)]

    def legal_actions(self) -> list[int]:
        """Numbers of the legal actions; none if the game is over."""
        if not self.cells("X") and not self.cells("O"):
            return []
        cells = sorted(y * self.size + x for x, y in self.cells(self.mover))
        return cells or [self.size**2]

    def apply_action(self, action: int) -> None:
        """Play."""
        if action < self.size**2:
            x, y = action % self.size, action // self.size
            for place in [(x, y), *self.turned(x, y, self.mover)]:
                self.board[place] = self.mover
        self.mover = "O" if self.mover == "X" else "X"

    def is_terminal(self) -> bool:
        """Whether neither player can move."""
        return not self.legal_actions()

    def returns(self) -> list[int]:
        """1 for the winner and -1 for the loser, or 0 for both."""
        discs = list(self.board.values())
        lead = discs.count("X") - discs.count("O")
        return [int(np.sign(lead)), -int(np.sign(lead))]


def play_side_by_side(game: Game, start: Callable[[], Any], games: int) -> None:
    """Compare legal actions and results with those of another implementation, at every ply."""
    random = np.random.default_rng(1)
    for _ in range(games):
        position, other = game.start(), start()
        while not position.is_over:
            assert not other.is_terminal()
            assert position.legal_actions.tolist() == sorted(other.legal_actions())
            action = int(random.choice(position.legal_actions))
            position.play(action)
            other.apply_action(action)
        assert other.is_terminal()
        assert list(position.rewards) == list(other.returns())


def compare_with_openspiel(name: str, games: int) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel (open_spiel) is not installed")
    play_side_by_side(GAMES[name], pyspiel.load_game(name).new_initial_state, games)


@pytest.mark.parametrize("name", ["connect_four", "hex(board_size=4,swap=True)", "othello"])
def test_random_games_go_as_in_openspiel(name: str) -> None:
    compare_with_openspiel(name, 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_a_thousand_random_games_go_as_in_openspiel(name: str) -> None:
    compare_with_openspiel(name, 1000)


@pytest.mark.parametrize("games", [3, pytest.param(1000, marks=pytest.mark.slow)])
def test_small_othello_goes_as_in_the_reference(games: int) -> None:
    play_side_by_side(SMALL_OTHELLO, lambda: Reference(6), games)


@pytest.mark.parametrize("game", ALL, ids=str)
def test_the_check_finds_nothing(game: Game) -> None:
    assert check_game(game, games=2) == []


@pytest.mark.parametrize("game", ALL, ids=str)
def test_pettingzoos_own_test_passes(game: Game) -> None:
    from pettingzoo.test import api_test

    register_game(type(game))  # as if the package were not installed
    api_test(make(game.name, **game.options), num_cycles=100)


@pytest.mark.parametrize("game", ALL, ids=str)
def test_the_text_of_a_position_leads_back_to_it(game: Game) -> None:
    random, position = np.random.default_rng(2), game.start()
    while not position.is_over:
        position.play(int(random.choice(position.legal_actions)))
        read = Position.from_text(game, position.text)
        assert read.text == position.text
        assert read.rewards == position.rewards
        assert (read.mask == position.mask).all()


IMPOSSIBLE = [
    (ConnectFour(), "7/7/7/7/3X3/7 1", "hangs in the air"),
    (ConnectFour(), "7/7/7/7/7/XXX4 0", "as many stones"),
    (ConnectFour(), "7/7/7/7/OOO4/XXXX3 0", "as many stones"),
    (ConnectFour(), "7/7/7/7/OOOO3/XXXX3 0", "game was over before"),
    (Hex(size=3), "3/3/2O 0", "as many stones"),
    (Othello(), "8/8/8/8/8/8/8/8 0", "never empty"),
]


@pytest.mark.parametrize(("game", "text", "why"), IMPOSSIBLE)
def test_a_position_that_no_game_reaches_is_refused(game: Game, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Position.from_text(game, text)


def test_a_swap_turns_the_first_stone_to_the_other_players_direction() -> None:
    position = Hex(size=4, swap_rule=True).start()
    position.play_moves("b1 swap")
    assert position.text == "4/4/O3/4 0"
    assert Position.from_text(position.game, position.text).ply == 2


def test_the_last_stone_is_marked_without_the_position_before() -> None:
    position = ConnectFour().start()
    position.play_moves("d d")
    assert position.slots(3)[42:].nonzero()[0].tolist() == [10]


# Published values: J. Tromp, "John's Connect Four Playground"; width, height, the first player's.
SIZES = [(4, 4, 0), (6, 4, -1)]
MORE_SIZES = [(5, 4, 0), (4, 5, 0), (4, 6, 0), (5, 5, 0), (6, 5, 0), (7, 4, 0)]


@pytest.mark.parametrize(
    ("width", "height", "value"),
    [*SIZES, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE_SIZES)],
)
def test_the_solver_finds_the_published_values(width: int, height: int, value: int) -> None:
    game = ConnectFour(width=width, height=height)
    assert ConnectFourSolver(game).answer(game.start()).outcome == value


def test_the_solver_agrees_with_the_search_for_every_game() -> None:
    from ludarium.analysis.search import EndgameSolver

    game, random = ConnectFour(width=4, height=4), np.random.default_rng(3)
    ours, theirs = ConnectFourSolver(game), EndgameSolver(game)
    for _ in range(10):
        position = game.start()
        while not position.is_over:
            if position.ply >= 6:
                assert ours.answer(position).outcome == theirs.answer(position).outcome
            position.play(int(random.choice(position.legal_actions)))


def test_the_agent_that_comes_along_is_stronger_than_a_search_of_many_games() -> None:
    agent = f"{Path(__file__).parent / 'agents' / 'connect_four.safetensors'}:32"
    played = play_match(GAMES["connect_four"], agent, "uct:200", 20, seed=1)
    assert played.result.score.value > 0.7


def test_a_search_that_must_stop_leaves_bounds() -> None:
    game = ConnectFour()
    answer = ConnectFourSolver(game, memory=1 << 20).answer(game.start(), limit=1000)
    assert (answer.low.outcome, answer.high.outcome) == (-1, 1)
