"""``ludarium render``: pictures, contact sheets and animations of a small game."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ludarium.cli import main
from ludarium.envs import make_game

MOVES = ["b2", "a1", "c3", "a1!"]


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A short game in a file; results are written beside it."""
    monkeypatch.chdir(tmp_path)
    data = {"game": "corso", "version": 0, "options": {"size": 3}, "seed": 0, "moves": MOVES}
    Path("game.json").write_text(json.dumps(data))
    return "game.json"


def render(record: str, output: str, *arguments: str, status: int = 0) -> bytes:
    assert main(["render", record, "--output", output, *arguments]) == status
    return Path(output).read_bytes() if status == 0 else b""


def test_one_position_is_drawn_as_in_python(
    record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    position, pictures = make_game("corso", size=3).start(), []
    for move in MOVES:
        before, action = position.copy(), position.text_to_action(move)
        position.play(action)
        pictures.append(position.svg(action, before))
    assert render(record, "end.svg").decode() == pictures[-1]
    assert render(record, "two.svg", "--ply", "2").decode() == pictures[1]
    size = Path("two.svg").stat().st_size
    assert f"two.svg: 1 of 5 positions, {size:,} bytes\n" in capsys.readouterr().out
    start = make_game("corso", size=3).start()
    assert render(record, "start.svg", "--ply", "0", "--layer", "legal").decode() == start.svg(
        layers={"legal": None}
    )


def test_the_last_picture_tells_who_lost_by_an_illegal_action(record: str) -> None:
    data = json.loads(Path(record).read_text()) | {"result": [-1, 1], "illegal_action": "a1"}
    Path(record).write_text(json.dumps(data))
    told = "player_0 has lost by an illegal action, a1"
    assert told in render(record, "end.svg").decode()
    assert told not in render(record, "two.svg", "--ply", "2").decode()


def test_an_animation_shows_every_ply(record: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("resvg_py")
    moving = image.open(io.BytesIO(render(record, "game.gif", "--width", "60")))
    assert moving.n_frames == len(MOVES) + 1
    assert moving.size[0] == 60
    assert moving.info["duration"] == 1000
    moving.seek(len(MOVES))
    assert moving.info["duration"] == 3000
    few = image.open(io.BytesIO(render(record, "few.gif", "--width", "60", "--every", "3")))
    assert few.n_frames == 3  # plies 0, 3 and the last


def test_a_contact_sheet_shows_the_plies_side_by_side(record: str) -> None:
    sheet = ElementTree.fromstring(render(record, "sheet.svg", "--every", "2", "--columns", "2"))
    pictures = [element for element in sheet if element.tag.endswith("}svg")]
    assert len(pictures) == 3
    assert [float(picture.attrib["x"]) for picture in pictures] == [24, 848, 24]
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("resvg_py")
    drawn = image.open(io.BytesIO(render(record, "sheet.png", "--every", "--width", "50")))
    assert drawn.size[0] == 200


def test_very_long_games_are_drawn_in_part(
    monkeypatch: pytest.MonkeyPatch, record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ludarium.cli.render._MOST_PICTURES", 4)
    assert main(["render", record, "--output", "long.gif"]) == 2
    assert "5 pictures are too many; --every 2 draws at most 4" in capsys.readouterr().err
    render(record, "long.svg", "--every", "2")


def test_layers_of_a_search(record: str) -> None:
    def told(agent: str, *layers: str) -> list[str | None]:
        words = [f"--layer={name}" for name in layers]
        root = ElementTree.fromstring(
            render(record, "s.svg", "--ply", "1", "--agent", agent, *words).decode()
        )
        (group,) = (
            each for each in root.iter() if each.get("class") == " ".join(["layer", *layers])
        )
        return [each.text for each in group if each.tag.endswith("text")]

    visits = [int(text or 0) for text in told("uct:30", "visits")]
    assert len(visits) > 1
    assert sum(visits) >= 29
    assert told("alphabeta:9", "policy", "values") == ["25", "-1.00"] * 4  # of lost corners


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "game.mov"], "ends in none of .svg, .png, .gif"),
        (["--output", "a.png", "--ply", "9"], "--ply is 9, but the game has 4 plies"),
        (["--output", "a.gif", "--ply", "1"], "--ply draws one position"),
        (["--output", "a.png", "--width", "90000"], "--width is 90000; accepted: 16 to 4000"),
        (["--output", "a.png", "--layer", "policy"], "comes from a search: name the agent"),
        (["--output", "a.svg", "--layer", "policy", "--agent", "random"], "does not search"),
        (["--output", "a.svg", "--agent", "corso"], "--agent fills policy, visits, values"),
        (
            ["--output", "a.gif", "--width", "4000"],
            "5 pictures of 4000 pixels in width are too much",
        ),
        (["--output", "a.png", "--columns", "3"], "give --every too"),
        (["--output", "a.png", "--seconds", "3"], "name a .gif"),
        (["--output", "a.gif", "--every", "0"], "take a positive number"),
        (["--output", "a.gif", "--seconds", "nan"], "'nan' is not a number of seconds"),
        (["--output", "a.png", "--ply", "-1"], "'-1' is not a whole number"),
    ],
)
def test_mistakes_are_explained(
    monkeypatch: pytest.MonkeyPatch,
    record: str,
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("ludarium.cli.render._MOST_PIXELS_IN_ALL", 50_000_000)
    assert main(["render", record, *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(Path().glob("a.*"))
