"""The solution of Osiron against the rules of the game, by other methods than its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import comb
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ludarium.analysis import ILLEGAL, Value, ValueBounds, solution_of
from ludarium.analysis.osiron import (
    OsironSolution,
    SolvedTable,
    all_rule_sets,
    table_path,
    view_of_game,
)
from ludarium.analysis.osiron.colourings import COLOURINGS, all_colourings
from ludarium.analysis.osiron.kernels import WIN
from ludarium.analysis.osiron.retrograde import Counts
from ludarium.analysis.probing import prober_of
from ludarium.cli import main
from ludarium.envs import Game, Position, make_game
from ludarium.envs.osiron.board import HEXAGON
from ludarium.machine import cache as code_cache
from ludarium.training.agents import AlphaBetaAgent, make_agent
from ludarium.training.agents.alphabeta import WIN as SEARCH_WIN
from tests.games import after
from tests.references.osiron import CIRCLES, INDEX, SPACES, space_name

ALL = (1 << 24) - 1
NO_PAIR = 51
#: The spaces of each circle, as sets.
ROUND = [sum(1 << INDEX[space] for space in around) for around in CIRCLES.values()]
#: A start of each class: which circles are complete differs by more than symmetry.
DIAGRAMS = {
    "0-0": "DDDLDLLDDLDDDDLLLLLDLLLD",
    "0-1": "DDDLDLDDDDLDLLLLLDDDLLLL",
    "0-12": "DDDDDDDDDDDLLLLDLLLLLLLL",
    "0-14": "DDDDLDDDDDLLLLDDDLLLLLLL",
    "0-17": "DDDLLLDDDLLLLLLDDDLLLDDD",
    "0-4": "LLLLLLLDDDDDLLDDDLDDLDLD",
    "1-5": "LLLDLDLLLDDDLDDLDDDDLLDL",
    "1-56": "LLLLLLLLLDDDLDDDDDDDDDLL",
    "1-57": "LLLLLDLLLDDDLLDDDDDLLDDD",
    "1-7": "LLLDLLLLLDLLLDLDDDDDDDDD",
    "12-67": "LLLLLDLLLLLLDDDDDDLDDDDD",
}
#: The same with the colours exchanged, and so the other one to begin the rounds.
EXCHANGED = {
    f"{circles} exchanged": letters.translate(str.maketrans("LD", "DL"))
    for circles, letters in DIAGRAMS.items()
}
STARTS = {"beginner": "beginner", "alternating": "alternating"} | DIAGRAMS | EXCHANGED
#: Movement and start of the solutions that are tested: the first, and the others when there is
#: time, because each takes a table.
FEW = [("basic", "beginner")]
MANY = [
    ("advanced", "beginner"),
    *((movement, "alternating") for movement in ("basic", "advanced")),
    *((movement, start) for movement in ("basic", "advanced") for start in DIAGRAMS),
    *(("advanced", start) for start in EXCHANGED),
]
CASES = [*FEW, *(pytest.param(case, marks=pytest.mark.slow) for case in MANY)]
#: From the alternating start, with advanced movement, to a position that is won in 3, but not by
#: every action.
MOVES = "b6-b5 c6-c7 a2-b3 d2-c3 b2-b1 c4-c5"


def make_osiron(movement: str, start: str) -> Game:
    """Without what the solution leaves out."""
    setup = STARTS.get(start, start)
    return make_game("osiron", setup=setup, movement=movement, repetition=0, max_plies=10_000)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of its own for this module, but for compiled code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUDARIUM_CODE_FOLDER", str(code_cache.folder()))
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def solution(request: pytest.FixtureRequest, cache: Path) -> OsironSolution:
    return OsironSolution.of(make_osiron(*request.param))


def pairs_of(game: Game) -> np.ndarray:
    """The spaces of each pair, by what the actions are called, int[N, 2]."""
    names = [space_name(space) for space in SPACES]
    texts = [text for text in game.action_names if text not in names]
    return np.array([[names.index(name) for name in text.split("-")] for text in texts])


def mixed_pairs(game: Game, light: np.ndarray) -> np.ndarray:
    """Which pairs of each colouring have ends of different colours, bool[N, pairs]."""
    ends = pairs_of(game)
    return ((light[:, None] >> ends[:, 0]) ^ (light[:, None] >> ends[:, 1])) & 1 == 1


def goals(game: Game, player: int) -> list[int]:
    """The circles that count for a player."""
    start = int(game.start(0).state.light) ^ (ALL * player)
    return [circle for circle in ROUND if start & circle != circle]


def is_finished(game: Game, light: np.ndarray) -> np.ndarray:
    """In which colourings somebody holds a circle that counts for them, bool[N]."""
    finished = np.zeros(len(light), bool)
    for player in (0, 1):
        for circle in goals(game, player):
            finished |= (light ^ (ALL * player)) & circle == circle
    return finished


def complete(game: Game, light: np.ndarray, ply: np.ndarray, forbidden: np.ndarray) -> np.ndarray:
    """Positions to play on from: the rules write the rest, as for a start."""
    tables = game.tables.copy()
    whole = game.new_states(len(light))
    mask = np.empty(game.num_actions, np.int8)
    planes = np.empty(game.planes_shape, np.float32)
    for row, spaces in enumerate(light):
        tables["start"] = spaces
        game.kernels.start_one(
            tables, whole[row : row + 1], np.ones((1, 2), np.int64), mask, planes, False
        )
    whole["counting"] = game.start(0).state.counting
    whole["ply"], whole["mover"], whole["forbidden"] = ply, ply % 2, forbidden
    return whole


def random_states(game: Game, count: int, seed: int = 1) -> np.ndarray:
    """Unfinished positions, uniform over colourings, movers and kinds of exchange.

    Where a pair may be forbidden, one is in half of them.
    """
    random = np.random.default_rng(seed)
    light = all_colourings()
    light = random.choice(light[~is_finished(game, light)], count)
    mixed = mixed_pairs(game, light)
    ply = random.integers(0, 4, count)
    of_kind = np.ones(mixed.shape, bool)
    may_forbid = np.ones(count, bool)
    if game.options["movement"] == "advanced":
        of_kind = (np.arange(51) >= 30) == (ply >= 2)[:, None]
        may_forbid = ply % 2 == 1
    can_move = (mixed & of_kind).any(axis=1)
    forbidden = np.where(mixed & of_kind, random.random(mixed.shape), 0).argmax(axis=1)
    forbidden = np.where(may_forbid & (random.random(count) < 0.5), forbidden, NO_PAIR)
    return complete(game, light[can_move], ply[can_move], forbidden[can_move])


def some_of_each_value(solution: OsironSolution, most: int, seed: int = 1) -> np.ndarray:
    """Positions, up to ``most`` of each value that random ones have."""
    states = random_states(solution.game, 30_000, seed)
    values = solution.values(states)
    return np.concatenate([states[values == value][:most] for value in np.unique(values)])


def test_colourings_are_all_halves_of_the_board_in_order() -> None:
    colourings = all_colourings()
    assert len(colourings) == COLOURINGS == comb(24, 12)
    assert (np.bitwise_count(colourings) == 12).all()
    assert (np.diff(colourings) > 0).all()


@pytest.mark.slow
def test_all_colourings_but_six_have_two_exchanges_of_each_kind() -> None:
    """So a colouring with an action has a second best one, as the analysis takes for granted."""
    game = make_osiron("advanced", "beginner")
    fewest, without = 24, 0
    for part in np.array_split(all_colourings(), 9):
        mixed = mixed_pairs(game, part)
        bordering, pointing = mixed[:, :30].sum(axis=1), mixed[:, 30:].sum(axis=1)
        without += int((pointing == 0).sum())
        fewest = min(fewest, int(bordering.min()), int(pointing[pointing > 0].min()))
    assert (fewest, without) == (2, 6)


@pytest.mark.slow
def test_there_are_eleven_classes_of_starts() -> None:
    """Counted without the symmetries that the analysis uses: each start leads to one of the 11."""
    light = all_colourings()
    codes = [
        ((light ^ (ALL * player)) & circle == circle).astype(int)
        for player in (0, 1)
        for circle in ROUND
    ]
    complete = sum(code << place for place, code in enumerate(codes))
    found = {"basic": set(), "advanced": set()}
    for movement, rules in found.items():
        for code in np.unique(complete).tolist():
            spaces = int(light[complete == code][0])
            letters = "".join("DL"[spaces >> space & 1] for space in range(24))
            rules.add(view_of_game(make_osiron(movement, letters))[0])
    assert sorted(found["basic"]) == all_rule_sets("basic")
    assert sorted(found["advanced"]) == all_rule_sets("advanced")
    assert {rules.circles for rules in found["basic"]} == set(DIAGRAMS)
    assert len(found["advanced"]) == 18


@pytest.mark.slow
def test_starts_of_the_tests_have_the_classes_that_they_are_called_by() -> None:
    for circles, letters in DIAGRAMS.items():
        for movement in ("basic", "advanced"):
            assert view_of_game(make_osiron(movement, letters))[0].circles == circles
    assert str(view_of_game(make_osiron("basic", "beginner"))[0]) == "basic-12-67"
    assert str(view_of_game(make_osiron("advanced", "random"))[0]) == "advanced-0-0"


def test_counts_add_up_to_the_unfinished_positions(solution: OsironSolution) -> None:
    game = solution.game
    rules, _ = view_of_game(game)
    light = all_colourings()
    light = light[~is_finished(game, light)]
    parts = np.array_split(light, 9)
    pairs = np.sum([mixed_pairs(game, part).sum(axis=0) for part in parts], axis=0)
    of_kind = (int(pairs[:30].sum()), int(pairs[30:].sum()))
    for phase, counts in enumerate(SolvedTable.of(rules).counts):
        expected = [len(light), of_kind[phase // 2]][: len(counts)]
        assert [c.won + c.lost + c.drawn + c.without_exchange for c in counts] == expected


@pytest.mark.slow
@pytest.mark.parametrize("solution", [FEW[0], MANY[0], ("advanced", "alternating")], indirect=True)
def test_forward_search_finds_the_same_wins_and_losses(solution: OsironSolution) -> None:
    """Alpha-beta over the game's own rules proves exactly what ends within its horizon."""
    depth = 5
    states = np.concatenate(
        [some_of_each_value(solution, 200), random_states(solution.game, 1500, seed=2)]
    )
    _, found, _ = AlphaBetaAgent(solution.game, depth, seed=1).minimax(states)
    found = found.astype(np.int64)
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


