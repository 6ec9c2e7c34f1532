"""What an enqueue would do, on both databases: judged as the enqueue itself, and nothing is left of it."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from cronograph.jobs.actions.groups import set_group_cap, set_group_rate, update_group
from cronograph.jobs.actions.retries import preview, preview_task, preview_triggered, retry_each
from cronograph.jobs.actions.runs import enqueue_runs
from cronograph.jobs.actions.tasks import create_task, trigger_task
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.admission.holding import Debounce, Hold, Holding, Throttle
from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.core.defaults import FOLLOWED
from cronograph.jobs.core.explain import ExplanationCode, Preview, PreviewOutcome
from cronograph.jobs.core.limits import Limits, UniqueKey
from cronograph.jobs.core.model import NewRun, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.schema import tables
from tests.support.storage import START, Stored

CUSTOMER = UniqueKey(("customer",), "{customer}")
ENQUEUED, DEDUPLICATED, RENEWED, DROPPED, REFUSED = PreviewOutcome


def of(*customers: str, **changes: object) -> list[NewRun]:
    return [
        NewRun("work", Trigger.API, args={"customer": one}, inherits=FOLLOWED - changes.keys(), **changes)  # type: ignore[arg-type]  # of any field
        for one in customers
    ]


def tried(stored: Stored, runs: Sequence[NewRun]) -> Preview:
    """The preview, once it is sure that nothing has changed by it."""
    watched = (tables.run, tables.run_label, tables.event, tables.rate_bucket, tables.skipped_occurrence)
    before = [stored.rows(table) for table in watched]
    found = stored.do(preview, [run.job_name for run in runs], lambda tx: enqueue_runs(tx, runs))
    assert [stored.rows(table) for table in watched] == before
    return found


def outcomes(found: Preview) -> list[PreviewOutcome]:
    assert sum(found.counts.values()) == len(found.runs)
    return [one.outcome for one in found.runs]


def codes(found: Preview) -> list[ExplanationCode | None]:
    return [None if one.explanation is None else one.explanation.code for one in found.runs]


def test_without_any_limit_it_is_next(stored: Stored) -> None:
    stored.node()
    found = tried(stored, of("a", labels={"team": "x"}))
    assert (outcomes(found), codes(found)) == ([ENQUEUED], [ExplanationCode.NEXT])
    assert found.sentence == "1 run would be enqueued."
    assert found.runs[0].sentence == "A run of job 'work' would be enqueued."


@pytest.mark.parametrize(
    ("policy", "expected", "says"),
    [
        (WhenFull.REFUSE, [REFUSED, REFUSED], "2 runs would be refused."),
        (
            WhenFull.DROP_NEWEST,
            [DROPPED, ENQUEUED],
            "1 run would be enqueued, 1 run would be skipped at once: the queue is full.",
        ),
        (
            WhenFull.DROP_OLDEST,
            [ENQUEUED, ENQUEUED],
            "2 runs would be enqueued; 1 run that waits would be skipped to make room.",
        ),
    ],
)
def test_a_full_queue_says_who_would_give_way(
    stored: Stored, policy: WhenFull, expected: list[PreviewOutcome], says: str
) -> None:
    stored.node(limits=Limits(cap=Cap(1, policy), cap_key=CUSTOMER))
    first = stored.enqueue_by_job(args={"customer": "a"})
    found = tried(stored, of("a", "b"))
    assert (outcomes(found), found.sentence) == (expected, says)
    assert found.dropped == ((first.id,) if policy is WhenFull.DROP_OLDEST else ())
    if policy is not WhenFull.DROP_OLDEST:
        assert "job 'work' with key 'a' may have 1 run waiting" in found.runs[0].sentence


def test_a_full_group_refuses_all_of_a_request(stored: Stored) -> None:
    stored.node()
    stored.do(set_group_cap, "mail", cap=Cap(2))
    assert outcomes(tried(stored, of("a", "b", group="mail"))) == [ENQUEUED, ENQUEUED]
    assert outcomes(tried(stored, of("a", "b", "c", group="mail"))) == [REFUSED, REFUSED, REFUSED]


def test_a_unique_key_is_answered_by_its_holder(stored: Stored) -> None:
    stored.node()
    holder = stored.enqueue(unique_key="k")
    found = tried(stored, of("a", unique_key="k"))
    assert (outcomes(found), found.runs[0].stands_for_id) == ([DEDUPLICATED], holder.id)
    assert found.runs[0].sentence == (
        f"Nothing would be enqueued: run {holder.id}, which is waiting, holds the unique key 'k' and would be answered."
    )


def test_a_key_that_holds_for_a_time_is_answered_by_a_run_that_is_over(stored: Stored) -> None:
    worker = stored.node()
    hold = Hold(Holding.UNIQUE, 60.0)
    holder = stored.enqueue(unique_key="k", hold=hold)
    worker.end(worker.start())
    found = tried(stored, of("a", unique_key="k", hold=hold))
    assert (outcomes(found), codes(found)) == ([DEDUPLICATED], [None])
    assert (found.runs[0].stands_for_id, "success" in found.runs[0].sentence) == (holder.id, True)
    stored.pass_time(61)
    assert outcomes(tried(stored, of("a", unique_key="k", hold=hold))) == [ENQUEUED]


def test_a_debounced_run_says_when_it_would_start(stored: Stored) -> None:
    stored.node()
    hold = Debounce(5, 8).hold()
    new = of("a", unique_key="k", hold=hold)
    found = tried(stored, new)
    assert (outcomes(found), codes(found)) == ([ENQUEUED], [ExplanationCode.NOT_YET])
    assert found.runs[0].explanation is not None
    assert found.runs[0].explanation.until == START + timedelta(seconds=5)
    waiting = stored.do(enqueue_runs, new)[0].run
    stored.pass_time(4)
    found = tried(stored, of("b", unique_key="k", hold=hold))
    assert (outcomes(found), found.runs[0].stands_for_id) == ([RENEWED], waiting.id)
    assert found.runs[0].explanation is not None
    assert found.runs[0].explanation.until == START + timedelta(seconds=8)
    assert stored.rows(tables.run)[0].args == {"customer": "a"}


def test_a_throttled_run_is_answered_or_put_at_the_end_of_the_period(stored: Stored) -> None:
    worker = stored.node()
    first, last = Throttle(60).hold(), Throttle(60, last=True).hold()
    stored.do(enqueue_runs, [*of("a", unique_key="first", hold=first), *of("a", unique_key="last", hold=last)])
    worker.take(2)
    assert outcomes(tried(stored, of("b", unique_key="first", hold=first))) == [DEDUPLICATED]
    found = tried(stored, of("b", unique_key="last", hold=last))
    assert outcomes(found) == [ENQUEUED]
    assert found.runs[0].explanation is not None
    assert found.runs[0].explanation.until == START + timedelta(seconds=60)


def test_each_run_of_a_request_waits_for_a_token_of_its_own(stored: Stored) -> None:
    stored.node(limits=Limits(rate=Rate(6, 60.0, 2), rate_key=CUSTOMER))
    stored.enqueue_by_job(args={"customer": "a"})
    found = tried(stored, of("a", "b", "a", "a"))
    assert codes(found) == [
        ExplanationCode.IN_LINE,
        ExplanationCode.IN_LINE,
        ExplanationCode.RATE_LIMIT,
        ExplanationCode.RATE_LIMIT,
    ]
    until = [one.explanation.until for one in found.runs if one.explanation is not None]
    assert until[2:] == [START + timedelta(seconds=10), START + timedelta(seconds=20)]
    assert found.runs[2].explanation is not None
    assert found.runs[2].explanation.sentence == (
        "It waits for a token of its job 'work' for the key 'a': 2 runs take theirs before it, and none of 6 a minute "
        "is left until 2026-03-01 12:00:10 UTC, in 10 s."
    )


def test_rates_and_slots_of_a_group_count_the_runs_of_the_request(stored: Stored) -> None:
    stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(60, 60.0, 1))
    found = tried(stored, of("a", "b", "c", group="mail"))
    assert [one.explanation and one.explanation.until for one in found.runs] == [
        None,
        START + timedelta(seconds=1),
        START + timedelta(seconds=2),
    ]
    stored.do(update_group, "web", max_running=1)
    assert codes(tried(stored, of("a", "b", group="web")))[1] is ExplanationCode.GROUP_LIMIT


def test_a_concurrency_key_lets_one_through(stored: Stored) -> None:
    stored.node(limits=Limits(concurrency_key=CUSTOMER, max_concurrent=1))
    found = tried(stored, of("a", "a", "b"))
    assert codes(found) == [ExplanationCode.NEXT, ExplanationCode.KEY_LIMIT, ExplanationCode.IN_LINE]


def test_retries_meet_the_same_limits(stored: Stored) -> None:
    worker = stored.node(limits=Limits(cap=Cap(1)))
    run = stored.enqueue_by_job()
    worker.end(worker.start())

    def look() -> Preview:
        return stored.do(preview, ["work"], lambda tx: retry_each(tx, [run.id]))

    assert outcomes(look()) == [ENQUEUED]
    stored.enqueue_by_job()
    assert outcomes(look()) == [REFUSED]


def test_a_task_is_tried_with_a_run_of_it(stored: Stored) -> None:
    stored.node()
    spec = TaskSpec("nightly", "work", ScheduleSpec(Syntax.CRON, "0 0 3 * * *"), rate=Rate(1, 60.0, 1))
    task, found = stored.do(preview_task, lambda tx: create_task(tx, spec, submitter="ann"))
    assert (task.name, outcomes(found), stored.rows(tables.periodic_task)) == ("nightly", [ENQUEUED], [])
    stored.do(create_task, spec, submitter="ann")
    stored.do(trigger_task, "nightly")
    found = stored.do(preview_triggered, "nightly", lambda tx: trigger_task(tx, "nightly"))
    assert outcomes(found) == [REFUSED]
    assert "has overlap policy SKIP" in found.runs[0].sentence


def test_what_is_wrong_with_a_run_is_said_as_by_the_enqueue(stored: Stored) -> None:
    stored.node()
    with pytest.raises(InvalidInput, match="labels"):
        tried(stored, of("a", labels={"a b": "c"}))
