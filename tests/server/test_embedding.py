"""Cronograph within another application, in the test's own event loop and without any server."""

import asyncio
import base64
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Mount

from cronograph.jobs import PermanentFailure, job
from cronograph.jobs.accounts.actions.accounts import add_account
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.postgres import POOL
from cronograph.server import Cronograph, Visitor
from tests.server.auth.serving import PASSWORD, hashed
from tests.support.databases import sqlite_address
from tests.support.waiting import eventually

JOBS = Registry()
PATH = "/ops/jobs"


@job(registry=JOBS)
async def add_up(one: int, two: int) -> int:
    """The sum, as the number of records."""
    return one + two


@job(registry=JOBS)
async def left_out() -> None:
    """Is not among the jobs of the test."""


@asynccontextmanager
async def asking(*mounted: tuple[str, Cronograph], **headers: str) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of an application that mounts these."""
    app = Starlette(routes=[Mount(path, app=one.asgi) for path, one in mounted])
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


async def asked(client: httpx.AsyncClient, document: str, path: str = PATH) -> Any:
    """The answer of the API."""
    return (await client.post(f"{path}/graphql", json={"query": document})).json()


async def test_a_node_with_its_api_runs_within_an_application(empty_database_url: str) -> None:
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    before = handlers, sys.getswitchinterval()
    cron = Cronograph(empty_database_url, jobs=[add_up], no_auth=True, slots=3)
    async with asking((PATH, cron)) as client:
        assert (await client.get(f"{PATH}/health/live")).status_code == 503
        async with cron:
            handle = await add_up.enqueue(None, 2, 3)
            assert await handle.result(timeout=60) is None
            answer = await asked(
                client, "{ nodes { nodes { slots } } availableJobs { name } jobLogs { recordsProcessed } }"
            )
            assert answer["data"]["nodes"]["nodes"] == [{"slots": 3}]
            names = {one["name"] for one in answer["data"]["availableJobs"]}
            assert "add_up" in names
            assert "prune_history" in names
            assert "left_out" not in names
            assert 5 in [one["recordsProcessed"] for one in answer["data"]["jobLogs"]]
            assert (await client.get(f"{PATH}/health/ready")).status_code == 200
        assert (await asked_raw(client)).status_code == 503
    assert JOBS.queue is None
    now = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    assert (now, sys.getswitchinterval()) == before


async def test_nothing_of_it_goes_on_after_the_block(tmp_path: Path) -> None:
    first, second = (Cronograph(sqlite_address(tmp_path / f"{name}.db"), jobs=[add_up]) for name in ("one", "two"))
    before = asyncio.all_tasks()
    async with first:
        # The first one is where the jobs are put; so nothing is left to wait for once the second has stopped.
        async with second:
            others = asyncio.all_tasks() - before
        assert len(asyncio.all_tasks() - before) < len(others)
        assert [one.get_name() for one in others if one.cancelling() and not one.done()] == []
    assert asyncio.all_tasks() == before


@pytest.mark.costly
@pytest.mark.postgres
async def test_whatever_the_api_reads_runs_get_the_connections_of_the_engine(postgres_url: str) -> None:
    cheap = "{ skippedOccurrences { nodes { id } } }"
    costly = "{ skippedOccurrences(first: 200) { nodes { id taskName reason node at } totalCount } }"
    url = f"{postgres_url}?application_name=server"
    async with Cronograph(url, jobs=[add_up], no_auth=True) as cron, asking((PATH, cron)) as client:
        with psycopg.connect(postgres_url) as holder, psycopg.connect(postgres_url, autocommit=True) as watcher:
            holder.execute("LOCK TABLE cronograph.skipped_occurrence IN ACCESS EXCLUSIVE MODE")

            def standing() -> int:
                asked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                ((number,),) = watcher.execute(f"{asked} AND application_name = 'server'").fetchall()
                return int(number)

            released = asyncio.Event()

            async def ask_until_released(document: str) -> Any:
                # On a busy machine the first give up before the last have come.
                while "errors" in (answer := await asked(client, document)) or not released.is_set():
                    pass
                return answer

            reads = [asyncio.create_task(ask_until_released(one)) for one in (cheap, costly) for _ in range(POOL + 2)]
            assert await eventually(lambda: standing() == 2 * POOL, message="all connections of the API to stand")
            handle = await add_up.enqueue(None, 2, 3)
            assert await handle.result(timeout=60) is None
        released.set()
        for answer in await asyncio.gather(*reads):
            assert "skippedOccurrences" in str(answer)


def make_administrator(url: str, name: str) -> None:
    """As `cronograph user add` does it beside the application."""
    database = Database(url)
    database.write_sync(partial(add_account, name=name, role=Role.ADMIN, password_hash=hashed()))
    database.close_sync()


async def asked_raw(client: httpx.AsyncClient) -> httpx.Response:
    """Return what the API answers, errors too."""
    return await client.post(f"{PATH}/graphql", json={"query": "{ serverTime }"})


async def test_the_application_says_who_asks_and_what_they_may(empty_sqlite_url: str) -> None:
    async def who(connection: HTTPConnection) -> Visitor | None:
        name = connection.headers.get("x-user")
        return None if name is None else Visitor(name, "admin" if name == "ada" else "viewer")

    pause = 'mutation { pauseGroup(input: { name: "default" }) { errors { code } } }'
    async with Cronograph(empty_sqlite_url, jobs=[add_up], who=who) as cron, asking((PATH, cron)) as client:
        refused = await asked_raw(client)
        assert refused.status_code == 401
        assert refused.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        for path in ("/tasks?q=a", "/login?next=/tasks%3Fq=a"):
            shut = await client.get(f"{PATH}{path}")
            assert shut.status_code == 401
            assert "The application that this is part of does not let you see it" in shut.text
            assert f'<base href="{PATH}/"' in shut.text
            assert 'href="login?next=/tasks%3Fq%3Da"' in shut.text
        assert (await client.get(f"{PATH}/auth/style.css")).status_code == 200
        bob = {"x-user": "bob"}
        assert (await client.get(f"{PATH}/tasks", headers=bob)).status_code != 401
        back = await client.get(f"{PATH}/login?next=/tasks%3Fq=a", headers=bob)
        assert (back.status_code, back.headers["location"]) == (303, f"{PATH}/tasks?q=a")
        client.headers.update(bob)
        assert (await asked(client, "{ viewer { name role } }"))["data"]["viewer"] == {"name": "bob", "role": "VIEWER"}
        assert "FORBIDDEN" in str(await asked(client, pause))
        client.headers.update({"x-user": "ada"})
        assert "FORBIDDEN" not in str(await asked(client, pause))
        client.headers.update({"origin": "https://elsewhere.example"})
        assert "CROSS_SITE" in (await asked_raw(client)).text


async def test_who_that_returns_no_visitor_is_said_in_the_log(
    empty_sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def who(connection: HTTPConnection) -> Any:
        return "ada", "admin"

    async with Cronograph(empty_sqlite_url, jobs=[add_up], who=who) as cron, asking((PATH, cron)) as client:
        answer = await client.post(f"{PATH}/graphql", json={"query": "{ viewer { name } }"})
    assert answer.status_code == 500
    assert "who: must return Visitor(name, role) or None, got tuple ('ada', 'admin')" in caplog.text


@pytest.mark.costly
@pytest.mark.parametrize("answers", [[None], [Visitor("ada", "viewer")], [RuntimeError("no database"), None]])
async def test_an_open_stream_ends_once_the_application_knows_its_reader_no_more(
    empty_sqlite_url: str, answers: list[Visitor | Exception | None]
) -> None:
    """The application signs somebody out without a word to us, or lets him do less; a fault of its own ends nothing."""
    left = list(answers)

    def who(connection: HTTPConnection) -> Visitor | None:
        assert connection.url.path == f"{PATH}/graphql"
        said = Visitor("ada", "admin") if asked_first.pop() else left[0] if len(left) == 1 else left.pop(0)
        asked_first.append(False)
        if isinstance(said, Exception):
            raise said
        return said

    asked_first = [True]
    body = {"query": "subscription { events { cursor } }"}
    async with Cronograph(empty_sqlite_url, jobs=[add_up], who=who) as cron, asking((PATH, cron)) as client:
        answer = await client.post(f"{PATH}/graphql", json=body, headers={"accept": "text/event-stream"})
    assert answer.status_code == 200
    assert "The application does not let you see this any more" in answer.text
    assert answer.text.endswith("event: complete\ndata:\n\n")


async def test_without_who_people_sign_in_below_the_path(
    empty_sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cron = Cronograph(empty_sqlite_url, jobs=[add_up], public_url=f"http://localhost{PATH}")
    async with cron, asking((PATH, cron)) as client:
        link = re.search(rf"http://localhost{PATH}(/setup\?token=\S+)", capsys.readouterr().err)
        assert link is not None
        assert (await asked_raw(client)).status_code == 401
        assert (await client.get("/ops/jobs/", headers={"host": "elsewhere.example"})).status_code == 421
        to_login = await client.get(f"{PATH}/tasks?q=a")
        assert (to_login.status_code, to_login.headers["location"]) == (303, f"{PATH}/login?next=/tasks%3Fq%3Da")
        page = await client.get(f"{PATH}{link[1]}")
        assert f'<base href="{PATH}/"' in page.text
        assert 'action="setup"' in page.text
        fields = {"token": link[1].partition("=")[2], "name": "ada", "password": "a sentence of words"}
        done = await client.post(f"{PATH}/setup", data=fields)
        assert (done.status_code, done.headers["location"]) == (303, f"{PATH}/")
        assert (await asked(client, "{ viewer { name role } }"))["data"]["viewer"] == {"name": "ada", "role": "ADMIN"}
        assert (await client.get(f"{PATH}/login?next=/tasks%3Fq=a")).headers["location"] == f"{PATH}/tasks?q=a"
        metadata = (await client.get(f"{PATH}/.well-known/oauth-authorization-server")).json()
        assert metadata["token_endpoint"] == f"http://localhost{PATH}/oauth/token"
        out = await client.post(f"{PATH}/auth/sign-out", headers={"content-type": "application/x-www-form-urlencoded"})
        assert out.headers["location"] == f"{PATH}/login"
        login = {"name": "ada", "password": "a sentence of words", "next": "/runs"}
        again = await client.post(f"{PATH}/login", data=login)
        assert (again.status_code, again.headers["location"]) == (303, f"{PATH}/runs")


@pytest.mark.costly
async def test_people_are_signed_in_to_two_at_once_below_the_same_host(tmp_path: Path) -> None:
    paths = ("/ops/jobs", "/ops~jobs")
    several = [
        Cronograph(sqlite_address(tmp_path / f"{number}.db"), jobs=[add_up], public_url=f"http://localhost:81{path}")
        for number, path in enumerate(paths)
    ]
    mounted = list(zip(paths, several, strict=True))
    async with several[0], several[1], asking(*mounted) as client:
        for number, path in enumerate(paths):
            await asyncio.to_thread(make_administrator, sqlite_address(tmp_path / f"{number}.db"), f"user{number}")
            fields = {"name": f"user{number}", "password": PASSWORD}
            assert (await client.post(f"{path}/auth/password", json=fields)).status_code == 200
        assert set(client.cookies) == {"cronograph-81.ops%2Fjobs", "cronograph-81.ops~jobs"}
        for number, path in enumerate(paths):
            answer = await asked(client, "{ viewer { name } }", path)
            assert answer["data"]["viewer"] == {"name": f"user{number}"}


async def test_load_balancers_ask_for_the_health_by_any_address(empty_sqlite_url: str) -> None:
    made = Cronograph(empty_sqlite_url, jobs=[add_up], trusted_proxies="10.0.0.0/8")
    async with made as cron, asking((PATH, cron)) as client:
        there = {"host": "192.0.2.7:8000"}
        assert (await client.get(f"{PATH}/health/ready", headers=there)).status_code == 200
        assert (await client.get(f"{PATH}/health", headers=there)).status_code == 421


async def test_a_script_that_embeds_prints_no_link(empty_sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with Cronograph(empty_sqlite_url, jobs=[add_up]) as cron, asking((PATH, cron)) as client:
        assert (await client.get(f"{PATH}/login")).status_code == 200
    assert "setup" not in capsys.readouterr().err


@pytest.mark.costly
async def test_two_in_one_process_have_nothing_in_common(tmp_path: Path) -> None:
    other = Registry()

    @job("add_up", registry=other)
    async def twice(one: int) -> int:
        return one * 2

    first = Cronograph(sqlite_address(tmp_path / "one.db"), jobs=[add_up], no_auth=True)
    second = Cronograph(sqlite_address(tmp_path / "two.db"), registry=other, no_auth=True)
    async with first, second, asking(("/one", first), ("/two", second)) as client:
        await (await add_up.enqueue(None, 1, 1)).result(timeout=60)
        await (await twice.enqueue(None, 20)).result(timeout=60)
        for path, records in (("/one", 2), ("/two", 40)):
            answer = await asked(client, '{ jobLogs(jobName: "add_up") { recordsProcessed } }', path)
            assert answer["data"]["jobLogs"] == [{"recordsProcessed": records}]


async def test_names_of_modules_stand_for_all_their_jobs(empty_sqlite_url: str) -> None:
    async with Cronograph(empty_sqlite_url, jobs=[__name__], no_auth=True) as cron, asking((PATH, cron)) as client:
        answer = await asked(client, "{ availableJobs { name } }")
        assert {"add_up", "left_out"} <= {one["name"] for one in answer["data"]["availableJobs"]}
        await (await add_up.enqueue(None, 1, 1)).result(timeout=60)


async def test_what_cannot_work_is_refused_before_anything_starts(empty_sqlite_url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"slots in the call: must be a whole number from 1 to 10000, got 0"):
        Cronograph(empty_sqlite_url, slots=0)
    with pytest.raises(ConfigurationError, match=r"slotz: no such setting; did you mean slots\?"):
        Cronograph(empty_sqlite_url, slotz=1)
    with pytest.raises(
        ConfigurationError, match=r"only_jobs: must be jobs of this node, got 'ad_up'; did you mean 'add"
    ):
        Cronograph(empty_sqlite_url, jobs=[add_up], only_jobs=["ad_up"])
    with pytest.raises(ConfigurationError, match="jobs: must all be of one registry"):
        Cronograph(empty_sqlite_url, jobs=[add_up], registry=Registry())
    for strange, sentence in (
        (
            [add_up, print],
            "jobs: must be functions with @job, or names of modules that have some, got builtin_function",
        ),
        (add_up, "jobs: must be a list of jobs or module names, got Job add_up"),
        (7, "jobs: must be a list of jobs or module names, got int 7"),
        (["x"], r"jobs: must be modules that can be imported, got 'x'; 'x' is neither installed"),
        ("x", r"jobs: must be modules that can be imported, got 'x'; 'x' is neither installed"),
        (["shop/jobs.py"], r"jobs in the call: must be module names, got 'shop/jobs.py'; did you mean shop.jobs\?"),
        (["json"], "jobs: module 'json' has no job; mark functions in it with @job"),
    ):
        with pytest.raises(ConfigurationError, match=sentence):
            Cronograph(empty_sqlite_url, jobs=strange)  # type: ignore[arg-type] # what a caller without types may give
    settings: list[dict[str, Any]] = [{"registry": "x"}, {"who": "x"}, {"public_url": 7}]
    for setting in settings:
        with pytest.raises(ConfigurationError, match=f"{next(iter(setting))}: must be"):
            Cronograph(empty_sqlite_url, **setting)
    async with Cronograph(empty_sqlite_url, jobs=[add_up]):
        assert JOBS.queue is not None
    with pytest.raises(AttributeError, match="has no attribute 'Cronographer'"):
        sys.modules["cronograph.server"].Cronographer  # noqa: B018


UNCONFIGURED = """
import asyncio
import base64
import logging
import sys
from cronograph.server import Cronograph

