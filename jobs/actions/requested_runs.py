"""A run that the API is asked for, in one statement instead of a transaction of three."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from ..core.audit import Record
from ..core.base.errors import UserError
from ..core.defaults import PER_RUN, settle
from ..core.model import NewRun, Run
from ..core.rules import new_run_faults
from ..queue.new_runs import WAKES, insert_requested
from ..store.db.database import Database
from ..store.read import jobs
from ..store.read.jobs import Schema
from ..store.schema.specs import defaults_document
from .acting import may_submit
from .runs import job_faults, with_judge

REMEMBERED: Final = 1000
"""Jobs whose schemas are kept at most."""


async def put_requested(database: Database, run: NewRun, record: Record) -> Run | None:
    """Put a run into the queue, with its event and the entry of the audit log.

    The schema of the job is that which was read when it was first needed; the statement inserts nothing if it is of
    another version by now.

    Args:
        database: Where.
        run: Its policies may follow its job.
        record: What the audit log gets, in the name of the account that asks.

    Returns:
        What is stored. None, and nothing is: it takes the whole transaction, which also tells what is wrong with it.
    """
    if not database.can_autocommit or run.unique_key is not None or not may_submit(record.actor, (run.job_name,)):
        return None
    if run.hold is not None:
        return None
    schema = await _schema(database, run.job_name)
    if schema is None or any(_faults(run, schema)):
        return None
    if schema.defaults.makes_keys or schema.defaults.hold is not None:
        return None
    signed = settle(replace(run, signature=schema.signature), schema.defaults)
    stored = await database.autocommit(
        partial(insert_requested, per_run=defaults_document(schema.defaults).get(PER_RUN)), WAKES, signed, record
    )
    if stored is None:
        database.cache.pop(_name(run.job_name), None)
    return stored


def _faults(run: NewRun, schema: Schema) -> Iterator[UserError]:
    yield from new_run_faults(run)
    yield from job_faults({run.job_name: schema}, run.job_name, run.args)
    if schema.defaults.labels is not None:
        yield from schema.defaults.labels.faults(run.args, run.labels)


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
