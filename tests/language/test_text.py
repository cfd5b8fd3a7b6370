"""Questions say all that a player needs; answers are read in any form, but never as more."""

from __future__ import annotations

import random

import pytest

from ludarium.envs import GAMES, make_game
from ludarium.language.text import PROMPTS, read_answer
from tests.games import random_positions
from tests.tictactoe import TicTacToe


@pytest.mark.parametrize("name", GAMES)
def test_a_conversation_has_rules_position_and_moves_of_every_game(name: str) -> None:
    game = make_game(name)
    position = game.start(1)
    system, user = (each["content"] for each in PROMPTS.opening(position, []))
    assert game.title in system
    assert "Decisions" in system
    assert "](" not in system
    assert all(f"{key}={value}" in system for key, value in game.options.items())
    assert position.board_text() in user
    assert "Legal moves" not in user
    asked = PROMPTS.question(position, None, shows_legal=True)
    assert "Moves so far" not in asked
    assert all(position.action_to_text(action) in asked for action in position.legal_actions)


@pytest.mark.parametrize("name", GAMES)
def test_every_move_is_read_in_any_form(name: str) -> None:
    rng = random.Random(1)
    forms = (
        "<move>{}</move>", "I think.\n<MOVE> {} </MOVE>.", "<move>\n{}\n</move>", "Move: `{}`",
        "So:\n**Final answer:** {}", '{{"move": "{}"}}', "\\boxed{{\\text{{{}}}}}", "why\n{}",
        "<think><move>a1</move></think>{}", "<move>zz</move> no, <move>{}", "“{}”.",
        "so\n" * 7000 + "{}",
    )  # fmt: skip
    for position in random_positions(make_game(name), 12):
        for action in position.legal_actions.tolist():
            text = position.action_to_text(action)
            text = rng.choice([text, text.upper(), text.replace("-", " \u2013 ")])
            answer = rng.choice(forms).format(text)
            assert read_answer(position, answer).action == action, answer


@pytest.mark.parametrize(
    ("answer", "fault", "reason"),
    [
        ("", "unread", "no move"),
        ("c3, or perhaps d4", "unread", "malformed"),
        ("<move>c3</move><move>c3 or d4</move>", "malformed", "malformed"),
        ("<move>c3</move><move></move>", "unread", "no move"),
        ("<move>c3!</move>", "illegal", "nothing to expand"),
        ("<move>a1</move>", "illegal", "a1"),
        ("Move: c3\nMove: a1", "illegal", "a1"),
        ("<think><move>c3</move>", "unread", "no move"),
        ("c3" * 20_000, "unread", "no move"),
    ],
)
def test_only_the_last_move_counts(answer: str, fault: str, reason: str) -> None:
    position = make_game("corso").start()
    position.play(position.text_to_action("a1"))
    said = read_answer(position, answer)
    assert (said.action, said.fault) == (None, fault)
    assert reason in said.reason
    assert said.reason in PROMPTS.correction(said)


def test_hostile_answers_are_no_moves_that_they_do_not_say() -> None:
    """A thousand texts that were made to break a reader, each read in time."""
    rng, position = random.Random(1), TicTacToe().start()
    pieces = [
        *("<move>", "</move>", "<think>", "\\boxed{", "}", "Move:", "a1", "b4", "\n", "\0", "{0}"),
        *("%s", "\ud800", "\u202e", "answer" * 50, "`", "-" * 500, " " * 999, "*", '{"move":'),
    ]
    for _ in range(1000):
        text = "".join(rng.choices(pieces, k=rng.randrange(400)))
        said = read_answer(position, text)
        assert (said.action is None) == bool(said.fault)
        if said.action is not None:
            assert position.action_to_text(said.action) in text.lower()
