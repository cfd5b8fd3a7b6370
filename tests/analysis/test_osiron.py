"""The solution of Osiron against the rules of the game, by other methods than its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import comb
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis import ILLEGAL, Answer, Solution, Value, solution_of
from ludarium.analysis.osiron import OsironSolution, Totals, table_path
from ludarium.analysis.osiron.colourings import all_colourings
from ludarium.analysis.osiron.kernels import COLOURINGS, WIN
from ludarium.cli import main
from ludarium.envs import Game, Position, make_game
from ludarium.envs.osiron.board import HEXAGON
from ludarium.training.agents import AlphaBetaAgent, make_agent
from ludarium.training.agents.alphabeta import WIN as SEARCH_WIN
from tests.references.osiron import CIRCLES, INDEX, PAIRS, ReferenceOsiron

ALL = (1 << 24) - 1
NO_PAIR = 30
ENDS = np.array([[INDEX[space] for space in pair] for pair in PAIRS])
SETUPS = ["beginner", "alternating"]
#: The same as parameters: the second setup takes another solution.
BOTH = ["beginner", pytest.param("alternating", marks=pytest.mark.slow)]
#: From the alternating start to a position that is won in 3, but not by every action.
MOVES = (
    "d3-c4 c2-d1 c7-b7 a1-a2 c5-b5 b3-b4 d5-c6 b1-b2 b5-b4 b2-b3 b7-c7 b5-b6 c7-b7 a3-a4 b5-b6 "
    "d1-c2 b6-b5 c7-c6"
)

# The same numbers came out of another program: all 31 values of each colouring and player kept
# one by one, by value iteration in numpy, with the geometry of tests/references/osiron.py.
TOTALS = {
    "beginner": Totals(501662, 10306, 4545460, 7710306, 154898, 77527584, 17, 11),
    "alternating": Totals(667800, 16752, 4240340, 10309092, 251580, 73061756, 17, 11),
}


def make_osiron(setup: str) -> Game:
    """Without what the solution leaves out."""
    return make_game("osiron", setup=setup, repetition=0, max_plies=10_000)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of its own for this module."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module", params=BOTH)
def solution(request: pytest.FixtureRequest, cache: Path) -> Solution:
    return solution_of(make_osiron(request.param))


def mixed_pairs(light: np.ndarray) -> np.ndarray:
    """Which pairs of each colouring have ends of different colours, bool[N, 30]."""
    return ((light[:, None] >> ENDS[:, 0]) ^ (light[:, None] >> ENDS[:, 1])) & 1 == 1


def excluded_circles(game: Game, player: int) -> list[set[int]]:
    """The spaces of each circle that does not count for a player."""
    rules = "beginner" if game.options["setup"] == "beginner" else "alternating"
    centres = ReferenceOsiron(rules).excluded[player]
    return [{INDEX[space] for space in CIRCLES[centre]} for centre in sorted(centres)]


def is_finished(game: Game, light: np.ndarray) -> np.ndarray:
    """In which colourings somebody holds a circle that counts for them, bool[N]."""
    finished = np.zeros(len(light), bool)
    for player in (0, 1):
        own = light ^ (ALL * player)
        for around in CIRCLES.values():
            spaces = {INDEX[space] for space in around}
            if spaces not in excluded_circles(game, player):
                circle = sum(1 << space for space in spaces)
                finished |= own & circle == circle
    return finished


def states_of(
    game: Game, light: np.ndarray, mover: np.ndarray, forbidden: np.ndarray
) -> np.ndarray:
    """Positions of which only what the solution reads is filled in."""
    states = game.new_states(len(light))
    states["light"] = light
    states["mover"] = mover
    states["forbidden"] = forbidden
    return states


def complete(game: Game, states: np.ndarray) -> np.ndarray:
    """The same positions to play on from: the rules write the rest, as for a start."""
    tables = game.tables.copy()
    tables["is_random"] = 0
    whole = game.new_states(len(states))
    mask, planes = np.empty(30, np.int8), np.empty(game.planes_shape, np.float32)
    for row, state in enumerate(states):
        tables["start"] = state["light"]
        game.kernels.start_one(
            tables, whole[row : row + 1], np.ones((1, 2), np.int64), mask, planes
        )
    whole["mover"] = states["mover"]
    whole["forbidden"] = states["forbidden"]
    return whole


def random_states(game: Game, count: int, seed: int = 1) -> np.ndarray:
    """Unfinished positions, uniform over colourings and movers; half have a forbidden pair."""
    random = np.random.default_rng(seed)
    light = all_colourings()
    light = random.choice(light[~is_finished(game, light)], count)
    forbidden = np.where(mixed_pairs(light), random.random((count, 30)), 0).argmax(axis=1)
    forbidden = np.where(random.random(count) < 0.5, forbidden, NO_PAIR)
    return states_of(game, light, random.integers(0, 2, count), forbidden)


def some_of_each_value(solution: Solution, most: int, seed: int = 1) -> np.ndarray:
    """Positions, up to ``most`` of each value that random ones have."""
    states = random_states(solution.game, 300_000, seed)
    values = solution.values(states)
    chosen = np.concatenate([states[values == value][:most] for value in np.unique(values)])
    return complete(solution.game, chosen)


def test_colourings_are_all_halves_of_the_board_in_order() -> None:
    colourings = all_colourings()
    assert len(colourings) == COLOURINGS == comb(24, 12)
    assert (np.bitwise_count(colourings) == 12).all()
    assert (np.diff(colourings) > 0).all()
    # So each colouring has a second best action, as the analysis takes for granted.
    assert min(mixed_pairs(part).sum(axis=1).min() for part in np.array_split(colourings, 9)) >= 2


def test_totals(solution: Solution) -> None:
    assert isinstance(solution, OsironSolution)
    assert solution.totals == TOTALS[solution.game.options["setup"]]


def test_totals_add_up_to_the_unfinished_positions(solution: Solution) -> None:
    assert isinstance(solution, OsironSolution)
    light = all_colourings()
    light = light[~is_finished(solution.game, light)]
    pairs = sum(int(mixed_pairs(part).sum()) for part in np.array_split(light, 9))
    totals = solution.totals
    assert totals.won + totals.lost + totals.drawn == 2 * len(light)
    assert totals.won_all + totals.lost_all + totals.drawn_all == 2 * (len(light) + pairs)


@pytest.mark.slow
def test_forward_search_finds_the_same_wins_and_losses(solution: Solution) -> None:
    """Alpha-beta over the game's own rules proves exactly what ends within its horizon."""
    depth = 5
    states = np.concatenate(
        [
            some_of_each_value(solution, 200),
            complete(solution.game, random_states(solution.game, 1500, seed=2)),
        ]
    )
    found = AlphaBetaAgent(solution.game, depth, seed=1).search(states).values.astype(np.int64)
    found *= 1 - 2 * states["mover"].astype(np.int64)
    is_proven = abs(found) > SEARCH_WIN - 100
    plies = np.where(is_proven, SEARCH_WIN - abs(found), 0)
    values = solution.values(states).astype(np.int64)
    distance = np.where(values, WIN - abs(values), 0)
    assert (is_proven == ((values != 0) & (distance <= depth))).all()
    assert (np.sign(found[is_proven]) == np.sign(values[is_proven])).all()
    assert (plies[is_proven] == distance[is_proven]).all()
    assert {1, 2, 3, 4, 5} <= set(plies[is_proven].tolist())
    assert (~is_proven).sum() > 1000


