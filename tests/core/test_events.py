"""Cursors, stored changes and filters of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.core.events import Change, Cursor, EventFilter, EventKind

CHANGE = Change(EventKind.RUN_UPDATED, task_name="t", run_id=4, job_name="j", group="g", state="running")


@given(st.integers(0, 10**17), st.integers(0, 10**8))
def test_a_cursor_survives_its_text_form(seq: int, index: int) -> None:
    assert Cursor.parse(str(Cursor(seq, index))) == Cursor(seq, index)


@pytest.mark.parametrize(
    "text", ["", "1", "1.", ".1", "a.b", "-1.0", "1.2.3", "\u0661.\u0662", "9" * 40 + ".1", "1.0\n"]
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="event cursor"):
        Cursor.parse(text)


def test_cursors_are_ordered_by_batch_and_then_by_place() -> None:
    assert Cursor(1, 9) < Cursor(2, 0) < Cursor(2, 1)


def test_a_change_survives_being_stored_without_what_is_not_set() -> None:
    stored = CHANGE.to_json()
    assert "node" not in stored
    assert Change.from_json(stored) == CHANGE


def test_a_stored_change_of_a_newer_version_is_still_read() -> None:
    assert Change.from_json({**CHANGE.to_json(), "invented_later": 1}) == CHANGE


@pytest.mark.parametrize(
    ("event_filter", "passes"),
    [
        (EventFilter(), True),
        (EventFilter(kinds=frozenset({EventKind.RUN_UPDATED})), True),
        (EventFilter(kinds=frozenset({EventKind.RUN_CREATED})), False),
        (EventFilter(job_name="j", task_name="t", run_id=4, group="g"), True),
        (EventFilter(job_name="x"), False),
        (EventFilter(task_name="x"), False),
        (EventFilter(run_id=5), False),
        (EventFilter(group="x"), False),
    ],
)
def test_a_filter_lets_pass_what_meets_all_its_conditions(event_filter: EventFilter, *, passes: bool) -> None:
    assert event_filter.matches(CHANGE) == passes


def test_resync_passes_every_filter() -> None:
    assert EventFilter(job_name="x").matches(Change(EventKind.RESYNC))
