"""Read and change secrets: names, users, and encrypted values for those that decrypt them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Text, cast, delete, select, update

from ...core.arguments.secrets import REFERENCE, references
from ...core.base.errors import ErrorCode, InvalidInput, InvalidState
from ...core.rules import unknown
from ...store.db import dialect
from ...store.schema.rows import reader_of
from ...store.schema.tables import channel, hook
from ...store.schema.tables import periodic_task as t
from ...store.schema.tables import secret as s
from ...store.statements.listing.keyset import OrderKey
from ...store.statements.listing.listing import Listing, columns
from ..rules.secrets import STANDARD, KeyRing, Sealed, Secret, UnsealError, proof_fault, unseal


def everything(conn: Connection) -> list[Secret]:
    """Return all secrets, by name."""
    return [secret_from(row) for row in conn.execute(select(s).order_by(s.c.name))]


def sealed(conn: Connection, names: Collection[str]) -> dict[str, Sealed]:
    """Return the encrypted values of those of these secrets that exist, by name."""
    statement = select(s.c.name, s.c.key_id, s.c.sealed).where(s.c.name.in_(names))
    return {row.name: Sealed(*row) for row in conn.execute(statement)}


def names(conn: Connection) -> list[str]:
    """Return the names of all secrets."""
    return list(conn.execute(select(s.c.name).order_by(s.c.name)).scalars())


def users(conn: Connection) -> dict[str, list[str]]:
    """Return the names of the tasks whose arguments refer to each secret, by the secret's name."""
    found: dict[str, list[str]] = {}
    mentions = cast(t.c.args, Text).contains(f'"{REFERENCE}"', autoescape=True)
    for task, args in conn.execute(select(t.c.name, t.c.args).where(mentions).order_by(t.c.name)):
        for name in references(args):
            found.setdefault(name, []).append(task)
    return found


class User(NamedTuple):
    """A hook, channel or webhook that refers to a secret.

    Attributes:
        phrase: Names it in a sentence.
        form: The form in which the secret proves who sends requests; None = it proves nothing.
    """

    phrase: str
    form: str | None


def hooks_and_channels(conn: Connection, name: str) -> list[User]:
    """Return the hooks, channels and webhooks that refer to a secret."""
    hooks = conn.execute(select(hook.c.name, hook.c.kind, hook.c.secrets).order_by(hook.c.name))
    is_webhook = channel.c.document.is_not(None)
    channels = conn.execute(select(channel.c.name, channel.c.settings, is_webhook).order_by(channel.c.name))
    found = [User(f"the hook '{one}'", kind) for one, kind, secrets in hooks if name in secrets]
    for one, settings, webhook in channels:
        if name in references(settings):
            form = STANDARD if name in references(settings.get("secrets", [])) else None
            found.append(User(f"the {'webhook' if webhook else 'channel'} '{one}'", form))
    return found


def check_proofs(
    conn: Connection, form: str, wanted: Sequence[str], ring: KeyRing, path: tuple[str, ...] = ("secrets",)
) -> None:
    """Judge the values of secrets that are to prove who sends requests, in the form of a hook or webhook.

    Raises:
        InvalidInput: a value cannot; it has ``path`` and the place of the secret.
        NotFound: there is none of a name.
        InvalidState: code ``UNREADABLE``: this process cannot decrypt one.
    """
    found = sealed(conn, wanted)
    for place, name in enumerate(wanted):
        if name not in found:
            raise unknown("secret", name, names(conn), field="secrets")
        try:
            fault = proof_fault(form, unseal(ring, found[name]))
        except UnsealError as error:
            raise InvalidState(str(error), code=ErrorCode.UNREADABLE) from None
        if fault is not None:
            raise InvalidInput(f"secrets: '{name}': {fault}", path=(*path, str(place)))


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


def lock(conn: Connection, name: str) -> Secret | None:
    """Return a secret that nobody else changes before this transaction ends."""
    row = conn.execute(select(s).where(s.c.name == name).with_for_update()).one_or_none()
    return None if row is None else secret_from(row)


def lock_all(conn: Connection) -> dict[str, Sealed]:
    """Return all encrypted values, which nobody else changes before this transaction ends, by name."""
    statement = select(s.c.name, s.c.key_id, s.c.sealed).order_by(s.c.name).with_for_update()
    return {row.name: Sealed(*row) for row in conn.execute(statement)}


def keep(conn: Connection, sealed: Sealed, now: datetime, by: str) -> Secret:
    """Set a secret, whether it was there or not."""
    values = {"name": sealed.name, "sealed": sealed.text, "key_id": sealed.key_id, "updated_at": now, "updated_by": by}
    statement = dialect.upsert(conn, s, ["name"], ["sealed", "key_id", "updated_at", "updated_by"])
    row = conn.execute(statement.values(**values, created_at=now, created_by=by).returning(s)).one()
    return secret_from(row)


def reseal(conn: Connection, sealed: Sealed) -> None:
    """Store the same value under another key."""
    conn.execute(update(s).where(s.c.name == sealed.name).values(sealed=sealed.text, key_id=sealed.key_id))


def delete_secret(conn: Connection, name: str) -> None:
    """Delete a secret."""
    conn.execute(delete(s).where(s.c.name == name))
