"""Finished flows are made again: where they failed, or from one of their runs on."""

import pytest

from cronograph.jobs.actions.flows import enqueue_flow, retry_flow
from cronograph.jobs.core.base.errors import AlreadyExists, InvalidInput, InvalidState, NotFound
from cronograph.jobs.core.flows import NewFlow, When
from cronograph.jobs.core.outcome import Succeeded
from cronograph.jobs.store.schema import tables
from tests.queue.test_flows import DEAD, DIAMOND, OF_CUSTOMER, begin, end_next, ids_of, member, now, states
from tests.support.storage import Stored


def test_a_retry_makes_again_what_failed_and_what_that_blocked(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(
        stored,
        member("a"),
        member("b", "a"),
        member("c", "b", value={"$result": "b"}),
        member("alarm", "b", when=When.FAILURE),
    )
    end_next(worker, Succeeded(), DEAD, Succeeded())
    assert (states(stored, flow)["c"], now(stored, flow)) == ("skipped", "failed")
    before = ids_of(stored, flow)
    assert stored.do(retry_flow, flow.id, actor="ann").state.value == "running"
    after = ids_of(stored, flow)
    assert {key for key in before if before[key] != after[key]} == {"b", "c"}
    assert states(stored, flow) == {"a": "success", "b": "waiting", "c": "suspended", "alarm": "success"}
    assert stored.rows(tables.run, id=after["b"])[0].retried_from == before["b"]
    end_next(worker, Succeeded(None, "again"))
    started = worker.start()
    assert started.run.args == {"value": "again"}
    worker.end(started)
    assert now(stored, flow) == "success"
    with pytest.raises(InvalidState, match="nothing to retry"):
        stored.do(retry_flow, flow.id)


def test_a_run_of_a_finished_flow_is_made_again_with_all_that_follows(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, *DIAMOND[:3], member("d", "b", "c", value={"$result": "b"}), member("e"))
    end_next(worker, Succeeded(None, 1), *[Succeeded(None, 2)] * 3, Succeeded())
    before = ids_of(stored, flow)
    assert stored.do(retry_flow, flow.id, from_run=before["b"], actor="ann").state.value == "running"
    after = ids_of(stored, flow)
    assert {key for key in before if before[key] != after[key]} == {"b", "d"}
    assert states(stored, flow) == {
        "a": "success", "b": "waiting", "c": "success", "d": "suspended", "e": "success",
    }  # fmt: skip
    (again,) = stored.rows(tables.run, id=after["b"])
    assert (again.retried_from, again.submitter) == (before["b"], "ann")
    end_next(worker, Succeeded(None, "other"))
    started = worker.start()
    assert started.run.args == {"value": "other"}
    worker.end(started)
    assert now(stored, flow) == "success"


def test_the_first_of_the_repeated_runs_may_have_other_arguments(stored: Stored) -> None:
    worker = stored.node(**OF_CUSTOMER)
    flow = begin(stored, member("a", customer="1"), member("b", "a", customer="1"), member("c", "b", customer="1"))
    end_next(worker, Succeeded(None, "7"), Succeeded(), DEAD)
    repeated = ids_of(stored, flow)["b"]
    stored.do(retry_flow, flow.id, from_run=repeated, args={"customer": {"$result": "a"}})
    (again,) = stored.rows(tables.run, id=ids_of(stored, flow)["b"])
    assert (again.args, again.concurrency_key, again.labels) == ({"customer": "7"}, "customer-7", {"customer": "7"})
    end_next(worker, Succeeded(), Succeeded())
    assert now(stored, flow) == "success"
    stored.do(retry_flow, flow.id, from_run=again.id, args={"customer": "8"})
    (third,) = stored.rows(tables.run, id=ids_of(stored, flow)["b"])
    assert (third.args, third.concurrency_key, third.labels) == ({"customer": "8"}, "customer-8", {"customer": "8"})
    # What the arguments were made of before is forgotten: a further retry has these.
    end_next(worker, Succeeded(), DEAD)
    stored.do(retry_flow, flow.id, from_run=third.id)
    assert stored.rows(tables.run, id=ids_of(stored, flow)["b"])[0].args == {"customer": "8"}


def test_a_repetition_that_cannot_start_or_be_is_refused(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b", "a"), member("alarm", "b", when=When.FAILURE))
    with pytest.raises(InvalidState, match="is unfinished"):
        stored.do(retry_flow, flow.id, from_run=ids_of(stored, flow)["a"])
    end_next(worker, Succeeded(), Succeeded())
    ids = ids_of(stored, flow)
    stored.do(retry_flow, flow.id, from_run=ids["a"])
    end_next(worker, DEAD)
    ids_now = ids_of(stored, flow)
    for key, text in (("b", "'a' ended failed and it starts only on success"), ("alarm", "starts only on failure")):
        with pytest.raises(InvalidState, match=text) as refused:
            stored.do(retry_flow, flow.id, from_run=ids_now[key])
        assert refused.value.path == ("fromRun",)
    for run_id in (ids["a"], 999):
        with pytest.raises(NotFound, match=f"run {run_id} has no place in flow {flow.id}"):
            stored.do(retry_flow, flow.id, from_run=run_id)
    with pytest.raises(InvalidInput, match="name it by fromRun"):
        stored.do(retry_flow, flow.id, args={})
    with pytest.raises(InvalidInput, match="must name a run that 'a' comes after; it comes after none"):
        stored.do(retry_flow, flow.id, from_run=ids_now["a"], args={"value": {"$result": "b"}})
    assert ids_of(stored, flow) == ids_now


def test_an_unfinished_flow_is_not_retried(stored: Stored) -> None:
    stored.node()
    flow = begin(stored, member("a"))
    with pytest.raises(InvalidState, match="is unfinished"):
        stored.do(retry_flow, flow.id)


def test_a_flow_whose_key_another_one_has_by_now_is_not_retried(stored: Stored) -> None:
    worker = stored.node()
    keyed = NewFlow("nightly", (member("a"),), unique_key="night")
    flow = stored.do(enqueue_flow, keyed)
    end_next(worker, DEAD)
    other = stored.do(enqueue_flow, keyed)
    with pytest.raises(AlreadyExists, match=f"flow {other.id} has the key 'night' and is unfinished"):
        stored.do(retry_flow, flow.id)
    end_next(worker, Succeeded())
    assert stored.do(retry_flow, flow.id).state.value == "running"