def expected_of(child: Position, mover: int, solution: OsironSolution) -> Value:
    """What an action that leads to ``child`` is worth to the player who took it."""
    if child.is_over:
        reward = child.rewards[mover]
        return Value(reward, plies=1 if reward else None)
    value = solution.value(child)
    return Value(-value.outcome, plies=None if value.plies is None else value.plies + 1)


def test_each_value_follows_from_playing_each_action(solution: OsironSolution) -> None:
    states = [some_of_each_value(solution, 60, seed=3), random_states(solution.game, 500, seed=4)]
    for state in np.concatenate(states):
        position = Position.of_state(solution.game, state)
        actions = solution.actions(position)
        assert sorted(actions) == position.legal_actions.tolist()
        for action, value in actions.items():
            assert value == expected_of(after(position, action), position.mover, solution)
        worth = list(actions.values())
        assert worth == sorted(worth, reverse=True)
        assert solution.value(position) == worth[0]


def test_symmetric_positions_are_worth_the_same(solution: OsironSolution) -> None:
    game = solution.game
    kept = [set(goals(game, player)) for player in (0, 1)]

    def moved(spaces: np.ndarray, image: np.ndarray) -> np.ndarray:
        return ((spaces[:, None] >> np.arange(24) & 1) << image).sum(axis=1)

    images = [
        image
        for image in HEXAGON
        if all(set(moved(np.array([*circles]), image).tolist()) == circles for circles in kept)
    ]
    states = some_of_each_value(solution, 100, seed=5)
    states = states[states["forbidden"] == NO_PAIR]
    values = solution.values(states)
    for image in images:
        other = states.copy()
        other["light"] = moved(states["light"], image)
        assert (solution.values(other) == values).all()


