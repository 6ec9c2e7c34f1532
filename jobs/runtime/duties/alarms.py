"""The two duties of alarms: one node reads the event log and judges it, and every node sends due messages."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random, SystemRandom
from typing import Final, NamedTuple

from typing_extensions import override

from ...base.hiding import IN_USE, Redactor
from ...base.services import Services
from ...builtin.address_guard import AddressGuard, AllowList
from ...core.arguments.secrets import references, resolved
from ...core.base.times import EARLIEST
from ...core.events import Cursor, Event
from ...core.outcome import Failed
from ...delivery import read, webhooks, write
from ...delivery.channels import WHOLE, Sent, send
from ...delivery.messages import addressed
from ...delivery.notifying import Reader, judge
from ...delivery.rules import Delivery, DeliveryState, next_try
from ...delivery.webhooks import Webhook
from ...queue.base.changes import publish
from ...store.db.database import Connection, Database
from ...store.db.dialect import database_now, is_postgresql
from ...store.db.faults import log_fault
from ...store.db.transaction import Clock, Tx, Wake
from ...store.statements import events
from ..base.service import ChangeDetector, Watch
from ..job.secrets import read_secrets

log = logging.getLogger(__name__)

PAUSE: Final = 1.0
"""Seconds between two looks: events of a second are judged together."""
HELD_FOR: Final = timedelta(seconds=15)
"""Time after which another node reads on if the one that reads is gone."""
STORED_EVERY: Final = timedelta(seconds=5)
"""Time after which a place is stored although nothing was found; a node that takes over reads that much again."""
SET_BACK: Final = timedelta(seconds=5)
"""Time by which the clock goes back before timers are judged again."""
_LONGEST: Final = 600.0
_NOWHERE: Final = Cursor(0, 0)
"""The place of a reader that has not read yet."""


class Timed(Watch):
    """A watch with a timer for the next thing that comes due."""

    def __init__(self, name: str, database: Database, poll: float) -> None:
        super().__init__(name, hints=Wake.EVENTS, poll=poll, should_poll=ChangeDetector(database).should_poll)
        self._timer: asyncio.TimerHandle | None = None

    def set_timer(self, seconds: float | None) -> None:
        """Look again in so many seconds; None = only if something happens."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(min(max(0.0, seconds), _LONGEST), self.poke)

    @property
    @override
    def pause(self) -> float:
        return PAUSE

    @override
    async def stop(self) -> None:
        await super().stop()
        self.set_timer(None)


