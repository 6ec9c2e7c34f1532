"""Repeat requests safely: the same key and request within 24 hours have one effect and one answer."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast

from sqlalchemy import Connection, delete, select, update

from ..core.actor import Actor
from ..core.base.errors import ErrorCode, UserError
from ..core.model import Json
from ..core.rules import check_text
from ..store.db import dialect
from ..store.db.transaction import Tx
from ..store.schema.tables import idempotency_key as k


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered under a key. ``digest`` is a hash of the request."""

    operation: str
    digest: str
    answer: dict[str, Any]


def reserve(conn: Connection, key: str, operation: str, digest: str, now: datetime) -> bool:
    """Take a key for a request; False if it is taken. Waits for a transaction that is just taking it."""
    statement = dialect.insert_or_ignore(conn, k).values(
        key=key, operation=operation, request_hash=digest, answer={}, created_at=now
    )
    return conn.execute(statement.returning(k.c.key)).first() is not None


def find(conn: Connection, keys: Sequence[str]) -> dict[str, Answered]:
    """Return the answers under some keys, by key."""
    rows = conn.execute(select(k).where(k.c.key.in_(keys)))
    return {row.key: Answered(row.operation, row.request_hash, row.answer) for row in rows}


def remember(conn: Connection, key: str, answer: dict[str, Any]) -> None:
    """Keep the answer to the request that took the key."""
    conn.execute(update(k).where(k.c.key == key).values(answer=answer))


def forget_older(conn: Connection, before: datetime, limit: int, *keys: str) -> int:
    """Free up to ``limit`` keys taken before a time, the oldest first, except keys that others free now.

    Those of ``keys`` that were taken before that time are freed in any case. Returns how many were.
    """
    over = k.c.created_at < before
    oldest = select(k.c.key).where(over).order_by(k.c.created_at).limit(limit).with_for_update(skip_locked=True)
    return conn.execute(delete(k).where(k.c.key.in_(oldest) | (k.c.key.in_(keys) & over))).rowcount


T = TypeVar("T")

REMEMBERED = timedelta(hours=24)
MAX_KEY = 200
FREED = 100
"""So many keys whose time is over are freed by a request at most."""
TRIES = 3
"""Number of looks for a key that others take just then."""
OWNER = "askedBy"
"""Next to what an action keeps of its answer: whose it is."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request with an idempotency key.

    Attributes:
        key: As its sender chose it. Others may choose the same: each has keys of his own.
        digest: A hash of everything that was asked.
        owner: Who asks.
    """

    key: str
    operation: str
    digest: str
    owner: str = ""

    @property
    def keys(self) -> tuple[str, str]:
        """Under which keys it may be stored: the second where the first is somebody else's.

        The first is the key itself, so that versions before this one find it while nodes are being replaced.
        """
        return self.key, hashlib.sha256(f"{self.owner}\n{self.key}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class AnswerCodec(Generic[T]):
    """Store the answer of a request, and read it again when the request is repeated.

    Attributes:
        dump: Returns the stored part of a result, an object (ids, not whole things).
        load: Returns the result as it is now, of its stored part.
    """

    dump: Callable[[T], Json]
    load: Callable[[Tx, Json], T]


def once(tx: Tx, request: Request | None, action: Callable[[Tx], T], codec: AnswerCodec[T]) -> T:
    """Run ``action``, unless ``request`` was answered before: then recall that answer. None = just run it.

    An action that raises is not remembered: it changed nothing, and the repetition tries again.

    Raises:
        UserError: code ``IDEMPOTENCY_CONFLICT``: the key was used for another request.
    """
    if request is None:
        return action(tx)
    check_text(request.key, "idempotencyKey", least=1, most=MAX_KEY)
    # Each request takes one, and frees more: the table holds no more than a day, and no request frees all of a day.
    forget_older(tx.conn, tx.now - REMEMBERED, FREED, *request.keys)
    for _ in range(TRIES):
        known = find(tx.conn, request.keys)
        shared, own = request.keys
        answered = known.get(own) or known.get(shared)
        if answered is not None and (own in known or answered.answer.get(OWNER, request.owner) == request.owner):
            return _recalled(tx, request, answered, codec)
        key = own if shared in known else shared
        if reserve(tx.conn, key, request.operation, request.digest, tx.now):
            result = action(tx)
            remember(tx.conn, key, {**cast("dict[str, Any]", codec.dump(result)), OWNER: request.owner})
            return result
        # Somebody has just taken it, and has committed: it is found now.
    raise _conflict(request)


def _recalled(tx: Tx, request: Request, answered: Answered, codec: AnswerCodec[T]) -> T:
    if (answered.operation, answered.digest) != (request.operation, request.digest):
        raise _conflict(request)
    return codec.load(tx, {name: value for name, value in answered.answer.items() if name != OWNER})


def _conflict(request: Request) -> UserError:
    return UserError(
        f"idempotencyKey: '{request.key}' was used for another request within the last 24 hours; "
        "choose a new key for each request",
        path=("idempotencyKey",),
        code=ErrorCode.IDEMPOTENCY_CONFLICT,
    )


P = ParamSpec("P")


def acting(tx: Tx, actor: Actor, action: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``action`` in the name of ``actor``: its records go into the audit log under that name."""
    tx.actor = actor
    return action(tx, *args, **kwargs)


ACTS_FOR_ITS_SUBMITTER: Final = "graphql_request"
"""The job that acts by its arguments with the rights of an account."""


def account_of(tx: Tx) -> int | None:
    """Return the account in whose name the transaction is; None for an actor without one."""
    return None if tx.actor is None else tx.actor.account_id


def may_submit(actor: Actor | None, job_names: Iterable[str]) -> bool:
    """Return whether somebody may have these jobs act for him; see ``check_submitter``."""
    return actor is None or actor.full_rights or ACTS_FOR_ITS_SUBMITTER not in job_names


def check_submitter(tx: Tx, job_names: Iterable[str]) -> None:
    """Check that a token of a lower role than its account's does not get the account's rights through a job.

    Raises:
        UserError: code ``FORBIDDEN``.
    """
    if tx.actor is not None and not may_submit(tx.actor, job_names):
        raise UserError(
            f"job '{ACTS_FOR_ITS_SUBMITTER}' runs with all rights of the account '{tx.actor.name}', and the token has "
            f"only the role {tx.actor.role.value}; use a token of the account's own role",
            code=ErrorCode.FORBIDDEN,
        )
