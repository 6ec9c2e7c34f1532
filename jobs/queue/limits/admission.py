"""Admit limited runs to a claim: by how many start in a time, and how many run at once.

Rates of groups are a matter of how many of a group are taken. Runs with keys of their own are judged one by one: one
that finds no slot or no token of its key is held back, and let go by the end that makes room: the end of a run with
its key, or the time of the next token. So no claim reads the same blocked runs again and again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, exists, not_, or_, select, text, update

from ...core.admission.caps import Bucket, Rate
from ...core.limits import NEVER, OF_TASKS, OF_THE_JOB, key_of_task, task_of_key
from ...core.model import Priority, Run
from ...core.states import CLAIMABLE
from ...store.db import dialect
from ...store.db.functions import sql_literals
from ...store.db.transaction import Tx, Wake
from ...store.schema.tables import queue_group as g
from ...store.schema.tables import rate_bucket as b
from ...store.schema.tables import run as r
from ...store.statements import jobs, tasks
from ...store.statements.groups import occupied_counts
from ..base import statements
from ..base.shapes import Candidate, HeldRun

AT_MOST = 100
"""Runs of one key that are let go at once."""
KEYS = 500
"""Keys that are looked at in one transaction."""
_CLOCK = text("SELECT clock_timestamp()")
AGAIN: Final = timedelta(seconds=0.5)
"""When to look again at runs that should have been let go, and were locked by somebody at that moment."""


class GroupLimits(NamedTuple):
    """The limits of a group: how many of it run at once, how many start in how long; None = any number.

    ``full_at``: when the bucket of its rate is full again. ``max_wait_low``: see ``Group``.
    """

    max_running: int | None
    rate: Rate | None
    full_at: datetime | None
    max_wait_low: float | None = None


def lock_limits(conn: Connection, groups: Sequence[str]) -> dict[str, GroupLimits]:
    """Return the limits of the groups that have any, locked so that two nodes never fill the same place."""
    statement = (
        select(g.c.name, g.c.max_running, g.c.rate, g.c.rate_full_at, g.c.max_wait_low)
        .where(g.c.name.in_(groups), or_(*(one.is_not(None) for one in (g.c.max_running, g.c.rate, g.c.max_wait_low))))
        .order_by(g.c.name)
        .with_for_update()
    )
    return {
        row.name: GroupLimits(
            row.max_running, None if row.rate is None else Rate.from_json(row.rate), row.rate_full_at, row.max_wait_low
        )
        for row in conn.execute(statement)
    }


def overdue(conn: Connection, ids: Sequence[int], since: datetime) -> set[int]:
    """Return the runs that have been available since then or longer."""
    return set(conn.execute(select(r.c.id).where(r.c.id.in_(ids), r.c.available_at <= since)).scalars())


class BucketName(NamedTuple):
    """A bucket of a job; the key is empty where all its runs share one."""

    job_name: str
    rate_key: str


class LimitedRun(NamedTuple):
    """A run and its limits.

    ``has_place``: it keeps the place of its concurrency key since its first start. ``ours``: nobody else judges
    its keys before the commit.
    """

    id: int
    concurrency_key: str | None
    max_concurrent: int | None
    job_name: str
    rate_key: str | None
    has_place: bool
    ours: bool

    @property
    def bucket(self) -> BucketName | None:
        """The bucket that gives its token; None = it needs none."""
        return None if self.rate_key is None else BucketName(self.job_name, self.rate_key)


@dataclass(slots=True)
class Admission:
    """Admit runs to one claim by their limits; one for each transaction.

    Attributes:
        reserves: Whether runs are only handed to the node ahead of a slot: none that needs a token or has a key is.
        blocked: Jobs whose only bucket is empty, and when it gets its next token: they are left alone until then.
        held_back: How many runs were held back.
        busy: Whether runs were left alone because another node judges their keys at this moment.
        waits: How many seconds runs of low priority may wait, by group; the result of ``capacities``.
        at: When the admitted runs start, if they take tokens; None: when its statement sees that it may.
    """

    tx: Tx
    reserves: bool = False
    blocked: dict[str, datetime] = field(default_factory=dict[str, datetime])
    held_back: int = 0
    busy: bool = False
    waits: Mapping[str, float] = field(default_factory=dict[str, float])
    at: datetime | None = None
    _groups: dict[str, Bucket] = field(default_factory=dict[str, Bucket])
    _buckets: dict[BucketName, Bucket] = field(default_factory=dict[BucketName, Bucket])
    _awaited: set[BucketName] = field(default_factory=set[BucketName])
    _settled: set[BucketName] = field(default_factory=set[BucketName])

    def capacities(self, groups: Sequence[str]) -> dict[str, int]:
        """Return how many runs may start now in each of ``groups`` that has a limit. Locks these groups' rows."""
        self.at, self._groups, self._buckets, self._awaited = None, {}, {}, set()
        self.waits = {}
        limits = lock_limits(self.tx.conn, groups) if groups else {}
        if not limits:
            return {}
        counted = [name for name, one in limits.items() if one.max_running is not None]
        used = occupied_counts(self.tx.conn, counted) if counted else {}
        self.waits = {name: one.max_wait_low for name, one in limits.items() if one.max_wait_low is not None}
        return {name: min(self._free(one, used.get(name, 0)), self._tokens(name, one)) for name, one in limits.items()}

    def unblocked(self, jobs: tuple[str, ...]) -> tuple[str, ...]:
        """Return ``jobs`` without those whose only bucket is empty."""
        return tuple(one for one in jobs if one not in self.blocked) if self.blocked else jobs

    def reservable(self, found: list[Candidate]) -> list[Candidate]:
        """Return ``found`` without runs that cannot be reserved, if this claim reserves."""
        return [one for one in found if not one.keyed] if self.reserves else found

    def aged(self, found: list[Candidate]) -> list[Candidate]:
        """Return ``found``, marking runs that have waited longer than their group lets runs of low priority wait."""
        late = set[int]()
        for group, seconds in self.waits.items():
            low = [one.run_id for one in found if one.group == group and one.priority is Priority.LOW and not one.stuck]
            if low:
                late |= overdue(self.tx.conn, low, self.tx.now - timedelta(seconds=seconds))
        return [one._replace(overdue=True) if one.run_id in late else one for one in found] if late else found

    def admit(self, ids: Sequence[int], behind: Sequence[int] = ()) -> set[int]:
        """Return the runs that may start, in their order; the others are held back or left alone.

        Args:
            ids: The runs, each of which has a key.
            behind: Further ones, of which none is to start: those that would find no slot or token are held back, too.
        """
        runs = limited_runs(self.tx.conn, [*ids, *behind])
        ours = [run for run in runs if run.ours]
        self.busy = self.busy or len(ours) < len(runs)
        keys = sorted({run.concurrency_key for run in ours if run.concurrency_key is not None})
        running = running_of_keys(self.tx.conn, keys) if keys else Counter[str]()
        self._read_buckets(ours)
        left = {name: bucket.tokens(self._moment()) for name, bucket in self._buckets.items()}
        wanted, admitted, held = set(ids), set[int](), list[int]()
        for run in ours:
            key, bucket = None if run.has_place else run.concurrency_key, run.bucket
            if key is not None and running[key] >= (run.max_concurrent or 1):
                held.append(run.id)
            elif bucket is not None and left.get(bucket, 1) == 0:
                if bucket.rate_key != OF_THE_JOB:
                    self._awaited.add(bucket)
                    held.append(run.id)
            elif run.id in wanted:
                admitted.add(run.id)
                running[key or ""] += 1
                if bucket is not None and bucket in left:
                    left[bucket] -= 1
        if held:
            self.held_back += len(held)
            hold_back(self.tx.conn, held)
        return admitted

    def started(self, runs: Collection[Run | HeldRun]) -> None:
        """Take the tokens of runs that have started; no other node can have taken them since ``admit``."""
        if self._groups:
            taken = Counter(run.group for run in runs)
            for name, bucket in self._groups.items():
                store_group(self.tx.conn, name, bucket.take(taken[name], self._moment()), self._moment())
        if self._buckets:
            used = Counter(BucketName(run.job_name, run.rate_key) for run in runs if run.rate_key is not None)
            for bucket_name, before in self._buckets.items():
                self._store(bucket_name, before, used[bucket_name])

    def _store(self, name: BucketName, before: Bucket, used: int) -> None:
        now = self._moment()
        after = before.take(used, now) if used else before
        due = now if after.tokens(now) else after.look_at(now)
        if name.rate_key == OF_THE_JOB and due > now:
            self.blocked[name.job_name] = due
        if used or name in self._awaited or name in self._settled:
            store_bucket(self.tx.conn, name, after.full_at or now, max(due, now) if name in self._awaited else None)

    def _free(self, limits: GroupLimits, used: int) -> int:
        return 2**31 if limits.max_running is None else max(0, limits.max_running - used)

    def _tokens(self, name: str, limits: GroupLimits) -> int:
        if limits.rate is None or self.reserves:
            return 2**31 if limits.rate is None else 0
        now = self._moment()
        bucket = Bucket(limits.rate, limits.full_at).settled(now)
        tokens = bucket.tokens(now)
        if tokens:
            self._groups[name] = bucket
        else:
            # So that the next looks leave the group alone until then.
            store_group(self.tx.conn, name, bucket, now)
        return tokens

    def _moment(self) -> datetime:
        """Return the time by which tokens are counted, once their buckets are locked: the runs start at that time."""
        at = self.at
        if at is None:
            now: datetime = self.tx.own_now or self.tx.conn.execute(_CLOCK).scalar_one()
            self.at = at = now
        return at

    def _read_buckets(self, runs: Iterable[LimitedRun]) -> None:
        wanted = {BucketName(run.job_name, run.rate_key) for run in runs if run.rate_key is not None}
        found = buckets(self.tx.conn, wanted) if wanted else {}
        self._buckets = {name: bucket.settled(self._moment()) for name, bucket in found.items()}
        self._settled = {name for name, bucket in found.items() if bucket != self._buckets[name]}


