"""Ctrl-C: once to stop soon, twice to stop at once."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from ludarium.cli.interrupt import stop_on_ctrl_c


def test_the_first_sets_the_flag_and_the_second_interrupts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = signal.getsignal(signal.SIGINT)
    with stop_on_ctrl_c("stopping soon") as stop:
        assert not stop()
        signal.raise_signal(signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == "\nludarium: stopping soon\n"
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_are_not_told() -> None:
    def work() -> bool:
        with stop_on_ctrl_c() as stop:
            return stop()

    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(work).result()
