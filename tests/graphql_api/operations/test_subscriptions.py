"""What subscribers are told, and in which order."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronograph.graphql.resolving.context import Context
from cronograph.graphql.types.event import TYPES
from cronograph.jobs.core.events import Change, EventKind
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import Overviews
from cronograph.jobs.store.statements import events as event_store
from tests.graphql_api.api import Api, counted_statements, next_of, take
from tests.support.waiting import eventually

EVENTS = """
subscription($after: String, $filter: EventFilter) {
  events(after: $after, filter: $filter) {
    __typename cursor kind
    ... on TaskEvent { taskName task { name } }
    ... on RunEvent { taskName runId jobName group node runState task { name } run { state } }
    ... on ExecutionEvent { runId executionId node outcome execution { outcome } }
    ... on SkippedEvent { taskName reason skippedRunId }
    ... on NodeEvent { node nodeState changedNode { state } }
    ... on GroupEvent { group changedGroup { name isPaused } }
  }
}
"""
KINDS = "subscription($after: String, $filter: EventFilter) { events(after: $after, filter: $filter) { cursor kind } }"


def work_once(api: Api) -> None:
    """A run from its submission to its success: six events."""
    worker = api.stored.node("w")
    api.stored.enqueue(group="mail")
    worker.end(worker.start(), Succeeded(1))
    api.publish()


async def test_every_change_comes_with_its_state_and_the_thing_as_it_is_now(api: Api) -> None:
    async with api.subscribed(EVENTS, after="0.0", filter={"jobName": "work"}) as source:
        work_once(api)
        created, running, started, finished, succeeded = await take(source, 5)
    assert [one["kind"] for one in (created, running, started, finished, succeeded)] == [
        "RUN_CREATED", "RUN_UPDATED", "EXECUTION_STARTED", "EXECUTION_FINISHED", "RUN_UPDATED",
    ]  # fmt: skip
    assert [one["runState"] for one in (created, running, succeeded)] == ["WAITING", "RUNNING", "SUCCESS"]
    assert [one["outcome"] for one in (started, finished)] == [None, "SUCCESS"]
    assert created["group"] == "mail"
    assert created["run"] is not None
    assert finished["node"] == "w"
    assert finished["execution"] == {"outcome": "SUCCESS"}
    assert created["task"] is None


async def test_events_of_nodes_and_groups_bring_these(api: Api) -> None:
    api.stored.node("w")
    await api.ask('mutation { pauseGroup(input: { name: "mail" }) { errors { code } } }')
    api.publish()
    async with api.subscribed(EVENTS, after="0.0", filter={"kinds": ["NODE_STARTED", "GROUP_UPDATED"]}) as source:
        told = await take(source, 3)
    nodes, groups = [one for one in told if "node" in one], [one for one in told if "group" in one]
    assert [one["__typename"] for one in (*nodes, *groups)] == ["NodeEvent", "NodeEvent", "GroupEvent"]
    assert {one["node"]: one["changedNode"] for one in nodes}["w"] == {"state": "ACTIVE"}
    assert groups[0]["changedGroup"] == {"name": "mail", "isPaused": True}


def test_every_kind_of_event_has_a_type() -> None:
    assert set(TYPES) == set(EventKind)
    of_objects = {kind: shown for kind, shown in TYPES.items() if kind is not EventKind.OCCURRENCE_SKIPPED}
    assert all(f"{kind.split('_')[0].title()}Event" == shown.__name__ for kind, shown in of_objects.items())


async def test_a_skipped_occurrence_comes_with_its_reason(api: Api) -> None:
    api.stored.task("0 * * * * *")
    await api.ask('mutation { pauseTask(input: { name: "nightly" }) { errors { code } } }')
    api.stored.pass_time(60)
    api.stored.dispatch()
    api.publish()
    async with api.subscribed(EVENTS, after="0.0", filter={"kinds": ["OCCURRENCE_SKIPPED"]}) as events:
        (skipped,) = await take(events, 1)
    assert (skipped["__typename"], skipped["kind"]) == ("SkippedEvent", "OCCURRENCE_SKIPPED")
    assert (skipped["taskName"], skipped["reason"], skipped["skippedRunId"]) == ("nightly", "PAUSED", None)


async def test_a_subscriber_that_comes_back_misses_and_repeats_nothing(api: Api) -> None:
    async with api.subscribed(KINDS, after="0.0") as source:
        work_once(api)
        everything = await take(source, 7)
    for place in range(1, len(everything)):
        async with api.subscribed(KINDS, after=everything[place - 1]["cursor"]) as source:
            assert await take(source, len(everything) - place) == everything[place:]


async def test_nothing_falls_between_a_query_and_a_subscription_from_its_cursor(api: Api) -> None:
    before = await api.ask("{ asOf runs { totalCount } }")
    assert before["runs"] == {"totalCount": 0}
    work_once(api)
    async with api.subscribed(KINDS, after=before["asOf"], filter={"kinds": ["RUN_CREATED"]}) as source:
        (event,) = await take(source, 1)
    assert event["kind"] == "RUN_CREATED"


async def test_the_cursor_of_a_query_is_taken_before_anything_is_read(api: Api) -> None:
    await api.bus.stop()
    with counted_statements() as sent:
        await api.ask("{ runs { totalCount } asOf }")
    # A round of the bus that was under way at its stop may still lock the publisher's row: its reads alone count.
    asked = [text for text in sent if "FOR UPDATE" not in text]
    reads = [name for text in asked for name in ("FROM event_publisher", "FROM run") if name in text]
    assert reads[-2:] == ["FROM event_publisher", "FROM run"]


@pytest.mark.parametrize(
    ("condition", "kinds"),
    [
        ({"kinds": ["EXECUTION_FINISHED"]}, ["EXECUTION_FINISHED"]),
        ({"group": "mail", "kinds": ["RUN_CREATED", "RUN_UPDATED"]}, ["RUN_CREATED", "RUN_UPDATED", "RUN_UPDATED"]),
        ({"runId": "1", "kinds": ["RUN_CREATED"]}, ["RUN_CREATED"]),
        ({"kinds": []}, ["NODE_STARTED", "NODE_STARTED", "RUN_CREATED"]),
    ],
)
async def test_a_filter_lets_through_what_meets_all_of_it(
    api: Api, condition: dict[str, Any], kinds: list[str]
) -> None:
    work_once(api)
    async with api.subscribed(KINDS, after="0.0", filter=condition) as source:
        assert [event["kind"] for event in await take(source, len(kinds))] == kinds


async def test_a_deleted_thing_is_null_in_its_events(api: Api) -> None:
    api.stored.task(name="nightly")
    await api.ask('mutation { deleteTask(input: { name: "nightly" }) { deletedName } }')
    async with api.subscribed(EVENTS, after="0.0", filter={"taskName": "nightly"}) as source:
        created, deleted = await take(source, 2)
    assert (created["kind"], created["task"]) == ("TASK_CREATED", None)
    assert (deleted["kind"], deleted["task"]) == ("TASK_DELETED", None)


async def test_a_cursor_older_than_the_events_kept_is_answered_by_a_resync(api: Api) -> None:
    work_once(api)
    async with api.subscribed(KINDS, after="0.0") as source:
        await take(source, 7)
    late = api.stored.now + timedelta(days=1)
    api.stored.do(lambda tx: event_store.prune(tx.conn, late, None, 100))
    async with api.subscribed(KINDS, after="1.0") as source:
        (event,) = await take(source, 1)
        assert event["kind"] == "RESYNC"
        api.stored.enqueue()
        api.publish()
        (following,) = await take(source, 1)
    assert following["kind"] == "RUN_CREATED"
    assert following["cursor"] > event["cursor"]


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.2.3", "-1.0", "9" * 30 + ".0"])
async def test_a_tampered_event_cursor_is_refused(api: Api, cursor: str) -> None:
    async with api.subscribed(KINDS, after=cursor) as source:
        result = await anext(source)
    (error,) = result.errors
    assert error.extensions["code"] == "INVALID_CURSOR"
    assert error.message.startswith("after: must be an event cursor")


async def test_the_status_of_a_job_is_each_start_and_each_end(api: Api) -> None:
    document = 'subscription { executions(jobName: "work") { id jobName success completedAt run { state } } }'
    worker = api.stored.node("w")

    def work() -> str:
        api.stored.enqueue()
        worker.end(begun := worker.start())
        api.publish()
        return str(begun.execution_id)

    async with api.subscribed(document) as source:
        # Without a cursor it begins with what comes next once it has begun: that may be the end of a run.
        first = asyncio.ensure_future(take(source, 1, "executions"))

        def begun() -> bool:
            work()
            return first.done()

        await eventually(begun)
        known = work()
        told = await first
        while len(of_it := [status for status in told if status["id"] == known]) < 2:
            told += await take(source, 1, "executions")
    assert [(status["success"], status["completedAt"] is None) for status in of_it][-1] == (True, False)
    # Each is told twice, at its start and at its end, from the first that began after the subscription.
    ids = [status["id"] for status in told]
    whole = ids[1:] if len(ids) % 2 else ids
    assert whole[::2] == whole[1::2]
    assert len(set(whole)) == len(whole) / 2


async def test_the_status_of_a_job_begins_with_what_is_there_when_asked_for(api: Api) -> None:
    worker = api.stored.node("w")
    for _ in range(3):
        api.stored.enqueue()
    ended, running = worker.start(), worker.start()
    worker.end(ended)
    api.publish()
    async with api.subscribed("subscription { executions(snapshot: true) { id success } }") as source:
        assert await take(source, 2, "executions") == [
            {"id": str(ended.execution_id), "success": True},
            {"id": str(running.execution_id), "success": None},
        ]
        worker.end(running)
        api.publish()
        # What had not been published when it began is told once more.
        while await take(source, 1, "executions") != [{"id": str(running.execution_id), "success": True}]:
            continue


async def test_a_run_is_followed_from_now_to_its_end(api: Api) -> None:
    worker = api.stored.node("w")
    run = api.stored.enqueue(retries=0)
    document = "subscription($id: ID!) { run(id: $id) { state error } }"
    async with api.subscribed(document, id=str(run.id)) as source:
        assert await next_of(source) == {"run": {"state": "WAITING", "error": None}}
        started = worker.start()
        api.publish()
        assert await next_of(source) == {"run": {"state": "RUNNING", "error": None}}
        worker.end(started, Failed("ValueError", "no"))
        api.publish()
        assert await next_of(source) == {"run": {"state": "FAILED", "error": "no"}}
        with pytest.raises(StopAsyncIteration):
            await anext(source)


@asynccontextmanager
async def behind_a_short_queue(api: Api, document: str, **variables: Any) -> AsyncGenerator[AsyncGenerator[Any, None]]:
    """The results of a subscription whose bus keeps two events for a reader that does not read."""
    bus = EventBus(api.database, queue=2, poll=3600)
    bus.start()
    context = Context(api.database, bus, api.log_feed)
    source = await api.schema.subscribe(document, variable_values=variables, context_value=context)
    assert isinstance(source, AsyncGenerator), source
    try:
        api.bus = bus
        yield source
    finally:
        await source.aclose()
        await bus.stop()


async def test_a_reader_of_executions_that_fell_behind_is_shown_what_is_there_and_goes_on(api: Api) -> None:
    worker = api.stored.node("w")
    document = 'subscription { executions(jobName: "work") { id success } }'
    async with behind_a_short_queue(api, document) as source:
        reading = asyncio.ensure_future(take(source, 1, "executions"))
        begun: list[Started] = []

        def told() -> bool:
            api.stored.enqueue()
            begun.append(worker.start())
            api.publish()
            return reading.done()

        await eventually(told)
        (first,) = await reading
        known = {one.execution_id for one in begun}
        for _ in range(5):
            api.stored.enqueue()
            known.add((one := worker.start()).execution_id)
            worker.end(one)
        for one in begun:
            worker.end(one)
        await api.bus.publish()
        seen = {first["id"]: first["success"]}
        while not all(seen.get(str(one)) for one in known):
            (status,) = await take(source, 1, "executions")
            seen[status["id"]] = status["success"]
        api.stored.enqueue()
        last = worker.start()
        await api.bus.publish()
        assert await take(source, 1, "executions") == [{"id": str(last.execution_id), "success": None}]


async def test_a_reader_of_a_run_that_fell_behind_is_shown_how_it_is_and_goes_on(api: Api) -> None:
    worker = api.stored.node("w")
    run = api.stored.enqueue()
    document = "subscription($id: ID!) { run(id: $id) { state attempt } }"
    async with behind_a_short_queue(api, document, id=str(run.id)) as source:
        await next_of(source)
        reading = asyncio.ensure_future(next_of(source))
        started = worker.start()

        def told() -> bool:
            api.publish()
            return reading.done()

        await eventually(told)
        change = Change(EventKind.RUN_UPDATED, run_id=run.id)
        for _ in range(4):
            await api.database.write(lambda tx: tx.emit([change]))
        await api.bus.publish()
        worker.end(started)
        await api.bus.publish()
        states = [answer.data["run"]["state"] async for answer in source]
        assert states[-1] == "SUCCESS"


async def test_a_run_that_does_not_exist_cannot_be_followed(api: Api) -> None:
    async with api.subscribed('subscription { run(id: "77") { id } }') as source:
        result = await anext(source)
    assert result.errors[0].extensions["code"] == "NOT_FOUND"


async def test_the_overview_ticks(api: Api) -> None:
    async with api.subscribed("subscription { overview(seconds: 1) { waiting } }") as source:
        assert await next_of(source) == {"overview": {"waiting": 0}}
        api.stored.enqueue()
        assert await next_of(source) == {"overview": {"waiting": 1}}


async def test_the_overview_of_all_who_subscribe_is_read_once(api: Api) -> None:
    context = replace(api.context(), overviews=Overviews())
    assert context.with_database(api.database).overviews is context.behind().overviews is context.overviews
    document = "subscription { overview { at liveNodes } }"
    with counted_statements() as sent:
        sources: list[Any] = [await api.schema.subscribe(document, context_value=replace(context)) for _ in range(5)]
        ticks = await asyncio.gather(*map(next_of, sources))
        for source in sources:
            await source.aclose()
    assert len({tick["overview"]["at"] for tick in ticks}) == 1
    assert len([one for one in sent if "FROM node" in one]) == 1


@pytest.mark.parametrize("seconds", [0.9, 3601.0])
async def test_the_pause_of_the_overview_has_bounds(api: Api, seconds: float) -> None:
    document = "subscription($s: Duration!) { overview(seconds: $s) { waiting } }"
    async with api.subscribed(document, s=seconds) as source:
        result = await anext(source)
    assert "seconds: must be from 1 to 3,600" in result.errors[0].message
