"""What signals bring along: judged and stored as JSON, or refused with its place."""

from dataclasses import replace
from typing import Any

import pytest

from cronograph.jobs.core.base.errors import UserError
from tests.queue.test_waits import APPROVED, begin, send, state, suspend
from tests.support.storage import START, Stored


@pytest.mark.costly
@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({1, 2}, "payload: must be JSON, got set"),
        ({"at": START}, "payload.at: must be JSON, got datetime; write it as a text, by isoformat()"),
        (float("nan"), "payload: must be JSON, got float"),
        ("\0", "payload: a text must not hold the character U+0000"),
        ({"a": ["\ud800"]}, "payload: a text must not hold half of a surrogate pair"),
        (
            "x" * 1_000_001,
            "payload: must have at most 1,000,000 characters as JSON, got 1,000,003; send",
        ),
    ],
    ids=["set", "time", "no number", "nul", "half a pair", "too large"],
)
def test_what_no_database_stores_is_refused_with_its_place(stored: Stored, payload: Any, says: str) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    suspend(worker, started, APPROVED, begin(stored, started))
    with pytest.raises(UserError) as refused:
        send(stored, run.id, payload)
    assert refused.value.message.startswith(says)
    place = ("payload", *(payload if says.startswith("payload.") else ()))
    assert (refused.value.code, refused.value.path) == ("INVALID_INPUT", place)
    assert state(stored, run.id) == "suspended"


def test_what_python_writes_as_json_is_judged_and_stored_as_that(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    started = worker.start()
    form = {"type": "object", "properties": {"1": {"type": "array", "items": {"type": "integer"}}}, "required": ["1"]}
    asked = replace(APPROVED, form=form)
    suspend(worker, started, asked, begin(stored, started, asked))
    send(stored, run.id, {"1": (2, 3)})
    assert begin(stored, worker.start(), asked).value == {"1": [2, 3]}
