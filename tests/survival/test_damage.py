"""One file of a run is damaged: it is named in one line, and either mended or refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("sb3_contrib")

from ludarium.base.durable import StorageError
from ludarium.cli import main
from ludarium.configs import apply_settings, load_config
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.state import State, pack_state, unpack_state

from .mutate import damaged
from .tiny import FLIPS, TIMES, fingerprint, metrics, train

#: Files that nothing is gone on with: they are left, or written again.
_UNREAD = ("tensorboard/", "lock", "config.yaml", "agent.safetensors", "agents/")


def files_of(run: Path) -> list[str]:
    """The files of a run that matter, by their paths in its folder; the latest of its states."""
    latest = max(run.glob("state-*")).name
    names = sorted(file.relative_to(run).as_posix() for file in run.rglob("*") if file.is_file())
    return [
        name
        for name in names
        if not name.startswith(_UNREAD) and (name == latest or not name.startswith("state-"))
    ]


def damage(file: Path, how: str, rng: np.random.Generator) -> None:
    """Change a file; ``how`` is one of `DAMAGES`."""
    content = bytearray(file.read_bytes())
    changed = DAMAGES[how](content, rng)
    assert changed != file.read_bytes()
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)


def _flip(content: bytearray, rng: np.random.Generator) -> bytes:
    """One bit is another one."""
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def _cut(content: bytearray, rng: np.random.Generator) -> bytes:
    """The end is missing."""
    return bytes(content[: rng.integers(len(content))])


def _blank(content: bytearray, rng: np.random.Generator) -> bytes:
    """A part is zeros, as after a power cut, and was not before."""
    begin = int(rng.integers(len(content.rstrip(b"\0"))))
    return bytes(content[:begin]) + bytes(len(content) - begin)


def _remove(content: bytearray, rng: np.random.Generator) -> None:
    """Nothing is left."""


DAMAGES: dict[str, Callable[[bytearray, np.random.Generator], bytes | None]] = {
    "flip": _flip,
    "cut": _cut,
    "blank": _blank,
    "remove": _remove,
}


@pytest.fixture(scope="module", params=["drift", "alphazero", "ppo"])
def run(request, tmp_path_factory) -> tuple[str, Path, dict[str, Any]]:
    """Algorithm, a run before its last iteration, and what comes of it."""
    base = tmp_path_factory.mktemp(request.param)
    train(request.param, base / "begun", 2)
    shutil.copytree(base / "begun", base / "whole")
    train(request.param, base / "whole", 3)
    return request.param, base / "begun", fingerprint(base / "whole")


def test_damage_is_named_and_never_goes_in(run, tmp_path):
    """Each file in each way, of runs with games in one way each."""
    algorithm, begun, expected = run
    rng, every = np.random.default_rng(1), list(DAMAGES)
    for index, name in enumerate(files_of(begun)):
        is_thorough = algorithm == "drift" or TIMES > 1
        ways = TIMES * every if is_thorough else [every[index % len(every)]]
        for how in ways:
            folder = tmp_path / "run"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(begun, folder)
            damage(folder / name, how, rng)
            check_resumed(algorithm, folder, name, how, expected)
    assert index >= 1


@pytest.mark.slow
@pytest.mark.parametrize("run", ["drift"], indirect=True)
def test_a_file_cut_anywhere_or_with_any_bit_flipped_never_goes_in(run, tmp_path):
    algorithm, begun, expected = run
    flips = FLIPS if TIMES > 1 else 20
    for name in files_of(begun):
        for how, content in damaged((begun / name).read_bytes(), flips, name):
            folder = tmp_path / "run"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(begun, folder)
            (folder / name).write_bytes(content)
            check_resumed(algorithm, folder, name, how, expected)


def check_resumed(
    algorithm: str, folder: Path, name: str, how: str, expected: dict[str, Any]
) -> None:
    """A run of which a file is damaged names it, and is refused or goes on as if it was not."""
    told = resumed(algorithm, folder)
    if told.refused is None:
        found = fingerprint(folder)
        if name == "metrics.jsonl":
            check_log(found["metrics"], expected["metrics"], how)
            found["metrics"] = expected["metrics"]
        assert found == expected, (name, how)
    assert told.names(name) or name == "metrics.jsonl", (name, how, told)


def check_log(found: list[dict[str, Any]], expected: list[dict[str, Any]], how: str) -> None:
    """Of a log that was damaged at one place the lines before it are there, and none is made up."""
    right = [line for line in found if line in expected]
    assert found[-1] == expected[-1]
    numbers = [line["iteration"] for line in found]
    assert numbers == sorted({*numbers} & {line["iteration"] for line in expected})
    # A line of which one bit is another may still be one.
    assert len(found) - len(right) <= how.startswith(("flip", "bit"))


class Told:
    """What came of going on with a run: it was ``refused``, or ``said`` something."""

    def __init__(self, said: list[str], refused: str | None) -> None:
        self.said, self.refused = said, refused

    def __repr__(self) -> str:
        return f"said {self.said}, refused {self.refused}"

    def names(self, name: str) -> bool:
        """Whether one line, and not a long one, names the file."""
        lines = [*self.said, *([self.refused] if self.refused else [])]
        assert all("\n" not in line and len(line) < 800 for line in lines)
        return any(name in line for line in lines)


def resumed(algorithm: str, folder: Path, **of_folder: bool) -> Told:
    """Go on with a run."""
    return told_of(lambda: train(algorithm, folder, 3, **of_folder))


def told_of(work: Callable[[], list[str]]) -> Told:
    """What some work says, or why it is refused; any other error is a failure."""
    try:
        return Told(work(), None)
    except (ValueError, StorageError) as error:
        return Told([], str(error))


def test_a_damaged_journal_of_a_search_is_named(tmp_path):
    """Where Optuna, whose file it is, cannot tell, it is read as it stands."""
    study = pytest.importorskip("ludarium.training.tuning.study")
    space = pytest.importorskip("ludarium.training.tuning.space").Space
    config = apply_settings(load_config("corso/demo"), ["evaluation.every=1"])
    plan = study.TuningPlan(space(config, ("learner.learning_rate=0.001,0.01",)), 2)
    folder, refused = tmp_path, 0
    begun = study.load_study(folder, plan)
    trial = begun.ask()
    plan.space.suggest(trial)
    begun.tell(trial, 0.5)
    journal = folder / "journal.log"
    for how, content in damaged(journal.read_bytes(), FLIPS, "journal"):
        journal.write_bytes(content)
        told = told_of(lambda: study.trials_of(study.load_study(folder, plan)) and [])
        refused += told.refused is not None
        assert told.refused is None or told.names(str(folder)), (how, told)
    assert refused > FLIPS / 2


def numbered(line: bytes, iteration: int) -> bytes:
    """A line of a log with another number."""
    return f"{json.dumps(json.loads(line) | {'iteration': iteration})}\n".encode()


def begun_run(folder: Path, iterations: int = 2) -> Path:
    train("drift", folder, iterations)
    return folder


def test_a_state_under_another_number_is_not_gone_on_with_but_the_one_before_it(tmp_path):
    folder = begun_run(tmp_path / "run", 3)
    shutil.copy(folder / "state-000002.zip", folder / "state-000003.zip")
    (said,) = train("drift", folder, 3)
    assert "state-000003.zip is damaged (it is of another iteration)" in said
    train("drift", tmp_path / "whole", 3)
    assert fingerprint(folder) == fingerprint(tmp_path / "whole")


def test_without_a_whole_state_nothing_is_gone_on_with(tmp_path):
    folder = begun_run(tmp_path / "run")
    for state in folder.glob("state-*"):
        state.write_bytes(b"")
    message = (
        r"no saved state of .*run is whole: .*state-000002.zip is damaged .*; "
        r".*state-000001.zip is damaged .*; .*or set restart=True"
    )
    for read in (lambda: train("drift", folder), RunFolder(folder).begun):
        with pytest.raises(ValueError, match=message):
            read()
    assert train("drift", folder, 3, restart=True) == []
    train("drift", tmp_path / "whole", 3)
    assert fingerprint(folder) == fingerprint(tmp_path / "whole")


def test_positions_that_are_lost_are_asked_for(tmp_path):
    folder = begun_run(tmp_path / "run", 2)
    chunk = folder / "replay" / "000001.npy"
    chunk.rename(tmp_path / "lost")
    with pytest.raises(ValueError, match=r"replay/000001.npy is missing.*put back"):
        train("drift", folder)
    shutil.copy(folder / "replay" / "000002.npy", chunk)
    with pytest.raises(ValueError, match=r"replay/000001.npy is damaged \(its content does"):
        train("drift", folder)
    (tmp_path / "lost").rename(chunk)
    assert train("drift", folder, 3) == []


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        (lambda lines: lines[:1] + lines[2:], [1, 3, 4]),
        (lambda lines: [], [3, 4]),
        (lambda lines: [lines[0].replace(b"{", b"("), *lines[1:]], [3, 4]),
        (lambda lines: [lines[0], *lines], [1, 3, 4]),
        (lambda lines: [numbered(lines[0], 9), *lines[1:]], [3, 4]),
        (lambda lines: [lines[0], numbered(lines[1], 95), lines[2]], [1, 3, 4]),
        (lambda lines: [lines[0], numbered(lines[1], 3), lines[2]], [1, 3, 4]),
        (lambda lines: [*lines[:2], numbered(lines[2], 5)], [1, 2, 3, 4]),
        (lambda lines: [lines[0], b"[" * 100_000 + b"\n", *lines[1:]], [1, 3, 4]),
        (lambda lines: [*lines, b"more"], [1, 2, 3, 4]),
        (lambda lines: [*lines[:2], lines[2][:20]], [1, 2, 3, 4]),
    ],
)
def test_a_damaged_log_is_named(edit, left, tmp_path):
    """What comes after the state's line, or is missing of it, is what a kill leaves: no damage."""
    folder = begun_run(tmp_path / "run", 3)
    file = folder / "metrics.jsonl"
    file.write_bytes(b"".join(edit(file.read_bytes().splitlines(keepends=True))))
    said = train("drift", folder, 4)
    lost = 4 - len(left)
    assert len(said) == (lost > 0)
    assert not lost or f"metrics.jsonl is damaged; {3 - lost} of its 3 lines stay" in said[0]
    assert [line["iteration"] for line in metrics(folder)] == left


