"""Breaks of what decides whether and with what a run starts; see ``broken``."""

from datetime import datetime

from sqlalchemy import update

from cronograph.jobs.core.admission.holding import Debounce
from cronograph.jobs.store.schema import tables
from tests.chaos.admission_rules import DEBOUNCED
from tests.support.storage import Stored, Worker

r = tables.run


def _expire(stored: Stored, run_id: int, at: datetime | None) -> None:
    stored.do(lambda tx: tx.conn.execute(update(r).where(r.c.id == run_id).values(expires_at=at)))


def a_claim_does_not_look_at_the_expiry(stored: Stored, worker: Worker) -> None:
    """A run is claimed as if it never expired."""
    late = stored.enqueue(ttl=1.0)
    stored.pass_time(1)
    _expire(stored, late.id, None)
    worker.take(20)
    _expire(stored, late.id, late.expires_at)


def a_run_is_dropped_without_its_reason(stored: Stored, worker: Worker) -> None:
    """An expired run does not say what became of it."""
    late = stored.enqueue(ttl=1.0)
    stored.pass_time(1)
    worker.take(20)
    stored.do(lambda tx: tx.conn.execute(update(r).where(r.c.id == late.id).values(skip_reason=None)))


def the_arguments_of_a_late_writer_replace_the_newest(stored: Stored, _: Worker) -> None:
    """Of two enqueues of one debounced key the older one wins."""
    worker = stored.node("node-d", jobs=("work", DEBOUNCED))
    hold = Debounce(1.0).hold()
    for number in (2, 1):
        stored.enqueue(job_name=DEBOUNCED, args={"number": number}, unique_key="page", hold=hold)
        if number == 2:
            stored.pass_time(1)
            worker.take(20)
