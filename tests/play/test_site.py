"""The page as a folder of files: what is in it, when a part is made anew, and how it is served."""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ludarium.base import progress_bar
from ludarium.cli import main
from ludarium.envs import GAMES, Game
from ludarium.envs.registry import make_game
from ludarium.models import load_header, save_checkpoint
from ludarium.play import build, parts
from ludarium.play import site as site_module
from ludarium.play.rules_page import markdown_html, rules_html
from ludarium.play.server import PageServer
from ludarium.play.site import INDEX, LIST, SCRIPTS, Site, write_site
from ludarium.play.variants import Variant, usual_variants
from ludarium.play.wasm import (
    Limits,
    LinkerError,
    linker,
    module_name,
)
from ludarium.play.wasm.network import MAGIC
from ludarium.training.agents.checkpoints import shipped_agents
from tests.checkpoints import tiny_checkpoint
from tests.play.node import run_tests
from tests.processes import python
from tests.tictactoe import TicTacToe


class Maker:
    """Stands in for what takes long, and notes what was asked of it."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def build_module(self, game: Game, limits: Limits) -> bytes:
        self.made.append(module_name(game))
        return str(limits).encode()

    def build_solver(self, game: Game) -> bytes:
        self.made.append(f"exact {module_name(game)}")
        return b"solver"

    def pack(self, variant: Variant) -> bytes:
        self.made.append(variant.id)
        return b"network"


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Maker:
    """A page of one file, and nothing that takes long."""
    maker = Maker()
    (tmp_path / "page" / "app").mkdir(parents=True)
    (tmp_path / "page" / "index.html").write_text("<p>page</p>")
    (tmp_path / "page" / "app" / "main.js").write_text("1")
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setattr(site_module, "PAGE", tmp_path / "page")
    monkeypatch.setattr(parts, "BUILT", tmp_path / "built")
    monkeypatch.setattr(parts, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(parts, "build_module", maker.build_module)
    monkeypatch.setattr(parts, "build_solver", maker.build_solver)
    monkeypatch.setattr(parts, "_packed", maker.pack)
    return maker


def _build(folder: Path, variants: list[Variant] | None = None) -> Site:
    return write_site(folder, variants or usual_variants("tictactoe"))


def _version(site: Site) -> str:
    version: str = json.loads((site.folder / LIST).read_text())["version"]
    return version


def _network(site: Site) -> str:
    address: str = site.games[0]["variants"][0]["network"]
    return address


# What there is to play.


@pytest.mark.parametrize("command", [["play", "onyx", "--no-browser"], ["games"], ["agents"]])
def test_torch_and_the_compiler_are_not_loaded_to_begin_a_game_or_to_list_what_there_is(
    maker: Maker, tmp_path: Path, command: list[str]
) -> None:
    """They take longer to load than all the rest; a checkpoint's header tells what is needed."""
    _build(tmp_path / "site", usual_variants("onyx"))
    code = f"""
import sys
from pathlib import Path
from ludarium.cli import main, play
from ludarium.play import native, parts
served = []
parts.BUILT = Path({str(tmp_path / "site")!r})
play._serve = lambda site, fragment, given: served.append(fragment) or 0
assert main({command!r}) == 0
assert len(served) == {int(command[0] == "play")}, served
assert not sys.modules.keys() & {{"torch", "numba", "llvmlite"}}, native
"""
    python(code, check=True, timeout=120)


def test_levels_and_agents_are_for_the_options_that_they_fit() -> None:
    other = Variant.of(make_game("corso", size=6))
    assert (other.id, other.title) == ("corso-size=6", "size 6")
    assert other.agent is not None
    assert (other.agent.stem, other.ladder) == ("corso-all", None)
    own = Variant(make_game("corso"), shipped_agents("corso")[0], "../run <1>")
    assert own.id == "corso@.._run__1_"
    assert own.ladder is None  # it may be another network than the levels were measured with
    assert own.title == "size 5 (../run <1>)"


