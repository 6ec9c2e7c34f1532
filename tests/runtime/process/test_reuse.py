"""A child process that serves several runs of its job: for how long, what it keeps, and what it does not."""

import os
import signal
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cronograph.jobs.accounts.rules.secrets import KeyRing, SecretKey
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Reuse, define
from cronograph.jobs.runtime.process.children import PooledChild
from tests.runtime.process.test_process import is_gone
from tests.runtime.reused_jobs import JOBS, counts
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually

RING = KeyRing((SecretKey.of(b"k" * 32),))


@pytest.fixture
async def engine(start_engine: StartEngine) -> RunningEngine:
    return await start_engine(JOBS, process_slots=1)


async def test_a_child_serves_as_many_runs_as_its_job_says_and_keeps_what_its_module_keeps(
    engine: RunningEngine,
) -> None:
    done = [await engine.finish("counts", {"word": word}) for word in ("a", "b", "c", "d")]
    values = [one.execution.value for one in done]
    assert len({value["pid"] for value in values[:3]}) == 1
    assert values[3]["pid"] != values[0]["pid"]
    assert [value["seen"] for value in values] == [["a"], ["a", "b"], ["a", "b", "c"], ["d"]]
    await eventually(lambda: is_gone(values[0]["pid"]))


async def test_each_run_has_lines_prints_and_context_variables_of_its_own(
    own_stdout: None, start_engine: StartEngine
) -> None:
    engine = await start_engine(JOBS, process_slots=1, print_logs=True)
    done = [await engine.finish("counts", {"word": word}) for word in ("a", "b")]
    assert [one.execution.value["colour"] for one in done] == ["none", "none"]
    assert [one.messages for one in done] == [[f"printed {word}", f"logged {word}"] for word in ("a", "b")]


@pytest.mark.costly
@pytest.mark.parametrize("how", ["fails", "dies", "leaves a process"])
async def test_after_a_failure_or_with_a_process_left_behind_the_next_run_has_a_fresh_child(
    engine: RunningEngine, how: str
) -> None:
    first = (await engine.finish("ends_somehow")).execution.value
    assert (await engine.finish("ends_somehow")).execution.value == first
    await engine.finish("ends_somehow", {"how": how})
    assert (await engine.finish("ends_somehow")).execution.value != first
    await eventually(lambda: is_gone(first))


async def test_after_a_time_out_the_next_run_has_a_fresh_child(engine: RunningEngine) -> None:
    first = (await engine.finish("ends_somehow")).execution.value
    ended = await engine.finish("ends_somehow", {"how": "sleeps"}, timeout=0.2)
    assert ended.execution.error_type == "TimeoutError"
    assert (await engine.finish("ends_somehow")).execution.value != first


async def test_a_child_that_was_killed_while_it_waited_is_replaced(engine: RunningEngine) -> None:
    first = (await engine.finish("ends_somehow")).execution.value
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: not psutil.pid_exists(first))
    # Its launcher says so a moment later.
    done = await engine.finish("ends_somehow", retries=1)
    assert done.run.state is RunState.SUCCESS
    assert done.execution.value != first


async def test_a_child_that_has_grown_too_large_is_not_used_again(engine: RunningEngine) -> None:
    first, second = [(await engine.finish("is_too_large")).execution.value for _ in range(2)]
    assert first != second


async def test_a_child_waits_for_runs_of_its_own_job_and_makes_room_for_others(engine: RunningEngine) -> None:
    first = (await engine.finish("ends_somehow")).execution.value
    await engine.finish("counts")
    await eventually(lambda: is_gone(first))
    assert (await engine.finish("ends_somehow")).execution.value != first


async def test_resources_of_the_node_are_opened_once_in_a_child_and_closed_at_its_end(
    engine: RunningEngine, tmp_path: Path
) -> None:
    note = tmp_path / "closed"
    values = [(await engine.finish("takes_shared", {"note": str(note)})).execution.value for _ in range(3)]
    assert [value["used"] for value in values] == [1, 2, 3]
    assert {value["thread"] for value in values} == {"MainThread"}
    assert not note.exists()
    await engine.engine.stop()
    assert note.read_text() == "closed\n"


