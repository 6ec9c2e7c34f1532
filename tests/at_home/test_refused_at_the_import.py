"""What cannot work is refused where it is written: at the import with file and line, or by `check` and at the start."""

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

from cronograph.jobs import JobContext, around, carries, job
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput
from cronograph.jobs.registry import Registry
from tests.support.processes import ProcessStarter


class Pool:
    """Something that a resource would give."""


def calls_back(then: Callable[[int], None]) -> None: ...
def may_call_back(url: str, then: Callable[[int], None] | None = None) -> None: ...
def takes_class(kind: type[Pool]) -> None: ...
def takes_pool(url: str, pool: Pool) -> None: ...
def takes_pools(pools: list[Pool]) -> None: ...
def takes_lock(lock: threading.Event) -> None: ...
def takes_logger(url: str, log: logging.Logger) -> None: ...
def takes_generator(rows: Generator[int, None, None]) -> None: ...
def takes_model_name(model_pool: Pool) -> None: ...
def context_or_text(ctx: JobContext | str) -> None: ...


PARAMETERS: list[tuple[Callable[..., Any], str, str]] = [
    (calls_back, "then", r"Callable\[\[int\], None\]"),
    (may_call_back, "then", r"Optional\[Callable\[\[int\], None\]\]|Callable\[\[int\], None\] \| None"),
    (takes_class, "kind", r"type\[.*Pool\]"),
    (takes_pool, "pool", "Pool"),
    (takes_pools, "pools", r"list\[.*Pool\]"),
    (takes_lock, "lock", "Event"),
    (takes_logger, "log", "Logger"),
    (takes_generator, "rows", r"Generator\[int, NoneType, NoneType\]|Generator\[int, None, None\]"),
    (takes_model_name, "model_pool", "Pool"),
    (context_or_text, "ctx", r".*JobContext \| str"),
]


@pytest.mark.parametrize(("function", "parameter", "kind"), PARAMETERS, ids=[one.__name__ for one, *_ in PARAMETERS])
def test_a_parameter_without_a_form_in_json_is_named_with_what_to_do(
    function: Callable[..., Any], parameter: str, kind: str
) -> None:
    message = f"parameter '{parameter}': ({kind}) cannot be written as JSON, .* declare a @resource .* GIVEN; else"
    with pytest.raises(ConfigurationError, match=message) as caught:
        job(registry=Registry())(function)
    assert f"test_refused_at_the_import.py:{function.__code__.co_firstlineno})" in str(caught.value)
    assert "pydantic" not in str(caught.value)


def counts() -> Iterator[int]:
    yield 1


async def counts_slowly() -> AsyncIterator[int]:
    yield 1


class Mailer:
    """Sends."""

    def __init__(self, to: str) -> None: ...
    def __call__(self, to: str) -> None: ...


NO_FUNCTIONS: list[tuple[Any, str]] = [
    (counts, "this is a generator function: nobody would take what it yields"),
    (counts_slowly, "this is an async generator function"),
    (Mailer, "must be on a function, got the class Mailer; write a function that makes one"),
    (Mailer("a"), "must be on a function .*, got <.*Mailer object"),
    (3, "must be on a function .*, got 3"),
]


@pytest.mark.parametrize(("wrong", "message"), NO_FUNCTIONS, ids=[message[:40] for _, message in NO_FUNCTIONS])
def test_only_functions_that_return_are_jobs(wrong: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        job("wrong", registry=Registry())(wrong)


def plain() -> None: ...


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"on_failure": lambda: None}, r"on_failure: the function is called with the Failure, but takes \(\)"),
    ({"backoff": lambda: 1}, r"backoff: the function is called with the number of failures, but takes \(\)"),
    ({"timeout": "soon"}, "timeout: must be seconds, a timedelta or a text such as '90s', '5m' or 'PT5M', got 'soon'"),
    ({"retry_delay": "5 parsecs"}, "retry_delay: must be seconds, a timedelta or a text"),
    ({"schedule": 5}, "schedule: must be a six-field cron string .*, or a schedule such as .*, got 5"),
    ({"schedule": "0 0 * * * *", "timezone": 3}, "timezone: must be an IANA name"),
    ({"schedule": "0 0 * * * *", "args": [1]}, "args: must be a mapping of names to values"),
    ({"description": 3}, "description: must be a text, got 3"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[message[:40] for _, message in OPTIONS])
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        job(registry=Registry(), **options)(plain)
    assert f"test_refused_at_the_import.py:{plain.__code__.co_firstlineno})" in str(caught.value)