def limited_runs(conn: Connection, ids: Sequence[int]) -> list[LimitedRun]:
    """Return the limits of these runs, in their order; on PostgreSQL their keys are locked until the commit."""
    rows = statements.execute(conn, "limited_runs", {"ids": list(ids)})
    return [LimitedRun._make(row) for row in rows]


def running_of_keys(conn: Connection, keys: Sequence[str]) -> Counter[str]:
    """Return how many runs have a place, by concurrency key."""
    return Counter({row.key: row.running for row in statements.execute(conn, "running_of_keys", {"keys": list(keys)})})


def hold_back(conn: Connection, ids: Sequence[int]) -> None:
    """Hide these runs from claims until they are let go."""
    never = NEVER if dialect.is_postgresql(conn) else dialect.time_text(NEVER)
    statements.execute(conn, "hold_back", {"ids": list(ids), "never": never})


def buckets(conn: Connection, wanted: Collection[BucketName], *, lock: bool = False) -> dict[BucketName, Bucket]:
    """Return these buckets, without those whose job no longer declares a rate.

    Args:
        lock: Whether to lock their rows until the commit; a claim has locked their names.
    """
    rates = rates_of(conn, wanted)
    limited = sorted(rates)
    if not limited:
        return {}
    these = or_(*(and_(b.c.job_name == name.job_name, b.c.rate_key == name.rate_key) for name in limited))
    found = select(b.c.job_name, b.c.rate_key, b.c.full_at).where(these).order_by(b.c.job_name, b.c.rate_key)
    rows = conn.execute(found.with_for_update() if lock else found)
    full_at = {BucketName(row.job_name, row.rate_key): row.full_at for row in rows}
    return {name: Bucket(rates[name], full_at.get(name)) for name in limited}


