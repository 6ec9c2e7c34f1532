"""Read the secrets that the arguments of an attempt refer to."""

from collections.abc import Collection

from ...accounts.rules.secrets import Sealed, UnsealError, unseal
from ...accounts.statements import secrets as stored_secrets
from ...base.services import Services
from ...core.base.errors import ConfigurationError
from ...core.outcome import Failed, HandedBack
from ...core.rules import unknown
from ...store.db.database import Connection
from ...store.db.faults import ErrorKind, kind_of
from .results import message_of

UNAVAILABLE = "SecretUnavailable"
"""The error type of an attempt without its secrets. It is retried: someone may set the secret, a node have its key."""


async def read_secrets(services: Services, names: Collection[str]) -> dict[str, str] | Failed | HandedBack:
    """Return the values of secrets by name, or how the attempt ends without them."""
    try:
        sealed, known = await services.database.read(_sealed, names)
    except Exception as error:
        # The database is in the way and not the job: even where a table is missing, an operator may bring it back.
        if kind_of(error) is ErrorKind.REFUSAL:
            raise
        return HandedBack(f"its secrets could not be read: {message_of(error)}")
    missing = next((name for name in sorted(names) if name not in sealed), None)
    if missing is not None:
        return Failed(UNAVAILABLE, unknown("secret", missing, known).message)
    try:
        ring = services.keys()
        return {name: unseal(ring, one) for name, one in sealed.items()}
    except (UnsealError, ConfigurationError) as error:
        return Failed(UNAVAILABLE, str(error))


def _sealed(conn: Connection, names: Collection[str]) -> tuple[dict[str, Sealed], list[str]]:
    found = stored_secrets.sealed(conn, names)
    return found, stored_secrets.names(conn) if len(found) < len(names) else []
