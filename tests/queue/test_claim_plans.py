"""What a claim looks at depends neither on the runs that wait nor on their groups, no matter who knows their jobs."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from psycopg.rows import TupleRow
from sqlalchemy import ColumnElement, Connection, String, cast, func, insert, literal, select, text, update
from typing_extensions import override

from cronograph.jobs.core.model import Priority, SkipReason
from cronograph.jobs.queue.base import runs
from cronograph.jobs.queue.claims import starts as claims
from cronograph.jobs.queue.claims.candidates import Want, candidates, jobs_among_others
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.claims.lane import claim_lane
from cronograph.jobs.queue.claims.starts import Source
from cronograph.jobs.store.db.database import AutocommitConnection, parse_url
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import to_text
from tests.support.plans import pages_touched_on_autocommit, rows_touched_on_autocommit, work
from tests.support.storage import START, Stored

UNKNOWN = 3_000
JOBS = ("work", "play", *(f"idle {number}" for number in range(10)))
FEW_PAGES = 150
"""What a claim of four may look at on PostgreSQL, most of it for the rows that it writes."""
FEW_ROWS, FEW_STEPS = 400, 20_000
"""What a look may touch: rows on PostgreSQL, steps on SQLite; passing over the unknown runs takes many times that."""


def fill(stored: Stored, *, groups: int, state: str = "waiting", job: str = "unknown {}") -> None:
    """Many runs, of unknown jobs unless told otherwise, older than any other."""
    stored.do(lambda tx: _fill(tx.conn, groups, state, job))


def _fill(conn: Connection, groups: int, state: str, job: str) -> None:
    """One statement: each row by itself would cost a hundred times as much."""
    numbers = select(literal(0).label("number")).cte("numbers", recursive=True)
    numbers = numbers.union_all(select(numbers.c.number + 1).where(numbers.c.number < UNKNOWN - 1))
    number, long_ago = numbers.c.number, START - timedelta(days=1)
    kind = cast(number % 3, String)
    same: dict[str, Any] = {
        "args": {}, "priority": "low", "trigger": "api", "submitted_at": START, "attempt": 0, "failures": 0,
        "retries": 2, "retry_delay": 60, "exclusive": False, "description": "", "state": state,
        "finished_at": START if state == "success" else None,
    }  # fmt: skip
    values: dict[str, ColumnElement[Any]] = {
        **{name: literal(value, tables.run.c[name].type) for name, value in same.items()},
        "job_name": literal("unknown ") + kind if job == "unknown {}" else literal(job),
        "group_name": literal("group-") + cast(number % groups, String),
        "available_at": literal(long_ago) + func.make_interval(0, 0, 0, 0, 0, 0, number)
        if is_postgresql(conn)
        else func.strftime("%Y-%m-%dT%H:%M:%S.000000Z", to_text(long_ago), cast(number, String) + " seconds"),
    }
    conn.execute(insert(tables.run).from_select(list(values), select(*values.values()).select_from(numbers)))


def multiply(conn: Connection, times: int) -> None:
    """So many more of every run that waits, on PostgreSQL."""
    columns = ", ".join(one.name for one in tables.run.columns if one.name != "id")
    conn.execute(
        text(
            f"INSERT INTO cronograph.run ({columns}) SELECT {columns} FROM cronograph.run, generate_series(1, :times) "
            "WHERE state = 'waiting'"
        ),
        {"times": times},
    )


def analyze(stored: Stored) -> None:
    """Statistics of the queue as it is now."""
    stored.do(lambda tx: tx.conn.execute(text("ANALYZE")))


WHEN = ["never", "empty", "ended", "full"]
"""What the last statistics were taken of: nothing, empty tables, many runs that have ended, the queue as it is."""


def analyze_before(stored: Stored, when: str) -> None:
    """Statistics of a queue in which nothing waits yet."""
    if when == "ended":
        fill(stored, groups=20, state="success", job="work")
    if when in {"empty", "ended"}:
        analyze(stored)


def look(conn: Connection, depth: int) -> list[int]:
    """Return what a claim looks at: the ids of what it could take."""
    own = jobs_among_others(conn, JOBS)
    assert own is not None
    return [one.run_id for one in candidates(conn, Want(START, own, depth, form="by_job"), None)]


@pytest.mark.costly
@pytest.mark.parametrize("analyzed", WHEN)
@pytest.mark.parametrize("groups", [1, 500])
def test_a_claim_does_not_look_at_runs_of_unknown_jobs(stored: Stored, analyzed: str, groups: int) -> None:
    stored.node(jobs=JOBS)
    analyze_before(stored, analyzed)
    fill(stored, groups=groups)
    mine = [stored.enqueue(job_name=job, group=group).id for group in ("group-0", "z") for job in ("work", "play")]
    if analyzed == "full":
        analyze(stored)

    def judged(conn: Connection) -> None:
        assert sorted(look(conn, 10)) == mine
        assert work(conn, partial(look, conn, 10)) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)

    stored.do(lambda tx: judged(tx.conn))


@pytest.mark.costly
@pytest.mark.parametrize("analyzed", WHEN)
@pytest.mark.parametrize("groups", [20, 500])
def test_a_claim_does_not_look_at_more_groups_than_it_takes_runs(stored: Stored, analyzed: str, groups: int) -> None:
    stored.node(jobs=JOBS)
    analyze_before(stored, analyzed)
    fill(stored, groups=groups, job="work")
    if analyzed == "full":
        analyze(stored)

    def judged(conn: Connection) -> None:
        looking = partial(candidates, conn, Want(START, JOBS, 10), "group-3")
        assert len({one.group for one in looking()}) == 10
        assert work(conn, looking) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)

    stored.do(lambda tx: judged(tx.conn))


def start(conn: Connection, ids: Sequence[int], node: int, source: Source) -> object:
    """Begin runs at ``START``."""
    return claims.start(Tx(conn, clock=lambda: START), ids, (node, "node-a"), source)


Statement = Callable[[Connection, list[int], int], object]
BY_KEY: dict[str, Statement] = {
    "start": lambda conn, ids, node: start(conn, ids, node, Source.QUEUE),
    "start what was reserved": lambda conn, ids, node: start(conn, ids, node, Source.RESERVE),
    "start what nobody judges": lambda conn, ids, node: start(conn, ids, node, Source.UNJUDGED),
    "reserve": claims.reserve,
    "lock": lambda conn, ids, _: claims.lock_claimable(conn, ids),
    "lock what was reserved": claims.lock_scheduled,
    "cancel": lambda conn, ids, _: runs.cancel_unstarted(conn, ids, "because", START),
    "ask to stop": lambda conn, ids, _: runs.request_cancel(conn, ids, "because", START),
    "make available": lambda conn, ids, _: runs.make_available(conn, ids, START),
    "set the priority": lambda conn, ids, _: runs.set_priority(conn, ids, Priority.HIGH),
    "skip": lambda conn, ids, _: runs.skip(conn, ids, "because", START, SkipReason.TOLERANCE),
    "hand back": lambda conn, ids, _: runs.hand_back(conn, ids),
    "progress": lambda conn, ids, node: runs.save_progress(conn, [(one, 0, node, {}) for one in ids]),
}
"""What is done to runs whose ids are known."""


FOUND_IN: dict[str, tuple[str, ...]] = {
    "scheduled": ("start what was reserved", "start what nobody judges", "lock what was reserved", "hand back"),
    "running": ("ask to stop", "progress"),
}
"""In which state some of them find the runs; the others find them waiting."""


@pytest.mark.costly
@pytest.mark.parametrize("state", ["waiting", *FOUND_IN])
@pytest.mark.parametrize("analyzed", WHEN)
def test_runs_whose_ids_are_known_are_found_by_these(stored: Stored, analyzed: str, state: str) -> None:
    node = stored.node(jobs=JOBS)
    analyze_before(stored, analyzed)
    fill(stored, groups=1, job="work")
    ids = [row.id for row in stored.rows(tables.run, state="waiting")[-10:]]
    if state != "waiting":
        held = update(tables.run).values(state=state, node_id=node.node.id, started_at=START)
        stored.do(lambda tx: tx.conn.execute(held.where(tables.run.c.state == "waiting")))
    if analyzed == "full":
        analyze(stored)
    elsewhere = {name for names in FOUND_IN.values() for name in names}
    names = FOUND_IN.get(state) or tuple(name for name in BY_KEY if name not in elsewhere)

    def judged(conn: Connection, name: str) -> int:
        # Each finds the queue as it was.
        with conn.begin_nested() as undone:
            took = work(conn, partial(BY_KEY[name], conn, ids, node.node.id))
            undone.rollback()
        return took

    took = stored.do(lambda tx: {name: judged(tx.conn, name) for name in names})
    few = FEW_STEPS if stored.database.is_sqlite else FEW_ROWS
    assert {name: units for name, units in took.items() if units > few} == {}


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("analyzed", WHEN)
def test_neither_are_many_of_very_many(postgres_url: str, analyzed: str) -> None:
    stored = Stored(postgres_url)
    node = stored.node(jobs=JOBS)
    analyze_before(stored, analyzed)
    fill(stored, groups=1, job="work")
    stored.do(lambda tx: multiply(tx.conn, 30))
    if analyzed == "full":
        analyze(stored)
    want = Want(START, JOBS, 180)

    def judged(conn: Connection) -> None:
        # A claim locks its node before its runs.
        claims.live_node(conn, node.node.id)
        ids = [one.run_id for one in candidates(conn, want, None)]
        assert len(ids) == 180
        assert work(conn, partial(candidates, conn, want, None)) <= 10 * 180
        assert work(conn, partial(claims.reserve, conn, ids[:80], node.node.id)) <= 10 * 180
        assert work(conn, partial(start, conn, ids, node.node.id, Source.QUEUE)) <= 10 * 180

    stored.do(lambda tx: judged(tx.conn))
    stored.close()


def test_passing_over_the_unknown_runs_would_be_seen(stored: Stored) -> None:
    stored.node(jobs=JOBS)
    fill(stored, groups=1)
    stored.enqueue(job_name="work", group="group-0")

    def judged(conn: Connection) -> None:
        passing = partial(candidates, conn, Want(START, JOBS, 10), None)
        assert work(conn, passing) > (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)

    stored.do(lambda tx: judged(tx.conn))


def test_without_unknown_jobs_nothing_is_looked_for_by_job(stored: Stored) -> None:
    stored.node(jobs=JOBS)
    stored.enqueue(job_name="work")
    assert stored.do(lambda tx: jobs_among_others(tx.conn, JOBS)) is None


@pytest.mark.costly
@pytest.mark.parametrize("state", ["waiting", "stuck"])
def test_what_is_taken_beside_unknown_jobs_is_what_is_taken_alone(stored: Stored, state: str) -> None:
    places = [("work", "b"), ("play", "a"), ("work", "a"), ("play", "b")] * 3
    taken: list[list[int]] = []
    for name in ("alone", "beside"):
        node = stored.node(name, jobs=JOBS)
        enqueued = [
            stored.enqueue(job_name=job, group=group, priority=Priority.HIGH if number % 3 else Priority.LOW).id
            for number, (job, group) in enumerate(places)
        ]
        started = [one.run.id for slots in (1, 3, 20) for one in node.take(slots).started]
        taken.append([enqueued.index(run_id) for run_id in started])
        fill(stored, groups=3, state=state)
    alone, among_others = taken
    assert len(alone) == len(places)
    assert alone == among_others


class Recording(AutocommitConnection):
    """A line that keeps what it sends."""

    sent: list[tuple[str, Mapping[str, Any]]]

    @override
    async def execute(self, statement: str, parameters: Mapping[str, Any]) -> Sequence[TupleRow]:
        self.sent.append((statement, parameters))
        return await super().execute(statement, parameters)


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("analyzed", WHEN)
async def test_neither_does_the_claim_of_the_only_lane(postgres_url: str, analyzed: str) -> None:
    stored, line = Stored(postgres_url), Recording(parse_url(postgres_url))
    line.sent = []
    node = stored.node(jobs=JOBS)
    analyze_before(stored, analyzed)
    fill(stored, groups=500)
    stored.enqueue(job_name="work", group="group-0")
    if analyzed == "full":
        analyze(stored)
    claim, _ = await claim_lane(line, node.claimant, FairnessState(), slots=3)
    assert (claim.served, claim.mixed, claim.started) == (False, True, ())
    ((statement, parameters),) = line.sent
    assert rows_touched_on_autocommit(postgres_url, statement, parameters) <= FEW_ROWS
    await line.close()
    stored.close()


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("analyzed", WHEN)
async def test_a_claim_that_goes_on_does_not_walk_through_what_was_taken(postgres_url: str, analyzed: str) -> None:
    stored, line = Stored(postgres_url), Recording(parse_url(postgres_url))
    node = stored.node(jobs=JOBS)
    analyze_before(stored, analyzed)
    fill(stored, groups=1, job="work")
    if analyzed == "full":
        analyze(stored)
    ids = [run.id for run in stored.rows(tables.run, state="waiting")]
    gone = tables.run.c.id.in_(ids[:-40])
    taken = update(tables.run).where(gone).values(state="cancelled", finished_at=START)
    stored.do(lambda tx: tx.conn.execute(taken))
    pages: list[int] = []
    place = None
    for _ in range(2):
        line.sent = []
        claim, _ = await claim_lane(line, node.claimant, FairnessState(), slots=4, behind=place)
        assert (claim.served, claim.more, len(claim.started)) == (True, True, 4)
        # It takes the next four.
        pages.append(pages_touched_on_autocommit(postgres_url, *line.sent[-1]))
        place = claim.place
    whole, behind = pages
    assert behind < FEW_PAGES < whole
    assert len(stored.rows(tables.run, state="running")) == 4 * 4
    await line.close()
    stored.close()