class AlarmReader(Timed):
    """Judges events and timers by the alarms; one node at a time, any node.

    Findings are stored with the place that they were found at, in one transaction that fails if anybody else has
    moved the place: so each event is judged once, whichever node dies when.

    Args:
        poll: Seconds after which it looks without a hint.
    """

    def __init__(self, services: Services, node_id: int, *, poll: float) -> None:
        super().__init__("alarms", services.database, poll)
        self._database = services.database
        self._node_id = node_id
        self._reader: Reader | None = None
        self._cursor = _NOWHERE
        self._stored_at: datetime | None = None
        self._looked_at = EARLIEST

    async def look(self) -> None:
        """Judge everything that has happened or come due."""
        self.set_timer(None)
        began = time.monotonic()
        seen = await self._glance()
        if seen is None or not await self._hold(seen):
            return
        if seen.now < self._looked_at - SET_BACK:
            # Until the old time comes again nobody would look at a queue or at a machine.
            await self._database.write(_hurry)
            seen = await self._glance() or seen
        self._looked_at = seen.now
        reader = self._reader
        if reader is None or (reader.place.cursor, reader.place.version) != (seen.place.cursor, seen.place.version):
            reader = await self._learn(seen.place)
            seen = await self._glance() or seen
        if not reader.watch.alarms and seen.next_timer is None:
            return
        if seen.has_unpublished and not self._database.is_sqlite:
            # A cluster of workers has no server that numbers events.
            page, has_more = await self._database.write(_publish, self._cursor)
            seen = seen._replace(page=page, has_unpublished=has_more)
        reader.next_timer = seen.next_timer
        if not await self._judge(reader, seen):
            self._reader = None
            self.set_timer(0.0)
            return
        if not seen.has_unpublished and len(reader.watch.settled) < len(reader.watch.alarms):
            reader.watch.settled.update(reader.watch.alarms)
        if reader.next_timer is not None:
            self.set_timer((reader.next_timer - seen.now).total_seconds() - (time.monotonic() - began))

    async def _glance(self) -> "_Seen | None":
        return await self._database.read(_glance, self._database.clock, self._cursor)

    async def _hold(self, seen: "_Seen") -> bool:
        """Take the reader, or keep it; false if another node has it."""
        holder, until = seen.place.holder, seen.place.held_until
        if until is not None and seen.now < until <= seen.now + HELD_FOR:
            if holder == self._node_id and seen.now < until - HELD_FOR / 2:
                return True
            if holder != self._node_id and not self._database.is_sqlite:
                self.set_timer((until - seen.now).total_seconds())
                return False
        # On SQLite one process has the file: any other holder was an earlier node of it.
        return await self._database.write(_hold, self._node_id, by_force=self._database.is_sqlite)

    async def _learn(self, place: read.Place) -> Reader:
        """Read the alarms again: somebody else has changed them, or has read on."""
        watch = await self._database.read(read.watchlist)
        percentiles = {} if self._reader is None else self._reader.percentiles
        if self._reader is not None:
            watch.settled.update(self._reader.watch.settled & watch.alarms.keys())
        self._reader = Reader(self._node_id, watch, place, percentiles)
        self._cursor = place.cursor
        return self._reader

    async def _judge(self, reader: Reader, seen: "_Seen") -> bool:
        """Judge due timers, a page of events and those after it; false if the reader is out of date."""
        page, has_more = seen.page, True
        while has_more:
            if page is None:
                log.warning("events that alarms had not judged are gone: pruned, or the database was set back")
                page = await self._database.read(_behind_gap, self._cursor)
            has_more = len({event.cursor.seq for event in page}) >= events.BATCHES
            after, now = (page[-1].cursor, page[-1].at) if page else (self._cursor, seen.now)
            is_due = reader.next_timer is not None and reader.next_timer <= seen.now
            is_stale = page and (self._stored_at is None or abs(now - self._stored_at) >= STORED_EVERY)
            if is_due or is_stale or reader.watch.concerns(page):
                judged = await self._database.write(judge, reader, page, after)
                if judged is None:
                    return False
                reader.watch.keep(judged.found, judged.opened)
                reader.place = replace(reader.place, cursor=after)
                self._stored_at, has_more = now, has_more or judged.has_more
            self._cursor = after
            if has_more:
                page = await self._database.read(events.following, after, events.BATCHES)
        return True


class _Seen(NamedTuple):
    """A look at the database.

    Attributes:
        place: The stored place of the reader.
        next_timer: The time of the next timer.
        has_unpublished: Whether events wait for their number.
        page: The events after the reader's own place; None = they are gone.
    """

    place: read.Place
    now: datetime
    next_timer: datetime | None
    has_unpublished: bool
    page: list[Event] | None


def _glance(conn: Connection, clock: Clock | None, cursor: Cursor) -> _Seen | None:
    """Return all that most looks need, in one transaction; None before the first alarm."""
    found = read.glance(conn)
    if found is None:
        return None
    now = database_now(conn) if clock is None else clock()
    # What has no number yet is read with what is there when it has one.
    is_known = cursor is not _NOWHERE and not (found.has_unpublished and is_postgresql(conn))
    page = events.following(conn, cursor, events.BATCHES) if is_known else []
    return _Seen(found.place, now, found.next_timer, found.has_unpublished, page)


