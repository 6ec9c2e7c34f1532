"""What those who follow the log of an execution are told."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import delete

from cronograph.jobs.queue.base.apart import append_lines
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements.logs import LogLine
from tests.graphql_api.api import Api, counted_statements, next_of, take

LOG = """
subscription($id: ID!, $after: Int) {
  executionLog(executionId: $id, afterLine: $after) { lines { line level message fields } cut hasEnded }
}
"""


def lines(api: Api, execution_id: int, first: int, last: int) -> list[LogLine]:
    """Log lines of an execution."""
    now = api.stored.now
    return [
        LogLine(execution_id, number, now, "info", f"line {number}", {"n": number}) for number in range(first, last + 1)
    ]


async def test_a_log_is_followed_to_its_end_mark_with_each_line_once(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.enqueue()
    started = worker.start()
    key = started.execution_id
    api.stored.do(append_lines, lines(api, key, 1, 2))
    async with api.subscribed(LOG, id=str(key), after=0) as source:
        (first,) = await take(source, 1, "executionLog")
        assert [line["message"] for line in first["lines"]] == ["line 1", "line 2"]
        assert first["lines"][0]["level"] == "INFO"
        assert first["lines"][0]["fields"] == {"n": 1}
        assert first["hasEnded"] is False
        api.stored.do(append_lines, lines(api, key, 3, 3))
        api.publish()
        (second,) = await take(source, 1, "executionLog")
        assert [line["line"] for line in second["lines"]] == [3]
        worker.end(started, log_tail=tuple(lines(api, key, 4, 5)), log_lines=5)
        api.publish()
        (last,) = await take(source, 1, "executionLog")
        assert ([line["line"] for line in last["lines"]], last["hasEnded"]) == ([4, 5], True)
        with pytest.raises(StopAsyncIteration):
            await anext(source)
    async with api.subscribed(LOG, id=str(key), after=4) as source:
        (resumed,) = await take(source, 1, "executionLog")
    assert ([line["line"] for line in resumed["lines"]], resumed["hasEnded"]) == ([5], True)


async def test_a_long_log_comes_in_parts_and_says_what_was_cut(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.enqueue()
    started = worker.start()
    key = started.execution_id
    worker.end(started, log_tail=tuple(lines(api, key, 301, 1400)), log_lines=1100, log_cut=300)
    got: list[int] = []
    async with api.subscribed(LOG, id=str(key), after=0) as source:
        while True:
            (part,) = await take(source, 1, "executionLog")
            assert part["cut"] == 300
            assert len(part["lines"]) <= 500
            got += [line["line"] for line in part["lines"]]
            if part["hasEnded"]:
                break
    assert got == list(range(301, 1401))
    page = """
    query($id: ID!) { execution(id: $id) { logLines(first: 2, after: 305) { lines { line } lastLine cut hasEnded } } }
    """
    assert (await api.ask(page, id=str(key)))["execution"]["logLines"] == {
        "lines": [{"line": 306}, {"line": 307}], "lastLine": 307, "cut": 300, "hasEnded": True,
    }  # fmt: skip


async def test_who_follows_a_log_sends_no_statement_until_lines_are_written(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.enqueue()
    started = worker.start()
    key = started.execution_id
    follow = "subscription($id: ID!) { executionLog(executionId: $id) { lines { line } hasEnded } }"
    async with api.subscribed(follow, id=str(key)) as source:
        assert (await next_of(source))["executionLog"] == {"lines": [], "hasEnded": False}
        waiting = asyncio.ensure_future(take(source, 1, "executionLog"))
        # Something to do that takes a while, so that a follower who looks now and then would do so.
        with counted_statements() as sent:
            for _ in range(20):
                await api.ask("{ serverTime }")
            follows = [text for text in sent if "job_execution" in text or "execution_log" in text]
        assert follows == []
        assert not waiting.done()
        await api.database.write(append_lines, lines(api, key, 1, 1))
        assert await waiting == [{"lines": [{"line": 1}], "hasEnded": False}]


async def test_many_followers_of_many_logs_are_served_by_one_look(api: Api) -> None:
    worker = api.stored.node("w")
    for _ in range(10):
        api.stored.enqueue()
    keys = [worker.start().execution_id for _ in range(10)]
    document = "subscription($id: ID!) { executionLog(executionId: $id) { lines { line } hasEnded } }"
    async with AsyncExitStack() as stack:
        sources = [await stack.enter_async_context(api.subscribed(document, id=str(key))) for key in keys]
        for source in sources:
            await next_of(source)
        waiting = [asyncio.ensure_future(take(source, 1, "executionLog")) for source in sources]
        await asyncio.wait(waiting, timeout=0)
        with counted_statements() as sent:
            await api.database.write(append_lines, lines(api, keys[3], 1, 1))
            assert await waiting[3] == [{"lines": [{"line": 1}], "hasEnded": False}]
        assert len([text for text in sent if "max(execution_log.line)" in text]) == 1
        assert [one.done() for one in waiting] == [key == keys[3] for key in keys]
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)


async def test_a_follower_learns_that_the_execution_was_deleted(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.enqueue()
    key = worker.start().execution_id
    async with api.subscribed(LOG, id=str(key), after=0) as source:
        await take(source, 1, "executionLog")
        api.stored.do(lambda tx: tx.conn.execute(delete(tables.job_execution)))
        api.publish()
        result = await anext(source)
    assert result.errors[0].extensions["code"] == "NOT_FOUND"


async def test_the_log_of_nothing_cannot_be_followed(api: Api) -> None:
    async with api.subscribed(LOG, id="77", after=0) as source:
        result = await anext(source)
    assert result.errors[0].extensions["code"] == "NOT_FOUND"
