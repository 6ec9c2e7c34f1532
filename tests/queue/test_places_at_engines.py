"""Attempts at engines have a place there while they wait, and none afterwards."""

from cronograph.jobs.core.remote.attempts import EngineState, QueuePlace, Seen
from cronograph.jobs.queue import remote
from cronograph.jobs.queue.remote import Submission
from cronograph.jobs.store.schema.tables import remote_attempt
from tests.support.storage import Stored


def test_places_are_stored_together_and_go_when_an_attempt_waits_no_more(stored: Stored) -> None:
    worker = stored.node(jobs=("work",))
    for _ in range(3):
        stored.enqueue()
    ids = []
    for one in worker.take(3).started:
        new = Submission("slurm", f"name-{one.execution_id}", f"{one.execution_id:064}", {})
        assert stored.do(remote.note_submission, one.run, one.execution_id, new)
        ids.append(one.execution_id)

    def places() -> list[tuple[int | None, int | None]]:
        return [(row.queue_position, row.queue_length) for row in stored.rows(remote_attempt)]

    stored.do(remote.note_seen, dict.fromkeys(ids, Seen(EngineState.PENDING, "PENDING (Priority)")))
    assert places() == [(None, None)] * 3
    stored.do(remote.note_places, {ids[0]: QueuePlace(4, 9), ids[1]: QueuePlace(5, 9)})
    assert places() == [(4, 9), (5, 9), (None, None)]
    stored.do(remote.note_seen, {ids[0]: Seen(EngineState.PENDING, "PENDING (Resources)")})
    stored.do(remote.note_places, {ids[1]: None})
    assert places() == [(4, 9), (None, None), (None, None)]
    stored.do(remote.note_seen, {ids[0]: Seen(EngineState.RUNNING, "RUNNING")})
    assert places() == [(None, None)] * 3
