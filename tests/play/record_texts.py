"""Records to write, and texts that are none, for the readers in Python and in JavaScript."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ludarium.envs.engine.record_text import MOST_DEPTH

HEAD = '[Format "ludarium 1"]\n[Game "corso"]\n[Version 0]\n'

#: Texts that are refused, the place that the message names, and what it says.
WRONG = [
    ("", "line 1, column 1", "the headers lack Format"),
    ("1. c3", "line 1, column 1", "the headers lack Format"),
    ('[Game "corso"]', "line 1, column 1", 'the first header, and no other, is [Format "ludarium'),
    ('[Format "ludarium 2"]', "line 1, column 9", "this reads 'ludarium 1'"),
    ('[Format "ludarium 1"]\n[Version 0]', "line 2, column 12", "the headers lack Game"),
    ('[Format "ludarium 1"] [Game "corso"]', "line 1, column 9", "write a text between"),
    (HEAD + '[Game "onyx"]', "line 4, column 1", "a second header Game"),
    (HEAD + '[Date "1"]\n[Date "2"]', "line 5, column 1", "a second header Date"),
    (HEAD + "[Date 2026]", "line 4, column 7", "Date is '2026'; write a text"),
    (HEAD + '[Date "2026"', "line 4, column 1", "a header is a line of its own"),
    (HEAD + '[Date "\\x"]', "line 4, column 7", "is not valid JSON"),
    (HEAD + "[Seed -7]", "line 4, column 7", "Seed is '-7', not a whole number"),
    (HEAD + '[Seed "7"]', "line 4, column 7", "not a whole number"),
    (HEAD + f"[Seed {'9' * 40}]", "line 4, column 7", "not a whole number"),
    (HEAD.replace("0]", "1234567890]"), "line 3, column 10", "Version is '1234567890', not a"),
    (HEAD + '[Result "2-0"]', "line 4, column 9", "accepted: 1-0, 0-1, 1/2-1/2, *"),
    (HEAD + '[Seat "2"]', "line 4, column 7", "Seat is '2'"),
    (HEAD + "[Option size 5]", "line 4, column 9", 'an option is [Option "NAME" VALUE]'),
    (HEAD + '[Option "size"]', "line 4, column 9", 'an option is [Option "NAME" VALUE]'),
    (HEAD + '[Option "size" five]', "line 4, column 16", "is not valid JSON"),
    (HEAD + '[Option "size" NaN]', "line 4, column 16", "is not valid JSON"),
    (HEAD + '[Option "size"  1e999]', "line 4, column 17", ""),
    (HEAD + '[Option "size" [[9007199254740992]]]', "line 4, column 16", "more than 2**53 - 1"),
    (HEAD + f'[Option "size" {"[" * 33}{"]" * 33}]', "line 4, column 16", "more than 32 lists"),
    (HEAD + '[Option "a" 1]\n[Option "a" 2]', "line 5, column 9", "a second option 'a'"),
    (HEAD + "1. c3\0", "line 4, column 6", "the character '\\x00' is not accepted"),
    (HEAD + "; c3", "line 4, column 1 (move 1)", "a move is missing before ;"),
    (HEAD + "1. c3;; b3", "line 4, column 7 (move 2)", "a move is missing before ;"),
    (HEAD + "1. c3;\n3. b3", "line 5, column 1 (move 2)", "this is move 2, but is numbered 3"),
    (HEAD + "01. c3", "line 4, column 1 (move 1)", "this is move 1, but is numbered 01"),
    (HEAD + "1. ; c3", "line 4, column 4 (move 1)", "here should be a move"),
    (HEAD + '"c3', "line 4, column 1 (move 1)", "here should be a move"),
    (HEAD + '"\\x"', "line 4, column 1 (move 1)", "is not valid JSON"),
    (HEAD + "1. c3; [Date]", "line 4, column 8 (move 2)", "here should be a move"),
    (HEAD + "c3 {x} b3", "line 4, column 8 (move 1)", "after a move comes ;"),
    (HEAD + '"\U0001f600" "b"', "line 4, column 5 (move 1)", "after a move comes ;"),
    (HEAD + "{x} c3", "line 4, column 1 (move 1)", "a comment follows the move"),
    (HEAD + "c3; {x} b3", "line 4, column 5 (move 2)", "a comment follows the move"),
    (HEAD + "c3 {x}{y}", "line 4, column 7 (move 1)", "has a comment already"),
    (HEAD + "c3 {x", "line 4, column 4 (move 1)", "a comment ends with }"),
    (HEAD + "c3 {x\\}", "line 4, column 4 (move 1)", "a comment ends with }"),
    (HEAD + "c3 {x {y}}", "line 4, column 4 (move 1)", "a comment ends with }"),
    (HEAD + "c3 }", "line 4, column 4 (move 1)", "after a move comes ;"),
    (HEAD + "(c3)", "line 4, column 1 (move 1)", "a variation follows the move"),
    (HEAD + "c3 ()", "line 4, column 5 (move 1)", "a move is missing before )"),
    (HEAD + "c3 )", "line 4, column 4 (move 1)", "there is no variation that ) ends"),
    (HEAD + "c3; b3 (\nb4; c4", "line 4, column 8 (move 2)", "the variation has no end"),
    (
        HEAD + "c3; b3 (b4; 4. c4)",
        "line 4, column 13 (move 3)",
        "this is move 3, but is numbered 4",
    ),
]

_some_text = st.text(max_size=12)
_texts = st.one_of(
    st.sampled_from(["c3", "c3!", "place a1 r0f", "a2-a1", "1. c3", "2.5", "", " a", "a  b", "*"]),
    st.text(alphabet='ab1.{}()[];"\\ \n\t\u00a0\U0001f600', max_size=6),
    _some_text,
)
_comments = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), max_size=60) | st.text(
    alphabet="a{}\\\n\t ;)", max_size=100
)


def _moves(depth: int, most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    parts: dict[str, st.SearchStrategy[Any]] = {"comment": _comments}
    if depth:
        parts["variations"] = st.lists(_moves(depth - 1, 2), min_size=1, max_size=2)
    move = st.fixed_dictionaries({"text": _texts}, optional=parts)
    return st.lists(move, min_size=1, max_size=most)


_OPTIONAL = ("players", "seat", "headers")


def _is(value: Any) -> bool:
    return value is not None and value != {}


def _record(moves: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    notes = [
        {"move": number, **{key: value for key, value in move.items() if key != "text"}}
        for number, move in enumerate(moves, 1)
        if len(move) > 1
    ]
    fields = {name: value for name, value in fields.items() if name not in _OPTIONAL or _is(value)}
    record = fields | {"moves": [move["text"] for move in moves]}
    return record | ({"notes": notes} if notes else {})


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | _some_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_some_text, inner, max_size=3),
    max_leaves=6,
)


def records() -> st.SearchStrategy[dict[str, Any]]:
    """Any records that can be written, as `parse_record` returns them."""
    return st.builds(
        _record,
        st.just([]) | _moves(min(2, MOST_DEPTH), 6),
        game=_some_text,
        version=st.integers(0, 10**9 - 1),
        options=st.dictionaries(_some_text, _values, max_size=3),
        seed=st.integers(0, 2**128 - 1),
        result=st.sampled_from([None, [1, -1], [-1, 1], [0, 0]]),
        players=st.none() | st.lists(_some_text, min_size=2, max_size=2),
        seat=st.none() | st.integers(0, 1),
        headers=st.dictionaries(
            st.from_regex(r"[A-Z][a-z0-9_]{0,8}", fullmatch=True).filter(
                lambda name: (
                    name not in ("Format", "Game", "Version", "Option", "Seed", "Result", "Seat")
                )
            ),
            _some_text,
            max_size=3,
        ),
    )
