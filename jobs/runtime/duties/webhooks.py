"""The duty of webhooks: one node executes their documents for the events of the log, and records messages to send."""

import json
import logging
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from ...base.services import Followed, Services, Subscriptions
from ...core.base.times import EARLIEST
from ...core.events import Change, Cursor, Event, EventFilter, EventKind
from ...delivery import webhooks
from ...delivery.webhooks import MOST_WAITING, Subscribed, reader_name
from ...queue.base.changes import publish
from ...store.db.database import Connection
from ...store.db.dialect import database_now
from ...store.db.faults import log_fault
from ...store.db.transaction import Clock
from ...store.statements import events
from .alarms import HELD_FOR, STORED_EVERY, Timed, hold

log = logging.getLogger(__name__)

MOST_RESULTS: Final = 1_000
"""Results of one webhook in one look."""
MOST_AT_ONCE: Final = 4_194_304
"""Characters of results that are held before they are stored, unless those of a single webhook are more."""
FULL_PAUSE: Final = 5.0
"""Seconds after which it looks again at a webhook whose receiver has enough waiting."""
REST: Final = 30.0
"""Seconds for which a webhook is left alone whose document could not be executed: others have their turn."""


class WebhookReader(Timed):
    """Executes the documents of webhooks for the events of the log; one node at a time, any node.

    A webhook has a place of its own. Its messages are stored with its new place, in one transaction that fails if
    anybody else has moved the place. At most ``MOST_WAITING`` messages wait for a receiver; events behind them wait in
    the log.

    Args:
        services: The database, and the API that executes documents.
        poll: Seconds after which it looks without a hint.
    """

    def __init__(self, services: Services, node_id: int, *, poll: float) -> None:
        super().__init__("webhooks", services.database, poll)
        self._database = services.database
        self._api = services.subscriptions
        self._node_id = node_id
        # The places are stored every few seconds; in between they are known here alone.
        self._ahead: dict[str, _Ahead] = {}
        self._rests_until: dict[str, float] = {}

    async def look(self) -> None:
        """Record the messages about everything that has happened."""
        self.set_timer(None)
        seen = await self._database.read(_glance, self._database.clock)
        if not seen.webhooks or self._api is None:
            return
        if seen.has_unpublished and not self._database.is_sqlite:
            # A cluster of workers has no server that numbers events.
            await self._database.write(publish, events.BATCHES)
        held = await self._hold(seen)
        look = _Look(self._api, held, seen.now)
        for one in seen.webhooks:
            look.pauses.append(await self._pause_after(look, one))
            if look.length > MOST_AT_ONCE:
                await self._store(look)
        await self._store(look)
        self.set_timer(min((one for one in look.pauses if one is not None), default=None))

    async def _hold(self, seen: "_Seen") -> set[str]:
        """Return the readers that this node has, after it took those that are free."""
        held = {reader_name(one.webhook.name) for one in seen.webhooks if self._holds(one, seen.now)}
        wanted = {reader_name(one.webhook.name) for one in seen.webhooks} - held
        if not wanted:
            return held
        # On SQLite one process has the file: any other holder was an earlier node of it.
        return held | await self._database.write(hold, wanted, self._node_id, by_force=self._database.is_sqlite)

    def _holds(self, one: Subscribed, now: datetime) -> bool:
        until = one.place.held_until
        return one.place.holder == self._node_id and until is not None and now < until - HELD_FOR / 2

    async def _pause_after(self, look: "_Look", one: Subscribed) -> float | None:
        """Read on for a webhook; return the seconds after which there is more to do, None = once something happens."""
        if reader_name(one.webhook.name) not in look.held:
            return HELD_FOR.total_seconds()
        if one.waiting >= MOST_WAITING:
            return FULL_PAUSE
        rest = self._rests_until.pop(one.webhook.name, 0.0) - time.monotonic()
        if rest > 0:
            self._rests_until[one.webhook.name] = time.monotonic() + rest
            return rest
        ahead = self._ahead.get(one.webhook.name)
        stored = (one.place.cursor, one.place.version)
        if ahead is None or ahead.place != stored:
            ahead = _Ahead(stored, one.place.cursor, None, None)
        page = await self._page(ahead.cursor, look.pages)
        return await self._read_on(look, one, ahead, page) if page else None

    async def _page(self, cursor: Cursor, pages: dict[Cursor, list[Event]]) -> list[Event]:
        """Return the events behind a place, read once for all webhooks that are there."""
        if cursor not in pages:
            page = await self._database.read(events.following, cursor, events.BATCHES)
            if page is None:
                log.warning("events that webhooks had not seen are gone: pruned, or the database was set back")
                page = await self._database.read(_after_gap, cursor, self._database.clock)
            pages[cursor] = page
        return pages[cursor]

    async def _read_on(self, look: "_Look", one: Subscribed, ahead: "_Ahead", page: list[Event]) -> float | None:
        name = one.webhook.name
        try:
            found = await self._followed(look, one, ahead, page)
        except Exception as error:
            # The fault of one document is not that of the others.
            log_fault(log, f"the document of webhook {name} could not be executed", error)
            found = Followed([], None)
        if found.through is None and found.refusal is None:
            self._rests_until[name] = time.monotonic() + REST
            return REST
        after, stored_at = found.through or ahead.cursor, ahead.stored_at or look.now
        further = _Ahead(ahead.place, after, found.wanted or ahead.wanted, stored_at)
        if found.answers or found.refusal or look.now - stored_at >= STORED_EVERY:
            # Until it is stored, the stored place holds.
            self._ahead.pop(name, None)
            look.found.append(_Found(one, found, further))
            look.length += sum(result.length for result in found.answers)
        else:
            self._ahead[name] = further
        is_gap = page[-1].change.kind is EventKind.RESYNC
        is_full = len({event.cursor.seq for event in page}) >= events.BATCHES
        has_more = after < page[-1].cursor or is_gap or is_full
        return 0.0 if has_more else None

    async def _store(self, look: "_Look") -> None:
        """Store the messages of many webhooks, each with its new place, in one transaction."""
        if not look.found:
            return
        stored = await self._database.write(webhooks.record, self._node_id, [one[:2] for one in look.found])
        for one, found, ahead in look.found:
            if one.webhook.name in stored:
                place = (found.through or one.place.cursor, one.place.version)
                self._ahead[one.webhook.name] = ahead._replace(place=place, stored_at=look.now)
            else:
                look.pauses.append(0.0)
        look.found.clear()
        look.length = 0

    async def _followed(self, look: "_Look", one: Subscribed, ahead: "_Ahead", page: list[Event]) -> Followed:
        """Execute a document for a page of events; once for all webhooks with the same document, owner and place."""
        wanted = ahead.wanted
        if wanted is not None and not any(wanted.matches(event.change) for event in page):
            return Followed([], page[-1].cursor, wanted)
        webhook = one.webhook
        key = (webhook.document, json.dumps(webhook.variables, sort_keys=True), webhook.owner, ahead.cursor)
        if key not in look.shared:
            known = (webhook.document, webhook.variables, webhook.owner)
            look.shared[key] = await look.api.follow(*known, page, MOST_RESULTS)
        return look.shared[key]


