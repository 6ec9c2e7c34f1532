"""Enqueue runs for clients, change and cancel them: each a part of one transaction, or one statement by itself."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy.exc import IntegrityError

from ..core.actor import Record, argument_names
from ..core.admission.holding import expiry_faults, expiry_of
from ..core.arguments.judging import KnownCode, argument_faults
from ..core.base.errors import InvalidInput, InvalidState, Overlap, UserError, refuse
from ..core.base.resources import CARRIED
from ..core.base.times import check_time, time_text
from ..core.base.tracing import TRACED
from ..core.defaults import FOLLOWED, PER_RUN, UNIQUE_KEY, run_of_job, settle
from ..core.flows import references, unknown_in
from ..core.limits import Keys
from ..core.model import Enqueued, Json, NewRun, Priority, Run, Trigger
from ..core.rules import check_reason, new_run_faults, resource_place_faults, unknown, unknown_job
from ..core.states import CLAIMABLE, RunState
from ..queue.base import runs as run_store
from ..queue.base.changes import run_change
from ..queue.base.new_runs import WAKES, Audited, NewRuns, by_driver, insert_by
from ..queue.base.shapes import HeldRun
from ..queue.cancel import cancel_all
from ..queue.enqueue import enqueue
from ..queue.flows.new_flows import forget_uses
from ..queue.group_commit import LoopGroupCommit
from ..store.db.database import Database
from ..store.db.transaction import Tx, Wake
from ..store.schema.rows import defaults_document
from ..store.statements import jobs, tasks
from ..store.statements import nodes as stored_nodes
from ..store.statements import runs as stored_runs
from ..store.statements.jobs import Schema
from .idempotent import account_of, check_submitter, may_submit

REMEMBERED: Final = 1000
"""Jobs whose schemas are kept at most."""
_GROUP: Final = "group commit of requested runs"


def published(tx: Tx, names: Collection[str]) -> dict[str, Schema]:
    """Return the schemas of these jobs as nodes have published them, and learn the time with them."""
    schemas, now = jobs.schemas(tx.conn, names)
    tx.learn_now(now)
    if any(schema.others for schema in schemas.values()):
        schemas = _executable(tx, schemas)
    return {name: with_judge(name, schema, tx.known_code) for name, schema in schemas.items()}


def _executable(tx: Tx, schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the same without versions that no node takes runs of; the newest one stays where no other is left."""
    nodes = stored_nodes.taking(tx.conn, tx.now)
    found: dict[str, Schema] = {}
    for name, schema in schemas.items():
        taken = {one.signatures.get(name) for one in nodes}
        all_of_it = (schema._replace(others=()), *schema.others)
        first, *others = [one for one in all_of_it if one.signature in taken] or all_of_it[:1]
        found[name] = first._replace(others=tuple(others))
    return found


def with_judge(name: str, schema: Schema, known_code: KnownCode) -> Schema:
    """Return the schema with the job's own code, if this process has it in that version."""
    others = tuple(with_judge(name, one, known_code) for one in schema.others)
    return schema._replace(judge=known_code(name, schema.signature), others=others)


def check_job_args(tx: Tx, job_name: str, args: Mapping[str, Json]) -> Schema:
    """Check that some node has published the job and that the arguments fit its schema; return that version's schema.

    Raises:
        UserError: code ``UNKNOWN_JOB`` or ``INVALID_ARGS``.
    """
    schemas = published(tx, {job_name})
    refuse(job_faults(schemas, job_name, args))
    return version_for(schemas[job_name], job_name, args)


def job_faults(schemas: Mapping[str, Schema], job_name: str, args: Mapping[str, Json]) -> Iterator[UserError]:
    """Yield the faults of a job's name and arguments, by the schemas that nodes have published.

    Where this process has the code of that version, the code judges arguments that fit the schema, as the start of the
    run will. If nodes have several versions, arguments that one of them takes are right.
    """
    if job_name not in schemas:
        yield unknown_job(job_name, list(schemas))
        return
    schema = schemas[job_name]
    faults = _faults(schema, job_name, args)
    if not (faults and any(not _faults(one, job_name, args) for one in schema.others)):
        yield from faults


def version_for(schema: Schema, job_name: str, args: Mapping[str, Json]) -> Schema:
    """Return the version of a job that takes these arguments: the newest one, unless only another does."""
    if not schema.others:
        return schema
    return next((one for one in (schema, *schema.others) if not _faults(one, job_name, args)), schema)


