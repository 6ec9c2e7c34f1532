"""A device that keeps passkeys, in software: it can do wrong what no browser lets a page do."""

import hashlib
import json
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from secrets import token_bytes
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import encode_cbor

PRESENT, VERIFIED, ATTESTED = 1, 4, 64


def encoded(value: bytes) -> str:
    """Base64url without padding, as browsers send it."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """The bytes behind base64url."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Device:
    """A device with one key pair.

    Attributes:
        origin: Of the page that it believes to serve.
        flags: What it says about its user.
        counts: Whether it counts its signatures.
    """

    origin: str
    flags: int = PRESENT | VERIFIED
    counts: bool = True
    credential_id: bytes = field(default_factory=lambda: token_bytes(32))
    key: EllipticCurvePrivateKey = field(default_factory=lambda: generate_private_key(SECP256R1()))
    signatures: int = 0

    def made(self, options: Any, party: str | None = None) -> dict[str, Any]:
        """The answer to the options of a registration."""
        data = self._data("webauthn.create", options["challenge"])
        length = struct.pack(">H", len(self.credential_id))
        attested = bytes(16) + length + self.credential_id + encode_cbor(self._public_key())
        head = self._head(party or options["rp"]["id"], self.flags | ATTESTED)
        statement = encode_cbor({"fmt": "none", "attStmt": {}, "authData": head + attested})
        return self._credential({"clientDataJSON": encoded(data), "attestationObject": encoded(statement)})

    def signed(self, options: Any, party: str | None = None) -> dict[str, Any]:
        """The answer to the options of a sign-in."""
        data = self._data("webauthn.get", options["challenge"])
        head = self._head(party or options["rpId"], self.flags)
        signature = self.key.sign(head + hashlib.sha256(data).digest(), ECDSA(SHA256()))
        answer = {"clientDataJSON": encoded(data), "authenticatorData": encoded(head), "signature": encoded(signature)}
        return self._credential(answer)

    def _data(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _head(self, party: str, flags: int) -> bytes:
        self.signatures += self.counts
        return hashlib.sha256(party.encode()).digest() + struct.pack(">BI", flags, self.signatures)

    def _public_key(self) -> dict[int, object]:
        numbers = self.key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}

    def _credential(self, response: dict[str, str]) -> dict[str, Any]:
        name = encoded(self.credential_id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}
