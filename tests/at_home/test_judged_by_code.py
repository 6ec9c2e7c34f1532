"""The API judges arguments by the job's code where its process has that code, and by the JSON Schema elsewhere."""

import re
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Annotated, Any

import httpx
import pytest
from pydantic import AfterValidator, Field
from starlette.applications import Starlette
from starlette.routing import Mount

from cronograph.jobs import job
from cronograph.jobs.core.base.signature import signature_of
from cronograph.jobs.registry import Registry
from cronograph.jobs.registry.definition import CodeOfRegistry
from cronograph.server import Cronograph

JOBS = Registry()


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


def looked_up(name: str) -> str:
    return {"ada": "Ada"}[name]


def a_code(text: str) -> str:
    if not re.match(r"[A-Z]{3}\Z", text):
        raise ValueError("must be three capitals")
    return text


@job(registry=JOBS)
async def pay(
    cents: Annotated[int, AfterValidator(even)] = 0,
    price: Annotated[Decimal, Field(max_digits=4, decimal_places=2)] = Decimal(0),
    code: Annotated[str, AfterValidator(a_code)] = "ABC",
    name: Annotated[str, AfterValidator(looked_up)] = "ada",
) -> None: ...


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with Cronograph(database_url, registry=JOBS, no_auth=True, node_name="a") as cron:
        transport = httpx.ASGITransport(app=Starlette(routes=[Mount("/", app=cron.asgi)]))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def faults(api: httpx.AsyncClient, args: dict[str, Any], *, task: bool = False) -> list[tuple[str, str]]:
    """Return what a run, or a task, with these arguments is refused for."""
    document = """mutation M($a: JSON!) { made: enqueueRuns(input: { runs: [{ jobName: "pay", args: $a }] }) {
        errors { code path message } } }"""
    if task:
        document = """mutation M($a: JSON!) { made: createTask(input: { name: "t", jobName: "pay", args: $a,
            schedule: { syntax: CRON, value: "0 0 0 1 1 *" } }) { errors { code path message } } }"""
    answer = (await api.post("/graphql", json={"query": document, "variables": {"a": args}})).json()
    assert all(one["code"] == "INVALID_ARGS" for one in answer["data"]["made"]["errors"]), answer
    return [(".".join(one["path"]), one["message"]) for one in answer["data"]["made"]["errors"]]


async def test_what_only_the_code_can_judge_is_refused_before_it_is_stored(api: httpx.AsyncClient) -> None:
    ((path, message),) = await faults(api, {"cents": 3})
    assert path.endswith("args.cents")
    assert message == "argument 'cents' of job 'pay': Value error, must be even"
    several = await faults(api, {"cents": 3, "price": "123.456", "code": "ABC\n"})
    assert [path.rpartition(".")[2] for path, _ in several] == ["cents", "price", "code"]
    ((_, broken),) = await faults(api, {"name": "bob"})
    assert broken == "arguments of job 'pay': the job's own check failed: KeyError: 'bob'"
    assert [path for path, _ in await faults(api, {"cents": 5}, task=True)] == ["args.cents"]
    # The short way of a single run knows it, too, also the second time.
    for _ in range(2):
        assert await faults(api, {"cents": 4}) == []
        assert len(await faults(api, {"cents": 7})) == 1
    # What a secret stands for is known when the run starts.
    assert await faults(api, {"code": {"$secret": "code"}}) == []


def test_another_version_of_a_job_is_not_judged_by_this_code() -> None:
    known, definition = CodeOfRegistry(JOBS), JOBS.get("pay")
    assert definition is not None
    assert known("pay", signature_of("pay", definition.args_schema)) is not None
    assert known("pay", "0123456789abcdef") is None
    assert known("nobody", "0123456789abcdef") is None