def expected_of(child: Position, mover: int, solution: Solution) -> Value:
    """What an action that leads to ``child`` is worth to the player who took it."""
    if child.is_over:
        return Value(child.rewards[mover], plies=1)
    value = solution.value(child)
    return Value(-value.outcome, plies=None if value.plies is None else value.plies + 1)


def test_each_value_follows_from_playing_each_action(solution: Solution) -> None:
    for state in some_of_each_value(solution, 60, seed=3):
        position = Position.of_state(solution.game, state)
        actions = solution.actions(position)
        assert sorted(actions) == position.legal_actions.tolist()
        for action, value in actions.items():
            child = position.copy()
            child.play(action)
            assert value == expected_of(child, position.mover, solution)
        worth = list(actions.values())
        assert worth == sorted(worth, reverse=True)
        assert solution.value(position) == worth[0]


def test_symmetric_positions_are_worth_the_same(solution: Solution) -> None:
    game = solution.game
    kept = [set().union(*excluded_circles(game, player)) for player in (0, 1)]
    images = [
        image
        for image in HEXAGON
        if all({int(image[space]) for space in spaces} == spaces for spaces in kept)
    ]
    assert len(images) == (2 if game.options["setup"] == "beginner" else 12)
    states = some_of_each_value(solution, 100, seed=4)
    states["forbidden"] = NO_PAIR
    light, mover = states["light"], states["mover"]
    values = solution.values(states)
    spaces = light[:, None] >> np.arange(24) & 1
    for image in images:
        moved = (spaces << image).sum(axis=1)
        assert (solution.values(states_of(game, moved, mover, states["forbidden"])) == values).all()
    # The colours exchanged; for the beginner rules the board is turned by half then.
    turned = (spaces[:, ::-1] << np.arange(24)).sum(axis=1) ^ ALL
    other = states_of(game, turned, 1 - mover, states["forbidden"])
    assert (solution.values(other) == values).all()


