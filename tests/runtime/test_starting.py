"""What befalls a node between its registration and its first heartbeat."""

import asyncio
import logging
from dataclasses import replace

import pytest
from sqlalchemy import make_url

from cronograph.jobs.actions.nodes import drain_node
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.base.address import sqlite_path
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Wake
from cronograph.jobs.store.read import nodes
from tests.support.engines import QUICK
from tests.support.waiting import eventually


async def test_a_drain_that_is_asked_for_while_the_node_starts_is_obeyed(database_url: str) -> None:
    database, drained, asked = Database(database_url), asyncio.Event(), False

    def drain_once(_wakes: Wake) -> None:
        nonlocal asked
        if not asked:
            asked = True
            database.write_sync(drain_node, "test-node")

    database.on_commit(drain_once)
    engine = Engine(Services(database), Registry(), QUICK, on_drained=drained.set)
    try:
        await engine.start()
        await eventually(drained.is_set, message="the node to have drained")
        assert asked
        assert not engine.ready
        assert [node.state for node in await database.read(nodes.live)] == [NodeState.STOPPING]
    finally:
        await engine.stop()
        await database.close()


async def test_a_start_that_is_cut_short_leaves_no_live_node_behind(database_url: str) -> None:
    database = Database(database_url)
    engine = Engine(Services(database), Registry(), QUICK)
    starting = asyncio.create_task(engine.start())
    committed: list[Wake] = []

    def cut_short(wakes: Wake) -> None:
        committed.append(wakes)
        starting.cancel()

    # The first commit of a start registers the node.
    database.on_commit(cut_short)
    await eventually(lambda: committed, message="the node to register")
    # As a server does that is asked to stop: it does not wait for the start that it cancels.
    await engine.stop()
    assert committed[0] & Wake.NODES
    assert await database.read(nodes.live) == []
    with pytest.raises(asyncio.CancelledError):
        await starting
    await database.close()


async def test_a_stop_during_the_start_waits_for_it_and_leaves_no_live_node_behind(database_url: str) -> None:
    database = Database(database_url)
    engine = Engine(Services(database), Registry(), QUICK)
    registered = asyncio.Event()
    database.on_commit(lambda _wakes: registered.set())
    starting = asyncio.create_task(engine.start())
    await registered.wait()
    await engine.stop()
    await starting
    assert await database.read(nodes.live) == []
    assert engine.node is None
    await database.close()


async def test_a_start_that_is_cut_short_while_the_database_is_unavailable_ends_all_the_same(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = sqlite_path(make_url(sqlite_url))
    database = Database(sqlite_url)
    engine = Engine(Services(database), Registry(), QUICK)
    starting = asyncio.create_task(engine.start())

    def cut_short(_wakes: Wake) -> None:
        path.rename(path.with_name("elsewhere.db"))
        starting.cancel()

    database.on_commit(cut_short)
    try:
        with caplog.at_level(logging.WARNING), pytest.raises(asyncio.CancelledError):
            await starting
        assert "node test-node does not begin and cannot say so: " in caplog.text
    finally:
        await engine.stop()
        await database.close()


async def test_a_start_without_a_database_registers_nothing_and_says_why(empty_sqlite_url: str) -> None:
    database = Database(empty_sqlite_url)
    engine = Engine(Services(database), Registry(), QUICK)
    try:
        with pytest.raises(Exception, match="no such table"):
            await engine.start()
        assert engine.node is None
    finally:
        await engine.stop()
        await database.close()


async def test_settings_that_do_not_fit_are_refused_before_anything_begins(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    with pytest.raises(ConfigurationError):
        Engine(Services(database), Registry(), replace(QUICK, counting_scheme="0,1"))
    await database.close()
