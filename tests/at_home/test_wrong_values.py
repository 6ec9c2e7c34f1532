"""What a public name is given and cannot use is refused where it is made, or at its first use, by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from cronograph.jobs import (
    ConfigurationError,
    InvalidInput,
    Registry,
    Result,
    Reuse,
    RunSpec,
    ScheduleSpec,
    StorageError,
    Throttle,
    around,
    calendar,
    connect,
    cron,
    every,
    job,
)
from cronograph.jobs.queue.enqueue.requests import new_runs
from cronograph.jobs.testing import run_job

WRONG: Any = 5
WRONG_NUMBER: Any = "many"
JOBS = Registry()


@job("wrong values", registry=JOBS)
def lay() -> None: ...


def given(**options: Any) -> Callable[[], object]:
    return lambda: lay.options(**options)


@pytest.mark.parametrize(
    ("made", "error", "said"),
    [
        (lambda: connect(WRONG), ConfigurationError, "database URL: must be sqlite:///relative.db, .*, got 5"),
        (lambda: cron(WRONG), TypeError, "cron: must be a text such as '.*', got 5"),
        (lambda: cron("0 0 0 * * *", timezone=WRONG), TypeError, "cron: timezone must be an IANA name .*, got 5"),
        (lambda: calendar(WRONG), TypeError, "calendar: must be a text such as '.*', got 5"),
        (lambda: every(True), TypeError, "every: must be seconds, .*, got True"),
        (lambda: Reuse(runs=WRONG * 0.5), ValueError, "reuse: runs must be 1 or more, got 2.5"),
        (lambda: Reuse(runs=1, memory=WRONG * 0.5), ValueError, "reuse: memory must be a number of bytes .* got 2.5"),
        (given(nope=1), TypeError, "a run has no option 'nope'; there are run_at"),
        (given(timeout="soon"), InvalidInput, "timeout: must be seconds, a timedelta or a text .*, got 'soon'"),
        (given(unique_among=5), InvalidInput, r"unique_among: must be \('waiting',\).*, got 5"),
        (
            lambda: job(registry=Registry(), retry_delay=10**400)(rest),
            ConfigurationError,
            r"retry_delay: must be from 0 to 316,224,000 seconds, got 1e\+400",
        ),
        (lambda: job(registry=Registry(), schedule=every(10**400))(rest), ConfigurationError, "schedule '1000"),
        (given(throttle=Throttle(1, last=WRONG)), InvalidInput, "throttle.last: must be True or False, got 5"),
        (
            lambda: job(registry=Registry(), schedule=ScheduleSpec(WRONG, WRONG))(rest),
            ConfigurationError,
            r"test_wrong_values.py:\d+\): schedule: value must be a text, got 5",
        ),
    ],
)
def test_a_wrong_value_is_refused_where_it_is_given(
    made: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        made()


def rest() -> None: ...


def test_what_is_no_run_is_refused_with_its_place_among_the_others() -> None:
    with pytest.raises(TypeError, match=r"runs.1: must be a run to be, e.g. job.run\(…\) .*, got 5"):
        new_runs([RunSpec(lay.name), WRONG])


def test_a_pattern_that_is_none_is_refused_with_its_parameter() -> None:
    def hatch(name: str, code: Annotated[str, Field(pattern=r"^a+\Z")]) -> None: ...

    with pytest.raises(ConfigurationError, match=r"\.py:\d+\): parameter 'code': its annotation cannot be used: regex"):
        job(registry=Registry())(hatch)


def test_a_mistyped_path_makes_no_database(tmp_path: Path) -> None:
    path = tmp_path / "mistyped.db"
    with (
        connect(f"sqlite:///{path}", registry=JOBS),
        pytest.raises(StorageError, match=r"mistyped.db': must be there, but is not; .* run `cronograph migrate`"),
    ):
        lay.enqueue_sync()
    assert not path.exists()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (type("Coop", (), {"__module__": __name__}), "Coop.*must be on a function, got the class Coop"),
        (int, "builtins.int: @job must be on a function, got the class int"),
        (staticmethod(rest), r"test_wrong_values.py:\d+\): @job must be on a function, got a method"),
        (5, "at 5: @job must be on a function"),
    ],
)
def test_what_is_no_function_is_refused_with_its_place(function: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        job("nothing", registry=Registry())(function)


class Hatchery:
    """A class whose source is there."""


def test_a_class_is_refused_with_file_and_line() -> None:
    with pytest.raises(
        ConfigurationError, match=r"Hatchery \(.*test_wrong_values.py:\d+\): @job must be on a function"
    ):
        job("hatchery", registry=Registry())(Hatchery)


def test_a_hook_of_an_unknown_job_says_that_there_are_none() -> None:
    jobs = Registry()

    @around(jobs=["nobody"], registry=jobs)
    def watch() -> Any:
        yield

    with pytest.raises(ConfigurationError, match="there is no job 'nobody'; there are none"):
        jobs.check()


async def test_a_factory_of_defaults_is_judged_when_a_run_needs_its_value() -> None:
    jobs = Registry()

    @job(registry=jobs)
    def counted(number: int = Field(default_factory=lambda: WRONG_NUMBER)) -> None: ...

    @job(registry=jobs)
    def annotated(number: Annotated[int, Field(default_factory=lambda: "7")]) -> Result:
        return Result(value=number)

    said = "argument 'number' of job 'counted': Input should be a valid integer"
    with pytest.raises(InvalidInput, match=said):
        counted.run()
    ended = await run_job(counted)
    assert (ended.error_type, str(ended.error).partition(",")[0]) == ("InvalidArguments", said)
    assert (await run_job(annotated)).value == 7