def test_finished_games_and_illegal_actions_have_no_value(solution: Solution) -> None:
    states = some_of_each_value(solution, 5)
    values = solution.action_values(states)
    for state, row in zip(states, values, strict=True):
        mask = Position.of_state(solution.game, state).mask
        assert ((row != ILLEGAL) == mask).all()
    states["outcome"] = 1
    assert (solution.values(states) == ILLEGAL).all()
    assert (solution.action_values(states) == ILLEGAL).all()
    with pytest.raises(ValueError, match="the game is over"):
        solution.value(Position.of_state(solution.game, states[0]))


def test_the_start_is_a_draw(solution: Solution) -> None:
    assert solution.value(solution.game.start()) == Value(0)


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_threads(cache: Path, tmp_path: Path) -> None:
    game = make_osiron("beginner")
    first = OsironSolution.solve(game, threads=1).save(tmp_path / "1")
    second = OsironSolution.solve(game, threads=3).save(tmp_path / "3")
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ValueError, match="threads are 1 or more, not 0"):
        OsironSolution.solve(game, threads=0)


def test_a_table_answers_as_the_solution_that_wrote_it(solution: Solution, tmp_path: Path) -> None:
    assert isinstance(solution, OsironSolution)
    loaded = OsironSolution.load(solution.save(tmp_path / "x"), solution.game)
    states = random_states(solution.game, 1000)
    assert (loaded.action_values(states) == solution.action_values(states)).all()
    assert loaded.totals == solution.totals


def test_a_table_for_other_rules_is_refused(solution: Solution, tmp_path: Path) -> None:
    assert isinstance(solution, OsironSolution)
    path = solution.save(tmp_path / "some.table")
    (other,) = (setup for setup in SETUPS if setup != solution.game.options["setup"])
    with pytest.raises(ValueError, match=rf"some\.table is for something else: rules .*{other}"):
        OsironSolution.load(path, make_osiron(other))


@pytest.mark.slow
def test_a_random_setup_has_the_rules_of_the_alternating_one(cache: Path) -> None:
    game = make_osiron("random")
    random, alternating = solution_of(game), solution_of(make_osiron("alternating"))
    states = random_states(game, 1000)
    assert (random.values(states) == alternating.values(states)).all()


# The agent.


def test_perfect_play_ends_when_it_was_said_to(solution: Solution) -> None:
    states = some_of_each_value(solution, 4, seed=6)
    agent = make_agent("perfect", solution.game, seed=1)
    lengths = set()
    for state in states:
        position = Position.of_state(solution.game, state)
        value, mover = solution.value(position), position.mover
        if value.plies is not None:
            for _ in range(value.plies):
                assert not position.is_over
                position.play(agent.choose(position))
            assert position.rewards[mover] == value.outcome
            lengths.add(value.plies)
    assert {1, 2, 3, 4, 5, 6, 7} <= lengths