@pytest.mark.parametrize("name", GAMES)
def test_every_shipped_agent_of_one_set_of_options_has_a_variant(name: str) -> None:
    variants = usual_variants(name)
    assert variants[0].game == make_game(name)
    of_one = {path for path in shipped_agents(name) if not load_header(path).variants}
    assert {variant.agent for variant in variants} >= of_one
    assert len({variant.id for variant in variants}) == len(variants)


def test_osiron_is_offered_with_every_named_start_and_with_ones_of_ones_own() -> None:
    variants = usual_variants("osiron")
    boards = [(each.game.options["setup"], each.game.options["movement"]) for each in variants]
    named = [board for board, each in zip(boards, variants, strict=True) if not each.is_own]
    setups, movements = ("beginner", "alternating", "random", "empty"), ("basic", "advanced")
    assert sorted(named) == sorted(product(setups, movements))
    own = [each for each in variants if each.is_own]
    assert [each.title for each in own] == ["your own setup", "your own setup, movement advanced"]
    assert [each.id for each in own] == ["osiron-own", "osiron-movement=advanced-own"]
    for each in own:  # which share their module with a named start
        assert each.game.options["setup"] == "beginner"
        assert each.diagram is not None
        assert each.diagram.start == 12 * "L" + 12 * "D"


def test_onyx_is_offered_with_the_swap() -> None:
    variants = {variant.id: variant for variant in usual_variants("onyx")}
    swap = variants["onyx-swap_rule=True"]
    assert swap.title == "size 12, swap rule"
    assert swap.agent == variants["onyx"].agent


def test_a_variant_with_a_clock_shares_network_and_levels(maker: Maker, tmp_path: Path) -> None:
    site = _build(tmp_path / "site", usual_variants("obelisk"))
    plain, clocked = site.games[0]["variants"]
    assert plain["clock"] == clocked["clock"]
    assert clocked["options"] == {**plain["options"], plain["clock"]["option"]: True}
    assert [plain[part] for part in ("network", "levels")] == [
        clocked[part] for part in ("network", "levels")
    ]
    assert plain["module"] != clocked["module"]
    scenes = [json.loads((site.folder / each["scene"]).read_text()) for each in (plain, clocked)]
    timeout = make_game("obelisk").action_names.index("timeout")
    assert [scene["clock"] and scene["clock"]["action"] for scene in scenes] == [None, timeout]


# Rules.


def test_rules_are_the_readmes_without_what_leads_off_the_page() -> None:
    text = rules_html(make_game("corso"))
    assert "<p>Invented by Ball-Man, 2023" in text
    assert "Cells start open" in text
    assert "README" not in text
    assert "The rules of Tic-tac-toe are not written down." in rules_html(TicTacToe())


@pytest.mark.parametrize("name", GAMES)
def test_rules_have_pictures_of_positions(name: str) -> None:
    html = rules_html(make_game(name))
    assert html.startswith('<dl class="short"><dt>Goal</dt>')
    figures = html.split("<figure>")[1:]
    assert figures
    for figure in figures:
        found = re.match(
            r'<img src="data:image/svg\+xml;base64,(.+)" alt="(.+)"><figcaption>(.+)</figcaption>'
            "</figure>",
            figure,
        )
        assert found is not None
        assert found[2] == found[3]
        picture = base64.b64decode(found[1]).decode()
        assert picture.startswith("<svg")
        assert "player_" not in picture


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[a](https://b)", '<a href="https://b" target="_blank" rel="noopener noreferrer">a</a>'),
        ("[a](../docs/x.md) b", "<p>a b</p>"),
        ("[a](//b.c)", "<p>a</p>"),
        ("![a](https://b.c/d.png)", "<p>a</p>"),
        ("<script>a</script>", "&lt;script&gt;"),
        ("<img src=x onerror=a>", "&lt;img"),
        ("|a|\n|-|\n|b|", "<td>b</td>"),
    ],
)  # fmt: skip
def test_markdown_becomes_harmless_html(text: str, html: str) -> None:
    assert html in markdown_html(text)


