"""Values and answers: order, opposite, bounds, words, JSON."""

from __future__ import annotations

import pytest

from ludarium.analysis import Value, ValueBounds


def between(low: Value, high: Value) -> ValueBounds:
    return ValueBounds(low, high, nodes=7, seconds=0.5)


def test_values_are_ordered_by_what_the_player_to_move_prefers() -> None:
    by_lead = [Value(-1, -5), Value(-1, -1), Value(-1, 2), Value(0, 0), Value(1, -2), Value(1, 4)]
    assert sorted(set(by_lead)) == by_lead
    by_plies = [
        Value(-1, plies=2),
        Value(-1, plies=8),
        Value(0),
        Value(1, plies=9),
        Value(1, plies=1),
    ]
    assert sorted(set(by_plies)) == by_plies
    assert Value(1, 3) >= Value(1, 3)


@pytest.mark.parametrize("value", [Value(1, 3), Value(-1, -2), Value(0, 0), Value(1, plies=5)])
def test_the_opponent_sees_the_opposite(value: Value) -> None:
    assert (-value).outcome == -value.outcome
    assert (-value).plies == value.plies
    answer = between(min(value, -value), Value(1, 9))
    assert answer.reversed().low == Value(-1, -9)
    assert answer.reversed().reversed() == answer


def test_the_best_answer_takes_each_bound_from_the_action_that_has_it() -> None:
    first, second = between(Value(-1, -3), Value(1, 9)), between(Value(0, 0), Value(1, 2))
    best = ValueBounds.best([first, second])
    assert (best.low, best.high, best.nodes, best.seconds) == (Value(0, 0), Value(1, 9), 14, 1.0)
    assert list(ValueBounds.best_first({4: first, 2: second, 7: second})) == [2, 7, 4]


def test_what_is_decided() -> None:
    assert ValueBounds.exact(Value(1, 3)).is_decided
    assert ValueBounds.exact(Value(1, 3)).lead == 3
    won = between(Value(1, 1), Value(1, 25))
    assert (won.is_decided, won.outcome, won.result, won.lead) == (False, 1, "win", None)
    assert won.without_lead().is_decided
    assert won.without_lead().nodes == 7
    unknown = between(Value(-1, -2), Value(1, 4))
    assert (unknown.outcome, unknown.result) == (None, None)
    assert not unknown.without_lead().is_decided


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (Value(1), Value(1), "win"),
        (Value(0), Value(1), "draw or win"),
        (Value(-1), Value(0), "draw or loss"),
        (Value(-1), Value(1), "not decided"),
        (Value(-1, -2), Value(1, 4), "not decided"),
        (Value(1, 2), Value(1, 2), "win by 2"),
        (Value(-1, -5), Value(-1, -2), "loss by 2 to 5"),
        (Value(0, 0), Value(0, 0), "draw"),
        (Value(1, plies=5), Value(1, plies=5), "win in 5"),
        # Where a toppled tower decides, the winner may have fewer points.
        (Value(1, -5), Value(1, 5), "win by -5 to 5"),
        (Value(-1, 2), Value(-1, 2), "loss by -2"),
    ],
)
def test_answers_in_words(low: Value, high: Value, text: str) -> None:
    assert str(between(low, high)) == text


def test_answers_for_programs() -> None:
    assert between(Value(-1, -2), Value(1, 4)).as_json() == {
        "value": None,
        "low": {"outcome": -1, "lead": -2},
        "high": {"outcome": 1, "lead": 4},
        "nodes": 7,
        "seconds": 0.5,
    }
    exact = ValueBounds.exact(Value(1, plies=3)).as_json()
    assert exact["value"] == "win"
    assert exact["low"] == exact["high"] == {"outcome": 1, "plies": 3}
