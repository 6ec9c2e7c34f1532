"""The secrets that people and programs show: their form, their checksum, and their stored hash.

Each is random and opaque: ``<prefix>_`` and 38 letters and digits, of which the last six are a checksum. By the prefix
scanners of source code find one that was committed by mistake; by the checksum a typing error is found without a look
into the database. Stored is the SHA-256 alone: 190 random bits need no slow hash.
"""

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv6Address, ip_address
from typing import Final

from ...core.outcome import exponential

FORGOTTEN_AFTER: Final = timedelta(hours=24)
"""So long after the last wrong password the count starts again."""


@dataclass(frozen=True, slots=True)
class ThrottlePolicy:
    """Slow down wrong sign-ins.

    Attributes:
        free: So many failures cost nothing.
        longest: The pause doubles from one second with each further failure, up to this.
    """

    free: int
    longest: timedelta


ACCOUNT_THROTTLE: Final = ThrottlePolicy(5, timedelta(minutes=1))
"""For one account from anywhere. The pause stays short: a stranger who guesses must not lock its owner out for long."""
ADDRESS_THROTTLE: Final = ThrottlePolicy(20, timedelta(minutes=15))
"""For one address with any name: an office behind one address makes a few mistakes, a guesser makes many."""
CHALLENGE_THROTTLE: Final = ThrottlePolicy(100, timedelta(minutes=15))
"""For passkey challenges that one address asks for: each is a row, and one that leads to a sign-in does not count."""


def pause_after(policy: ThrottlePolicy, failures: int) -> timedelta:
    """Return how many seconds to wait after this many failures in a row."""
    further = failures - policy.free
    if further <= 0:
        return timedelta(0)
    return timedelta(seconds=exponential(1.0, policy.longest.total_seconds(), further - 1))


def counted_failures(failures: int, last_failed_at: datetime, now: datetime) -> int:
    """Return the failures that still count at ``now``."""
    return 0 if now - last_failed_at > FORGOTTEN_AFTER else failures


def account_subject(key: str) -> str:
    """Return the subject that counts the failures of an account. Hashed: people type passwords where a name belongs."""
    return "account:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def address_subject(address: str) -> str:
    """Return the subject that counts the failures from an address; of IPv6 the network of one customer (/64)."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return f"address:{address[:60]}"
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is None:
        return f"address:{IPv6Address(int(ip) >> 64 << 64)}/64"
    return f"address:{ip.ipv4_mapped if isinstance(ip, IPv6Address) else ip}"


def challenge_subject(address: str) -> str:
    """Return the subject that counts the challenges that an address asked for."""
    return f"challenge-{address_subject(address)}"


def guess_subject(account_id: int) -> str:
    """Return the subject that counts an account's wrong user codes of devices."""
    return f"device:{account_id}"


ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_LENGTH: Final = 32
CHECK_LENGTH: Final = 6
ENTROPY_BYTES: Final = 40
"""Random bytes that one secret is made of: more than 32 characters hold, so that every character is as likely."""
SHOWN_LENGTH: Final = 5
"""Random characters that are kept readable, so that people tell their tokens apart."""


class Prefix(StrEnum):
    """Name the purpose of a secret; its first characters."""

    API_TOKEN = "cg"  # noqa: S105 - a prefix, not a secret
    SESSION = "cgs"
    ACCESS_TOKEN = "cga"  # noqa: S105 - a prefix, not a secret
    REFRESH_TOKEN = "cgr"  # noqa: S105 - a prefix, not a secret
    DEVICE_CODE = "cgd"
    LINK = "cgl"
    ATTEMPT = "cgw"
    SIGNAL = "cgn"
    ADDRESS = "cgx"
    REMOTE = "cge"


def new_secret(prefix: Prefix, entropy: bytes) -> str:
    """Return a secret.

    Args:
        entropy: ``ENTROPY_BYTES`` random bytes.

    Raises:
        ValueError: these are not as many bytes.
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"entropy: must be {ENTROPY_BYTES} random bytes, got {len(entropy)}")
    head = f"{prefix}_{_encoded(int.from_bytes(entropy), RANDOM_LENGTH)}"
    return head + _checksum(head)


def prefix_of(secret: str) -> Prefix | None:
    """Return the purpose of a secret by its form, if its length and checksum are right; else None."""
    name, _, rest = secret.partition("_")
    if len(rest) != RANDOM_LENGTH + CHECK_LENGTH or not rest.isascii() or not rest.isalnum():
        return None
    known = next((prefix for prefix in Prefix if prefix.value == name), None)
    return known if known and secret[-CHECK_LENGTH:] == _checksum(secret[:-CHECK_LENGTH]) else None


def stored_form(secret: str) -> str:
    """Return the stored form of a secret: its SHA-256, 64 hexadecimal digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def shown_form(secret: str) -> str:
    """Return the beginning of a secret, by which its owner knows it again."""
    return secret[: secret.index("_") + 1 + SHOWN_LENGTH]


def _checksum(head: str) -> str:
    return _encoded(zlib.crc32(head.encode()), CHECK_LENGTH)


def _encoded(number: int, length: int) -> str:
    """Return the last ``length`` digits of a number to the base 62."""
    digits: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


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
