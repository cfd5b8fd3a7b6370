"""``ludarium play``: what goes to the page, what to the terminal, and how the page is served."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ludarium.cli import main
from ludarium.cli import play as play_module
from ludarium.envs import GAMES
from ludarium.play import parts
from ludarium.play.site import Site
from ludarium.play.variants import Variant
from ludarium.training.agents.checkpoints import ShippedSpec, shipped_agents
from ludarium.training.agents.settings import setting
from tests.tictactoe import TicTacToe


class Keyboard(io.StringIO):
    """Standard input of a person at a terminal, who quits at once."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def keyboard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setattr("sys.stdin", Keyboard("quit\n"))
    monkeypatch.setattr("builtins.input", lambda: "quit")
    monkeypatch.setattr(play_module, "_check_browser", lambda: None)
    monkeypatch.setattr(parts, "BUILT", tmp_path / "nothing")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Variant]]:
    """What the page would begin with: the address's end, and the variant; nothing is served."""
    found: list[tuple[str, Variant]] = []
    variants: list[Variant] = []

    def site_with(variant: Variant, folder: Path) -> Any:
        variants.append(variant)

    def serve(site: Any, fragment: str, given: Any) -> int:
        found.append((fragment, variants[-1]))
        return 0

    monkeypatch.setattr(play_module, "_site_with", site_with)
    monkeypatch.setattr(play_module, "_serve", serve)
    return found


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["corso"], "g=corso&o=corso&seat=1&opponent=network:64"),
        (["corso", "--opponent", "level:3"], "g=corso&o=corso&seat=1&opponent=level:3"),
        (["corso", "--opponent", "level:beginner"], "g=corso&o=corso&seat=1&opponent=level:1"),
        (["corso", "--opponent", "level:auto"], "g=corso&o=corso&seat=1&opponent=level:auto"),
        (["corso", "--opponent", "corso:16"], "g=corso&o=corso&seat=1&opponent=network:16"),
        (["corso", "--simulations", "4"], "g=corso&o=corso&seat=1&opponent=network:4"),
        (["corso:4"], "g=corso&o=corso&seat=1&opponent=network:4"),
        (["corso", "--opponent", "random"], "g=corso&o=corso&seat=1&opponent=random"),
        (
            ["onyx", "--option", "size=8", "--no-browser"],
            "g=onyx&o=onyx-size=8&seat=1&opponent=network:64",
        ),
        (["tictactoe", "--port", "8000"], "g=tictactoe&o=tictactoe"),
        (
            ["corso", "--position", "5/2O2/1X3/5/5 0", "--opponent", "random"],
            "g=corso&o=corso&f=5/2O2/1X3/5/5+0&seat=1&opponent=random",
        ),
    ],
)
def test_the_address_says_what_was_chosen(served, arguments, fragment):
    assert main(["play", *arguments, "--seat", "1"]) == 0
    assert [each for each, _ in served] == [fragment]


def test_the_page_refuses_settings_that_it_does_not_have(served, monkeypatch, capsys):
    """Those of later versions too."""

    @dataclass(frozen=True, kw_only=True)
    class Later(ShippedSpec):
        mood: str | None = setting(str, "how it plays")

    for mood in (None, "bold"):
        monkeypatch.setattr(
            play_module, "read_agent", lambda _, m=mood: Later(game="corso", mood=m)
        )
        assert main(["play", "corso", "--no-browser"]) == (0 if mood is None else 2)
    assert "the page has no opponent 'corso'" in capsys.readouterr().err
    assert len(served) == 1


def test_a_run_is_played_against_its_own_network(served, tmp_path):
    (tmp_path / "runs").mkdir()
    run = tmp_path / "runs" / "my run"
    run.mkdir()
    shutil.copy(shipped_agents("corso")[0], run / "agent.safetensors")
    for arguments in ([str(run)], ["corso", "--opponent", str(run)]):
        assert main(["play", *arguments]) == 0
        fragment, variant = served[-1]
        assert fragment.startswith("g=corso&o=corso@my_run")
        assert variant.agent == run / "agent.safetensors"
        assert variant.title == "size 5 (my run)"
        assert variant.ladder is None
    assert main(["play", str(run), "--opponent", "corso:8"]) == 0
    fragment, variant = served[-1]
    assert fragment.startswith("g=corso&o=corso&seat=")
    assert fragment.endswith("&opponent=network:8")
    assert variant.agent == shipped_agents("corso")[0]


