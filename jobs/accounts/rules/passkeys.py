"""Passkeys: key pairs that a device keeps, and by which an account signs in without a name or a password."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

CHALLENGE_LIFETIME: Final = timedelta(minutes=5)
MAX_PASSKEYS: Final = 20
"""Passkeys of one account."""


class Ceremony(StrEnum):
    """Name the purpose of a challenge."""

    REGISTER = "register"
    SIGN_IN = "sign_in"


@dataclass(frozen=True, slots=True)
class DeviceKey:
    """A key pair of a device, as far as it is known.

    Attributes:
        credential_id: The device's id for it, in base64url.
        public_key: The public key of its signatures, COSE in base64url.
        sign_count: How often the device says it was used; 0 for ever on devices that do not count.
    """

    credential_id: str
    public_key: str
    sign_count: int


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey of an account, as the database keeps it.

    Attributes:
        id: Its key in the database.
        name: The owner's name for it.
        created_at: When it was made.
        last_used_at: When somebody last signed in by it.
    """

    id: int
    account_id: int
    key: DeviceKey
    name: str
    created_at: datetime
    last_used_at: datetime | None = None
