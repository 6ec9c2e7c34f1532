"""The launcher of child processes may be busy: what it runs goes on, and what it is asked for comes later."""

import asyncio
import resource
import signal
import subprocess
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import psutil
import pytest

from cronograph.jobs.runtime.process.killing import CHILD_MARK, kill_marked
from cronograph.jobs.runtime.process.spawner import LAUNCHER, LauncherError, Spawner
from tests.support.waiting import wait_until

BURST = 400
"""More orders than a socket holds."""


@pytest.fixture
async def spawner() -> AsyncIterator[Spawner]:
    """A launcher that is ready."""
    made = Spawner()
    await made.ready()
    yield made
    await made.stop()


def launcher() -> psutil.Process:
    """The launcher of this process."""
    (found,) = [child for child in psutil.Process().children() if LAUNCHER in child.cmdline()]
    return found


@contextmanager
def frozen(process: psutil.Process) -> Generator[None]:
    """It does nothing within the block."""
    process.suspend()
    try:
        yield
    finally:
        process.resume()


async def test_a_burst_that_the_launcher_cannot_take_at_once_ends_no_running_child(spawner: Spawner) -> None:
    first = await spawner.spawn()
    before = launcher().pid
    with frozen(launcher()):
        others = [await spawner.spawn() for _ in range(BURST)]
        for child in others:
            child.kill()
        assert not first.exited.done()
        assert not any(child.exited.done() for child in others)
    statuses = await asyncio.gather(*(child.close(within=60.0) for child in others))
    assert set(statuses) == {-9}
    assert not first.exited.done()
    assert launcher().pid == before
    assert await first.close(within=0.0) == -9


@contextmanager
def no_files_left() -> Generator[None]:
    """This process can open no further file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_node_without_file_handles_says_so_and_ends_no_running_child(spawner: Spawner) -> None:
    first = await spawner.spawn()
    with no_files_left(), pytest.raises(LauncherError, match="Too many open files"):
        await spawner.spawn()
    assert not first.exited.done()
    second = await spawner.spawn()
    assert [await child.close(within=0.0) for child in (first, second)] == [-9, -9]


async def test_a_launcher_that_was_killed_and_not_yet_missed_is_replaced(
    spawner: Spawner, caplog: pytest.LogCaptureFixture
) -> None:
    gone = launcher()
    gone.kill()
    wait_until(lambda: gone.status() == psutil.STATUS_ZOMBIE)
    child = await spawner.spawn()
    assert await child.close(within=0.0) == -9
    assert any("is gone and is started again" in message for message in caplog.messages)


async def test_a_launcher_that_does_not_end_is_killed() -> None:
    hasty = Spawner(end_within=0.1)
    await hasty.ready()
    stuck = launcher()
    stuck.suspend()
    await hasty.stop()
    assert not stuck.is_running()


async def test_a_launcher_that_was_killed_before_it_read_its_orders_is_missed_at_once(spawner: Spawner) -> None:
    first, before = await spawner.spawn(), launcher()
    before.suspend()
    # What it has not read makes the end of its connection a reset.
    second = await spawner.spawn()
    before.kill()
    await asyncio.wait({first.exited, second.exited}, timeout=60)
    await asyncio.gather(first.close(within=60.0), second.close(within=60.0))
    third = await spawner.spawn()
    assert launcher().pid != before.pid
    assert await third.close(within=0.0) == -9


def test_only_what_carries_the_mark_of_a_child_is_killed() -> None:
    with subprocess.Popen(["sleep", "600"], env={CHILD_MARK: "7"}) as marked:
        assert not kill_marked(marked.pid, {f"{CHILD_MARK}=77".encode()})
        assert kill_marked(marked.pid, {f"{CHILD_MARK}=7".encode()})
    assert marked.returncode == -signal.SIGKILL
    # It has ended by now.
    assert not kill_marked(marked.pid, {f"{CHILD_MARK}=7".encode()})