def _publish(tx: Tx, cursor: Cursor) -> tuple[list[Event] | None, bool]:
    has_more = publish(tx, events.BATCHES) >= events.BATCHES
    return events.following(tx.conn, cursor, events.BATCHES), has_more


def _behind_gap(conn: Connection, cursor: Cursor) -> list[Event]:
    """Return the events that are there where those after a cursor are gone."""
    return events.after(conn, events.behind_gap(conn, cursor), events.BATCHES)


def _hurry(tx: Tx) -> None:
    write.hurry_timers(tx.conn, tx.now)


def _hold(tx: Tx, node_id: int, *, by_force: bool) -> bool:
    return bool(hold(tx, [read.READER], node_id, by_force=by_force))


def hold(tx: Tx, readers: Collection[str], node_id: int, *, by_force: bool) -> set[str]:
    """Take readers for a node for a while; return those that it has."""
    return write.hold_readers(tx.conn, readers, node_id, tx.now, tx.now + HELD_FOR, by_force=by_force)


async def _seconds_until(database: Database, at: datetime | None) -> float | None:
    return None if at is None else (at - await database.server_time()).total_seconds()


PER_CHANNEL: Final = 4
"""Deliveries on their way to one channel, so that one that hangs delays no other."""
LOST_AFTER: Final = timedelta(seconds=1.5 * WHOLE)
"""Time after which a delivery is tried again that its node has not ended; at once if that node is known to be gone."""
PRUNE_EVERY: Final = timedelta(hours=1)


class AlarmSender(Timed):
    """Sends deliveries; each is taken in one transaction and ended in another, with the same id in between.

    Args:
        services: The database, the addresses that are allowed, and the keys of secrets.
        poll: Seconds after which it looks without a hint.
        chance: Draws the pauses between tries.
    """

    def __init__(self, services: Services, node_id: int, *, poll: float, chance: Random | None = None) -> None:
        super().__init__("alarm deliveries", services.database, poll)
        self._services = services
        self._node_id = node_id
        self._database = services.database
        self._guard = AddressGuard(AllowList.parse(services.http_allow))
        self._chance = chance or SystemRandom()
        self._sending: dict[asyncio.Task[None], str] = {}
        self._outcomes: list[_Outcome] = []
        self._storing = asyncio.Lock()
        self._pruned_at: datetime | None = None

    async def look(self) -> None:
        """Begin to send due messages."""
        self.set_timer(None)
        next_at = await self._database.read(read.next_delivery)
        now = await self._database.server_time()
        if next_at is not None and next_at <= now:
            busy = dict[str, int]()
            for channel in self._sending.values():
                busy[channel] = busy.get(channel, 0) + 1
            for delivery in await self._database.write(_claim, self._node_id, busy, self._services.public_url):
                task = asyncio.create_task(self._send(delivery), name=f"cronograph-delivery-{delivery.id}")
                self._sending[task] = delivery.channel
                task.add_done_callback(self._ended)
            next_at = await self._database.read(read.next_delivery)
        if self._pruned_at is None or now - self._pruned_at >= PRUNE_EVERY:
            self._pruned_at = now
            while await self._database.write(_prune):
                pass
        self.set_timer(await _seconds_until(self._database, next_at))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._sending.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Its time runs out, and it is sent again.
            log_fault(log, f"the outcome of {task.get_name()} was not stored", error)
        self.poke()

    async def _send(self, delivery: Delivery) -> None:
        name = delivery.channel
        channel = await self._database.read(read.receiver, name)
        now = await self._database.server_time()
        if channel is None:
            sent = Sent(f"channel '{delivery.channel}' was deleted", is_final=True)
        else:
            values = await read_secrets(self._services, references(channel.settings))
            if isinstance(values, dict):
                IN_USE.add(values)
                settings, schemes = resolved(channel.settings, values), self._services.apprise_schemes
                sent = await send(channel, settings, delivery, self._guard, now, schemes=schemes)
                sent = _without_secrets(sent, values)
            else:
                sent = Sent(values.message if isinstance(values, Failed) else values.reason)
        await self._store(_Outcome(delivery, sent, self._chance.random()))

    async def _store(self, outcome: "_Outcome") -> None:
        """Store an outcome, together with those that came while the ones before were stored."""
        self._outcomes.append(outcome)
        async with self._storing:
            if any(one is outcome for one in self._outcomes):
                several, self._outcomes = self._outcomes, []
                await self._database.write(_end, several)

    @override
    async def stop(self) -> None:
        """End; a message on its way is sent again by another node, under the same id."""
        await super().stop()
        for task in list(self._sending):
            task.cancel()
        if self._sending:
            await asyncio.wait(list(self._sending))


