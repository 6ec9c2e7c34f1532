"""Secrets that nobody can guess."""

from secrets import token_bytes

from ..rules.credentials import ENTROPY_BYTES, Prefix, new_secret


def fresh_secret(prefix: Prefix) -> str:
    """A new secret for what the prefix says."""
    return new_secret(prefix, token_bytes(ENTROPY_BYTES))
