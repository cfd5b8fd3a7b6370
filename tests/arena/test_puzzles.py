"""Puzzles: one move alone keeps the value, no two are symmetric, and the making goes on."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludarium.analysis.exact_tests.positions import ExactPosition
from ludarium.analysis.probing import prober_of
from ludarium.arena import puzzles
from ludarium.arena.puzzles import (
    BANDS,
    PER_BAND,
    PuzzleSet,
    canonical_key,
    make_puzzles,
    puzzles_of,
    read_puzzles,
    write_puzzles,
)
from ludarium.cli import main
from ludarium.envs import GAMES, Position, make_game
from ludarium.envs.engine.codec import Codec
from tests.games import after, slow_but
from tests.tictactoe import TicTacToe

SHIPPED = list(GAMES)


def _shipped(name):
    path = puzzles_of(name)
    assert path is not None
    return read_puzzles(path)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_puzzles_are_whole_and_not_more_than_their_bands_hold(name):
    found = _shipped(name)  # reading plays every puzzle's moves
    assert max(found.bands.values()) <= PER_BAND
    assert [each.band for each in found.puzzles] == sorted(
        (each.band for each in found.puzzles), key=BANDS.index
    )
    at_once = Counter(each.band for each in found.puzzles if each.at_once)
    assert all(count <= PER_BAND / 2 for count in at_once.values())


@pytest.mark.parametrize("name", slow_but(["corso"], SHIPPED))
def test_one_move_alone_keeps_the_exact_value(name):
    found = _shipped(name)
    prober = prober_of(found.game)
    for puzzle in found.puzzles[::20]:
        position = Position.from_text(found.game, puzzle.position)
        answers = prober.actions(position, leads=False)
        results = {position.action_to_text(each): answer.result for each, answer in answers.items()}
        assert results.pop(puzzle.best) == puzzle.value
        assert puzzle.value not in results.values()
        assert [each for each, result in results.items() if result == "draw"] == puzzle.draws


def test_symmetric_positions_have_one_key():
    game = make_game("corso", size=5)
    codec = Codec(game)
    keys = {canonical_key(codec, after(game.start(), move)) for move in ("a1", "e1", "a5", "e5")}
    assert len(keys) == 1
    assert canonical_key(codec, after(game.start(), "b1")) not in keys


def test_making_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(puzzles, "_TRIES", 2)
    game = make_game("corso", size=5)
    wanted = {"seed": 3, "per_band": 2, "limit": 300}
    whole = make_puzzles(game, rounds=2, **wanted)
    file = tmp_path / "corso.puzzles.jsonl"
    make_puzzles(game, rounds=1, file=file, **wanted)
    assert make_puzzles(game, rounds=2, file=file, **wanted) == whole == read_puzzles(file)
    for each in whole.puzzles:  # most tries of the band's level find the move, not one of two
        assert [*(band for band in BANDS if each.solved[band] == 2), BANDS[-1]][0] == each.band
    assert any(1 in each.solved.values() for each in whole.puzzles)
    with pytest.raises(ValueError, match="give the same arguments to go on"):
        make_puzzles(game, rounds=2, file=file, seed=4)


class Clumsy:
    """Finds the action of the second of some positions, in one of its tries."""

    def restart(self, seed):
        """Nothing is drawn."""

    def actions(self, states):
        return np.where(np.arange(len(states)) == 1, 2, -1)


def test_a_band_holds_so_many_and_half_of_them_win_at_once():
    game = TicTacToe()

    def found(last, value):  # c1 is best, and ends the game
        position = after(game.start(), 0, 3, 1, last)
        results = {each: value - (each != 2) for each in position.legal_actions.tolist()}
        return [ExactPosition(position, 0, (0, 3, 1, last), results)]

    made, rng = PuzzleSet(game, (), {"per_band": 2, "rounds": 0}), np.random.default_rng(1)
    for new in ([found(4, 1), found(5, 1)], [found(6, 1), found(7, 0), found(8, 0)]):
        made = puzzles._with_more(made, new, dict.fromkeys(BANDS, Clumsy()), rng)
    assert [(each.moves[-1], each.value, each.draws) for each in made.puzzles] == [
        ("b3", "draw", []),  # more tries than at the other found its move
        ("b2", "win", ["c2", "a3", "b3", "c3"]),
    ]


def test_each_round_of_each_seed_draws_its_own(monkeypatch):
    drawn = []

    def nothing(game, agents, number, limit, rng, progress):
        drawn.append(int(rng.integers(1 << 62)))
        return []

    monkeypatch.setattr(puzzles, "_candidates", nothing)
    for seed in (3, 4):
        make_puzzles(make_game("corso"), seed, rounds=3)
    assert len({*drawn}) == 6


def test_a_changed_file_is_refused(tmp_path: Path):
    found, file = _shipped("corso"), tmp_path / "mine.jsonl"
    first = found.puzzles[0]
    write_puzzles(file, replace(found, puzzles=found.puzzles[:1]))
    file.write_text(file.read_text().replace(first.id, "0" * 12))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        read_puzzles(file)
    for changed, told in (
        ({"best": "z9"}, "line 2: 'z9' is malformed"),
        ({"moves": first.moves[:-1]}, "line 2: the moves do not lead to the position"),
        ({"id": "0" * 12}, "line 2: '000000000000' is not the id of the position"),
    ):
        write_puzzles(file, replace(found, puzzles=(replace(first, **changed),)))
        with pytest.raises(ValueError, match=told):
            read_puzzles(file)


def test_the_command_lists_and_makes_puzzles(capsys, tmp_path: Path):
    assert main(["puzzles", "corso", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert sum(listed["bands"].values()) == len(listed["puzzles"])
    assert main(["puzzles", "corso"]) == 0
    first, _, _, *rows = capsys.readouterr().out.splitlines()
    puzzles, rounds = listed["puzzles"], listed["made"]["rounds"]
    assert first == f"{len(puzzles)} puzzles of Corso(size=5); rounds of games: {rounds}"
    for row, band in zip(rows, BANDS, strict=True):
        values = [puzzle["value"] for puzzle in puzzles if puzzle["band"] == band]
        counts = len(values), values.count("win"), values.count("draw")
        assert row.split() == [band, *map(str, counts)]
    assert main(["puzzles", "corso", "--seed", "2"]) == 2
    assert "is for new puzzles: give --output too" in capsys.readouterr().err
    assert main(["puzzles", "corso", "--option", "size=4"]) == 2
