"""Channels keep a version, by which nobody overwrites the change of somebody else, and tell of each change."""

from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from cronograph.jobs.core.base.errors import AlreadyExists, NotFound, VersionConflict
from cronograph.jobs.core.events import Cursor, EventKind
from cronograph.jobs.delivery import actions, read, webhooks
from cronograph.jobs.delivery.rules import Channel, ChannelKind
from cronograph.jobs.queue.base.changes import publish
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import events
from tests.delivery.test_webhooks import RUNS
from tests.support.storage import Stored
from tests.support.waiting import wait_until


def put(stored: Stored, url: str = "https://example.com", expected: int | None = None) -> Channel:
    settings = {"url": url}
    return stored.do(actions.set_channel, "ops", ChannelKind.ALERTMANAGER, settings, expected=expected)


def told(stored: Stored) -> list[str | None]:
    stored.do(publish, 500)
    changes = stored.do(lambda tx: events.after(tx.conn, Cursor(0, 0), 500))
    return [one.change.channel for one in changes if one.change.kind is EventKind.CHANNEL_UPDATED]


def test_of_two_who_change_what_they_saw_the_second_is_refused(stored: Stored) -> None:
    made = put(stored)
    assert (made.version, put(stored, "https://a.example.com", expected=1).version) == (1, 2)
    with pytest.raises(VersionConflict, match="channel 'ops' is at version 2, got 1"):
        put(stored, "https://b.example.com", expected=1)
    with pytest.raises(VersionConflict, match="channel 'ops' is at version 2, got 1"):
        stored.do(actions.delete_channel, "ops", expected=1)
    found = stored.do(lambda tx: read.channels(tx.conn)["ops"])
    assert (found.settings, found.created_at) == ({"url": "https://a.example.com"}, made.created_at)
    assert put(stored, "https://c.example.com").version == 3


def test_two_who_make_one_of_the_same_name_do_not_overwrite_each_other(stored: Stored) -> None:
    assert put(stored, expected=0).version == 1
    with pytest.raises(VersionConflict, match="channel 'ops' is at version 1, got 0"):
        put(stored, "https://b.example.com", expected=0)


@pytest.mark.postgres
@pytest.mark.parametrize(("expected", "version"), [(None, 2), (0, None)])
def test_of_two_who_make_one_name_at_once_the_second_changes_it_or_is_told(
    postgres_url: str, expected: int | None, version: int | None
) -> None:
    first, second = Stored(postgres_url), Stored(postgres_url)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def make(tx: Tx) -> Future[Channel]:
        actions.set_channel(tx, "ops", ChannelKind.ALERTMANAGER, {"url": "https://a.example.com"}, expected=expected)
        other = clients.submit(put, second, expected=expected)
        wait_until(lambda: watch.execute(waiting).fetchone() == (1,), message="the second to wait for the first")
        return other

    with psycopg.connect(first.database.libpq_url(), autocommit=True) as watch, ThreadPoolExecutor(1) as clients:
        other = first.do(make)
        if version is None:
            with pytest.raises(VersionConflict, match="channel 'ops' is at version 1, got 0"):
                other.result()
        else:
            assert other.result().version == version
    first.close()
    second.close()


def test_one_that_was_deleted_meanwhile_is_not_made_anew(stored: Stored) -> None:
    put(stored)
    stored.do(actions.delete_channel, "ops", expected=1)
    with pytest.raises(NotFound, match="channel 'ops' does not exist"):
        put(stored, expected=1)


def test_each_change_is_an_event(stored: Stored) -> None:
    put(stored)
    put(stored, "https://a.example.com")
    with pytest.raises(VersionConflict):
        put(stored, expected=7)
    assert told(stored) == ["ops", "ops"]
    stored.do(actions.delete_channel, "ops")
    assert told(stored) == ["ops", "ops", "ops"]


def test_a_webhook_is_no_channel_that_can_be_set_or_deleted(stored: Stored) -> None:
    def made(tx: Tx) -> None:
        webhooks.create_webhook(tx, webhooks.new_webhook("ops", "https://example.com", RUNS, {}))

    stored.do(made)
    for expected in (None, 0):
        with pytest.raises(AlreadyExists, match="there is a webhook or channel 'ops'"):
            put(stored, expected=expected)
    with pytest.raises(NotFound):
        put(stored, expected=1)
    with pytest.raises(NotFound):
        stored.do(actions.delete_channel, "ops", force=True)
