"""Pings by the protocol of Healthchecks, badges and calendars: over real HTTP, by addresses that nobody guesses."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from cronograph.jobs.accounts.rules.credentials import stored_form
from cronograph.jobs.actions.idempotent import acting
from cronograph.jobs.actions.tasks import create_task, pause_task
from cronograph.jobs.builtin.foreign_job import FOREIGN_JOB
from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.core.base.errors import InvalidInput, NotFound
from cronograph.jobs.core.model import OverlapPolicy, ScheduleSpec, Task, TaskSpec
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.delivery import addresses
from cronograph.jobs.delivery.addresses import PINGS_A_MINUTE, Address, AddressKind
from cronograph.jobs.store.schema import tables
from cronograph.server.http.addresses import PING_BODY
from tests.server.auth.serving import Protected
from tests.support.storage import Stored

ADA = Actor("ada", Role.ADMIN)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"grace": {"type": "number"}, "longest": {}}}


async def a_task(server: Protected, name: str = "backup", cron: str = "0 0 2 * * *", **given: Any) -> Task:
    """A task whose work is done elsewhere."""
    await server.publish_job(FOREIGN_JOB, SCHEMA)
    spec = TaskSpec(name, FOREIGN_JOB, ScheduleSpec(Syntax.CRON, cron), overlap=OverlapPolicy.ALLOW)
    spec = replace(spec, **given)
    return await server.database.write(create_task, spec)


async def an_address(server: Protected, kind: AddressKind, task: str | None = "backup") -> str:
    """The path of a new address."""
    token = addresses.fresh_token(kind, task)
    made = await server.database.write(acting, ADA, addresses.create_address, kind, task, token)
    assert isinstance(made, Address)
    return addresses.path_of(made, token)


async def ping(server: Protected, path: str, **sent: Any) -> tuple[int, str]:
    """Status and text of the answer to a ping."""
    answer = await server.browser.post(path, **sent)
    return answer.status_code, answer.text


def pings(stored: Stored) -> list[tuple[int, dict[str, Any]]]:
    """The pings that no run has taken yet, with their runs."""
    return [(one.run_id, one.payload) for one in stored.rows(tables.run_signal)]


@pytest.mark.costly
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize(
    ("ending", "kind", "code"),
    [("", "success", None), ("/start", "start", None), ("/fail", "fail", None), ("/log", "log", None),
     ("/0", "success", 0), ("/3", "fail", 3), ("/255", "fail", 255)],
)  # fmt: skip
async def test_each_form_of_a_ping_comes_to_a_run(
    server: Protected, stored: Stored, method: str, ending: str, kind: str, code: int | None
) -> None:
    task = await a_task(server)
    path = await an_address(server, AddressKind.PING)
    rid = str(uuid4())
    answer = await server.browser.request(method, f"{path}{ending}?rid={rid}")
    assert (answer.status_code, answer.text) == (200, "" if method == "HEAD" else "OK")
    assert answer.headers["ping-body-limit"] == "100000"
    assert answer.headers["access-control-allow-origin"] == "*"
    ((run_id, payload),) = pings(stored)
    (run,) = stored.rows(tables.run)
    assert (run.id, run.task_id, run.trigger, run.submitter) == (run_id, task.id, "hook", "ping")
    assert answer.headers["cronograph-run"] == str(run_id)
    assert (payload["kind"], payload["code"], payload["rid"], payload["sender"]) == (kind, code, rid, "127.0.0.1")


async def test_answers_are_those_of_healthchecks(server: Protected) -> None:
    await a_task(server)
    path = await an_address(server, AddressKind.PING)
    assert await ping(server, f"{path}/256") == (400, "invalid url format")
    assert await ping(server, f"{path}/stop") == (400, "invalid url format")
    assert await ping(server, f"{path}/start/fail") == (400, "invalid url format")
    assert await ping(server, f"{path}?rid=nonsense") == (400, "invalid uuid format")
    assert await ping(server, f"/ping/{uuid4()}") == (200, "OK (not found)")
    assert await ping(server, f"/ping/{uuid4()}/start") == (200, "OK (not found)")
    assert await ping(server, "/ping/nobody/backup") == (404, "not found")
    assert await ping(server, "/ping/%00/%00") == (404, "not found")
    for _ in range(PINGS_A_MINUTE):
        assert await ping(server, path) == (200, "OK")
    assert await ping(server, path) == (200, "OK (rate limited)")
    server.clock.pass_time(seconds=61)
    assert await ping(server, path) == (200, "OK")


async def test_a_key_of_all_tasks_names_the_task_and_may_create_it(server: Protected, stored: Stored) -> None:
    await a_task(server)
    await server.publish_job("other", SCHEMA)
    spec = TaskSpec("other", "other", ScheduleSpec(Syntax.CRON, "0 0 2 * * *"))
    await server.database.write(create_task, spec)
    path = await an_address(server, AddressKind.PING, None)
    assert await ping(server, f"{path}/backup/start") == (200, "OK")
    assert await ping(server, f"{path}/nightly") == (404, "not found")
    assert await ping(server, f"{path}/other?create=1") == (404, "not found")
    assert await ping(server, path) == (404, "not found")
    assert await ping(server, f"{path}/nightly/start?create=1") == (201, "Created")
    assert await ping(server, f"{path}/nightly/7?create=1") == (200, "OK")
    (made,) = stored.rows(tables.periodic_task, name="nightly")
    assert (made.job_name, made.schedule_value, made.overlap, made.submitter) == (FOREIGN_JOB, "1d", "allow", "ping")
    for _ in range(PINGS_A_MINUTE - 2):
        await ping(server, f"{path}/nightly")
    assert await ping(server, f"{path}/nightly") == (429, "rate limit exceeded")
    assert (await ping(server, f"{path}/{'x' * 300}?create=1"))[0] == 400


async def test_a_body_is_kept_up_to_its_limit(server: Protected, stored: Stored) -> None:
    await a_task(server)
    path = await an_address(server, AddressKind.PING)
    assert await ping(server, f"{path}/log", content=b"a\x00\xff" + b"x" * 300_000) == (200, "OK")
    ((_, payload),) = pings(stored)
    assert payload["body"] == "a\ufffd\ufffd" + "x" * (PING_BODY - 3)


async def test_run_ids_tell_runs_at_the_same_time_apart(server: Protected, stored: Stored) -> None:
    await a_task(server)
    path = await an_address(server, AddressKind.PING)
    one, two = uuid4(), uuid4()
    for word, rid in (("/start", one), ("/start", two), ("/log", one), ("/fail", two), ("", one)):
        assert await ping(server, f"{path}{word}?rid={rid}") == (200, "OK")
    first, second = sorted({run_id for run_id, _ in pings(stored)})
    kinds = [(run_id, payload["kind"]) for run_id, payload in pings(stored)]
    assert kinds == [(first, "start"), (second, "start"), (first, "log"), (second, "fail"), (first, "success")]


async def test_pings_at_the_same_time_come_to_runs_of_their_own(server: Protected, stored: Stored) -> None:
    await a_task(server)
    path = await an_address(server, AddressKind.PING)
    ids = [uuid4() for _ in range(5)]
    for word in ("/start", ""):
        sent = (ping(server, f"{path}{word}?rid={one}") for one in ids)
        assert set(await asyncio.gather(*sent)) == {(200, "OK")}
    of_run: dict[int, list[tuple[str, str]]] = {}
    for run_id, payload in pings(stored):
        of_run.setdefault(run_id, []).append((payload["kind"], payload["rid"]))
    assert len(of_run) == 5
    assert all([kind for kind, _ in got] == ["start", "success"] for got in of_run.values())
    assert all(len({rid for _, rid in got}) == 1 for got in of_run.values())


async def test_without_run_ids_an_end_goes_to_the_run_that_has_started(server: Protected, stored: Stored) -> None:
    await a_task(server)
    path = await an_address(server, AddressKind.PING)
    for word in ("/start", "/log", "", "/start"):
        await ping(server, f"{path}{word}")
    first, second = sorted({run_id for run_id, _ in pings(stored)})
    assert [run_id for run_id, _ in pings(stored)] == [first, first, first, second]


async def test_an_end_that_comes_a_little_early_is_of_the_next_occurrence(server: Protected, stored: Stored) -> None:
    task = await a_task(server)
    due = task.next_nominal
    assert due is not None
    path = await an_address(server, AddressKind.PING)
    server.clock.now = stored.now = due - timedelta(seconds=61)
    assert await ping(server, path) == (200, "OK")
    server.clock.now = stored.now = due - timedelta(seconds=2)
    assert await ping(server, path) == (200, "OK")
    stored.now = due + timedelta(seconds=1)
    stored.dispatch()
    runs = [(one.trigger, one.scheduled_for) for one in stored.rows(tables.run)]
    assert runs == [("hook", None), ("schedule", due)]
    assert stored.rows(tables.skipped_occurrence) == []


async def test_a_start_that_would_overlap_is_refused_to_those_who_ask(server: Protected, stored: Stored) -> None:
    await a_task(server, overlap=OverlapPolicy.SKIP, args={"longest": 300})
    path = await an_address(server, AddressKind.PING)
    answer = await server.browser.post(f"{path}/start?exclusive=1")
    assert (answer.text, answer.headers["cronograph-timeout"]) == ("OK", "300")
    assert await ping(server, f"{path}/start?exclusive=1&rid={uuid4()}") == (409, "overlap")
    assert await ping(server, path) == (200, "OK")
    assert await ping(server, f"{path}/start?exclusive=1") == (200, "OK")
    assert len(stored.rows(tables.run)) == 2


async def test_badges_show_the_last_end(server: Protected, stored: Stored) -> None:
    await server.publish_job("work", {})
    stored.task(name="<backup>", retries=0)
    path = await an_address(server, AddressKind.BADGE, "<backup>")
    worker = stored.node("node-b")

    async def shown() -> str:
        answer = await server.browser.get(path)
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        return answer.text

    assert "&lt;backup&gt;: new" in await shown()
    for outcome, word in ((Succeeded(), "ok"), (Failed("ValueError", "no"), "failed")):
        stored.now += timedelta(minutes=1)
        stored.dispatch()
        worker.end(worker.start(), outcome)
        assert f": {word}<" in await shown()
    stored.do(pause_task, "<backup>")
    assert ": paused<" in await shown()
    assert (await server.browser.get("/badge/nope.svg")).status_code == 404
    assert (await server.browser.get(path.replace("badge", "calendar").replace(".svg", ".ics"))).status_code == 404


async def test_a_calendar_has_the_coming_occurrences(server: Protected) -> None:
    await a_task(server, description="Copies; all, \\ of it\n" + "é" * 60)
    await a_task(server, "often", "* * * * * *")
    answer = await server.browser.get(await an_address(server, AddressKind.CALENDAR))
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    lines = answer.content.split(b"\r\n")
    assert max(map(len, lines)) <= 75
    text = answer.text.replace("\r\n ", "").split("\r\n")
    assert (text[0], text[-2]) == ("BEGIN:VCALENDAR", "END:VCALENDAR")
    assert "DESCRIPTION:Copies\\; all\\, \\\\ of it\\n" + "é" * 60 in text
    starts = [line for line in text if line.startswith("DTSTART:") and line.endswith("T020000Z")]
    assert len(starts) == 30
    one = await server.browser.get(await an_address(server, AddressKind.CALENDAR, "often"))
    # Once an hour: nobody reads more, and every second would be millions.
    assert one.text.count("SUMMARY:often") == 720
    assert "SUMMARY:backup" not in one.text


async def test_addresses_are_kept_as_hashes_and_end_when_they_are_deleted(server: Protected, stored: Stored) -> None:
    await a_task(server)
    path = await an_address(server, AddressKind.PING)
    (row,) = stored.rows(tables.public_address)
    token = path.rpartition("/")[2]
    assert row.token_hash == stored_form(token)
    assert token not in str(tuple(row))
    await server.database.write(acting, ADA, addresses.delete_address, row.id)
    assert await ping(server, path) == (200, "OK (not found)")
    with pytest.raises(NotFound):
        await server.database.write(acting, ADA, addresses.delete_address, row.id)
    actions = [one.action for one in stored.rows(tables.audit_log) if one.action.startswith("address.")]
    assert actions == ["address.created", "address.deleted"]


async def test_an_address_that_cannot_work_is_refused(server: Protected) -> None:
    await server.publish_job("other", {})
    await server.database.write(create_task, TaskSpec("other", "other", ScheduleSpec(Syntax.CRON, "0 0 2 * * *")))
    for kind, task, error in (
        (AddressKind.PING, "nope", NotFound),
        (AddressKind.PING, "other", InvalidInput),
        (AddressKind.BADGE, None, InvalidInput),
    ):
        with pytest.raises(error):
            await an_address(server, kind, task)


async def test_nonsense_is_refused_without_a_trace(server: Protected) -> None:
    for path in ("/ping/", "/ping/x/y/z/w", "/badge/%ff.svg", "/calendar/%00.ics", "/badge/x", f"/ping/{'x' * 5000}"):
        answer: httpx.Response = await server.browser.get(path)
        assert answer.status_code in {400, 404}, path
