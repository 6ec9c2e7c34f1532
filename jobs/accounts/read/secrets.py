"""Secrets: which there are, who uses them, and their encrypted values for those that decrypt them."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Text, cast, select

from ...core.arguments.secrets import REFERENCE, references
from ...core.base.errors import ErrorCode, InvalidState
from ...core.rules import unknown
from ...store.read.listing.keyset import OrderKey
from ...store.read.listing.listing import Listing, columns
from ...store.schema.rows import reader_of
from ...store.schema.tables import channel, hook
from ...store.schema.tables import periodic_task as t
from ...store.schema.tables import secret as s
from ..rules.secrets import KeyRing, Sealed, Secret, UnsealError, unseal


def everything(conn: Connection) -> list[Secret]:
    """All secrets, by name."""
    return [secret_from(row) for row in conn.execute(select(s).order_by(s.c.name))]


def sealed(conn: Connection, names: Collection[str]) -> dict[str, Sealed]:
    """The encrypted values of those of these secrets that exist, by name."""
    statement = select(s.c.name, s.c.key_id, s.c.sealed).where(s.c.name.in_(names))
    return {row.name: Sealed(*row) for row in conn.execute(statement)}


def names(conn: Connection) -> list[str]:
    """The names of all secrets."""
    return list(conn.execute(select(s.c.name).order_by(s.c.name)).scalars())


def users(conn: Connection) -> dict[str, list[str]]:
    """The names of the tasks whose arguments refer to each secret, by the secret's name."""
    found: dict[str, list[str]] = {}
    mentions = cast(t.c.args, Text).contains(f'"{REFERENCE}"', autoescape=True)
    for task, args in conn.execute(select(t.c.name, t.c.args).where(mentions).order_by(t.c.name)):
        for name in references(args):
            found.setdefault(name, []).append(task)
    return found


def hooks_and_channels(conn: Connection, name: str) -> list[str]:
    """Return the hooks, channels and webhooks that refer to a secret, as a sentence names them."""
    hooks = conn.execute(select(hook.c.name, hook.c.secrets).order_by(hook.c.name))
    is_webhook = channel.c.document.is_not(None)
    channels = conn.execute(select(channel.c.name, channel.c.settings, is_webhook).order_by(channel.c.name))
    found = [f"the hook '{one}'" for one, secrets in hooks if name in secrets]
    users = [row for row in channels if name in references(row[1])]
    return found + [f"the {'webhook' if webhook else 'channel'} '{one}'" for one, _, webhook in users]


def opened(conn: Connection, wanted: Sequence[str], ring: KeyRing) -> list[str]:
    """Return the values of secrets, for judging them.

    Raises:
        NotFound: there is none of a name.
        InvalidState: code ``UNREADABLE``: this process cannot decrypt one.
    """
    found = sealed(conn, wanted)
    for name in wanted:
        if name not in found:
            raise unknown("secret", name, names(conn), field="secrets")
    try:
        return [unseal(ring, found[name]) for name in wanted]
    except UnsealError as error:
        raise InvalidState(str(error), code=ErrorCode.UNREADABLE) from None


secret_from = reader_of(Secret)
"""The secret behind a row."""

SECRETS: Listing[Secret] = Listing(
    name="secrets",
    rows=select(s),
    key=s.c.name,
    fields=columns(s, "name key_id created_at created_by updated_at updated_by"),
    order=(OrderKey("name"),),
    model=secret_from,
)
"""All secrets, by name."""
