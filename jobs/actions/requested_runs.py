"""A run that the API is asked for: in one statement, or with what others ask for at the same moment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..core.audit import Record
from ..core.base.tracing import TRACED
from ..core.defaults import PER_RUN, settle
from ..core.model import NewRun
from ..queue.base.new_runs import WAKES, Audited, NewRuns, by_driver, insert_by
from ..queue.enqueue import enqueue
from ..queue.group_commit import LoopGroupCommit
from ..queue.limits.uniqueness import Enqueued
from ..store.db.database import Database
from ..store.db.transaction import Tx
from ..store.read import jobs
from ..store.read.jobs import Schema
from ..store.schema.specs import defaults_document
from .acting import may_submit
from .runs import derived, published, request_faults, with_judge

REMEMBERED: Final = 1000
"""Jobs whose schemas are kept at most."""
_GROUP: Final = "group commit of requested runs"


@dataclass(frozen=True, slots=True)
class _Requested:
    """A run, and the entry of the audit log that it gets."""

    run: NewRun
    record: Record


async def put_requested(database: Database, run: NewRun, record: Record) -> Enqueued | None:
    """Put a run into the queue, with its event and the entry of the audit log.

    Where one statement cannot do it, all that is asked for at the same moment is one transaction.

    Args:
        database: Where.
        run: Its policies may follow its job.
        record: What the audit log gets, in the name of the account that asks.

    Returns:
        What is stored. None, and nothing is: something is wrong with it, which its own transaction reports.
    """
    if not may_submit(record.actor, (run.job_name,)):
        return None
    carried = TRACED.carried(run.job_name, run.carried, alone=False)
    if carried is not run.carried:
        run = replace(run, carried=carried)
    return await _by_one_statement(database, run, record) or await _group_of(database).put(_Requested(run, record))


async def _by_one_statement(database: Database, run: NewRun, record: Record) -> Enqueued | None:
    """The schema of the job is that which was read when it was first needed; the statement asks if it is so still."""
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
        lambda send: insert_by(by_driver(send, audited=True), signed, audited=audited).stored(signed) or None, WAKES
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
    """Put those of these runs into the queue with which nothing is wrong."""
    schemas = published(tx, {one.run.job_name for one in asked})
    right = [place for place, one in enumerate(asked) if not any(request_faults(one.run, schemas))]
    runs = [derived(asked[place].run, schemas) for place in right]
    put = dict(zip(right, enqueue.put_of_several(tx, runs), strict=True))
    tx.records += [asked[place].record for place in right]
    return [put.get(place) for place in range(len(asked))]


async def _schema(database: Database, job_name: str) -> Schema | None:
    """What is known of a published job, whether or not it is still so."""
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
