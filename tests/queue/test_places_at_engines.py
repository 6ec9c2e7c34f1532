"""Attempts at engines have a place there while they wait, and none afterwards."""

from cronograph.jobs.core.remote import EngineState, QueuePlace, Seen
from cronograph.jobs.queue import remote
from cronograph.jobs.queue.remote import Speaker, Submission
from cronograph.jobs.store.schema.tables import remote_attempt
from tests.support.storage import Stored


def submitted(stored: Stored, count: int) -> list[int]:
    """Hand runs to an engine; their executions."""
    worker = stored.node(jobs=("work",))
    for _ in range(count):
        stored.enqueue()
    ids = []
    for one in worker.take(count).started:
        new = Submission("slurm", f"name-{one.execution_id}", f"{one.execution_id:064}", {})
        assert stored.do(remote.note_submission, one.run, one.execution_id, new)
        ids.append(one.execution_id)
    return ids


def places(stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(row.queue_position, row.queue_length) for row in stored.rows(remote_attempt)]


def test_places_are_stored_together_and_go_when_an_attempt_waits_no_more(stored: Stored) -> None:
    ids = submitted(stored, 3)
    stored.do(remote.note_seen, dict.fromkeys(ids, Seen(EngineState.PENDING, "PENDING (Priority)")))
    assert places(stored) == [(None, None)] * 3
    stored.do(remote.note_places, {ids[0]: QueuePlace(4, 9), ids[1]: QueuePlace(5, 9)})
    assert places(stored) == [(4, 9), (5, 9), (None, None)]
    stored.do(remote.note_seen, {ids[0]: Seen(EngineState.PENDING, "PENDING (Resources)")})
    stored.do(remote.note_places, {ids[1]: None})
    assert places(stored) == [(4, 9), (None, None), (None, None)]
    stored.do(remote.note_seen, {ids[0]: Seen(EngineState.RUNNING, "RUNNING")})
    assert places(stored) == [(None, None)] * 3


def test_an_attempt_that_began_or_ended_while_it_waited_has_no_place_any_more(stored: Stored) -> None:
    begun, ended, over = ids = submitted(stored, 3)
    stored.do(remote.note_seen, dict.fromkeys(ids, Seen(EngineState.PENDING, "PENDING (Priority)")))
    stored.do(remote.note_places, {one: QueuePlace(one, 9) for one in ids})
    assert isinstance(stored.do(remote.begin, f"{begun:064}", "process"), Speaker)
    assert stored.do(remote.end, ended, {"outcome": "cancelled"})
    stored.do(remote.note_over, [over])
    assert places(stored) == [(None, None)] * 3
    # A look that began before may be stored after it.
    stored.do(remote.note_places, {one: QueuePlace(1, 9) for one in ids})
    assert places(stored) == [(None, None)] * 3
