"""Every way in which a job can end, carried in every way, with the row that it leaves."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from tests.runtime.sample_jobs import KINDS, RAISED, RETURNED, registry_of
from tests.support.engines import Finished, StartEngine


@dataclass(frozen=True)
class Expected:
    """What is stored about a run that ended in one way."""

    state: RunState = RunState.FAILED
    outcome: Outcome = Outcome.FAILED
    error: str | None = None
    error_type: str | None = None
    records: int | None = None
    value: Any = None


def succeeded(records: int | None = None, value: Any = None) -> Expected:
    return Expected(RunState.SUCCESS, Outcome.SUCCESS, records=records, value=value)


def refused(error: str) -> Expected:
    return Expected(error=error, error_type="InvalidResult")


def failed(error: str, error_type: str) -> Expected:
    return Expected(error=error, error_type=error_type)


EXPECTED = {
    "nothing": succeeded(),
    "a number": succeeded(7),
    "zero": succeeded(0),
    "an enum": succeeded(12),
    "a result": succeeded(3, {"a": [1, [2, 3]], "5": None}),
    "a value only": succeeded(value="done"),
    "a NUL": refused(r"the value of a Result, at a, must not hold the character U\+0000"),
    "half a character": refused(r"the value of a Result must not hold half of a surrogate pair"),
    "an escape": succeeded(value="\\u0000"),
    "a bool": refused(r"a job must return None, an int .* got bool"),
    "a negative number": refused(r"records processed: must be from 0 to 2\^63 - 1, got -1"),
    "too many": refused(r"got 9223372036854775808"),
    "an enormous number": refused(r"got a number of \d+ bits"),
    "text": refused(r"got str"),
    "not a number": refused(r"the value of a Result must be JSON, got float nan; use None"),
    "a set": refused(r"the value of a Result must be JSON, got set; make it a list"),
    "a key that is no text": refused(
        r"the value of a Result, at a, must be JSON, got a key that is int; keys are texts, so write them by str\(…\)"
    ),
    "too large a value": refused(r"the value of a Result may have 1000000 characters of JSON, got 1000003"),
    "a bool of records": refused(r"got bool"),
    "an error": failed("^no\ufffd luck$", "ValueError"),
    "an error without words": failed("^KeyError$", "KeyError"),
    "an unreadable error": failed("^its message cannot be read: RuntimeError$", "UnreadableError"),
    "a nameless error": failed("^no luck$", "^NamelessError$"),
    "a permanent failure": failed("^never$", "PermanentFailure"),
    "a snooze": Expected(RunState.WAITING, Outcome.SNOOZED),
    "a suspension": Expected(RunState.SUSPENDED, Outcome.SUSPENDED),
    "a cancel": Expected(RunState.CANCELLED, Outcome.CANCELLED, error="^not needed$"),
    "an exit": failed("^3$", "SystemExit"),
    "an interrupt": failed("^KeyboardInterrupt$", "KeyboardInterrupt"),
    "a long message": failed(r"^x{4000}… \(6000 characters cut\)$", "RuntimeError"),
    "a cancelled coroutine": failed("cancelled from inside|^CancelledError$", "RuntimeError|CancelledError"),
    "a closed generator": failed("^GeneratorExit$", "GeneratorExit"),
}
ENDED = {RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED}


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_every_end_of_a_job_leaves_the_documented_row(start_engine: StartEngine, kind: str) -> None:
    assert EXPECTED.keys() == RETURNED.keys() | RAISED.keys()
    engine = await start_engine(registry_of(kind))
    ids = {how: await engine.enqueue("ends", {"how": how}) for how in EXPECTED}
    for how, expected in EXPECTED.items():
        await engine.wait_end(ids[how])
        run = await engine.run(ids[how])
        executions = await engine.executions(run.id)
        assert len(executions) == 1, [(one.outcome, one.error_message, one.started_at) for one in executions]
        (execution,) = executions
        found = (how, run.state, execution.outcome, execution.records_processed, execution.value, run.result)
        assert found == (how, expected.state, expected.outcome, expected.records, expected.value, expected.value)
        assert execution.success is (expected.outcome in {Outcome.SUCCESS, Outcome.SNOOZED, Outcome.SUSPENDED}), how
        assert_matches(expected.error, execution.error_message)
        assert_matches(expected.error_type, execution.error_type)
        assert run.error == execution.error_message
        assert execution.completed_at is not None
        assert (run.finished_at is not None) is (run.state in ENDED), how


def assert_matches(pattern: str | None, text: str | None) -> None:
    if pattern is None:
        assert text is None
    else:
        assert text is not None
        assert re.search(pattern, text)


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_failure_keeps_the_traceback_of_the_job(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind))
    done = await engine.finish("ends", {"how": "an error"})
    assert done.execution.traceback is not None
    assert "sample_jobs.py" in done.execution.traceback
    assert "ValueError: no\ufffd luck" in done.execution.traceback


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_failed_attempt_is_retried_until_the_retries_are_used_up(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(registry_of(kind))
    done = await engine.finish("ends", {"how": "an error"}, retries=2)
    assert done.run.state is RunState.FAILED
    assert [(one.attempt, one.outcome) for one in done.executions] == [(n, Outcome.FAILED) for n in (1, 2, 3)]


async def test_a_permanent_failure_is_not_retried(start_engine: StartEngine) -> None:
    engine = await start_engine(registry_of("async"))
    done = await engine.finish("ends", {"how": "a permanent failure"}, retries=5)
    assert (done.run.state, done.run.attempt) == (RunState.FAILED, 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_arguments_that_no_longer_fit_fail_at_once_where_nobody_waits(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(registry_of(kind), version_wait=0.0)
    run_id = await engine.enqueue_unchecked("ends", {"how": [1]}, retries=5)
    done: Finished = await engine.finished(run_id)
    assert (done.run.state, done.run.attempt, done.execution.error_type) == (RunState.FAILED, 1, "InvalidArguments")
    assert done.run.error is not None
    assert done.run.error.startswith("argument 'how' of job 'ends': Input should be a valid string")
