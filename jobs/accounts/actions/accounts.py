"""Make accounts, change their role or password, disable, set up and recover them; slow down guesses."""

from collections.abc import Callable, Sequence
from datetime import datetime
from secrets import token_bytes

from ...core.actor import Role
from ...core.base.errors import AlreadyExists, ErrorCode, InvalidState, UserError
from ...core.rules import unknown
from ...store.db.transaction import Tx, Wake
from ..rules.accounts import LINK_LIFETIME, Account, check_account_name, look_of, name_key
from ..rules.credentials import (
    ENTROPY_BYTES,
    Prefix,
    ThrottlePolicy,
    account_subject,
    counted_failures,
    new_secret,
    pause_after,
)
from ..statements import accounts, sessions
from ..statements import accounts as stored_accounts
from ..statements.accounts import Failures, Purpose


def add_account(tx: Tx, name: str, role: Role, password_hash: str | None = None) -> Account:
    """Make an account.

    Raises:
        InvalidInput: the name cannot be one.
        AlreadyExists: one of this name exists, perhaps in other letters, or one that looks like it.
    """
    stored = check_account_name(name)
    twin = _twin(tx, stored)
    if twin is not None:
        raise AlreadyExists(
            f"name: '{stored}' looks like the account '{twin}', and people would take one for the other; "
            "choose another name",
            path=("name",),
        )
    account = stored_accounts.insert_account(tx.conn, stored, role, password_hash, tx.now)
    if account is None:
        raise AlreadyExists(
            f"name: an account '{stored}' exists already (upper and lower case are the same); choose another name",
            path=("name",),
        )
    tx.record("account.created", stored, after={"role": role.value, "password": password_hash is not None})
    return account


def _twin(tx: Tx, name: str) -> str | None:
    """Return the account whose name looks the same as a new one; that of the same name does not count."""
    look, key = look_of(name), name_key(name)
    alike = (one for one in stored_accounts.names(tx.conn) if look_of(one) == look)
    return next((one for one in alike if name_key(one) != key), None)


def set_role(tx: Tx, name: str, role: Role) -> Account:
    """Change the role of an account. Its sign-ins end, so that none goes on with the old rights.

    Raises:
        NotFound: there is no such account.
        InvalidState: code ``LAST_ADMINISTRATOR``: nobody would be left who can administrate.
    """
    account = the_account(tx, name)
    if account.role is role:
        return account
    _keep_an_administrator(tx, account)
    changed = stored_accounts.change(tx.conn, account.id, role=role.value)
    sessions.delete_sessions_of(tx.conn, account.id, tx.now)
    tx.wake(Wake.RIGHTS)
    tx.record("account.role", account.name, before={"role": account.role.value}, after={"role": role.value})
    return changed


def disable(tx: Tx, name: str) -> Account:
    """Disable an account: nobody can sign in with it, its sessions end, and its tokens are not valid meanwhile.

    Raises:
        NotFound: there is no such account.
        InvalidState: code ``LAST_ADMINISTRATOR``: nobody would be left who can administrate.
    """
    account = the_account(tx, name)
    if account.disabled_at is not None:
        return account
    _keep_an_administrator(tx, account)
    changed = stored_accounts.change(tx.conn, account.id, disabled_at=tx.now)
    sessions.delete_sessions_of(tx.conn, account.id, tx.now)
    tx.wake(Wake.RIGHTS)
    tx.record("account.disabled", account.name)
    return changed


def enable(tx: Tx, name: str) -> Account:
    """Let an account sign in again.

    Raises:
        NotFound: there is no such account.
    """
    account = the_account(tx, name)
    if account.disabled_at is None:
        return account
    tx.record("account.enabled", account.name)
    return stored_accounts.change(tx.conn, account.id, disabled_at=None)


def set_password(tx: Tx, name: str, password_hash: str, *, keep_session: int | None = None) -> Account:
    """Give an account a new password; its other sign-ins end, and wrong passwords before do not count any more.

    Raises:
        NotFound: there is no such account.
    """
    account = the_account(tx, name)
    changed = stored_accounts.change(tx.conn, account.id, password_hash=password_hash)
    sessions.delete_sessions_of(tx.conn, account.id, tx.now, but=keep_session)
    tx.wake(Wake.RIGHTS)
    stored_accounts.forgive_failures(tx.conn, account_subject(name_key(account.name)))
    tx.record("account.password", account.name)
    return changed


def prepare_setup(tx: Tx, link_hash: str) -> bool:
    """Keep a set-up link in the place of older ones, unless an administrator exists: then False, and none is good."""
    if stored_accounts.active_administrators(tx.conn) > 0:
        stored_accounts.drop_unspent(tx.conn, Purpose.SETUP)
        return False
    stored_accounts.replace(tx.conn, Purpose.SETUP, link_hash, tx.now, tx.now + LINK_LIFETIME, None)
    return True


