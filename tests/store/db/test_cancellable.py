"""What waits for a server that is out of reach ends when it is told to, and not when a time-out of the driver does."""

import asyncio
import gc
import threading
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.autocommit import AutocommitConnection
from cronograph.jobs.store.db.database import Connection, Database, OperationalError
from cronograph.jobs.store.db.interruption import CANCEL_SECONDS, SocketHandle, SocketHandles
from cronograph.jobs.store.db.transaction import Tx
from tests.chaos.proxy import Proxy

pytestmark = pytest.mark.postgres


@pytest.fixture
def line(postgres_url: str) -> Iterator[Proxy]:
    with Proxy(postgres_url) as proxy:
        yield proxy
        proxy.let_go()


def one(conn: Connection) -> object:
    return conn.execute(text("SELECT 1")).scalar()


async def test_a_statement_on_a_line_that_is_cancelled_waits_for_nobody(
    line: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    own = AutocommitConnection(parse_url(line.url))
    await own.execute("SELECT 1", {})
    line.hold()
    asked = asyncio.create_task(own.execute("SELECT 1", {}))
    await asyncio.sleep(0)
    asked.cancel()
    # Psycopg would ask the server to cancel it for five seconds, and wait as long for its answer.
    done, _ = await asyncio.wait([asked], timeout=4)
    assert done
    assert asked.cancelled()
    assert caplog.messages == []
    line.let_go()
    assert await own.execute("SELECT 2", {}) == [(2,)]
    await own.close()


@pytest.mark.costly
async def test_anyone_who_waits_on_a_connection_hears_that_it_was_hung_up(line: Proxy) -> None:
    database = Database(line.url)
    lane = database.autocommit_connection()
    assert lane is not None
    database.write_sync(lambda tx: one(tx.conn))
    await asyncio.gather(lane.execute("SELECT 1", {}), database.read(one))
    line.hold()
    in_thread = asyncio.ensure_future(asyncio.to_thread(database.write_sync, asks))
    waiting = [in_thread, *(asyncio.ensure_future(one) for one in (lane.execute("SELECT 1", {}), database.write(asks)))]
    await asyncio.wait(waiting, timeout=0.2)
    assert not any(one.done() for one in waiting)
    database.hang_up()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(error, OperationalError | psycopg.OperationalError) for error in ended] == [True] * 3
    line.let_go()
    assert await database.read(one) == 1
    await lane.close()
    await database.close()


def asks(tx: Tx) -> object:
    return one(tx.conn)


@pytest.mark.costly
async def test_a_cancelled_read_of_a_server_that_cannot_be_asked_is_hung_up_without_a_traceback(
    line: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    gc.collect()  # What earlier tests have left in this process is not judged here.
    caplog.clear()
    database, asking = Database(line.url), threading.Event()
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))

    def read(conn: Connection) -> object:
        line.hold()
        asking.set()
        return one(conn)

    reading = asyncio.ensure_future(database.read(read))
    await asyncio.to_thread(asking.wait)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    # Which waits for the thread of the read, though the server has still said nothing.
    await asyncio.wait_for(database.close(), 10 * CANCEL_SECONDS)
    gc.collect()
    assert unhandled == []
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_connection_that_has_ended_is_left_alone_with_whatever_has_its_number_now(postgres_url: str) -> None:
    sockets = SocketHandles()
    first = psycopg.connect(libpq_url(parse_url(postgres_url)))
    sockets.add(first)
    handle, number = SocketHandle(first), first.fileno()
    first.close()
    handle.shut_down()
    with psycopg.connect(libpq_url(parse_url(postgres_url))) as second:
        assert second.fileno() == number
        handle.shut_down()
        sockets.shut_down()
        assert second.execute("SELECT 1").fetchone() == (1,)
