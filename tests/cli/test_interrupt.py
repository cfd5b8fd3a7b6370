"""Ctrl-C: once to stop soon, twice to stop at once, and once more to leave."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ludarium.base.progress import Progress
from ludarium.cli import main
from ludarium.cli.interrupt import stop_on_ctrl_c
from tests.processes import python

#: A command that gets Ctrl-C while it waits for the compiler.
COMPILING = """
import signal, sys, threading
from ludarium.machine import compiler
ask = compiler._Child.ask
def interrupted(self, request):
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    return ask(self, request)
compiler._Child.ask = interrupted
from ludarium.base.progress import Progress
from ludarium.cli import main
sys.argv = ["ludarium", "evaluate", "random", "--game", "corso", "--against", "greedy"]
sys.exit(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_stops_and_the_second_interrupts(
    number: signal.Signals, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr("ludarium.cli.interrupt.os._exit", left.append)
    handler = signal.getsignal(number)
    progress = Progress()
    with stop_on_ctrl_c(progress, "stopping soon"):
        assert not progress.stopped
        signal.raise_signal(number)
        assert progress.stopped
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):  # where it was dropped, as by a finalizer
            assert progress.stopped
        assert not left
        with pytest.raises(KeyboardInterrupt):  # for the process of this test does not end
            signal.raise_signal(number)
        assert left == [130]
    assert capsys.readouterr().err == "\nludarium: stopping soon\n"
    assert signal.getsignal(number) is handler


def test_other_threads_are_not_told() -> None:
    def work() -> bool:
        progress = Progress()
        with stop_on_ctrl_c(progress):
            return progress.stopped

    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(work).result()


def test_a_command_that_compiles_stops_without_a_traceback(tmp_path: Path) -> None:
    done = python(COMPILING, environment={"LUDARIUM_CODE_FOLDER": str(tmp_path)})
    lines = done.stderr.splitlines()
    assert done.returncode == 130, done.stderr
    assert lines[0].startswith("ludarium: compiling corso")
    assert lines[1:] == ["", "ludarium: stopped"]


def test_an_error_that_no_interruption_led_to_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(given: object) -> int:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr("ludarium.cli.games.run", run)
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        main(["games"])