class _Found(NamedTuple):
    """The results of a webhook that are to be stored, and its place from then on."""

    subscribed: Subscribed
    found: Followed
    ahead: "_Ahead"


@dataclass(slots=True)
class _Look:
    """One look at all webhooks.

    Attributes:
        held: The readers that this node has.
        pages: Events by the place behind which they are.
        shared: The results of documents, by the document, its variables, the owner and the place.
        found: Results that are not stored yet.
        length: Their characters.
        pauses: Seconds after which there is more to do.
    """

    api: Subscriptions
    held: set[str]
    now: datetime
    pages: dict[Cursor, list[Event]] = field(default_factory=dict[Cursor, list[Event]])
    shared: dict[object, Followed] = field(default_factory=dict[object, Followed])
    found: list[_Found] = field(default_factory=list[_Found])
    length: int = 0
    pauses: list[float | None] = field(default_factory=list[float | None])


class _Ahead(NamedTuple):
    """The place up to which a node has looked for a webhook.

    Attributes:
        place: The place and its version as they are stored.
        cursor: The place up to which events were looked at.
        wanted: The events that the document asks for; None = that is not known yet.
        stored_at: The time at which the place was stored last.
    """

    place: tuple[Cursor, int]
    cursor: Cursor
    wanted: EventFilter | None
    stored_at: datetime | None


class _Seen(NamedTuple):
    """A look at the database."""

    webhooks: list[Subscribed]
    now: datetime
    has_unpublished: bool


def _glance(conn: Connection, clock: Clock | None) -> _Seen:
    found = webhooks.subscribed(conn)
    if not found:
        return _Seen([], EARLIEST, has_unpublished=False)
    now = database_now(conn) if clock is None else clock()
    return _Seen(found, now, events.has_unpublished(conn))


def _after_gap(conn: Connection, cursor: Cursor, clock: Clock | None) -> list[Event]:
    """Return the event that stands for those behind a cursor that are gone: a reader goes on behind it."""
    now = database_now(conn) if clock is None else clock()
    return [Event(events.behind_gap(conn, cursor), now, Change(EventKind.RESYNC))]
