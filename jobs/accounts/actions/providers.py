"""Signing in by a provider: people are identified by issuer and subject, never by name or e-mail address.

Also the rule that one way into an account stays: a password, a passkey, or an identity at a provider.
"""

from ...core.actor import Actor, Role
from ...core.base.errors import AlreadyExists, ErrorCode, InvalidState, NotFound, UserError
from ...store.db.transaction import Tx
from ..rules.accounts import Account, Profile, ProviderAttempt, ProviderIdentity
from ..rules.credentials import CHALLENGE_THROTTLE, challenge_subject
from ..statements import accounts, identities
from .accounts import add_account, count_try, name_of, set_role, take_back
from .sessions import MAX_ADDRESS, ClientInfo, start


def begin(
    tx: Tx, state_hash: str, bound_to: str, provider: str, attempt: ProviderAttempt, *, place: ClientInfo
) -> float:
    """Keep a sign-in that goes on at a provider; return seconds to wait if this address began too many."""
    wait = count_try(tx, [(challenge_subject(place.address), CHALLENGE_THROTTLE)])
    if wait == 0:
        identities.insert_attempt(tx.conn, state_hash, bound_to, provider, attempt, tx.now)
    return wait


def come_back(tx: Tx, state_hash: str, bound_to: str, provider: str) -> ProviderAttempt | None:
    """Spend a sign-in that comes back; None if it was not begun here by this browser, is old or was spent."""
    return identities.spend_attempt(tx.conn, state_hash, bound_to, provider, tx.now)


def sign_in(tx: Tx, profile: Profile, token_hash: str, place: ClientInfo) -> Account:
    """Begin a session for whom a provider has seen; the role that the provider gives becomes that of the account.

    Raises:
        UserError: ``NO_ACCOUNT``: nobody is known by that identity, and accounts are not made for new people;
            ``ACCOUNT_DISABLED``.
        AlreadyExists, InvalidInput: an account for them cannot have their name.
        InvalidState: ``LAST_ADMINISTRATOR``: the provider takes a role that nobody else has.
    """
    tx.actor = Actor(f"({profile.provider})", Role.VIEWER, address=place.address[:MAX_ADDRESS])
    identity = identities.by_subject(tx.conn, profile.issuer, profile.subject)
    account = _sign_up(tx, profile) if identity is None else accounts.by_id(tx.conn, identity.account_id)
    assert account is not None, "an identity goes with its account"
    if account.disabled_at is not None:
        raise UserError(f"account '{account.name}' is disabled; ask an administrator", code=ErrorCode.ACCOUNT_DISABLED)
    if profile.role is not None:
        account = set_role(tx, account.name, profile.role)
    if identity is not None:
        identities.use_identity(tx.conn, identity.id, tx.now)
    take_back(tx, challenge_subject(place.address), CHALLENGE_THROTTLE)
    start(tx, account, token_hash, place, by=profile.provider)
    return account


def fail(tx: Tx, provider: str, code: str, place: ClientInfo) -> None:
    """Note a failed sign-in."""
    tx.actor = Actor("(nobody)", Role.VIEWER, address=place.address[:MAX_ADDRESS])
    tx.record("sign_in.failed", f"({provider})", after={"by": provider, "code": code})


def connect(tx: Tx, account_id: int, profile: Profile) -> ProviderIdentity:
    """Let an account sign in by an identity from now on.

    Raises:
        AlreadyExists: another account does, or this one.
    """
    made = identities.insert_identity(tx.conn, account_id, profile, tx.now)
    if made is None:
        raise AlreadyExists(f"{profile.provider}: this identity is connected to an account already")
    tx.record("identity.connected", name_of(tx, account_id), after=_described(made))
    return made


def disconnect(tx: Tx, identity_id: int, account_id: int) -> ProviderIdentity:
    """Let an account not sign in by an identity any more, unless it could not sign in at all.

    Raises:
        InvalidState: code ``LAST_WAY_IN``.
        NotFound: the account has no such identity.
    """
    accounts.lock(tx.conn, account_id)
    gone = identities.delete_identity(tx.conn, identity_id, account_id)
    if gone is None:
        raise NotFound(f"id: this account has no identity {identity_id}", path=("id",))
    keep_a_login_method(tx, account_id, gone.provider)
    tx.record("identity.disconnected", name_of(tx, account_id), before=_described(gone))
    return gone


def _sign_up(tx: Tx, profile: Profile) -> Account:
    if not profile.may_sign_up or profile.name is None:
        raise UserError(
            "nobody here is known by this identity; sign in another way and connect it on the page of your account, "
            "or ask an administrator for an account",
            code=ErrorCode.NO_ACCOUNT,
        )
    if accounts.by_name(tx.conn, profile.name) is not None:
        # A person who can choose a name at the provider must not get the account of that name.
        raise InvalidState(
            f"an account '{profile.name}' exists already; sign in to it another way and connect this identity there",
            code=ErrorCode.ALREADY_EXISTS,
        )
    account = add_account(tx, profile.name, profile.role or Role.VIEWER)
    connect(tx, account.id, profile)
    return account


def _described(identity: ProviderIdentity) -> dict[str, str | int]:
    return {"id": identity.id, "provider": identity.provider, "issuer": identity.issuer, "subject": identity.subject}


def keep_a_login_method(tx: Tx, account_id: int, taken: str) -> None:
    """Refuse a change that has just removed the last way into an account; the caller's transaction is undone by that.

    Args:
        tx: The transaction, in which the account is locked: two that take the last two must not see each the other.
        taken: The owner's name for the removed way.

    Raises:
        InvalidState: code ``LAST_WAY_IN``.
    """
    account = accounts.by_id(tx.conn, account_id)
    mine = [account_id]
    if account is not None and account.has_password:
        return
    if not identities.passkeys_of(tx.conn, mine) and not identities.identities_of(tx.conn, mine):
        raise InvalidState(
            f"id: '{taken}' is the last way into this account; set a password or add a passkey first",
            path=("id",),
            code=ErrorCode.LAST_WAY_IN,
        )
