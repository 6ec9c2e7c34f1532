"""When a node ends what it runs, counted from the start of its last good heartbeat."""

import asyncio

import pytest

from cronograph.jobs.runtime.lease import Fence, Stages, stages
from tests.support.waiting import eventually


@pytest.mark.parametrize(
    ("lease", "grace", "silent", "expected"),
    [
        (60, 2, 45, Stages(45, 47, 49.5)),
        # The grace is no longer than the lease allows.
        (60, 10, 45, Stages(45, 52.5, 55)),
        (60, 10, 50, Stages(50, 52.5, 55)),
        (3, 10, 2.25, Stages(2.25, 2.625, 2.75)),
        # Of a process that stood still, or was taken for dead: at once.
        (60, 10, 59, Stages(59, 59, 61.5)),
        (60, 10, 3600, Stages(3600, 3600, 3602.5)),
        # A fault of its own, while heartbeats are good.
        (60, 2, 0, Stages(45, 47, 49.5)),
    ],
)
def test_the_stages_end_before_the_lease_does(lease: float, grace: float, silent: float, expected: Stages) -> None:
    assert stages(lease, grace, silent=silent) == expected


class Noted:
    """What a fence ends, and a heartbeat whose age is set by hand."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.age = 0.0

    def ask_to_stop(self) -> None:
        self.done.append("ask")

    def stop_hard(self) -> None:
        self.done.append("stop")

    def kill(self) -> None:
        self.done.append("kill")

    def leave_behind(self) -> None:
        self.done.append("leave")


async def test_a_good_heartbeat_moves_the_time_on() -> None:
    noted, asked = Noted(), 0

    def age() -> float:
        nonlocal asked
        asked += 1
        return noted.age

    fence = Fence(0.04, 0.0, age, noted)
    fence.start()
    fence.start()
    await eventually(lambda: asked > 3)
    assert noted.done == []
    noted.age = 0.04 * 0.75
    await fence.passed.wait()
    assert noted.done == ["ask", "stop", "kill", "leave"]
    fence.start()
    fence.fall(silent=1.0)
    assert len(noted.done) == 4


async def test_what_is_late_is_killed_before_anything_is_waited_for() -> None:
    noted = Noted()
    fence = Fence(3600.0, 10.0, lambda: 3600.0, noted)
    fence.start()
    assert noted.done == ["ask", "stop", "kill"]
    await asyncio.sleep(0)
    assert not fence.passed.is_set()


async def test_a_fence_that_is_stopped_never_falls_and_one_that_falls_is_not_stopped() -> None:
    noted = Noted()
    stopped = Fence(0.01, 0.0, lambda: 0.0, noted)
    stopped.start()
    stopped.stop()
    stopped.stop()
    falling = Fence(0.02, 0.0, lambda: 0.0, noted)
    falling.fall(silent=0.0)
    falling.stop()
    await falling.passed.wait()
    assert noted.done == ["ask", "stop", "kill", "leave"]
