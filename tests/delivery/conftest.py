"""A reader of alarms and a sender on a real database, which look when the test says so."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

import pytest

from cronograph.jobs.accounts.rules.secrets import KeyRing, SecretKey
from cronograph.jobs.base.services import Services, Subscriptions
from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.core.alarms import AlarmSpec, Condition, Settings, Severity, SubjectKind
from cronograph.jobs.delivery import actions, read
from cronograph.jobs.delivery.rules import Alarm, Channel, ChannelKind, Delivery, Firing
from cronograph.jobs.runtime.duties.alarms import LOST_AFTER, AlarmReader, AlarmSender
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import alarm_firing, delivery
from tests.support.lock_order import recorded
from tests.support.storage import Stored
from tests.support.waiting import eventually

T = TypeVar("T")
OURS = re.compile("waits for (consumer|channel|alarm|alarm_firing|delivery):")
KEYS = KeyRing((SecretKey.of(b"k" * 32),))


class Alarms:
    """Alarms of a database at the time of the test, and one node that looks at them."""

    def __init__(self, stored: Stored, url: str) -> None:
        self.stored = stored
        self.actor = Actor("anna", Role.ADMIN)
        self._url = url
        self._opened: list[Database] = []
        self.reader = self.another_reader(1)
        self.sender = self.another_sender()

    def services(
        self, subscriptions: Subscriptions | None = None, public_url: str | None = "https://cron.test/"
    ) -> Services:
        """The services of one more node."""
        database = Database(self._url, clock=lambda: self.stored.now)
        self._opened.append(database)
        more: dict[str, Any] = {"keys": lambda: KEYS, "public_url": public_url, "apprise_schemes": ("json",)}
        return Services(database, subscriptions=subscriptions, http_allow=("127.0.0.1",), **more)

    def another_reader(self, node_id: int) -> AlarmReader:
        """A reader of another node."""
        return AlarmReader(self.services(), node_id, poll=60.0)

    def another_sender(self, node_id: int = 1, *, public_url: str | None = "https://cron.test/") -> AlarmSender:
        """A sender of another node, which always draws the same pauses."""
        return AlarmSender(self.services(public_url=public_url), node_id, poll=60.0, chance=Random(1))

    async def close(self) -> None:
        """Stop both, and close every connection."""
        await self.reader.stop()
        await self.sender.stop()
        for database in self._opened:
            await database.close()

    def create(
        self,
        condition: Condition,
        subject: str | None = "nightly",
        kind: SubjectKind = SubjectKind.TASK,
        *,
        channels: tuple[str, ...] = (),
        name: str = "alarm",
        **settings: Any,
    ) -> Alarm:
        """Keep an alarm."""
        wanted = AlarmSpec(name, condition, kind, subject, Settings(**settings), channels, Severity.CRITICAL, "")
        return self.acting(lambda tx: actions.create_alarm(tx, wanted))

    def acting(self, action: Callable[[Tx], T]) -> T:
        """Run an action as a person."""

        def acted(tx: Tx) -> T:
            tx.actor = self.actor
            return action(tx)

        return self.stored.do(acted)

    def change(self, name: str = "alarm", **values: Any) -> Alarm:
        """Change an alarm."""
        return self.acting(lambda tx: actions.update_alarm(tx, name, values))

    def channel(self, kind: ChannelKind = ChannelKind.WEBHOOK, name: str = "ops", **settings: Any) -> Channel:
        """Set a channel."""
        return self.acting(lambda tx: actions.set_channel(tx, name, kind, settings, keys=lambda: KEYS))

    def webhook(self, port: int, name: str = "ops") -> Channel:
        """Set a webhook to a server of the test."""
        return self.channel(name=name, url=f"http://127.0.0.1:{port}/hook", secrets=[SECRET])

    async def look(self, seconds: float = 0.0) -> list[Firing]:
        """Let time pass, look, and return the open firings."""
        self.stored.now += timedelta(seconds=seconds)
        await self.reader.look()
        return [one for one in self.firings() if one.resolved_at is None]

    async def send(self, seconds: float = 0.0) -> list[Delivery]:
        """Let time pass, send what is due, wait until all of it has an outcome, and return the deliveries."""
        self.stored.now += timedelta(seconds=seconds)
        await self.sender.look()
        on_their_way = self.stored.now + LOST_AFTER

        def have_ended() -> bool:
            return all(one.next_attempt_at != on_their_way for one in self.deliveries())

        await eventually(have_ended, message="the outcome of all deliveries")
        return self.deliveries()

    def firings(self) -> list[Firing]:
        """All firings, the oldest first."""
        return [read.firing_from(row) for row in self.stored.rows(alarm_firing)]

    def deliveries(self) -> list[Delivery]:
        """All deliveries, the oldest first."""
        return [read.delivery_from(row) for row in self.stored.rows(delivery)]


SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""The secret of the specification's example."""


@pytest.fixture(autouse=True)
def one_lock_order() -> Iterator[None]:
    """On PostgreSQL, no transaction waits for row locks out of the one order."""
    with recorded() as order:
        yield
    # A task that is deleted holds rows of the queue that it has only just made.
    assert [one for one in order.faults if OURS.search(one)] == []


@pytest.fixture
async def alarms(stored: Stored, database_url: str) -> AsyncIterator[Alarms]:
    """Alarms on a fresh database, once on SQLite and once on PostgreSQL."""
    opened = Alarms(stored, database_url)
    yield opened
    await opened.close()