@pytest.mark.parametrize("setup", BOTH)
def test_the_perfect_agent_does_not_lose_from_the_start(cache: Path, setup: str) -> None:
    game = make_osiron(setup)
    perfect, other = make_agent("perfect", game, seed=1), make_agent("alphabeta:3", game, seed=1)
    for seat in (0, 1):
        for _ in range(3):
            position = game.start()
            while not position.is_over and position.ply < 100:
                agent = perfect if position.mover == seat else other
                position.play(agent.choose(position))
            assert position.rewards[seat] >= 0


def test_the_seed_decides_among_the_best_actions(cache: Path) -> None:
    game = make_osiron("beginner")
    states = random_states(game, 300)
    states["outcome"][7] = 3
    agent = make_agent("perfect", game, seed=5)
    together = agent.actions(states)
    assert together[7] == -1
    agent.restart(5)
    one_by_one = [int(agent.actions(states[row : row + 1])[0]) for row in range(len(states))]
    assert one_by_one == together.tolist()
    agent.restart(6)
    assert agent.actions(states).tolist() != together.tolist()


def test_the_perfect_agent_needs_a_solved_game(cache: Path) -> None:
    with pytest.raises(ValueError, match=r"onyx is not solved; games that are: .*osiron"):
        make_agent("perfect", make_game("onyx"))
    with pytest.raises(ValueError, match="perfect takes no number"):
        make_agent("perfect:3", make_game("osiron"))


def test_a_damaged_table_in_the_cache_is_not_played_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = table_path("beginner")
    path.parent.mkdir()
    path.write_bytes(b"something else entirely" * 50)
    with pytest.raises(ValueError, match="is no table of a solved game"):
        make_agent("perfect", make_osiron("beginner"))


def test_without_a_writable_cache_the_solution_is_kept_in_memory(
    solution: Solution,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
) -> None:
    (tmp_path / "file").write_text("where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(OsironSolution, "solve", lambda game: solution)
    assert solution_of(solution.game) is solution
    assert "could not be kept" in capsys.readouterr().err


# The command line.


def test_solve_and_probe(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table = tmp_path / "x.table"
    arguments = ["osiron", "--option", "setup=alternating"]
    assert main(["solve", *arguments, "--output", str(table), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    totals = TOTALS["alternating"]
    assert [result[name] for name in ("won", "lost", "drawn")] == [
        totals.won,
        totals.lost,
        totals.drawn,
    ]
    assert [result[name] for name in ("won_all", "lost_all", "drawn_all")] == [
        totals.won_all,
        totals.lost_all,
        totals.drawn_all,
    ]
    assert result["longest_win"] == totals.longest_win
    assert result["start"] == Answer.exact(Value(0)).as_json()
    assert result["bytes"] == table.stat().st_size < 11e6

    probe = ["probe", *arguments, "--table", str(table), "--moves", MOVES]
    assert main([*probe, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["value"], result["mover"]) == ("win", "player_0")
    assert result["low"] == result["high"] == {"outcome": 1, "plies": 3}
    assert result["actions"][0]["low"] == {"outcome": 1, "plies": 3}
    assert result["actions"][-1]["low"] == {"outcome": -1, "plies": 2}
    assert "table of all positions" in result["source"]
    assert main(probe) == 0
    out = capsys.readouterr().out
    assert "for player_0, to move: win in 3" in out
    assert f"  {result['actions'][0]['text']}  win in 3" in out


@pytest.mark.slow
def test_solve_prints_a_table_for_people(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["solve", "osiron", "--output", str(tmp_path / "x")]) == 0
    out = capsys.readouterr().out
    assert "501,662" in out
    assert "77,527,584" in out
    assert "value of the start for player_0: draw" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--moves", "a1-b1"], "'a1-b1' is malformed"),
        (["--moves", "b1-c1 b1-c1"], "'b1-c1' is not legal now: it would undo"),
        (
            ["--moves", "b1-c1", "--table", "nowhere"],
            "there is no file 'nowhere' to read a table of a solved game from",
        ),
        (["--table", __file__], "test_osiron.py' is no table of a solved game"),
    ],
)
def test_probe_says_what_is_wrong(
    cache: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["probe", "osiron", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_command_line_names_the_games_that_are_solved(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        main(["solve", "chess"])
    assert "invalid choice: 'chess' (choose from" in capsys.readouterr().err