@pytest.mark.parametrize("scheme", ["javascript", "JavaScript", "data", "vbscript", "file", "ftp"])
def test_links_of_unknown_schemes_are_no_links(scheme: str) -> None:
    assert "<a" not in markdown_html(f"[a]({scheme}:b) <{scheme}:b>")


# Building.


def test_a_site_holds_the_page_the_games_and_a_list_of_all(maker: Maker, tmp_path: Path) -> None:
    site = _build(tmp_path / "site", [*usual_variants("corso"), Variant.of(TicTacToe())])
    listed = json.loads((tmp_path / "site" / LIST).read_text())
    found = {
        path.relative_to(tmp_path / "site").as_posix()
        for path in (tmp_path / "site").rglob("*")
        if path.is_file()
    }
    assert set(listed["files"]) | {LIST} == found == set(site.files)
    assert {"index.html", "app/main.js", "engine.js"} <= found
    assert {path.name for path in SCRIPTS.glob("*.js")} <= found
    corso, tictactoe = json.loads((tmp_path / "site" / INDEX).read_text())["games"]
    assert (corso["name"], corso["title"], corso["credit"]) == ("corso", "Corso", "Ball-Man, 2023")
    (variant,) = corso["variants"]
    named = {corso["rules"], *(variant[key] for key in ("module", "scene", "network", "levels"))}
    named.add(variant["exact"]["module"])
    assert variant["exact"]["source"] == "search made for Corso"
    assert named <= set(listed["on_demand"])  # the page loads them only for who plays that game
    shell = found - set(listed["on_demand"]) - {LIST, INDEX}
    assert shell == set(site_module.page_files())
    assert tictactoe["variants"][0]["network"] is tictactoe["variants"][0]["levels"] is None
    assert json.loads((tmp_path / "site" / variant["scene"]).read_text())["ground"]
    assert not list(tmp_path.glob("site.*"))


