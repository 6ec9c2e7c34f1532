"""Values that come from jobs, made fit for every database."""

import decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.runtime.job.values import MAX_NOTE, plain_json, plain_text, progress_document

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@pytest.mark.costly
@given(DOCUMENTS)
def test_a_document_without_odd_characters_stays_as_it_is(document: Any) -> None:
    assert plain_json(document, "it") == document


def test_a_later_change_does_not_reach_the_copy() -> None:
    original = {"a": [1]}
    copy = plain_json(original, "it")
    original["a"].append(2)
    assert copy == {"a": [1]}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, (2,)), [1, [2]]),
        ("\\u0000 \\ud800", "\\u0000 \\ud800"),
        ("\ud800\udc00", "\U00010000"),
        ("😀", "😀"),
        (10**400, 10**400),
    ],
)
def test_what_json_changes_is_replaced(value: Any, plain: Any) -> None:
    assert plain_json(value, "it") == plain


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("inf"), "it must be JSON, got float inf; use None or a text"),
        ({"a": {1}}, "it, at a, must be JSON, got set; make it a list"),
        ({"a": nested(100_000)}, r"it, at a\.0\.0\..*…, must be JSON: it is nested too deeply"),
        ("a\x00b", r"it must not hold the character U\+0000"),
        ({"a": ["\udfff"]}, r"it, at a\.0, must not hold half of a surrogate pair"),
        ({"\x00": 1}, r"it must not hold the character U\+0000"),
        ([10**5000], "it, at 0, must be JSON, got int of 16610 bits; write it as a text"),
        ("x" * 99, "it may have 100 characters of JSON, got 101; keep large data elsewhere"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        plain_json(value, "it", 100)


@given(st.text(st.characters(exclude_categories=[])), st.integers(0, 50))
def test_text_can_always_be_stored(text: str, limit: int) -> None:
    plain = plain_text(text, limit)
    assert "\x00" not in plain
    plain.encode()
    assert len(plain) <= limit + 40


def test_progress_takes_any_kind_of_number() -> None:
    assert progress_document(decimal.Decimal("1.5"), 3, "x" * 600) == {  # type: ignore[arg-type]
        "done": 1.5,
        "total": 3,
        "message": "x" * MAX_NOTE + "… (100 characters cut)",
    }
    assert progress_document(True, None, None) == {"done": 1.0, "total": None, "message": None}


@pytest.mark.parametrize(
    ("done", "total", "message"),
    [
        (float("nan"), None, "progress: done must be a finite number, got nan"),
        (1, float("inf"), "progress: total must be a finite number, got inf"),
        (10**400, None, r"progress: done must be between -1e\+300 and 1e\+300, got one of 1329 bits"),
        (1e308, None, r"progress: done must be between -1e\+300 and 1e\+300, got 1e\+308"),
        (1, -1e308, r"progress: total must be between -1e\+300 and 1e\+300, got -1e\+308"),
        ("a lot", None, "progress: done must be a number, got str"),
    ],
)
def test_progress_that_is_no_number_is_refused(done: Any, total: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{message}"):
        progress_document(done, total, None)
