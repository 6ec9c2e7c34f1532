"""Equal skips fold into one row only where nothing else happened between them."""

from datetime import timedelta

from cronograph.jobs.store.schema import tables
from tests.support.storage import START, Stored


def test_a_run_ends_a_stretch_of_skips_even_when_one_visit_makes_both(stored: Stored) -> None:
    worker = stored.node()
    stored.task("* * * * * *")
    for second in (1, 2, 3):
        stored.at(second)
        stored.dispatch()
    worker.end(worker.start())
    # The node is late: the next visit finds three occurrences, of which the first becomes a run.
    stored.at(6)
    stored.dispatch()
    assert [run.scheduled_for - START for run in stored.rows(tables.run)] == [timedelta(seconds=s) for s in (1, 4)]
    stretches = [
        ((row.first_scheduled_for - START).seconds, (row.last_scheduled_for - START).seconds, row.occurrences)
        for row in stored.rows(tables.skipped_occurrence)
    ]
    assert stretches == [(2, 3, 2), (5, 6, 2)]


def test_skips_of_one_cause_fold_across_visits(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    for second in (1, 2, 3, 6):
        stored.at(second)
        stored.dispatch()
    (row,) = stored.rows(tables.skipped_occurrence)
    assert (row.first_scheduled_for, row.last_scheduled_for) == (stored.now - timedelta(seconds=4), stored.now)
    assert row.occurrences == 5
