"""Enqueue a flow inside the user's own SQLAlchemy transaction."""

from sqlalchemy import Connection

from ...core.base.errors import InvalidInput, python_names
from ...core.flows import FlowSpec, NewFlow, NewMember, check_flow, ordered
from ...store.db import dialect, outbox
from ...store.db.callers.connection import borrowed
from ...store.db.transaction import Tx, Wake
from ..enqueue.enqueue import Transaction
from ..enqueue.enqueue_many import new_runs
from .new_flows import put_flow


def enqueue_flow_sync(session: Transaction, spec: FlowSpec, *, schema: str | None = None) -> int:
    """Put a flow into the queue as part of ``session``'s transaction, all of its runs or none. The caller commits.

    Any job name is accepted: the node that knows it may not have started yet.

    Returns:
        The id of the flow.

    Raises:
        UserError: what is wrong with it, each with its path. Nothing was added.
    """
    conn = session if isinstance(session, Connection) else session.connection()
    with borrowed(conn, schema):
        tx = Tx(conn)
        flow_id = put_spec(tx, spec)
        outbox.append(conn, tx.now, tx.changes)
        dialect.notify(conn, str((Wake.RUNS | Wake.EVENTS).value))
    return flow_id


def put_spec(tx: Tx, spec: FlowSpec) -> int:
    """Put a flow into the queue as its caller describes it, all of its runs or none; its id.

    Raises:
        UserError: see ``enqueue_flow_sync``.
    """
    new = new_flow(spec)
    with python_names():
        return put_flow(tx, new)


def new_flow(spec: FlowSpec) -> NewFlow:
    """The flow that a description means.

    Raises:
        UserError: what is wrong with it, each with its path.
    """
    check_flow(spec.name, spec.unique_key, spec.labels, is_open=spec.is_open)
    if not spec.members and not spec.is_open:
        raise InvalidInput("runs: must be at least one, got none; add runs, or say open=True", path=("runs",))
    runs = new_runs(one.run for one in spec.members)
    members = [NewMember(one.key, run, one.after, one.when) for one, run in zip(spec.members, runs, strict=True)]
    callbacks = dict(zip(spec.callbacks, new_runs(spec.callbacks.values()), strict=True))
    labels = dict(spec.labels) if spec.labels else None
    return NewFlow(spec.name, tuple(ordered(members)), spec.is_open, spec.unique_key, callbacks, labels=labels)
