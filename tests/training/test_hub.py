"""Agents on the hub: put there and played by name, from a server that answers as the hub does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest

from ludarium.training.agents.hub import FILE, MOST_BYTES, HubFactory, fetch
from ludarium.training.agents.names import read_agent, read_trained_agent
from tests.processes import LUDARIUM, python

from .hub_server import HubServer, hub_server

pytest.importorskip("huggingface_hub", reason='no client: pip install "ludarium[hub]"')

SHIPPED = Path(__file__).resolve().parents[2] / "models/shipped"
CORSO = (SHIPPED / "corso.safetensors").read_bytes()


@pytest.fixture
def server() -> Iterator[HubServer]:
    with hub_server() as running:
        running.files["ada/corso"] = {FILE: CORSO}
        yield running


def ludarium(
    server: HubServer, home: Path, *words: str, **environment: str
) -> CompletedProcess[str]:
    """A command, with this server as its hub and a home folder of its own."""
    given = {"HF_ENDPOINT": server.address, "HF_HOME": str(home), "HF_TOKEN": server.token}
    given |= {"HF_HUB_DISABLE_TELEMETRY": "1", **environment}
    return python(LUDARIUM, *words, environment=given)


PROBE = ("accuracy", "hf:ada/corso:0", "--test", "hard", "--json")


def test_an_agent_of_the_hub_plays_by_name(server: HubServer, tmp_path: Path) -> None:
    first = ludarium(server, tmp_path, *PROBE)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)
    fetched = [path for method, path in server.asked if method == "GET"]
    assert fetched == [f"/ada/corso/resolve/main/{FILE}"]
    server.asked.clear()
    again = ludarium(server, tmp_path, *PROBE)
    assert again.stdout == first.stdout
    assert [method for method, _ in server.asked if method == "GET"] == []
    server.asked.clear()
    offline = ludarium(server, tmp_path, *PROBE, HF_HUB_OFFLINE="1")
    assert offline.stdout == first.stdout
    assert server.asked == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hf:ada/chess", "hf:ada/chess: "),
        ("hf:ada/corso@old", "hf:ada/corso@old: "),
        ("hf:ada/empty", "hf:ada/empty: "),
        ("hf:ada/huge", f"has {10**9:,} bytes, and an agent has at most {MOST_BYTES:,}"),
        ("hf:ada/pickle", "is not a readable safetensors file"),
    ],
)
def test_what_is_no_agent_is_refused_in_a_line(
    name: str, told: str, server: HubServer, tmp_path: Path
) -> None:
    pickled = b"cos\nsystem\n(S'touch broken'\ntR."
    server.files |= {"ada/empty": {}, "ada/huge": {FILE: CORSO}, "ada/pickle": {FILE: pickled}}
    server.sizes["ada/huge"] = 10**9
    done = ludarium(server, tmp_path, "evaluate", name, "--against", "random", "--games", "2")
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "GET" not in [method for method, path in server.asked if "huge" in path]
    assert not Path("broken").exists()


def test_a_file_of_unknown_size_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: str, dry_run: bool = False, **__: str | None) -> SimpleNamespace:
        assert dry_run
        return SimpleNamespace(file_size=None)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(ValueError, match=r"^hf:ada/corso: agent\.safetensors has an unknown numb"):
        fetch("ada/corso")


def test_names_are_checked_before_anything_is_asked(server: HubServer) -> None:
    agent = read_trained_agent("hf:ada/corso@main:7?temperature=0.5")
    assert isinstance(agent, HubFactory)
    assert (agent.repository, agent.revision, agent.simulations) == ("ada/corso", "main", 7)
    assert agent.label == "ada/corso@main"
    for wrong in ("hf:", "hf:corso", "hf:a/b/c", "hf:../x", "hf:ada/corso@", "hf:ada/corso:fast"):
        with pytest.raises(ValueError, match="accepted: "):
            read_agent(wrong)
    with pytest.raises(ValueError, match="asks another machine, so it is not taken from a file"):
        read_agent("hf:ada/corso", from_file=True)
    assert server.asked == []


def test_push_puts_an_agent_there_with_its_page(server: HubServer, tmp_path: Path) -> None:
    done = ludarium(server, tmp_path, "push", "corso", "ada/mine", "--private")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{server.address}/ada/mine\n"
    assert server.files["ada/mine"][FILE] == CORSO
    assert server.private["ada/mine"]
    card = server.files["ada/mine"]["README.md"].decode()
    assert card.startswith("---\nlibrary_name: ludarium\n")
    assert "64 channels, 8 residual blocks" in card
    assert "ludarium play hf:ada/mine" in card
    assert "../" not in card
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(CORSO)
    assert ludarium(server, tmp_path, "push", str(copy), "ada/mine").returncode == 0
    assert "| learner steps |" in server.files["ada/mine"]["README.md"].decode()


def test_push_without_a_token_says_so(server: HubServer, tmp_path: Path) -> None:
    done = ludarium(server, tmp_path, "push", "corso", "ada/mine", HF_TOKEN="hf_wrong")
    assert done.returncode == 2
    assert "ada/mine was not written: " in done.stderr
    assert "401" in done.stderr
    assert "ada/mine" not in server.files
