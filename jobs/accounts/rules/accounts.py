"""Who uses the server: accounts, their names and their passwords."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from unicodedata import normalize

from ...core.actor import Role
from ...core.base.errors import InvalidInput
from ...core.rules import check_name
from .lookalikes import look_of

MAX_ACCOUNT_NAME: Final = 100
MIN_PASSWORD: Final = 12
MAX_PASSWORD: Final = 1024
"""Characters of a password: long sentences fit, and nobody can make the server hash a megabyte."""
LOCAL_ADMINISTRATOR_NAME: Final = "local administrator"
"""In whose name everybody acts without sign-in; no account may be called so."""
LINK_LIFETIME: Final = timedelta(hours=24)
"""How long a link that sets up the first account, or a new password, is good."""


@dataclass(frozen=True, slots=True)
class Account:
    """A person or a program that may sign in. Accounts are disabled and never deleted: the log names them for ever."""

    id: int
    name: str
    role: Role
    has_password: bool
    disabled_at: datetime | None
    created_at: datetime


_LOCAL_ADMINISTRATOR_LOOK: Final = look_of(LOCAL_ADMINISTRATOR_NAME)


def name_key(name: str) -> str:
    """What two account names must differ in: neither case nor the form of a letter distinguishes people."""
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
