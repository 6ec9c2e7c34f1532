"""A migrated database with a clock that a test sets, and short ways to put things into it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import Table, event, select

from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.actions.retries import retry_each
from cronograph.jobs.actions.runs import enqueue_runs
from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.core.base.signature import VERSION
from cronograph.jobs.core.defaults import FOLLOWED, JobDefaults, JobInfo
from cronograph.jobs.core.model import NewRun, Run, ScheduleSpec, Task, TaskSpec, Trigger
from cronograph.jobs.core.nodes import Node, NodeState
from cronograph.jobs.core.outcome import JobOutcome, Succeeded
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.queue.claims.claim import Claimant, Claimed, Started, claim
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.finish import Finish, Finished, finish
from cronograph.jobs.queue.occurrences import dispatch_due
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import nodes
from tests.support.history import counted_minutes, minutes_of_log

P = ParamSpec("P")
T = TypeVar("T")

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
"""When a test's clock begins."""
ANY_ARGS: dict[str, Any] = {"type": "object"}
"""The schema of a job that takes all that it is given."""


class Stored:
    """The engine's use cases on a real database, one call each, at the time that the test says."""

    def __init__(self, url: str) -> None:
        self.now = START
        self.database = Database(url, clock=lambda: self.now)

    def close(self) -> None:
        """Drop every connection."""
        self.database.close_sync()

    def at(self, seconds: float) -> None:
        """Set the clock to so many seconds after ``START``."""
        self.now = START + timedelta(seconds=seconds)

    def pass_time(self, seconds: float) -> None:
        """Move the clock on."""
        self.now += timedelta(seconds=seconds)

    def do(self, action: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an action in a transaction of its own."""
        return self.database.write_sync(action, *args, **kwargs)

    def tried(self, action: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an action and take it back, as a dry run does."""

        def undone(tx: Tx) -> T:
            with tx.undone():
                return action(tx, *args, **kwargs)

        return self.do(undone)

    def statements(self, action: Callable[[Tx], object]) -> int:
        """Return how many statements an action sends."""
        sent: list[str] = []

        def count(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
            sent.append(statement)

        def counted(tx: Tx) -> None:
            event.listen(tx.conn, "before_cursor_execute", count)
            action(tx)

        self.do(counted)
        return len(sent)

    def rows(self, table: Table, **equal: Any) -> list[Any]:
        """The rows of a table whose columns have these values, by their first column."""
        condition = [table.c[name] == value for name, value in equal.items()]
        statement = select(table).where(*condition).order_by(next(iter(table.primary_key)))
        return self.do(lambda tx: list(tx.conn.execute(statement)))

    def node(
        self,
        name: str = "node-a",
        jobs: Sequence[str] = ("work",),
        slots: int = 20,
        schedule: str | None = None,
        takes: int = 1,
        code_version: str | None = None,
        **said: Any,
    ) -> "Worker":
        """Register a node that knows these jobs, and whose code perhaps declares a schedule or defaults of them.

        ``takes``: how many slots a run of theirs takes.
        """
        defaults = JobDefaults(**said)
        schema = ANY_ARGS if code_version is None else {**ANY_ARGS, VERSION: code_version}
        infos = tuple(
            JobInfo(job, schedule=schedule, args_schema=schema, defaults=defaults, slots=takes) for job in jobs
        )
        node = self.do(join, NewNode(name, slots, "1", infos, 60.0), only_node=False)
        self.do(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))
        return Worker(self, node, tuple(jobs))

    def task(self, value: str = "0 * * * * *", syntax: Syntax = Syntax.CRON, **changes: Any) -> Task:
        """Create a task of job ``work``."""
        spec = TaskSpec("nightly", "work", ScheduleSpec(syntax, value, changes.pop("timezone", "UTC")))
        return self.do(create_task, replace(spec, **changes), submitter="tester")

    def enqueue(self, **changes: Any) -> Run:
        """Put one run of job ``work`` into the queue."""
        return self.do(enqueue_runs, [replace(NewRun("work", Trigger.API), **changes)])[0].run

    def enqueue_by_job(self, **changes: Any) -> Run:
        """``enqueue`` of a run that has from job ``work`` what is not said."""
        return self.enqueue(**{"inherits": FOLLOWED - changes.keys(), **changes})

    def dispatch(self) -> int:
        """Dispatch until nothing is due; how many runs were made."""
        made = 0
        while True:
            dispatched = self.do(dispatch_due, "node-a")
            made += dispatched.made
            if not dispatched.more:
                return made


class Worker:
    """A node that takes and ends runs when the test says so."""

    def __init__(self, stored: Stored, node: Node, jobs: tuple[str, ...]) -> None:
        self.stored = stored
        self.node = node
        self.claimant = Claimant(node.id, node.name, jobs)
        self.fairness = FairnessState()

    def leave_to_others(self, foreign: frozenset[str]) -> None:
        """Take no runs with these signatures from now on."""
        self.claimant = replace(self.claimant, foreign=foreign)

    def choose(self, groups: tuple[str, ...]) -> None:
        """Take runs of these groups only."""
        self.claimant = replace(self.claimant, groups=groups)

    def weigh(self, **slots: int) -> None:
        """Have the runs of these jobs take so many slots each from now on."""
        self.claimant = replace(self.claimant, heavy=slots)

    def take(self, slots: int = 1, prefetch: int = 0) -> Claimed:
        """Claim runs."""
        claimed = self.stored.do(claim, self.claimant, self.fairness, slots=slots, prefetch=prefetch)
        self.fairness = claimed.fairness
        return claimed

    def start(self) -> Started:
        """Claim exactly one run."""
        (started,) = self.take(1).started
        return started

    def end(self, started: Started, outcome: JobOutcome | None = None, **more: Any) -> Finished:
        """End an attempt, successfully unless told otherwise."""
        ended = Finish(started.run, started.execution_id, outcome or Succeeded(), **more)
        return self.stored.do(finish, self.node.id, self.node.name, [ended])


@pytest.fixture
def stored(database_url: str, request: pytest.FixtureRequest) -> Iterator[Stored]:
    """A fresh database, once on SQLite and once on PostgreSQL; every end that a test wrote has been counted.

    Tests that are marked with `altered_log` change or delete executions themselves, which nobody counts.
    """
    opened = Stored(database_url)
    yield opened
    try:
        if request.node.get_closest_marker("altered_log") is None:
            assert opened.do(lambda tx: counted_minutes(tx.conn)) == opened.do(lambda tx: minutes_of_log(tx.conn))
    finally:
        opened.close()


def retry_runs(tx: Tx, /, ids: Sequence[int], **more: Any) -> list[Run]:
    """The runs that retries of others make, or those that stand for them."""
    return [one.run for one in retry_each(tx, ids, **more)]
