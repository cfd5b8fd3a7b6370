"""Matches, their openings, intervals and tables."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from ludarium.base.progress import StoppedError
from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED
from ludarium.training.agents import Agent, GameInPlay, make_agent
from ludarium.training.evaluation import (
    Games,
    IntervalEstimate,
    MatchResult,
    draw_openings,
    elo_difference,
    match,
    play_match,
    table,
)
from ludarium.training.evaluation.statistics import bootstrap, mean, ratio, wilson
from tests.oddity import Oddity
from tests.progress import Told
from tests.tictactoe import TicTacToe


class Scripted(Agent):
    """Plays the legal action of a given rank among them, and keeps every batch that it saw."""

    def __init__(self, game: Game, rank: int) -> None:
        super().__init__(game, f"scripted:{rank}")
        self.rank = rank
        self.seen: list[np.ndarray] = []

    def actions(self, states: np.ndarray) -> np.ndarray:
        self.seen.append(states.copy())
        legal = [Position.of_state(self.game, state).legal_actions for state in states]
        return np.array([actions[self.rank % len(actions)] for actions in legal])


class Handles(Scripted):
    """Counts the games that it has begun and that have not been finished."""

    in_play = 0

    def begin(self, games: Sequence[GameInPlay]) -> None:
        self.in_play += len(games)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        self.in_play -= len(games)


@pytest.fixture
def corso() -> Game:
    return make_game("corso")


@pytest.fixture(params=["corso", "tictactoe"])
def game(request: pytest.FixtureRequest) -> Game:
    return TicTacToe() if request.param == "tictactoe" else make_game("corso")


def scripted_game(game: Game, first: int, second: int, first_seat: int) -> Position:
    """The end of a game from the start, played without the match code."""
    position = game.start()
    while not position.is_over:
        rank = first if position.mover == first_seat else second
        position.play(position.legal_actions[rank % len(position.legal_actions)])
    return position


# Matches.


@pytest.mark.parametrize("ranks", [(0, 1), (1, 0), (0, -1), (2, 5), (3, 3)])
def test_results_are_counted_for_the_first_agent_in_either_seat(
    game: Game, ranks: tuple[int, int]
) -> None:
    first, second = ranks
    result = play_match(
        game, Scripted(game, first), Scripted(game, second), games=4, opening_plies=0
    )
    ends = [scripted_game(game, first, second, seat) for seat in (0, 1)]
    results = []
    for seat, end in enumerate(ends):
        points = end.rewards[seat]
        results.append(MatchResult(2 * (points > 0), 2 * (points == 0), 2 * (points < 0)))
    assert [result.result_as(0), result.result_as(1)] == results
    assert result.result == results[0] + results[1]
    assert result.plies.mean() == (ends[0].ply + ends[1].ply) / 2
    assert result.distinct == (1 if first == second else 2)


def test_a_match_of_one_game_again_and_again_says_so(game: Game) -> None:
    agents = Scripted(game, 0), Scripted(game, 1)
    result = play_match(game, *agents, games=10, opening_plies=0)
    assert result.distinct == 2
    told = "only 2 of 10 games differ: both agents always give the same answers"
    assert result.to_dict()["caveat"].startswith(told)
    assert told in table([result], terminal=False)
    assert "only 2 of 10" in table([result], terminal=True)
    pair = play_match(game, *agents, games=2, opening_plies=0)
    assert pair.caveat is None


def test_every_opening_is_played_from_both_seats(corso: Game) -> None:
    first, second = Scripted(corso, 0), Scripted(corso, 1)
    play_match(corso, first, second, games=20, seed=0, opening_plies=2)
    assert len(first.seen[0]) == 10
    assert (first.seen[0] == second.seen[0]).all()
    assert (first.seen[0]["ply"] == 2).all()


def test_openings_may_be_given(corso: Game) -> None:
    openings = draw_openings(corso, 6, seed=5)
    first, second = make_agent("random", corso), make_agent("greedy", corso)
    match = play_match(corso, first, second, 4, seed=1, openings=openings[2:4])
    for number in range(4):
        opening = openings.actions[2 + number // 2]
        assert tuple(match.moves(number)[: match.opening_plies[number]]) == opening
    with pytest.raises(ValueError, match="6 openings are for 12 games, not 4"):
        play_match(corso, first, second, 4, openings=openings)


def test_each_agent_moves_for_its_own_seat_only_also_twice_in_a_row() -> None:
    game = Oddity()
    match = play_match(game, Scripted(game, 0), Scripted(game, 1), 20, seed=3, opening_plies=1)
    twice, ends = 0, []
    for number, (seed, seat) in enumerate(zip(match.seeds, match.seats, strict=True)):
        position = game.start(int(seed))
        assert match.starts()[number] == position.states[0]
        for ply, action in enumerate(match.moves(number)):
            mover, legal = position.mover, position.legal_actions
            assert ply < 1 or action == legal[int(mover != seat) % len(legal)]
            position.play(action)
            twice += not position.is_over and position.mover == mover
        ends.append(position.outcome)
    assert twice > 5
    assert match.outcomes.tolist() == ends
    assert match.truncated == ends.count(TRUNCATED)


def test_drawn_and_truncated_games_are_draws_told_apart() -> None:
    agents = make_agent("alphabeta:9", TicTacToe()), make_agent("alphabeta:9", TicTacToe())
    drawn = play_match(TicTacToe(), *agents, 2, opening_plies=0)
    assert (drawn.result, drawn.result.score.value, drawn.truncated) == (
        MatchResult(0, 2, 0),
        0.5,
        0,
    )
    game = Oddity(max_plies=2)
    cut = play_match(game, Scripted(game, -1), Scripted(game, -1), 4, seed=2, opening_plies=0)
    assert (cut.result, cut.truncated) == (MatchResult(0, 4, 0), 4)


def test_a_match_ends_where_its_progress_is_stopped(corso: Game) -> None:
    def stop(told: Told) -> None:
        told.stop()

    handles = Handles(corso, 0)
    with pytest.raises(StoppedError):
        play_match(corso, handles, "random", 60, progress=Told(stop))
    assert handles.in_play == 0


@pytest.mark.parametrize(
    ("games", "message"),
    [
        *((wrong, f"games is {wrong!r}; accepted: a whole number from 2 on") for wrong in (0, 2.0)),
        (7, "games is a positive even number .* not 7"),
        (10**15, "500000000000000 openings would take .* GiB of memory"),
    ],
)
def test_the_number_of_games_is_even_and_within_memory(
    corso: Game, games: int, message: str
) -> None:
    agent = make_agent("random", corso)
    with pytest.raises(ValueError, match=message):
        play_match(corso, agent, agent, games)


def test_agents_must_play_the_game_of_the_match(corso: Game) -> None:
    agent = make_agent("random", corso)
    stranger = make_agent("random", make_game("corso", size=4))
    with pytest.raises(ValueError, match=r"agent random plays Corso\(size=4\)"):
        play_match(corso, agent, stranger, 2)


@pytest.mark.parametrize("action", [-1, 9, 0])
def test_an_illegal_action_is_named_with_who_chose_it(action: int) -> None:
    game = TicTacToe()

    class Stubborn(Scripted):
        def actions(self, states: np.ndarray) -> np.ndarray:
            return np.full(len(states), action)

    handles = Handles(game, -1)
    with pytest.raises(ValueError, match=f"agent scripted:0 in game 1: action {action} "):
        play_match(game, handles, Stubborn(game, 0), 2, opening_plies=0)
    assert handles.in_play == 0


# Openings.


def test_openings_differ_and_are_up_to_three_plies_long(corso: Game) -> None:
    openings = draw_openings(corso, 100, seed=0).states
    assert len(np.unique(openings)) == 100
    assert set(openings["ply"]) == {0, 1, 2, 3}


def test_openings_repeat_only_where_there_are_no_more(corso: Game) -> None:
    assert len(np.unique(draw_openings(corso, 40, plies=1, seed=0).states)) == 25
    assert len(np.unique(draw_openings(corso, 5, plies=0, seed=0).states)) == 1
    assert len(np.unique(draw_openings(Oddity(), 20, plies=0, seed=0).states)) == 20  # of 27


def test_openings_follow_the_seed(corso: Game) -> None:
    openings = draw_openings(corso, 20, seed=1).states
    for number in range(30):
        np.full(corso.state_dtype.itemsize, number, np.uint8)  # leaves its bytes in free memory
        assert (draw_openings(corso, 20, seed=1).states == openings).all()
    assert (
        draw_openings(corso, 20, seed=1).states != draw_openings(corso, 20, seed=2).states
    ).any()


def test_an_opening_never_ends_the_game() -> None:
    openings = draw_openings(TicTacToe(), 50, plies=9, seed=0).states
    assert (openings["outcome"] == 0).all()
    assert openings["ply"].max() > 4


@pytest.mark.parametrize("plies", [-1, 101])
def test_openings_have_a_length_within_bounds(corso: Game, plies: int) -> None:
    with pytest.raises(ValueError, match=f"opening_plies is {plies}; accepted: .* 0 to 100"):
        draw_openings(corso, 2, plies=plies)


# Statistics.


@pytest.mark.parametrize(
    ("points", "games", "low", "high"),
    [
        (8, 10, 0.490162, 0.943318),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (50, 100, 0.403832, 0.596168),
        (1, 29, 0.006113, 0.171755),
    ],
)
def test_a_share_has_wilsons_interval(points: float, games: int, low: float, high: float) -> None:
    estimate = wilson(points, games)
    assert (estimate.value, estimate.count) == (points / games, games)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-6)


def test_a_share_needs_points_among_games() -> None:
    for points, games in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="interval needs points among games"):
            wilson(points, games)
    assert wilson(0, 0).to_dict() == {"value": None, "low": 0.0, "high": 1.0, "count": 0}


def test_intervals_cover_what_they_should() -> None:
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        estimate = mean(random.exponential(size=50))
        hits += estimate.low <= 1 <= estimate.high
    assert 0.88 <= hits / 300 <= 0.99
    even = ratio(np.array([2.0, 4.0, 8.0]), np.array([1, 2, 4]))  # long games vary no more
    assert (even.low, even.value, even.high) == (2, 2, 2)
    clustered = ratio(np.array([10.0, 0.0]), np.array([10, 10]))
    assert (clustered.value, clustered.low) == (0.5, 0)  # a rate of counts is not negative
    assert clustered.high == pytest.approx(0.5 + 1.96 * 0.5, abs=1e-3)
    resampled = bootstrap(np.arange(100.0), np.mean)
    assert resampled.value == 49.5
    assert (resampled.low, resampled.high) == pytest.approx((43.84, 55.16), abs=0.5)


def test_an_estimate_is_written_with_digits_that_tell_its_ends_apart() -> None:
    assert f"{IntervalEstimate(0.54, 0.51, 0.57, 9):.0%}" == "54 % (51 to 57)"
    assert f"{IntervalEstimate(0.0132, 0.0109, 0.0148, 9):.0%}" == "1.3 % (1.1 to 1.5)"
    assert f"{IntervalEstimate(0.5, 0.5, 0.5, 9):.0%}" == "50 % (50 to 50)"
    assert f"{IntervalEstimate(1111.3, -0.2, math.inf, 9):+,.0f}" == "+1,111 (+0 to +inf)"
    assert f"{IntervalEstimate(337.22, 337.13, 337.31, 9):,.0f}" == "337.2 (337.1 to 337.3)"


@pytest.mark.parametrize(
    ("score", "elo"),
    [(0.5, 0), (0.75, 190.8485), (0.25, -190.8485), (10 / 11, 400), (1, math.inf), (0, -math.inf)],
)
def test_elo_difference(score: float, elo: float) -> None:
    assert elo_difference(score) == pytest.approx(elo, abs=1e-4)


# Results.


def games_of(as_player_0: MatchResult, as_player_1: MatchResult) -> Games:
    """Games with these results, all different but for the last two."""
    outcomes = [
        outcome
        for result, win, loss in (
            (as_player_0, PLAYER_0_WINS, PLAYER_1_WINS),
            (as_player_1, PLAYER_1_WINS, PLAYER_0_WINS),
        )
        for outcome in [win] * result.wins + [DRAW] * result.draws + [loss] * result.losses
    ]
    count = len(outcomes)
    seats = np.repeat([0, 1], [as_player_0.games, as_player_1.games])
    actions = np.minimum(np.arange(count), count - 2)[:, None]
    return Games(
        game=make_game("corso"),
        players=("uct:[10]", "greedy"),
        seeds=np.zeros(count, np.int64),
        positions=(None,) * count,
        seats=seats,
        opening_plies=np.zeros(count, np.int64),
        actions=actions,
        seconds=np.full((count, 1), 0.5),
        plies=np.ones(count, np.int64),
        outcomes=np.array(outcomes),
    )


def test_a_result_states_score_interval_and_elo() -> None:
    result = games_of(MatchResult(40, 5, 5), MatchResult(30, 5, 15)).result
    assert result == MatchResult(70, 10, 20)
    assert result.reversed == MatchResult(20, 10, 70)
    assert result.score == wilson(75, 100)
    assert result.elo.value == pytest.approx(190.8485, abs=1e-4)
    assert result.elo.low < result.elo.value < result.elo.high


def test_a_result_is_json() -> None:
    games = games_of(MatchResult(5, 0, 0), MatchResult(5, 0, 0))
    values = json.loads(json.dumps(games.to_dict(), allow_nan=False))
    assert values["games"] == values["wins"] == 10
    assert values["as_player_1"]["wins"] == 5
    assert values["score"] == wilson(10, 10).to_dict()
    low = pytest.approx(elo_difference(0.722467), abs=0.01)
    assert values["elo"] == {"value": None, "low": low, "high": None, "count": 10}
    assert values["options"] == {"size": 5}
    assert values["seconds"] == 5


def test_a_plain_table_has_one_line_for_each_match() -> None:
    matches = [
        games_of(MatchResult(40, 5, 5), MatchResult(30, 5, 15)),
        games_of(MatchResult(1), MatchResult(1)),
    ]
    lines = table(matches, terminal=False).splitlines()
    assert lines[3:] == [
        "warning: uct:[10] against greedy: 1 of 100 games repeat another one action for action, "
        "so the interval is narrower than it should be",
        "warning: uct:[10] against greedy: 1 of 2 games repeat another one action for action, "
        "so the interval is narrower than it should be",
    ]
    assert all(line.isascii() for line in lines)
    for part in (
        "uct:[10]",
        "greedy",
        "100",
        "70-10-20",
        "0.750 (0.657 to 0.825)",
        "+191 (+113 to +269)",
        "40-5-5",
        "30-5-15",
    ):
        assert f" {part} " in f" {lines[1]} "


def test_games_share_the_time_of_each_decision(monkeypatch):
    """A clock that moves on by a second at each look."""
    looks, calls = itertools.count(), []
    monkeypatch.setattr(match, "time", SimpleNamespace(perf_counter=lambda: next(looks)))
    play = Agent.play

    def counted(agent, games, states):
        calls.append(len(games))
        return play(agent, games, states)

    monkeypatch.setattr(Agent, "play", counted)
    played = play_match(make_game("corso", size=3), "random", "greedy", games=6, seed=3)
    assert max(calls) > 1
    assert played.seconds.sum() == pytest.approx(len(calls))
