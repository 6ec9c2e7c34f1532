"""Policies that a job carries: what can be said, what is refused at the import, and what a failure then means."""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs import Cap, JobContext, Rate, Result, Snooze, job
from cronograph.jobs.core.admission.caps import Rate as StoredRate
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.defaults import JobDefaults
from cronograph.jobs.core.limits import Keys, Limits
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec
from cronograph.jobs.core.rules import MAX_SECONDS
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, run_job
from tests.support.engines import StartEngine


def test_all_policies_can_be_said_in_words_and_durations() -> None:
    registry = Registry()

    @job(
        "import",
        registry=registry,
        retries=5,
        retry_delay=timedelta(seconds=3),
        timeout=timedelta(minutes=2),
        group="shop",
        priority="HIGH",
        overlap="allow",
        misfire="none",
        schedule="0 0 3 * * *",
        timezone="Europe/Berlin",
        args={"source": "web"},
        enabled=False,
    )
    async def handler(ctx: JobContext, source: str) -> None: ...

    definition = registry.get("import")
    assert definition is not None
    assert handler.definition is definition
    assert definition.policies.defaults == JobDefaults(
        "shop", Priority.HIGH, 5, 3.0, 120.0, None, OverlapPolicy.ALLOW, MisfirePolicy.NONE
    )
    assert definition.schedule == ScheduleSpec(Syntax.CRON, "0 0 3 * * *", "Europe/Berlin")
    assert (definition.declared_args, definition.enabled) == ({"source": "web"}, False)
    assert definition.info.defaults == definition.policies.defaults


def test_tags_are_one_word_or_several_and_no_sentence() -> None:
    registry = Registry()

    async def handler() -> None: ...

    assert job("one", registry=registry, tags="gpu")(handler).definition.info.tags == ("gpu",)
    assert job("two", registry=registry, tags=["slow", "gpu", "slow"])(handler).definition.tags == ("gpu", "slow")
    assert job("none", registry=registry)(handler).definition.tags == ()
    several: list[Any] = ["a b", "", ["gpu", 3], None]
    for wrong in several:
        with pytest.raises(ConfigurationError, match=r"tags: must be words of letters, digits"):
            job("wrong", registry=registry, tags=wrong)(handler)


def test_a_job_without_a_name_has_that_of_its_function_and_can_still_be_called() -> None:
    registry = Registry()

    @job(registry=registry)
    def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    assert registry.names() == ("add",)
    assert (add.name, add(1, b=2), add.__doc__) == ("add", 3, "Adds.")
    assert repr(add).startswith("<job 'add': tests.test_job_policies.")


HOURLY = "0 0 * * * *"


class Shop:
    def close(self, till: int) -> None: ...


async def needs(since: str) -> None: ...


async def plain() -> None: ...


async def says_text() -> str:
    return ""