def _faults(schema: Schema, job_name: str, args: Mapping[str, Json]) -> Sequence[UserError]:
    faults: Sequence[UserError] = argument_faults(job_name, schema.args_schema, args)
    return schema.judge(args) if not faults and schema.judge is not None else faults


def request_faults(run: NewRun, schemas: Mapping[str, Schema], *, in_flow: bool = False) -> Iterator[UserError]:
    """Find the faults of a requested run: its settings, its job, its arguments, labels made of these.

    Args:
        schemas: The published form of its job.
        in_flow: Whether its arguments may take results; these are not known yet, and are judged when it starts.
    """
    yield from new_run_faults(run)
    unknown = references(run.args) if in_flow else {}
    faults = [fault for fault in job_faults(schemas, run.job_name, run.args) if not _concerns(fault, unknown)]
    yield from faults
    if faults or run.job_name not in schemas:
        return
    resources = (run.carried or {}).get(CARRIED)
    yield from resource_place_faults(resources, run.job_name, schemas[run.job_name].isolation)
    rule = version_for(schemas[run.job_name], run.job_name, run.args).defaults.labels
    if rule is not None:
        yield from rule.faults(run.args, run.labels, {place[0] for place in unknown})


def _concerns(fault: UserError, unknown: Collection[tuple[str, ...]]) -> bool:
    place = fault.path[1:] if fault.path[:1] == ("args",) else ()
    return bool(place) and any(one[: len(place)] == place or place[: len(one)] == one for one in unknown)


def derived(run: NewRun, schemas: Mapping[str, Schema], *, in_flow: bool = False) -> NewRun:
    """Return a requested run without faults, with the settings of its job."""
    schema = version_for(schemas[run.job_name], run.job_name, run.args)
    unknown = unknown_in(run.args) if in_flow else ()
    return run_of_job(run, schema.defaults, schema.signature, unknown)


def trigger_job(
    tx: Tx,
    job_name: str,
    *,
    args: dict[str, Json] | None = None,
    unique_key: str | None = None,
    actor: str | None = None,
    labels: dict[str, str] | None = None,
) -> Enqueued:
    """Make a run of a job now, by hand, unless an unfinished one has its unique key: that is answered then.

    Raises:
        UserError: code ``UNKNOWN_JOB``, ``INVALID_ARGS`` or ``INVALID_INPUT``.
    """
    return trigger(tx, triggered(job_name, args, unique_key, actor, account_of(tx), labels))


def trigger(tx: Tx, run: NewRun) -> Enqueued:
    """Do as ``trigger_job`` for a run that inherits all it can from its job; the errors are the same."""
    schemas = published(tx, {run.job_name})
    refuse(request_faults(run, schemas))
    return put(tx, [derived(run, schemas)])[0]


def triggered(
    job_name: str,
    args: dict[str, Json] | None,
    unique_key: str | None,
    submitter: str | None,
    submitter_id: int | None,
    labels: dict[str, str] | None = None,
) -> NewRun:
    """Return a run by hand, which follows its job in all that is not given."""
    return NewRun(
        job_name=job_name,
        trigger=Trigger.MANUAL,
        args=args or {},
        submitter=submitter,
        submitter_id=submitter_id,
        unique_key=unique_key,
        labels=labels,
        inherits=FOLLOWED if unique_key is None else FOLLOWED - {UNIQUE_KEY},
    )


