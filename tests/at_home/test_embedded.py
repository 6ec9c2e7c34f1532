"""What an application says about its visitors is refused where it says it, if it cannot be."""

from contextlib import aclosing
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, FastAPI
from starlette.requests import HTTPConnection

from cronograph.graphql.client import AsyncClient, RunState
from cronograph.graphql.client import OperationError as Refused
from cronograph.jobs import ConfigurationError, job
from cronograph.jobs.registry import Registry
from cronograph.server import Cronograph, Visitor

JOBS = Registry()
ENTRY = "{ auditLog(first: 1) { nodes { actor } } }"


@job(registry=JOBS)
async def greet(name: str = "Ada") -> None: ...


def test_a_role_that_there_is_not_is_named_with_its_visitor() -> None:
    with pytest.raises(ConfigurationError, match=r"role: must be one of 'viewer', .*, got 'boss' for visitor 'ada'"):
        Visitor("ada", "boss")
    assert [Visitor("ada", role).role for role in ("viewer", "operator", "admin")] == ["viewer", "operator", "admin"]


async def who(connection: HTTPConnection) -> Visitor | None:
    name = connection.headers.get("x-user")
    return None if name is None else Visitor(name, "operator" if name == "ada" else "viewer")


async def test_the_client_of_the_process_has_the_rights_that_who_gives(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONOGRAPH_TOKEN", "of-another-server")
    async with Cronograph(database_url, registry=JOBS, who=who) as cron:
        with pytest.raises(Refused, match="does not let you see it"):
            await cron.client.trigger_job("greet")
        with pytest.raises(Refused, match="OPERATOR"):
            await cron.client_with({"x-user": "bob"}).trigger_job("greet")
        async with cron.client_with({"x-user": "ada"}) as client:
            run = (await client.trigger_job("greet", {"name": "Eve"})).run
            assert run
            assert (await client.wait(run, timeout=60)).state is RunState.SUCCESS
            with pytest.raises(Refused, match="ADMIN"):
                await client.execute(ENTRY)
        async with cron.as_system("manage.py") as system:
            assert (await system.execute(ENTRY))["auditLog"]["nodes"][0]["actor"] == "ada"
            await system.trigger_job("greet")
            assert (await system.execute(ENTRY))["auditLog"]["nodes"][0]["actor"] == "manage.py"
            # An event stream comes while it is written, and is left.
            # From a cursor: without one it begins when it is first read, and then all may have happened already.
            events = system.events(after=await system.as_of())
            await system.trigger_job("greet")
            async with aclosing(events):
                async for event in events:
                    assert event.kind
                    break
    with pytest.raises(ConfigurationError, match="as_system: must be called within the block"):
        cron.as_system()


async def test_without_sign_in_the_client_may_everything_and_modules_are_named(empty_sqlite_url: str) -> None:
    async with Cronograph(empty_sqlite_url, jobs=["tests.at_home.till"], no_auth=True) as cron, cron.client as client:
        found = (await client.execute("{ availableJobs { name } }"))["availableJobs"]
        assert len(found) > 7


async def test_fastapi_takes_the_lifespan_and_the_client_of_a_request_in_one_line_each(sqlite_url: str) -> None:
    cron = Cronograph(sqlite_url, registry=JOBS, who=who)
    app = FastAPI(lifespan=cron.lifespan)

    @app.post("/greet")
    async def greeting(body: dict[str, str], client: Annotated[AsyncClient, Depends(cron.client_of)]) -> str:
        try:
            return (await client.trigger_job("greet", body)).job_name
        except Refused as error:
            return str(error)

    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://x") as asking:
        answers = [
            (await asking.post("/greet", json={"name": "Cleo"}, headers=headers)).json()
            for headers in ({"x-user": "ada"}, {"x-user": "bob"}, {})
        ]
    assert answers[0] == "greet"
    assert "OPERATOR" in answers[1]
    assert "does not let you see it" in answers[2]
