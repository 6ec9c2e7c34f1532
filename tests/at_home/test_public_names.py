"""Each name that a page, an example or a docstring tells of can be imported from a place that is meant for it."""

import ast
import builtins
import importlib
import inspect
import re
import socket
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronograph.graphql.client import Client, UnreachableError
from cronograph.jobs import ScheduleSpec, Syntax, calendar, cron, every, job, once
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue
from tests.docs.blocks import blocks_of, documents
from tests.support.sources import ROOT

PUBLIC = (
    "cronograph.django",
    "cronograph.jobs",
    "cronograph.jobs.testing",
    "cronograph.server",
    "cronograph.graphql.client",
)
"""Modules whose names are for everybody; each has an ``__all__``."""
INTEGRATIONS = "cronograph.jobs.integrations"
FOREIGN = frozenset(
    {
        "FailedJobRegistry",  # of RQ
        "Containerfile",
        "OnBootSec",  # of systemd
        "Relay",
        *("CancelledError", "Literal"),  # of Python
        "Oban",
        "Retry",  # of RQ
        *("AsyncResult", "ChordError"),  # of Celery
        "VersioningBehavior",  # of Temporal
        "Created",  # of Healthchecks
        *("SetWorkflowID", "SetWorkflowTimeout"),  # of DBOS
        "Limiter",  # of Sidekiq
        "Deps",  # of River
        "Model",  # of the reader's code
        *("TaskResult", "TransactionTestCase"),  # of Django
        "Litestar",
        "SecretStr",  # of pydantic
        "TaskGroup",  # of asyncio
        "SessionMiddleware",  # of Starlette
        *("DateStyle", "IntervalStyle", "TimeZone"),  # of PostgreSQL
        *("BackgroundTasks", "Depends"),  # of FastAPI
        "AsyncSession",  # of SQLAlchemy
        "ConnectionError",
        *("Connection", "Host", "Upgrade"),  # headers of HTTP
        *(
            "CronographDatabaseDown",  # alerts of docs/monitoring
            "CronographNodeDown",
            "CronographNothingRuns",
            "CronographQueueStuck",
        ),
        *("Accept", "Authorization", "Bearer", "Internal", "Origin", "PublicKeyCredential"),
        *("AsyncIterator", "Enum", "False", "KeyboardInterrupt", "SystemExit", "ThreadPoolExecutor", "TimeoutError"),
        *(
            "BaseException",
            "Decimal",
            "Exception",
            "Europe",
            "InMemoryConnector",
            "Metadata",
            "Tags",
            "True",
            "UniqueOpts",
        ),
        *("Approval", "BaseException", "Decimal", "Exception"),
    }
)
"""Words of pages that are names elsewhere: of Python, of HTTP, of other programs, of the code of an example."""
STORED = frozenset(
    {
        *("InvalidArguments", "InvalidResult", "InvalidState", "LeftBehind", "RunIsOverError", "SecretUnavailable"),
        *("StepRefusedError", "StepUnstorable", "UnreadableRun", "UnstorableResult", "NoPing"),
        *("RemoteLost", "RemoteProcessError", "SubmissionFailed"),
    }
)
"""Kinds of errors that stand in the execution log, and that nobody imports."""

NAMES = {name: set(importlib.import_module(name).__all__) for name in PUBLIC}


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Module and name of each import of ours."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cronograph"):
            yield from ((node.module or "", one.name) for one in node.names)


def mentioned(text: str) -> Iterator[str]:
    """Words in backticks that look like a class."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for code in re.findall(r"`([^`\n]+)`", prose):
        yield from re.findall(r"(?<![\w.$/{\"'@-])([A-Z][a-z]+[A-Za-z]*)\b(?!-)", code)


def raised(value: Any) -> Iterator[str]:
    """The errors that the docstrings of something public tell of."""
    for one in [value, *(vars(value).values() if inspect.isclass(value) else ())]:
        told = re.search(r"Raises:\n(.*)", inspect.getdoc(one) or "", re.DOTALL)
        for words in re.findall(r"^ {4}(\w+(?:, \w+)*):", told[1], re.MULTILINE) if told else ():
            yield from words.split(", ")


def test_pages_and_examples_import_public_names_only() -> None:
    pages = [block.text for page in documents() for block in blocks_of(page) if block.language == "python"]
    examples = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "examples").rglob("*.py")]
    wrong = {
        f"from {module} import {name}"
        for source in [*pages, *examples]
        for module, name in imports(source)
        if not module.startswith(INTEGRATIONS) and name not in NAMES.get(module, ())
    }
    assert wrong == set()


def test_each_class_that_a_page_names_can_be_imported() -> None:
    schema = (ROOT / "graphql" / "schema.graphql").read_text(encoding="utf-8")
    known = set(re.findall(r"\b[A-Z]\w+", schema)).union(*NAMES.values()) | FOREIGN | STORED
    pages = [path for path in documents() if path.name != "performance.md"]
    wrong = {f"{page.name}: {name}" for page in pages for name in mentioned(page.read_text(encoding="utf-8"))}
    assert {one for one in wrong if one.partition(": ")[2] not in known} == set()


def test_each_error_that_a_public_docstring_names_can_be_imported() -> None:
    of_django = {"ImproperlyConfigured", "InvalidTask", "TaskResultDoesNotExist"}
    everything = set(dir(builtins)).union(of_django, *NAMES.values())
    wrong = {
        f"{module}.{name}: {word}"
        for module in PUBLIC
        for name in NAMES[module]
        for word in raised(getattr(importlib.import_module(module), name))
        if word not in everything
    }
    assert wrong == set()


async def once_a_day() -> None: ...


async def test_schedules_have_short_forms() -> None:
    assert every("15m") == ScheduleSpec(Syntax.INTERVAL, "15m")
    assert every(90) == ScheduleSpec(Syntax.INTERVAL, "90") == every(timedelta(seconds=90)) == every(90.0)
    assert every(1.5).value == "1.5"
    assert cron("0 30 2 * * *", timezone="Europe/Berlin") == ScheduleSpec(Syntax.CRON, "0 30 2 * * *", "Europe/Berlin")
    assert calendar("Mon..Fri 02:30") == ScheduleSpec(Syntax.CALENDAR, "Mon..Fri 02:30", "UTC")
    at = datetime(2027, 1, 1, tzinfo=UTC)
    assert once(at) == ScheduleSpec(Syntax.TIMESTAMP, "2027-01-01T00:00:00Z")
    with pytest.raises(ValueError, match="once: must have a time zone"):
        once(at.replace(tzinfo=None))
    jobs = Registry()

    @job(registry=jobs, schedule=once("2027-01-01T00:00Z"))
    async def new_year() -> None: ...

    @job(registry=jobs, schedule=every("15m"))
    async def quarter() -> None: ...

    async with Queue(jobs) as queue:
        await queue.schedule(quarter, calendar("Mon..Fri 02:30"), name="workdays")
    with pytest.raises(ConfigurationError, match="schedule 'soon'"):
        job("soon", registry=jobs, schedule=every("soon"))(once_a_day)


def test_a_client_finds_its_server_by_the_environment_and_says_in_one_error_that_it_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("CRONOGRAPH_URL", f"http://127.0.0.1:{port}")
    with (
        Client() as client,
        pytest.raises(UnreachableError, match=f"no server answers at http://127.0.0.1:{port}") as caught,
    ):
        client.server_time()
    shown = "".join(traceback.format_exception(caught.value))
    assert "The above exception" not in shown
    assert "During handling" not in shown
