"""``ludarium probe``: sources, moves, records, what is left undecided."""

from __future__ import annotations

import argparse
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.analysis import Value, ValueBounds, probing
from ludarium.analysis.corso import CorsoSolver
from ludarium.analysis.probing import Prober, prober_of, source_of
from ludarium.analysis.solution import TableSolution
from ludarium.base import progress_bar
from ludarium.base.progress import SILENT
from ludarium.base.progress_bar import ProgressBar
from ludarium.cli import main
from ludarium.cli.arguments import read_bytes, read_count, read_positive
from ludarium.envs import Game, make_game
from tests.analysis.corso_positions import minimax
from tests.games import after, random_game
from tests.progress import Told

CORSO = ["corso", "--option", "size=3", "--memory", "1MiB", "--threads", "2"]


def test_each_game_has_its_best_source() -> None:
    assert prober_of(make_game("corso", size=3), 1 << 20).source == "search made for Corso"
    for name, options in (("corso", {"size": 6}), ("onyx", {"size": 6})):
        prober = prober_of(make_game(name, **options), 1 << 20)
        assert prober.source == "search to the end of the game"
        assert prober.searches
        with pytest.raises(ValueError, match="64 bytes or more, not 63"):
            prober_of(make_game(name, **options), 63)


class Source:
    """Stands for a table or a search of a game; it knows positions of the first ply only."""

    default_limit = 7

    def __init__(self, game: Game, source: str, plies: int = 1) -> None:
        self.game, self.source, self.plies = game, source, plies
        self.asked: list[tuple] = []

    def knows(self, states: np.ndarray) -> np.ndarray:
        return states["ply"] >= self.plies

    def actions(self, *given: Any) -> dict[int, Any]:
        self.asked.append(given)
        return {2: Value(1, 3)} if self.source == "table" else {4: ValueBounds.exact(Value(-1))}


def test_a_table_is_asked_where_it_has_the_position_and_a_search_elsewhere() -> None:
    game = make_game("corso", size=3)
    table: Any = Source(game, "table")
    search: Any = Source(game, "search")
    both, start, told = Prober(table, search), game.start(), Told()
    later, (*_, (over, _)) = after(start, "b2"), random_game(game, 4)
    assert (both.source, both.searches, both.default_limit) == ("table", False, 0)
    for position, source, limit in ((later, "table", 0), (start, "search", 7)):
        found = both.at(position)
        assert (found.game, found.source) == (game, source)
        assert (found.searches, found.default_limit) == (source == "search", limit)
    assert both.actions(later, 5, told) == {2: ValueBounds(Value(1, 3), Value(1, 3))}
    assert both.actions(start, 5, told, False) == {4: ValueBounds(Value(-1), Value(-1))}
    both.actions(start)
    asked = [(start, 5, told, False), (start, None, SILENT, True)]
    assert (table.asked, search.asked) == ([(later,)], asked)
    assert Prober(Source(game, "table", 99), search).at(over).source == "table"  # type: ignore[arg-type]
    for alone in (Prober(table, None), Prober(None, search)):
        assert alone.at(start) is alone


def test_a_search_is_made_as_asked_where_no_whole_table_is(monkeypatch) -> None:
    game, made = make_game("onyx", size=6), []

    def solver(of: Game, **given: Any) -> Source:
        made.append(given)
        return Source(of, "search")

    monkeypatch.setattr(probing, "EndgameSolver", solver)
    for table, whole in (
        (None, False),
        (Source(game, "table"), False),
        (Source(game, "", 0), True),
    ):
        monkeypatch.setattr(probing, "table_of", lambda _, table=table: table)
        prober = prober_of(game, 5, 3)
        assert (prober._table, prober._solver is None) == (table, whole)
    prober_of(make_game("corso", size=3), 1 << 20)
    monkeypatch.setattr(probing, "table_of", lambda _: None)
    prober_of(game)
    probing.solver_of(game)
    assert made == [{"memory": 5, "threads": 3}] * 2 + [{"threads": 1}] * 2
    assert source_of(make_game("corso", size=5)) is CorsoSolver
    assert source_of(make_game("corso", size=6)) is solver
    assert issubclass(source_of(make_game("osiron")), TableSolution)


