"""The ways into an account: a password, passkeys, identities at providers. One of them stays."""

from ...core.base.errors import ErrorCode, InvalidState
from ...store.db.transaction import Tx
from ..read import accounts, passkeys, providers


def keep_a_login_method(tx: Tx, account_id: int, taken: str) -> None:
    """Refuse a change that has just removed the last way into an account; the caller's transaction is undone by that.

    Args:
        tx: The transaction, in which the account is locked: two that take the last two must not see each the other.
        account_id: Whose.
        taken: The owner's name for the removed way.

    Raises:
        InvalidState: code ``LAST_WAY_IN``.
    """
    account = accounts.by_id(tx.conn, account_id)
    mine = [account_id]
    if account is not None and account.has_password:
        return
    if not passkeys.passkeys_of(tx.conn, mine) and not providers.identities_of(tx.conn, mine):
        raise InvalidState(
            f"id: '{taken}' is the last way into this account; set a password or add a passkey first",
            path=("id",),
            code=ErrorCode.LAST_WAY_IN,
        )
