"""References to secrets in arguments: where they may stand, what takes their place, and how values are kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.accounts.rules.secrets import (
    KeyRing,
    Sealed,
    SecretKey,
    UnsealError,
    check_secret,
    no_keys,
    parse_keys,
    seal,
    unseal,
)
from cronograph.jobs.core.arguments.judging import argument_faults
from cronograph.jobs.core.arguments.secrets import references, resolved
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput, InvalidState
from cronograph.jobs.registry import define

NONCE = bytes(12)
OLD, NEW = SecretKey.of(b"o" * 32), SecretKey.of(b"n" * 32)


def named(name: str) -> dict[str, Any]:
    return {"$secret": name}


def test_references_are_found_and_replaced_wherever_they_stand() -> None:
    args = {"url": named("address"), "headers": {"x": named("key"), "y": "plain"}, "many": [1, [named("key")]]}
    assert references(args) == {"address", "key"}
    values = {"address": "https://a", "key": "k"}
    assert resolved(args, values) == {"url": "https://a", "headers": {"x": "k", "y": "plain"}, "many": [1, ["k"]]}


@pytest.mark.costly
@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_arguments_without_references_stay_as_they_are(value: Any) -> None:
    assert references({"value": value}) == set()
    assert resolved({"value": value}, {}) == {"value": value}


def takes(kind: Any) -> dict[str, Any]:
    def handler(value: Any) -> None:
        """Takes one argument."""

    handler.__annotations__["value"] = kind
    return define("takes", handler).args_schema


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, named("key")),
        (str | None, named("key")),
        (Any, named("key")),
        (dict[str, str], {"authorization": named("key")}),
        (dict[str, str] | None, {"authorization": named("key")}),
        (list[str], [named("key")]),
    ],
)
def test_a_secret_may_stand_wherever_a_text_may(kind: Any, value: Any) -> None:
    assert argument_faults("takes", takes(kind), {"value": value}) == []


@pytest.mark.parametrize("kind", [int, bool, float | None, list[str]])
def test_a_secret_is_refused_where_no_text_may_stand(kind: Any) -> None:
    (fault,) = argument_faults("takes", takes(kind), {"value": named("key")})
    assert fault.code == "INVALID_ARGS"
    assert "argument 'value' of job 'takes'" in fault.message


@pytest.mark.parametrize(
    "wrong", [{"$secret": 5}, {"$secret": "a", "more": 1}, {"$secret": ""}, {"$secret": "a\u202eb"}]
)
def test_a_reference_of_another_form_is_refused_with_its_place(wrong: Any) -> None:
    (fault,) = argument_faults("takes", takes(dict[str, Any]), {"value": {"inner": wrong}})
    assert fault.path == ("args", "value", "inner")
    assert '{"$secret": "name"}' in fault.message


@pytest.mark.parametrize("value", ["", "abc", "x" * 65_537])
def test_a_secret_that_is_too_short_or_too_long_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_secret("name", value)
    assert "value: must have 4 to 65,536 characters" in caught.value.message
    check_secret("name", "abcd")


def test_what_is_sealed_opens_with_its_key_and_under_its_name_alone() -> None:
    sealed = seal(OLD, "db", "hunter2-hunter2", NONCE)
    assert "hunter2" not in sealed.text
    assert unseal(KeyRing((NEW, OLD)), sealed) == "hunter2-hunter2"
    with pytest.raises(UnsealError, match=f"encrypted with the key {OLD.id}, which this node does not have"):
        unseal(KeyRing((NEW,)), sealed)
    for name, text in (("other", sealed.text), ("db", sealed.text[:-8] + "AAAAAAA="), ("db", "no base64!")):
        with pytest.raises(UnsealError, match="is not as it was stored"):
            unseal(KeyRing((OLD,)), Sealed(name, OLD.id, text))


def test_keys_are_read_from_text_and_never_shown() -> None:
    ring = parse_keys(f"{NEW.text},\n {OLD.text.rstrip('=')}")
    assert [key.id for key in ring.keys] == [NEW.id, OLD.id]
    assert ring.newest == NEW
    assert NEW.text not in repr(ring)
    for text in ("", "short", f"{NEW.text} {'x' * 44}"):
        with pytest.raises(ConfigurationError) as caught:
            parse_keys(text)
        assert not text or text not in str(caught.value)
    with pytest.raises(InvalidState, match="has no key for secrets"):
        _ = no_keys().newest