async def test_coroutines_share_the_event_loop_of_their_child_and_no_tasks(engine: RunningEngine) -> None:
    values = [(await engine.finish("takes_loop")).execution.value for _ in range(3)]
    assert [(value["used"], value["same"], value["left"]) for value in values] == [(n, True, []) for n in (1, 2, 3)]
    assert len({value["pid"] for value in values}) == 1


@pytest.mark.costly
async def test_what_an_earlier_run_left_behind_says_nothing_in_the_name_of_a_later_one(engine: RunningEngine) -> None:
    first, second = [await engine.finish("speaks_late") for _ in range(2)]
    assert first.execution.value["pid"] == second.execution.value["pid"]
    assert (second.messages, second.run.progress) == ([], None)
    assert second.execution.value["said"] == (
        "RunIsOverError: a thread wanted to save a checkpoint for a run that has ended; "
        "RunIsOverError: a thread wanted to enqueue runs for a run that has ended; "
    )


async def test_what_one_run_was_given_stays_hidden_in_the_next_ones(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS, process_slots=1, keys=RING)
    await engine.set_secret("key", "correct horse", RING)
    first = await engine.finish("tells", {"password": {"$secret": "key"}})
    await engine.set_secret("key", "battery staple", RING)
    second = await engine.finish("tells", {"password": {"$secret": "key"}})
    third = await engine.finish("tells")
    assert len({one.execution.value for one in (first, second, third)}) == 1
    assert [one.messages for one in (first, second, third)] == [["knows [secret key]"]] * 3


async def test_a_cancel_ends_only_its_own_run(engine: RunningEngine) -> None:
    first = (await engine.finish("ends_somehow")).execution.value
    run_id = await engine.enqueue("ends_somehow", {"how": "sleeps"})
    await engine.run_until(run_id, RunState.RUNNING)
    await engine.cancel_elsewhere(run_id)
    assert (await engine.finished(run_id)).run.state is RunState.CANCELLED
    assert (await engine.finish("ends_somehow")).execution.value != first


async def test_nothing_is_left_when_the_node_stops(engine: RunningEngine) -> None:
    pid = (await engine.finish("ends_somehow")).execution.value
    assert not is_gone(pid)
    await engine.engine.stop()
    assert is_gone(pid)


def test_a_number_is_of_runs_and_a_timedelta_an_age() -> None:
    found = [JOBS.get(name) for name in ("counts", "ends_somehow", "is_too_large")]
    assert [one.reuse for one in found if one is not None] == [
        Reuse(runs=3),
        Reuse(age=timedelta(hours=1)),
        Reuse(runs=100, memory=1),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reuse": 0}, "reuse: runs must be 1 or more, got 0"),
        ({"reuse": True}, "reuse: must be a number of runs, a timedelta or a Reuse, got True"),
        ({"reuse": "100"}, "reuse: must be a number of runs, a timedelta or a Reuse, got '100'"),
        ({"reuse": timedelta(0)}, "reuse: age must be above 0, got 0:00:00"),
        ({"preload": 1}, "preload: must be True, False or None, got 1"),
    ],
)
def test_what_is_no_limit_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        define("counts", counts.definition.handler, isolation="process", **options)  # type: ignore[arg-type]


def test_a_reuse_without_limits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"reuse: needs a limit, e.g. Reuse\(runs=100\)"):
        Reuse()
    with pytest.raises(ValueError, match="reuse: memory must be a number of bytes above 0, got 0"):
        Reuse(runs=1, memory=0)


@pytest.mark.parametrize("options", [{"reuse": 5}, {"preload": True}])
def test_options_of_child_processes_are_refused_elsewhere(options: dict[str, object]) -> None:
    def thread() -> None:
        """No child process."""

    with pytest.raises(ConfigurationError, match=r"is for jobs in child processes; add isolation='process' or leave"):
        define("thread", thread, **options)  # type: ignore[arg-type]


def test_a_child_that_is_too_old_begins_no_further_run() -> None:
    child = SimpleNamespace(exited=SimpleNamespace(done=bool))
    young, old = PooledChild(child), PooledChild(child, since=-1e9)  # type: ignore[arg-type] # as much as is asked for
    assert [one.may_go_on(Reuse(age=timedelta(hours=1))) for one in (young, old)] == [True, False]