async def says_text_or_none() -> list[str] | None: ...


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (plain, {"retrys": 3}, "@job has no option 'retrys'; did you mean 'retries'?"),
    (plain, {"retry": 3}, "@job has no option 'retry'; did you mean 'retries'?"),
    (plain, {"colour": 3}, "@job has no option 'colour'; there are schedule, timezone,"),
    (needs, {"schedule": HOURLY}, "need argument 'since': nobody gives it.*add args={'since': …}"),
    (
        needs,
        {"schedule": HOURLY, "args": {"since": [1]}},
        "need argument 'since': Input should be a valid string",
    ),
    (
        plain,
        {"schedule": HOURLY, "args": {"x": 1}},
        r"args: the job has no argument 'x'; it takes no arguments",
    ),
    (needs, {"schedule": HOURLY, "args": {"sinse": "x"}}, "no argument 'sinse'; did you mean 'since'"),
    (plain, {"schedule": HOURLY, "args": {"x": object()}}, "args.x: must be JSON"),
    (plain, {"schedule": HOURLY, "enabled": "no"}, "enabled: must be True or False, got 'no'"),
    (plain, {"schedule": "* * * * *"}, r"schedule '\* \* \* \* \*': .*five fields"),
    (plain, {"schedule": HOURLY, "timezone": "Berlin"}, "Berlin"),
    (plain, {"schedule": ScheduleSpec(Syntax.INTERVAL, "60"), "timezone": "UTC"}, "a ScheduleSpec has a time zone"),
    (plain, {"args": {"x": 1}}, "args: is for the job's schedule, and it has none"),
    (plain, {"enabled": False}, "enabled: is for the job's schedule"),
    (Shop.close, {}, "method of class Shop, and nobody would give it its 'self'"),
    (says_text, {}, "its annotation says str; return Result"),
    (says_text_or_none, {}, r"its annotation says list.*; return Result"),
    (plain, {"retries": -1}, "retries: must be a whole number from 0 to 1,000, got -1"),
    (plain, {"retry_delay": "soon"}, "retry_delay: must be seconds, a timedelta or a text"),
    (plain, {"timeout": 0}, "timeout: must be from 0.001"),
    (plain, {"group": "a/b"}, "group: must not contain control characters or '/'"),
    (plain, {"priority": "urgent"}, "priority: must be one of 'high', 'low', got 'urgent'"),
    (plain, {"overlap": "wait"}, "overlap: must be one of 'skip', 'queue', 'allow', 'replace', got 'wait'"),
    (plain, {"backoff": "square"}, "backoff: must be one of 'exponential', 'linear', 'constant' or a function"),
    (plain, {"retry_on": ("OSError",)}, "retry_on: must be exception classes"),
    (plain, {"give_up_on": int}, "give_up_on: must be exception classes"),
    (plain, {"unique_key": 7}, "unique_key: must be names of arguments, a text or a function"),
]