def test_finished_games_and_illegal_actions_have_no_value(solution: OsironSolution) -> None:
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


@pytest.mark.parametrize(
    "solution",
    [FEW[0], *(pytest.param(case, marks=pytest.mark.slow) for case in MANY[:3])],
    indirect=True,
)
def test_the_named_starts_are_draws(solution: OsironSolution) -> None:
    assert solution.value(solution.game.start()) == Value(0)


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_threads(cache: Path, tmp_path: Path) -> None:
    (rules,) = (each for each in all_rule_sets("basic") if each.circles == "0-14")
    first = SolvedTable.solve(rules, threads=1).save(tmp_path / "1")
    second = SolvedTable.solve(rules, threads=3).save(tmp_path / "3")
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ValueError, match="threads are 1 or more, not 0"):
        SolvedTable.solve(rules, threads=0)


@pytest.mark.parametrize(
    "other", [("basic", "alternating"), ("advanced", "beginner")], ids="-".join
)
def test_a_table_for_other_rules_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: tuple[str, str]
) -> None:
    table = SolvedTable.of(view_of_game(make_osiron("basic", "beginner"))[0])
    game = make_osiron(*other)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    table.save(table_path(view_of_game(game)[0]))
    with pytest.raises(ValueError, match=r"is for something else: rules .basic-12-67"):
        OsironSolution.of(game)