def test_probe_prints_each_action(capsys: pytest.CaptureFixture[str]) -> None:
    position = after(make_game("corso", size=3).start(), "b2", "a1")
    lead = minimax(position, {})
    alone = [*CORSO, "--threads", "1"]
    assert main(["probe", *alone, "--moves", "b2 a1"]) == 0
    text = capsys.readouterr().out
    assert position.board_text() in text
    assert f"for player_0, to move: win by {lead}\n" in text
    assert main(["probe", *alone, "--moves", "b2, a1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert f"\nsource: search made for Corso, {found['nodes']:,} positions in " in text
    assert found["moves"] == ["b2", "a1"]
    assert found["low"] == found["high"] == {"outcome": 1, "lead": lead}
    texts = {action["text"] for action in found["actions"]}
    assert texts == {position.action_to_text(action) for action in position.legal_actions}
    assert (found["undecided"], found["stopped"]) == (0, False)


def test_who_wins_has_no_lead(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", *CORSO, "--moves", "b2 a1", "--outcome"]) == 0
    assert "to move: win\n" in capsys.readouterr().out


def test_records_are_probed_and_moves_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = make_game("corso", size=3)
    played = [(before.copy(), action) for before, action in random_game(game, 4)]
    texts = [before.action_to_text(action) for before, action in played if action is not None]
    record = {"game": "corso", "version": 0, "options": {"size": 3}, "seed": 0, "moves": texts[:3]}
    file = tmp_path / "game.json"
    file.write_text(json.dumps(record))
    words = ["probe", "corso", "--memory", "1MiB", "--record", str(file)]
    assert main([*words, "--moves", " ".join(texts[3:]), "--back", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    position = played[len(texts) - 3][0]
    assert found["moves"] == texts[:-3]
    assert found["board"] == position.board_text().splitlines()
    assert found["mover"] == f"player_{position.mover}"
    assert main([*words, "--moves", " ".join(texts[3:])]) == 2
    assert "the game is over after these moves" in capsys.readouterr().err
    assert main([*words, "--back", "99"]) == 2
    assert "--back 99: there are 3 moves to take back" in capsys.readouterr().err
    assert main([*words, "--option", "size=4"]) == 2
    assert "a record has its own options" in capsys.readouterr().err
    assert main(["probe", "onyx", "--record", str(file)]) == 2
    assert "is a game of corso, not of onyx" in capsys.readouterr().err


def test_probe_says_what_is_not_decided_and_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["probe", "corso", "--option", "size=4", "--memory", "1MiB", "--threads", "1"]
    assert main([*words, "--limit", "2e3", "--json"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["undecided"] == len(found["actions"]) == 16
    assert found["nodes"] == 2000
    assert found["value"] is None
    assert found["low"]["outcome"] < found["high"]["outcome"]
    assert "16 of 16 actions not decided within 2,000 positions.\n" in printed.err
    advice = "ask about a later position (more --moves, or less --back), or ask with --outcome who"
    assert advice in printed.err
    assert "or search with --limit 20000." in printed.err
    assert main([*words, "--limit", "0"]) == 1
    assert "or search with --limit 10000." in capsys.readouterr().err


class Interrupted(ProgressBar):
    """Somebody presses Ctrl-C as soon as positions are searched."""

    def advance(self, count: int = 1, note: str = "") -> None:
        if not self.stopped:
            os.kill(os.getpid(), signal.SIGINT)
        super().advance(count, note)


def test_ctrl_c_ends_a_search_and_prints_what_is_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_bar, "ProgressBar", Interrupted)
    handler = signal.getsignal(signal.SIGINT)
    assert main(["probe", "corso", "--memory", "16MiB", "--json"]) == 130
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["stopped"]
    assert found["undecided"] == len(found["actions"]) == 25
    assert "when it was stopped" in printed.err
    assert "or let it search longer." in printed.err
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize(
    ("read", "text", "number"),
    [
        (read_count, "2.5e3", 2500),
        (read_count, "1.5", None),
        (read_count, "inf", None),
        (read_bytes, "2GiB", 2 << 30),
        (read_bytes, "1.5g", 3 << 29),
        (read_bytes, "64", 64),
        (read_bytes, "8 KB", None),
        (read_positive, "3", 3),
        (read_positive, "0", None),
    ],
)
def test_numbers(read: Callable[[str], int], text: str, number: int | None) -> None:
    if number is None:
        with pytest.raises(argparse.ArgumentTypeError, match="is no"):
            read(text)
    else:
        assert read(text) == number
