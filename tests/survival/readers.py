"""Every reader of files that may come from a stranger, with good files to begin with.

Nothing here compiles more than tic-tac-toe.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as cached
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from ludarium.analysis.corso.known import read_known, write_known
from ludarium.analysis.engine import read_request
from ludarium.analysis.exact_tests import read_exact_test
from ludarium.analysis.table import read_table
from ludarium.arena.contest import Comparison, Tournament, read_plan
from ludarium.arena.curve import MeasurementCache, _sha256
from ludarium.arena.folder import ArenaFolder, check_replay, row_of
from ludarium.arena.ladder import load_ladder
from ludarium.arena.schedule import SeededOpenings
from ludarium.base.files import load_json
from ludarium.cli.push import agent_card
from ludarium.configs import apply_settings, load_config, shipped
from ludarium.envs import GAMES
from ludarium.envs.corso import Corso
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import RecordedGame, check_record, read_record_file
from ludarium.envs.obelisk import __file__ as obelisk
from ludarium.envs.obelisk.blocks import accept_blocks
from ludarium.envs.registry import make_stored_game
from ludarium.machine import cache
from ludarium.models import load_checkpoint, save_checkpoint
from ludarium.models.header import load_header
from ludarium.play.site import Site
from ludarium.training.agents import read_agent
from ludarium.training.agents.program import _EngineAnswer
from ludarium.training.runs.state import State, pack_state, unpack_state
from tests.checkpoints import tiny_checkpoint
from tests.tictactoe import TicTacToe

from .mutate import as_text, mutate_bytes, mutate_data


@dataclass(frozen=True)
class Reader:
    """A way in.

    Attributes:
        name: of the reader.
        read: a file's path to whatever it holds; raises ValueError or FileNotFoundError.
        good: contents of files that it accepts; the smallest is damaged byte by byte.
        mutate: makes a hostile content of a good one.
        file: the file's name, which messages have; "" for contents that come another way.
    """

    name: str
    read: Callable[[Path], object]
    good: Callable[[], list[bytes]]
    mutate: Callable[[bytes, random.Random], bytes]
    file: str = "file"


def hostile(reader: Reader, good: list[bytes], seed: int) -> bytes:
    """The content of the hostile file of that number."""
    rng = random.Random(f"{reader.name} {seed}")
    return reader.mutate(rng.choice(good), rng)


def mutate_json(content: bytes, rng: random.Random) -> bytes:
    """Mutates what it says, or how."""
    if rng.random() < 0.6:
        return as_text(mutate_data(json.loads(content), rng))
    return mutate_bytes(content, rng)


def mutate_yaml(content: bytes, rng: random.Random) -> bytes:
    """The same for a configuration; JSON is YAML too."""
    if rng.random() < 0.6:
        return as_text(mutate_data(_as_data(content), rng))
    return mutate_bytes(content, rng)


@cached
def _as_data(content: bytes) -> Any:
    import yaml

    return yaml.safe_load(content)


def _table(description: Any) -> bytes:
    """A table whose checksum is right, as a stranger may write one."""
    array = np.arange(64, dtype=np.int32)
    text = as_text(description)
    if isinstance(description, dict):
        checksum = hashlib.sha256(json.dumps(description).encode() + array.tobytes()).hexdigest()
        text = as_text({**description, "sha256": checksum})
    return save({"table": array}, {"description": text.decode()})


def mutate_table(content: bytes, rng: random.Random) -> bytes:
    """Bytes anywhere; or what the description says, with a right checksum."""
    if rng.random() < 0.5:
        return mutate_bytes(content, rng)
    return _table(mutate_data({"format": 1}, rng))


def _good_tables() -> list[bytes]:
    return [_table({"format": 1})]


def good_records() -> list[bytes]:
    game = TicTacToe()
    record = RecordedGame(game, 7, None, game.start().play_moves("b2 a1 c3 a3 a2")).to_record()
    within = {"moves": ["c3", "a1"], "notes": {"3": "a blunder"}}
    variation = {"moves": ["b1"], "variations": {"2": [within]}}
    told = {"notes": {"2": "too near"}, "variations": {"2": [variation]}, "seat": 1}
    return [json.dumps(each).encode() for each in (record, record | told)]


def _read_moves(path: Path) -> object:
    """A file with a record or a plain list of moves."""
    record = read_record_file(path, TicTacToe())
    return check_record(record, {"tictactoe": TicTacToe}, f"the game record in {path.name}")


def _read_record(path: Path) -> object:
    games = {**GAMES, "tictactoe": TicTacToe}
    return check_record(read_record_file(path), games, f"the game record in {path.name}")


def _good_checkpoints() -> list[bytes]:
    return [_checkpoint()]


@cached
def _checkpoint() -> bytes:
    """A network for tic-tac-toe, as small as can be."""
    checkpoint = tiny_checkpoint(TicTacToe(), channels=2)
    with tempfile.TemporaryDirectory() as folder:
        return save_checkpoint(checkpoint, Path(folder, "agent.safetensors")).read_bytes()


def mutate_checkpoint(content: bytes, rng: random.Random) -> bytes:
    """Bytes anywhere; or what the header, or the description in it, says."""
    if rng.random() < 0.3:
        return mutate_bytes(content, rng)
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    if rng.random() < 0.5:
        header = mutate_data(header, rng)
    else:
        description = json.loads(header["__metadata__"]["ludarium"])
        header["__metadata__"]["ludarium"] = as_text(mutate_data(description, rng)).decode()
    text = as_text(header)
    stated = len(text) if rng.random() < 0.9 else rng.choice([0, 2**63, len(text) + 1])
    return stated.to_bytes(8, "little") + text + data


_STORED = [
    {"game": "corso", "options": {"size": 3}},
    {"game": "onyx", "options": {"size": 6}},
    {"game": "osiron", "options": {"setup": "beginner", "max_plies": 50}},
    {"game": "obsidio", "options": {"size": 7}},
]


def _read_stored_game(path: Path) -> object:
    """What checkpoints say of their game."""
    stored = json.loads(path.read_bytes())
    if not isinstance(stored, dict) or not isinstance(stored.get("game"), str):
        raise ValueError("no game")
    return make_stored_game(stored["game"], stored.get("options"))


def _good_stored_games() -> list[bytes]:
    catalogue = json.loads(_good_catalogues()[0])
    obelisk = {"game": "obelisk", "options": {"scoring": "topple", "blocks": catalogue}}
    return [json.dumps(each).encode() for each in [*_STORED, obelisk]]


def _mutate_stored_game(content: bytes, rng: random.Random) -> bytes:
    return as_text(mutate_data(json.loads(content), rng))


def _read_settings(path: Path) -> object:
    """Settings on the command line, one a line."""
    text = path.read_bytes().decode(errors="surrogateescape")
    return apply_settings(load_config("corso/demo"), text.splitlines())


def _good_settings() -> list[bytes]:
    return [b"learner.batch=64\nnetwork={size: tiny}\nself_play.simulations=[[0, 8], [0.5, 16]]"]


def _good_catalogues() -> list[bytes]:
    return [Path(obelisk).with_name("blocks.json").read_bytes()]


def _good_ladders() -> list[bytes]:
    return [files("ludarium.models").joinpath("shipped", "corso.levels.json").read_bytes()]


def _good_configurations() -> list[bytes]:
    root = files("ludarium.configs")
    return [root.joinpath(f"{name}.yaml").read_bytes() for name in shipped()]


def _good_requests() -> list[bytes]:
    moves = ["b2", "a1", "c3"]
    query = {"id": "a", "moves": moves, "seed": 3, "analyzeTurns": [0, 3], "priorities": [1, 2]}
    limits = {"simulations": 10, "seconds": 0.5, "reportDuringSearchEvery": 0.1, "priority": -1}
    terminate = {"id": "b", "action": "terminate", "terminateId": "a", "turnNumbers": [0]}
    requests = [query, {"id": "c", "moves": moves, **limits}, terminate]
    return [json.dumps(request).encode() for request in requests]


@cached
def _start() -> Position:
    return TicTacToe().start()


def _read_agent_name(path: Path) -> object:
    return read_agent(path.read_bytes().decode(errors="surrogateescape"), from_file=True)


def _good_agent_names() -> list[bytes]:
    return [
        b"uct:1000",
        b"uct?playouts=50&exploration=0.5",
        b"corso:simulations=64&temperature=0.1",
        b"shipped:onyx:8",
        b"onnx:corso.onnx?simulations=2",
    ]


def _read_position(path: Path) -> object:
    return Position.from_text(_start().game, path.read_bytes().decode(errors="surrogateescape"))


def _read_notation(path: Path) -> object:
    return _start().text_to_action(path.read_bytes().decode(errors="surrogateescape"))


def _read_arena(path: Path) -> object:
    """What a tournament's or a comparison's folder says is played."""
    settings = ArenaFolder(path.parent).read_settings()
    assert settings is not None
    kind = Comparison if settings.get("kind") == Comparison.kind else Tournament
    return read_plan(settings, path.parent, kind)


def _good_arenas() -> list[bytes]:
    common = {
        **{"format": 1, "game": "corso", "version": 0, "options": {"size": 3}, "networks": {}},
        **{"agents": ["random", "uct:5"], "seed": 1, "opening_plies": None, "positions": []},
    }
    test = {"elo0": 0.0, "elo1": 30.0, "alpha": 0.05, "beta": 0.05, "games_limit": 100}
    test["normalised"] = False
    return [
        json.dumps(common | {"kind": "tournament", "games": 20, "gauntlet": ["random"]}).encode(),
        json.dumps(common | {"kind": "comparison"} | test).encode(),
    ]


def _read_arena_game(path: Path) -> object:
    """A line of a tournament's games."""
    record = load_json(path.read_bytes(), "the game")
    row = row_of(record, ("random", "uct:5"))
    check_replay(record, SeededOpenings(TicTacToe(), 0, 1))
    return row