def placed(game: Game, letters: str) -> Position:
    """A position of an empty start in which the pieces are placed like that."""
    position = game.start()
    light, dark = ([space for space in range(24) if letters[space] == side] for side in "LD")
    for spaces in zip(light, dark, strict=True):
        for space in spaces:
            position.play(game.num_actions - 24 + space)
    return position


@pytest.mark.slow
@pytest.mark.parametrize(
    ("movement", "start"),
    [
        ("basic", "beginner"),
        ("advanced", "0-12"),
        *(
            pytest.param("advanced", start, marks=pytest.mark.slow)
            for start in ("beginner", *DIAGRAMS)
            if start != "0-12"
        ),
    ],
)
def test_an_empty_start_is_worth_what_is_placed(cache: Path, movement: str, start: str) -> None:
    """With the colours exchanged: who has placed last exchanges first."""
    letters = "L" * 12 + "D" * 12 if start == "beginner" else DIAGRAMS[start]
    exchanged = letters.translate(str.maketrans("LD", "DL"))
    empty = make_osiron(movement, "empty")
    one, other = OsironSolution.of(empty), OsironSolution.of(make_osiron(movement, exchanged))
    lots = np.random.default_rng(1)
    for _ in range(20):
        position, twin = placed(empty, letters), other.game.start()
        for _ in range(20):
            if position.is_over:
                break
            assert one.actions(position) == other.actions(twin)
            action = int(lots.choice(position.legal_actions))
            position.play(action)
            twin.play(action)
        assert position.is_over == twin.is_over


@pytest.mark.slow
def test_while_pieces_are_placed_there_is_no_table(cache: Path) -> None:
    game = make_osiron("basic", "empty")
    solution = OsironSolution.of(game)
    start = game.start()
    assert solution.knows(start.states).tolist() == [False]
    with pytest.raises(ValueError, match="no exact value is known before all pieces are placed"):
        solution.value(start)
    with pytest.raises(ValueError, match="not solved from the start on; take endgame:AGENT"):
        make_agent("perfect", game)
    prober = prober_of(game, 1 << 20)
    assert prober.at(start).searches
    answers = prober.actions(start, limit=100)
    assert len(answers) == 24
    assert not any(answer.is_decided for answer in answers.values())
    full = placed(game, "L" * 12 + "D" * 12)
    assert not prober.at(full).searches
    assert all(answer.is_decided for answer in prober.actions(full).values())
    agent = make_agent("endgame:random?positions=10", game, seed=1)
    assert agent.choose(start) in start.legal_actions
    assert solution.best_actions(full.states)[0, agent.choose(full)]


# The agent.


def test_perfect_play_ends_when_it_was_said_to(solution: OsironSolution) -> None:
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
    assert {1, 2, 3, 4, 5} <= lengths


def test_the_seed_decides_among_the_best_actions(cache: Path) -> None:
    game = make_osiron("basic", "beginner")
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


def test_hard_perfect_play_leaves_the_fewest_replies_that_keep_the_value(cache: Path) -> None:
    game = make_osiron("basic", "beginner")
    solution = OsironSolution.of(game)
    agent = make_agent("perfect?hard=true", game, seed=1)
    assert agent.name == "perfect?hard=true"
    states = random_states(game, 100)
    chosen = agent.actions(states)
    harder = 0
    for state, action, best in zip(states, chosen, solution.best_actions(states), strict=True):
        left = {}
        for other in np.flatnonzero(best).tolist():
            child = Position.of_state(game, state)
            child.play(other)
            values = [] if child.is_over else list(solution.actions(child).values())
            left[other] = sum(value.outcome == values[0].outcome for value in values)
        assert left[int(action)] == min(left.values())
        harder += min(left.values()) < max(left.values())
    assert harder > 10
    states["outcome"] = 3
    assert (agent.actions(states) == -1).all()


