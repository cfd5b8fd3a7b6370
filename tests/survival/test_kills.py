"""Processes that are killed, and two on one folder."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("sb3_contrib")

from ludarium.base.progress import StoppedError
from ludarium.cli import main
from ludarium.cli.interrupt import STOPPED
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder

from .killing import ended_within, killed_at_random
from .signals import KINDS, begin, command
from .tiny import ALGORITHMS, TIMES, Drift, arguments_of, fingerprint, tiny_config, train

ROOT = Path(__file__).resolve().parents[2]
PAIRS = 10 * (TIMES + 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that are forked")
@pytest.mark.parametrize("algorithm", ["drift", "alphazero", "ppo"])
def test_a_run_killed_at_random_moments_is_the_run_that_was_not(algorithm, tmp_path):
    train(algorithm, tmp_path / "first")  # compiles what there is to compile
    began = time.perf_counter()
    train(algorithm, tmp_path / "whole")
    seconds, kills, number, rng = time.perf_counter() - began, 0, 0, random.Random(1)
    while kills < TIMES:
        run, number = tmp_path / f"run-{number}", number + 1
        killed = killed_at_random(algorithm, run, seconds, 4, rng)
        kills += killed.kills
        if not killed.kills:
            seconds *= 0.7  # a run that was over before its first kill is not a test: earlier, then
        assert killed.failure is None
        assert fingerprint(run) == fingerprint(tmp_path / "whole")


def commands(folder: Path) -> dict[str, list[str]]:
    """Command lines by name; each writes into the folder of its name in ``folder``."""
    at = {name: str(folder / name) for name in (*ALGORITHMS, *OTHERS)}
    game = ["--game=corso", "--option=size=3"]
    tuned = ["--grid", "--search=learner.learning_rate=0.001,0.01", "--set=budget.iterations=2"]
    agent = ["--agent", f"{at['curve']}/agent.safetensors"]
    return {
        **{name: arguments_of(name, folder / name) for name in ALGORITHMS},
        "tune": ["tune", *arguments_of("alphazero", folder / "tune")[1:], *tuned],
        "curve": ["curve", at["curve"], "--against=random", "--games=8", "--simulations=2"],
        "tournament": ["tournament", "random", "greedy", "uct:2", *game, "--games=12"]
        + ["--folder", at["tournament"]],
        "compare": ["compare", "uct:3", "random", *game, "--games-limit=60"]
        + ["--folder", at["compare"]],
        "levels": ["levels", "corso", "--measure", "--option=size=3", "--levels=2", "--games=8"]
        + ["--simulations=16", "--output", f"{at['levels']}/it.json"],
        "report": ["report", "corso", "--option=size=3", *agent, "--quick", "--games=4"]
        + ["--output", f"{at['report']}/it.html"],
        "evaluate": ["evaluate", at["alphazero"], "--games=8", "--simulations=2"],
    }


OTHERS = ("tune", "curve", "tournament", "compare", "levels", "report")


def world_of(folder: Path, trained: Path) -> Path:
    """A folder in which all of the commands can work."""
    for name in ("levels", "report"):
        (folder / name).mkdir(parents=True)
    shutil.copytree(trained, folder / "curve")
    return folder


#: What no result is, or what a kill may leave: a file that was being written beside its place.
_LEFT = re.compile(r"tensorboard|(^|/)(lock$|ludarium-\w+\.partial)")


def outcome(folder: Path) -> dict[str, Any]:
    """All that came of a command, by file, but for the time that it took."""
    runs = {file.parent for file in folder.rglob("metrics.jsonl")}
    found: dict[str, Any] = {str(run.relative_to(folder)): fingerprint(run) for run in runs}
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if _LEFT.search(name):
            continue
        if file.name == "curve.jsonl":
            found[name] = {*file.read_bytes().splitlines()}  # two at once measure each the same
        elif file.name == "games.jsonl":
            games = [json.loads(line) for line in file.read_bytes().splitlines()]
            for game in games:
                del game["seconds"]
            found[name] = sorted(map(json.dumps, games))
        elif file.suffix in (".json", ".yaml"):
            content = file.read_bytes().replace(os.fsencode(folder.parent), b"")
            content = re.sub(rb'"seconds": ?[\d.e-]+', b"", content)
            found[name] = "there" if file.name == "results.json" else content
        else:
            found[name] = "there"
    return found


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that are forked")
def test_pairs_of_commands_killed_at_random_leave_everything_whole(tmp_path, monkeypatch):
    """Two commands at once, every other time the same one twice; then each goes on to its end."""
    pytest.importorskip("optuna")
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def left_outside() -> set[str]:
        places = [tmp_path / "here", tmp_path / "temporary"]
        return {item.name for place in places for item in place.iterdir()}

    train("alphazero", tmp_path / "trained")
    whole, seconds = world_of(tmp_path / "whole", tmp_path / "trained"), {}
    for name, arguments in commands(whole).items():
        assert main(arguments) == 0, name  # compiles what there is to compile
    whole = world_of(tmp_path / "again", tmp_path / "trained")
    for name, arguments in commands(whole).items():
        began = time.perf_counter()
        assert command(arguments, None, tmp_path / "said") == 0, (tmp_path / "said").read_text()
        seconds[name] = time.perf_counter() - began
    usual, rng = left_outside(), random.Random(1)
    for number in range(PAIRS):
        world = world_of(tmp_path / "world", tmp_path / "trained")
        lines = commands(world)
        first, second = rng.choices(list(lines), k=2)
        pair = [first, first if number % 2 else second]
        for _ in range(rng.randint(1, 3)):
            said = [tmp_path / "said", tmp_path / "said-too"]
            children = [begin(lines[name], file) for name, file in zip(pair, said, strict=True)]
            for child, name in zip(children, pair, strict=True):
                status = ended_within(child, rng.uniform(0, seconds[name]))
                assert status in (None, 0, 2), (number, pair, [each.read_text() for each in said])
        for name in sorted({*pair}, key=lambda name: name == "evaluate"):
            has_run = name != "evaluate" or "alphazero" in pair
            status = command(lines[name], None, tmp_path / "said")
            assert status == (0 if has_run else 2), (number, pair, (tmp_path / "said").read_text())
            if name != "evaluate":
                assert outcome(world / name) == outcome(whole / name), (number, pair)
        assert left_outside() == usual, (number, pair)
        shutil.rmtree(world)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals processes that are forked")
def test_a_command_that_gets_signals_goes_on_to_the_run_that_got_none(tmp_path):
    """Once and twice, while it begins, saves and evaluates."""
    said, began = tmp_path / "said", time.perf_counter()
    assert command(arguments_of("alphazero", tmp_path / "whole"), None, said) == 0, said.read_text()
    seconds, rng = time.perf_counter() - began, random.Random(1)
    kinds = [kind for kind in KINDS if kind.moment != "any" or TIMES > 1]
    for number, kind in enumerate(TIMES * kinds):
        run = tmp_path / f"run-{number}"
        ended = command(arguments_of("alphazero", run), kind, said, rng.uniform(0, seconds))
        killed_by = [-each for each in kind.numbers] if kind.moment == "any" else []
        assert ended in (0, STOPPED, *killed_by), (kind, said.read_text())
        assert "Traceback" not in said.read_text()
        assert command(arguments_of("alphazero", run), None, said) == 0, said.read_text()
        assert fingerprint(run) == fingerprint(tmp_path / "whole"), kind


def test_a_second_process_is_refused_by_name_until_the_first_is_gone(tmp_path):
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from ludarium.base.lock import WriterLock\n"
        "WriterLock(Path(sys.argv[1])).acquire()\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n"
    )
    train("drift", tmp_path, 1)
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        before = fingerprint(tmp_path)
        for restart in (False, True):
            with pytest.raises(ValueError, match=rf"is in use by process {holder.pid} on .*: wait"):
                train("drift", tmp_path, restart=restart)
        assert fingerprint(tmp_path) == before
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    assert train("drift", tmp_path, 2) == []


@pytest.mark.parametrize("error", [ValueError, MemoryError, ImportError, KeyboardInterrupt])
def test_a_restart_that_ends_before_its_first_state_throws_no_run_away(error, tmp_path):
    class Refused(Drift):
        def __init__(self, run, saved):
            raise error("no")

    class Interrupted(Drift):
        def learn(self, played):
            raise StoppedError if error is KeyboardInterrupt else error("no")

    train("drift", tmp_path, 2)
    before = fingerprint(tmp_path)
    for kind in (Refused, Interrupted):
        with pytest.raises(BaseException, match="no") if kind is Refused else suppress(error):
            train("drift", tmp_path, restart=True, kind=kind)
        assert fingerprint(tmp_path) == before
    config = msgspec.structs.replace(tiny_config("alphazero"), device="cuda:77")
    with pytest.raises(ValueError, match="cuda:77"):
        make_trainer(config, RunFolder(tmp_path, restart=True))
    assert train("drift", tmp_path, 2) == []
    assert fingerprint(tmp_path) == before
