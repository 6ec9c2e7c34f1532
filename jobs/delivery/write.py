"""Statements that change alarms, timers, firings, channels, deliveries, and the place of their reader."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cache
from secrets import token_hex
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, case, delete, func, insert, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from ..core.alarms import FailureMark
from ..core.events import DELIVERIES, Cursor
from ..core.model import Json
from ..store.db import dialect
from ..store.db.functions import sql_literal
from ..store.db.transaction import Tx
from ..store.schema.delivery import alarm as a
from ..store.schema.delivery import alarm_firing as f
from ..store.schema.delivery import alarm_timer as t
from ..store.schema.delivery import channel as c
from ..store.schema.delivery import consumer
from ..store.schema.delivery import delivery as d
from ..store.schema.delivery import delivery_firing as df
from ..store.schema.delivery import failure_mark as m
from .messages import WrittenResults
from .named import Named
from .read import READER, SENDABLE, alarm_from, channel_from, delivery_from, due_at, firing_from
from .rules import Alarm, Channel, Delivery, DeliveryEvent, DeliveryState, Firing, TimerKind

_PENDING = d.c.state == sql_literal(DeliveryState.PENDING)


def begin_reader(conn: Connection, cursor: Cursor, reader: str = READER) -> None:
    """Begin to read at a place, unless the reader has begun."""
    conn.execute(dialect.insert_or_ignore(conn, consumer).values(name=reader, cursor=str(cursor), version=0))


def lock_readers(conn: Connection, readers: Collection[str] = (READER,)) -> None:
    """Wait until nobody else reads on, before the alarms or webhooks that they read for are locked (decision 34)."""
    named = select(consumer.c.name).where(consumer.c.name.in_(readers)).order_by(consumer.c.name)
    conn.execute(named.with_for_update()).all()


def move_reader(conn: Connection, cursor: Cursor) -> None:
    """Let the reader go on at another place."""
    conn.execute(update(consumer).where(consumer.c.name == READER).values(cursor=str(cursor)))


def note_change(conn: Connection, reader: str = READER) -> None:
    """Tell the reader to read its subject again: the alarms, or its webhook."""
    conn.execute(update(consumer).where(consumer.c.name == reader).values(version=consumer.c.version + 1))


def end_reader(conn: Connection, reader: str) -> None:
    """Delete the place of a reader."""
    conn.execute(delete(consumer).where(consumer.c.name == reader))


def hold_readers(
    conn: Connection, readers: Collection[str], node_id: int, now: datetime, until: datetime, *, by_force: bool
) -> set[str]:
    """Take readers for a node until a time; return those that it has, which are all of them if it takes them by force.

    Args:
        readers: The names of readers.
        until: The time from which another node may take them.
        by_force: Whether to take them from another node.
    """
    # An end further away than that of this hold is one before which the clock was set back.
    over = or_(consumer.c.held_until.is_(None), consumer.c.held_until <= now, consumer.c.held_until > until)
    free = or_(consumer.c.holder == node_id, over)
    mine = consumer.c.name.in_(readers) if by_force else and_(consumer.c.name.in_(readers), free)
    statement = update(consumer).where(mine).values(holder=node_id, held_until=until)
    return set(conn.execute(statement.returning(consumer.c.name)).scalars())


def advance(
    conn: Connection, node_id: int, before: Cursor, version: int, after: Cursor, *, reader: str = READER
) -> bool:
    """Move the place of a reader; False if anybody else has moved it, holds it, or has raised its version."""
    known = {"reader": reader, "before": str(before), "known": version, "node": node_id}
    return conn.execute(_ADVANCE, {**known, "after": str(after)}).rowcount == 1


_ADVANCE: Final = (
    update(consumer)
    .where(
        consumer.c.name == bindparam("reader"),
        consumer.c.cursor == bindparam("before"),
        consumer.c.version == bindparam("known"),
        consumer.c.holder == bindparam("node"),
    )
    .values(cursor=bindparam("after"))
)


def _alarm_values(alarm: Alarm) -> dict[str, object]:
    names = (
        "name description enabled subject owner streak silenced_until silenced_by silence_reason version created_at "
        "created_by updated_at"
    )
    values: dict[str, object] = {name: getattr(alarm, name) for name in names.split()}
    words = {name: getattr(alarm, name).value for name in ("severity", "condition", "subject_kind", "source")}
    return {**values, **words, "settings": alarm.settings.to_json(), "channels": list(alarm.channels)}


def _channel_values(channel: Channel) -> dict[str, object]:
    return {**{name: getattr(channel, name) for name in Channel.__slots__}, "kind": channel.kind.value}


ALARMS: Final = Named("alarm", a, alarm_from, _alarm_values)
CHANNELS: Final = Named("channel", c, channel_from, _channel_values, c.c.document.is_(None), "a webhook or channel")


def set_streaks(conn: Connection, streaks: Mapping[int, int]) -> None:
    """Store the failed runs in a row of alarms."""
    columns = {"alarm": dialect.KINDS[int], "streak": dialect.KINDS[int]}
    rows, parameters = dialect.batch(conn, columns, list(streaks.items()), "rows")
    conn.execute(update(a).where(a.c.id == rows.c.alarm).values(streak=rows.c.streak), parameters)


def put_timers(conn: Connection, rows: Sequence[tuple[int, TimerKind, int, datetime]]) -> None:
    """Set timers, each of an alarm, a purpose and a subject; those of alarms that are gone are left out."""
    if not rows:
        return
    asked = [(alarm_id, kind.value, about, due_at) for alarm_id, kind, about, due_at in rows]
    postgres = dialect.is_postgresql(conn)
    conn.execute(_putting(postgres=postgres), dialect.batch_rows(_TIMERS, asked, "timers", postgres=postgres))


_TIMERS: Final = {name: t.c[name].type for name in ("alarm_id", "kind", "about", "due_at")}


@cache
def _putting(*, postgres: bool) -> Any:  # noqa: ANN401 - an insert of either dialect
    # Putting it together costs as much as sending it.
    batch = dialect.batch_source(_TIMERS, "timers", postgres=postgres)
    # SQLite takes no join before ON CONFLICT without a WHERE.
    present = select(batch).join_from(batch, a, a.c.id == batch.c.alarm_id).where(a.c.id.is_not(None))
    statement = postgresql.insert(t) if postgres else sqlite.insert(t)
    return statement.from_select(list(_TIMERS), present).on_conflict_do_update(
        index_elements=["alarm_id", "kind", "about"], set_={"due_at": statement.excluded.due_at}
    )


def delete_timers(conn: Connection, keys: Collection[tuple[int, TimerKind, int]]) -> None:
    """Delete timers."""
    if not keys:
        return
    columns = {"alarm_id": dialect.KINDS[int], "kind": dialect.KINDS[str], "about": dialect.KINDS[int]}
    rows = [(alarm_id, kind.value, about) for alarm_id, kind, about in keys]
    batch, parameters = dialect.batch(conn, columns, rows, "timers")
    wanted = select(batch.c.alarm_id, batch.c.kind, batch.c.about)
    conn.execute(delete(t).where(tuple_(t.c.alarm_id, t.c.kind, t.c.about).in_(wanted)), parameters)


def hurry_timers(conn: Connection, now: datetime) -> None:
    """Make all looks due: each judges its subject and sets the time of the next one."""
    conn.execute(update(t).where(t.c.kind == TimerKind.LOOK.value, t.c.due_at > now).values(due_at=now))


def insert_firings(conn: Connection, rows: Sequence[Mapping[str, Any]]) -> list[Firing]:
    """Open firings; those whose alarm fires about the same thing already are left out."""
    return sorted((firing_from(row) for row in dialect.insert_rows(conn, f, rows)), key=lambda one: one.id)


def resolve_firings(conn: Connection, keys: Collection[tuple[int, str]], now: datetime) -> list[Firing]:
    """Close the open firings of these alarms and things, and return them."""
    columns = {"alarm_id": dialect.KINDS[int], "subject": dialect.KINDS[str]}
    batch, parameters = dialect.batch(conn, columns, list(keys), "keys")
    wanted = select(batch.c.alarm_id, batch.c.subject)
    statement = (
        update(f)
        .where(f.c.resolved_at.is_(None), tuple_(f.c.alarm_id, f.c.subject).in_(wanted))
        .values(resolved_at=now)
        .returning(f)
    )
    return sorted((firing_from(row) for row in conn.execute(statement, parameters)), key=lambda one: one.id)


def resolve_all(conn: Connection, alarm_id: int, now: datetime) -> list[Firing]:
    """Close every open firing of an alarm, and return them."""
    statement = update(f).where(f.c.resolved_at.is_(None), f.c.alarm_id == alarm_id).values(resolved_at=now)
    return sorted((firing_from(row) for row in conn.execute(statement.returning(f))), key=lambda one: one.id)


def mark_notified(conn: Connection, ids: Collection[int]) -> None:
    """Note that deliveries about these firings were recorded."""
    conn.execute(update(f).where(f.c.id.in_(ids)).values(notified=True))


def acknowledge(conn: Connection, ids: Collection[int], by: str, note: str | None, now: datetime) -> None:
    """Store that somebody has acknowledged these firings."""
    values = {"acknowledged_at": now, "acknowledged_by": by, "note": note}
    conn.execute(update(f).where(f.c.id.in_(ids), f.c.acknowledged_at.is_(None)).values(**values))


def announce(tx: Tx) -> None:
    """Announce that messages were recorded, tried or given up; once per transaction."""
    if DELIVERIES not in tx.changes:
        tx.emit([DELIVERIES])


def insert_delivery(
    conn: Connection,
    channel: str,
    event: DeliveryEvent,
    payload: Mapping[str, Json],
    now: datetime,
    *,
    firings: Sequence[int] = (),
) -> Delivery:
    """Record a message that is to be sent at once.

    Args:
        event: The event that it notifies of.
        firings: The firings that it is about.
    """
    kept = delivery_from(conn.execute(insert(d).returning(d), _new_delivery(channel, event, payload, now)).one())
    if firings:
        conn.execute(insert(df), [{"firing_id": one, "delivery_id": kept.id} for one in firings])
    return kept


def insert_results(conn: Connection, messages: Sequence[tuple[str, WrittenResults]], now: datetime) -> None:
    """Record messages of webhooks, each with the results in it, by one statement."""
    rows = [
        {**_new_delivery(name, DeliveryEvent.EVENTS, results.for_webhook(name, now), now), "cursor": results.cursor}
        for name, results in messages
    ]
    conn.execute(_INSERT_RESULTS, rows)


def _new_delivery(channel: str, event: DeliveryEvent, payload: object, now: datetime) -> dict[str, Any]:
    return {
        "message_id": f"msg_{token_hex(16)}",
        "channel": channel,
        "event": event.value,
        "payload": payload,
        "state": DeliveryState.PENDING.value,
        "attempts": 0,
        "created_at": now,
        "next_attempt_at": now,
    }


# Webhooks make many of these: to put a statement together costs as much as to send it.
_INSERT_RESULTS: Final = insert(d).inline()
_END_DELIVERY: Final = (
    update(d)
    .where(d.c.id == bindparam("known_id"), d.c.attempts == bindparam("known_attempts"), _PENDING)
    .values({name: bindparam(name) for name in ("state", "node_id", "next_attempt_at", "ended_at", "status")})
    .values({name: bindparam(name) for name in ("answer", "error")})
)


def claim_deliveries(
    conn: Connection, node_id: int, now: datetime, until: datetime, *, per_channel: int, busy: Mapping[str, int]
) -> list[Delivery]:
    """Take due deliveries, a few of each channel; another node may take them from ``until`` on, or if this one is gone.

    Args:
        node_id: The node that takes them.
        until: The time at which a try that nobody has ended counts as lost.
        per_channel: The most that are on their way to one channel.
        busy: The deliveries that are on their way from here, by channel.
    """
    # A receiver that does not answer gets one message at a time, whichever node sends it: channels before messages, and
    # in their order, as those who store outcomes lock them.
    waits = select(d.c.id).where(d.c.channel == c.c.name, _PENDING, due_at() <= now).exists()
    failing = select(c.c.name).where(
        c.c.failures > 0, or_(c.c.blocked_until.is_(None), c.c.blocked_until <= now), waits
    )
    probed = set(conn.execute(failing.order_by(c.c.name).with_for_update()).scalars())
    place = func.row_number().over(partition_by=d.c.channel, order_by=(d.c.next_attempt_at, d.c.id)).label("place")
    full = [name for name, number in busy.items() if number >= per_channel]
    most = case((c.c.failures > 0, 1), else_=per_channel).label("most")
    rows = select(d.c.id, place, most).outerjoin_from(d, c, c.c.name == d.c.channel)
    rows = rows.where(_PENDING, SENDABLE, due_at() <= now, d.c.channel.not_in(full))
    due = rows.where(or_(c.c.blocked_until.is_(None), c.c.blocked_until <= now)).subquery("due")
    chosen = conn.execute(
        select(d.c.id)
        .where(d.c.id.in_(select(due.c.id).where(due.c.place <= due.c.most)), _PENDING, due_at() <= now)
        .with_for_update(skip_locked=True)
    ).scalars()
    claimed = {"attempts": d.c.attempts + 1, "next_attempt_at": until, "node_id": node_id}
    statement = update(d).where(d.c.id.in_(list(chosen))).values(**claimed)
    taken = sorted((delivery_from(row) for row in conn.execute(statement.returning(d))), key=lambda one: one.id)
    names = probed & {one.channel for one in taken}
    if names:
        conn.execute(update(c).where(c.c.name.in_(names)).values(blocked_until=until))
    return taken


def put_payloads(conn: Connection, deliveries: Iterable[Delivery]) -> None:
    """Store the payloads of deliveries that this transaction has claimed."""
    for one in deliveries:
        conn.execute(update(d).where(d.c.id == one.id).values(payload=one.payload))


def end_delivery(
    conn: Connection,
    delivery: Delivery,
    state: DeliveryState,
    *,
    next_at: datetime | None,
    status: int | None,
    answer: str | None,
    error: str | None,
    now: datetime,
) -> bool:
    """Store the outcome of a try; False if the delivery has been tried again or ended since."""
    values = {"state": state.value, "node_id": None, "next_attempt_at": next_at, "status": status, "answer": answer}
    values |= {"error": error, "ended_at": None if next_at is not None else now}
    known = {"known_id": delivery.id, "known_attempts": delivery.attempts}
    return conn.execute(_END_DELIVERY, {**known, **values}).rowcount == 1


def renew_delivery(conn: Connection, delivery_id: int, now: datetime) -> Delivery:
    """Send a delivery again, under the same id."""
    values = {"state": DeliveryState.PENDING.value, "next_attempt_at": now, "ended_at": None}
    return delivery_from(conn.execute(update(d).where(d.c.id == delivery_id).values(**values).returning(d)).one())


def keep_mark(conn: Connection, mark: FailureMark) -> None:
    """Store people's mark on a group of failures, in the place of their earlier one."""
    values = asdict(mark)
    conn.execute(dialect.upsert(conn, m, ["fingerprint"], [name for name in values if name != "fingerprint"]), values)


