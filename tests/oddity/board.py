"""Oddity's sizes and tables, text notation, symmetries, picture."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.draw.picture import HEAD
from ludarium.envs.engine.draw.scene import Role, Scene, Slot
from ludarium.envs.engine.game import Game, Symmetries
from ludarium.envs.engine.options import Option, ply_cap
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import table_record
from ludarium.envs.engine.spec import BoardTurn, Spec

from . import rules, view
from .rules import ADD, HIGHEST, PILES

_TEXTS = ("a1", "a2", "b1", "b2", "c1", "c2", "add")


class Oddity(Game):
    """Oddity: take the last counter."""

    name = "oddity"
    title = "Oddity"
    summary = "take the last counter"
    credit = "made up"
    option_list = (
        Option("max_plies", None, ply_cap, "draw after so many plies (None: 10)", "a number"),
        Option("colour", "red", ("red", "blue"), "of the counters, which changes no rule"),
    )
    rules = rules

    def setup(self) -> Spec:
        max_plies = self.options["max_plies"] or 10
        return Spec(
            state_dtype=rules.state_dtype(),
            tables=table_record(
                max_plies=max_plies,
                fractions=np.linspace(0, 1, HIGHEST + 1, dtype=np.float32),
            ),
            action_names=_TEXTS,
            observation_names=["pile a", "pile b", "pile c", "to move", "is player 0"],
            max_plies=max_plies,
            random_start=True,
            canonical_turn=BoardTurn(
                cells=np.array([0, 2, 1, 3, 4]),
                actions=np.array([0, 1, 4, 5, 2, 3, ADD]),
                is_turned=rules.is_turned,
            ),
            binary_observation=False,
        )

    def board_text(self, position: Position) -> str:
        piles = [
            f"{name} " + "o" * int(height)
            for name, height in zip("abc", position.state.piles, strict=True)
        ]
        return "\n".join([*(line.rstrip() for line in piles), position.standing()])

    def symmetries(self) -> Symmetries:
        return Symmetries(
            actions=np.array([range(ADD + 1), [0, 1, 4, 5, 2, 3, ADD]]),
            observation=np.array([range(PILES + 2), [0, 2, 1, 3, 4]]),
        )

    def scene(self) -> Scene:
        counter = f'r="15" fill="{self.options["colour"]}" stroke="black"/>'
        return Scene(
            bottom=HEAD + 40 * HIGHEST + 20,
            ground=[f'<rect y="{HEAD:g}" width="{40 * PILES + 20}" height="5" fill="#886644"/>'],
            slots=[
                Slot(40 * pile + 30, HEAD + 40 * place + 30, ["", f"<circle {counter}"])
                for pile in range(PILES)
                for place in range(HIGHEST)
            ],
            roles=[Role(role, f"<circle {counter}") for role in ("first", "second")],
            show=view.show,
        )
