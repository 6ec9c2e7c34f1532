"""What gets on starts again at once after a fault; what does not get on for a whole lease makes its node stalled."""

import asyncio
import logging
import threading
from dataclasses import replace

import pytest
from sqlalchemy import text

from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.service import Pulse, Service, Watch, stall_of
from cronograph.jobs.store.db.database import sync_engine
from cronograph.jobs.store.statements import nodes
from tests.support.engines import QUICK, RunningEngine, StartEngine
from tests.support.waiting import eventually

HASTY = replace(QUICK, heartbeat=0.1, lease=3.0, poll=0.1)
"""A lease after three quarters of which even a busy machine has beaten: otherwise its node fences itself off."""


class Failing(Watch):
    """Fails at every other look, as where connections are ended again and again."""

    def __init__(self) -> None:
        super().__init__("failing", poll=0.001)
        self.looks = 0

    async def look(self) -> None:
        self.looks += 1
        if self.looks % 2 == 0:
            raise ConnectionResetError("cut off")


class Hopeless(Service):
    """Never gets on."""

    async def run(self) -> None:
        raise ConnectionResetError("cut off")


class Exiting(Service):
    """Wants the process to end once."""

    done = False

    async def run(self) -> None:
        if not self.done:
            self.done = True
            raise SystemExit(3)
        await asyncio.Event().wait()


def pauses(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    """The pauses that were announced, in seconds."""
    said = [one.getMessage() for one in caplog.records]
    return [line.split(" starts again in ")[1].split(" s")[0] for line in said if line.startswith(f"{name} failed")]


async def test_a_fault_after_one_good_pass_is_the_first_one_again(caplog: pytest.LogCaptureFixture) -> None:
    watch = Failing()
    watch.start()
    await eventually(lambda: len(pauses(caplog, "failing")) >= 4)
    await watch.stop()
    assert set(pauses(caplog, "failing")) == {"0.1"}


async def test_the_pause_doubles_while_nothing_gets_done(caplog: pytest.LogCaptureFixture) -> None:
    service = Hopeless("hopeless")
    service.start()
    await eventually(lambda: len(pauses(caplog, "hopeless")) >= 3)
    await service.stop()
    assert pauses(caplog, "hopeless")[:3] == ["0.1", "0.2", "0.4"]
    assert service.pulse.age() == 0.0


async def test_a_part_whose_code_wants_the_process_to_end_starts_again(caplog: pytest.LogCaptureFixture) -> None:
    service = Exiting("exiting")
    service.start()
    await eventually(lambda: pauses(caplog, "exiting"))
    await service.stop()


def test_a_part_is_as_old_as_what_it_has_left_undone() -> None:
    now = [0.0]
    one, other = Pulse("one", lambda: now[0]), Pulse("other", lambda: now[0])
    one.wanted()
    now[0] = 5.0
    one.wanted()
    other.wanted()
    now[0] = 7.0
    assert (one.age(), other.age()) == (7.0, 2.0)
    assert stall_of((one, other), 7.0) is None
    assert str(stall_of((one, other), 6.0)) == "its one has made no progress for 7 s"
    one.beat()
    assert str(stall_of((one, other), 1.0)) == "its other has made no progress for 2 s"
    other.done()
    assert (one.age(), other.age(), stall_of((), 0.0)) == (0.0, 0.0, None)


def test_while_what_carries_the_parts_stands_still_it_is_the_one_to_name() -> None:
    now = [0.0]
    loop, part = Pulse("event loop", lambda: now[0]), Pulse("dispatcher", lambda: now[0])
    part.wanted()
    now[0] = 1.0
    loop.wanted()
    now[0] = 4.5
    assert stall_of((part,), 5.0, loop) is None
    now[0] = 5.5
    assert str(stall_of((part,), 5.0, loop)) == "its event loop has made no progress for 4 s"
    loop.done()
    loop.wanted()
    assert str(stall_of((part,), 5.0, loop)) == "its dispatcher has made no progress for 6 s"
    part.done()
    now[0] = 11.0
    assert str(stall_of((part,), 5.0, loop)) == "its event loop has made no progress for 6 s"


@pytest.fixture
async def engine(start_engine: StartEngine) -> RunningEngine:
    async def tick() -> None:
        return None

    registry = Registry()
    registry.add(define("tick", tick))
    return await start_engine(registry, HASTY)


async def state_of(engine: RunningEngine) -> NodeState:
    (node,) = await engine.database.read(nodes.live)
    return node.state


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_node_whose_dispatcher_is_stuck_is_neither_ready_nor_active_until_it_gets_on(
    engine: RunningEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    free, locked = threading.Event(), threading.Event()

    def hold() -> None:
        other = sync_engine(engine.database.url)
        with other.begin() as conn:
            # Looking for due tasks reads it, taking runs does not: they write when tasks have started.
            conn.execute(text("LOCK TABLE cronograph.job IN ACCESS EXCLUSIVE MODE"))
            locked.set()
            free.wait(60)
        other.dispose()

    held = asyncio.ensure_future(asyncio.to_thread(hold))
    await asyncio.to_thread(locked.wait)

    async def is_stalled() -> bool:
        return await state_of(engine) is NodeState.STALLED

    async def is_active() -> bool:
        return await state_of(engine) is NodeState.ACTIVE

    try:
        await eventually(is_stalled)
        await eventually(lambda: not engine.engine.ready)
    finally:
        free.set()
        await held
    await eventually(is_active)
    await eventually(lambda: engine.engine.ready)
    assert any("its dispatcher has made no progress" in line for line in caplog.messages)