KEPT = timedelta(days=90)
"""Time for which firings are kept once they are resolved, and deliveries once they have ended."""
KEPT_EVENTS = timedelta(days=7)
"""Time for which messages of webhooks are kept from their beginning, once they have ended: there are many."""
SOLVED_FOR = timedelta(days=730)
"""Time for which a group of failures counts as solved."""


def prune(conn: Connection, now: datetime, limit: int = 1000) -> int:
    """Delete some firings, deliveries and marks of failures that were over long ago; return how many."""
    # Their beginnings are indexed, and are before their ends.
    before = now - KEPT
    old = select(f.c.id).where(f.c.fired_at < before, f.c.resolved_at < before).limit(limit)
    sent = select(d.c.id).where(d.c.created_at < before, d.c.ended_at < before).limit(limit)
    read_on = d.c.event == DeliveryEvent.EVENTS.value
    events = select(d.c.id).where(d.c.created_at < now - KEPT_EVENTS, d.c.ended_at.is_not(None), read_on).limit(limit)
    is_quiet = or_(m.c.silenced_until.is_(None), m.c.silenced_until < now)
    is_over = or_(m.c.solved_at.is_(None), m.c.solved_at < now - SOLVED_FOR)
    marks = select(m.c.fingerprint).where(is_quiet, is_over, m.c.updated_at < before).limit(limit)
    gone = conn.execute(delete(m).where(m.c.fingerprint.in_(marks))).rowcount
    gone += conn.execute(delete(f).where(f.c.id.in_(old))).rowcount
    gone += conn.execute(delete(d).where(d.c.id.in_(events))).rowcount
    return gone + conn.execute(delete(d).where(d.c.id.in_(sent))).rowcount
