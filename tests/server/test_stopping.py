"""The request to stop: set once, by a signal or by hand."""

import os
import signal

from cronograph.server.process.lifecycle import Lifecycle, Phase
from cronograph.server.process.stopping import StopRequest
from tests.support.waiting import eventually


async def test_the_first_signal_is_a_request_and_acts_at_once() -> None:
    called: list[str] = []
    stop = StopRequest(on_first=lambda: called.append("first"))
    with stop.listening():
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
    assert (stop.requested, called) == (True, ["first"])


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
