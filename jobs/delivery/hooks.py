"""Keep hooks, and start the runs that requests to them ask for: statements and actions."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from ..accounts.rules.secrets import KeyRing, UnsealError, proof_fault, unseal
from ..accounts.statements.secrets import check_proofs, sealed
from ..actions.idempotent import ACTS_FOR_ITS_SUBMITTER, AnswerCodec, Request, acting, once
from ..actions.runs import published, trigger, triggered
from ..core.actor import Actor, Role, argument_names
from ..core.base.errors import InvalidInput, InvalidState, NotFound, refuse
from ..core.base.times import EARLIEST
from ..core.model import Json, Run, Trigger
from ..core.rules import unknown_job
from ..queue.enqueue.requests import args_text
from ..store.db.dialect import database_now
from ..store.db.transaction import Clock, Tx
from ..store.schema.delivery import hook as h
from ..store.schema.rows import reader_of
from ..store.statements.listing.keyset import OrderKey
from ..store.statements.listing.listing import Listing, columns
from ..store.statements.runs import by_ids
from . import read
from .inbound import MAX_HOOKS, NAME, Hook, HookKind, hook_faults
from .named import Named, insert
from .named import locked as locked_by_name

hook_from = reader_of(Hook, {"kind": HookKind, "secrets": tuple})
HOOKS: Final[Listing[Hook]] = Listing(
    name="hooks",
    rows=select(h),
    key=h.c.name,
    fields=columns(h, "name job_name kind enabled created_at updated_at"),
    order=(OrderKey("name"),),
    model=hook_from,
)


def _values(hook: Hook) -> dict[str, object]:
    plain = "name job_name argument description enabled version created_at created_by updated_at set_name"
    values: dict[str, object] = {name: getattr(hook, name) for name in plain.split()}
    return {**values, "kind": hook.kind.value, "secrets": list(hook.secrets)}


NAMED: Final = Named("hook", h, hook_from, _values)


def new_hook(name: str, job_name: str, kind: HookKind, **chosen: Any) -> Hook:  # noqa: ANN401 - fields of a hook
    """Return a hook as ``create_hook`` takes it."""
    return Hook(name, job_name, kind, **chosen, version=1, created_at=EARLIEST, created_by="", updated_at=EARLIEST)


def create_hook(tx: Tx, hook: Hook, ring: KeyRing) -> Hook:
    """Keep a new hook.

    Raises:
        InvalidInput: of its values, or of the value of a secret.
        NotFound: there is no secret of a name.
        UserError: code ``UNKNOWN_JOB``.
        InvalidState: there are too many hooks.
        AlreadyExists: its name is taken.
    """
    _check(tx, hook, ring)
    if read.count(tx.conn, "hooks") >= MAX_HOOKS:
        raise InvalidState(f"there are {MAX_HOOKS} hooks, the most there may be; delete one first")
    kept = insert(NAMED, tx.conn, replace(hook, created_at=tx.now, created_by=tx.by, updated_at=tx.now))
    tx.record("hook.created", kept.name, after=_described(kept))
    return kept


_HARMLESS: Final = frozenset({"description", "enabled", "set_name"})
"""Changes for which a job or a secret that is gone does not matter."""


def update_hook(tx: Tx, name: str, changes: Mapping[str, Any], ring: KeyRing, *, expected: int | None = None) -> Hook:
    """Change values of a hook.

    Raises:
        InvalidInput, NotFound, UserError: see ``create_hook``.
        VersionConflict: it is at another version than the caller expects.
    """
    before = locked_by_name(NAMED, tx, name, expected)
    wanted = replace(before, **changes, version=before.version + 1, updated_at=tx.now)
    refuse(hook_faults(wanted))
    if not changes.keys() <= _HARMLESS:
        _check(tx, wanted, ring)
    after = NAMED.update(tx.conn, wanted)
    tx.record("hook.changed", name, before=_described(before), after=_described(after))
    return after


def delete_hook(tx: Tx, name: str, *, expected: int | None = None) -> Hook:
    """Delete a hook; its address is unknown from then on.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
    """
    hook = locked_by_name(NAMED, tx, name, expected)
    NAMED.delete(tx.conn, name)
    tx.record("hook.deleted", name, before=_described(hook))
    return hook


def _check(tx: Tx, hook: Hook, ring: KeyRing) -> None:
    refuse(hook_faults(hook))
    if hook.job_name == ACTS_FOR_ITS_SUBMITTER:
        message = f"jobName: '{ACTS_FOR_ITS_SUBMITTER}' acts with the rights of an account, and a request has none"
        raise InvalidInput(message, path=("jobName",))
    schemas = published(tx, {hook.job_name})
    if hook.job_name not in schemas:
        raise unknown_job(hook.job_name, list(schemas))
    known = schemas[hook.job_name].args_schema.get("properties", {})
    if hook.argument is not None and hook.argument not in known:
        shown = ", ".join(known) or "none"
        raise InvalidInput(
            f"argument: job '{hook.job_name}' has no argument '{hook.argument}'; its arguments: {shown}",
            path=("argument",),
        )
    check_proofs(tx.conn, hook.kind, hook.secrets, ring)


def _described(hook: Hook) -> dict[str, Json]:
    return {
        "jobName": hook.job_name,
        "kind": hook.kind.value,
        "secrets": list(hook.secrets),
        "argument": hook.argument,
        "enabled": hook.enabled,
    }


class Addressed(NamedTuple):
    """A hook that takes requests, with the values of its secrets; None = they cannot be used, for this reason."""

    hook: Hook
    secrets: list[str] | None
    fault: str | None
    now: datetime


def addressed(conn: Connection, name: str, ring: KeyRing, clock: Clock | None) -> Addressed:
    """Return the hook behind an address.

    Raises:
        NotFound: there is none of this name, or it is disabled.
    """
    hook = NAMED.find(conn, name) if NAME.fullmatch(name) else None
    if hook is None or not hook.enabled:
        raise NotFound("There is no hook of this name, or it is disabled.", path=("name",))
    found, now = sealed(conn, hook.secrets), database_now(conn) if clock is None else clock()
    try:
        values = [unseal(ring, found[one]) for one in hook.secrets if one in found]
    except UnsealError as error:
        return Addressed(hook, None, str(error), now)
    usable = [one for one in values if proof_fault(hook.kind, one) is None]
    fault = None if usable else f"none of the secrets {', '.join(hook.secrets)} can be used"
    return Addressed(hook, usable or None, fault, now)


_ONE_RUN: Final[AnswerCodec[int]] = AnswerCodec(dump=lambda run_id: {"run": run_id}, load=lambda _, kept: kept["run"])


def receive(
    tx: Tx, hook: Hook, payload: Json, body: bytes, key: str | None, *, address: str | None
) -> tuple[int, Run | None]:
    """Start the run that a proven request asks for; a repetition of the request starts none.

    Args:
        payload: The content of the body.
        body: The body as it came.
        key: The sender's id of the request; None = each request is another one.
        address: The network address of the sender, for the audit log.

    Returns:
        The id of the run, and the run unless it has been pruned.

    Raises:
        UserError: the payload does not fit the job, or its queue is full.
    """
    request = key and Request(key, "hook", hashlib.sha256(body).hexdigest(), f"hook {hook.name}")
    actor = Actor(f"hook {hook.name}", Role.OPERATOR, address=address, full_rights=False)
    run_id = acting(tx, actor, once, request or None, partial(_start, hook, payload), _ONE_RUN)
    return run_id, by_ids(tx.conn, [run_id]).get(run_id)


def _start(hook: Hook, payload: Json, tx: Tx) -> int:
    args = hook.args(payload)
    args_text(args)
    run = triggered(hook.job_name, args, None, f"hook {hook.name}", None)
    made = trigger(tx, replace(run, trigger=Trigger.HOOK)).run
    tx.record("hook.received", hook.name, after={"runId": str(made.id), "args": argument_names(args)})
    return made.id
