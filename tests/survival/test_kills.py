"""Processes that are killed, and two on one folder."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("sb3_contrib")

from ludarium.cli.interrupt import STOPPED
from ludarium.envs.engine.progress import StoppedError
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import Reporter

from .killing import killed_at_random
from .signals import KINDS, command
from .tiny import TIMES, Drift, arguments_of, fingerprint, tiny_config, train

ROOT = Path(__file__).resolve().parents[2]


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
        "from ludarium.training.runs.lock import FolderLock\n"
        "FolderLock(Path(sys.argv[1])).acquire()\n"
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
        make_trainer(config, RunFolder(tmp_path, restart=True), Reporter())
    assert train("drift", tmp_path, 2) == []
    assert fingerprint(tmp_path) == before
