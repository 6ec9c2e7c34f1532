"""A run, a flow or a wait that is not what it must be is refused by its name in Python, never in words from inside."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine

from cronograph.jobs import (
    ConfigurationError,
    CronographError,
    Debounce,
    Flow,
    InvalidInput,
    JobContext,
    Registry,
    RunOptions,
    RunSpec,
    around,
    carries,
    connect,
    enqueue_many_sync,
    enqueue_sync,
    job,
    resource,
)
from cronograph.jobs.core.base.errors import NAMES
from cronograph.jobs.queue.enqueue.requests import new_runs
from cronograph.jobs.testing.single import run_job

WRONG: Any = 5
JOBS = Registry()
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - that is the fault
OF_THE_API = re.compile("|".join(NAMES))


@job("count eggs", registry=JOBS)
def count_eggs(number: int = 1) -> None: ...


@pytest.fixture
def session(sqlite_url: str) -> Iterator[Connection]:
    engine = create_engine(sqlite_url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


SPECS: list[tuple[dict[str, Any], str]] = [
    ({"job_name": 5}, "job_name: must be a text, got 5"),
    ({"job_name": []}, r"job_name: must be a text, got \[\]"),
    ({"args": {5: 1}}, "args: each name must be a text, got 5"),
    ({"args": []}, r"args: must be a mapping of names to values, got \[\]"),
    ({"args": ""}, "args: must be a mapping of names to values, got ''"),
    ({"group": {}}, r"group: must be a text, got {}"),
    ({"priority": []}, r"priority: must be 'high' or 'low', got \[\]"),
    ({"run_at": [5]}, r"run_at: must be a datetime with a time zone, .* got \[5\]"),
    ({"unique_key": 5}, "unique_key: must be a text, got 5"),
    ({"retries": {}}, "retries: must be a whole number from 0 to 1,000, got {}"),
    ({"retry_delay": -1}, "retry_delay: must be from 0 to 316,224,000 seconds, got -1"),
    ({"timeout": []}, r"timeout: must be from 0.001 to 316,224,000 seconds, got \[\]"),
    ({"carried": {5: 1}}, "carried: each name must be a text, got 5"),
    ({"carried": []}, r"carried: must be a mapping of names to values, got \[\]"),
    ({"labels": []}, r"labels: must be a mapping of keys to values, got \[\]"),
    ({"parent_labels": 5}, "parent_labels: must be a mapping of keys to values, got 5"),
    ({"parent_labels": {5: "a"}}, "parent_labels: a key must have .*, got 5"),
    ({"expires_at": NAIVE}, "expires_at: must have a time zone"),
    ({"ttl": {}}, "ttl: must be seconds from 0.001"),
    ({"hold": 5}, r"hold: must be a rule that @job or options\(…\) has made, or None, got 5"),
    ({"max_duration": -1}, "max_duration: must be from 0.001 to 316,224,000 seconds, got -1"),
    ({"settled": 5}, "settled: must be True or False, got 5"),
]


@pytest.mark.parametrize(("wrong", "said"), SPECS, ids=[f"{one}" for one, _ in SPECS])
def test_a_run_to_be_that_cannot_be_is_refused_by_its_field(
    session: Connection, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        enqueue_many_sync(session, [RunSpec("count eggs"), RunSpec(**{"job_name": "count eggs", **wrong})])
    (field,) = wrong
    assert caught.value.path[:3] == ("runs", "1", field)


def test_several_faults_of_one_run_are_a_value_error_too(session: Connection) -> None:
    with pytest.raises(ValueError, match=r"retries: .*; retry_delay: must be from 0") as caught:
        enqueue_sync(session, "count eggs", retries=-1, retry_delay=-1)
    assert isinstance(caught.value, CronographError)


@pytest.mark.parametrize("wrong", [5, None, "x", [5]])
def test_what_are_no_runs_is_refused(session: Connection, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"runs[.0]*: must be (a run|runs) to be"):
        enqueue_many_sync(session, wrong)


@pytest.mark.costly
@pytest.mark.parametrize("option", RunOptions.__annotations__)
@pytest.mark.parametrize("wrong", [5.5, -1, b"x", [5], {5: 1}, NAIVE, "\0"], ids=repr)
def test_options_are_named_as_python_writes_them(session: Connection, option: str, wrong: Any) -> None:
    """Some of these are fine; what is refused is refused by name."""
    said = refusal(lambda: count_eggs.options(**{option: wrong}).enqueue_sync(session))
    assert not said or option in said
    assert not OF_THE_API.search(said)


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except CronographError as error:
        return str(error)
    return ""


def test_a_key_that_another_job_holds_is_named_as_python_writes_it(session: Connection) -> None:
    enqueue_sync(session, "count eggs", unique_key="k")
    with pytest.raises(CronographError, match="unique_key: 'k' is held by run 1") as caught:
        enqueue_sync(session, "other", unique_key="k", debounce=Debounce(5))
    assert getattr(caught.value, "path", None) == ("unique_key",)


def test_a_flow_whose_key_is_taken_says_it_as_python_writes_it(session: Connection) -> None:
    def of_eggs() -> Flow:
        flow = Flow("eggs", unique_key="eggs", registry=JOBS)
        flow.add("count", count_eggs)
        return flow

    of_eggs().enqueue_sync(session)
    with pytest.raises(CronographError, match=r"^unique_key: flow 1 has the key 'eggs'"):
        of_eggs().enqueue_sync(session)


FLOWS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: Flow(WRONG), InvalidInput, "name: must be a text, got 5"),
    (lambda: Flow(""), InvalidInput, "name: must have 1 to 200 characters, got 0"),
    (lambda: Flow("f", unique_key=WRONG), InvalidInput, "unique_key: must be a text, got 5"),
    (lambda: Flow("f", labels=WRONG), InvalidInput, "labels: must be a mapping of keys to values, got 5"),
    (lambda: Flow("f", open=WRONG), InvalidInput, "open: must be True or False, got 5"),
    (lambda: Flow("f", registry=WRONG), TypeError, "registry: must be a Registry or None, got 5"),
    (lambda: Flow("f").add(WRONG, count_eggs), InvalidInput, "key: must be a text, got 5"),
    (lambda: Flow("f").add("a", WRONG), TypeError, "run 'a': the second argument must be a job, .*, got 5"),
    (lambda: Flow("f").add("a", count_eggs).after(None), TypeError, "after: must be runs .*, got None"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("made", "error", "said"), FLOWS, ids=[said[:30] for *_, said in FLOWS])
def test_a_flow_that_cannot_be_is_refused_where_it_is_made(
    made: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        made()


def hatch() -> None: ...


REGISTRIES: list[Callable[[], object]] = [
    lambda: job("x", registry=WRONG),
    lambda: around(registry=WRONG),
    lambda: resource(registry=WRONG),
    lambda: carries("x", registry=WRONG),
    lambda: connect("sqlite:///x.db", registry=WRONG),
]


@pytest.mark.parametrize("given", REGISTRIES, ids=["job", "around", "resource", "carries", "connect"])
def test_what_is_no_registry_is_refused(given: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="registry: must be a Registry or None, got 5"):
        given()


@pytest.mark.parametrize("option", ["unique_key", "backoff", "on_failure"])
def test_a_function_of_which_nothing_is_known_is_refused(option: str) -> None:
    options: dict[str, Any] = {option: str}
    said = f"{option}: Python does not say which parameters <class 'str'> has"
    with pytest.raises(ConfigurationError, match=said):
        job(registry=Registry(), **options)(hatch)


CALLS: list[tuple[Callable[[JobContext], object], type[Exception], str]] = [
    (lambda ctx: ctx.enqueue_many_sync(WRONG), TypeError, r"runs: must be runs to be, .* got 5"),
    (lambda ctx: ctx.enqueue_many_sync([WRONG]), TypeError, r"runs: must be runs to be, .* got 5"),
    (lambda ctx: ctx.run_all_sync(WRONG), TypeError, r"runs: must be runs to be, .* got 5"),
    (lambda ctx: ctx.sleep_until_sync("a", WRONG), InvalidInput, "until: must be a datetime with a time zone, .* 5"),
    (lambda ctx: ctx.step_sync("a", hatch, retries=WRONG * 0.5), InvalidInput, "retries must be a whole number .* 2.5"),
    (lambda ctx: ctx.wait_for_sync("a", WRONG), InvalidInput, "model: must be a pydantic model, .* got 5"),
    (lambda ctx: ctx.wait_for_sync("a", role=WRONG), InvalidInput, "role: must be one of .*, got 5"),
]


@pytest.mark.parametrize(("call", "error", "said"), CALLS, ids=[said[:30] for *_, said in CALLS])
async def test_what_a_job_asks_for_wrongly_is_refused_where_it_asks(
    call: Callable[[JobContext], object], error: type[Exception], said: str
) -> None:
    @job("asks", registry=Registry())
    def asks(ctx: JobContext) -> None:
        with pytest.raises(error, match=said):
            call(ctx)

    done = await run_job(asks)
    assert done.error is None


@pytest.mark.parametrize("together", [False, True])
def test_what_equals_a_right_setting_is_judged_by_itself(together: bool) -> None:
    right, wrong = RunSpec("count eggs", retries=1), RunSpec("count eggs", retries=True)
    assert [one.retries for one in new_runs([right])] == [1]
    with pytest.raises(InvalidInput, match="retries: must be a whole number"):
        new_runs([right, wrong] if together else [wrong])
