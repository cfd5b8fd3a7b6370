"""What a report counts in Obsidio."""

from __future__ import annotations

from ludarium.arena.report.games import random_games
from ludarium.envs import make_game

from .test_report import counted, last_states


def test_events_add_up_to_the_tokens_and_claims_on_the_board() -> None:
    obsidio = random_games(make_game("obsidio", size=7), 20, seed=2)
    ends = last_states(obsidio)
    tokens = ((ends["cells"] > 0) & (ends["cells"] < 3)).sum(axis=1)
    kinds = ("dark token", "first light token", "second light token")
    assert (counted(obsidio, *kinds) == tokens).all()
    assert (counted(obsidio, "claim") == ends["claims"].sum(axis=1)).all()
    pairs = counted(obsidio, "second light token", "second light token forfeited")
    assert (counted(obsidio, "first light token") == pairs).all()
