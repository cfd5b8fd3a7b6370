"""How commands print positions with the exact values of their actions."""

from __future__ import annotations

from typing import Any

from ludarium.analysis import Answer
from ludarium.envs.engine.position import Position
from ludarium.training.table import text_table


def answers_as_json(position: Position, answers: dict[int, Answer]) -> dict[str, Any]:
    """A position, its exact value for the mover, and those of its actions, best first."""
    return {
        "board": position.board_text().splitlines(),
        "mover": f"player_{position.mover}",
        **Answer.best(answers.values()).as_json(),
        "actions": [
            {"action": action, "text": position.action_to_text(action), **answer.as_json()}
            for action, answer in answers.items()
        ],
    }


def answers_as_text(position: Position, answers: dict[int, Answer]) -> str:
    """The same for people."""
    rows = [[position.action_to_text(action), str(each)] for action, each in answers.items()]
    return "\n".join(
        [
            position.board_text(),
            f"for player_{position.mover}, to move: {Answer.best(answers.values())}",
            text_table(None, rows, left=(0, 1)),
        ]
    )
