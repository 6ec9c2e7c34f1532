"""The common case of the hot path, on PostgreSQL: it leaves the rows and events that the general case leaves."""

import random
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.actions.runs import put
from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.events import Change, spread
from cronograph.jobs.core.model import NewRun, Priority, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed, JobOutcome, Succeeded, Suspended
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.base.changes import wake
from cronograph.jobs.queue.base.shapes import LanePosition
from cronograph.jobs.queue.cancel import cancel_all
from cronograph.jobs.queue.claims.claim import Claimant, Started
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.claims.lane import LaneClaim, claim_groups, claim_lane
from cronograph.jobs.queue.finish import Finish, finish, finish_common, is_common
from cronograph.jobs.queue.turn import Order, turn
from cronograph.jobs.store.db.database import AutocommitConnection, Database, parse_url
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes, runs
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.postgres

TIMES = frozenset(
    {"at", "submitted_at", "available_at", "due_at", "started_at", "completed_at", "finished_at", "last_started_at"}
    | {"cancel_requested_at"}
)
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\S+")
OWN = frozenset({"created_at", "updated_at", "anchor_at", "next_nominal", "next_execution"})
JOBS = tuple(JobInfo(name, args_schema={"type": "object"}) for name in ("work", "play", "unknown"))
TABLES = (tables.run, tables.job_execution, tables.periodic_task)


class Party:
    """A node on a database of its own, that uses the common case where it can, or never."""

    def __init__(self, url: str, *, common: bool) -> None:
        self.database = Database(url)
        self.line = self.database.autocommit_connection() if common else None
        self.fairness = FairnessState()
        self.lanes = self.several = self.held_back = 0
        self.goes_on = False
        self.place: LanePosition | None = None
        self.claimant = Claimant(0, "", ())

    async def begin(self) -> None:
        node = await self.database.write(join, NewNode("node-a", 20, "1", JOBS, 60.0), only_node=False)
        await self.database.write(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))
        self.claimant = Claimant(node.id, node.name, ("work", "play"))
        for name, syntax, value in (
            ("nightly", Syntax.CRON, "0 0 0 * * *"),
            ("often", Syntax.INTERVAL, "1h"),
        ):
            await self.database.write(
                create_task, TaskSpec(name, "work", ScheduleSpec(syntax, value)), submitter="tester"
            )

    async def claim(self, slots: int) -> tuple[Started, ...]:
        if self.line is not None:
            behind = self.place if self.goes_on else None
            lane = await self.database.on_connection(
                claim_lane, self.line, self.claimant, self.fairness, slots=slots, behind=behind
            )
            self.place = lane.place
            if lane.served:
                self.lanes += len(lane.started)
                self.fairness = lane.fairness
                return lane.started
            assert not lane.started
            several = await self.database.on_connection(
                claim_groups, self.line, self.claimant, self.fairness, slots=slots
            )
            if several.served:
                self.several += len(several.started)
                self.fairness = several.fairness
                started = several.started
                while several.held_back and len(started) < slots:
                    self.held_back += several.held_back
                    several = await self.database.on_connection(
                        claim_groups, self.line, self.claimant, self.fairness, slots=slots - len(started), deep=True
                    )
                    self.fairness = several.fairness if several.served else self.fairness
                    started += several.started
                return started
            assert not several.started
        result = await self.database.write(turn, self.claimant, self.fairness, Order((), (), slots, 0))
        self.fairness = result.fairness
        return result.started

    async def end(self, ended: Sequence[Finish]) -> None:
        node = (self.claimant.node_id, self.claimant.node)
        common = [one for one in ended if is_common(one)]
        stored: frozenset[int] = frozenset()
        if self.line is not None and common:
            stored = (await self.database.on_connection(finish_common, self.line, node, common)).accepted
        rest = [one for one in ended if one.run.id not in stored]
        if rest:
            await self.database.write(finish, *node, rest)

    async def interfere(self, ids: Sequence[int], *, wakes: bool) -> None:
        """Wake all that is suspended, or cancel these runs."""
        if wakes:
            await self.database.write(wake, range(1, 40))
        else:
            await self.database.write(cancel_all, ids, reason="enough")

    async def rows(self) -> list[list[tuple[Any, ...]]]:
        """Return what is stored, without times; of these only which are there."""
        return await self.database.read(_rows)

    async def changes(self) -> list[Change]:
        """All changes; those of one transaction that concern different runs in the order of these."""
        batches = await self.database.read(_changes)
        return [change for batch in batches for change in sorted(batch, key=lambda one: one.run_id or 0)]

    async def close(self) -> None:
        if self.line is not None:
            await self.line.close()
        await self.database.close()


