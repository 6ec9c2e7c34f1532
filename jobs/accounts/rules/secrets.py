"""Rules of secrets of jobs: public facts, limits of values, and the keys that encrypt them."""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ...core.base.errors import ConfigurationError, ErrorCode, InvalidInput, InvalidState
from ...core.base.lazy import LazyModule
from ...core.base.times import number_text
from ...core.rules import name_faults

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.ciphers import aead
else:
    exceptions = LazyModule("cryptography.exceptions")
    aead = LazyModule("cryptography.hazmat.primitives.ciphers.aead")

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
STANDARD: Final = "standard"
"""The form of proof of Standard Webhooks."""
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the beginning of every one
LEAST_PROOF: Final = 16
"""Characters, or bytes of a key, of a secret that proves who sends: nobody guesses so many."""
_PURPOSE: Final = b"cronograph secret key\n"


@dataclass(frozen=True, slots=True)
class SecretKey:
    """One key.

    Attributes:
        id: Names it next to the encrypted values; reveals nothing about it.
        material: The 32 bytes.
    """

    id: str
    material: bytes = field(repr=False)

    @classmethod
    def of(cls, material: bytes) -> "SecretKey":
        """Return the key of 32 bytes."""
        return cls(hashlib.sha256(_PURPOSE + material).hexdigest()[:16], material)

    @property
    def text(self) -> str:
        """Return how it is written in a setting or a file."""
        return base64.b64encode(self.material).decode()


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of a process: the first encrypts, all of them decrypt."""

    keys: tuple[SecretKey, ...] = ()

    @property
    def newest(self) -> SecretKey:
        """The key that encrypts.

        Raises:
            InvalidState: code ``NO_ENCRYPTION_KEY``: there is none.
        """
        if not self.keys:
            raise InvalidState(
                "this process has no key for secrets; set CRONOGRAPH_SECRET_KEY on every node to the key that "
                "`cronograph secret new-key` prints",
                code=ErrorCode.NO_ENCRYPTION_KEY,
            )
        return self.keys[0]

    def get(self, key_id: str) -> SecretKey | None:
        """Return the key of this id."""
        return next((key for key in self.keys if key.id == key_id), None)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A stored secret: its name, the id of the key that encrypted its value, and the encrypted value in base64."""

    name: str
    key_id: str
    text: str = field(repr=False)


KeySource = Callable[[], KeyRing]
"""Gives the keys as they are now: a file may have changed."""


def no_keys() -> KeyRing:
    """Return the source of a process without keys."""
    return KeyRing()


class UnsealError(Exception):
    """A stored secret cannot be decrypted; the message gives the reason and the remedy."""


def parse_keys(text: str) -> KeyRing:
    """Return the keys in a setting or a file: base64 of 32 bytes each, separated by commas or blanks, the newest first.

    Raises:
        ConfigurationError: it is none of that; the message does not show it.
    """
    words = [word for word in re.split(r"[,\s]+", text) if word]
    if not words:
        raise ConfigurationError("must hold a key, got nothing")
    return KeyRing(tuple(SecretKey.of(_material(word, place)) for place, word in enumerate(words, 1)))


def seal(key: SecretKey, name: str, value: str, nonce: bytes) -> Sealed:
    """Return a secret as it is stored.

    Args:
        name: Of the secret: the stored text is not valid under another name.
        value: The stored form.
        nonce: 12 random bytes, never the same twice.
    """
    encrypted = nonce + aead.AESGCM(key.material).encrypt(nonce, value.encode(), name.encode())
    return Sealed(name, key.id, base64.b64encode(encrypted).decode())


def unseal(ring: KeyRing, sealed: Sealed) -> str:
    """Return the value of a stored secret.

    Raises:
        UnsealError: the key is missing, or the stored value was changed or belongs to another name.
    """
    name, key = sealed.name, ring.get(sealed.key_id)
    if key is None:
        known = ", ".join(one.id for one in ring.keys) or "none"
        raise UnsealError(
            f"secret '{name}' is encrypted with the key {sealed.key_id}, which this node does not have (it has "
            f"{known}); give all nodes the same CRONOGRAPH_SECRET_KEY"
        )
    try:
        stored = base64.b64decode(sealed.text, validate=True)
        return aead.AESGCM(key.material).decrypt(stored[:NONCE_BYTES], stored[NONCE_BYTES:], name.encode()).decode()
    except (exceptions.InvalidTag, ValueError):
        raise UnsealError(f"secret '{name}' is not as it was stored; set it again") from None


def signature_key(value: str) -> bytes:
    """Return the key of a secret of Standard Webhooks, ``whsec_`` and base64.

    Raises:
        ValueError: it is none, or shorter than 16 bytes.
    """
    try:
        found = base64.b64decode(value.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) < LEAST_PROOF:
        raise ValueError(f"the secret of a webhook must be 'whsec_' and at least {LEAST_PROOF} bytes in base64")
    return found


def proof_fault(form: str, value: str) -> str | None:
    """Return the reason why a value cannot prove who sends requests of a form, without showing the value."""
    if form == STANDARD:
        try:
            signature_key(value)
        except ValueError as error:
            return str(error)
    if len(value) < LEAST_PROOF:
        return f"the secret of a hook must have at least {LEAST_PROOF} characters"
    return None


def _material(word: str, place: int) -> bytes:
    plain = word.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        material = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        material = b""
    if len(material) != KEY_BYTES:
        raise ConfigurationError(
            f"key {place} must be {KEY_BYTES} bytes in base64 (44 characters, as `cronograph secret new-key` prints "
            f"them), got {len(word)} characters"
        )
    return material


MIN_VALUE: Final = 4
MAX_VALUE: Final = 65_536
"""Characters of a secret. A shorter one could not be cut out of a job's output without tearing it to pieces."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, without its value."""

    name: str
    key_id: str
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str


def check_secret(name: str, value: str) -> None:
    """Check that a secret has a valid name and a value of valid length.

    Raises:
        InvalidInput: of the name or of the length of the value, which is never in the message.
    """
    for fault in name_faults(name, "name"):
        raise fault
    if not MIN_VALUE <= len(value) <= MAX_VALUE:
        raise InvalidInput(
            f"value: must have {MIN_VALUE} to {number_text(MAX_VALUE)} characters, got {number_text(len(value))}",
            path=("value",),
        )