@pytest.mark.parametrize(("handler", "options", "message"), REFUSED, ids=[sentence[:50] for *_, sentence in REFUSED])
def test_what_cannot_work_is_refused_at_the_import_with_file_and_line(
    handler: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        job("refused", registry=Registry(), **options)(handler)
    assert f"test_job_policies.py:{handler.__code__.co_firstlineno})" in str(caught.value)
    assert str(caught.value).startswith("job 'refused' at tests.test_job_policies.")


def test_a_method_that_asks_for_no_object_is_a_function_too() -> None:
    registry = Registry()

    class Tools:
        @staticmethod
        @job(registry=registry)
        def sweep() -> None: ...

    assert registry.names() == ("sweep",)
    assert Tools.sweep() is None
    with pytest.raises(ConfigurationError, match="must be on a function, got a method"):
        job("wrapped", registry=registry)(staticmethod(plain))


class RefusedError(Exception):
    """The other side says no, for ever."""


class RefusedPolitelyError(RefusedError):
    """A kind of it."""


JOBS = Registry()


@job(registry=JOBS, retries=3, retry_delay=7, give_up_on=RefusedError, backoff="linear")
async def calls(raises: str | None = None) -> Result:
    errors = {"refused": RefusedPolitelyError("no"), "broken": OSError("broken")}
    if raises:
        raise errors[raises]
    return Result(1)


@job(registry=JOBS, retries=3, retry_delay=7, retry_on=(OSError,), backoff=lambda failures: timedelta(hours=failures))
def reads(raises: str) -> None:
    raise FileNotFoundError(raises) if raises == "file" else KeyError(raises)


@job(registry=JOBS, retry_delay=7, backoff="constant")
async def steady() -> None:
    raise ValueError("steady")


async def test_an_exception_to_give_up_on_ends_the_run_and_another_is_retried() -> None:
    refused = await run_job(calls, {"raises": "refused"})
    assert (refused.outcome, refused.state, refused.retry_in) == ("failed", "failed", None)
    broken = await run_job(calls, {"raises": "broken"})
    assert (broken.state, broken.retry_in) == ("stuck", 7.0)


async def test_only_the_exceptions_to_retry_on_are_retried() -> None:
    assert (await run_job(reads, {"raises": "file"}, registry=JOBS)).state == "stuck"
    assert (await run_job(reads, {"raises": "key"}, registry=JOBS)).state == "failed"


async def test_the_delay_grows_as_the_job_says() -> None:
    assert (await run_job(calls, {"raises": "broken"}, attempt=3)).retry_in == 21.0
    assert (await run_job(reads, {"raises": "file"}, attempt=3)).retry_in == 3 * 3600.0
    assert (await run_job(steady, retries=9, attempt=3)).retry_in == 7.0
    assert (await run_job(steady, retries=9, retry_delay=1, attempt=3)).retry_in == 1.0


class UnspeakableError(Exception):
    def __repr__(self) -> str:
        raise self

    __str__ = __repr__


def unspeakable(_: int) -> float:
    raise UnspeakableError


DELAYS: list[Callable[[int], Any]] = [
    lambda failures: -failures,
    lambda _: timedelta(days=999_999_999),
    lambda failures: 10.0**failures * 1e300,
    lambda failures: 10**400 * failures,
    lambda _: math.nan,
    lambda _: math.inf,
    lambda _: True,
    lambda _: "5m",
    lambda _: None,
    lambda failures: 1 / (failures - failures),
    unspeakable,
]


@pytest.mark.parametrize("backoff", DELAYS)
async def test_a_function_of_the_delay_that_fails_changes_nothing_but_the_log(backoff: Callable[[int], Any]) -> None:
    @job("miscounts", registry=Registry(), retry_delay=7, backoff=backoff)
    async def miscounts() -> None:
        raise ValueError("the reason")

    failed = await run_job(miscounts)
    assert (failed.error, failed.state, failed.retry_in) == ("the reason", "stuck", 7.0)
    assert "backoff of job 'miscounts' failed" in failed.messages[0]


async def test_the_longest_delay_of_a_function_is_ten_years() -> None:
    @job(registry=Registry(), retries=9, backoff=lambda failures: MAX_SECONDS + (failures > 1))
    async def patient() -> None:
        raise ValueError("the reason")

    assert (await run_job(patient)).retry_in == MAX_SECONDS
    assert "from 0 seconds to ten years" in (await run_job(patient, attempt=2)).messages[0]


@pytest.mark.parametrize("seconds", [math.nan, 1e300, -1.0, "never"])
async def test_a_snooze_of_a_class_of_ones_own_is_no_longer_than_any_other(seconds: Any) -> None:
    class Later(Snooze):
        def __init__(self) -> None:
            self.seconds = seconds

    @job(registry=Registry())
    async def tired() -> None:
        raise Later

    assert (await run_job(tired)).state == "stuck"


async def test_a_delay_that_no_clock_can_hold_ends_neither_its_worker_nor_other_runs(
    start_engine: StartEngine,
) -> None:
    registry = Registry()

    @job(registry=registry, backoff=lambda _: timedelta(days=999_999_999))
    async def refused() -> None:
        raise ValueError("the real reason")

    @job(registry=registry)
    async def other() -> None: ...

    engine = await start_engine(registry)
    first = await engine.enqueue("refused", retries=1, retry_delay=60.0)
    stuck = await engine.run_until(first, RunState.STUCK)
    assert stuck.error == "the real reason"
    assert stuck.available_at - stuck.submitted_at < timedelta(minutes=5)
    assert (await engine.finish("other")).run.state is RunState.SUCCESS


async def test_runs_and_tasks_have_the_policies_of_their_job_unless_they_say_otherwise() -> None:
    async with Queue(JOBS) as queue:
        first = await queue.enqueue(calls)
        second = await queue.enqueue("calls", retries=0, priority="high", group="own")
        await queue.schedule(calls, "0 0 * * * *", name="nightly", overlap="allow")
        third = await queue.trigger("nightly")
        await drain(queue)
        runs = [(await queue.run(one)).run for one in (first, second, third)]
    assert [(one.retries, one.retry_delay, one.group) for one in runs] == [
        (3, 7.0, "default"),
        (0, 7.0, "own"),
        (3, 7.0, "default"),
    ]
    assert runs[1].priority is Priority.HIGH


def test_limits_of_a_job_are_published_with_what_keys_are_made_of() -> None:
    registry = Registry()

    @job(
        registry=registry,
        rate=Rate(100, per="1m", burst=20),
        rate_key="{customer_id}",
        max_concurrent=3,
        concurrency_key=("customer_id",),
    )
    async def mail(customer_id: int) -> None: ...

    limits = mail.definition.info.defaults.limits
    assert limits is not None
    assert limits.rate == StoredRate(100, 60.0, 20)
    assert limits.keys_of("mail", {"customer_id": 7}) == Keys("mail(customer_id=7)", 3, "7")
    assert Limits.from_json(limits.to_json()) == limits


def test_a_job_says_how_long_its_runs_keep_their_places() -> None:
    @job(registry=Registry(), max_concurrent=1, concurrency_key="{customer_id}", hold="unfinished")
    async def migrate(customer_id: int) -> None: ...

    limits = migrate.definition.info.defaults.limits
    assert limits is not None
    assert limits.keys_of("migrate", {"customer_id": 7}) == Keys("7", 1, keeps_place=True)
    assert Limits.from_json(limits.to_json()) == limits


def test_a_limit_without_a_key_is_one_of_the_whole_job() -> None:
    @job(registry=Registry(), rate=Rate(1, per=timedelta(days=1)), max_concurrent=1)
    async def report() -> None: ...

    limits = report.definition.info.defaults.limits
    assert limits is not None
    assert limits.keys_of("report", {}) == Keys("report", 1, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rate": 100}, "rate: must be a Rate, e.g. Rate(100, per='1m'), got 100"),
        ({"rate": Rate(0)}, "rate.limit: must be a whole number from 1"),
        ({"rate": Rate(1, per="2d")}, "rate: must be at least one a day, got 1 in 172,800 s"),
        ({"rate": Rate(1, per="often")}, "rate.per: must be seconds, a timedelta or a text"),
        ({"rate": Rate(10**6)}, "rate: must be at most 100,000 a second"),
        ({"rate_key": "{customer_id}"}, "rate_key: says what is counted, but not how many; add rate=…"),
        ({"concurrency_key": "{customer_id}"}, "concurrency_key: says what is counted, but not how many; add max_con"),
        ({"max_concurrent": 0}, "max_concurrent: must be a whole number from 1 to 1,000,000, got 0"),
        ({"max_concurrent": True}, "max_concurrent: must be a whole number from 1 to 1,000,000, got True"),
        ({"max_concurrent": 1, "concurrency_key": "{custom_id}"}, "has no argument 'custom_id'; did you mean"),
        ({"max_concurrent": 1, "hold": "always"}, "hold: must be 'running' or 'unfinished', got 'always'"),
        ({"hold": "unfinished"}, "hold: says what is counted, but not how many; add max_concurrent="),
        ({"max_concurrent": 1, "concurrency_key": 7}, "concurrency_key: must be names of arguments or a text"),
        (
            {"max_concurrent": 1, "concurrency_key": "customer_id"},
            "is the same text for every run; write ('customer_id",
        ),
        ({"cap": 5}, "cap: must be a Cap, e.g. Cap(1000, when_full='refuse'), got 5"),
        ({"cap": Cap(0)}, "cap.limit: must be a whole number of waiting runs from 1 to 100,000, got 0"),
        ({"cap": Cap(5, "drop")}, "cap.when_full: must be one of 'refuse', 'drop_oldest', 'drop_newest', got 'drop'"),
        ({"cap_key": "{customer_id}"}, "cap_key: says what is counted, but not how many; add cap=…"),
        ({"cap": Cap(5), "cap_key": "{custom_id}"}, "has no argument 'custom_id'; did you mean"),
        ({"rate": Rate(1), "rate_key": "{custom_id}"}, "has no argument 'custom_id'; did you mean"),
        ({"max_concurrent": 1, "concurrency_key": len}, "concurrency_key: must be names of arguments or a text"),
    ],
)
def test_limits_that_cannot_be_are_refused_at_the_import(options: dict[str, Any], said: str) -> None:
    async def mail(customer_id: int) -> None: ...

    with pytest.raises(ConfigurationError) as refused:
        job("mail", registry=Registry(), **options)(mail)
    assert said in str(refused.value)
    assert "test_job_policies.py" in str(refused.value)