def _differences(ours: list[list[tuple[Any, ...]]], theirs: list[list[tuple[Any, ...]]]) -> list[Any]:
    """Return what differs, in short."""
    assert [len(table) for table in ours] == [len(table) for table in theirs]
    pairs = [
        pair for ours_of, theirs_of in zip(ours, theirs, strict=True) for pair in zip(ours_of, theirs_of, strict=True)
    ]
    return [(one[0], set(map(repr, one)) ^ set(map(repr, other))) for one, other in pairs if one != other]


def _rows(conn: Connection) -> list[list[tuple[Any, ...]]]:
    found: list[list[tuple[Any, ...]]] = []
    for table in TABLES:
        rows = conn.execute(select(table).order_by(table.c.id)).mappings()
        found.append([tuple(_without_time(key, row[key]) for key in row if key not in OWN) for row in rows])
    return found


def _without_time(key: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return key, INSTANT.sub("T", value)
    return key, value is None if key in TIMES else value


def _changes(conn: Connection) -> list[list[Change]]:
    stored = conn.execute(select(tables.event.c.changes).order_by(tables.event.c.id)).scalars()
    return [list(spread(changes)) for changes in stored]


@pytest.fixture
async def parties(postgres_server: PostgresServer) -> AsyncIterator[list[Party]]:
    names = [postgres_server.create_database(postgres_server.template("migrated", migrate)) for _ in range(2)]
    made = [Party(postgres_server.url(name), common=name is names[0]) for name in names]
    for party in made:
        await party.begin()
    yield made
    for party in made:
        await party.close()
    for name in names:
        postgres_server.drop_database(name)


def some_runs(
    chance: random.Random, groups: Sequence[str], *, exclusive: bool, keys: Sequence[str] = ()
) -> list[NewRun]:
    priorities = chance.choice([[Priority.LOW], [Priority.LOW], [Priority.HIGH], [Priority.LOW, Priority.HIGH]])
    jobs = chance.choice([["work"], ["work", "play"], ["work", "unknown"]])
    task = chance.choice([None, None, (1, "nightly"), (1, "nightly"), (2, "often")])
    made: list[NewRun] = []
    for _ in range(chance.randint(1, 6)):
        run = NewRun(chance.choice(jobs), Trigger.API, args={"n": chance.randint(0, 9)}, retry_delay=0.0)
        run = replace(run, group=chance.choice(groups), priority=chance.choice(priorities))
        if task is not None:
            run = replace(run, task_id=task[0], task_name=task[1], exclusive=exclusive and chance.random() < 0.5)
        if task is not None and chance.random() < 0.6:
            nominal = BEGINNING + timedelta(seconds=chance.randint(0, 10**7))
            run = replace(run, trigger=Trigger.SCHEDULE, scheduled_for=nominal)
        if keys and chance.random() < 0.7:
            key = chance.choice(keys)
            run = replace(run, concurrency_key=key, max_concurrent=1 + (key == "k2"))
        made.append(run)
    return made


def some_outcome(chance: random.Random) -> JobOutcome:
    if chance.random() < 0.85:
        return Succeeded(chance.choice([None, 0, 7, 2**63 - 1]), chance.choice([None, None, None, {"it": "is"}]))
    ends: list[JobOutcome] = [Failed("ValueError", "no luck"), Suspended(Awaits(AwaitedKind.SIGNAL, "go"))]
    return chance.choice(ends)


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(26))
async def test_the_common_case_leaves_what_the_general_case_leaves(parties: list[Party], seed: int) -> None:
    chance = random.Random(seed)
    running: list[tuple[Started, ...]] = []
    common, general = parties
    keys = ["k0", "k1", "k2"] if seed >= 18 else []
    groups = ["a", "b", "c", "d"] if 12 <= seed < 22 else ["a", "b"] if seed in {6, 7} else ["a"]
    # Behind its place it does not see that a run of an exclusive task, which it passed over, can be taken now.
    common.goes_on = 8 <= seed < 12
    for _ in range(25):
        step = chance.random()
        if step < 0.35:
            runs = some_runs(chance, groups, exclusive=not common.goes_on, keys=keys)
            for party in parties:
                await party.database.write(put, runs)
        elif step < 0.7:
            slots = chance.randint(1, 8)
            ours, theirs = [await party.claim(slots) for party in parties]
            while len(ours) < min(slots, len(theirs)):
                # A lane's claim leaves out further runs of an exclusive task; the next one goes on behind them.
                more = await common.claim(slots - len(ours))
                assert more
                ours += more
            assert [_known(one) for one in ours] == [_known(one) for one in theirs]
            running += list(zip(ours, theirs, strict=True))
        elif step < 0.8 and running:
            ids = [pair[0].run.id for pair in chance.sample(running, 1)]
            for party in parties:
                await party.interfere(ids, wakes=step < 0.74)
        elif running:
            ending = chance.sample(running, chance.randint(1, len(running)))
            running = [pair for pair in running if pair not in ending]
            outcomes = [some_outcome(chance) for _ in ending]
            for place, party in enumerate(parties):
                ended = [
                    Finish(pair[place].run, pair[place].execution_id, outcome)
                    for pair, outcome in zip(ending, outcomes, strict=True)
                ]
                await party.end(ended)
        assert _differences(await common.rows(), await general.rows()) == []
    assert sorted(map(repr, await common.changes())) == sorted(map(repr, await general.changes()))
    assert (common.fairness.last_group, common.fairness.counters) == (
        general.fairness.last_group,
        general.fairness.counters,
    )