def rates_of(conn: Connection, wanted: Collection[BucketName]) -> dict[BucketName, Rate]:
    """Return the rates of those of these buckets whose job or task still says one."""
    of_tasks = {name: task_id for name in wanted if (task_id := task_of_key(name.rate_key)) is not None}
    stored = tasks.rates_of(conn, of_tasks.values()) if of_tasks else {}
    found = {name: stored[task_id] for name, task_id in of_tasks.items() if task_id in stored}
    of_jobs = [name for name in wanted if name not in of_tasks]
    rates = jobs.rates_of(conn, {name.job_name for name in of_jobs}) if of_jobs else {}
    return found | {name: rates[name.job_name] for name in of_jobs if name.job_name in rates}


def change_task_rate(tx: Tx, task_id: int, rate: Rate | None) -> None:
    """Change the rate of a task's bucket, and look now at the runs that wait for its tokens."""
    mine = select(b).where(b.c.rate_key == key_of_task(task_id)).order_by(b.c.job_name).with_for_update()
    for row in tx.conn.execute(mine).all():
        full_at = row.full_at if rate is None else Bucket(rate, row.full_at).settled(tx.now).full_at
        values = {"full_at": full_at, "next_token_at": None if row.next_token_at is None else tx.now}
        this = and_(b.c.job_name == row.job_name, b.c.rate_key == row.rate_key)
        tx.conn.execute(update(b).where(this).values(**values))
    tx.wake(Wake.RUNS)


def change_job_rate(tx: Tx, job_name: str, rate: Rate) -> None:
    """Change the rate of a job's buckets, and look now at the runs that wait for their tokens."""
    latest = Bucket(rate).take(rate.burst, tx.now).full_at
    mine = and_(b.c.job_name == job_name, not_(b.c.rate_key.startswith(OF_TASKS, autoescape=True)))
    # In the order in which claims lock them.
    tx.conn.execute(select(b.c.rate_key).where(mine).order_by(b.c.rate_key).with_for_update()).all()
    tx.conn.execute(update(b).where(mine, b.c.full_at > latest).values(full_at=latest))
    tx.conn.execute(update(b).where(mine, b.c.next_token_at.is_not(None)).values(next_token_at=tx.now))
    tx.wake(Wake.RUNS)


