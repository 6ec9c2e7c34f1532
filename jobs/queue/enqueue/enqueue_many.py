"""Enqueue many runs inside the user's own SQLAlchemy transaction, a few thousand in each statement."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Connection

from ...core.admission.labels import label_faults
from ...core.base.errors import UserError, refuse
from ...core.base.tracing import TRACED
from ...core.defaults import JobDefaults
from ...core.events import created
from ...core.model import NewRun
from ...core.run_spec import RunSpec
from ...store.db import dialect, outbox
from ...store.db.callers.connection import borrowed
from ...store.db.transaction import Tx, Wake
from ...store.read import jobs
from ..base.new_runs import NOTHING, NewRuns, insert, labels_text
from .enqueue import Transaction, args_text, enqueue_all, new_run


def enqueue_many_sync(session: Transaction, runs: Iterable[RunSpec], *, schema: str | None = None) -> list[int]:
    """Put runs into the queue as part of ``session``'s transaction, all or none. The caller commits.

    Returns:
        The ids, in the order of ``runs``; for a unique key that an unfinished run has, the id of that run.

    Raises:
        UserError: the first run that is not what it must be, with its place in the path. Nothing was added.
    """
    conn = session if isinstance(session, Connection) else session.connection()
    new = _checked(runs)
    with borrowed(conn, schema):
        if any(kind.unique_key is not None or kind.hold is not None for kind in new.kinds):
            return [run.id for run in enqueue_all(conn, new.apart())]
        if not new.kind:
            return []
        if dialect.is_postgresql(conn):
            ids = insert(conn, new, with_event=True).ids
            # What was not inserted: its job says what follows from the arguments.
            rest = new.apart()[len(ids) :] if len(ids) < len(new.kind) else []
            return [*ids, *(run.id for run in enqueue_all(conn, rest))] if rest else ids
        found, any_cap = jobs.published_defaults_and_caps(conn, {kind.job_name for kind in new.kinds})
        if any_cap or any(defaults.settles for defaults in found.values()):
            return [run.id for run in enqueue_all(conn, new.apart())]
        return _insert_with_event(conn, new, found)


def _insert_with_event(conn: Connection, new: NewRuns, published: Mapping[str, JobDefaults]) -> list[int]:
    """Insert runs and their event on SQLite, where no statement can do both; their ids."""
    inserted = insert(conn, new, published=published)
    kinds = zip(inserted.kinds, inserted.policies, strict=True)
    about = [(kind.job_name, policies.group) for kind, policies in kinds]
    listed = created((key, *about[kind]) for key, kind in zip(inserted.ids, new.kind, strict=True))
    outbox.append(conn, inserted.submitted_at, [listed])
    return inserted.ids


def _checked(runs: Iterable[RunSpec]) -> NewRuns:
    """What is to be stored. Equal settings are judged once."""
    known: dict[tuple[object, ...], int] = {}
    new = NewRuns()
    for place, spec in enumerate(_specs(runs)):
        settings = (
            spec.job_name, spec.group, spec.priority, spec.run_at, spec.unique_key, spec.retries, spec.retry_delay,
            spec.timeout, spec.settled, spec.expires_at, spec.ttl, spec.hold,
            spec.max_duration, spec.signature,
        )  # fmt: skip
        try:
            kind = _known(known, settings)
            if kind is None:
                run = new_run(replace(spec, args=None, carried=None, labels=None, parent_labels=None))
                known[settings] = kind = len(new.kinds)
                new.kinds.append(run)
            new.kind.append(kind)
            new.args.append("{}" if spec.args is None else args_text(spec.args))
            carried = TRACED.carried(spec.job_name, spec.carried)
            new.carried.append(NOTHING if carried is None or carried == {} else args_text(carried, "carried"))
            new.labels.append(_labels(spec))
            if spec.parent_labels is not None:
                refuse(label_faults(spec.parent_labels, "parent_labels"))
                new.parents[place] = dict(spec.parent_labels)
        except UserError as error:
            raise error.with_prefix("runs", str(place)) from error
    return new


def _known(known: dict[tuple[object, ...], int], settings: tuple[object, ...]) -> int | None:
    """The place of settings that were judged before; those that have no hash were not, and are wrong."""
    try:
        return known.get(settings)
    except TypeError:
        return None


def _specs(runs: object) -> Iterator[RunSpec]:
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs: must be runs to be, e.g. [job.run(…)], got {runs!r:.60}")
    for place, one in enumerate(cast("Iterable[object]", runs)):
        if not isinstance(one, RunSpec):
            raise TypeError(f"runs.{place}: must be a run to be, e.g. job.run(…) or RunSpec('name'), got {one!r:.60}")
        yield one


def _labels(spec: RunSpec) -> str:
    """The labels of a run, as they are stored."""
    if spec.labels is None or spec.labels == {}:
        return NOTHING
    if _is_of_texts(spec.labels):
        return _judged_labels(tuple(spec.labels.items()))
    refuse(label_faults(spec.labels))
    return NOTHING


def _is_of_texts(labels: object) -> bool:
    """Whether labels can be remembered."""
    given: Any = labels
    return isinstance(labels, dict) and all(isinstance(value, str) for value in given.values())


@lru_cache(maxsize=4096)
def _judged_labels(pairs: tuple[tuple[str, str], ...]) -> str:
    """The text of labels that are what they must be; to judge them again takes as long as to store them."""
    labels = dict(pairs)
    refuse(label_faults(labels))
    return labels_text(labels)


def put_many(tx: Tx, runs: Iterable[RunSpec]) -> list[int]:
    """``enqueue_many_sync`` as a part of a transaction of ours."""
    ids = enqueue_many_sync(tx.conn, runs)
    tx.wake(Wake.RUNS | Wake.EVENTS)
    return ids


def new_runs(runs: Iterable[RunSpec]) -> tuple[NewRun, ...]:
    """Runs to be put into the queue by another transaction than the caller's.

    Raises:
        UserError: see ``enqueue_many_sync``.
    """
    return tuple(_checked(runs).apart())
