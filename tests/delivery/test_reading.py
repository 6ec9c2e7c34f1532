"""The durable reader: one node at a time, each event judged once, whichever node dies when."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event as sql_event
from sqlalchemy.engine import Engine

from cronograph.jobs.actions.nodes import rescue_expired
from cronograph.jobs.core.alarms import Condition, Settings, SubjectKind
from cronograph.jobs.core.events import Cursor, EventKind
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.delivery import actions, read, write
from cronograph.jobs.delivery.rules import DeliveryEvent, DeliveryState
from cronograph.jobs.delivery.write import KEPT
from cronograph.jobs.runtime.duties.alarms import HELD_FOR
from cronograph.jobs.store.statements import events as stored_events
from tests.delivery.conftest import Alarms
from tests.support.storage import Stored, Worker

FAILED = Failed("ValueError", "no such invoice", permanent=True)
OPS = ("ops",)


def fail(stored: Stored, worker: Worker, **changes: object) -> None:
    """End one run as failed."""
    stored.enqueue(retries=0, **changes)
    worker.end(worker.start(), FAILED)


async def test_a_clock_that_is_set_back_keeps_nobody_from_the_place_of_a_dead_node(
    alarms: Alarms, stored: Stored
) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    await alarms.look(7200)
    stored.pass_time(-3600)
    fail(stored, worker)
    alarms.reader = alarms.another_reader(2)
    assert len(await alarms.look()) == 1


async def test_a_firing_and_its_delivery_are_one_transaction(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, failed_runs=1)
    fail(stored, worker)
    (firing,) = await alarms.look(1)
    (delivery,) = alarms.deliveries()
    assert delivery.event is DeliveryEvent.FIRED
    assert delivery.payload["type"] == "alarm.fired"
    (notice,) = delivery.payload["data"]["alarms"]
    assert notice["id"] == str(firing.id)
    assert notice["url"] == f"/runs/{firing.run_id}"
    assert notice["policy"]["condition"] == "job 'work' fails 1 time in a row"
    stored.enqueue()
    worker.end(worker.start())
    await alarms.look(1)
    assert [one.event for one in alarms.deliveries()] == [DeliveryEvent.FIRED, DeliveryEvent.RESOLVED]


async def test_of_several_failures_in_one_page_the_firing_names_the_one_that_is_open(
    alarms: Alarms, stored: Stored
) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    fail(stored, worker)
    stored.enqueue()
    worker.end(worker.start())
    last = stored.enqueue(retries=0).id
    worker.end(worker.start(), FAILED)
    (firing,) = await alarms.look(1)
    assert (firing.run_id, firing.resolved_at) == (last, None)
    assert firing.sentence.endswith(f"last in run {last}")


async def test_firings_and_their_ends_are_events_in_the_same_order(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    fail(stored, worker)
    (firing,) = await alarms.look(1)
    stored.enqueue()
    worker.end(worker.start())
    await alarms.look(1)
    stored.do(lambda tx: stored_events.publish(tx.conn))
    found = stored.do(lambda tx: stored_events.after(tx.conn, Cursor(0, 0), 500))
    ours = [one.change for one in found if one.change.firing_id is not None]
    assert [one.kind for one in ours] == [EventKind.ALARM_FIRED, EventKind.ALARM_RESOLVED]
    assert {(one.alarm, one.firing_id, one.job_name, one.run_id) for one in ours} == {
        ("alarm", firing.id, "work", firing.run_id)
    }


async def test_acknowledgements_silences_and_changes_are_events(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    fail(stored, worker)
    (firing,) = await alarms.look(1)
    alarms.acting(lambda tx: actions.acknowledge(tx, [firing.id], None))
    until = stored.now + timedelta(seconds=60)
    alarms.acting(lambda tx: actions.silence_alarm(tx, "alarm", until, None))
    await alarms.look(61)
    alarms.acting(lambda tx: actions.delete_alarm(tx, "alarm"))
    stored.do(lambda tx: stored_events.publish(tx.conn))
    found = stored.do(lambda tx: stored_events.after(tx.conn, Cursor(0, 0), 500))
    changed = [one.change.firing_id for one in found if one.change.kind is EventKind.ALARM_UPDATED]
    assert changed == [None, firing.id, None, None, None]


async def test_another_node_goes_on_where_the_first_one_stopped(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=2)
    fail(stored, worker)
    await alarms.look(1)
    # The first node is dead from here on.
    fail(stored, worker)
    stored.now += HELD_FOR + timedelta(seconds=1)
    second = alarms.another_reader(2)
    await second.look()
    await second.stop()
    (firing,) = alarms.firings()
    assert firing.sentence.startswith("Job 'work' failed 2 times in a row")
    # It was only slow: what it knows is out of date, and it stores nothing of it.
    await alarms.reader.look()
    assert len(alarms.firings()) == 1


@pytest.mark.costly
async def test_a_node_that_was_overtaken_stores_nothing(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    await alarms.look()
    second = alarms.another_reader(2)
    for _ in range(3):
        fail(stored, worker)
        stored.enqueue()
        worker.end(worker.start(), Succeeded())
        stored.now += HELD_FOR + timedelta(seconds=1)
        await second.look()
        await alarms.reader.look()
    await second.stop()
    assert len(alarms.firings()) == 3


async def test_two_alarms_changed_meanwhile_are_read_again(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    await alarms.look()
    alarms.create(Condition.FAILING, "default", SubjectKind.GROUP, failed_runs=1, name="group")
    alarms.change(enabled=False)
    fail(stored, worker)
    (firing,) = await alarms.look(1)
    assert firing.alarm_name == "group"


async def test_events_that_were_pruned_unread_are_passed_over(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    await alarms.look()
    for _ in range(3):
        fail(stored, worker)
    stored.do(lambda tx: stored_events.publish(tx.conn))
    stored.pass_time(60)
    stored.do(lambda tx: stored_events.prune(tx.conn, tx.now, None, 1000))
    await alarms.look()
    assert alarms.firings() == []
    fail(stored, worker)
    assert len(await alarms.look(1)) == 1


async def test_a_silenced_alarm_notifies_nobody_until_its_silence_ends(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, failed_runs=1)
    until = stored.now + timedelta(seconds=60)
    alarms.acting(lambda tx: actions.silence_alarm(tx, "alarm", until, "a deploy"))
    fail(stored, worker)
    (firing,) = await alarms.look(1)
    assert not firing.notified
    assert alarms.deliveries() == []
    await alarms.look(58)
    assert alarms.deliveries() == []
    await alarms.look(1)
    (delivery,) = alarms.deliveries()
    assert delivery.payload["data"]["alarms"][0]["id"] == str(firing.id)
    await alarms.look(60)
    assert len(alarms.deliveries()) == 1


async def test_what_is_open_is_not_pruned_and_is_notified_when_a_long_silence_ends(
    alarms: Alarms, stored: Stored
) -> None:
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=("ops",), failed_runs=1)
    alarms.acting(lambda tx: actions.silence_alarm(tx, "alarm", stored.now + timedelta(days=200), "a long move"))
    await alarms.look()
    fail(stored, worker)
    (opened,) = await alarms.look(1)
    stored.pass_time(timedelta(days=199).total_seconds())
    assert stored.do(lambda tx: write.prune(tx.conn, tx.now)) == 0
    assert await alarms.look() == [opened]
    assert alarms.deliveries() == []
    (after,) = await alarms.look(86_400)
    assert (after.id, after.notified, len(alarms.deliveries())) == (opened.id, True, 1)


async def test_a_firing_that_ends_within_the_silence_notifies_nobody(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, failed_runs=1)
    until = stored.now + timedelta(seconds=60)
    alarms.acting(lambda tx: actions.silence_alarm(tx, "alarm", until, None))
    fail(stored, worker)
    await alarms.look(1)
    stored.enqueue()
    worker.end(worker.start())
    await alarms.look(1)
    await alarms.look(60)
    assert alarms.deliveries() == []
    assert len(alarms.firings()) == 1


async def test_nobody_is_notified_of_consequences_until_the_alarm_about_the_database_is_over(
    alarms: Alarms, stored: Stored
) -> None:
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.DATABASE, None, SubjectKind.DATABASE, channels=OPS, name="database", larger_than=1)
    for name in ("one", "other"):
        alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, name=name, failed_runs=1)
    fail(stored, worker)
    assert len(await alarms.look(1)) == 3
    assert [notified(one.payload) for one in alarms.deliveries()] == [["database"]]
    alarms.acting(lambda tx: actions.silence_alarm(tx, "other", stored.now + timedelta(hours=1), None))
    alarms.change("database", settings=Settings(larger_than=2**52))
    await alarms.look(60)
    await alarms.look()
    assert [notified(one.payload) for one in alarms.deliveries()] == [["database"], ["database"], ["one"]]
    await alarms.look(3600)
    assert notified(alarms.deliveries()[-1].payload) == ["other"]


async def test_nobody_is_notified_of_late_tasks_whose_only_node_is_lost(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node("w1")
    alarms.webhook(1)
    stored.task("0 * * * * *")
    alarms.create(Condition.NODE, None, SubjectKind.NODE, channels=OPS, name="nodes")
    alarms.create(Condition.LATE, channels=OPS, name="late", grace=30)
    await alarms.look()
    stored.pass_time(61)
    stored.dispatch()
    stored.do(rescue_expired, [worker.node])
    assert len(await alarms.look(1)) == 1
    firings = await alarms.look(28)
    assert {one.alarm_name: one.notified for one in firings} == {"nodes": True, "late": False}
    (lost,) = [one for one in firings if one.alarm_name == "nodes"]
    alarms.acting(lambda tx: actions.acknowledge(tx, [lost.id], None))
    await alarms.look(1)
    assert notified(alarms.deliveries()[-1].payload) == ["late"]


def notified(payload: dict[str, Any]) -> list[str]:
    """The names of the alarms in a message."""
    return [one["alarm"] for one in payload["data"]["alarms"]]


@pytest.mark.costly
async def test_many_firings_of_one_look_are_one_message(alarms: Alarms, stored: Stored) -> None:
    names = tuple(f"job-{number}" for number in range(30))
    worker = stored.node(jobs=names, slots=50)
    alarms.webhook(1)
    for name in names:
        alarms.create(Condition.FAILING, name, SubjectKind.JOB, channels=OPS, failed_runs=1, name=name)
    for name in names:
        stored.enqueue(job_name=name, retries=0)
    for started in worker.take(50).started:
        worker.end(started, FAILED)
    assert len(await alarms.look(1)) == 30
    (delivery,) = alarms.deliveries()
    assert delivery.payload["data"]["count"] == 30


@pytest.mark.costly
async def test_statements_do_not_grow_with_alarms(alarms: Alarms, stored: Stored) -> None:
    """The same look with ten times as many alarms and firings sends as many statements."""
    sent: list[str] = []

    def count(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
        sent.append(statement)

    names = tuple(f"job-{number}" for number in range(60))
    worker = stored.node(jobs=names, slots=100)
    for name in names:
        alarms.create(Condition.FAILING, name, SubjectKind.JOB, failed_runs=1, name=f"failing-{name}")
        alarms.create(Condition.SLOW, name, SubjectKind.JOB, after=5, name=f"slow-{name}")
        stored.task(name=name, job_name=name, value="0 * * * * *")
        alarms.create(Condition.LATE, name, SubjectKind.TASK, grace=10, name=f"late-{name}")
        alarms.create(Condition.OVERDUE, name, SubjectKind.TASK, after=10, name=f"overdue-{name}")
    await alarms.look()
    counts: list[int] = []
    sql_event.listen(Engine, "before_cursor_execute", count)
    try:
        for some in (names[:5], names[5:]):
            for name in some:
                stored.enqueue(job_name=name, retries=0)
            started = worker.take(100).started
            sent.clear()
            await alarms.look(6)
            looked = len(sent)
            for one in started:
                worker.end(one, FAILED)
            sent.clear()
            await alarms.look(1)
            counts.append(looked + len(sent))
    finally:
        sql_event.remove(Engine, "before_cursor_execute", count)
    assert len(alarms.firings()) == 120
    assert counts[1] <= counts[0] + 2


async def test_without_alarms_no_event_is_read(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarm = alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    await alarms.look()
    alarms.acting(lambda tx: actions.delete_alarm(tx, alarm.name))
    before = stored.do(lambda tx: read.glance(tx.conn))
    for _ in range(3):
        fail(stored, worker)
    await alarms.look(60)
    after = stored.do(lambda tx: read.glance(tx.conn))
    assert before is not None
    assert after is not None
    assert after.place.cursor == before.place.cursor
    # What failed meanwhile is of no concern to the next alarm.
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    assert await alarms.look(1) == []


async def test_an_alarm_that_is_deleted_or_disabled_resolves_what_is_open(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, failed_runs=1)
    fail(stored, worker)
    assert len(await alarms.look(1)) == 1
    alarms.change(enabled=False)
    assert await alarms.look(1) == []
    assert [one.event for one in alarms.deliveries()] == [DeliveryEvent.FIRED, DeliveryEvent.RESOLVED]


async def test_an_acknowledged_lost_node_is_resolved(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node("w1")
    alarms.create(Condition.NODE, None, SubjectKind.NODE)
    stored.pass_time(61)
    stored.do(rescue_expired, [worker.node])
    (firing,) = await alarms.look(1)
    alarms.acting(lambda tx: actions.acknowledge(tx, [firing.id], "it was scaled down"))
    assert await alarms.look(1) == []
    (seen,) = alarms.firings()
    assert (seen.acknowledged_by, seen.note) == ("anna", "it was scaled down")


@pytest.mark.costly
async def test_what_ended_just_now_is_kept_however_old_it_is(alarms: Alarms, stored: Stored) -> None:
    """Each sender prunes at its first look, perhaps before anybody has read the answer to an old message."""
    worker = stored.node()
    alarms.webhook(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, channels=OPS, failed_runs=1)
    fail(stored, worker)
    await alarms.look(1)
    stored.now += KEPT + timedelta(days=1)
    (given_up,) = await alarms.send()
    assert given_up.state is DeliveryState.FAILED
    stored.enqueue()
    worker.end(worker.start())
    assert await alarms.look(1) == []
    await another_look(alarms)
    assert (len(alarms.firings()), [one.event for one in alarms.deliveries()]) == (
        1,
        [DeliveryEvent.FIRED, DeliveryEvent.RESOLVED],
    )
    stored.now += KEPT
    await another_look(alarms)
    stored.now += timedelta(days=1)
    await another_look(alarms)
    assert (alarms.firings(), [one.event for one in alarms.deliveries()]) == ([], [DeliveryEvent.RESOLVED])


async def another_look(alarms: Alarms) -> None:
    """Let a sender that has just started look, and end."""
    alarms.sender = alarms.another_sender()
    await alarms.send()
    await alarms.sender.stop()


async def test_an_alarm_made_before_the_clock_was_set_back_judges_what_comes(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    await alarms.look()
    stored.now -= timedelta(hours=1)
    fail(stored, worker)
    # Another alarm lets the reader learn all of them again: what it has learned stays.
    alarms.create(Condition.FAILING, "other", SubjectKind.GROUP, failed_runs=1, name="other")
    assert [one.sentence for one in await alarms.look(1)] == ["Job 'work' failed 1 time in a row, last in run 1"]


async def test_a_queue_is_looked_at_again_after_the_clock_was_set_back(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    alarms.create(Condition.BACKLOG, "default", SubjectKind.GROUP, deeper_than=1)
    stored.enqueue()
    assert await alarms.look(1) == []
    stored.now -= timedelta(hours=1)
    stored.enqueue()
    await alarms.look()
    assert len(await alarms.look(20)) == 1
