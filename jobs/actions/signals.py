"""Signals to runs: put into the run's box, where its next wait of that name takes them; addresses to send one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, update

from ..accounts.actions.accounts import fresh_secret
from ..accounts.rules.credentials import Prefix, prefix_of, stored_form
from ..core.actor import RANK, Actor, Role
from ..core.arguments.judging import value_faults
from ..core.base.errors import ErrorCode, InvalidInput, InvalidState, NotFound, UserError, refuse
from ..core.base.times import time_text
from ..core.model import Json, Run
from ..core.rules import MAX_REASON, check_text, unknown
from ..core.states import FINAL, RunState
from ..core.steps import StepName, StepState
from ..core.waits import MAX_BOX, AnswerPage, Signal, check_box, stored_payload
from ..queue import waits
from ..queue.base import runs as run_store
from ..queue.base.shapes import HeldRun
from ..store.db.transaction import Tx
from ..store.schema.tables import signal_link as k
from ..store.statements import runs as stored_runs


def signal_run(tx: Tx, *, run_id: int | None = None, unique_key: str | None = None, signal: Signal) -> Run:
    """Send a signal to an unfinished run, named by its id or else by its unique key; return the run afterwards.

    The sender and the role are those of the transaction's actor, where it has one.

    Raises:
        NotFound: there is no such run.
        InvalidState: it has ended, or its box is full.
        UserError: the name is invalid, or the signal's payload does not fit the run's wait.
    """
    check_box(signal.name)
    signal = replace(signal, payload=stored_payload(signal.payload))
    if signal.rejects is not None:
        check_text(signal.rejects, "reject", least=1, most=MAX_REASON)
    found = _found(tx, signal.name, run_id, unique_key)
    run = found.run
    if run.state in FINAL:
        raise InvalidState(
            f"run {run.id} is {run.state.value}: nobody would take the signal '{signal.name}' any more; send it to an "
            "unfinished run, or retry this one first",
            path=("run",),
        )
    if found.in_box >= MAX_BOX:
        raise InvalidState(
            f"run {run.id} has {MAX_BOX:,} signals that it has not taken; send it fewer, or let it take them first",
            path=("run",),
        )
    sent = signal if tx.actor is None else replace(signal, sender=tx.actor.name, role=tx.actor.role)
    _check_fits(found, sent)
    tx.record("signal_run", str(run.id), after={"name": sent.name, "rejects": sent.rejects})
    return waits.send(tx, run, sent)


def _found(tx: Tx, name: str, run_id: int | None, unique_key: str | None) -> waits.Addressed:
    if (run_id is None) == (unique_key is None):
        raise InvalidInput("run: give either id or uniqueKey", path=("run",))
    found = waits.addressed(tx, name, run_id=run_id, unique_key=unique_key)
    if found is None and unique_key is not None:
        raise unknown("unfinished run with the unique key", unique_key, [], field="uniqueKey").with_prefix("run")
    if found is None:
        raise unknown("run", str(run_id), [], field="id").with_prefix("run")
    return found


def _check_fits(found: waits.Addressed, signal: Signal) -> None:
    """Check that a signal fits the wait that takes it next, if that has begun.

    Raises:
        UserError: it brings along something else, or its sender may not send it.
    """
    if not found.waiting:
        return
    forms = [form for rank, form in found.waiting if rank <= signal.rank]
    if not forms:
        raise _forbidden(found.run, signal, min(rank for rank, _ in found.waiting))
    if signal.rejects is None and forms[0] is not None:
        refuse(value_faults(f"signal '{signal.name}' of run {found.run.id}", forms[0], signal.payload, "payload"))


def _forbidden(run: Run, signal: Signal, rank: int) -> UserError:
    needed = next(role for role, place in RANK.items() if place == rank)
    return UserError(
        f"signal '{signal.name}' of run {run.id}: only accounts with the role {needed.value} may send it, and "
        f"'{signal.sender}' has {signal.role.value}",
        path=("name",),
        code=ErrorCode.FORBIDDEN,
    )


MAX_LINKS: Final = 1_000
"""Addresses of one run."""
MAX_ADDRESS: Final = 200
ROLE: Final = Role.OPERATOR
"""Role behind an address: an operator's, so that no wait for administrators is answered."""
PATH: Final = "/signal"
"""The token follows behind a slash."""


@dataclass(frozen=True, slots=True)
class _Link:
    """Hold the stored part of an address."""

    id: int
    run_id: int
    step: str
    used_at: datetime | None
    page: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Addressee:
    """Describe the wait behind an address.

    Attributes:
        form: The JSON Schema of the wait's payload; None: anything, or it has not begun and nobody said.
        page: How the page looks.
    """

    run: Run
    name: str
    form: dict[str, Any] | None
    page: AnswerPage


