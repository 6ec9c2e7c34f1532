"""What everybody needs from a node while others press it: cheap reads, its health, and the starts of jobs.

A start is looked at on both of its ways. A run that is *enqueued* passes the event loop of the API first, as the
mutation does that makes it; one whose task is *due* concerns the engine alone. Its stages are told apart by what the
database notes of a run, which on one machine is the job's clock as well.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import partial

import httpx

from cronograph.jobs import JobContext
from cronograph.jobs.actions.runs import put
from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.core.model import NewRun, Run, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import runs
from tests.support.waiting import eventually

JOB = "note_the_start"
AHEAD = 0.5
"""Seconds before the first task is due: they all are stored by then."""
APART = 0.11
"""Seconds between two tasks that come due."""


@dataclass
class Notes:
    """What the job notes in its first line, by the key of its run: the time, and for when a schedule wanted it."""

    first_line: dict[int, datetime] = field(default_factory=dict[int, datetime])
    due: dict[int, datetime] = field(default_factory=dict[int, datetime])

    async def note_the_start(self, ctx: JobContext) -> None:
        """The job."""
        self.first_line[ctx.run_id] = datetime.now(UTC)
        if ctx.scheduled_for is not None:
            self.due[ctx.run_id] = ctx.scheduled_for


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a job, in seconds.

    Attributes:
        stored: From the wish to the statement that stores the run; of a due task, from its due time.
        claimed: From there to the statement that claims it.
        begun: From there to the first line of the job.
    """

    stored: float
    claimed: float
    begun: float

    @property
    def late(self) -> float:
        """All of it."""
        return self.stored + self.claimed + self.begun

    @classmethod
    def of(cls, run: Run, wanted: datetime, first_line: datetime) -> "Start":
        """The start of a run that is over."""
        assert run.started_at is not None, "it has noted its first line"
        times = (wanted, run.submitted_at, run.started_at, first_line)
        return cls(*((after - before).total_seconds() for before, after in itertools.pairwise(times)))


@dataclass
class Probe:
    """How long what everybody needs takes: seconds of each try, and the starts."""

    reads: list[float] = field(default_factory=list[float])
    ready: list[float] = field(default_factory=list[float])
    enqueued: list[Start] = field(default_factory=list[Start])
    due: list[Start] = field(default_factory=list[Start])

    @classmethod
    def joined(cls, probes: Iterable["Probe"]) -> "Probe":
        """All tries of some probes."""
        whole = cls()
        for one in probes:
            for tries in fields(cls):
                getattr(whole, tries.name).extend(getattr(one, tries.name))
        return whole


@dataclass(frozen=True)
class Prober:
    """Asks a node for what everybody needs.

    Attributes:
        database: That of its API.
        client: Speaks with its API.
        notes: Of the job that it runs.
        names: Makes the names of tasks.
    """

    database: Database
    client: httpx.AsyncClient
    notes: Notes
    names: Iterator[str]

    async def probe(self, seconds: float) -> Probe:
        """Try ``{ serverTime }``, ``/health/ready`` and an enqueue by turns for a while, with tasks that come due."""
        found, wanted = Probe(), dict[int, datetime]()
        self.notes.due.clear()
        names = [next(self.names) for _ in range(max(1, int(seconds / APART)))]
        end = time.perf_counter() + AHEAD + seconds
        await self.database.write(_plan, names, datetime.now(UTC) + timedelta(seconds=AHEAD))
        while not found.reads or time.perf_counter() < end:
            found.reads.append(await self._time_of_read())
            found.ready.append(await self._time_of_health())
            asked = datetime.now(UTC)
            (made,) = await self.database.write(put, [NewRun(JOB, Trigger.API)])
            wanted[made.run.id] = asked
            await eventually(partial(self.notes.first_line.get, made.run.id))
        await eventually(lambda: len(self.notes.due) == len(names))
        found.enqueued += await self._starts(wanted)
        found.due += await self._starts(self.notes.due)
        return found

    async def _time_of_read(self) -> float:
        began = time.perf_counter()
        answer = await self.client.post("/graphql", json={"query": "{ serverTime }"})
        answer.raise_for_status()
        return time.perf_counter() - began

    async def _time_of_health(self) -> float:
        began = time.perf_counter()
        (await self.client.get("/health/ready")).raise_for_status()
        return time.perf_counter() - began

    async def _starts(self, wanted: dict[int, datetime]) -> list[Start]:
        found = await self.database.read(runs.by_ids, list(wanted))
        return [Start.of(run, wanted[run.id], self.notes.first_line[run.id]) for run in found.values()]


def _plan(tx: Tx, names: Sequence[str], first: datetime) -> None:
    for number, name in enumerate(names):
        at = first + timedelta(seconds=number * APART)
        create_task(tx, TaskSpec(name, JOB, ScheduleSpec(Syntax.TIMESTAMP, at.isoformat())))