@pytest.mark.parametrize("name", ["config.yaml", "agent.safetensors"])
def test_what_a_state_has_too_is_written_again(name, tmp_path):
    folder = begun_run(tmp_path / "run")
    before = (folder / name).read_bytes()
    (folder / name).write_bytes(before[:100])
    assert train("drift", folder, 2) == []
    assert (folder / name).read_bytes() == before


def test_every_byte_of_a_state_is_checked():
    state = State(
        {}, {"weight": torch.ones(3)}, {"0/a.b": np.zeros(2, [("x", np.int8), ("y", np.int32)])}
    )
    content = pack_state(state, {"step": 1})
    read = unpack_state(content)
    assert read.description == {"step": 1}
    torch.testing.assert_close(read.tensors, state.tensors)
    np.testing.assert_array_equal(read.arrays["0/a.b"], state.arrays["0/a.b"])
    assert read.arrays["0/a.b"].flags.writeable
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(ValueError, match="SHA-256"):
            unpack_state(bytes(changed))
    for junk in (b"", content[:-1], content + b"x", content[1:]):
        with pytest.raises(ValueError, match="SHA-256"):
            unpack_state(junk)


def test_a_configuration_that_is_not_accepted_is_that_of_a_state(tmp_path, capsys):
    folder = begun_run(tmp_path / "run")
    latest = folder / "state-000002.zip"
    state = unpack_state(latest.read_bytes())
    state.description["config"]["seed"] = "often"
    latest.write_bytes(pack_state(replace(state, description={}), state.description))
    assert main(["train", "--folder", str(folder)]) == 2
    assert "state-000002.zip: seed is 'often'" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"state-000002\.zip: seed is 'often'"):
        train("drift", folder)
