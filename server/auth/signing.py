"""Signing in by password, setting up and recovering: the steps that the endpoints and the pages share."""

import logging
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import HTTPConnection

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Person
from ...jobs.accounts.actions import accounts as account_actions
from ...jobs.accounts.actions import sessions as session_actions
from ...jobs.accounts.actions.accounts import fresh_secret, prepare_setup
from ...jobs.accounts.actions.sessions import Attempt, ClientInfo
from ...jobs.accounts.rules.accounts import MAX_PASSWORD, Account, check_account_name, check_password
from ...jobs.accounts.rules.credentials import Prefix, stored_form
from ...jobs.accounts.rules.sessions import Identity
from ...jobs.accounts.statements import accounts
from ...jobs.accounts.statements.accounts import Purpose
from ...jobs.actions.idempotent import acting
from ...jobs.core.actor import Actor, Role
from ...jobs.core.base.times import counted
from ...jobs.store.db.database import Database, sqlite_path
from ...jobs.store.db.transaction import Tx
from .passwords import Passwords

log = logging.getLogger("cronograph.sign_in")


def link_file(database: Database) -> Path:
    """Return the file of the link: next to a SQLite file, in the working directory for PostgreSQL."""
    if database.is_sqlite:
        path = sqlite_path(database.url)
        return path.with_name(f"{path.name}.setup-link")
    return Path("cronograph.setup-link").absolute()


async def offer_setup(database: Database, url: str) -> str | None:
    """Make the set-up link of this start, unless an administrator exists; return the link.

    Args:
        database: With its tables.
        url: The address under which people open the server.
    """
    secret = fresh_secret(Prefix.LINK)
    if not await database.write(prepare_setup, stored_form(secret)):
        remove_link(database)
        return None
    path = link_file(database)
    link = f"{url}/setup?token={secret}"
    _write_private(path, f"{link}\n")
    sys.stderr.write(f"There is no administrator yet. Open this link once to make one (also in {path}):\n  {link}\n")
    sys.stderr.flush()
    return link


def remove_link(database: Database) -> None:
    """Remove the file of the set-up link: it was used, and is not valid."""
    path = link_file(database)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("the set-up link was used; '%s' could not be removed: %s", path, error.strerror)


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; one that is there is replaced, not followed."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)


WRONG = "The name or the password is wrong."


def client_info_of(connection: HTTPConnection) -> ClientInfo:
    """Return the address and the program that a request comes from."""
    return ClientInfo(address_of(connection), connection.headers.get("user-agent"))


def address_of(connection: HTTPConnection) -> str:
    """Return the address a request comes from."""
    client = connection.client
    return client.host if client else "unknown"


