"""Agents on the hub, put there and played by name; the client's functions are stood in for."""

from __future__ import annotations

import inspect
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from ludarium.cli import main
from ludarium.training.agents.hub import FILE, MOST_BYTES, HubSpec
from ludarium.training.agents.names import read_agent, read_trained_agent

huggingface_hub = pytest.importorskip(
    "huggingface_hub", reason='no client: pip install "ludarium[hub]"'
)

SHIPPED = Path(__file__).resolve().parents[2] / "models/shipped"
CORSO = (SHIPPED / "corso.safetensors").read_bytes()


class Hub:
    """Stands in for the client's functions; what these would not take is an error.

    Attributes:
        files: contents by repository and name.
        sizes: what is said of a file's size, where that is not its length.
        private: whether a repository was made so.
        asked: repository, revision and ``dry_run`` of each download.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.files: dict[str, dict[str, bytes]] = {"ada/corso": {FILE: CORSO}}
        self.sizes: dict[str, int | None] = {}
        self.private: dict[str, bool] = {}
        self.asked: list[tuple[str, str | None, bool]] = []
        for name in ("hf_hub_download", "HfApi.create_repo", "HfApi.create_commit"):
            signature = inspect.signature(attrgetter(name)(huggingface_hub))
            own = getattr(self, name.rpartition(".")[2])

            def called(*given: Any, own: Any = own, of: Any = signature, **named: Any) -> Any:
                arguments = of.bind(*given, **named).arguments
                arguments.pop("self", None)
                return own(**arguments)

            monkeypatch.setattr(f"huggingface_hub.{name}", called)

    def hf_hub_download(
        self, repo_id: str, filename: str, revision: str | None = None, dry_run: bool = False
    ) -> Any:
        self.asked.append((repo_id, revision, dry_run))
        if revision not in (None, "main") or filename not in self.files.get(repo_id, {}):
            raise OSError("404 Client Error.\n\nNot Found")
        content = self.files[repo_id][filename]
        path = self.folder / filename
        if dry_run:
            size = self.sizes.get(repo_id, len(content))
            return huggingface_hub.DryRunFileInfo("0", size, filename, str(path), False, True)
        path.write_bytes(content)
        return str(path)

    def create_repo(self, repo_id: str, private: bool, exist_ok: bool) -> str:
        assert exist_ok
        self.private.setdefault(repo_id, private)
        return f"https://hub/{repo_id}"

    def create_commit(self, repo_id: str, operations: list[Any], **_: str) -> None:
        added = {each.path_in_repo: each.path_or_fileobj for each in operations}
        self.files[repo_id] = self.files.get(repo_id, {}) | added


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    return Hub(tmp_path, monkeypatch)


def test_an_agent_of_the_hub_plays_by_name(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "hf:ada/corso@main:0", "--against", "random", "--games", "2"]
    assert main(command) == 0
    assert "ada/corso@main" in capsys.readouterr().out
    assert hub.asked[:2] == [("ada/corso", "main", True), ("ada/corso", "main", False)]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hf:ada/chess", "hf:ada/chess: 404 Client Error. Not Found"),
        ("hf:ada/corso@old", "hf:ada/corso@old: 404 Client Error. Not Found"),
        ("hf:ada/huge", f"has {10**9:,} bytes, and an agent has at most {MOST_BYTES:,}"),
        ("hf:ada/unknown", "hf:ada/unknown: agent.safetensors has an unknown number of bytes"),
        ("hf:ada/pickle", "is not a readable safetensors file"),
    ],
)
def test_what_is_no_agent_is_refused_in_a_line(
    name: str,
    told: str,
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pickled = b"cos\nsystem\n(S'touch broken'\ntR."
    hub.files |= {f"ada/{each}": {FILE: CORSO} for each in ("huge", "unknown")}
    hub.files["ada/pickle"] = {FILE: pickled}
    hub.sizes = {"ada/huge": 10**9, "ada/unknown": None}
    assert main(["evaluate", name, "--against", "random", "--games", "2"]) == 2
    assert told in capsys.readouterr().err
    assert name == "hf:ada/pickle" or all(dry_run for *_, dry_run in hub.asked)
    assert not Path("broken").exists()


def test_names_are_checked_before_anything_is_asked(hub: Hub) -> None:
    agent = read_trained_agent("hf:ada/corso@main:7?temperature=0.5")
    assert isinstance(agent, HubSpec)
    assert (agent.repository, agent.revision, agent.simulations) == ("ada/corso", "main", 7)
    assert agent.short == "ada/corso@main"
    assert agent.label == "ada/corso@main:7?temperature=0.5"
    for wrong in ("hf:", "hf:corso", "hf:a/b/c", "hf:../x", "hf:ada/corso@", "hf:ada/corso:fast"):
        with pytest.raises(ValueError, match="accepted: "):
            read_agent(wrong)
    with pytest.raises(ValueError, match="asks another machine, so it is not taken from a file"):
        read_agent("hf:ada/corso", from_file=True)
    assert hub.asked == []


def test_push_puts_an_agent_there_with_its_page(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", "corso", "ada/mine", "--private"]) == 0
    assert capsys.readouterr().out == "https://hub/ada/mine\n"
    assert hub.files["ada/mine"][FILE] == CORSO
    assert hub.private["ada/mine"]
    card = hub.files["ada/mine"]["README.md"].decode()
    assert card.startswith("---\nlibrary_name: ludarium\n")
    assert "64 channels, 8 residual blocks" in card
    assert "ludarium play hf:ada/mine" in card
    assert "../" not in card
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(CORSO)
    assert main(["push", str(copy), "ada/mine"]) == 0
    assert "| learner steps |" in hub.files["ada/mine"]["README.md"].decode()
    card = copy.with_suffix(".md")
    brackets = "[" * 300_000 + "[a](" * 100_000  # in linear time
    card.write_text(f"It plays well: [see](games(2).md), ![it](it.png)[w](https://w). {brackets}\n")
    assert main(["push", str(copy), "ada/mine"]) == 0
    told = f"\nIt plays well: see, it[w](https://w). {brackets}\n"
    assert told in hub.files["ada/mine"]["README.md"].decode()
    card.write_bytes(b"\xff")
    assert main(["push", str(copy), "ada/mine"]) == 2
    assert "copy.md is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [OSError, Exception])  # a lost connection may be of any kind
def test_a_push_that_the_hub_refuses_says_so(
    kind: type[Exception],
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise kind("401 Client Error.\n\nInvalid username or password.")

    assert issubclass(huggingface_hub.errors.HfHubHTTPError, OSError)
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", refuse)
    assert main(["push", "corso", "ada/mine"]) == 2
    told = "ada/mine was not written: 401 Client Error. Invalid username or password.\n"
    assert told in capsys.readouterr().err
    assert "ada/mine" not in hub.files
