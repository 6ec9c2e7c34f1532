"""The host of a job in this process: checkpoints in order, faults that nobody awaited, stop requests."""

import asyncio
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from cronograph.jobs.base.context import StopReason
from cronograph.jobs.core.flows import FlowSpec
from cronograph.jobs.core.run_spec import RunSpec, RunTarget
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import RunChange
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.runtime.job.host import LocalHost
from cronograph.jobs.runtime.job.lines import RawLine
from cronograph.jobs.runtime.job.ownership import StopSignal
from cronograph.jobs.testing.results import RecordedSteps
from tests.support.storage import Stored


class Sink:
    """Takes lines and asks for a pause after each."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.messages: list[str] = []

    def write(self, execution_id: int, lines: Iterable[RawLine], *, dropped: int = 0) -> float:
        del execution_id, dropped
        self.messages += [line.message for line in lines]
        return self.pause


class Keeper:
    """Keeps checkpoints slowly, and refuses what is negative."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def save(self, started: Started, value: Any) -> None:
        del started
        await self.go_on.wait()
        if isinstance(value, int) and value < 0:
            raise OSError("no room")
        self.kept.append(value)


@pytest.fixture
def started(stored: Stored) -> Started:
    node = stored.node()
    stored.enqueue()
    return node.start()


@pytest.fixture
async def keeper() -> Keeper:
    return Keeper()


class NoQueue:
    async def enqueue(self, asked: Sequence[RunSpec] | FlowSpec) -> list[int]:
        raise AssertionError(f"nobody was to enqueue {asked}")

    async def change(self, target: RunTarget, change: RunChange) -> RunState:
        raise AssertionError(f"nobody was to change {target} by {change}")


@pytest.fixture
async def host(started: Started, keeper: Keeper) -> LocalHost:
    return LocalHost(
        started,
        StopSignal(None),
        checkpoint="old",
        save=keeper.save,
        queue=NoQueue(),
        lines=Sink(),
        show_progress=lambda _started, _value: None,
        steps=RecordedSteps(),
    )


async def test_a_checkpoint_is_read_back_at_once_and_kept_once_awaited(host: LocalHost, keeper: Keeper) -> None:
    assert host.checkpoint() == "old"
    saving = host.save_checkpoint({"a": (1, 2)})
    assert host.checkpoint() == {"a": [1, 2]}
    await saving
    assert keeper.kept == [{"a": [1, 2]}]
    assert await host.await_checkpoints() is None


async def test_checkpoints_that_nobody_awaits_are_kept_in_order_before_the_end(host: LocalHost, keeper: Keeper) -> None:
    keeper.go_on.clear()
    for number in range(5):
        host.save_checkpoint(number)
    keeper.go_on.set()
    assert await host.await_checkpoints() is None
    assert keeper.kept == [0, 1, 2, 3, 4]


async def test_a_fault_is_raised_where_it_is_awaited_and_reported_at_the_end_only_if_it_is_not(host: LocalHost) -> None:
    with pytest.raises(OSError, match="no room"):
        await host.save_checkpoint(-1)
    assert await host.await_checkpoints() is None
    host.save_checkpoint(-2)
    await host.save_checkpoint(3)
    assert isinstance(await host.await_checkpoints(), OSError)


async def test_a_job_that_is_cancelled_while_it_saves_still_keeps_its_checkpoint(
    host: LocalHost, keeper: Keeper
) -> None:
    async def save() -> None:
        await host.save_checkpoint("kept")

    keeper.go_on.clear()
    job = asyncio.create_task(save())
    await asyncio.sleep(0)
    job.cancel()
    await asyncio.wait([job])
    assert job.cancelled()
    keeper.go_on.set()
    assert await host.await_checkpoints() is None
    assert keeper.kept == ["kept"]


async def test_a_thread_waits_until_its_checkpoint_is_kept(host: LocalHost, keeper: Keeper) -> None:
    def work() -> list[Any]:
        host.save_checkpoint("from a thread")
        return list(keeper.kept)

    assert await asyncio.to_thread(work) == ["from a thread"]
    with pytest.raises(OSError, match="no room"):
        await asyncio.to_thread(host.save_checkpoint, -1)


async def test_what_is_no_json_is_refused_where_it_is_saved(host: LocalHost) -> None:
    with pytest.raises(ValueError, match="the checkpoint must be JSON, got set"):
        host.save_checkpoint({1})
    with pytest.raises(ValueError, match="progress: done must be a finite number"):
        host.progress(float("nan"), None, None)
    assert host.checkpoint() == "old"


async def test_who_carries_the_job_elsewhere_hears_of_every_stop_request(host: LocalHost) -> None:
    host.ask_to_stop(StopReason.SHUTDOWN)
    heard: list[StopReason] = []
    host.subscribe_stops(heard.append)
    host.ask_to_stop(StopReason.CANCEL)
    assert heard == [StopReason.SHUTDOWN, StopReason.CANCEL]
    assert host.stop_reason() is StopReason.CANCEL
    assert host.stop_reason() is not None


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_deadline_asks_by_itself() -> None:
    clock = Clock()
    signal = StopSignal(10, clock)
    assert (signal.reason, signal.remaining()) == (None, 10)
    clock.now += 12
    assert (signal.reason, signal.remaining()) == (StopReason.DEADLINE, 0.0)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [(StopReason.SHUTDOWN, StopReason.DEADLINE), (StopReason.CANCEL, StopReason.CANCEL)],
)
def test_a_deadline_that_has_passed_stays_the_reason_unless_somebody_cancels(
    asked: StopReason, reason: StopReason
) -> None:
    clock = Clock()
    signal = StopSignal(10, clock)
    clock.now += 12
    signal.ask(asked)
    assert signal.reason is reason


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ([StopReason.SHUTDOWN, StopReason.DEADLINE], StopReason.SHUTDOWN),
        ([StopReason.SHUTDOWN, StopReason.CANCEL], StopReason.CANCEL),
        ([StopReason.CANCEL, StopReason.SHUTDOWN], StopReason.CANCEL),
    ],
)
def test_the_first_reason_stays_but_a_cancel_outranks_it(asked: list[StopReason], reason: StopReason) -> None:
    signal = StopSignal(None)
    for one in asked:
        signal.ask(one)
    assert (signal.reason, signal.remaining()) == (reason, None)


GUARD = """
import gc, io
from cronograph.jobs.runtime.job.printing import GuardedStream
original = io.TextIOWrapper(io.BytesIO())
print("hidden", file=GuardedStream(original), flush=True)
GuardedStream(original).buffer
original.close()
gc.collect()
"""


def test_a_guard_of_output_goes_without_a_word_though_its_original_is_closed() -> None:
    """Python 3.13 reports it by itself, older ones in their development mode."""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", GUARD], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
