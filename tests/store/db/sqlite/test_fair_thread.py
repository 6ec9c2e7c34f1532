"""One writer for all parties of a process: it takes them in turn."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.sqlite import FairThread
from cronograph.jobs.store.db.transaction import Tx


def test_parties_take_turns_and_each_keeps_its_order() -> None:
    thread = FairThread("test")
    gate = threading.Event()
    thread.submit("first", gate.wait)
    done: list[str] = []

    def piece(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    futures = [thread.submit("many", piece(f"m{number}")) for number in range(4)]
    futures += [thread.submit("few", piece("f0")), thread.submit("few", piece("f1")), thread.submit("one", piece("o"))]
    gate.set()
    for future in futures:
        future.result()
    assert done == ["m0", "f0", "o", "m1", "f1", "m2", "m3"]
    thread.close()


def test_a_piece_that_fails_or_is_cancelled_keeps_nobody_from_his_turn() -> None:
    thread = FairThread("test")
    gate = threading.Event()
    thread.submit("a", gate.wait)
    failing = thread.submit("a", lambda: 1 // 0)
    cancelled = thread.submit("a", lambda: 1)
    last = thread.submit("a", lambda: 2)
    assert cancelled.cancel()
    gate.set()
    with pytest.raises(ZeroDivisionError):
        failing.result()
    assert last.result() == 2
    thread.close()


async def test_a_flood_of_writes_by_one_part_does_not_hold_up_the_others(sqlite_url: str) -> None:
    engine = Database(sqlite_url)
    api = engine.separate_pool("api")
    gate = threading.Event()
    order: list[str] = []

    def wait(tx: Tx) -> None:
        del tx
        gate.wait()

    def note(tx: Tx, what: str) -> None:
        del tx
        order.append(what)

    first = asyncio.create_task(engine.write(wait))
    await asyncio.sleep(0)
    flood = [asyncio.create_task(api.write(note, "api")) for _ in range(50)]
    await asyncio.sleep(0)
    own = asyncio.create_task(engine.write(note, "engine"))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, own, *flood)
    assert order.index("engine") <= 1
    assert engine.write_sync(lambda tx: tx.conn.exec_driver_sql("SELECT 3").scalar_one()) == 3
    await api.close()
    await engine.close()