def test_page_and_terminal_choose_the_same_board(served, monkeypatch, capsys):
    arguments = ["play", "onyx", "--opponent", "random", "--option", "swap_rule=true"]
    assert main([*arguments, "--no-browser"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["options"] == dict(served[-1][1].game.options)


def test_a_file_named_like_a_game_is_the_file(served, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("onyx").mkdir()
    shutil.copy(shipped_agents("corso")[0], "onyx/agent.safetensors")
    assert main(["play", "corso", "--opponent", "./onyx"]) == 0
    assert served[-1][1].agent.resolve() == tmp_path / "onyx/agent.safetensors"


def test_a_random_seat_is_drawn(served):
    for seat in ([], ["--seat", "random"]):
        served.clear()
        for _ in range(40):
            assert main(["play", "corso", "--opponent", "random", *seat]) == 0
        seats = {fragment.removesuffix("&opponent=random")[-6:] for fragment, _ in served}
        assert seats == {"seat=0", "seat=1"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["tictactoe", "--opponent", "uct:10"], "the page has no opponent 'uct:10'"),
        (["corso", "--option", "size=3"], "the page has no trained agent for Corso(size=3)"),
        (
            ["corso", "--opponent", "level:auto?elo=9"],
            "the page has no opponent 'level:auto?elo=9'",
        ),
        (["corso", "--simulations", "5000"], "not 5000; you play in the terminal"),
        (["corso:0"], "not 0; you play in the terminal"),
        (["corso", "--opponent", "corso?score=0.1"], "no opponent 'corso?score=0.1'"),
        (["corso", "--opponent", "corso?time=1s"], "the page has no opponent 'corso?time=1s'"),
    ],
)
@pytest.mark.usefixtures("without_agents_of_many")
def test_what_the_page_lacks_is_played_in_the_terminal(served, capsys, arguments, word):
    assert main(["play", *arguments]) == 0
    out = capsys.readouterr().out
    assert word in out
    assert "you play in the terminal" in out
    assert "; `help` explains." in out
    assert not served


@pytest.mark.parametrize("options", [["--terminal"], ["--json"]])
def test_what_only_the_terminal_knows_implies_it(served, capsys, options):
    assert main(["play", "tictactoe", "--opponent", "random", *options]) == 0
    told = capsys.readouterr()
    assert "; `help` explains." in told.out + told.err
    assert not served


def test_a_pipe_plays_in_the_terminal(served, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["play", "tictactoe", "--opponent", "random"]) == 0
    assert "; `help` explains." in capsys.readouterr().out
    assert not served
    assert main(["play", "corso", "--no-browser"]) == 0
    assert served


def test_without_a_page_one_line_says_how_to_build_it(capsys):
    assert main(["play", "tictactoe", "--opponent", "random"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("there is no built page in ")
    assert "make page; you play in the terminal\n" in out
    assert main(["play", "tictactoe", "--no-browser"]) == 2
    assert "make page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terminal", "--port", "80"], "--terminal is for the terminal, --port for the page"),
        (["--resume", "x", "--no-browser"], "--resume is for the terminal, --no-browser for"),
        (["--opponent", "corso:4"], "plays corso, not tictactoe"),
        (["--option", "size"], "NAME=VALUE"),
        (["--option", "size=99"], "has no option 'size'"),
        (["--opponent", "uct:none"], "'uct:none'"),
        (["--resume", "nowhere.json"], "nowhere.json"),
        (["--opponent", "uct:9", "--no-browser"], "the page has no opponent 'uct:9'"),
    ],
)
def test_what_a_person_can_put_right_is_one_line(served, capsys, arguments, message):
    assert main(["play", "tictactoe", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_page_is_served_until_ctrl_c(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(play_module, "_site_with", lambda variant, folder: Site(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    served: list[tuple[Path, bool]] = []

    def serve(server: Any) -> None:
        served.append((server.folder, server.is_kept))
        raise KeyboardInterrupt

    monkeypatch.setattr("ludarium.play.server.PageServer.serve_forever", serve)
    assert main(["play", "corso", "--seat", "0"]) == 0
    told = capsys.readouterr()
    address, *rest = told.out.splitlines()
    assert address.startswith("http://127.0.0.1:")
    assert address.endswith("/#g=corso&o=corso&seat=0&opponent=network:64")
    assert rest == ["Ctrl-C ends it"]
    assert told.err.endswith("\nthe page has ended\n")
    assert opened == [address]
    assert served == [(tmp_path, False)]  # a browser would keep an older page