def test_only_what_is_stale_is_made_anew(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variants = usual_variants("corso")
    first = _build(tmp_path / "first", variants)
    assert sorted(maker.made) == ["corso", "corso", "exact corso"]
    assert first.is_current(variants[0])
    again = _build(tmp_path / "again", variants)
    assert _version(again) == _version(first)
    assert len(maker.made) == 3

    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(shipped_agents("corso")[0].read_bytes() + b" ")
    (variant,) = trained = [Variant(make_game("corso"), changed)]
    assert not again.is_current(variant)
    third = _build(tmp_path / "third", trained)
    assert len(maker.made) == 4
    assert _network(third) != _network(first)
    assert _version(third) != _version(first)

    monkeypatch.setattr(parts, "digest_of", lambda game: "other sources")
    assert not third.is_current(variant)
    _build(tmp_path / "fourth", trained)
    assert maker.made[4:] == ["corso"]
    monkeypatch.setattr(parts, "solver_digest", lambda game: "other sources")
    assert not third.is_current(variant)
    _build(tmp_path / "fifth", trained)
    assert maker.made[5:] == ["exact corso"]


def test_rules_and_what_packs_a_network_are_in_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random games give the ranges of its numbers."""
    (variant,) = usual_variants("corso")
    made = [parts.network_part(variant)]
    monkeypatch.setattr(variant.game.rules, "DYE", 4)
    made.append(parts.network_part(variant))
    monkeypatch.setattr(parts, "_PACKERS", parts._PACKERS[1:])
    made.append(parts.network_part(variant))
    assert len({part.address for part in made if part is not None}) == 3


def test_all_that_packs_a_network_counts_for_its_address() -> None:
    packers = {module.__name__.removeprefix("ludarium.") for module in parts._PACKERS}
    names = ("layers", "options", "shape", "weights")
    assert packers >= {f"models.{name}" for name in names}
    assert packers >= {"envs.batch", "training.networks", "play.wasm.network"}


def test_a_module_is_compiled_once_for_the_same_sources_and_limits(
    maker: Maker, tmp_path: Path
) -> None:
    folder = tmp_path / "modules"
    wanted = ["tictactoe", "--output", str(folder)]
    for more in ([], [], ["--simulations", "5"]):
        assert build.main([*wanted, *more]) == 0
    assert maker.made == ["tictactoe", "tictactoe"]
    assert {path.name for path in folder.iterdir()} == {"tictactoe.wasm", "tictactoe.scene.json"}
    assert b"simulations=5," in (folder / "tictactoe.wasm").read_bytes()


def test_what_the_page_that_came_along_has_is_taken_from_it(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build(tmp_path / "built")
    monkeypatch.setattr(parts, "cache_folder", lambda: tmp_path / "empty")
    made = len(maker.made)
    _build(tmp_path / "site")
    assert len(maker.made) == made


def test_a_part_that_cannot_be_kept_is_used_all_the_same(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(parts, "cache_folder", lambda: tmp_path / "file" / "cache")
    assert _build(tmp_path / "site").games


def test_a_build_that_dies_leaves_nothing_and_loses_no_part(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corso = usual_variants("corso")

    def die(*arguments: Any) -> None:
        raise KeyboardInterrupt

    for module, name in ((parts, "_packed"), (site_module, "take_place")):
        with monkeypatch.context() as during:
            during.setattr(module, name, die)
            with pytest.raises(KeyboardInterrupt):
                _build(tmp_path / "site", corso)
        assert not list(tmp_path.glob("site*"))
    maker.made.clear()
    _build(tmp_path / "site", corso)
    assert maker.made == []


def test_only_a_new_or_an_empty_folder_is_taken(maker: Maker, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for taken in (mine, mine / "thesis.txt", tmp_path / "link"):
        with pytest.raises(ValueError, match="is there already: give a new or an empty folder"):
            _build(taken)
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]
    assert not (tmp_path / "nowhere").exists()
    (mine / "thesis.txt").unlink()
    _build(mine)
    assert Site.read(mine).games
    with pytest.raises(ValueError, match="is there already"):
        _build(mine)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("[]", "the page's list of files in"),
        ('{"files": [7]}', "the page's list of files in"),
        ('{"files": ', "is not valid JSON"),
        ('{"version": "", "files": ["gone.html"], "on_demand": []}', "lacks 'gone.html'"),
    ],
)
def test_a_folder_that_is_no_whole_page_is_told(tmp_path: Path, listed: str, message: str) -> None:
    (tmp_path / LIST).write_text(listed)
    with pytest.raises(ValueError, match=message):
        Site.read(tmp_path)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ('{"format": 1}', "is not of format 2"),
        ('{"format": 2}', "games/index.json of the page: missing required field `games`"),
        ('{"format": 2, "games": [{"name": "corso"}]}', "missing required field `variants`"),
    ],
)
def test_a_list_of_games_that_is_damaged_is_told(tmp_path: Path, index: str, message: str) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / INDEX).write_text(index)
    with pytest.raises(ValueError, match=message):
        _ = Site(tmp_path).games


def test_one_more_variant_leaves_the_site_as_it_is(maker: Maker, tmp_path: Path) -> None:
    site = _build(tmp_path / "site", usual_variants("corso"))
    before = _version(site)
    run = Variant(make_game("corso"), shipped_agents("corso")[0], "mine")
    maker.made.clear()
    both = site.with_variant(run, tmp_path / "both")
    assert maker.made == ["corso@mine"]  # the network; the module is there already
    assert [each["id"] for each in both.games[0]["variants"]] == ["corso", "corso@mine"]
    assert both.is_current(run)
    assert Site.read(both.folder) == both
    assert _version(Site.read(tmp_path / "site")) == before != _version(both)

    game = Variant.of(TicTacToe())
    for number in (1, 2):
        both = site.with_variant(game, tmp_path / f"more{number}")
        assert [each["name"] for each in both.games] == ["corso", "tictactoe"]
    assert sorted(maker.made[1:]) == ["exact tictactoe", "tictactoe"]  # once: they are kept


def test_the_command_writes_a_folder_and_counts_what_it_makes(
    maker: Maker, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    assert main(["page", str(folder), "tictactoe"]) == 0
    monkeypatch.setattr(progress_bar, "_LINE_EVERY", 0)
    monkeypatch.setattr(progress_bar, "_ENOUGH", 0)
    folder = tmp_path / "more"
    assert main(["page", str(folder), "tictactoe", "corso?size=3", "corso"]) == 0
    printed = capsys.readouterr()
    assert "MB" in printed.out
    assert "parts of the page: 0 of 6, compiling corso" in printed.err  # tictactoe's are there
    assert re.search(r"page: 3 of 6, .* left\n", printed.err)
    games = {game["name"]: game["variants"] for game in Site.read(folder).games}
    assert [each["id"] for each in games["corso"]] == ["corso-size=3", "corso"]
    run = save_checkpoint(tiny_checkpoint(TicTacToe()), tmp_path / "mine" / "agent.safetensors")
    assert main(["page", str(tmp_path / "own"), str(run.parent)]) == 0
    (game,) = Site.read(tmp_path / "own").games
    assert [each["id"] for each in game["variants"]] == ["tictactoe@mine"]
    assert game["variants"][0]["network"]
    twin = save_checkpoint(
        tiny_checkpoint(TicTacToe()), tmp_path / "twin" / "mine" / "agent.safetensors"
    )
    for games, told in (
        (["chess"], "no game is called 'chess'"),
        ([str(tmp_path / "none")], f"there is no checkpoint at {tmp_path / 'none'}"),
        ([str(run.parent), str(twin.parent)], f"{run} and {twin} have one name on the page, mine"),
    ):
        assert main(["page", str(tmp_path / "other"), *games]) == 2
        assert told in capsys.readouterr().err


# Serving.


@contextmanager
def _serving(folder: Path) -> Iterator[PageServer]:
    with PageServer(folder) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    folder = tmp_path / "page"
    for name in ("index.html", "app/a.js", "games/a=1.wasm", "b.webmanifest", "c.network"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    (tmp_path / "secret.txt").write_text("secret")
    with _serving(folder) as server:
        yield server


def _ask(
    server: PageServer, path: str, method: str = "GET", host: str | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("/", "index.html", "text/html; charset=utf-8"),
        ("/index.html?x=1", "index.html", "text/html; charset=utf-8"),
        ("/app/a.js", "app/a.js", "text/javascript; charset=utf-8"),
        ("/games/a%3D1.wasm", "games/a=1.wasm", "application/wasm"),
        ("/b.webmanifest", "b.webmanifest", "application/manifest+json"),
        ("/c.network", "c.network", "application/octet-stream"),
    ],
)
def test_files_are_served_with_their_types(
    server: PageServer, path: str, name: str, kind: str
) -> None:
    status, headers, content = _ask(server, path)
    assert (status, content, headers["Content-Type"]) == (200, name.encode(), kind)
    assert headers["Cache-Control"] == "no-cache"
    status, headers, content = _ask(server, path, "HEAD")
    assert (status, content, headers["Content-Type"]) == (200, b"", kind)
    assert headers["Content-Length"] == str(len(name))


@pytest.mark.parametrize(
    "path",
    [
        "/secret.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/app/../../secret.txt", "/app/",
        "/games/", "/etc/passwd", "//etc/passwd", "/%00", "/%ed%a0%80", "/index.html/", "/[",
        "/..%5csecret.txt", "//[",
    ],
)  # fmt: skip
def test_nothing_but_the_files_of_the_page_is_served(server: PageServer, path: str) -> None:
    status, _, content = _ask(server, path)
    assert status == 404
    assert b"secret" not in content.replace(path.encode(), b"")


def test_a_link_that_leads_out_of_the_page_is_not_followed(server: PageServer) -> None:
    (server.folder / "out.txt").symlink_to(server.folder.parent / "secret.txt")
    (server.folder / "out").symlink_to(server.folder.parent)
    (server.folder / "within.html").symlink_to(server.folder / "index.html")
    assert [_ask(server, path)[0] for path in ("/out.txt", "/out/secret.txt")] == [404, 404]
    assert _ask(server, "/within.html")[2] == b"index.html"


def _raw(server: PageServer, request: str) -> bytes:
    """The answer to a request that no library would send."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=120) as connection:
        connection.sendall(request.encode())
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


@pytest.mark.parametrize(
    "target", ["http://[", "http://[/../..", "http://evil.example/", "http://127.0.0.1/", "*"]
)
def test_what_names_another_site_is_refused(
    server: PageServer, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    host = f"Host: 127.0.0.1:{server.server_port}"
    status = _raw(server, f"GET {target} HTTP/1.1\r\n{host}\r\n\r\n").split()[1]
    assert status in (b"421", b"400")
    assert _ask(server, "/")[0] == 200
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("is_kept", "told"), [(True, "no-cache"), (False, "no-store")])
def test_a_server_says_whether_the_page_may_be_kept(
    server: PageServer, is_kept: bool, told: str
) -> None:
    server.is_kept = is_kept
    assert _ask(server, "/")[1]["Cache-Control"] == told


def test_another_sites_name_is_refused(server: PageServer) -> None:
    assert _ask(server, "/", host=f"evil.example:{server.server_port}")[0] == 421
    assert _ask(server, "/", host=f"localhost:{server.server_port}")[0] == 200
    assert _ask(server, "/", host="localhost")[0] == 421


def test_clients_leave_out_the_usual_port(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludarium.play.server.HTTP_PORT", server.server_port)
    assert _ask(server, "/", host="localhost")[0] == 200


def test_only_this_machine_is_served(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_port_that_is_taken_is_told_or_another_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} of 127.0.0.1 cannot be used"):
            PageServer(tmp_path, port)
        monkeypatch.setattr("ludarium.play.server.USUAL_PORT", port)
        with PageServer(tmp_path) as server:
            assert server.server_port != port
    with pytest.raises(ValueError, match="port is 0; accepted: 1 to 65535"):
        PageServer(tmp_path, 0)


# Scripts of the page, without a browser.


def test_the_service_worker_keeps_versions_apart_and_loses_no_file() -> None:
    run_tests(Path(__file__).with_name("sw.test.mjs"))


def test_parts_of_the_page_without_a_browser(tmp_path: Path) -> None:
    for address, content in site_module.page_files().items():
        (tmp_path / address).parent.mkdir(exist_ok=True)
        (tmp_path / address).write_bytes(content)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run_tests(Path(__file__).with_name("page.test.mjs"), SITE=tmp_path)


# The real thing.


@pytest.mark.slow
def test_tictactoe_is_built_and_corsos_network_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the page."""
    try:
        linker.find_zig()
    except LinkerError as error:
        pytest.skip(str(error))
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setattr(parts, "BUILT", tmp_path / "built")
    monkeypatch.setattr(parts, "cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<p>page</p>")
    monkeypatch.setattr(site_module, "PAGE", tmp_path / "page")
    variants = [Variant.of(TicTacToe()), *usual_variants("corso")]
    site = write_site(tmp_path / "site", variants)
    assert all(site.is_current(variant) for variant in variants)
    network = (site.folder / site.games[1]["variants"][0]["network"]).read_bytes()
    assert network.startswith(MAGIC)


@pytest.mark.skipif(not parts.BUILT.is_dir(), reason="the page is not built: make page")
def test_the_built_page_is_whole_and_current() -> None:
    site = Site.read(parts.BUILT)
    stale = [variant.id for name in GAMES for variant in usual_variants(name)
             if not site.is_current(variant)]  # fmt: skip
    assert not stale, "make page"
