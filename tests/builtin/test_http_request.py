"""The job `http_request`: its arguments, its judgement of the answer, and what it leaves behind."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import ValidationError

from cronograph.jobs.base.outcomes import Result
from cronograph.jobs.base.services import Services
from cronograph.jobs.builtin import builtin_jobs
from cronograph.jobs.builtin.address_guard import AddressRefused
from cronograph.jobs.builtin.http_client import HttpFailedError
from cronograph.jobs.builtin.http_request import UnexpectedStatusError, http_request
from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.store.db.database import Database
from tests.builtin.hosts import KeepingHost, context_of
from tests.builtin.http_server import answering, reply

DEFINITION = next(each for each in builtin_jobs() if each.name == "http_request")


@pytest.fixture
async def services(empty_sqlite_url: str) -> AsyncIterator[Services]:
    database = Database(empty_sqlite_url)
    yield Services(database, http_allow=("127.0.0.0/8",))
    await database.close()


async def run(services: Services, host: KeepingHost | None = None, **args: object) -> Result:
    """Run the job with arguments as they are stored."""
    context = context_of(http_request, services, host)
    return await http_request(**DEFINITION.bind(args, context))


async def test_a_success_is_kept_with_its_answer(services: Services) -> None:
    host = KeepingHost()
    async with answering(lambda _: reply(200, b'{"ok": true}', content_type="application/json")) as server:
        url = f"http://127.0.0.1:{server.port}/ping?key=secret"
        result = await run(services, host, url=url)
    assert result == Result(
        value={
            "status": 200,
            "url": f"http://127.0.0.1:{server.port}/ping",
            "contentType": "application/json",
            "body": '{"ok": true}',
            "cut": False,
        }
    )
    assert host.lines == [("INFO", "answered", {"status": 200, "bytes": 12, "cut": False})]


@pytest.mark.parametrize(
    ("body", "headers", "sent", "kind"),
    [
        ({"a": [1, None]}, {}, b'{"a": [1, null]}', "application/json"),
        ([1, 2], {"content-type": "application/x-ours"}, b"[1, 2]", "application/x-ours"),
        ("gr\u00fcn", {"Content-Type": "text/plain"}, "gr\u00fcn".encode(), "text/plain"),
        ("", {}, b"", None),
        (None, {}, b"", None),
    ],
)
async def test_text_is_sent_as_it_is_and_anything_else_as_json(
    services: Services, body: object, headers: dict[str, str], sent: bytes, kind: str | None
) -> None:
    async with answering(lambda _: reply()) as server:
        url = f"http://127.0.0.1:{server.port}/"
        await run(services, url=url, method="POST", body=body, headers=headers)
    [asked] = server.asked
    assert (asked.method, asked.body, asked.headers.get("content-type")) == ("POST", sent, kind)


@pytest.mark.parametrize(
    ("status", "expected", "fault"),
    [
        (204, None, None),
        (299, None, None),
        (404, 404, None),
        (302, [301, 302], None),
        (404, None, "expected status 2xx, got 404: no such page"),
        (200, 201, "expected status 201, got 200: no such page"),
        (500, [200, 404], "expected status 200 or 404, got 500: no such page"),
        (304, None, "expected status 2xx, got 304"),
    ],
)
async def test_only_the_expected_status_is_a_success(
    services: Services, status: int, expected: int | list[int] | None, fault: str | None
) -> None:
    body = b"" if status in (204, 304) else b"no such\r\n page"
    async with answering(lambda _: reply(status, body)) as server:
        url = f"http://127.0.0.1:{server.port}/?key=secret"
        if fault is None:
            assert (await run(services, url=url, expected_status=expected)).value["status"] == status
        else:
            with pytest.raises(UnexpectedStatusError) as caught:
                await run(services, url=url, expected_status=expected)
            assert str(caught.value) == f"GET http://127.0.0.1:{server.port}/: {fault}"


async def test_without_an_allow_list_loopback_is_refused(services: Services) -> None:
    with pytest.raises(AddressRefused, match=r"host 'localhost': must have public addresses only"):
        await run(Services(services.database), url="http://localhost/")


@pytest.mark.parametrize(("given", "left"), [({"timeout": 0.05}, None), ({}, 0.05), ({"timeout": 30}, 0.05)])
async def test_a_slow_answer_fails_within_the_timeout_or_the_rest_of_the_time_box(
    services: Services, given: dict[str, float], left: float | None
) -> None:
    async with answering(lambda _: None) as server:
        with pytest.raises(
            HttpFailedError, match=r"GET http://127.0.0.1:\d+/: (no complete answer within 0.05 s|ReadT)"
        ):
            await run(services, KeepingHost(time_left=left), url=f"http://127.0.0.1:{server.port}/", **given)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"url": "ftp://a.test/"},
        {"url": "/path"},
        {"url": "http://me:secret@a.test/"},
        {"url": "http://a.test/with space"},
        {"url": "http://a.test:70000/"},
        {"url": "http://a.test/", "method": "get"},
        {"url": "http://a.test/", "method": "CONNECT"},
        {"url": "http://a.test/", "headers": {"Host": "b.test"}},
        {"url": "http://a.test/", "headers": {"transfer-encoding": "chunked"}},
        {"url": "http://a.test/", "headers": {"X Y": "1"}},
        {"url": "http://a.test/", "headers": {"X": "1\r\nY: 2"}},
        {"url": "http://a.test/", "body": "x" * (256 * 1024 + 1)},
        {"url": "http://a.test/", "expected_status": 99},
        {"url": "http://a.test/", "expected_status": []},
        {"url": "http://a.test/", "timeout": 0},
        {"url": "http://a.test/", "timeout": float("inf")},
        {"url": "http://a.test/", "further": 1},
    ],
)
def test_arguments_that_cannot_work_are_refused(args: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DEFINITION.args_model.model_validate(args)
    with pytest.raises(InvalidInput):
        DEFINITION.bind(args, context_of(http_request, None))


def test_the_json_schema_shows_a_form_what_it_needs() -> None:
    schema = DEFINITION.args_schema
    assert schema["required"] == ["url"]
    names = ["url", "method", "headers", "body", "expected_status", "timeout", "follow_redirects"]
    assert list(schema["properties"]) == names
    assert schema["properties"]["method"]["enum"][0] == "GET"
