"""What cannot work is refused where it is written: at the import with file and line, or by `check` and at the start."""

import json
import logging
import math
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from cronograph.jobs import Cap, JobContext, Rate, around, carries, job
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


class OfInfinity(BaseModel):
    x: float = math.inf


class WithNul(BaseModel):
    "Says \0."

    x: int


def infinite(limit: float = math.inf) -> None: ...
def no_number(limit: float = math.nan) -> None: ...
def infinite_inside(rows: list[float] = [1.0, math.inf]) -> None: ...  # noqa: B006 - a default is what is tested
def infinite_model(one: OfInfinity) -> None: ...
def given_infinite_model(one: OfInfinity = OfInfinity()) -> None: ...  # noqa: B008 - likewise
def infinite_example(x: Annotated[int, Field(examples=[math.inf])] = 1) -> None: ...
def nul_in_default(text: str = "a\0b") -> None: ...
def nul_in_key(rows: dict[str, int] = {"\0": 1}) -> None: ...  # noqa: B006 - likewise
def nul_in_literal(text: Literal["a\0", "b"]) -> None: ...
def nul_in_parameter(x: Annotated[int, Field(description="\0")]) -> None: ...
def nul_in_model(one: WithNul) -> None: ...
def half_in_default(text: str = "\ud800") -> None: ...
def sentinel(x: int = 1, y: Any = object()) -> None: ...  # noqa: B008 - likewise
def no_text(x: bytes = b"\xff") -> None: ...
def generated(x: Any = counts(), y: int = 1) -> None: ...  # noqa: B008 - likewise
def misfit(x: int = "many") -> None: ...  # type: ignore[assignment]
def misfit_none(x: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013 - a mistake that people make
def misfit_rule(x: Annotated[int, Field(ge=1)] = 0) -> None: ...
def misfit_model(one: WithNul | int = {"x": "y"}) -> None: ...  # type: ignore[assignment]  # noqa: B006 - likewise


def lacks(value: int) -> int:
    raise KeyError("rates")


def leaves(value: int) -> int:
    sys.exit(value)


def misfit_by_fault(x: Annotated[int, AfterValidator(lacks)] = 1) -> None: ...


def misfit_by_exit(x: Annotated[int, AfterValidator(leaves)] = 0) -> None: ...


def nul_in_docstring() -> None:
    "Say \0."


def half_in_docstring() -> None: ...


# Since Python 3.13 no such text can be written as a docstring.
half_in_docstring.__doc__ = "Say \udfff."


DECLARED: list[tuple[Callable[..., Any], str]] = [
    (infinite, "parameter 'limit': its default must be JSON, got float inf; use None or a text"),
    (no_number, "parameter 'limit': its default must be JSON, got float nan"),
    (infinite_inside, "parameter 'rows': its default.1 must be JSON, got float inf"),
    (infinite_model, "OfInfinity, of which a parameter is made: its properties.x.default must be JSON, got float inf"),
    (given_infinite_model, "its properties.x.default must be JSON, got float inf"),
    (infinite_example, "parameter 'x': its examples.0 must be JSON, got float inf"),
    (nul_in_default, r"parameter 'text': its default must not hold the character U\+0000"),
    (nul_in_key, r"parameter 'rows': its default must not hold the character U\+0000"),
    (nul_in_literal, r"parameter 'text': its enum.0 must not hold the character U\+0000"),
    (nul_in_parameter, r"parameter 'x': its description must not hold the character U\+0000"),
    (nul_in_model, r"WithNul, of which a parameter is made: its description must not hold the character U\+0000"),
    (half_in_default, "parameter 'text': its default must not hold half of a surrogate pair"),
    (sentinel, r"parameter 'y': its default <object object at .*> cannot be written as JSON; give a plain value"),
    (no_text, r"parameter 'x': its default b'\\xff' cannot be written as JSON; give a plain value, such as None"),
    (generated, r"parameter 'x': its default <generator .*> cannot be written as JSON; give a plain value"),
    (misfit, "parameter 'x': its default 'many' does not fit: Input should be a valid integer"),
    (misfit_none, r"parameter 'x': its default None does not fit: .*; annotate it as '… \| None'"),
    (misfit_rule, "parameter 'x': its default 0 does not fit: Input should be greater than or equal to 1"),
    (misfit_model, "its description must not hold|parameter 'one': its default .* does not fit"),
    (misfit_by_fault, "parameter 'x': its default 1 does not fit: KeyError: 'rates'"),
    (misfit_by_exit, "parameter 'x': its default 0 does not fit: SystemExit: 0"),
    (nul_in_docstring, r"description: must not contain control characters, got '\\x00'"),
    (half_in_docstring, r"description: must not contain half of a surrogate pair, got '\\udfff'"),
]


@pytest.mark.parametrize(("function", "message"), DECLARED, ids=[one.__name__ for one, _ in DECLARED])
def test_what_a_declaration_says_can_be_stored_and_fits(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        job(registry=Registry())(function)
    assert f"test_refused_at_the_import.py:{function.__code__.co_firstlineno})" in str(caught.value)


def takes_text(x: str = "", y: float | None = None, z: Any = None) -> None: ...


UNSTORABLE = ["\0", "\ud800"]
TEXTS: list[Callable[[str], dict[str, Any]]] = [
    lambda bad: {"description": bad},
    lambda bad: {"labels": {"a": bad}},
    lambda bad: {"labels": {bad: "a"}},
    lambda bad: {"unique_key": f"{bad}{{x}}"},
    lambda bad: {"max_concurrent": 1, "concurrency_key": f"{bad}{{x}}"},
    lambda bad: {"cap": Cap(1), "cap_key": f"{bad}{{x}}"},
    lambda bad: {"rate": Rate(1), "rate_key": f"{bad}{{x}}"},
    lambda bad: {"group": bad},
    lambda bad: {"tags": bad},
    lambda bad: {"on_failure": bad},
    lambda bad: {"on_expired": bad},
    lambda bad: {"schedule": bad},
    lambda bad: {"schedule": "0 0 * * * *", "timezone": bad},
    lambda bad: {"schedule": "0 0 * * * *", "args": {"x": bad}},
    lambda bad: {"schedule": "0 0 * * * *", "args": {"z": [{bad: 1}]}},
    lambda bad: {"schedule": "0 0 * * * *", "args": {"z": {1: bad}}},
]


@pytest.mark.parametrize("place", range(len(TEXTS)))
@pytest.mark.parametrize("bad", UNSTORABLE, ids=["nul", "half"])
def test_no_text_of_a_declaration_is_one_that_no_database_stores(place: int, bad: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        job(registry=Registry(), **TEXTS[place](bad))(takes_text)
    assert f"test_refused_at_the_import.py:{takes_text.__code__.co_firstlineno})" in str(caught.value)
    str(caught.value).encode()
    with pytest.raises(ConfigurationError, match="job "):
        job(f"x{bad}", registry=Registry())(takes_text)
    with pytest.raises(ConfigurationError, match="@carries: the name of the value must not hold"):
        carries(f"x{bad}", registry=Registry())(dict)


@pytest.mark.parametrize("option", ["retry_delay", "timeout", "max_duration", "ttl", "keep", "unique_for"])
@pytest.mark.parametrize("seconds", [math.inf, math.nan, 1e300], ids=["inf", "nan", "huge"])
def test_no_duration_of_a_declaration_is_one_that_no_clock_holds(option: str, seconds: float) -> None:
    options: dict[str, Any] = {option: seconds}
    with pytest.raises(ConfigurationError, match=option):
        job(registry=Registry(), **options)(takes_text)


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
