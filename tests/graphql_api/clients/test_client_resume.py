"""Connections that break at any byte: the Python client goes on, and nothing is missed or comes twice."""

from contextlib import closing

import anyio
import pytest

from cronograph.graphql.client import (
    AsyncClient,
    Client,
    Event,
    EventFilter,
    EventKind,
    GroupEvent,
    LogLine,
    NewRun,
    Reconnect,
    RunState,
    UnreachableError,
)
from tests.graphql_api.clients.cutter import cutter
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until

AT_ONCE = Reconnect(first_pause=0, longest_pause=0)
EVENT_BYTES = 300
"""About the size of one event with its framing."""


def nap_runs(count: int, group: str) -> list[NewRun]:
    return [NewRun(job_name="nap", args={"seconds": 0}, group=group) for _ in range(count)]


def make_events(client: Client, group: str, runs: int) -> str:
    """Let so many runs of a group pass; answers the event cursor before them."""
    before = client.as_of()
    client.enqueue_runs(nap_runs(runs, group))
    unfinished = [RunState.WAITING, RunState.SCHEDULED, RunState.RUNNING]
    wait_until(lambda: len(client.runs(states=unfinished, group=group)) == 0, message="all runs to end")
    return before


def cursors_plain(url: str, after: str, until: int, group: str) -> list[str]:
    """The cursors of the events of a group, as many as ``until`` says, with the plain client."""
    found: list[str] = []
    with Client(url, reconnect=AT_ONCE) as client:
        events = client.events(after=after, filter=EventFilter(group=group))
        while len(found) < until:
            found.append(next(events).cursor)
        events.close()
    return found


async def cursors_async(url: str, after: str, until: int, group: str) -> list[str]:
    """The same with the asynchronous client."""
    found: list[str] = []
    async with AsyncClient(url, reconnect=AT_ONCE) as client:
        events = client.events(after=after, filter=EventFilter(group=group))
        while len(found) < until:
            found.append((await anext(events)).cursor)
        await events.aclose()
    return found


def finished_events(url: str, after: str, group: str, runs: int) -> list[Event]:
    """All events of a group up to the end of its last run, read without interruption."""
    found: list[Event] = []
    ended = 0
    with Client(url) as client, closing(client.events(after=after, filter=EventFilter(group=group))) as events:
        while ended < runs:
            found.append(next(events))
            ended += found[-1].kind is EventKind.EXECUTION_FINISHED
    return found


@pytest.mark.costly
async def test_events_come_once_and_in_order_through_a_network_that_breaks(server: CronographProcess) -> None:
    with Client(server.url) as client:
        place = await anyio.to_thread.run_sync(make_events, client, "broken", 40)
    whole = await anyio.to_thread.run_sync(finished_events, server.url, place, "broken", 40)
    expected = [event.cursor for event in whole]
    assert len(expected) == len(set(expected)) >= 120
    with cutter(server.url, EVENT_BYTES * 4) as proxy:
        assert await cursors_async(proxy.url, place, len(expected), "broken") == expected
        assert proxy.cuts >= 5
    with cutter(server.url, EVENT_BYTES * 4) as proxy:
        plain = await anyio.to_thread.run_sync(cursors_plain, proxy.url, place, len(expected), "broken")
        assert plain == expected
        assert proxy.cuts >= 5


@pytest.mark.costly
def test_events_that_happen_while_nobody_is_connected_are_delivered_later(
    server: CronographProcess,
) -> None:
    with (
        cutter(server.url, 700) as proxy,
        Client(server.url) as client,
        Client(proxy.url, reconnect=AT_ONCE) as through,
        closing(through.events(after=client.as_of(), filter=EventFilter(group="alone"))) as events,
    ):
        client.enqueue_runs(nap_runs(1, "alone"))
        kinds = [next(events).kind]
        # Nobody reads meanwhile; the connection breaks at the next bytes.
        make_events(client, "alone", 20)
        while kinds.count(EventKind.EXECUTION_FINISHED) < 21:
            kinds.append(next(events).kind)
    assert kinds.count(EventKind.RUN_CREATED) == 21
    assert kinds.count(EventKind.EXECUTION_STARTED) == 21


def log_plain(url: str, execution: int) -> tuple[list[LogLine], int, list[bool]]:
    """All lines, what was cut, and the end marks, with the plain client."""
    with Client(url, reconnect=AT_ONCE) as client:
        parts = list(client.execution_log(execution))
    return [line for part in parts for line in part.lines], parts[-1].cut, [part.has_ended for part in parts]


async def log_async(url: str, execution: int) -> tuple[list[LogLine], int, list[bool]]:
    """The same with the asynchronous client."""
    async with AsyncClient(url, reconnect=AT_ONCE) as client:
        parts = [part async for part in client.execution_log(execution)]
    return [line for part in parts for line in part.lines], parts[-1].cut, [part.has_ended for part in parts]


@pytest.mark.costly
async def test_a_log_comes_once_and_whole_through_a_network_that_breaks(server: CronographProcess) -> None:
    with Client(server.url) as client:
        run = client.enqueue_runs([NewRun(job_name="chatter", args={"lines": 1500}, group="log")])[0]
        *_, last = client.run_updates(run.id)
        assert last.state is RunState.SUCCESS
        execution = client.executions(run_id=run.id).items[0].id
    lines, cut, ends = await anyio.to_thread.run_sync(log_plain, server.url, execution)
    assert len(lines) + cut >= 1500
    assert [line.line for line in lines] == sorted({line.line for line in lines})
    assert ends == [*[False] * (len(ends) - 1), True]
    with cutter(server.url, 20_000) as proxy:
        assert (await log_async(proxy.url, execution))[:2] == (lines, cut)
        assert proxy.cuts >= 2
    with cutter(server.url, 20_000) as proxy:
        assert (await anyio.to_thread.run_sync(log_plain, proxy.url, execution))[:2] == (lines, cut)
        assert proxy.cuts >= 2


def _group_of(event: Event) -> str | None:
    assert isinstance(event, GroupEvent)
    return event.group


@pytest.mark.costly
def test_a_server_that_restarts_is_found_again(processes: ProcessStarter, sqlite_url: str) -> None:
    first = processes.serve(sqlite_url)
    patient = Client(first.url, reconnect=Reconnect(first_pause=0.01, longest_pause=0.2))
    with Client(first.url) as other, patient as client:
        place = client.as_of()
        other.pause_group("before")
        with closing(client.events(after=place, filter=EventFilter(kinds=[EventKind.GROUP_UPDATED]))) as events:
            assert _group_of(next(events)) == "before"
            assert first.stop() == 0
            processes.start(*first.arguments, port=first.port).wait_ready()
            other.pause_group("after")
            assert _group_of(next(events)) == "after"


def test_the_proxy_of_these_tests_cuts(server: CronographProcess) -> None:
    with cutter(server.url, 10) as proxy:
        with Client(proxy.url) as client, pytest.raises(UnreachableError):
            client.as_of()
        assert proxy.cuts == 1
