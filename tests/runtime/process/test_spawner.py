"""The launcher of child processes may be busy: what it runs goes on, and what it is asked for comes later."""

import asyncio
import resource
import signal
import subprocess
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress

import psutil
import pytest

from cronograph.jobs.runtime.base.settings import LAUNCHER
from cronograph.jobs.runtime.process.kernel import CHILD_MARK, Verdict, kill_marked, kill_strays, mark_of
from cronograph.jobs.runtime.process.spawner import LauncherError, Spawner
from tests.support.waiting import wait_until

BURST = 400
"""More orders than a socket holds."""
STARTS = 40
"""Of which some are seen in the very moment."""


@pytest.fixture
async def spawner() -> AsyncIterator[Spawner]:
    """A launcher that is ready."""
    made = Spawner()
    await made.ready()
    yield made
    await made.stop()


def launchers() -> list[psutil.Process]:
    """The launchers of this process; none while one is starting its program, or is about to be gone."""
    found: list[psutil.Process] = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if LAUNCHER in child.cmdline():
                found.append(child)
    return found


def launcher(but: psutil.Process | None = None) -> psutil.Process:
    """The launcher of this process, once the kernel shows it; another one than ``but``, which may still be ending."""
    (found,) = wait_until(lambda: [one for one in launchers() if one != but], message="the launcher to be seen")
    return found


@contextmanager
def frozen(process: psutil.Process) -> Generator[None]:
    """It does nothing within the block."""
    process.suspend()
    try:
        yield
    finally:
        process.resume()


@pytest.mark.costly
async def test_a_burst_that_the_launcher_cannot_take_at_once_ends_no_running_child(spawner: Spawner) -> None:
    first = await spawner.spawn()
    before = launcher().pid
    with frozen(launcher()):
        others = [await spawner.spawn() for _ in range(BURST)]
        for child in others:
            child.kill()
        assert not first.exited.done()
        assert not any(child.exited.done() for child in others)
    statuses = await asyncio.gather(*(child.close(timeout=60.0) for child in others))
    assert set(statuses) == {-9}
    assert not first.exited.done()
    assert launcher().pid == before
    assert await first.close(timeout=0.0) == -9


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
    assert [await child.close(timeout=0.0) for child in (first, second)] == [-9, -9]


@pytest.mark.costly
async def test_a_launcher_that_was_killed_and_not_yet_missed_is_replaced(
    spawner: Spawner, caplog: pytest.LogCaptureFixture
) -> None:
    gone = launcher()
    gone.kill()
    wait_until(lambda: gone.status() == psutil.STATUS_ZOMBIE)
    child = await spawner.spawn()
    assert await child.close(timeout=0.0) == -9
    assert any("is gone and is started again" in message for message in caplog.messages)


async def test_a_launcher_that_does_not_end_is_killed() -> None:
    hasty = Spawner(exit_timeout=0.1)
    await hasty.ready()
    stuck = launcher()
    stuck.suspend()
    await hasty.stop()
    assert not stuck.is_running()


@pytest.mark.costly
async def test_a_launcher_that_was_killed_before_it_read_its_orders_is_missed_at_once(spawner: Spawner) -> None:
    first, before = await spawner.spawn(), launcher()
    before.suspend()
    # What it has not read makes the end of its connection a reset.
    second = await spawner.spawn()
    before.kill()
    await asyncio.wait({first.exited, second.exited}, timeout=60)
    await asyncio.gather(first.close(timeout=60.0), second.close(timeout=60.0))
    third = await spawner.spawn()
    assert launcher(but=before).is_running()
    assert await third.close(timeout=0.0) == -9


MARK = f"{CHILD_MARK}={mark_of(7, 1)}".encode()


def end_at_last(process: "subprocess.Popen[bytes]") -> None:
    """Also after a failure, nothing of the test goes on."""
    process.kill()
    process.wait(timeout=30)


def verdict_on(process: "subprocess.Popen[bytes]", mark: bytes) -> Verdict:
    """Return what is found once the kernel shows the environment of the program that has just started."""
    seen: list[Verdict] = []

    def visible() -> bool:
        seen.append(kill_marked(process.pid, {mark}))
        return seen[-1] is not Verdict.NOT_YET_VISIBLE

    wait_until(visible, within=30)
    return seen[-1]


@contextmanager
def sleeping(environment: dict[str, str]) -> Generator["subprocess.Popen[bytes]"]:
    """A process that ends no later than the block."""
    process = subprocess.Popen(["sleep", "600"], env=environment)
    try:
        yield process
    finally:
        end_at_last(process)


def test_only_what_carries_the_mark_of_a_child_is_killed() -> None:
    with sleeping({CHILD_MARK: mark_of(7, 1)}) as marked:
        assert verdict_on(marked, MARK + b"1") is Verdict.SPARED
        assert verdict_on(marked, MARK) is Verdict.KILLED
        assert marked.wait(timeout=30) == -signal.SIGKILL
    # It has ended by now.
    assert kill_marked(marked.pid, {MARK}) is Verdict.SPARED


def test_a_process_without_environment_is_left_alone() -> None:
    with sleeping({}) as bare:
        assert verdict_on(bare, MARK) is Verdict.SPARED


def test_what_has_ended_and_was_not_collected_is_left_alone() -> None:
    with sleeping({CHILD_MARK: mark_of(7, 1)}) as ended:
        ended.kill()
        wait_until(lambda: psutil.Process(ended.pid).status() == psutil.STATUS_ZOMBIE, within=30)
        assert kill_marked(ended.pid, {MARK}) is Verdict.SPARED


def test_what_is_just_starting_another_program_is_never_taken_for_somebody_else() -> None:
    for _ in range(STARTS):
        # Its environment cannot be read for a moment, which on a busy machine lasts.
        with sleeping({CHILD_MARK: mark_of(7, 1)}) as starting:
            assert kill_marked(starting.pid, {MARK}) is not Verdict.SPARED
            kill_strays(7, [1])
            assert starting.wait(timeout=30) == -signal.SIGKILL