def _good_arena_games() -> list[bytes]:
    game = TicTacToe()
    record = RecordedGame(game, 0, None, game.start().play_moves("b2 a1 a2 a3 c2")).to_record()
    own = {"number": 3, "players": ["random", "uct:5"], "opening_plies": 0}
    return [json.dumps(record | own).encode()]


def _good_measurements() -> list[bytes]:
    what = {"agent": "0" * 64, "simulations": 8, "against": ["random"], "anchors": {"random": 1.5}}
    elo = {"value": 900.5, "low": 800.0, "high": 1000.0, "count": 40}
    measured = {"elo": elo, "anchors": {"random": {"elo": 1}}}
    digest = _sha256(what, measured)
    return [json.dumps({"what": what, "measured": measured, "sha256": digest}).encode()]


def _good_exact_tests() -> list[bytes]:
    return [_exact_test(b'{"moves": ["b2"], "positions": [{"ply": 0, "win": %s}]}\n' % _ACTIONS)]


_ACTIONS = json.dumps([f"{column}{row}" for column in "abc" for row in "123"]).encode()


def _exact_test(body: bytes, **changes: object) -> bytes:
    """A test of an empty board of Corso, with a right checksum."""
    head = {
        **{"format": "ludarium exact test 1", "game": "corso", "version": Corso.version},
        **{"options": {"size": 3}, "made": {"games_of": "random", "positions": "all"}},
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return json.dumps(head | changes).encode() + b"\n" + body


def mutate_exact_test(content: bytes, rng: random.Random) -> bytes:
    """Bytes anywhere; or what a line says, with a right checksum."""
    head, _, body = content.partition(b"\n")
    if rng.random() < 0.5:
        return mutate_bytes(content, rng)
    if rng.random() < 0.5:
        return as_text(mutate_data(json.loads(head), rng)) + b"\n" + body
    return _exact_test(as_text(mutate_data(json.loads(body), rng)) + b"\n")


def _good_known() -> list[bytes]:
    known = np.array([[1, 2], [3, 4]], np.int64)
    return [_written(lambda path: write_known(path, Corso(size=3), known))]


def _written(write: Callable[[Path], object]) -> bytes:
    """What a function writes into a file."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "file"))
        return Path(folder, "file").read_bytes()


def _good_sites() -> list[bytes]:
    return [json.dumps({"version": "0" * 64, "files": ["a"], "on_demand": []}).encode()]


def _read_kernel(path: Path) -> object:
    """Compiled code, which is made anew if it is damaged."""
    return cache.read_file(path)


def _write_kernel(path: Path) -> None:
    form = cache.Form("play", "symbol", (("i",),), "i")
    path.write_bytes(cache.content_of(cache.ObjectCode((form,), bytes(range(100)))))


def _read_state(path: Path) -> object:
    return unpack_state(path.read_bytes())


def _good_states() -> list[bytes]:
    return [pack_state(State({}, {}, {"a": np.arange(4)}), {"step": 1})]


def _read_card(path: Path) -> object:
    """What is published with an agent, from the file beside it."""
    header = load_header(str(files("ludarium.models").joinpath("shipped", "corso.safetensors")))
    return agent_card(path.with_suffix(".safetensors"), header, "owner/name")


def _read_answer(path: Path) -> object:
    """A line of a program that plays."""
    return load_json(path.read_bytes(), "the answer", _EngineAnswer)


def _good_answers() -> list[bytes]:
    moves = [{"move": "b2", "order": 0}]
    return [json.dumps({"id": "1", "isDuringSearch": False, "moveInfos": moves}).encode()]


READERS = [
    Reader("tournament", _read_arena, _good_arenas, mutate_json, "arena.json"),
    Reader("game of a tournament", _read_arena_game, _good_arena_games, mutate_json, ""),
    Reader("measurement of a run", MeasurementCache, _good_measurements, mutate_json),
    Reader("checkpoint", load_checkpoint, _good_checkpoints, mutate_checkpoint),
    Reader("agent name", _read_agent_name, _good_agent_names, mutate_bytes, ""),
    Reader("notation", _read_notation, lambda: [b"a1", b"B2"], mutate_bytes, ""),
    Reader(
        *("position", _read_position, lambda: [b"- 0 ply=2 cells=1,2,7*0", b"- 0"]),
        *(mutate_bytes, ""),
    ),
    Reader("configuration", load_config, _good_configurations, mutate_yaml),
    Reader("settings", _read_settings, _good_settings, mutate_bytes, ""),
    Reader("record", _read_record, good_records, mutate_json),
    Reader("list of moves", _read_moves, lambda: [b"b2 a1, c3\na3 a2"], mutate_bytes),
    Reader("stored game", _read_stored_game, _good_stored_games, _mutate_stored_game, ""),
    Reader("catalogue", accept_blocks, _good_catalogues, mutate_json),
    Reader(
        "request",
        lambda path: read_request(path.read_bytes(), _start().game),
        _good_requests,
        mutate_json,
        "",
    ),
    Reader("answer of a program", _read_answer, _good_answers, mutate_json, ""),
    Reader("ladder", load_ladder, _good_ladders, mutate_json),
    Reader(
        "table", lambda path: read_table(path, np.int32, (None,), {}), _good_tables, mutate_table
    ),
    Reader(
        *("known solution", lambda path: read_known(path, Corso(size=3)), _good_known), mutate_bytes
    ),
    Reader("exact test", read_exact_test, _good_exact_tests, mutate_exact_test),
    Reader(
        *("card", _read_card, lambda: [b"# Ann\n\nShe [plays](#play) [well](report.md).\n"]),
        *(mutate_bytes, "card.md"),
    ),
    Reader("page", lambda path: Site(path.parent).files, _good_sites, mutate_json, "site.json"),
    Reader("state of a run", _read_state, _good_states, mutate_bytes, ""),
    Reader("compiled code", _read_kernel, lambda: [_written(_write_kernel)], mutate_bytes),
]
