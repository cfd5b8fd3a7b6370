"""Texts of strangers in every place where a message can repeat them: short, and no commands."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from ludarium.cli import main
from ludarium.envs import make_game
from ludarium.models import Architecture
from ludarium.models.checkpoint import checkpoint_bytes
from tests.checkpoints import LADDERS, tiny_checkpoint

WILD = "\x1b[2J\x1b]0;mine\x07\r\u202e"
LONG = WILD + 900_000 * "x"
MOST = 400
GAME = make_game("corso", size=3)

#: Places in the description of a checkpoint.
HEADERS: dict[str, dict[str, Any]] = {
    "game": {"game": LONG},
    "option": {"options": {"size": LONG}},
    "name of an option": {"options": {LONG: 3}},
    "another option": {"options": {"size": 3, LONG: LONG}},
    "network": {"architecture": Architecture({}, module=LONG)},
    "size": {"architecture": Architecture({LONG: LONG})},
    "version": {"version": LONG},
    "step": {"step": LONG},
    "variants": {"variants": [{"size": 3}, {"size": LONG}]},
    "notes": {"notes": {"config": {LONG: LONG}, "algorithm": LONG}},
}
AGENTS = [
    "evaluate {} --games 2",
    "evaluate corso:0 --against {} --games 2",
    "evaluate random --game corso --against {}?score=1 --games 2",
    "train corso --set evaluation.against={} --folder run",
    "train corso --from {} --folder run",
    "tournament random {} --game corso --games 2",
    "compare {} random --games-limit 2",
    "levels corso --agent {}",
    "analyse corso --agent {}",
    "accuracy {} --test hard --simulations 0",
    "curve {}",
    "render game.json --layer policy --agent {} --output x.svg",
    "report corso --agent {}",
    "export {}",
    "push {} a/b",
    "play {} --terminal",
    "play corso --terminal --opponent level:1?agent={}",
]


def said(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints: fit to be printed, and short but for words of the command itself."""
    main(shlex.split(command))
    told = capsys.readouterr()
    for line in (told.out + told.err).split("\n"):
        assert line.isprintable(), (command, line[:MOST])
        assert len(line) <= MOST + len(command), (command, line[:1000])
    return told.out + told.err


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with a record and nobody at the keyboard."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr("ludarium.training.agents.hub.push", lambda *_: "https://hub")
    Path("game.json").write_text(json.dumps(RECORD))
    return tmp_path


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(place, marks=() if place in ("game", "another option") else pytest.mark.slow)
        for place in HEADERS
    ],
)
def test_what_a_checkpoint_says_of_itself(place, capsys, monkeypatch):
    monkeypatch.setattr("ludarium.models.checkpoint.check_saved", lambda *_: None)
    Path("stranger.safetensors").write_bytes(
        checkpoint_bytes(tiny_checkpoint(GAME, channels=2, **HEADERS[place]))
    )
    for command in AGENTS:
        said(command.format("stranger.safetensors"), capsys)
    with pytest.raises(ValueError, match="stranger") as caught:
        gymnasium.make("ludarium/Corso-v0", opponent="stranger.safetensors")
    assert len(str(caught.value)) <= MOST
    assert str(caught.value).isprintable()


