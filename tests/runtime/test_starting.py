"""What befalls a node between its registration and its first heartbeat."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

import psycopg
import pytest
from sqlalchemy import make_url
from typing_extensions import override

from cronograph.jobs.actions.nodes import NewNode, drain_node, join
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.service import Duty
from cronograph.jobs.runtime.duties.alarms import Timed
from cronograph.jobs.runtime.duties.dispatcher import Dispatcher
from cronograph.jobs.runtime.duties.watchers import Rescuer
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.address import sqlite_path
from cronograph.jobs.store.db.database import Database, OperationalError
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.statements import nodes
from tests.support.clocks import WrongClock
from tests.support.engines import QUICK
from tests.support.waiting import eventually

P = ParamSpec("P")
T = TypeVar("T")


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


async def test_duties_that_begin_with_a_node_do_not_look_all_at_once(database_url: str) -> None:
    database = Database(database_url)
    engine = Engine(Services(database), Registry(), QUICK)
    await engine.start()
    try:
        apart = [one.first_after for one in engine.services if isinstance(one, Duty | Timed)]
        assert len(set(apart)) == len(apart) > 10
        assert [one.first_after for one in engine.services if isinstance(one, Dispatcher)] == [0.0]
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


@pytest.mark.costly
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


class LosesAnswers(Database):
    """A real database whose first answer to each kind of write is lost after the commit."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lost: list[str] = []

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        result = await super().write(function, *args, **kwargs)
        name = getattr(function, "__name__", "")
        if name not in self.lost:
            self.lost.append(name)
            raise OperationalError("COMMIT", None, ConnectionError("the line is cut"), connection_invalidated=True)
        return result


async def test_a_start_whose_answers_are_lost_goes_on_as_one_node(database_url: str) -> None:
    database = LosesAnswers(database_url)
    engine = Engine(Services(database), Registry(), QUICK)
    try:
        await engine.start()
        assert database.lost[:3] == ["_join", "declare", "set_state"]
        (node,) = await database.read(nodes.live)
        assert (node.name, node.state) == ("test-node", NodeState.ACTIVE)
    finally:
        await engine.stop()
        await database.close()


@pytest.mark.postgres
async def test_a_death_is_told_once_by_each_survivor_however_often_it_has_to_try(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    database, clock = Database(postgres_url), WrongClock()
    dead = await database.write(join, NewNode("dead", 1, "1", (), lease=-1.0), only_node=False)
    survivors = [Rescuer(database, own=0, lease=10.0, heartbeat=2.5, clock=clock) for _ in range(2)]
    for one in survivors:
        await one.look()
    clock.passed = 20.0
    with psycopg.connect(database.libpq_url()) as other:
        # A claim of the dead node is under way: nobody can declare it dead yet.
        other.execute("SELECT FROM cronograph.node WHERE id = %s FOR UPDATE", (dead.id,))
        for one in survivors * 3:
            await one.look()
    for one in survivors * 2:
        await one.look()
    assert await database.read(nodes.live) == []
    assert caplog.text.count("node dead is dead: no heartbeat since") == 2
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