def test_the_perfect_agent_needs_a_solved_game(cache: Path) -> None:
    with pytest.raises(ValueError, match=r"onyx is not solved; games that are: .*osiron"):
        make_agent("perfect", make_game("onyx"))
    with pytest.raises(ValueError, match="'perfect:3': it takes no number"):
        make_agent("perfect:3", make_game("osiron"))
    with pytest.raises(ValueError, match="no table of values, which hard=true needs"):
        make_agent("perfect?hard=true", make_game("corso", size=3))


def test_a_damaged_table_in_the_cache_is_not_played_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = table_path("basic-12-67")
    path.parent.mkdir()
    path.write_bytes(b"something else entirely" * 50)
    with pytest.raises(ValueError, match="is not a readable safetensors file"):
        make_agent("perfect", make_osiron("basic", "beginner"))


def test_without_a_writable_cache_the_solution_is_kept_in_memory(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    game = make_osiron("basic", "beginner")
    rules, _ = view_of_game(game)
    table = SolvedTable.of(rules)
    (tmp_path / "file").write_text("where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(SolvedTable, "solve", lambda rules: table)
    assert SolvedTable.of(rules) is table
    assert solution_of(game).best_actions(game.start().states).any()
    assert "could not be kept" in capsys.readouterr().err

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert SolvedTable.of(rules) is table
    assert "could not be kept: Could not determine home" in capsys.readouterr().err


# The command line.


@pytest.mark.slow
def test_solve_and_probe(cache: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["osiron", "--option", "setup=alternating", "--option", "movement=advanced"]
    assert main(["solve", *arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rules"] == "advanced-0-0"
    phases = [(phase["mover"], phase["exchange"]) for phase in result["phases"]]
    assert phases == [
        *(("player_0", "bordering"), ("player_1", "bordering")),
        *(("player_0", "pointing"), ("player_1", "pointing")),
    ]
    third = result["phases"][2]
    assert third["forbidden"] is None
    free = third["free"]
    found = [free[name] for name in ("won", "lost", "drawn", "without_exchange", "longest_win")]
    assert found == [464160, 2058, 1996222, 6, 25]
    assert sum(free["wins"].values()) == free["won"]
    assert result["start"] == ValueBounds.exact(Value(0)).as_json()
    table = table_path("advanced-0-0")
    assert result["table"] == str(table)
    assert result["bytes"] == table.stat().st_size < 44e6

    probe = ["probe", *arguments, "--moves", MOVES]
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
    assert f"\n{result['actions'][0]['text']}  win in 3" in out


def test_solve_prints_a_table_for_people(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = [(Counts({3: 5}, {2: 4}, 7, 6),), (Counts({5: 50}, {4: 40}, 70, 60),)]
    (tmp_path / "a").write_bytes(bytes(3_400_000))
    table = SimpleNamespace(counts=counts, totals=counts[0] * 2, save=lambda _: tmp_path / "a")
    rules, _ = view_of_game(make_osiron(*FEW[0]))
    seen = rules, [SimpleNamespace(exchanged=1)]  # the table's first player is player_1
    SolvedTable.of(rules)
    monkeypatch.setattr("ludarium.cli.solve_osiron.view_of_game", lambda _: seen)
    monkeypatch.setattr(SolvedTable, "solve", lambda *_: table)
    assert main(["solve", "osiron"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["player_1", "bordering", "none", "5", "4", "13", "3", "plies"] in rows
    assert ["player_0", "bordering", "none", "50", "40", "130", "5", "plies"] in rows
    assert rows[-1][-2:] == ["(3.4", "MB)"]


def test_solve_says_what_has_no_table(capsys: pytest.CaptureFixture) -> None:
    assert main(["solve", "osiron", "--option", "setup=empty"]) == 2
    assert "the placing decides which circles do not count" in capsys.readouterr().err


def test_probe_says_what_is_wrong(cache: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["probe", "osiron", "--moves", "b1-c1 b1-c1"]) == 2
    assert "'b1-c1' is not legal now: it would undo" in capsys.readouterr().err
