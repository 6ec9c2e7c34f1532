"""Addresses that nobody guesses, for programs without an account: pings, badges and calendars."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import Connection, delete, exists, func, insert, select

from ..accounts.actions.accounts import fresh_secret
from ..accounts.rules.credentials import Prefix, stored_form
from ..actions.idempotent import acting
from ..actions.runs import check_job_args, put_new
from ..actions.tasks import create_task
from ..actions.tasks import locked as locked_task
from ..builtin.foreign_job import FOREIGN_JOB, SIGNAL, Ping, PingKind
from ..core.actor import Actor, Role
from ..core.base.errors import InvalidInput, InvalidState, NotFound
from ..core.defaults import FROM_ARGUMENTS
from ..core.model import OverlapPolicy, ScheduleSpec, Task, TaskSpec, Trigger
from ..core.occurrences import planned
from ..core.rules import unknown
from ..core.schedule import Syntax
from ..core.states import RunState
from ..core.waits import Signal
from ..queue import waits
from ..queue.occurrences import new_run
from ..store.db.dialect import database_now
from ..store.db.transaction import Clock, Tx
from ..store.schema.delivery import public_address as p
from ..store.schema.rows import reader_of
from ..store.schema.tables import IS_OPEN, run, run_signal, run_step
from ..store.statements.figures import statistics as stored_statistics
from ..store.statements.listing.keyset import OrderKey
from ..store.statements.listing.listing import Listing, columns
from ..store.statements.tasks import by_name

MAX_ADDRESSES: Final = 10_000
PINGS_A_MINUTE: Final = 10
"""Pings of one task within a minute that are taken."""
EARLY: Final = timedelta(minutes=1)
"""Time by which the end of a program may come before the occurrence that it is of: clocks differ."""
NEWEST: Final = 20
"""Runs of a task among which the run of a ping is looked for."""


class AddressKind(StrEnum):
    """The use of an address."""

    PING = "ping"
    BADGE = "badge"
    CALENDAR = "calendar"


@dataclass(frozen=True, slots=True)
class Address:
    """An address without the part that nobody guesses.

    Attributes:
        task_name: The task; None = every task.
    """

    id: int
    kind: AddressKind
    task_name: str | None
    created_at: datetime
    created_by: str


address_from = reader_of(Address, {"kind": AddressKind})
ADDRESSES: Final[Listing[Address]] = Listing(
    name="addresses",
    rows=select(p),
    key=p.c.id,
    fields=columns(p, "id kind task_name created_at"),
    order=(OrderKey("id", descending=True),),
    model=address_from,
)


def find(conn: Connection, kind: AddressKind, token: str) -> Address | None:
    """Return the address of a kind with this token."""
    row = conn.execute(select(p).where(p.c.token_hash == stored_form(token), p.c.kind == kind.value)).one_or_none()
    return None if row is None else address_from(row)


def _insert(conn: Connection, token: str, address: Address) -> Address:
    values = {"kind": address.kind.value, "task_name": address.task_name, "created_at": address.created_at}
    statement = insert(p).values(**values, token_hash=stored_form(token), created_by=address.created_by)
    return address_from(conn.execute(statement.returning(p)).one())


def _count(conn: Connection) -> int:
    return conn.execute(select(func.count()).select_from(p)).scalar_one()


def _delete(conn: Connection, address_id: int) -> Address | None:
    row = conn.execute(delete(p).where(p.c.id == address_id).returning(p)).one_or_none()
    return None if row is None else address_from(row)


def fresh_token(kind: AddressKind, task_name: str | None) -> str:
    """Return the part of a new address that nobody guesses; for pings of one task a UUID, as clients want it."""
    return str(uuid4()) if kind is AddressKind.PING and task_name is not None else fresh_secret(Prefix.ADDRESS)


def path_of(address: Address, token: str) -> str:
    """Return the path of an address."""
    return f"/{address.kind.value}/{token}" + {AddressKind.BADGE: ".svg", AddressKind.CALENDAR: ".ics"}.get(
        address.kind, ""
    )


def create_address(tx: Tx, kind: AddressKind, task_name: str | None, token: str) -> Address:
    """Keep a new address.

    Raises:
        NotFound: there is no such task.
        InvalidInput: a badge needs a task, and pings one of the job ``foreign_job``.
        InvalidState: there are too many addresses.
    """
    task = None if task_name is None else by_name(tx.conn, task_name)
    if task_name is not None and task is None:
        raise unknown("task", task_name, [], field="taskName")
    if task is None and kind is AddressKind.BADGE:
        raise InvalidInput("taskName: a badge is of one task, got none", path=("taskName",))
    if kind is AddressKind.PING and task is not None and task.spec.job_name != FOREIGN_JOB:
        raise InvalidInput(
            f"taskName: only tasks of the job '{FOREIGN_JOB}' take pings, and '{task_name}' is of the job "
            f"'{task.spec.job_name}'",
            path=("taskName",),
        )
    if _count(tx.conn) >= MAX_ADDRESSES:
        raise InvalidState(f"there are {MAX_ADDRESSES:,} addresses, the most there may be; delete one first")
    made = _insert(tx.conn, token, Address(0, kind, task_name, tx.now, tx.by))
    tx.record("address.created", str(made.id), after={"kind": kind.value, "task": task_name})
    return made


def delete_address(tx: Tx, address_id: int) -> Address:
    """Delete an address; nobody is known by it from then on.

    Raises:
        NotFound: there is none.
    """
    gone = _delete(tx.conn, address_id)
    if gone is None:
        raise NotFound(f"id: there is no address {address_id}", path=("id",))
    tx.record("address.deleted", str(address_id), before={"kind": gone.kind.value, "task": gone.task_name})
    return gone


class Pinged(StrEnum):
    """The fate of a ping."""

    TAKEN = "taken"
    CREATED = "created"
    NOT_FOUND = "not_found"
    LIMITED = "limited"
    OVERLAPS = "overlaps"


@dataclass(frozen=True, slots=True)
class AskedPing:
    """A ping as it came.

    Attributes:
        slug: The name of the task, if the token is of every task.
        at: The time of a ping that could not be sent at once; None = now.
        creates: Whether a task is created that does not exist.
        exclusive: Whether a start is refused while another run of a task with the overlap policy SKIP has started.
    """

    token: str
    slug: str | None
    kind: PingKind
    code: int | None = None
    rid: UUID | None = None
    body: str = ""
    sender: str | None = None
    at: datetime | None = None
    creates: bool = False
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class PingAnswer:
    """The answer to a ping, with the run that got it and the seconds that the program may take."""

    outcome: Pinged
    run_id: int | None = None
    timeout: float | None = None


def ping(tx: Tx, asked: AskedPing) -> PingAnswer:
    """Hand a ping to the run of its task that waits for it, or to a new one.

    Raises:
        UserError: a task cannot be created, or no node has the job ``foreign_job`` yet.
    """
    address = find(tx.conn, AddressKind.PING, asked.token)
    if address is None or (address.task_name is None) is (asked.slug is None):
        return PingAnswer(Pinged.NOT_FOUND)
    actor = Actor("ping", Role.OPERATOR, address=asked.sender, full_rights=False)
    return acting(tx, actor, _ping, address.task_name or asked.slug or "", asked)


def _ping(tx: Tx, name: str, asked: AskedPing) -> PingAnswer:
    task, outcome = by_name(tx.conn, name), Pinged.TAKEN
    if task is None and asked.creates:
        schedule = ScheduleSpec(Syntax.INTERVAL, "1d")
        spec = TaskSpec(name, FOREIGN_JOB, schedule, retries=0, overlap=OverlapPolicy.ALLOW)
        task, outcome = create_task(tx, spec, submitter="ping"), Pinged.CREATED
    if task is None or task.spec.job_name != FOREIGN_JOB:
        return PingAnswer(Pinged.NOT_FOUND)
    task = locked_task(tx, name)
    seen = _seen(tx.conn, task.id)
    recent = sum(at > tx.now - timedelta(minutes=1) for pings in seen.values() for _, _, at in pings)
    if recent >= PINGS_A_MINUTE:
        return PingAnswer(Pinged.LIMITED)
    rid = None if asked.rid is None else str(asked.rid)
    taken = [run_id for run_id, pings in seen.items() if run_id and any(kind == "start" for kind, _, _ in pings)]
    if asked.exclusive and asked.kind == "start" and taken and task.spec.overlap is OverlapPolicy.SKIP:
        return PingAnswer(Pinged.OVERLAPS, taken[0])
    run_id = _chosen(seen, taken, asked.kind, rid) or _new(tx, task, asked.kind)
    at = tx.now if asked.at is None else min(asked.at, tx.now)
    sent = Ping(kind=asked.kind, at=at, code=asked.code, rid=rid, body=asked.body, sender=asked.sender)
    found = waits.addressed(tx, SIGNAL, run_id=run_id)
    if found is None:
        raise NotFound(f"run {run_id} is gone")
    waits.send(tx, found.run, Signal(SIGNAL, sent.model_dump(mode="json"), None, "ping", Role.OPERATOR))
    limit = task.spec.args.get("longest") or task.spec.args.get("grace")
    return PingAnswer(outcome, run_id, None if limit is None else float(limit))


_Seen = dict[int, list[tuple[str, str | None, datetime]]]


def _seen(conn: Connection, task_id: int) -> _Seen:
    """Return the pings of the newest runs of a task, by run, the oldest first; runs that got their end are left out.

    Their pings count under 0, for the number of pings within a minute.
    """
    newest = select(run.c.id, IS_OPEN.label("open")).where(run.c.task_id == task_id)
    runs = {row.id: row.open for row in conn.execute(newest.order_by(run.c.id.desc()).limit(NEWEST))}
    found: _Seen = {run_id: [] for run_id in sorted(runs) if runs[run_id]}
    over: list[tuple[str, str | None, datetime]] = []
    for run_id, payload, at in sorted(_pings(conn, list(runs)), key=lambda one: one[2]):
        one = (str(payload["kind"]), payload["rid"], at)
        if run_id in found and one[0] not in {"success", "fail"}:
            found[run_id].append(one)
        else:
            over += [*found.pop(run_id, []), one]
    return {**found, 0: over} if over else found


def _pings(conn: Connection, run_ids: list[int]) -> Iterator[tuple[int, Any, datetime]]:
    """Yield the pings of runs: those that they have taken, and those that lie in their boxes."""
    g, s = run_signal.c, run_step.c
    boxed = select(g.run_id, g.payload, g.sent_at).where(g.run_id.in_(run_ids), g.name == SIGNAL)
    done = s.run_id.in_(run_ids), s.signal == SIGNAL, s.state == "done"
    for statement in (boxed, select(s.run_id, s.value, s.finished_at).where(*done)):
        yield from (tuple(row) for row in conn.execute(statement))


def _chosen(seen: _Seen, started: list[int], kind: PingKind, rid: str | None) -> int | None:
    """Return the run that a ping is for; None = a new one."""
    open_runs = [run_id for run_id in seen if run_id]
    if rid is not None:
        mine = [run_id for run_id in open_runs if any(one[1] == rid for one in seen[run_id])]
        fresh = [run_id for run_id in open_runs if not seen[run_id]]
        return next(iter(mine or fresh), None)
    waiting = [run_id for run_id in open_runs if run_id not in started]
    preferred = waiting or open_runs if kind == "start" else [one for one in open_runs if one in started] or waiting
    return next(iter(preferred), None)


def _new(tx: Tx, task: Task, kind: PingKind) -> int:
    """Make a run for a ping that none waits for; it is of the next occurrence if the ping comes a little early."""
    signature = check_job_args(tx, task.spec.job_name, task.spec.args).signature
    made = replace(new_run(task, Trigger.HOOK), signature=signature, inherits=FROM_ARGUMENTS, submitter="ping")
    due = task.next_nominal
    if (
        kind != "log"
        and task.spec.enabled
        and due is not None
        and due - EARLY <= tx.now
        and not _exists(tx.conn, task.id, due)
    ):
        # The dispatcher makes no second run of an occurrence.
        made = replace(made, trigger=Trigger.SCHEDULE, scheduled_for=due)
    return put_new(tx, made, f"task '{task.name}'").id


class Badge(StrEnum):
    """The state of a task, as its badge shows it."""

    OK = "ok"
    FAILED = "failed"
    PAUSED = "paused"
    NEW = "new"


def badge(conn: Connection, token: str) -> tuple[str, Badge] | None:
    """Return the name and the state of the task behind an address; None if there is none."""
    address = find(conn, AddressKind.BADGE, token)
    task = None if address is None or address.task_name is None else by_name(conn, address.task_name)
    if task is None:
        return None
    if task.paused:
        return task.name, Badge.PAUSED
    last = _last_outcome(conn, task.id)
    return task.name, Badge.NEW if last is None else Badge.OK if last is RunState.SUCCESS else Badge.FAILED


def _last_outcome(conn: Connection, task_id: int) -> RunState | None:
    """Return the state of the newest run of a task that has succeeded or failed."""
    judged = run.c.state.in_([RunState.SUCCESS.value, RunState.FAILED.value])
    statement = select(run.c.state).where(run.c.task_id == task_id, judged).order_by(run.c.id.desc()).limit(1)
    found = conn.execute(statement).scalar_one_or_none()
    return None if found is None else RunState(found)


AHEAD: Final = timedelta(days=30)
APART: Final = timedelta(hours=1)
"""Occurrences of one task in a calendar are at least so far apart."""
MOST_IN_CALENDAR: Final = 1_000
MOST_TASKS: Final = 500


class Coming(NamedTuple):
    """The coming occurrences of a calendar, with their tasks."""

    now: datetime
    occurrences: list[tuple[Task, datetime]]


def coming(conn: Connection, token: str, clock: Clock | None) -> Coming | None:
    """Return the occurrences that an address shows; None if there is no such address."""
    address = find(conn, AddressKind.CALENDAR, token)
    if address is None:
        return None
    now = database_now(conn) if clock is None else clock()
    if address.task_name is None:
        found = stored_statistics.planned(conn, now, now + AHEAD, MOST_TASKS, MOST_TASKS)
        tasks = {one.id: one for one in found if isinstance(one, Task)}
    else:
        task = by_name(conn, address.task_name)
        tasks = {task.id: task} if task is not None and task.spec.enabled else {}
    ahead = islice(planned(tasks.values(), now, now + AHEAD, APART), MOST_IN_CALENDAR)
    return Coming(now, [(tasks[one.task_id], one.effective_at) for one in ahead])


def _exists(conn: Connection, task_id: int, scheduled_for: datetime) -> bool:
    mine = run.c.task_id == task_id, run.c.scheduled_for == scheduled_for, run.c.trigger == Trigger.SCHEDULE.value
    return bool(conn.execute(select(exists().where(*mine))).scalar_one())