def make_link(tx: Tx, held: Run | HeldRun, label: str, page: Mapping[str, Json] | None = None) -> str | None:
    """Return the token of a new address for a wait of a run; None: the run was taken from its node.

    Raises:
        InvalidState: the run has made too many.
    """
    run = run_store.lock(tx.conn, [held.id]).get(held.id)
    fence = (RunState.RUNNING, held.attempt, held.node_id)
    if run is None or (run.state, run.attempt, run.node_id) != fence:
        return None
    if _count(tx.conn, run.id) >= MAX_LINKS:
        raise InvalidState(
            f"signal_url: run {run.id} has made {MAX_LINKS:,} addresses; make each inside the step that sends it, so "
            "that a later attempt does not make another"
        )
    token = fresh_secret(Prefix.SIGNAL)
    _keep(tx.conn, stored_form(token), run.id, label, page, tx.now)
    return token


def addressee(conn: Connection, token: str) -> Addressee:
    """Return the wait to which the address of a signal leads.

    Raises:
        NotFound: there is none with this token.
        InvalidState: it was used, or its wait or its run is over.
        UserError: ``FORBIDDEN``: its wait takes only signals from accounts of a higher role.
    """
    return _good(conn, _known(_find(conn, _hash(token))))


def signal_by_link(tx: Tx, token: str, payload: Json, rejects: str | None, *, address: str | None) -> Run:
    """Send a signal by an address, which is used up by it; return the run. A refused request uses up nothing.

    Args:
        token: That of the address.
        payload: The signal's payload.
        rejects: It says no, for this reason.
        address: From where it comes; the audit log has it.

    Raises:
        NotFound, InvalidState: see ``addressee``.
        UserError: its payload does not fit the run's wait, or see ``addressee``.
    """
    link = _known(_find(tx.conn, _hash(token), lock=True))
    # The run is locked before it is judged, so that it stays as it is.
    run_store.lock(tx.conn, [link.run_id])
    found = _good(tx.conn, link)
    tx.actor = Actor("(signal address)", ROLE, address=None if address is None else address[:MAX_ADDRESS])
    run = signal_run(tx, run_id=found.run.id, signal=Signal(found.name, payload, rejects))
    _spend(tx.conn, link.id, tx.now)
    return run


def _hash(token: str) -> str:
    if prefix_of(token) is not Prefix.SIGNAL:
        raise _unknown()
    return stored_form(token)


def _known(link: _Link | None) -> _Link:
    if link is None:
        raise _unknown()
    return link


def _unknown() -> NotFound:
    message = "This address is not known: it is not complete, or its run is not kept any more; ask for a new one"
    return NotFound(message, code=ErrorCode.NOT_FOUND)


def _good(conn: Connection, link: _Link) -> Addressee:
    name = StepName.parse(link.step).signal
    if link.used_at is not None:
        raise InvalidState(f"This address was used at {time_text(link.used_at)}, and works once")
    run = stored_runs.by_ids(conn, [link.run_id]).get(link.run_id)
    if run is None:
        raise _unknown()
    if run.state in FINAL:
        raise InvalidState(f"Run {run.id} is {run.state.value}: nobody waits for '{name}' any more")
    waits = next((one for one in stored_runs.steps_of_runs(conn, [run.id])[run.id] if one.label == link.step), None)
    if waits is not None and waits.state is not StepState.WAITING:
        raise InvalidState(f"Run {run.id} does not wait for '{name}' any more: it was answered, or its time is over")
    if waits is not None and waits.role is not None and not ROLE.includes(waits.role):
        message = (
            f"Run {run.id} takes '{name}' only from accounts with the role {waits.role.value}, so no address answers "
            "it; sign in and send the signal there"
        )
        raise UserError(message, code=ErrorCode.FORBIDDEN)
    stored = link.page or {}
    return Addressee(run, name, stored.get("form") if waits is None else waits.form, AnswerPage.from_json(stored))


def _count(conn: Connection, run_id: int) -> int:
    """Return how many addresses a run has made."""
    return int(conn.execute(select(func.count()).select_from(k).where(k.c.run_id == run_id)).scalar_one())


def _keep(
    conn: Connection, token_hash: str, run_id: int, step: str, page: Mapping[str, Any] | None, now: datetime
) -> None:
    """Store a new address, with the contents of its page."""
    shown = None if page is None else dict(page)
    conn.execute(insert(k).values(token_hash=token_hash, run_id=run_id, step=step, page=shown, created_at=now))


def _find(conn: Connection, token_hash: str, *, lock: bool = False) -> _Link | None:
    """Return the one with this token; with ``lock`` nobody else uses it before the transaction ends."""
    statement = select(k.c.id, k.c.run_id, k.c.step, k.c.used_at, k.c.page).where(k.c.token_hash == token_hash)
    row = conn.execute(statement.with_for_update() if lock else statement).one_or_none()
    return None if row is None else _Link(row.id, row.run_id, row.step, row.used_at, row.page)


def _spend(conn: Connection, link_id: int, now: datetime) -> None:
    """Mark a locked address as used."""
    conn.execute(update(k).where(k.c.id == link_id).values(used_at=now))
