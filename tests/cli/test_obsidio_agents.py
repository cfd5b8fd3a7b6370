"""The shipped agents of Obsidio, of which one has levels on another board than it is named for."""

from __future__ import annotations

import json

import pytest

from ludarium.arena.ladder import find_ladder
from ludarium.cli import main
from ludarium.envs import make_game
from ludarium.training.agents.names import read_agent


def test_an_agent_of_many_boards_says_on_which_it_has_levels(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["agents", "obsidio", "--json"]) == 0
    one, many = json.loads(capsys.readouterr().out)["trained"]
    assert (one["options"], one["level_options"]) == ({"size": 7}, {})
    assert (many["options"], many["level_options"]) == ({"size": 11}, {"size": 9})
    assert main(["agents", "obsidio"]) == 0
    shown = capsys.readouterr().out
    assert f"opponents --option size=9 level:1 to level:{many['levels']}, level:beginner" in shown
    assert f"opponents level:1 to level:{one['levels']}, level:beginner" in shown
    assert len(find_ladder(make_game("obsidio", size=7)).levels) == one["levels"]
    level = f"level:{many['levels']}"
    assert read_agent(level).make(make_game("obsidio", size=9), None).name == level
