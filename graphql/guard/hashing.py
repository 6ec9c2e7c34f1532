"""The hash under which a document is known."""

import hashlib


def sha256_of(text: str) -> str:
    """SHA-256 of a document's UTF-8 form, lower-case hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