async def test_runs_of_several_groups_and_classes_are_taken_in_turn_without_a_transaction(parties: list[Party]) -> None:
    common, general = parties
    runs = [
        NewRun(job, Trigger.API, group=group, priority=priority, description=f"{group}{priority.value}{place}")
        for place in range(3)
        for group in ("a", "b", "c")
        for priority in Priority
        for job in ("work", "unknown")
    ]
    for party in parties:
        await party.database.write(put, runs)
    taken = [[one.run.description for _ in range(4) for one in await party.claim(4)] for party in parties]
    assert (common.several, common.lanes, len(taken[0])) == (16, 0, 16)
    assert taken[0] == taken[1]
    assert _differences(await common.rows(), await general.rows()) == []


async def test_a_claim_of_several_groups_leaves_what_is_for_others_and_what_has_to_be_judged(
    parties: list[Party],
) -> None:
    common, _ = parties
    assert common.line is not None
    await common.database.write(put, [NewRun("work", Trigger.API, group=group) for group in ("a", "b", "b")])
    await common.database.write(put, [NewRun("work", Trigger.API, group="b", signature="other")])

    async def claim(**changes: Any) -> LaneClaim:
        assert common.line is not None
        claimant = replace(common.claimant, **changes)
        return await common.database.on_connection(claim_groups, common.line, claimant, FairnessState(), slots=10)

    of_b = await claim(groups=("b", "c"), foreign=frozenset({"other"}))
    assert [one.run.group for one in of_b.started] == ["b", "b"]
    assert (of_b.more, of_b.next_in) == (False, None)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    await common.database.write(put, [NewRun("work", Trigger.API, group="c", expires_at=long_ago)])
    judged = await claim()
    assert (judged.served, judged.mixed, judged.started) == (False, True, ())
    assert [one.run.group for one in (await claim(groups=("a", "b"))).started] == ["a", "b"]
    later = datetime.now(UTC) + timedelta(hours=1)
    await common.database.write(put, [NewRun("work", Trigger.API, group="a", available_at=later)])
    nothing = await claim(groups=("a",))
    assert (nothing.served, nothing.started) == (True, ())
    assert nothing.next_in is not None
    assert 3_000 < nothing.next_in <= 3_600
    await common.database.write(lambda tx: nodes.set_state(tx.conn, common.claimant.node_id, NodeState.DRAINING))
    assert not (await claim(groups=("c",))).started


async def test_runs_of_one_group_and_class_are_the_common_case(parties: list[Party]) -> None:
    common, _ = parties
    await common.database.write(put, [NewRun("work", Trigger.API, description=str(place)) for place in range(5)])
    first, second = await common.claim(3), await common.claim(3)
    assert common.lanes == 5
    assert [one.run.description for one in first + second] == ["0", "1", "2", "3", "4"]
    assert [one.execution_id for one in first + second] == [1, 2, 3, 4, 5]


def _known(started: Started) -> dict[str, Any]:
    run = started.run
    names = (
        "id attempt job_name args group task_id task_name scheduled_for failures retries retry_delay timeout submitter "
        "description node_id node"
    )
    return {name: getattr(run, name) for name in names.split()} | {
        "execution": started.execution_id,
        "checkpoint": started.checkpoint,
    }


async def test_without_a_connection_for_the_common_case_the_general_one_does_it(postgres_url: str) -> None:
    party = Party(postgres_url, common=True)
    await party.begin()
    party.line = AutocommitConnection(parse_url("postgresql://nobody@127.0.0.1:1/nothing"))
    await party.database.write(put, [NewRun("work", Trigger.API)])
    (started,) = await party.claim(5)
    assert party.lanes == 0
    end = Finish(started.run, started.execution_id, Succeeded(None))
    assert is_common(end)
    await party.end([end])
    assert (await party.database.read(runs.by_ids, [started.run.id]))[started.run.id].state is RunState.SUCCESS
    await party.database.close()