def store_bucket(conn: Connection, name: BucketName, full_at: datetime, look_at: datetime | None) -> None:
    """Store the tokens left in a bucket; ``look_at``: when to look who waits for its token; None = as it was."""
    row = {**name._asdict(), "full_at": full_at, "next_token_at": look_at}
    changed = ["full_at"] if look_at is None else ["full_at", "next_token_at"]
    conn.execute(dialect.upsert(conn, b, ["job_name", "rate_key"], changed), row)


def store_group(conn: Connection, name: str, bucket: Bucket, now: datetime) -> None:
    """Store the tokens left in the bucket of a group, and when it has a token again if it has none."""
    look_at = None if bucket.tokens(now) else bucket.look_at(now)
    values = {"rate_full_at": bucket.full_at, "next_token_at": look_at}
    conn.execute(update(g).where(g.c.name == name).values(**values))


def let_go(tx: Tx, keys: Collection[str]) -> int:
    """Let go the runs that wait for free slots of these concurrency keys; return how many."""
    if not keys:
        return 0
    chosen = sorted(keys)
    lock_keys(tx.conn, chosen)
    return let_go_by_slots(tx.conn, chosen)


def free_places(tx: Tx, ended: Iterable[Run]) -> None:
    """Wake nodes to let go runs that wait for places kept by runs without a node, as these have ended.

    A transaction of an application may end them and stay open, so it must not lock their keys: ends wait for these.
    """
    if any(run.keeps_place and run.attempt for run in ended):
        tx.wake(Wake.PLACES)


def lock_keys(conn: Connection, keys: Sequence[str]) -> None:
    """Wait until nobody else judges these keys; SQLite has one writer."""
    if dialect.is_postgresql(conn):
        statements.execute(conn, "lock_keys", {"keys": list(keys)})


def let_go_by_slots(conn: Connection, keys: Sequence[str]) -> int:
    """Let go the first runs that wait for these keys, as many as there are slots; return how many."""
    name = "let_go_by_slots"
    if dialect.is_postgresql(conn):
        return len(statements.execute(conn, name, slots_of(keys)).all())
    return sum(len(statements.execute(conn, name, {"key": key, "at_most": AT_MOST}).all()) for key in keys)


def slots_of(keys: Collection[str]) -> dict[str, Any]:
    """Return the parameters of ``let_go_by_slots`` on PostgreSQL, whose keys are locked before."""
    return {"keys": list(keys), "at_most": AT_MOST}


def let_go_by_tokens(conn: Connection, bucket: BucketName, at_most: int) -> int:
    """Let go the first runs that wait for a token of a bucket; return how many."""
    return len(statements.execute(conn, "let_go_by_tokens", {**bucket._asdict(), "at_most": at_most}).all())


def held_keys(conn: Connection, after: str, at_most: int) -> list[str]:
    """Concurrency keys that runs wait for, those behind ``after``, in their order."""
    return [row.key for row in statements.execute(conn, "held_keys", {"after": after, "at_most": at_most})]


def give_back(tx: Tx, runs: Sequence[Run | HeldRun]) -> None:
    """Put back the tokens of runs that were given back to the queue before they did anything."""
    for name, count in sorted(Counter(run.group for run in runs).items()):
        row = tx.conn.execute(select(g).where(g.c.name == name, g.c.rate.is_not(None)).with_for_update()).first()
        if row is not None:
            bucket = Bucket(Rate.from_json(row.rate), row.rate_full_at).settled(tx.now).give_back(count, tx.now)
            store_group(tx.conn, name, bucket, tx.now)
    used = Counter(BucketName(run.job_name, run.rate_key) for run in runs if run.rate_key is not None)
    for bucket_name, before in (buckets(tx.conn, used, lock=True) if used else {}).items():
        bucket = before.settled(tx.now).give_back(used[bucket_name], tx.now)
        store_bucket(tx.conn, bucket_name, bucket.full_at or tx.now, tx.now)


_ANYTHING_HELD: Final = select(
    or_(
        exists().where(
            r.c.due_at.is_not(None), r.c.concurrency_key.is_not(None), r.c.state.in_(sql_literals(CLAIMABLE))
        ),
        exists().where(r.c.due_at.is_not(None), r.c.rate_key.is_not(None), r.c.state.in_(sql_literals(CLAIMABLE))),
        exists().where(b.c.next_token_at.is_not(None)),
    )
)