@pytest.mark.parametrize("text", ["5m", "300", "PT5M", "5 minutes"])
def test_durations_are_written_as_schedules_have_them(text: str) -> None:
    made = job(registry=Registry(), timeout=text, retry_delay=text)(plain)
    assert (made.definition.policies.defaults.timeout, made.definition.policies.defaults.retry_delay) == (300.0, 300.0)
    spec = made.options(timeout=text, retry_delay=text).run()
    assert (spec.timeout, spec.retry_delay) == (300.0, 300.0)
    with pytest.raises(InvalidInput, match="timeout: must be seconds, a timedelta or a text"):
        made.options(timeout="soon").run()


def test_what_is_declared_beside_jobs_is_judged_too() -> None:
    registry = Registry()
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: around(jobs=[3], registry=registry), r"@around: jobs must be jobs or their names, .*, got \[3\]"),  # type: ignore[list-item]
        (lambda: around(jobs=[], registry=registry), "@around: jobs must be jobs or their names"),
        (lambda: carries("", registry=registry)(plain), "@carries: the name of the value must be a text, got ''"),
        (
            lambda: carries("x", registry=registry)(takes_pools),  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
            r"@carries\('x'\) at .*: the function is called with nothing",
        ),
        (lambda: carries("x", registry=registry)(counts_slowly), r"@carries\('x'\): must be on a plain function"),
    ]
    for declare, message in wrong:
        with pytest.raises(ConfigurationError, match=message):
            declare()


def test_a_failure_job_that_is_known_is_judged_at_the_import() -> None:
    registry = Registry()

    @job(registry=registry)
    def counts_orders(days: int) -> None: ...

    with pytest.raises(ConfigurationError, match=r"on_failure: job 'counts_orders' .* cannot take it"):
        job(registry=registry, on_failure=counts_orders)(plain)


FAILING = """
from cronograph.jobs import job

@job(on_failure="{}")
def mail() -> None: ...

@job
def notify({}) -> None: ...
"""
HOOKED = """
from cronograph.jobs import around, job

@job
def mail() -> None: ...

@around(jobs="mial")
def timed():
    yield
"""
MODULES = {
    "nobody": (FAILING.format("notfy", "failure: dict"), "there is no job 'notfy'; did you mean 'notify'?"),
    "other": (
        FAILING.format("notify", "text: str"),
        "other.py:7)) gets one argument, the failure, and cannot take it",
    ),
    "hooked": (HOOKED, "there is no job 'mial'; did you mean 'mail'?"),
}


@pytest.mark.costly
@pytest.mark.parametrize("module", MODULES)
def test_check_and_the_start_refuse_names_of_jobs_that_no_module_has(processes: ProcessStarter, module: str) -> None:
    source, message = MODULES[module]
    (processes.folder / f"{module}.py").write_text(source)
    line = f"{module}.py:{7 if module == 'hooked' else 4})"
    status, output = processes.run("check", "--json", "--jobs", module, "--database-url", "sqlite:///check.db")
    assert status == 2
    (fault,) = json.loads(output)["errors"]
    assert message in fault
    assert line in fault
    status, output = processes.run("serve", "--no-auth", "--jobs", module, "--database-url", "sqlite:///check.db")
    assert status == 2
    assert message in output
