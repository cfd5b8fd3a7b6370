"""Ctrl-C: once to stop soon, twice to stop at once, and once more to leave."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from ludarium.cli.interrupt import stop_on_ctrl_c


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_sets_the_flag_and_the_second_interrupts(
    number: signal.Signals, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr("ludarium.cli.interrupt.os._exit", left.append)
    handler = signal.getsignal(number)
    with stop_on_ctrl_c("stopping soon") as stop:
        assert not stop()
        signal.raise_signal(number)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):  # where it was dropped, as by a finalizer
            stop()
        assert not left
        with pytest.raises(KeyboardInterrupt):  # for the process of this test does not end
            signal.raise_signal(number)
        assert left == [130]
    assert capsys.readouterr().err == "\nludarium: stopping soon\n"
    assert signal.getsignal(number) is handler


def test_other_threads_are_not_told() -> None:
    def work() -> bool:
        with stop_on_ctrl_c() as stop:
            return stop()

    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(work).result()
