"""The secrets that people and programs show: their form, their checksum, and what is stored of them.

Each is random and opaque: ``<prefix>_`` and 38 letters and digits, of which the last six are a checksum. By the prefix
scanners of source code find one that was committed by mistake; by the checksum a typing error is found without a look
into the database. Stored is the SHA-256 alone: 190 random bits need no slow hash.
"""

import hashlib
import zlib
from enum import StrEnum
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_LENGTH: Final = 32
CHECK_LENGTH: Final = 6
ENTROPY_BYTES: Final = 40
"""Random bytes that one secret is made of: more than 32 characters hold, so that every character is as likely."""
SHOWN_LENGTH: Final = 5
"""Random characters that are kept readable, so that people tell their tokens apart."""


class Prefix(StrEnum):
    """What a secret is for; its first characters."""

    API_TOKEN = "cg"  # noqa: S105 - a prefix, not a secret
    SESSION = "cgs"
    ACCESS_TOKEN = "cga"  # noqa: S105 - a prefix, not a secret
    REFRESH_TOKEN = "cgr"  # noqa: S105 - a prefix, not a secret
    DEVICE_CODE = "cgd"
    LINK = "cgl"
    ATTEMPT = "cgw"
    SIGNAL = "cgn"


def new_secret(prefix: Prefix, entropy: bytes) -> str:
    """A secret.

    Args:
        prefix: What it is for.
        entropy: ``ENTROPY_BYTES`` random bytes.

    Raises:
        ValueError: these are not as many bytes.
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"entropy: must be {ENTROPY_BYTES} random bytes, got {len(entropy)}")
    head = f"{prefix}_{_encoded(int.from_bytes(entropy), RANDOM_LENGTH)}"
    return head + _checksum(head)


def prefix_of(secret: str) -> Prefix | None:
    """What a text is by its form, if its length and checksum are right; else None."""
    name, _, rest = secret.partition("_")
    if len(rest) != RANDOM_LENGTH + CHECK_LENGTH or not rest.isascii() or not rest.isalnum():
        return None
    known = next((prefix for prefix in Prefix if prefix.value == name), None)
    return known if known and secret[-CHECK_LENGTH:] == _checksum(secret[:-CHECK_LENGTH]) else None


def stored_form(secret: str) -> str:
    """What the database keeps of a secret: its SHA-256, 64 hexadecimal digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def shown_form(secret: str) -> str:
    """The beginning of a secret, by which its owner knows it again."""
    return secret[: secret.index("_") + 1 + SHOWN_LENGTH]


def _checksum(head: str) -> str:
    return _encoded(zlib.crc32(head.encode()), CHECK_LENGTH)


def _encoded(number: int, length: int) -> str:
    """The last ``length`` digits of a number to the base 62."""
    digits: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