def is_anything_held(conn: Connection) -> bool:
    """Return whether any run waits for a slot or a token of its key."""
    return bool(conn.execute(_ANYTHING_HELD).scalar_one())


def look_for_tokens(tx: Tx) -> datetime | None:
    """Let go the runs whose tokens have come; return when the next token comes, None = no run waits for one."""
    due = select(b).where(b.c.next_token_at <= tx.now).order_by(b.c.next_token_at).limit(KEYS)
    found = tx.conn.execute(due.with_for_update(skip_locked=True)).all()
    names = [BucketName(row.job_name, row.rate_key) for row in found]
    known = buckets(tx.conn, names) if names else {}
    if sum(_let_go_of(tx, name, known.get(name)) for name in names):
        tx.wake(Wake.RUNS)
    pending = select(b.c.next_token_at).where(b.c.next_token_at.is_not(None)).order_by(b.c.next_token_at).limit(1)
    at: datetime | None = tx.conn.execute(pending).scalar()
    return at


def _let_go_of(tx: Tx, name: BucketName, bucket: Bucket | None) -> int:
    """Let go as many runs as a bucket has tokens, and set when to look again; return how many."""
    if bucket is not None:
        bucket = bucket.settled(tx.now)
    # A job that says no rate any more keeps nobody waiting.
    tokens = AT_MOST if bucket is None else min(AT_MOST, bucket.tokens(tx.now))
    gone = let_go_by_tokens(tx.conn, name, tokens) if tokens else 0
    look_at = None
    if bucket is None:
        look_at = tx.now if gone == AT_MOST else None
    elif gone or not tokens:
        # What was let go takes its token when it starts. Until then the next one is looked for a token later.
        rest = bucket.take(gone, tx.now)
        look_at = rest.due(tx.now) if rest.tokens(tx.now) else rest.look_at(tx.now)
    if look_at is None and _is_awaited(tx.conn, name):
        look_at = tx.now + AGAIN
    values = {"next_token_at": look_at, "full_at": (None if bucket is None else bucket.full_at) or tx.now}
    these = and_(b.c.job_name == name.job_name, b.c.rate_key == name.rate_key)
    tx.conn.execute(update(b).where(these).values(**values))
    return gone


def _is_awaited(conn: Connection, name: BucketName) -> bool:
    held = (r.c.due_at.is_not(None), r.c.rate_key.is_not(None), r.c.state.in_(sql_literals(CLAIMABLE)))
    these = exists().where(r.c.job_name == name.job_name, r.c.rate_key == name.rate_key, *held)
    return bool(conn.execute(select(these)).scalar_one())


def look_for_forgotten(tx: Tx, after: BucketName, *, at_most: int = KEYS) -> BucketName:
    """Look at buckets that runs wait for and nobody looks at; return where to go on, an empty name = at the beginning.

    There are none, unless somebody has set the clock of the database or changed its rows by hand.

    Args:
        after: The bucket at which the last look ended.
        at_most: How many buckets.
    """
    asked = {**after._asdict(), "at_most": at_most}
    names = [BucketName(row.job_name, row.rate_key) for row in statements.execute(tx.conn, "held_buckets", asked)]
    if not names:
        return BucketName("", "")
    these = or_(*(and_(b.c.job_name == name.job_name, b.c.rate_key == name.rate_key) for name in names))
    rows = tx.conn.execute(select(b.c.job_name, b.c.rate_key).where(these, b.c.next_token_at.is_not(None)))
    for name in sorted(set(names) - {BucketName(row.job_name, row.rate_key) for row in rows}):
        row = {**name._asdict(), "full_at": tx.now, "next_token_at": tx.now}
        tx.conn.execute(dialect.upsert(tx.conn, b, ["job_name", "rate_key"], ["next_token_at"]), row)
    return names[-1] if len(names) == at_most else BucketName("", "")


def look_for_slots(tx: Tx, after: str, *, at_most: int = KEYS) -> str:
    """Let go the runs that wait for a slot that is free; return where to go on, "" = at the beginning.

    An end that frees a slot lets the next run go. That one may never start: it is cancelled, or its group is paused.
    So all keys are looked at from time to time, some at each look.

    Args:
        after: The key at which the last look ended.
        at_most: How many keys.
    """
    keys = held_keys(tx.conn, after, at_most)
    if let_go(tx, keys):
        tx.wake(Wake.RUNS)
    return keys[-1] if len(keys) == at_most else ""