def _without_secrets(sent: Sent, values: Mapping[str, str]) -> Sent:
    """Return an outcome as operators may read it: neither an error nor an answer has a value of a secret."""
    redactor = Redactor(values)
    error, answer = (None if text is None else redactor.text(text) for text in (sent.error, sent.answer))
    return replace(sent, error=error, answer=answer)


def _claim(tx: Tx, node_id: int, busy: dict[str, int], public_url: str | None) -> list[Delivery]:
    """Take due deliveries; who takes one first stores the addresses of its pages, the same for all tries."""
    until = tx.now + LOST_AFTER
    taken = write.claim_deliveries(tx.conn, node_id, tx.now, until, per_channel=PER_CHANNEL, busy=busy)
    named = [addressed(one, public_url) for one in taken]
    pairs = zip(named, taken, strict=True)
    write.put_payloads(tx.conn, [one for one, before in pairs if one.payload != before.payload])
    return named


def _prune(tx: Tx) -> int:
    return write.prune(tx.conn, tx.now)


class _Outcome(NamedTuple):
    """The outcome of a try, and a random number from 0 to 1 for the pause before the next one."""

    delivery: Delivery
    sent: Sent
    chance: float


def _end(tx: Tx, outcomes: Sequence[_Outcome]) -> None:
    """Store outcomes; in the order of their channels, which each of them locks."""
    for one in sorted(outcomes, key=lambda one: (one.delivery.channel, one.delivery.id)):
        _end_one(tx, *one)
    write.announce(tx)


def _end_one(tx: Tx, delivery: Delivery, sent: Sent, chance: float) -> None:
    next_at = None
    if sent.error is not None and not sent.is_final:
        next_at = next_try(delivery.attempts, delivery.created_at, tx.now, chance=chance, asked=sent.retry_after)
    is_well = sent.error is None and webhooks.note_delivered(tx, delivery.channel)
    webhook = None if is_well else webhooks.NAMED.find(tx.conn, delivery.channel, lock=True)
    if webhook is not None:
        next_at = _for_webhook(tx, webhook, delivery, sent, chance)
    state = DeliveryState.SENT if sent.error is None else DeliveryState.FAILED
    if sent.error is not None:
        kind = "channel" if webhook is None else "webhook"
        log.warning("delivery %s to %s %s failed: %s", delivery.message_id, kind, delivery.channel, sent.error)
    write.end_delivery(
        tx.conn,
        delivery,
        state if next_at is None else DeliveryState.PENDING,
        next_at=next_at,
        status=sent.status,
        answer=sent.answer,
        error=sent.error,
        now=tx.now,
    )


def _for_webhook(tx: Tx, webhook: Webhook, delivery: Delivery, sent: Sent, chance: float) -> datetime | None:
    """Return the time of the next try of a webhook's message, which is tried again after any fault."""
    next_at = None
    if sent.error is not None:
        next_at = next_try(delivery.attempts, delivery.created_at, tx.now, chance=chance, asked=sent.retry_after)
    return webhooks.note_outcome(tx, webhook, delivery, sent, next_at, chance=chance)
