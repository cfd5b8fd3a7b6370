"""`Progress`: what is stopped, by whom, and what people see of parts."""

from __future__ import annotations

import pytest

from ludarium.base.progress import SILENT, StoppedError
from tests.progress import Told


def test_a_part_is_stopped_alone_with_the_whole_or_when_its_time_is_up() -> None:
    whole = Told()
    part, other = whole.part(), whole.part()
    part.stop()
    assert (part.stopped, other.stopped, whole.stopped) == (True, False, False)
    assert whole.part(seconds=0).stopped
    other.check()
    whole.stop()
    with pytest.raises(StoppedError):
        other.check()
    whole.stop(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _ = part.stopped


def test_people_see_what_a_part_does() -> None:
    told = Told()
    part = told.part()
    part.begin("games", 4)
    part.advance(2, "half")
    part.say("a line")
    assert (told.begun, told.steps, told.notes) == ([("games", 4)], [2], ["half"])
    assert told.said == ["a line"]


def test_nobody_can_stop_what_others_do() -> None:
    with pytest.raises(
        ValueError, match="SILENT is everybody's progress: give the work a Progress"
    ):
        SILENT.stop()
    assert not SILENT.stopped
