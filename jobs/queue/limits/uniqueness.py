"""Runs with unique keys: one is put into the queue, or the run that stands for it is answered, perhaps renewed."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from ...core.admission.holding import Hold, Holding, OnConflict, expiry_of
from ...core.admission.labels import inherited
from ...core.base.errors import InvalidState, KeyHeld
from ...core.limits import Keys
from ...core.model import Enqueued, NewRun, Priority, Run, Trigger
from ...store.db import dialect
from ...store.db.transaction import Tx
from ...store.statements import runs as stored_runs
from ..base import runs as run_store
from ..base.changes import run_change
from ..base.new_runs import NOTHING, WAKES, NewRuns, SendNamed, columns_text, insert, labels_text, stored_here

RENEW: Final = "renew_debounced"
"""The statement."""
_TRIES: Final = 10
"""The run that has a key may finish, or begin, between two statements; then the key is free again."""

_BRIEFLY: Final = text("SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', '100ms', true)")
_AS_BEFORE: Final = text("SELECT set_config('lock_timeout', :before, true)")
_LOCK_TIMEOUT: Final = "55P03"


class KeyIsBusyError(InvalidState):
    """A unique key was taken by a transaction that is still open: nobody knows whether it holds."""


@contextmanager
def hardly_waiting(tx: Tx) -> Generator[None]:
    """Insert runs with unique keys in the block without waiting for transactions that have inserted the same keys.

    PostgreSQL waits for them, to know whether they hold; an application may keep such a one open as long as it likes.

    Raises:
        KeyIsBusyError: there is such a transaction; nothing of the block is done, and ``tx`` goes on.
    """
    if not dialect.is_postgresql(tx.conn):
        yield
        return
    try:
        with tx.savepoint():
            # Undone with all else if it comes to that.
            before = tx.conn.execute(_BRIEFLY).one().before
            yield
            tx.conn.execute(_AS_BEFORE, {"before": before})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_TIMEOUT:
            raise
        raise KeyIsBusyError(
            "uniqueKey: a transaction that is still open has enqueued a run with the same key", path=("uniqueKey",)
        ) from error


def put_unique(tx: Tx, run: NewRun, key: str) -> Enqueued:
    """Insert a run unless its key is held; then its hold decides about it, and then its ``on_conflict``.

    Raises:
        KeyHeld: a run with other arguments holds the key, and ``on_conflict`` says that this is a fault.
        InvalidState: the key changes hands all the time.
    """
    hold = run.hold
    for _ in range(_TRIES):
        found = _plain(tx, run, key) if hold is None else _held(tx, run, key, hold)
        if found is not None:
            return _answered(tx, run, key, found) if found.deduplicated else found
    raise InvalidState(f"uniqueKey: '{key}' changes hands too fast; try again", path=("uniqueKey",))


def _answered(tx: Tx, run: NewRun, key: str, found: Enqueued) -> Enqueued:
    """Return the answer to a run whose key is held, as its ``on_conflict`` decides."""
    holder, follows = found.run, run.hold is not None and run.hold.kind in (Holding.DEBOUNCE, Holding.LAST)
    if run.on_conflict is OnConflict.KEEP or follows:
        return found
    if run.on_conflict is OnConflict.REPLACE and holder.job_name == run.job_name:
        renewed = _renewed(tx, run, key, run.hold)
        if renewed is not None:
            return renewed
    if (holder.job_name, holder.args) == (run.job_name, run.args):
        return found
    raise KeyHeld(
        f"uniqueKey: '{key}' is held by run {holder.id} of job '{holder.job_name}', which is {holder.state.value} and "
        "has other arguments; wait for it, cancel it, or enqueue with on_conflict='keep' to be answered with it",
        path=("uniqueKey",),
        run_id=holder.id,
    )


def _plain(tx: Tx, run: NewRun, key: str) -> Enqueued | None:
    new = NewRuns.of([run])
    for inserted in insert(tx.conn, new, tx.now).stored(new):
        return Enqueued(inserted, deduplicated=False)
    existing = stored_runs.unfinished_with_key(tx.conn, key)
    return None if existing is None else Enqueued(existing, deduplicated=True)


def _held(tx: Tx, run: NewRun, key: str, hold: Hold) -> Enqueued | None:
    if hold.kind is Holding.DEBOUNCE:
        later = replace(run, available_at=hold.due_at(tx.now, tx.now))
        # First what mostly is the case where many are enqueued: one waits.
        return _renewed(tx, run, key, hold) or _inserted(tx, later, key, hold)
    renewed = _renewed(tx, run, key, hold) if hold.kind is Holding.LAST else None
    if renewed is not None:
        return renewed
    standing = stored_runs.holding_for_a_time(tx.conn, key, tx.now)
    if standing is None:
        return _inserted(tx, run, key, hold)
    if hold.kind is not Holding.LAST:
        return Enqueued(standing, deduplicated=True)
    # At the end of the period that the other one has begun; it begins the next.
    return _inserted(tx, replace(run, available_at=stored_runs.key_until(tx.conn, standing.id)), key, hold)


def _inserted(tx: Tx, run: NewRun, key: str, hold: Hold) -> Enqueued | None:
    """Return the new run, or the one that was faster; None = look again.

    Raises:
        InvalidState: a run that is to have the newest arguments cannot: the key is held in another way.
    """
    put = _plain(tx, run, key)
    if put is None:
        return None
    if put.deduplicated:
        if hold.kind not in (Holding.DEBOUNCE, Holding.LAST):
            return put
        if put.run.state not in run_store.UNBEGUN or put.run.attempt > 0:
            raise _held_otherwise(put.run, run)
        # What is to have the newest arguments is renewed by the next look.
        return None
    until = hold.held_until(put.run.available_at)
    # A run that held the key may have ended while this one was inserted: it is seen now, for the key is ours.
    if until is not None and stored_runs.holding_for_a_time(tx.conn, key, put.run.available_at, but=put.run.id):
        run_store.withdraw(tx.conn, put.run)
        return None
    run_store.hold_key(tx.conn, put.run.id, until, until_start=hold.until_start)
    return put


def _held_otherwise(holder: Run, run: NewRun) -> InvalidState:
    return InvalidState(
        f"uniqueKey: '{run.unique_key}' is held by run {holder.id} of job '{holder.job_name}', which is "
        f"{holder.state.value}; this run of job '{run.job_name}' is debounced or throttled, and its arguments would be "
        "lost. Enqueue all runs of a key by one job and with the same options",
        path=("uniqueKey",),
    )


def _renewed(tx: Tx, run: NewRun, key: str, hold: Hold | None) -> Enqueued | None:
    """Renew the run that waits with this key by the arguments of another; None = none waits.

    Raises:
        InvalidState: it is a run of another job.
    """
    waiting = run_store.lock_unbegun(tx.conn, key)
    if waiting is None:
        return None
    if waiting.job_name != run.job_name:
        raise _held_otherwise(waiting, run)
    at = waiting.available_at
    if hold is not None and hold.kind is Holding.DEBOUNCE:
        at = hold.due_at(waiting.submitted_at, tx.now)
    elif run.on_conflict is OnConflict.REPLACE and run.available_at is not None:
        at = run.available_at
    changes: dict[str, Any] = {name: getattr(run, name) for name in _OF_THE_LAST}
    if (own := Keys.of(waiting)).is_bound_by_flow:
        changes |= {
            "concurrency_key": own.concurrency_key,
            "max_concurrent": own.max_concurrent,
            "keeps_place": own.keeps_place,
        }
    changes |= {
        "available_at": at,
        # What waited for a slot or a token is looked at again.
        "due_at": None,
        "expires_at": expiry_of(run.expires_at, run.ttl, at),
    }
    run_store.renew(tx.conn, waiting.id, changes)
    labels = inherited(run.parent_labels, run.labels) or {}
    if labels != (waiting.labels or {}):
        run_store.relabel(tx.conn, waiting.id, waiting.labels or {}, labels)
    renewed = stored_runs.by_ids(tx.conn, [waiting.id])[waiting.id]
    tx.emit([run_change(renewed, renewed.state)])
    return Enqueued(renewed, deduplicated=True)


_OF_THE_LAST: Final = (
    "args", "carried", "signature", "submitter", "submitter_id", "concurrency_key", "max_concurrent", "rate_key",
    "cap_key", "keeps_place",
)  # fmt: skip
"""The fields of a waiting run that a later enqueue replaces, besides its labels and its times."""


def is_debounced(run: NewRun) -> bool:
    """Return whether a further enqueue of its key takes its place as long as it waits."""
    return run.hold is not None and run.hold.kind is Holding.DEBOUNCE


def renew_by(send: SendNamed, run: NewRun) -> Run | None:
    """Give the waiting run with this unique key the arguments of ``run``, with any function that sends the statement.

    Args:
        send: As a transaction of its own.
        run: Debounced, with its unique key.

    Returns:
        The run as it waits now. None, and nothing was changed: it takes a transaction, see ``put_unique``.
    """
    assert run.hold is not None, "it is debounced"
    parameters = {
        "run": columns_text(run),
        "args": json.dumps(run.args),
        "carried": NOTHING if run.carried is None else json.dumps(run.carried),
        "labels": labels_text(run.labels, run.parent_labels),
        "delay": run.hold.seconds,
        "max_wait": run.hold.max_wait,
        "wakes": str(WAKES.value),
    }
    for row in send(RENEW, parameters):
        as_first = replace(
            run,
            trigger=Trigger(row.trigger),
            task_id=row.task_id,
            task_name=row.task_name,
            group=row.group,
            priority=Priority(row.priority),
            retries=row.retries,
            retry_delay=row.retry_delay,
            timeout=row.timeout,
            description=row.description,
            available_at=row.available_at,
            expires_at=row.expires_at,
            ttl=None,
        )
        return stored_here(as_first, row.id, row.submitted_at)
    return None
