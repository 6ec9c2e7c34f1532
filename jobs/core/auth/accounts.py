"""Who uses the server: accounts, what they sign in with, and who stands behind a request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple
from unicodedata import normalize

from ..errors import InvalidInput
from ..rules import check_name
from .lookalikes import look_of
from .roles import Role

MAX_ACCOUNT_NAME: Final = 100
MIN_PASSWORD: Final = 12
MAX_PASSWORD: Final = 1024
"""Characters of a password: long sentences fit, and nobody can make the server hash a megabyte."""
LOCAL_ADMINISTRATOR_NAME: Final = "local administrator"
"""In whose name everybody acts without sign-in; no account may be called so."""


class CredentialKind(StrEnum):
    """What somebody showed."""

    BROWSER = "browser"
    CLI = "cli"
    TOKEN = "token"  # noqa: S105 - a word, not a secret


@dataclass(frozen=True, slots=True)
class Account:
    """A person or a program that may sign in. Accounts are disabled and never deleted: the log names them for ever."""

    id: int
    name: str
    role: Role
    has_password: bool
    disabled_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a credential stands for, at the time it was looked up.

    Attributes:
        account_id: The account.
        name: Its name.
        role: What may be done: the account's role, or a token's lower one.
        account_role: The account's role.
        kind: What was shown.
        credential_id: Key of the session or token.
        expires_at: When it ends at the latest; None = never.
    """

    account_id: int
    name: str
    role: Role
    account_role: Role
    kind: CredentialKind
    credential_id: int
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, and from where; written into the audit log.

    Attributes:
        name: Of the account, or what acts without one, such as the command line.
        role: What may be done.
        account_id: None without an account.
        address: Where the request came from; None when it came from no network.
        full_rights: Whether the role is all that the account may do; not so for a token of a lower role.
    """

    name: str
    role: Role
    account_id: int | None = None
    address: str | None = None
    full_rights: bool = True


class Submitter(NamedTuple):
    """In whose name a task or a run was submitted.

    Attributes:
        name: Of the account, at that time; for people.
        account_id: Whose rights hold, no matter what is called by that name now; None for an actor without an account.
    """

    name: str
    account_id: int | None


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in that lasts: of a browser, or of the command line, whose access token ends before."""

    id: int
    account_id: int
    kind: CredentialKind
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str | None
    agent: str | None
    access_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A personal API token, without its secret, which is shown once."""

    id: int
    account_id: int
    name: str
    shown: str
    role: Role
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


_LOCAL_ADMINISTRATOR_LOOK: Final = look_of(LOCAL_ADMINISTRATOR_NAME)


def name_key(name: str) -> str:
    """What two account names must differ in: neither case nor the form of a letter tells people apart."""
    return normalize("NFKC", name).casefold()


def check_account_name(name: str) -> str:
    """The name as it is stored.

    Raises:
        InvalidInput: it is too long, reserved, or has characters that are not seen.
    """
    normal = normalize("NFC", name)
    check_name(normal, "name")
    if len(normal) > MAX_ACCOUNT_NAME:
        raise InvalidInput(f"name: must have 1 to {MAX_ACCOUNT_NAME} characters, got {len(normal)}", path=("name",))
    if look_of(normal) == _LOCAL_ADMINISTRATOR_LOOK:
        raise InvalidInput(
            f"name: must not be '{LOCAL_ADMINISTRATOR_NAME}', who acts where there is no sign-in; choose another name",
            path=("name",),
        )
    return normal


def check_password(password: str, name: str) -> None:
    """A new password is long enough to resist guessing, short enough to be hashed, and not the name.

    Raises:
        InvalidInput: says which; the password is never in the message.
    """
    length = len(password)
    if not MIN_PASSWORD <= length <= MAX_PASSWORD:
        raise InvalidInput(
            f"password: must have {MIN_PASSWORD} to {MAX_PASSWORD} characters, got {length:,}; "
            "a sentence of a few words does well",
            path=("password",),
        )
    if "\0" in password or name_key(password) == name_key(name) or len(set(password)) < 3:
        raise InvalidInput(
            "password: must not be the account's name, have a NUL, or repeat one or two characters; "
            "a sentence of a few words does well",
            path=("password",),
        )