async def main():
    async with Cronograph(sys.argv[1], jobs=[], no_auth=True):
        logging.getLogger("cronograph.jobs.runtime").warning("a warning of the node")
        logging.getLogger("shop").warning("a warning of the application")
        logging.getLogger("shop").info("not shown")
        if len(sys.argv) > 2:
            logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))
            logging.getLogger("shop").warning("shown once")

asyncio.run(main())
"""


@pytest.mark.costly
@pytest.mark.parametrize("configured", [False, True], ids=["logging is left as it is", "logging is set up"])
def test_warnings_are_shown_where_the_application_logs(sqlite_url: str, configured: bool) -> None:
    command = [sys.executable, "-c", UNCONFIGURED, sqlite_url, *(["configured"] if configured else [])]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    shown = [line for line in ended.stderr.splitlines() if line.startswith(("a warning", "not", "shown"))]
    assert shown == ["a warning of the node", "a warning of the application"]
    assert ended.stdout.splitlines().count("shown once") == configured


@job("broken", registry=JOBS, retries=0)
async def broken() -> None:
    """Fails."""
    raise PermanentFailure("in a bad mood")


CHANNEL = 'setChannel(input: { name: "ops", settings: { alertmanager: { url: "http://127.0.0.1:1" } } })'
ALARM = """createAlarm(input: {
  name: "failing", subject: { job: "broken" }, condition: { failing: { failedRuns: 1 } }, channels: ["ops"] })"""
SECRET = 'setSecret(input: { name: "key", value: "a-word-that-nobody-guesses" })'
HOOK = 'createHook(input: { name: "start", jobName: "add_up", kind: BEARER, secrets: ["key"] })'
TASK = """createTask(input: {
  name: "backup", jobName: "foreign_job", schedule: { syntax: INTERVAL, value: "1d" } })"""


@pytest.mark.costly
async def test_links_of_messages_and_addresses_of_programs_have_the_path(empty_database_url: str) -> None:
    where = f"https://shop.example.com{PATH}"
    key = base64.b64encode(b"k" * 32).decode()
    cron = Cronograph(
        empty_database_url,
        jobs=[add_up, broken],
        who=lambda _: Visitor("ada", "admin"),
        public_url=where,
        secret_key=key,
    )
    async with asking((PATH, cron)) as client, cron:

        async def changed(mutation: str, wanted: str = "") -> Any:
            answer = await asked(client, f"mutation {{ done: {mutation} {{ {wanted} errors {{ message }} }} }}")
            assert answer["data"]["done"]["errors"] == [], answer
            return answer["data"]["done"]

        for one in (SECRET, CHANNEL, ALARM, HOOK, TASK):
            await changed(one)
        handle = await broken.enqueue(None)
        messages = "{ alarmDeliveries(filter: { attempts: { gte: 1 } }) { nodes { payload } } }"

        async def tried() -> bool:
            return bool((await asked(client, messages))["data"]["alarmDeliveries"]["nodes"])

        await eventually(tried, message="the message")
        (message,) = (await asked(client, messages))["data"]["alarmDeliveries"]["nodes"]
        (notice,) = message["payload"]["data"]["alarms"]
        assert notice["url"] == f"{where}/runs/{handle.run_id}"
        assert notice["links"]["Silence"] == f"{where}/alarms"
        for kind, ending, type_ in (("PING", "", "text/plain"), ("BADGE", "", "image/svg+xml")):
            made = await changed(f'createAddress(input: {{ kind: {kind}, taskName: "backup" }})', "path")
            answer = await client.get(f"{PATH}{made['path']}{ending}")
            assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, type_)
        proof = {"authorization": "Bearer a-word-that-nobody-guesses"}
        started = await client.post(f"{PATH}/hooks/start", json={"one": 1, "two": 2}, headers=proof)
        assert started.status_code == 202
        page = await client.get(f"{PATH}/webhooks", headers={"accept": "text/html"})
    assert (page.status_code, f'<base href="{PATH}/" />' in page.text) == (200, True)