def person_of(connection: HTTPConnection, identity: Identity) -> Person:
    """Return the person who asks, and from where."""
    return Person.of(identity, address_of(connection))


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new browser session: whose, and the secret for its cookie."""

    account: Account
    secret: str


class Signing:
    """Proves people by password or one-time link."""

    def __init__(self, database: Database, passwords: Passwords) -> None:
        self._database = database
        self._passwords = passwords

    async def by_password(self, name: str, password: str, place: ClientInfo) -> SignedIn:
        """Begin a session.

        Raises:
            UserFacingError: ``WRONG_CREDENTIALS`` in any case; ``TOO_MANY_ATTEMPTS`` with the seconds to wait.
        """
        attempt = await self._verified(name, password, place)
        secret = fresh_secret(Prefix.SESSION)
        begun = await self._database.write(session_actions.succeed, attempt, stored_form(secret), place)
        if begun is None or attempt.account is None:
            await self._database.write(session_actions.fail, attempt, place)
            raise wrong()
        return SignedIn(attempt.account, secret)

    async def _verified(self, name: str, password: str, place: ClientInfo) -> Attempt:
        """Return an attempt whose password is right.

        Raises:
            UserFacingError: ``WRONG_CREDENTIALS`` in any case; ``TOO_MANY_ATTEMPTS`` with the seconds to wait.
        """
        attempt = await self._database.write(session_actions.begin_attempt, name, place)
        if attempt.wait > 0:
            raise too_many(attempt.wait)
        # What is too long is wrong, but takes as long.
        if await self._passwords.verify(attempt.password_hash, password[: MAX_PASSWORD + 1]):
            return attempt
        await self._database.write(session_actions.fail, attempt, place)
        raise wrong()

    async def change_password(self, identity: Identity, current: str, new: str, place: ClientInfo) -> SignedIn:
        """Set the password of who has signed in; all sign-ins of the account end, and a new one begins.

        Raises:
            UserError: the new password cannot be taken.
            UserFacingError: ``WRONG_CREDENTIALS``: the current one is wrong; ``TOO_MANY_ATTEMPTS``.
        """
        check_password(new, identity.name)
        attempt = await self._verified(identity.name, current, place)
        hashed = await self._passwords.hash(new)
        secret = fresh_secret(Prefix.SESSION)
        changed = session_actions.change_password
        begun = await self._database.write(changed, attempt, hashed, stored_form(secret), place)
        if begun is None or attempt.account is None:
            raise wrong()
        return SignedIn(attempt.account, secret)

    async def set_up(self, link: str, name: str, password: str, place: ClientInfo) -> SignedIn:
        """Make the first administrator, who is signed in by that.

        Raises:
            UserError: the link, the name or the password cannot be taken.
        """
        stored = check_account_name(name)
        check_password(password, stored)
        if not await self.is_good(Purpose.SETUP, link):
            raise account_actions.bad_link("a new one is printed at each start until there is an administrator")
        hashed = await self._passwords.hash(password)
        secret = fresh_secret(Prefix.SESSION)
        account = await self._database.write(_set_up, link, stored, hashed, secret, place)
        remove_link(self._database)
        return SignedIn(account, secret)

    async def recover(self, link: str, password: str, place: ClientInfo) -> SignedIn:
        """Set a new password, by which its owner is signed in.

        Raises:
            UserError: the link or the password cannot be taken.
        """
        check_password(password, "")
        if not await self.is_good(Purpose.RECOVERY, link):
            raise account_actions.bad_link("ask an administrator for a new one")
        hashed = await self._passwords.hash(password)
        secret = fresh_secret(Prefix.SESSION)
        return SignedIn(await self._database.write(_recover, link, (password, hashed), secret, place), secret)

    async def has_administrator(self) -> bool:
        """Return whether there is an active administrator."""
        return await self._database.read(accounts.active_administrators) > 0

    async def is_good(self, purpose: Purpose, link: str) -> bool:
        """Return whether a link could be spent now."""
        now = await self._database.server_time()
        return await self._database.read(accounts.is_good, purpose, stored_form(link), now)


def wrong() -> UserFacingError:
    """Return the refusal of a name and password, the same for every reason."""
    return UserFacingError(WRONG, code="WRONG_CREDENTIALS", http_status=401)


def too_many(seconds: float) -> UserFacingError:
    """Return the refusal of one who must wait."""
    wait = max(1, math.ceil(seconds))
    message = f"Too many wrong attempts; try again in {counted(wait, 'second')}."
    return UserFacingError(message, code="TOO_MANY_ATTEMPTS", http_status=429, extensions={"retryAfter": wait})


def _set_up(tx: Tx, link: str, name: str, hashed: str, secret: str, place: ClientInfo) -> Account:
    actor = Actor("(set-up link)", Role.ADMIN, address=place.address)
    account = acting(tx, actor, account_actions.set_up, stored_form(link), name, hashed)
    session_actions.start(tx, account, stored_form(secret), place, by="link")
    return account


def _recover(tx: Tx, link: str, password: tuple[str, str], secret: str, place: ClientInfo) -> Account:
    plain, hashed = password

    def checked(account: Account) -> str:
        check_password(plain, account.name)
        return hashed

    actor = Actor("(recovery link)", Role.VIEWER, address=place.address)
    account = acting(tx, actor, account_actions.recover, stored_form(link), checked)
    session_actions.start(tx, account, stored_form(secret), place, by="link")
    return account
