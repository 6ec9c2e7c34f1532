"""Requests that may be repeated: the same key and request within 24 hours have one effect and one answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from ..core.base.codes import ErrorCode
from ..core.base.errors import UserError
from ..core.model import Json
from ..core.rules import check_text
from ..store.db.transaction import Tx
from ..store.write import idempotency

T = TypeVar("T")

REMEMBERED = timedelta(hours=24)
MAX_KEY = 200
FREED = 100
"""So many keys whose time is over are freed by a request at most."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request with an idempotency key. ``digest`` is a hash of everything that was asked."""

    key: str
    operation: str
    digest: str


@dataclass(frozen=True, slots=True)
class AnswerCodec(Generic[T]):
    """How the answer of a request is kept, and read again when the request is repeated.

    Attributes:
        dump: What of a result is stored (ids, not whole objects).
        load: The result as it is now, behind what was stored.
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
    idempotency.forget_older(tx.conn, tx.now - REMEMBERED, FREED, request.key)
    if idempotency.reserve(tx.conn, request.key, request.operation, request.digest, tx.now):
        result = action(tx)
        idempotency.remember(tx.conn, request.key, codec.dump(result))
        return result
    answered = idempotency.find(tx.conn, request.key)
    if answered is None or (answered.operation, answered.digest) != (request.operation, request.digest):
        raise UserError(
            f"idempotencyKey: '{request.key}' was used for another request within the last 24 hours; "
            "choose a new key for each request",
            path=("idempotencyKey",),
            code=ErrorCode.IDEMPOTENCY_CONFLICT,
        )
    return codec.load(tx, answered.answer)
