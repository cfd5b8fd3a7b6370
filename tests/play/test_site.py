"""The page as a folder of files: what is in it, when a part is made anew, and how it is served."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ludarium.cli import main
from ludarium.envs import GAMES, Game
from ludarium.envs.registry import make_game
from ludarium.play import site as site_module
from ludarium.play import vendor as vendor_module
from ludarium.play.rules_page import markdown_html, rules_html
from ludarium.play.server import PageServer
from ludarium.play.site import BUILT, INDEX, LIST, SCRIPTS, Site, write_site
from ludarium.play.variants import Variant, usual_variants
from ludarium.play.vendor import Library
from ludarium.play.wasm import Limits, LinkerError, Module, digest_of, linker, module_name
from ludarium.play.wasm.module import SECTION, custom_section
from ludarium.training.agents.checkpoints import shipped_agents, telling_options
from tests.tictactoe import TicTacToe

LIBRARY = Library("lib", "1", {"a.mjs": hashlib.sha512(b"library").hexdigest()})


class Maker:
    """Stands in for what takes long, and notes what was asked of it."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def build_module(self, game: Game) -> Module:
        self.made.append(module_name(game))
        manifest = {
            "format": 1,
            "name": module_name(game),
            "sources": digest_of(game),
            "description": {"game": game.name, "options": game.options},
            "search": {"limits": asdict(Limits())},
        }
        section = custom_section(SECTION, json.dumps(manifest).encode())
        return Module(b"\0asm\x01\0\0\0" + section, manifest)

    def build_solver(self, game: Game) -> Module:
        self.made.append(f"exact {module_name(game)}")
        return Module(b"\0asm\x01\0\0\0", {})

    def export(self, variant: Variant, path: Path) -> None:
        self.made.append(path.name)
        path.write_bytes(b"network")

    def fetch(self, folder: Path) -> None:
        self.made.append("library")
        folder.mkdir(exist_ok=True)
        (folder / "a.mjs").write_bytes(b"library")


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Maker:
    """A page of one file, and nothing that takes long."""
    maker = Maker()
    (tmp_path / "page" / "app").mkdir(parents=True)
    (tmp_path / "page" / "index.html").write_text("<p>page</p>")
    (tmp_path / "page" / "app" / "main.js").write_text("1")
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setattr(site_module, "PAGE", tmp_path / "page")
    monkeypatch.setattr(site_module, "build_module", maker.build_module)
    monkeypatch.setattr(site_module, "build_solver", maker.build_solver)
    monkeypatch.setattr(site_module, "_export", maker.export)
    monkeypatch.setattr(Library, "pinned", lambda: LIBRARY)
    monkeypatch.setattr(Library, "fetch", lambda self, folder: maker.fetch(folder))
    return maker


def _quiet(line: str) -> None:
    pass


def _build(folder: Path, *near: Path, variants: list[Variant] | None = None) -> Site:
    return write_site(folder, variants or usual_variants("tictactoe"), near, say=_quiet)


# What there is to play.


