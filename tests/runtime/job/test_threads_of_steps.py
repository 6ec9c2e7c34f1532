"""What a step's thread raises, or returns too late, and a system that gives no thread: each is told, none holds up."""

import asyncio
import threading
from typing import Any

import pytest

from cronograph.jobs import JobContext
from cronograph.jobs.base.branches import Branches
from cronograph.jobs.core.states import RunState
from cronograph.jobs.own.threads import in_own_thread
from cronograph.jobs.testing import run_job
from tests.support.waiting import eventually


def raise_it(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("error", [ValueError("no luck"), SystemExit(3)])
async def test_what_a_thread_raises_is_raised_where_it_is_awaited(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised:
        await in_own_thread(raise_it, error)
    assert raised.value is error


async def test_a_stop_iteration_is_an_error_like_any_other() -> None:
    with pytest.raises(RuntimeError, match="a function raised StopIteration") as raised:
        await in_own_thread(next, iter(()))
    assert isinstance(raised.value.__cause__, StopIteration)


async def test_a_step_for_which_no_thread_can_be_started_is_not_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    branches = Branches(lambda: None, 1.0, lambda: False)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        # The limit of the system, which root does not have.
        limited.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            await branches.in_thread("charge", int, lambda _: None)
    assert branches.is_quiet
    assert await branches.in_thread("charge", int, lambda _: None) == 0


@pytest.mark.parametrize(("returned", "kept"), [(7, {"charge": 7}), (object(), {})])
async def test_what_a_cancelled_step_returns_is_kept_if_it_can_be(returned: Any, kept: dict[str, object]) -> None:
    let_go, begun = threading.Event(), threading.Event()

    def charge() -> Any:
        begun.set()
        assert let_go.wait(30)
        return returned

    async def order(ctx: JobContext) -> None:
        step = asyncio.ensure_future(ctx.step("charge", charge))
        await eventually(begun.is_set)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        let_go.set()

    result = await run_job(order)
    assert (result.state, result.steps) == (RunState.SUCCESS, kept)
    failed = [one.message for one in result.lines if "charge" in one.message]
    assert bool(failed) is (not kept), failed
