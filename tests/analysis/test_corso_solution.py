"""Perfect play of Corso, against minimax and other searches."""

from __future__ import annotations

import numpy as np
import pytest

from ludarium.analysis.corso import CorsoSolution, CorsoSolver, shipped_known
from ludarium.analysis.corso import solution as solutions
from ludarium.analysis.corso.solution import LEAD_LIMIT
from ludarium.envs import make_game
from ludarium.training.agents import make_agent
from tests.analysis.corso_positions import minimax, position_of, random_position
from tests.games import after, children, states_of

MEMORY = 1 << 25


def test_a_limit_ends_a_search_and_spoils_nothing() -> None:
    game = make_game("corso", size=5)
    solver = CorsoSolver(game, MEMORY)
    position = random_position(game, 8, range(15, 17))
    exact = CorsoSolver(game, MEMORY).answer(position)
    assert exact.lead is not None
    assert exact.nodes > 2000
    for limit in range(1, exact.nodes, exact.nodes // 50):
        answer = solver.answer(position, limit=limit)
        assert answer.nodes <= limit
        assert answer.low <= exact.low <= answer.high
        known = solver.recall(position)
        assert known.low <= exact.lead <= known.high
    assert solver.answer(position).lead == exact.lead


@pytest.mark.parametrize("first", ["", "a1", "b1", "b2"])
def test_perfect_play_leads_by_what_it_can_against_all_replies(first: str) -> None:
    """From the start in the seat that begins, and after each first action in the other seat."""
    game = make_game("corso", size=3)
    solution = CorsoSolution(game, MEMORY)
    layer = [after(game.start(), *filter(None, [first]))]
    seat, lead = layer[0].mover, minimax(layer[0], {})
    ends = 0
    while layer:
        best = solution.best_actions(states_of(layer))
        chosen = [
            after(position, action)
            for position, actions in zip(layer, best, strict=True)
            for action in np.flatnonzero(actions)
        ]
        replies = [
            reply
            for child in chosen
            for reply in ([child] if child.is_over else children(child).values())
        ]
        finished = [reply for reply in replies if reply.is_over]
        assert all(end.score * (1 - 2 * seat) >= lead for end in finished)
        ends += len(finished)
        alike = {(reply.state.cells.tobytes(), reply.mover): reply for reply in replies}
        layer = [reply for reply in alike.values() if not reply.is_over]
    assert ends > 10


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_perfect_play_of_whole_games_keeps_a_win(seat: int) -> None:
    """The first player has one from the start; the other one after a mistake of random play."""
    game = make_game("corso", size=5)
    solution = CorsoSolution(game)
    judge = CorsoSolver(game, seed=5, eager=3)
    judge.learn(shipped_known(game))
    lots = np.random.default_rng(5)
    for _ in range(3):
        position, is_won = game.start(), seat == 0
        while not position.is_over:
            if position.mover != seat:
                position.play(int(lots.choice(position.legal_actions)))
                continue
            found = judge.outcome(position).outcome
            assert not is_won or found == 1
            is_won = found == 1
            (best,) = solution.best_actions(position.states)
            position.play(int(lots.choice(np.flatnonzero(best))))
        assert is_won
        assert position.rewards[seat] == 1


@pytest.mark.parametrize("size", [2, 3])
def test_perfect_play_of_every_position_of_small_boards(size: int) -> None:
    game = make_game("corso", size=size)
    known: dict[tuple[bytes, int], int] = {}
    minimax(game.start(), known)
    positions = [position_of(game, cells, mover) for cells, mover in list(known)[:2000]]
    solution = CorsoSolution(game, MEMORY)
    states = states_of(positions)
    best = solution.best_actions(states)
    for position, chosen in zip(positions, best, strict=True):
        actions = np.flatnonzero(chosen)
        assert len(actions) > 0
        for action in actions:
            assert -minimax(after(position, action), known) == minimax(position, known)


@pytest.mark.parametrize("lead_limit", [LEAD_LIMIT, 1])
@pytest.mark.parametrize("size", [4, 5])
def test_perfect_play_keeps_the_value(
    size: int, lead_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solutions, "LEAD_LIMIT", lead_limit)
    game = make_game("corso", size=size)
    solution = CorsoSolution(game, MEMORY)
    judge = CorsoSolver(game, MEMORY, seed=3)
    outcomes = set()
    for seed in range(25):
        position = random_position(game, seed, range(5, 12))
        outcome = judge.outcome(position).outcome
        outcomes.add(outcome)
        (best,) = solution.best_actions(position.states)
        for action in np.flatnonzero(best):
            assert judge.outcome(after(position, action)).reversed().outcome == outcome
    assert outcomes == ({-1, 1} if size == 5 else {-1, 0, 1})


def test_play_goes_on_where_the_search_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solutions, "OUTCOME_LIMIT", 1000)
    monkeypatch.setattr(solutions, "shipped_known", lambda game: np.zeros((0, 2), np.int64))
    game = make_game("corso", size=5)
    solution = CorsoSolution(game, MEMORY)
    position = after(game.start(), "c3", "b2", "d4")
    assert solution.solver.outcome(position, 1000).outcome is None
    (best,) = solution.best_actions(position.states)
    assert best.any()
    assert not (best & ~position.mask.astype(bool)).any()


def test_a_finished_game_has_no_best_action() -> None:
    game = make_game("corso", size=2)
    position = game.start()
    while not position.is_over:
        position.play(int(position.legal_actions[0]))
    found = make_agent("perfect", game).search(position.states)
    assert found.actions.tolist() == [-1]
    assert not found.policies.any()
