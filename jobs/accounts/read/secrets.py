"""Secrets: which there are, who uses them, and their encrypted values for those that decrypt them."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, Text, cast, select

from ...core.arguments.secrets import REFERENCE, references
from ...store.read.listing.keyset import OrderKey
from ...store.read.listing.listing import Listing, columns
from ...store.schema.rows import reader_of
from ...store.schema.tables import channel, hook
from ...store.schema.tables import periodic_task as t
from ...store.schema.tables import secret as s
from ..rules.secrets import Secret


@dataclass(frozen=True, slots=True)
class Sealed:
    """An encrypted value and the key it needs."""

    key_id: str
    text: str


def everything(conn: Connection) -> list[Secret]:
    """All secrets, by name."""
    return [secret_from(row) for row in conn.execute(select(s).order_by(s.c.name))]


def sealed(conn: Connection, names: Collection[str]) -> dict[str, Sealed]:
    """The encrypted values of those of these secrets that exist, by name."""
    statement = select(s.c.name, s.c.key_id, s.c.sealed).where(s.c.name.in_(names))
    return {name: Sealed(key_id, text) for name, key_id, text in conn.execute(statement)}


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
    """Return the hooks and channels that refer to a secret, as a sentence names them."""
    hooks = conn.execute(select(hook.c.name, hook.c.secrets).order_by(hook.c.name))
    channels = conn.execute(select(channel.c.name, channel.c.settings).order_by(channel.c.name))
    found = [f"the hook '{one}'" for one, secrets in hooks if name in secrets]
    return found + [f"the channel '{one}'" for one, settings in channels if name in references(settings)]


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