def _with(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place."""
    if not place:
        return value
    copy = data.copy()
    if place[0] is KEY:
        copy[value] = 0
    else:
        copy[place[0]] = _with(copy[place[0]], place[1:], value)
    return copy


KEY = object()  # in the place of a key: the text is a key itself
RECORD = {"game": "corso", "version": 0, "options": {"size": 5}, "moves": ["a1"], "seat": 0}
ARENA = {
    **{"kind": "tournament", "format": 1, "game": "corso", "version": 0, "options": {"size": 3}},
    **{"networks": {}, "agents": ["random", "greedy"], "seed": 1, "opening_plies": 6},
    **{"positions": [], "games": 2, "gauntlet": []},
}
LINE = {
    **{"game": "corso", "version": 0, "options": {"size": 3}, "seed": 0, "moves": ["a1"]},
    **{"result": [1, -1], "players": ["random", "greedy"], "number": 0, "opening_plies": 0},
}
TEST = {
    **{"format": "ludarium exact test 1", "game": "corso", "version": 0, "options": {"size": 2}},
    **{"made": {"games_of": "random", "positions": "all"}},
}
WORTHS = {"win": ["b1", "a2"], "loss": ["b2"]}
POSITIONS = {"moves": ["a1"], "positions": [{"ply": 1, **WORTHS}]}
LADDER = json.loads(LADDERS[0].read_text())
CONFIG = {"game": "corso", "options": {"size": 3}, "network": {"size": "tiny"}, "seed": 1}


def _places(data: Any) -> list[tuple[Any, ...]]:
    """All places in some JSON, those of new keys too."""
    own: list[tuple[Any, ...]] = [()]
    if isinstance(data, dict):
        own += [(KEY,), *((key, *rest) for key in data for rest in _places(data[key]))]
    if isinstance(data, list) and data:
        own += [(0, *rest) for rest in _places(data[0])]
    return own


def _exact_test(head: Any, line: Any) -> str:
    body = f"{json.dumps(line)}\n"
    digest = hashlib.sha256(body.encode()).hexdigest()
    head = head | {"sha256": digest} if isinstance(head, dict) else head
    return f"{json.dumps(head)}\n{body}"


@pytest.mark.parametrize(
    ("good", "files", "commands"),
    [
        (
            RECORD,
            {"wild": json.dumps},
            ["render wild --output x.svg", "analyse corso --record wild --simulations 1"],
        ),
        (RECORD, {"wild": json.dumps}, ["play corso --terminal --resume wild"]),
        (ARENA, {"tour/arena.json": json.dumps}, ["tournament --folder tour --show"]),
        (
            LINE,
            {"tour/arena.json": lambda _: json.dumps(ARENA), "tour/games.jsonl": json.dumps},
            ["tournament --folder tour --show"],
        ),
        (
            TEST,
            {"wild": lambda each: _exact_test(each, POSITIONS)},
            ["accuracy random --game corso --option size=2 --test wild"],
        ),
        (
            POSITIONS,
            {"wild": lambda each: _exact_test(TEST, each)},
            ["accuracy random --game corso --option size=2 --test wild"],
        ),
        (LADDER, {"wild": json.dumps}, ["levels corso --ladder wild"]),
        (CONFIG, {"wild": json.dumps}, ["train corso --config wild --folder run"]),
    ],
)
def test_texts_in_files(good, files, commands, capsys):
    for place in _places(good):
        for value in (LONG[:5000], WILD):
            for name, written in files.items():
                Path(name).parent.mkdir(exist_ok=True)
                Path(name).write_text(written(_with(good, place, value)))
            for command in commands:
                said(command, capsys)


ENGINE = """
import json, sys
wild = "\\x1b[2J\\x07" + 900_000 * "x"
for line in sys.stdin:
    request = json.loads(line)
    how, answer = sys.argv[1], {"id": request["id"]}
    print(wild, file=sys.stderr, flush=True)
    if request.get("action") == "query_version":
        answer |= {"game": "corso", "options": {"size": 3}}
    answer |= json.loads(how.replace("WILD", json.dumps(wild)[1:-1]))
    print(wild if how == "[]" else json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize(
    "how",
    ["{}", '{"game": "WILD"}', '{"options": {"WILD": "WILD"}}', '{"error": "WILD"}']
    + ['{"moveInfos": [{"move": "WILD"}]}', '{"WILD": 1, "moveInfos": "WILD"}', "[]"],
)
def test_answers_of_engines(how, capsys):
    Path("engine.py").write_text(ENGINE)
    engine = shlex.quote(f"engine:{sys.executable} engine.py {shlex.quote(how)}")
    said(f"evaluate {engine} --game corso --option size=3 --against random --games 2", capsys)


@pytest.mark.parametrize("kind", ["missing", "junk", "checkpoint", "folder"])
def test_names_of_files(kind, capsys):
    name = f"{WILD}{'x' * 100}.safetensors"
    if kind == "folder":
        Path(name).mkdir()
    elif kind != "missing":
        whole = checkpoint_bytes(tiny_checkpoint(GAME, channels=2))
        Path(name).write_bytes(whole if kind == "checkpoint" else b"junk")
    others = [
        "render {} --output x.svg",
        "render {}",
        "analyse corso --record {}",
        "play corso --resume {}",
        "accuracy random --game corso --test {}",
        "tournament --folder {} --show",
        "tournament --folder {}",
        "compare --folder {} --show",
        "levels corso --ladder {}",
        "tune --folder {} --show",
        "evaluate onnx:{} --game corso --games 2",
        "train --folder {}",
        "play obelisk --option blocks={} --terminal",
    ]
    if kind != "missing":
        others.append("train corso --config {} --folder run")
    for command in AGENTS + others:
        said(command.format(shlex.quote(name)), capsys)