def enqueue_runs(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Put runs into the queue, all or none; the results are in the order of ``runs``.

    Raises:
        UserError: a value is wrong; the path has its place in ``runs``.
    """
    schemas = published(tx, {run.job_name for run in runs})
    refuse(
        fault.with_prefix("runs", str(place))
        for place, run in enumerate(runs)
        for fault in request_faults(run, schemas)
    )
    return put(tx, [derived(run, schemas) for run in runs])


def put(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Put runs into the queue in the name of the transaction's actor; see ``queue.enqueue.put``.

    Raises:
        UserError: code ``FORBIDDEN``: see ``check_submitter``.
    """
    check_submitter(tx, (run.job_name for run in runs))
    return enqueue.put(tx, runs)


def put_new(tx: Tx, run: NewRun, asked: str) -> Run:
    """Put one run that must not have been there already.

    Args:
        asked: The requested thing, for the message.

    Raises:
        Overlap: an unfinished run has its unique key.
    """
    (made,) = put(tx, [run])
    if made.deduplicated:
        raise Overlap(
            f"{asked}: run {made.run.id} is {made.run.state.value} and holds the unique key of this one, "
            f"'{made.run.unique_key}'; wait for it, or cancel it",
            path=("name",),
            run_id=made.run.id,
        )
    return made.run


@dataclass(frozen=True, slots=True)
class _Requested:
    run: NewRun
    record: Record


async def put_requested(database: Database, run: NewRun, record: Record) -> Enqueued | None:
    """Put a run into the queue, with its event and the entry of the audit log.

    Where one statement cannot do it, all requests of the same moment become one transaction.

    Args:
        run: The run; its policies may follow its job.
        record: The entry of the audit log, in the name of the account that asks.

    Returns:
        The run. None, and nothing is stored: something is wrong with it, which its own transaction reports.
    """
    if not may_submit(record.actor, (run.job_name,)):
        return None
    carried = TRACED.carried(run.job_name, run.carried, alone=False)
    if carried is not run.carried:
        run = replace(run, carried=carried)
    return await _by_one_statement(database, run, record) or await _group_of(database).put(_Requested(run, record))


async def _by_one_statement(database: Database, run: NewRun, record: Record) -> Enqueued | None:
    if not database.can_autocommit or run.unique_key is not None or run.hold is not None:
        return None
    schema = await _schema(database, run.job_name)
    if schema is None or schema.others or any(request_faults(run, {run.job_name: schema})):
        return None
    if schema.defaults.makes_keys or schema.defaults.hold is not None:
        return None
    audited = Audited(record, schema.signature, defaults_document(schema.defaults).get(PER_RUN))
    signed = NewRuns.of([settle(replace(run, signature=schema.signature), schema.defaults)])
    stored = await database.autocommit(
        lambda send: insert_by(by_driver(send, "audited"), signed, audited=audited).stored(signed) or None, WAKES
    )
    if stored is None:
        database.cache.pop(_name(run.job_name), None)
        return None
    return Enqueued(stored[0], deduplicated=False)


def _group_of(database: Database) -> LoopGroupCommit[_Requested, Enqueued | None]:
    known: LoopGroupCommit[_Requested, Enqueued | None] | None = database.cache.get(_GROUP)
    if known is None:
        known = LoopGroupCommit(lambda asked: database.write(_put_together, asked))
        database.cache[_GROUP] = known
    return known


def _put_together(tx: Tx, asked: Sequence[_Requested]) -> list[Enqueued | None]:
    schemas = published(tx, {one.run.job_name for one in asked})
    right = [place for place, one in enumerate(asked) if not any(request_faults(one.run, schemas))]
    runs = [derived(asked[place].run, schemas) for place in right]
    put = dict(zip(right, enqueue.put_of_several(tx, runs), strict=True))
    tx.records += [asked[place].record for place in right]
    return [put.get(place) for place in range(len(asked))]


async def _schema(database: Database, job_name: str) -> Schema | None:
    """Return the schema as it was when it was first needed; the statement asks whether it is so still."""
    known: Schema | None = database.cache.get(_name(job_name))
    if known is None:
        found, _ = await database.read(jobs.schemas, {job_name})
        known = found.get(job_name)
        if known is not None:
            known = with_judge(job_name, known, database.known_code)
            if len(database.cache) >= REMEMBERED:
                database.cache.clear()
            database.cache[_name(job_name)] = known
    return known


def _name(job_name: str) -> str:
    return f"schema of {job_name}"


def cancel_runs(tx: Tx, ids: Sequence[int], *, reason: str | None = None, actor: str | None = None) -> list[Run]:
    """Cancel runs; finished ones are left as they are. See ``cancel_all`` for the effect in each state.

    Raises:
        NotFound: one of the ids does not exist.
        UnreadableRow: one of the runs cannot be read.
    """
    check_reason(reason)
    by = f" by {actor}" if actor else ""
    runs = cancel_all(tx, ids, reason=f"cancelled{by}" + (f": {reason}" if reason else ""))
    if len(runs) < len(set(ids)):
        # Those that cannot be read were not cancelled, and say so here.
        _check_all_exist(ids, stored_runs.by_ids(tx.conn, ids))
    return runs


def retry_now(tx: Tx, run_id: int) -> Run:
    """Make a run that waits for its time (a retry, a snooze, a later ``runAt``) due at once.

    Raises:
        InvalidState: the run does not wait.
    """
    run = existing(tx, [run_id])[0]
    if run.state not in CLAIMABLE:
        raise InvalidState(
            f"run {run_id} is {run.state.value}; only waiting and stuck runs can be made due now", path=("id",)
        )
    _note_time(tx, run)
    # A stuck run is due strictly after its time, so "now" is just before now.
    run_store.make_available(tx.conn, [run_id], tx.now - timedelta(microseconds=1))
    return _changed(tx, [run_id], [run_id])[0]


def make_due(tx: Tx, ids: Sequence[int]) -> list[Run]:
    """Make these runs due at once where they wait for their time; others are left as they are.

    Raises:
        NotFound: one of the ids does not exist.
    """
    late = [run for run in existing(tx, ids) if run.state in CLAIMABLE]
    for run in late:
        _note_time(tx, run)
    keys = [run.id for run in late]
    run_store.make_available(tx.conn, keys, tx.now - timedelta(microseconds=1))
    return _changed(tx, ids, keys)


def _note_time(tx: Tx, run: Run) -> None:
    tx.note_before(str(run.id), state=run.state.value, availableAt=time_text(run.available_at))


def edit_run(
    tx: Tx,
    run_id: int,
    *,
    args: dict[str, Json] | None = None,
    available_at: datetime | None = None,
    actor: str | None = None,
) -> Run:
    """Change the arguments and options of a waiting run, and when it is due; None = unchanged.

    The account that changes its arguments becomes its submitter, in whose name it acts.

    Raises:
        InvalidState: the run does not wait, or has begun before and its arguments are to change.
        InvalidState: by its new arguments it has the unique key of another unfinished run.
        InvalidInput: it would be due after the time by which it has to start.
        UserError: code ``UNKNOWN_JOB``, ``INVALID_ARGS`` or ``FORBIDDEN``: as when it is enqueued.
    """
    run = existing(tx, [run_id])[0]
    if run.state not in CLAIMABLE:
        raise InvalidState(
            f"run {run_id} is {run.state.value}; only waiting and stuck runs can be changed", path=("id",)
        )
    if args is not None and run.attempt > 0:
        raise InvalidState(
            f"args: run {run_id} has begun already, and keeps the arguments of its executions; cancel it and run it "
            "again with others",
            path=("args",),
        )
    change: dict[str, Any] = {}
    labels: dict[str, str] | None = None
    if args is not None:
        schema = check_job_args(tx, run.job_name, args)
        check_submitter(tx, [run.job_name])
        change |= {"args": args, "signature": schema.signature, "submitter": actor, "submitter_id": account_of(tx)}
        change |= _key_of_changed(tx, run, args, schema)
        labels = labels_of_changed(run, args, schema)
        if schema.defaults.limits is not None:
            change |= schema.defaults.limits.keys_of(run.job_name, args, Keys.of(run))._asdict()
    if available_at is not None:
        check_time(available_at, "runAt")
        change["available_at"] = available_at
        change |= _expiry_of_moved(tx, run, available_at)
    if not change:
        return run
    tx.note_before(str(run.id), args=argument_names(run.args), runAt=time_text(run.available_at))
    _edit(tx, run, change)
    if args is not None and run.flow_id is not None:
        forget_uses(tx.conn, run_id)
    if labels is not None and labels != run.labels:
        run_store.relabel(tx.conn, run.id, run.labels or {}, labels)
    return _changed(tx, [run_id], [run_id])[0]


def _expiry_of_moved(tx: Tx, run: Run, at: datetime) -> dict[str, datetime | None]:
    """Return the new expiry of a run that is moved to ``at``: seconds that its job declares count from there.

    Raises:
        InvalidInput: it would have to start before it is due.
    """
    if run.expires_at is None or run.attempt > 0:
        return {}
    ttl, before = jobs.defaults(tx.conn, {run.job_name})[run.job_name].ttl, run.due_at or run.available_at
    of_job = expiry_of(None, ttl, before)
    if of_job is not None and abs(of_job - run.expires_at) < _ROUNDED:
        return {"expires_at": expiry_of(None, ttl, at)}
    for fault in expiry_faults(run.expires_at, None, at):
        raise InvalidInput(
            f"runAt: must be before {time_text(run.expires_at)}, by which run {run.id} has to start, got "
            f"{time_text(at)}; cancel it and enqueue another one",
            path=("runAt",),
        ) from fault
    return {}


_ROUNDED: Final = timedelta(milliseconds=2)
"""The most by which a stored time differs from the sum that it was made of."""


def labels_of_changed(
    run: Run, args: dict[str, Json], schema: Schema, unknown: Collection[str] = ()
) -> dict[str, str] | None:
    """Return the labels of a run that gets other arguments, some of which may be labels, and some not known yet.

    Raises:
        InvalidInput: an argument that is to be a label cannot be one.
    """
    rule = schema.defaults.labels
    return run.labels if rule is None else rule.after_edit(run.labels or {}, args, unknown)


def _edit(tx: Tx, run: Run, change: dict[str, Any]) -> None:
    if run.due_at is not None:
        # What it waits for may be another thing now.
        change = {"available_at": run.due_at, **change, "due_at": None}
    if "unique_key" not in change:
        run_store.edit(tx.conn, run.id, change)
        return
    try:
        with tx.conn.begin_nested():
            run_store.edit(tx.conn, run.id, change)
    except IntegrityError as error:
        # Another transaction has given the key to a run since it was looked for.
        raise _key_is_taken(run, change["unique_key"], "another run") from error


def _key_is_taken(run: Run, key: str, other: str) -> InvalidState:
    return InvalidState(
        f"args: with these, run {run.id} has the unique key '{key}' of {other}, which is unfinished; cancel one of the "
        "two",
        path=("args",),
    )


def _key_of_changed(tx: Tx, run: Run, args: dict[str, Json], schema: Schema) -> dict[str, str]:
    """Return the unique key of a run that gets other arguments, if that follows from them and is another one."""
    rule = schema.defaults.unique_key
    if rule is None or run.unique_key != rule.of(run.job_name, run.args):
        return {}
    key = rule.of(run.job_name, args)
    if key is None or key == run.unique_key:
        return {}
    other = stored_runs.unfinished_with_key(tx.conn, key)
    if other is not None:
        raise _key_is_taken(run, key, f"run {other.id}")
    return {"unique_key": key}


def set_priority(tx: Tx, ids: Sequence[int], priority: Priority) -> list[Run]:
    """Change the priority of waiting and stuck runs; others are left as they are.

    Raises:
        NotFound: one of the ids does not exist.
    """
    for run in existing(tx, ids):
        tx.note_before(str(run.id), priority=run.priority.value)
    return _changed(tx, ids, run_store.set_priority(tx.conn, ids, priority))


def _changed(tx: Tx, ids: Sequence[int], changed: Sequence[int]) -> list[Run]:
    after = stored_runs.by_ids(tx.conn, ids)
    tx.emit(run_change(after[run_id], after[run_id].state) for run_id in sorted(changed))
    tx.wake(Wake.RUNS)
    return [after[run_id] for run_id in ids]


def _check_all_exist(ids: Sequence[int], found: Collection[int]) -> None:
    missing = next((run_id for run_id in ids if run_id not in found), None)
    if missing is not None:
        raise unknown("run", str(missing), [], field="id")


def existing(tx: Tx, ids: Sequence[int]) -> list[Run]:
    """Lock these runs until the commit and return them.

    Raises:
        NotFound: one of the ids does not exist.
        UnreadableRow: one of the runs cannot be read.
    """
    found = run_store.lock(tx.conn, ids)
    if len(found) < len(set(ids)):
        # Those that cannot be read are not locked, and say so here.
        _check_all_exist(ids, stored_runs.by_ids(tx.conn, ids))
    return [found[run_id] for run_id in ids]


def save_checkpoint(tx: Tx, run: Run | HeldRun, value: Json) -> bool:
    """Keep a checkpoint with the task of ``run``, or with the run where there is none.

    False if the run was taken from its node meanwhile.
    """
    stored = run_store.lock(tx.conn, [run.id]).get(run.id)
    is_ours = (
        stored is not None
        and stored.state is RunState.RUNNING
        and stored.attempt == run.attempt
        and stored.node_id == run.node_id
    )
    if is_ours and (run.task_id is None or not tasks.save_checkpoint(tx.conn, run.task_id, value, tx.now)):
        run_store.save_checkpoint(tx.conn, run.id, value)
    return is_ours


def save_progress(tx: Tx, rows: Sequence[tuple[Run | HeldRun, Json]]) -> None:
    """Keep the newest progress of running runs and tell subscribers."""
    by_id = {run.id: run for run, _ in rows}
    changed = run_store.save_progress(tx.conn, [(run.id, run.attempt, run.node_id, progress) for run, progress in rows])
    tx.emit(run_change(by_id[run_id], RunState.RUNNING, node=by_id[run_id].node) for run_id in sorted(changed))
