"""Passkeys: made by who has signed in, and signed in with. The signature is checked outside of the transaction."""

from dataclasses import dataclass
from typing import Final

from ...core.actor import Actor, Role
from ...core.base.errors import AlreadyExists, InvalidState, NotFound
from ...core.rules import check_name
from ...store.db.transaction import Tx
from ..rules.accounts import Account
from ..rules.credentials import CHALLENGE_THROTTLE, MAX_PASSKEYS, Ceremony, DeviceKey, Passkey, challenge_subject
from ..statements import accounts
from ..statements import identities as stored_identities
from .accounts import count_try, name_of, take_back
from .providers import keep_a_login_method
from .sessions import MAX_ADDRESS, ClientInfo, start

UNKNOWN: Final = "(unknown passkey)"


@dataclass(frozen=True, slots=True)
class Proof:
    """Hold a browser's proof, of which only the form was checked.

    Attributes:
        challenge_hash: The stored form of the challenge that was signed.
        bound_to: The stored form of the secret in the browser's cookie.
        credential_id: Of the passkey, in base64url.
    """

    challenge_hash: str
    bound_to: str
    credential_id: str


def begin_sign_in(tx: Tx, challenge_hash: str, bound_to: str, place: ClientInfo) -> float:
    """Keep a challenge for a browser in which nobody has signed in; return seconds to wait if it asked too often."""
    wait = count_try(tx, [(challenge_subject(place.address), CHALLENGE_THROTTLE)])
    if wait == 0:
        stored_identities.replace_challenge(tx.conn, challenge_hash, bound_to, Ceremony.SIGN_IN, tx.now, None)
    return wait


def claim(tx: Tx, proof: Proof) -> Passkey | None:
    """Spend the challenge of a sign-in, and find the passkey; None if the one is not good or the other not known."""
    if not stored_identities.spend_challenge(tx.conn, proof.challenge_hash, proof.bound_to, Ceremony.SIGN_IN, tx.now):
        return None
    return stored_identities.by_credential(tx.conn, proof.credential_id)


def succeed(tx: Tx, passkey: Passkey, sign_count: int, token_hash: str, place: ClientInfo) -> Account | None:
    """Begin a session after a good signature: whose; None if he is disabled, or the passkey gone or used meanwhile."""
    account = accounts.by_id(tx.conn, passkey.account_id)
    if account is None or account.disabled_at is not None:
        return None
    if not stored_identities.use_passkey(tx.conn, passkey, sign_count, tx.now):
        return None
    take_back(tx, challenge_subject(place.address), CHALLENGE_THROTTLE)
    start(tx, account, token_hash, place, by="passkey")
    return account


def fail(tx: Tx, passkey: Passkey | None, place: ClientInfo) -> None:
    """Note a failed sign-in."""
    name = name_of(tx, passkey.account_id) if passkey else None
    tx.actor = Actor("(nobody)", Role.VIEWER, address=place.address[:MAX_ADDRESS])
    tx.record("sign_in.failed", name or UNKNOWN, after={"by": "passkey"})


def begin_registration(tx: Tx, challenge_hash: str, bound_to: str, account_id: int) -> list[Passkey]:
    """Keep a challenge for a new passkey; return the passkeys that the account has.

    Raises:
        InvalidState: it has as many as there may be.
    """
    mine = _with_room(tx, account_id)
    stored_identities.replace_challenge(tx.conn, challenge_hash, bound_to, Ceremony.REGISTER, tx.now, account_id)
    return mine


def spend_registration(tx: Tx, challenge_hash: str, bound_to: str) -> bool:
    """Spend the challenge of a new passkey; False if it is not good."""
    return stored_identities.spend_challenge(tx.conn, challenge_hash, bound_to, Ceremony.REGISTER, tx.now)


def register(tx: Tx, account_id: int, new: DeviceKey, name: str) -> Passkey:
    """Keep a passkey whose proof was good.

    Raises:
        AlreadyExists: it is registered.
        InvalidInput: its name cannot be one.
        InvalidState: the account has as many as there may be.
    """
    check_name(name)
    _with_room(tx, account_id)
    made = stored_identities.insert_passkey(tx.conn, account_id, new, name, tx.now)
    if made is None:
        raise AlreadyExists("passkey: it is registered already; sign in with it, or choose another device")
    tx.record("passkey.created", name_of(tx, account_id), after=_described(made))
    return made


def rename(tx: Tx, passkey_id: int, account_id: int, name: str) -> Passkey:
    """Call a passkey something else.

    Raises:
        InvalidInput: the name cannot be one.
        NotFound: the account has no such passkey.
    """
    check_name(name)
    renamed = stored_identities.rename_passkey(tx.conn, passkey_id, account_id, name)
    if renamed is None:
        raise _missing(passkey_id)
    tx.record("passkey.renamed", name_of(tx, account_id), after=_described(renamed))
    return renamed


def delete(tx: Tx, passkey_id: int, account_id: int) -> Passkey:
    """Forget a passkey, unless its account could not sign in any more.

    Raises:
        InvalidState: code ``LAST_WAY_IN``: it has no password and no other passkey.
        NotFound: the account has no such passkey.
    """
    accounts.lock(tx.conn, account_id)
    deleted = stored_identities.delete_passkey(tx.conn, passkey_id, account_id)
    if deleted is None:
        raise _missing(passkey_id)
    keep_a_login_method(tx, account_id, deleted.name)
    tx.record("passkey.deleted", name_of(tx, account_id), before=_described(deleted))
    return deleted


def _with_room(tx: Tx, account_id: int) -> list[Passkey]:
    mine = stored_identities.passkeys_of(tx.conn, [account_id])
    if len(mine) >= MAX_PASSKEYS:
        raise InvalidState(f"passkey: this account has {MAX_PASSKEYS}, the most there may be; delete one first")
    return mine


def _missing(passkey_id: int) -> NotFound:
    return NotFound(f"id: this account has no passkey {passkey_id}", path=("id",))


def _described(passkey: Passkey) -> dict[str, str | int]:
    return {"id": passkey.id, "name": passkey.name}
