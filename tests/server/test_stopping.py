"""The request to stop: set once, by a signal or by hand."""

import os
import pty
import signal
import sys

import pytest

from cronograph.server.process.lifecycle import ONE_STOP, SIGNALS, Lifecycle, Phase, StopRequest
from tests.support.waiting import eventually


async def test_the_first_signal_is_a_request_and_acts_at_once() -> None:
    called: list[str] = []
    stop = StopRequest(on_first=lambda: called.append("first"))
    with stop.listening():
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
    assert (stop.requested, called) == (True, ["first"])


class EndedError(BaseException):
    """The process would have ended here."""


async def test_only_a_signal_that_comes_later_than_a_second_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise EndedError(status)

    monkeypatch.setattr(os, "_exit", end)
    now = 100.0
    stop = StopRequest(on_first=lambda: None, clock=lambda: now)
    with stop.listening():
        for number in SIGNALS * 3:
            signal.raise_signal(number)
        now += ONE_STOP
        signal.raise_signal(signal.SIGINT)
        now += 0.001
        for number in SIGNALS:
            with pytest.raises(EndedError, match=str(128 + number)):
                signal.raise_signal(number)


async def test_sighup_is_told_and_stops_nothing() -> None:
    told: list[str] = []
    stop = StopRequest(on_first=lambda: told.append("stop"), on_hang_up=lambda: told.append("read again"))
    with stop.listening():
        signal.raise_signal(signal.SIGHUP)
        await eventually(lambda: told)
    assert told == ["read again"]


IN_A_TERMINAL = """
import asyncio, os, sys
from cronograph.server.process.lifecycle import StopRequest

async def main():
    stop = StopRequest(on_first=lambda: None)
    with stop.listening():
        os.write(int(sys.argv[1]), b"listening")
        await stop.wait()

asyncio.run(main())
"""


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_terminal_that_goes_away_is_a_request_to_stop() -> None:
    told, telling = os.pipe()
    os.set_inheritable(telling, True)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", IN_A_TERMINAL, str(telling)])
    os.close(telling)
    assert os.read(told, 100) == b"listening"
    os.close(terminal)
    os.close(told)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


async def test_the_handlers_of_before_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    stop = StopRequest(on_first=lambda: None)
    with stop.listening():
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_a_request_by_hand_is_the_same() -> None:
    stop = StopRequest(on_first=lambda: None)
    stop.request()
    await eventually(lambda: stop.requested)
    await stop.wait()


def test_nothing_leads_back_from_draining() -> None:
    life = Lifecycle()
    life.enter(Phase.SERVING)
    life.enter(Phase.DRAINING)
    life.enter(Phase.SERVING)
    assert life.phase is Phase.DRAINING
