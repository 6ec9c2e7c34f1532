"""Strict JSON: what Python's parser accepts beyond JSON is refused, and everything else is read as it reads it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.transport.request import parse_json

LIMITS = Limits()
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
SCALARS = st.none() | st.booleans() | st.integers(-(10**38), 10**38) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


@pytest.mark.costly
@given(VALUES, st.booleans())
def test_json_is_read_as_it_was_written(value: object, ascii_only: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only), LIMITS) == value


@given(st.text(alphabet='{}[]",:\\u0d8e1.-+ \nnulltruefalseNaN', max_size=100))
def test_any_text_is_read_as_json_reads_it_or_refused_with_a_code(text: str) -> None:
    try:
        value = parse_json(text, LIMITS)
    except UserFacingError as error:
        refused = error.http_status
    else:
        refused = None
        assert value == json.loads(text)
    assert refused in (None, 400)


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 66, 200])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_the_depth_is_exact(depth: int, pair: str) -> None:
    opening = "[" if pair == "[]" else '{"a":'
    inner = "1" if pair == "{}" else ""
    text = opening * depth + inner + pair[1] * depth
    if depth <= LIMITS.json_depth:
        parse_json(text, LIMITS)
        return
    with pytest.raises(UserFacingError, match=f"the limit is 64, got {depth}"):
        parse_json(text, LIMITS)


def test_brackets_in_strings_do_not_count() -> None:
    text = json.dumps({"query": "[" * 1_000, 'a"{': '\\"[[[['})
    assert parse_json(text, LIMITS) == json.loads(text)


def test_a_long_number_in_a_string_is_no_number() -> None:
    text = json.dumps({"query": "9" * 5_000, "n": 12, "f": 1.5e3})
    assert parse_json(text, LIMITS) == json.loads(text)
