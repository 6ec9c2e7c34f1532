"""Secrets have a form that scanners and people recognise; what is stored of them gives nothing away."""

import pytest

from cronograph.jobs.accounts.rules.credentials import (
    ENTROPY_BYTES,
    Prefix,
    new_secret,
    prefix_of,
    shown_form,
    stored_form,
)

RANDOM = bytes(range(ENTROPY_BYTES))


@pytest.mark.parametrize("prefix", list(Prefix))
def test_a_secret_is_known_by_its_form(prefix: Prefix) -> None:
    secret = new_secret(prefix, RANDOM)
    assert len(secret) == len(prefix.value) + 39
    assert prefix_of(secret) is prefix
    assert secret not in stored_form(secret)
    assert shown_form(secret) == secret[: len(prefix.value) + 6]


def test_any_slip_of_one_character_is_noticed() -> None:
    secret = new_secret(Prefix.API_TOKEN, RANDOM)
    for place in range(3, len(secret)):
        other = "a" if secret[place] != "a" else "b"
        assert prefix_of(secret[:place] + other + secret[place + 1 :]) is None
    # The kind is part of what the checksum is over.
    assert prefix_of("cgs" + secret[2:]) is None


@pytest.mark.parametrize("text", ["", "_", "cg_", "cg", "x_" + "a" * 38, "cg_" + "ä" * 38, "cg_" + "a" * 39])
def test_what_is_no_secret_has_no_prefix(text: str) -> None:
    assert prefix_of(text) is None


def test_a_secret_needs_enough_randomness() -> None:
    with pytest.raises(ValueError, match="must be 40 random bytes, got 8"):
        new_secret(Prefix.API_TOKEN, bytes(8))