def set_up(tx: Tx, link_hash: str, name: str, password_hash: str) -> Account:
    """Spend a set-up link on the first administrator.

    Raises:
        UserError: code ``INVALID_LINK``: it is spent, replaced, expired or none.
        AlreadyExists, InvalidInput: of the name; the link stays good.
    """
    good, _ = stored_accounts.spend(tx.conn, Purpose.SETUP, link_hash, tx.now)
    if not good or stored_accounts.active_administrators(tx.conn) > 0:
        raise bad_link("a new one is printed at each start of the server until there is an administrator")
    return add_account(tx, name, Role.ADMIN, password_hash)


def prepare_recovery(tx: Tx, name: str, link_hash: str) -> datetime:
    """Keep a link with which an account's owner sets a new password; older ones are not valid. Until when it lasts.

    Raises:
        NotFound: there is no such account.
        InvalidState: it is disabled.
    """
    account = the_account(tx, name)
    if account.disabled_at is not None:
        raise InvalidState(f"name: account '{account.name}' is disabled; enable it first", path=("name",))
    until = tx.now + LINK_LIFETIME
    stored_accounts.replace(tx.conn, Purpose.RECOVERY, link_hash, tx.now, until, account.id)
    tx.record("account.recovery", account.name)
    return until


def recover(tx: Tx, link_hash: str, hashed: Callable[[Account], str]) -> Account:
    """Spend a recovery link on a new password.

    Args:
        link_hash: The stored form of the link's secret.
        hashed: The hash of the new password, once it is known whose it is.

    Raises:
        UserError: code ``INVALID_LINK``: it is spent, replaced, expired or none, or its account is disabled.
        InvalidInput: raised by ``hashed``; the link stays good.
    """
    good, account_id = stored_accounts.spend(tx.conn, Purpose.RECOVERY, link_hash, tx.now)
    account = stored_accounts.by_id(tx.conn, account_id) if good and account_id is not None else None
    if account is None or account.disabled_at is not None:
        raise bad_link("ask an administrator for a new one")
    return set_password(tx, account.name, hashed(account))


def the_account(tx: Tx, name: str) -> Account:
    """Return the account of a name.

    Raises:
        NotFound: there is none.
    """
    account = stored_accounts.by_name(tx.conn, name)
    if account is None:
        raise unknown("account", name, stored_accounts.names(tx.conn))
    return account


def name_of(tx: Tx, account_id: int) -> str | None:
    """Return the name of an account for the audit log; None if it is gone."""
    account = stored_accounts.by_id(tx.conn, account_id)
    return account.name if account else None


def bad_link(advice: str) -> UserError:
    """Return the refusal of a link, the same for each fault: a stranger learns nothing."""
    return UserError(f"link: must be unspent and of the last 24 hours; {advice}", code=ErrorCode.INVALID_LINK)


def _keep_an_administrator(tx: Tx, account: Account) -> None:
    if account.role is Role.ADMIN and account.disabled_at is None and stored_accounts.lock_administrators(tx.conn) < 2:
        raise InvalidState(
            f"name: '{account.name}' is the last administrator; make another account an administrator first",
            path=("name",),
            code=ErrorCode.LAST_ADMINISTRATOR,
        )


def fresh_secret(prefix: Prefix) -> str:
    """Return a new secret for the prefix's purpose."""
    return new_secret(prefix, token_bytes(ENTROPY_BYTES))


def count_try(tx: Tx, subjects: Sequence[tuple[str, ThrottlePolicy]]) -> float:
    """Count a failure of each subject until it turns out otherwise.

    Args:
        subjects: The counted subjects, always in the same order: two transactions that wait for each other would stand
            still.

    Returns:
        Seconds before which nothing may be looked at, and nothing was counted; 0 = now.
    """
    kept = [(subject, policy, accounts.lock_failures(tx.conn, subject, tx.now)) for subject, policy in subjects]
    wait = max((failures.blocked_until - tx.now).total_seconds() for _, _, failures in kept)
    if wait > 0:
        return wait
    for subject, policy, failures in kept:
        accounts.keep_failures(tx.conn, subject, _one_more(failures, policy, tx.now))
    return 0


def take_back(tx: Tx, subject: str, policy: ThrottlePolicy) -> None:
    """Do not count the last try of a subject: it turned out to be right."""
    accounts.keep_failures(
        tx.conn, subject, _one_less(accounts.lock_failures(tx.conn, subject, tx.now), policy, tx.now)
    )


def _one_more(before: Failures, policy: ThrottlePolicy, now: datetime) -> Failures:
    failures = counted_failures(before.failures, before.last_failed_at, now) + 1
    return Failures(failures, now, now + pause_after(policy, failures))


def _one_less(before: Failures, policy: ThrottlePolicy, now: datetime) -> Failures:
    failures = max(0, before.failures - 1)
    return Failures(failures, before.last_failed_at, now + pause_after(policy, failures - 1))
