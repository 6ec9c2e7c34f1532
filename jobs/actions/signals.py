"""Signals to runs: put into the run's box, where its next wait of that name takes them."""

from dataclasses import replace

from ..core.actor import RANK
from ..core.arguments.judging import value_faults
from ..core.base.errors import ErrorCode, InvalidInput, InvalidState, UserError, refuse
from ..core.model import Run
from ..core.rules import MAX_REASON, check_text, unknown
from ..core.states import FINAL
from ..core.waits import MAX_BOX, Signal, check_box, stored_payload
from ..queue import waits
from ..store.db.transaction import Tx


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
    """Let a signal pass that fits the wait which takes it next, if that has begun.

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