@pytest.mark.parametrize("command", [["play", "onyx", "--no-browser"], ["games"], ["agents"]])
def test_torch_is_not_loaded_to_begin_a_game_or_to_list_what_there_is(
    maker: Maker, tmp_path: Path, command: list[str]
) -> None:
    """It takes longer to load than all the rest; a checkpoint's header tells what is needed."""
    _build(tmp_path / "site", variants=usual_variants("onyx"))
    code = f"""
import sys
from pathlib import Path
from ludarium.cli import main, play
from ludarium.play import site
served = []
site.BUILT = Path({str(tmp_path / "site")!r})
play._serve = lambda site, fragment, given: served.append(fragment) or 0
assert main({command!r}) == 0
assert len(served) == {int(command[0] == "play")}, served
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_corso_comes_with_its_agent_and_levels() -> None:
    (variant,) = usual_variants("corso")
    assert (variant.id, variant.title, variant.game.options) == ("corso", "size 5", {"size": 5})
    assert variant.agent == shipped_agents("corso")[0]
    assert variant.ladder is not None
    assert variant.ladder.name == "corso.levels.json"


@pytest.mark.usefixtures("without_agents_of_many")
def test_a_variant_may_have_no_agent() -> None:
    assert Variant.of(make_game("corso", size=6)).agent is None


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
def test_every_shipped_agent_has_a_variant(name: str) -> None:
    variants = usual_variants(name)
    assert variants[0].game == make_game(name)
    assert {variant.agent for variant in variants} >= set(telling_options(name))
    assert len({variant.id for variant in variants}) == len(variants)


def test_a_game_with_a_clock_is_offered_with_it_and_with_the_same_agent() -> None:
    plain, clocked = usual_variants("obelisk")
    assert (plain.game.running_clock, clocked.game.running_clock) == (None, plain.game.clock)
    assert clocked.title == "scoring points, hourglass"
    assert clocked.without_clock == plain
    assert (clocked.agent, clocked.ladder) == (plain.agent, plain.ladder)
    assert clocked.ladder is not None


def test_a_variant_with_a_clock_shares_network_and_levels(maker: Maker, tmp_path: Path) -> None:
    site = _build(tmp_path / "site", variants=usual_variants("obelisk"))
    plain, clocked = site.games[0]["variants"]
    assert plain["clock"] == clocked["clock"]
    assert clocked["options"] == {**plain["options"], plain["clock"]["option"]: True}
    assert [plain[part] for part in ("network", "levels")] == [
        clocked[part] for part in ("network", "levels")
    ]
    assert plain["module"] != clocked["module"]
    scenes = [json.loads(site.files[each["scene"]].read_text()) for each in (plain, clocked)]
    timeout = make_game("obelisk").action_names.index("timeout")
    assert [scene["clock"] and scene["clock"]["action"] for scene in scenes] == [None, timeout]


# Rules.


def test_rules_are_the_readmes_without_what_leads_off_the_page() -> None:
    text = rules_html(make_game("corso"))
    assert "<p>Invented by Ball-Man, 2023" in text
    assert "Cells start open" in text
    assert "README" not in text
    assert "The rules of Tic-tac-toe are not written down." in rules_html(TicTacToe())


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
    site = _build(tmp_path / "site", variants=[*usual_variants("corso"), Variant.of(TicTacToe())])
    listed = json.loads((tmp_path / "site" / LIST).read_text())
    found = {
        path.relative_to(tmp_path / "site").as_posix()
        for path in (tmp_path / "site").rglob("*")
        if path.is_file()
    }
    assert set(listed["files"]) | {LIST} == found == set(site.files)
    assert {"index.html", "app/main.js", "engine.js", "vendor/onnxruntime-web/LICENSE"} <= found
    assert {path.name for path in SCRIPTS.glob("*.js")} <= found
    corso, tictactoe = json.loads((tmp_path / "site" / INDEX).read_text())["games"]
    assert (corso["name"], corso["title"], corso["credit"]) == ("corso", "Corso", "Ball-Man, 2023")
    (variant,) = corso["variants"]
    assert variant["levels"] == "levels/corso.levels.json"
    named = [corso["rules"], *(variant[key] for key in ("module", "scene", "network", "levels"))]
    named.append(variant["exact"]["module"])
    assert variant["exact"]["source"] == "search made for Corso"
    waiting = {variant["exact"]["module"], tictactoe["variants"][0]["exact"]["module"]}
    assert set(listed["on_demand"]) == waiting  # the page loads them only for an analysis
    assert set(named) <= found
    assert tictactoe["variants"][0]["network"] is tictactoe["variants"][0]["levels"] is None
    assert json.loads((tmp_path / "site" / variant["scene"]).read_text())["ground"]
    assert not (tmp_path / "site.partial").exists()


def test_only_what_is_stale_is_made_anew(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, variants = tmp_path / "site", usual_variants("corso")
    first = _build(folder, variants=variants)
    before = first.version
    network = first.games[0]["variants"][0]["network"]
    assert maker.made == ["library", "corso", Path(network).name, "exact corso"]
    assert first.is_current(variants[0])
    again = _build(folder, variants=variants)
    assert again.version == before
    _build(tmp_path / "other", folder, variants=variants)  # taken from the first
    assert len(maker.made) == 4

    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(shipped_agents("corso")[0].read_bytes() + b" ")
    (variant,) = trained = [Variant(make_game("corso"), changed)]
    assert not again.is_current(variant)
    third = _build(folder, variants=trained)
    assert len(maker.made) == 5
    assert not (folder / network).exists()
    assert third.version != before

    monkeypatch.setattr("ludarium.play.wasm.module.digest_of", lambda game: "other sources")
    assert not third.is_current(variant)
    _build(folder, variants=trained)
    assert maker.made[5:] == ["corso"]
    monkeypatch.setattr(site_module, "solver_digest", lambda game: "other sources")
    assert not third.is_current(variant)
    _build(folder, variants=trained)
    assert maker.made[6:] == ["corso", "exact corso"]


def test_a_damaged_module_or_library_is_made_anew(maker: Maker, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    _build(folder)
    (folder / "games/tictactoe.wasm").write_bytes(b"\0asm")
    (folder / "vendor/onnxruntime-web/a.mjs").write_bytes(b"other")
    _build(folder)
    assert maker.made == ["library", "tictactoe", "exact tictactoe", "library", "tictactoe"]


def test_a_build_that_dies_leaves_the_old_site_and_loses_no_part(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    before = _build(folder).version
    corso = usual_variants("corso")

    def die(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(site_module, "_export", die)
        with pytest.raises(KeyboardInterrupt):
            _build(folder, variants=corso)
        with pytest.raises(KeyboardInterrupt):
            _build(tmp_path / "new", variants=corso)
    assert Site.read(folder).version == before
    assert not (tmp_path / "new").exists()
    made = len(maker.made)
    _build(folder, variants=corso)
    assert maker.made[made + 1 :] == ["exact corso"]  # the network, and not the module once more


def test_files_of_others_stay_and_a_folder_of_others_is_refused(
    maker: Maker, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    _build(folder)
    (folder / "CNAME").write_text("games.example")
    _build(folder, variants=usual_variants("corso"))
    assert (folder / "CNAME").read_text() == "games.example"
    assert not (folder / "games/tictactoe.wasm").exists()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match="holds no page, but something else"):
        _build(mine)
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_two_builds_of_one_folder_do_not_meet(maker: Maker, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    (tmp_path / "site.partial").mkdir()
    with (
        site_module._locked(tmp_path / "site.partial"),
        pytest.raises(ValueError, match="is in use by process"),
    ):
        _build(folder)
    _build(folder)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["../secret", INDEX], "names '../secret'"),
        (["/etc/passwd", INDEX], "names '/etc/passwd'"),
        (["a\\..\\b", INDEX], "which is no file of a page"),
        (["index.html"], "is no list of a page"),
        ("index.html", "is no list of a page"),
        ([7, INDEX], "names 7"),
        (["gone.html", INDEX], "lacks 'gone.html'"),
        ([INDEX], "was changed after it was built"),
    ],
)
def test_a_folder_that_is_no_whole_page_is_refused(
    tmp_path: Path, files: Any, message: str
) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / INDEX).write_text("{}")
    (tmp_path / LIST).write_text(json.dumps({"version": "1", "files": files}))
    with pytest.raises(ValueError, match=message):
        Site.read(tmp_path)


def test_one_more_variant_leaves_the_site_as_it_is(maker: Maker, tmp_path: Path) -> None:
    site = _build(tmp_path / "site", variants=usual_variants("corso"))
    kept, overlay = tmp_path / "kept", tmp_path / "overlay"
    run = Variant(make_game("corso"), shipped_agents("corso")[0], "mine")
    maker.made.clear()
    both = site.with_variant(run, overlay, kept, _quiet)
    assert [Path(name).suffix for name in maker.made] == [".onnx"]  # the module is there already
    assert [each["id"] for each in both.games[0]["variants"]] == ["corso", "corso@mine"]
    assert both.is_current(run)
    listed = json.loads(both.files[LIST].read_text())
    assert listed["version"] == both.version != site.version
    assert set(listed["files"]) | {LIST} == set(both.files)
    assert all(path.is_file() for path in both.files.values())
    assert Site.read(tmp_path / "site").version == site.version

    game = Variant.of(TicTacToe())
    for number in (1, 2):
        both = site.with_variant(game, tmp_path / f"overlay{number}", kept, _quiet)
        assert [each["name"] for each in both.games] == ["corso", "tictactoe"]
    assert maker.made[1:] == ["tictactoe", "exact tictactoe"]  # once: they are kept


def test_the_command_writes_a_folder(maker: Maker, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "out"
    assert main(["page", str(folder), "tictactoe", "corso?size=3", "corso"]) == 0
    assert "MB" in capsys.readouterr().out
    games = {game["name"]: game["variants"] for game in Site.read(folder).games}
    assert [each["id"] for each in games["corso"]] == ["corso-size=3", "corso"]
    assert main(["page", str(folder), "chess"]) == 2
    assert "no game is called 'chess'" in capsys.readouterr().err


# The library.


def test_the_library_is_refused_without_npm_or_with_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tarfile

    (tmp_path / "package" / "dist").mkdir(parents=True)
    (tmp_path / "package" / "dist" / "a.mjs").write_bytes(b"library")

    def pack(command: list[str], cwd: Path, **others: Any) -> Any:
        assert command[1:3] == ["pack", "lib@1"]
        with tarfile.open(cwd / "lib-1.tgz", "w:gz") as archive:
            archive.add(tmp_path / "package", "package")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(vendor_module.subprocess, "run", pack)
    monkeypatch.setattr(vendor_module.shutil, "which", lambda name: name)
    LIBRARY.fetch(tmp_path / "vendor")
    assert LIBRARY.is_whole(tmp_path / "vendor")
    (tmp_path / "package" / "dist" / "a.mjs").write_bytes(b"malice")
    with pytest.raises(ValueError, match=r"a\.mjs of lib 1 is not the file that .* names"):
        LIBRARY.fetch(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    missing = Library("lib", "1", {"b.mjs": ""})
    with pytest.raises(ValueError, match=r"b\.mjs of lib 1 is not the file"):
        missing.fetch(tmp_path / "other")
    monkeypatch.setattr(vendor_module.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"install Node\.js, which brings npm"):
        LIBRARY.fetch(tmp_path / "other")


def test_the_library_comes_with_its_licence() -> None:
    assert b"Microsoft" in vendor_module.licences()["LICENSE"]
    assert {len(digest) for digest in Library.pinned().files.values()} == {128}


# Serving.


@contextmanager
def _serving(files: dict[str, Path]) -> Iterator[PageServer]:
    with PageServer(files) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    files = {}
    for name in ("index.html", "app/a.mjs", "games/a=1.wasm", "b.webmanifest", "c.onnx"):
        files[name] = tmp_path / name
        files[name].parent.mkdir(exist_ok=True)
        files[name].write_bytes(name.encode())
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path.parent / "outside.txt").write_text("secret")
    with _serving(files) as server:
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
        ("/app/a.mjs", "app/a.mjs", "text/javascript; charset=utf-8"),
        ("/games/a%3D1.wasm", "games/a=1.wasm", "application/wasm"),
        ("/b.webmanifest", "b.webmanifest", "application/manifest+json"),
        ("/c.onnx", "c.onnx", "application/octet-stream"),
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
        "/secret.txt", "/../outside.txt", "/%2e%2e/outside.txt", "/app/../secret.txt", "/app/",
        "/app", "/games", "/etc/passwd", "/%00", "/index.html/", "/..%5csecret.txt",
    ],
)  # fmt: skip
def test_nothing_but_the_files_of_the_page_is_served(server: PageServer, path: str) -> None:
    status, _, content = _ask(server, path)
    assert status == 404
    assert b"secret" not in content.replace(path.encode(), b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_but_get_and_head_is_answered(server: PageServer, method: str) -> None:
    assert _ask(server, "/", method)[0] == 501


@pytest.mark.parametrize(("is_kept", "told"), [(True, "no-cache"), (False, "no-store")])
def test_a_server_says_whether_the_page_may_be_kept(
    server: PageServer, is_kept: bool, told: str
) -> None:
    server.is_kept = is_kept
    assert _ask(server, "/")[1]["Cache-Control"] == told


def test_another_sites_name_is_refused(server: PageServer) -> None:
    assert _ask(server, "/", host=f"evil.example:{server.server_port}")[0] == 421
    assert _ask(server, "/", host=f"localhost:{server.server_port}")[0] == 200


def test_only_this_machine_is_served(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_port_that_is_taken_is_told_or_another_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} of 127.0.0.1 cannot be had"):
            PageServer({}, port)
        monkeypatch.setattr("ludarium.play.server.USUAL_PORT", port)
        with PageServer({}) as server:
            assert server.server_port != port
    with pytest.raises(ValueError, match="--port is 0; accepted: 1 to 65535"):
        PageServer({}, 0)


# The real thing.


@pytest.mark.slow
def test_tictactoe_is_built_and_corsos_network_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the library, which npm would fetch, and the page."""
    try:
        linker.find_zig()
    except LinkerError as error:
        pytest.skip(str(error))
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    monkeypatch.setattr(Library, "pinned", lambda: LIBRARY)
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "a.mjs").write_bytes(b"library")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<p>page</p>")
    monkeypatch.setattr(site_module, "PAGE", tmp_path / "page")
    variants = [Variant.of(TicTacToe()), *usual_variants("corso")]
    site = write_site(tmp_path / "site", variants, vendor=tmp_path / "vendor", say=_quiet)
    assert all(site.is_current(variant) for variant in variants)
    from ludarium.models.export import load_exported

    network = load_exported(site.files[site.games[1]["variants"][0]["network"]])
    assert network.metadata["game"] == "corso"


@pytest.mark.skipif(not BUILT.is_dir(), reason="the page is not built: make page")
def test_the_built_page_is_whole_and_current(tmp_path: Path) -> None:
    site = Site.read(BUILT)
    stale = [variant.id for name in GAMES for variant in usual_variants(name)
             if not site.is_current(variant)]  # fmt: skip
    assert not stale, "make page"
    shutil.copytree(BUILT, tmp_path / "copy")
    (tmp_path / "copy" / "index.html").write_text("<p>changed</p>")
    with pytest.raises(ValueError, match="was changed after it was built"):
        Site.read(tmp_path / "copy")
