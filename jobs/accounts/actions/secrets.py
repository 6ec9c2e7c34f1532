"""Change secrets. A value goes in and never comes out, but into the process that executes a job."""

from secrets import token_bytes

from ...core.base.errors import ErrorCode, InvalidInput, InvalidState
from ...core.rules import unknown
from ...store.db.transaction import Tx
from ..rules.secrets import (
    KEY_BYTES,
    NONCE_BYTES,
    KeyRing,
    Sealed,
    Secret,
    SecretKey,
    UnsealError,
    check_secret,
    proof_fault,
    seal,
    unseal,
)
from ..statements import secrets as stored_secrets

USERS_SHOWN = 5


def fresh_key() -> SecretKey:
    """Return a new key."""
    return SecretKey.of(token_bytes(KEY_BYTES))


def set_secret(tx: Tx, name: str, value: str, ring: KeyRing) -> Secret:
    """Keep a secret, new or in the place of the old value; runs that start from now on get the new value.

    Raises:
        InvalidInput: the name or the length of the value is invalid, or the value does not fit the hook, channel or
            webhook that needs it.
        InvalidState: code ``NO_ENCRYPTION_KEY``: this process has no key.
    """
    check_secret(name, value)
    before = stored_secrets.lock(tx.conn, name)
    for user in stored_secrets.hooks_and_channels(tx.conn, name):
        fault = None if user.form is None else proof_fault(user.form, value)
        if fault is not None:
            raise InvalidInput(f"value: {user.phrase} could not use it: {fault}", path=("value",))
    kept = stored_secrets.keep(tx.conn, _sealed(ring.newest, name, value), tx.now, tx.actor.name if tx.actor else "")
    # A new value changes nothing that may be shown but its key, yet that it was set is recorded.
    was = None if before is None else {"key": before.key_id, "updatedBy": before.updated_by}
    tx.record("secret.set", name, before=was, after={"key": kept.key_id, "updatedBy": kept.updated_by})
    return kept


def delete_secret(tx: Tx, name: str, *, force: bool = False) -> Secret:
    """Forget a secret; executions that need it fail from now on.

    Raises:
        NotFound: there is none of this name.
        InvalidState: code ``IN_USE``: tasks, hooks or channels refer to it, and it is not to be done nevertheless
            (``force``).
    """
    secret = stored_secrets.lock(tx.conn, name)
    if secret is None:
        raise unknown("secret", name, stored_secrets.names(tx.conn))
    users = [f"the task '{one}'" for one in stored_secrets.users(tx.conn).get(name, [])]
    users += [one.phrase for one in stored_secrets.hooks_and_channels(tx.conn, name)]
    if users and not force:
        shown = ", ".join(users[:USERS_SHOWN])
        more = f" and {len(users) - USERS_SHOWN} more" if len(users) > USERS_SHOWN else ""
        them = "it" if len(users) == 1 else "them"
        raise InvalidState(
            f"name: secret '{name}' is used by {shown}{more}; change {them} first, or use force",
            path=("name",),
            code=ErrorCode.IN_USE,
        )
    stored_secrets.delete_secret(tx.conn, name)
    tx.record("secret.deleted", name, before={"key": secret.key_id, "updatedBy": secret.updated_by})
    return secret


def reseal_all(tx: Tx, ring: KeyRing) -> int:
    """Encrypt every secret that is under an older key with the newest one; return how many these were.

    Raises:
        InvalidState: code ``NO_ENCRYPTION_KEY``: this process has no key; ``UNREADABLE``: one secret cannot be
            decrypted, and nothing is changed.
    """
    newest = ring.newest
    older = {name: one for name, one in stored_secrets.lock_all(tx.conn).items() if one.key_id != newest.id}
    for name, one in older.items():
        try:
            value = unseal(ring, one)
        except UnsealError as error:
            raise InvalidState(str(error), code=ErrorCode.UNREADABLE) from None
        stored_secrets.reseal(tx.conn, _sealed(newest, name, value))
    if older:
        tx.record("secret.key_rotated", None, after={"key": newest.id, "secrets": len(older)})
    return len(older)


def _sealed(key: SecretKey, name: str, value: str) -> Sealed:
    return seal(key, name, value, token_bytes(NONCE_BYTES))
