"""Django's own connection, for statements of ours that belong to the transaction that Django has open."""
# Django has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction

from ...jobs.core.base.errors import UserError
from ...jobs.store.db.callers.lent import lent

if TYPE_CHECKING:
    from ...jobs.queue.enqueue.enqueue import Transaction


@contextmanager
def joined(alias: str) -> "Generator[Transaction]":
    """A connection whose statements belong to the transaction of one of Django's databases; one begins if none is open.

    Args:
        alias: Of the database in ``DATABASES``.

    Raises:
        ImproperlyConfigured: Django speaks to it by another driver than psycopg 3.
        UserError: as the block raised it.
    """
    refused: UserError | None = None
    # Of an error of the database Django learns as of its own: what follows is refused, and all is rolled back.
    block: Any = transaction.atomic(using=alias, savepoint=False)
    with block:
        connection: Any = connections[alias]
        connection.ensure_connection()
        driver = connection.connection
        if connection.vendor != "sqlite" and not isinstance(driver, psycopg.Connection):
            raise ImproperlyConfigured(
                f"CRONOGRAPH['DATABASE']: must be reached by psycopg 3, got '{alias}' by {type(driver).__module__}"
            )
        try:
            with lent(driver) as conn:
                yield conn
        except UserError as error:
            # Nothing was sent, or it was taken back: the transaction goes on.
            refused = error
    if refused is not None:
        raise refused
