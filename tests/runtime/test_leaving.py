"""How a node leaves: it tries again while its database is unavailable, and hides no fault of our own."""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import make_url
from typing_extensions import override

from cronograph.jobs.actions.nodes import leave, set_state
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.address import sqlite_path
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import nodes
from tests.support.engines import QUICK
from tests.support.waiting import eventually

P = ParamSpec("P")
T = TypeVar("T")


async def test_a_node_that_stops_while_its_file_is_unavailable_says_so_once_it_is_back(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, database = sqlite_path(make_url(sqlite_url)), Database(sqlite_url)
    engine = Engine(Services(database), Registry(), QUICK)
    await engine.start()
    elsewhere = path.rename(path.with_name("elsewhere.db"))
    with caplog.at_level(logging.WARNING):
        stopping = asyncio.create_task(engine.stop())
        await eventually(lambda: "node test-node stops while its database is unavailable: " in caplog.text)
    elsewhere.rename(path)
    await stopping
    assert [found.state for found in (await database.read(nodes.by_ids, [1])).values()] == [NodeState.STOPPED]
    await database.close()


class Faulty(Database):
    """A database whose writing has a fault of our own.

    Attributes:
        faulty: What it does not write.
    """

    faulty: Collection[Callable[..., object]] = ()

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if function in self.faulty:
            raise LookupError(f"a fault of our own in {function.__name__}")
        return await super().write(function, *args, **kwargs)


async def test_a_fault_of_our_own_is_raised_and_the_rest_ends_all_the_same(database_url: str) -> None:
    database = Faulty(database_url)
    engine = Engine(Services(database), Registry(), QUICK)
    await engine.start()
    database.faulty = {set_state, leave}
    with pytest.raises(LookupError, match="in set_state"):
        await engine.drain()
    with pytest.raises(LookupError, match="in leave"):
        await engine.stop()
    assert engine.node is None
    await engine.stop()
    await database.close()
