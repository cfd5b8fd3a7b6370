"""Each golden playthrough is what the game plays today (see ``tests/make_playthroughs.py``)."""

from __future__ import annotations

import pytest

from tests.make_playthroughs import FOLDER, playthroughs, transcript

EXPECTED = playthroughs()


@pytest.mark.parametrize("name", EXPECTED)
def test_playthrough_has_not_changed(name: str) -> None:
    path = FOLDER / name
    assert path.exists(), "a new game or option set: run python -m tests.make_playthroughs"
    assert transcript(EXPECTED[name]) == path.read_text(encoding="utf-8")


def test_there_is_no_playthrough_of_anything_else() -> None:
    assert {path.name for path in FOLDER.glob("*.txt")} == set(EXPECTED)
