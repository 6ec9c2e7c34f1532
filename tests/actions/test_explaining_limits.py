"""What is said of runs that wait for a token or for a slot of their key."""

from datetime import timedelta

from cronograph.jobs.actions.groups import set_group_cap, set_group_rate
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.limits import Limits, UniqueKey
from tests.actions.test_explaining import of_run, says
from tests.support.storage import START, Stored


def test_how_full_its_queue_is(stored: Stored) -> None:
    worker = stored.node(
        limits=Limits(cap=Cap(5, WhenFull.DROP_OLDEST), cap_key=UniqueKey(("customer",), "{customer}"))
    )
    stored.do(set_group_cap, "mail", cap=Cap(1_000))
    runs = [stored.enqueue_by_job(group="mail", args={"customer": one}) for one in ("42", "42", "43")]
    assert of_run(stored, runs[1].id).details == (
        "2 of 5 runs that job 'work' with key '42' may have waiting wait now; of more the oldest is skipped.",
        "3 of 1,000 runs that group 'mail' may have waiting wait now; more are refused.",
    )
    worker.take(20)
    assert of_run(stored, runs[1].id).details == ()


def test_its_group_has_no_token(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(100, 60.0, 1))
    stored.enqueue(group="mail")
    run = stored.enqueue(group="mail")
    worker.start()
    explanation = of_run(stored, run.id)
    says(explanation, "RATE_LIMIT", "a token of its group 'mail': none of 100 a minute is left until", "in 600 ms")
    assert explanation.until == START + timedelta(seconds=0.6)


def test_its_job_has_no_token_for_its_key(stored: Stored) -> None:
    worker = stored.node(limits=Limits(Rate(1, 60.0, 1), UniqueKey(("customer",), "{customer}")))
    runs = [stored.enqueue_by_job(args={"customer": "42"}) for _ in range(2)]
    worker.take(20)
    explanation = of_run(stored, runs[1].id)
    says(explanation, "RATE_LIMIT", "its job 'work' for the key '42'", "none of 1 a minute", "in 1 min")
    stored.pass_time(60)
    says(of_run(stored, runs[1].id), "NEXT", "about to take it")


def test_as_many_with_its_key_run_as_may(stored: Stored) -> None:
    worker = stored.node(limits=Limits(concurrency_key=UniqueKey(("customer",), "{customer}"), max_concurrent=2))
    runs = [stored.enqueue_by_job(args={"customer": "42"}) for _ in range(3)]
    worker.take(20)
    explanation = of_run(stored, runs[2].id)
    says(explanation, "KEY_LIMIT", "2 of 2 runs with its concurrency key '42' run now")
    assert explanation.run_id == runs[0].id
