"""Labels: what they may be, and which ones a run gets of its job, its arguments and the run that made it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.core.admission.labels import MAX_LABELS, LabelRule, inherited, label_faults
from cronograph.jobs.core.base.errors import InvalidInput

RULE = LabelRule({"team": "billing"}, {"customer": "customer_id", "plan": "plan"}, {"plan": "basic"})
WORDS = st.dictionaries(st.sampled_from([f"k{place}" for place in range(30)]), st.text("abc", min_size=1), max_size=16)


@pytest.mark.parametrize(
    ("labels", "fault"),
    [
        ({"a": "1", "a.b/c-d_e": "ä b", "x" * 63: "y" * 200}, None),
        (["a"], "labels: must be a mapping of keys to values"),
        ({str(place): "1" for place in range(17)}, "labels: must be at most 16 labels, got 17"),
        ({"": "1"}, "labels: a key must have 1 to 63 letters"),
        ({"x" * 64: "1"}, "labels: a key must have 1 to 63 letters"),
        ({"a b": "1"}, "got 'a b'"),
        ({"a=": "1"}, "got 'a='"),
        ({"a": 42}, "labels.a: must be a text, got 42; write 'a': '42'"),
        ({"a": ""}, "labels.a: must have 1 to 200 characters, got 0"),
        ({"a": "x" * 201}, "labels.a: must have 1 to 200 characters, got 201"),
        ({"a": "x\n"}, "labels.a: must not contain control characters"),
    ],
)
def test_what_labels_may_be(labels: object, fault: str | None) -> None:
    found = [str(one) for one in label_faults(labels)]
    assert (found == []) if fault is None else any(fault in one for one in found), found


@pytest.mark.parametrize(
    ("args", "own", "labels"),
    [
        ({}, None, {"team": "billing", "plan": "basic"}),
        ({"customer_id": 42}, None, {"team": "billing", "customer": "42", "plan": "basic"}),
        ({"customer_id": 42.0, "plan": True}, None, {"team": "billing", "customer": "42", "plan": "true"}),
        ({"customer_id": None, "plan": ""}, None, {"team": "billing"}),
        ({"customer_id": 1}, {"customer": "2", "team": "x"}, {"team": "x", "customer": "2", "plan": "basic"}),
    ],
)
def test_a_run_gets_labels_of_its_job_its_arguments_and_its_enqueue_the_last_first(
    args: dict[str, Any], own: dict[str, str] | None, labels: dict[str, str]
) -> None:
    assert RULE.of(args, own) == labels
    assert RULE.as_far_as_possible(args, own or {}) == labels
    assert LabelRule.from_json(RULE.to_json()) == RULE


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"customer_id": [1]}, "args.customer_id: is a label of the run .labels_from., so it must be a text"),
        ({"customer_id": "x" * 201}, "labels.customer: must have 1 to 200 characters"),
    ],
)
def test_an_argument_that_can_be_no_label_refuses_an_enqueue_and_is_left_out_of_an_occurrence(
    args: dict[str, Any], fault: str
) -> None:
    with pytest.raises(InvalidInput, match=fault):
        RULE.of(args)
    assert RULE.as_far_as_possible(args, {}) == {"team": "billing", "plan": "basic"}


@given(own=WORDS, parent=WORDS)
def test_inherited_labels_never_replace_nor_crowd_out_own_ones(own: dict[str, str], parent: dict[str, str]) -> None:
    labels = inherited(parent, own) or {}
    assert own.items() <= labels.items()
    assert labels.items() <= {**parent, **own}.items()
    assert len(labels) == min(MAX_LABELS, len({**parent, **own}))
