"""Flows: what starts after what, by whichever end, on both databases."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from cronograph.jobs import Flow as PythonFlow
from cronograph.jobs.actions.flows import add_runs, cancel_flow, close_flow, enqueue_flow, retry_flow
from cronograph.jobs.actions.runs import cancel_runs, edit_run
from cronograph.jobs.core.admission.caps import Cap, Rate
from cronograph.jobs.core.admission.holding import Hold, Holding
from cronograph.jobs.core.admission.labels import LabelRule
from cronograph.jobs.core.base.errors import (
    AlreadyExists,
    InvalidInput,
    InvalidState,
    SeveralFaults,
    UserError,
)
from cronograph.jobs.core.defaults import FOLLOWED
from cronograph.jobs.core.flows import Ending, Flow, NewFlow, NewMember, When
from cronograph.jobs.core.limits import Limits, UniqueKey
from cronograph.jobs.core.model import NewRun, Priority, Trigger
from cronograph.jobs.core.outcome import Cancelled, Failed, Lost, Snoozed, Succeeded, Suspended
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.base.changes import wake
from cronograph.jobs.queue.claims.candidates import skip_due
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import flows
from tests.support.storage import Stored, Worker

DEAD = Failed("ValueError", "boom", permanent=True)


def member(key: str, *after: str, when: When = When.SUCCESS, job_name: str = "work", **args: Any) -> NewMember:
    return NewMember(key, NewRun(job_name, Trigger.API, args=args, inherits=FOLLOWED), after, when)


def begin(stored: Stored, *members: NewMember, **more: Any) -> Flow:
    return stored.do(enqueue_flow, NewFlow("import", members, **more))


def ids_of(stored: Stored, flow: Flow) -> dict[str, int]:
    return {one.key: one.run_id for one in stored.do(lambda tx: flows.members_of(tx.conn, [flow.id]))}


def states(stored: Stored, flow: Flow) -> dict[str, str]:
    runs = {run.id: run.state for run in stored.rows(tables.run)}
    return {key: runs[run_id] for key, run_id in ids_of(stored, flow).items()}


def now(stored: Stored, flow: Flow) -> str:
    state: str = stored.rows(tables.flow, id=flow.id)[0].state
    return state


def end_next(worker: Worker, *outcomes: Any) -> None:
    for outcome in outcomes:
        worker.end(worker.start(), outcome)


DIAMOND = (member("a"), member("b", "a"), member("c", "a"), member("d", "b", "c"))


def test_a_run_starts_when_all_before_it_have_succeeded(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, *DIAMOND)
    assert states(stored, flow) == {"a": "waiting", "b": "suspended", "c": "suspended", "d": "suspended"}
    (only,) = worker.take(5).started
    worker.end(only)
    assert states(stored, flow) == {"a": "success", "b": "waiting", "c": "waiting", "d": "suspended"}
    first, second = worker.take(5).started
    worker.end(second)
    assert states(stored, flow)["d"] == "suspended"
    worker.end(first)
    assert (states(stored, flow)["d"], now(stored, flow)) == ("waiting", "running")
    worker.end(worker.start())
    assert (set(states(stored, flow).values()), now(stored, flow)) == ({"success"}, "success")


def test_the_order_in_which_runs_are_reported_does_not_matter(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, *reversed(DIAMOND))
    for _ in DIAMOND:
        worker.end(worker.start())
    assert now(stored, flow) == "success"


def test_what_cannot_start_any_more_is_skipped_with_the_chain(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b", "a"), member("c", "b"), member("d", "c"), member("e"))
    worker.end(worker.start(), DEAD)
    assert states(stored, flow) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "skipped", "e": "waiting"}
    errors = {run.id: run.error for run in stored.rows(tables.run)}
    ids = ids_of(stored, flow)
    assert errors[ids["b"]] == "PREDECESSOR: 'a', which it comes after, failed"
    assert errors[ids["d"]] == "PREDECESSOR: 'c', which it comes after, was skipped, because 'a' did not succeed"
    assert {row.key: row.chain for row in stored.rows(tables.flow_run)}["d"] == ["a", "b", "c"]
    worker.end(worker.start())
    assert now(stored, flow) == "failed"


@pytest.mark.parametrize(
    ("outcome", "success", "failure", "always"),
    [
        (Succeeded(), "waiting", "skipped", "waiting"),
        (DEAD, "skipped", "waiting", "waiting"),
        (Cancelled("no need"), "skipped", "skipped", "waiting"),
    ],
)
def test_each_condition_is_met_by_its_ends(
    stored: Stored, outcome: Any, success: str, failure: str, always: str
) -> None:
    worker = stored.node()
    conditions = (member(when.value, "a", when=when) for when in When)
    flow = begin(stored, member("a"), *conditions, member("late", "failure", when=When.ALWAYS))
    worker.end(worker.start(), outcome)
    found = states(stored, flow)
    assert (found["success"], found["failure"], found["always"]) == (success, failure, always)
    assert found["late"] == ("waiting" if failure == "skipped" else "suspended")


def test_after_a_failure_of_one_of_several_the_others_are_waited_for(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b"), member("alarm", "a", "b", when=When.FAILURE))
    end_next(worker, DEAD)
    assert states(stored, flow)["alarm"] == "suspended"
    end_next(worker, Succeeded())
    assert states(stored, flow)["alarm"] == "waiting"
    end_next(worker, Succeeded())
    assert now(stored, flow) == "failed"


@pytest.mark.parametrize("outcome", [Failed("ValueError", "boom"), Snoozed(5.0), Lost("gone")])
def test_an_attempt_that_is_not_the_last_releases_nobody(stored: Stored, outcome: Any) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b", "a", when=When.ALWAYS))
    end_next(worker, outcome)
    assert states(stored, flow)["b"] == "suspended"


def test_a_run_of_a_flow_may_be_suspended_itself(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b", "a"))
    end_next(worker, Suspended(Awaits(AwaitedKind.SIGNAL, "go")))
    assert states(stored, flow) == {"a": "suspended", "b": "suspended"}
    stored.do(wake, [ids_of(stored, flow)["a"]])
    end_next(worker, Succeeded())
    assert states(stored, flow) == {"a": "success", "b": "waiting"}


def test_the_loss_of_a_node_releases_what_waited(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b", "a"), member("alarm", "a", when=When.FAILURE))
    stored.do(lambda tx: tx.conn.execute(tables.run.update().values(retries=0)))
    worker.start()
    stored.do(rescue, worker.node, reason="killed")
    assert states(stored, flow) == {"a": "failed", "b": "skipped", "alarm": "waiting"}


@pytest.mark.parametrize("running", [False, True])
def test_a_cancelled_run_releases_what_waited(stored: Stored, running: bool) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b", "a"), member("c", "b", when=When.ALWAYS))
    started = worker.start() if running else None
    stored.do(cancel_runs, [ids_of(stored, flow)["a"]])
    if started is not None:
        assert states(stored, flow)["b"] == "suspended"
        worker.end(started, Succeeded())
    assert states(stored, flow) == {"a": "cancelled", "b": "skipped", "c": "waiting"}
    end_next(worker, Succeeded())
    assert now(stored, flow) == "cancelled"


def test_results_become_arguments(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(
        stored,
        member("a"),
        member("b"),
        member("sum", "a", "b", parts=[{"$result": "a"}, {"of": {"$result": "b"}}], other={"$result": "x", "y": 1}),
    )
    end_next(worker, Succeeded(None, [1, 2]), Succeeded(7))
    started = worker.start()
    assert started.run.args == {"parts": [[1, 2], {"of": None}], "other": {"$result": "x", "y": 1}}
    worker.end(started)
    assert now(stored, flow) == "success"


def test_what_follows_the_end_of_a_flow_is_enqueued_with_it(stored: Stored) -> None:
    worker = stored.node()
    callbacks = {end: NewRun("work", Trigger.API, args={"end": end.value}, inherits=FOLLOWED) for end in Ending}
    for outcome, told in ((Succeeded(), {"on_end", "on_success"}), (DEAD, {"on_end", "on_failure"})):
        begin(stored, member("a"), callbacks=callbacks)
        end_next(worker, outcome)
        after = [worker.start() for _ in told]
        assert {one.run.args["end"] for one in after} == told
        assert worker.take().started == ()
        for one in after:
            worker.end(one)


def test_a_cancelled_flow_leaves_nothing_unfinished(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b"), member("c", "a", "b"), member("d", "c", when=When.ALWAYS))
    started = worker.start()
    assert stored.do(cancel_flow, flow.id, reason="too late", actor="ann").state.value == "running"
    assert states(stored, flow) == {"a": "running", "b": "cancelled", "c": "cancelled", "d": "cancelled"}
    worker.end(started)
    assert (states(stored, flow)["a"], now(stored, flow)) == ("cancelled", "cancelled")
    assert stored.do(cancel_flow, flow.id).state.value == "cancelled"


def test_an_open_flow_takes_runs_until_it_is_closed(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), is_open=True)
    end_next(worker, Succeeded(5))
    assert now(stored, flow) == "running"
    stored.do(add_runs, flow.id, [member("b", "a", value={"$result": "a"}), member("c", "b")])
    assert states(stored, flow) == {"a": "success", "b": "waiting", "c": "suspended"}
    end_next(worker, DEAD)
    stored.do(add_runs, flow.id, [member("d", "c")])
    assert states(stored, flow)["d"] == "skipped"
    assert stored.do(close_flow, flow.id).state.value == "failed"
    with pytest.raises(InvalidState, match="takes no further runs"):
        stored.do(add_runs, flow.id, [member("e")])


def test_an_open_flow_may_begin_and_end_empty(stored: Stored) -> None:
    flow = begin(stored, is_open=True)
    assert stored.do(close_flow, flow.id).state.value == "success"


def test_a_second_unfinished_flow_with_one_key_is_refused(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), unique_key="2026-03")
    with pytest.raises(AlreadyExists, match=f"flow {flow.id} has the key '2026-03'"):
        begin(stored, member("a"), unique_key="2026-03")
    end_next(worker, Succeeded())
    assert begin(stored, member("a"), unique_key="2026-03").id != flow.id


@pytest.mark.costly
@pytest.mark.parametrize(
    ("members", "path", "sentence"),
    [
        ([member("a", "b"), member("b", "c"), member("c", "a")], "runs.0.after", r"circle.*: 'a' → 'c' → 'b' → 'a'"),
        ([member("a", "a")], "runs.0.after", "'a' → 'a'"),
        ([member("load"), member("b", "laod")], "runs.1.after.0", "did you mean 'load'"),
        ([member("a"), member("a")], "runs.1.key", "is the key of runs.0 too"),
        ([member("")], "runs.0.key", "at least 1 character"),
        ([member("a"), member("b", value={"$result": "a"})], "runs.1.args.value", "add its key to 'after'"),
        ([member("a"), member("b", "a", value={"$result": "x"})], "runs.1.args.value", "'x'} must name a run"),
        ([member("a"), member("b", "a", value={"$result": 1})], "runs.1.args.value", "1} must name a run"),
        ([member(str(number)) for number in range(10_001)], "runs", "at most 10,000 in one request, got 10,001"),
        ([member("a", job_name="wrok")], "runs.0.jobName", "Unknown job: wrok; did you mean 'work'"),
        ([], "runs", "at least one"),
    ],
)
def test_a_flow_of_no_shape_is_refused_with_the_place(
    stored: Stored, members: list[NewMember], path: str, sentence: str
) -> None:
    stored.node()
    with pytest.raises(UserError, match=sentence) as refused:
        begin(stored, *members)
    assert ".".join(refused.value.path) == path
    assert stored.rows(tables.run) == stored.rows(tables.flow) == []


def test_all_faults_are_reported_at_once(stored: Stored) -> None:
    stored.node()
    with pytest.raises(SeveralFaults) as refused:
        begin(stored, member("a", "x"), member("a", "y"))
    assert [".".join(one.path) for one in refused.value.faults] == ["runs.0.after.0", "runs.1.key", "runs.1.after.0"]


def sent_at_the_end(stored: Stored, worker: Worker, started: Started) -> list[str]:
    """The statements of a success, which is stored alone."""
    sent: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
        sent.append(statement)

    def end(tx: Any) -> None:
        event.listen(tx.conn, "before_cursor_execute", note)
        finish(tx, worker.node.id, worker.node.name, [Finish(started.run, started.execution_id, Succeeded())])

    stored.do(end)
    return sent


def test_runs_without_a_flow_send_no_statement_for_flows(stored: Stored) -> None:
    worker = stored.node()
    begin(stored, member("a"))
    worker.end(worker.start())
    stored.enqueue()
    assert not [one for one in sent_at_the_end(stored, worker, worker.start()) if "flow" in one]


def test_the_end_of_a_run_of_a_flow_is_written_by_one_statement(stored: Stored) -> None:
    worker = stored.node()
    begin(stored, member("a"), member("b", "a"))
    sent = sent_at_the_end(stored, worker, worker.start())
    assert len([one for one in sent if "SET completed_at =" in one]) == 1


def test_a_run_that_is_too_old_to_start_takes_with_it_what_comes_after(stored: Stored) -> None:
    stored.node()
    late = NewMember("a", NewRun("work", Trigger.API, expires_at=stored.now + timedelta(seconds=10)))
    flow = begin(stored, late, member("b", "a"), member("c", "a", when=When.ALWAYS))
    stored.pass_time(11)
    stored.do(skip_due, None)
    assert states(stored, flow) == {"a": "skipped", "b": "skipped", "c": "waiting"}


def labels_of(stored: Stored, flow: Flow) -> dict[str, Any]:
    runs = {run.id: run.labels for run in stored.rows(tables.run)}
    return {key: runs[run_id] for key, run_id in ids_of(stored, flow).items()}


def test_runs_inherit_the_labels_of_their_flow(stored: Stored) -> None:
    worker = stored.node()
    labels = {"customer": "42", "stage": "test"}
    own = NewMember("b", NewRun("work", Trigger.API, labels={"stage": "own"}, inherits=FOLLOWED), ("a",))
    callbacks = {Ending.END: NewRun("work", Trigger.API, labels={"kind": "end"}, inherits=FOLLOWED)}
    flow = begin(stored, member("a"), own, labels=labels, callbacks=callbacks, is_open=True)
    stored.do(add_runs, flow.id, [member("c", "b")])
    assert flow.labels == labels
    assert labels_of(stored, flow) == {"a": labels, "b": {**labels, "stage": "own"}, "c": labels}
    end_next(worker, Succeeded(), DEAD)
    stored.do(close_flow, flow.id)
    assert worker.start().run.labels == {**labels, "kind": "end"}
    stored.do(retry_flow, flow.id)
    assert labels_of(stored, flow)["b"] == {**labels, "stage": "own"}
    found = {row.run_id for row in stored.rows(tables.run_label, key="customer")}
    assert found >= set(ids_of(stored, flow).values())


def test_labels_that_are_none_are_refused_with_their_place(stored: Stored) -> None:
    stored.node()
    for wrong, path in (({"customer": 42}, "labels.customer"), (["customer"], "labels")):
        with pytest.raises(UserError) as refused:
            begin(stored, member("a"), labels=wrong)
        assert ".".join(refused.value.path) == path
    assert stored.rows(tables.run) == stored.rows(tables.flow) == []


def test_the_runs_of_a_flow_are_counted_by_job(stored: Stored) -> None:
    worker = stored.node(jobs=("work", "other"))
    flow = begin(
        stored,
        member("a"),
        *(member(f"part-{number}", "a", job_name="other") for number in range(3)),
        member("b", "part-0", "part-1", "part-2", "a"),
    )
    worker.end(worker.start())
    found = stored.do(lambda tx: flows.by_job(tx.conn, [flow.id]))[flow.id]
    work, other = found
    assert (work.job_name, {state.value: count for state, count in work.states.items()}, work.after) == (
        "work",
        {"success": 1, "suspended": 1},
        ["other", "work"],
    )
    assert (other.job_name, [*other.states.values()], other.after) == ("other", [3], ["work"])


CUSTOMER = UniqueKey(("customer",), "customer-{customer}")
LIMITED = Limits(Rate(100, 1.0, 100), CUSTOMER, CUSTOMER, 1, Cap(1000), CUSTOMER)
OF_CUSTOMER: dict[str, Any] = {
    "limits": LIMITED,
    "labels": LabelRule(arguments={"customer": "customer"}),
    "ttl": 3600.0,
}


def keys_in(stored: Stored, flow: Flow) -> dict[str, Any]:
    runs = {run.id: run for run in stored.rows(tables.run)}
    return {
        key: (runs[one].concurrency_key, runs[one].max_concurrent, runs[one].rate_key, runs[one].cap_key)
        for key, one in ids_of(stored, flow).items()
    }


def customer(name: str) -> tuple[str, int, str, str]:
    return (f"customer-{name}", 1, f"customer-{name}", f"customer-{name}")


def test_a_retried_flow_keeps_its_keys_and_what_else_its_runs_have(stored: Stored) -> None:
    worker = stored.node(**OF_CUSTOMER)
    own = NewRun(
        "work", Trigger.API, args={"customer": "7"}, priority=Priority.HIGH, group="own", retries=0, retry_delay=5.0,
        timeout=9.0, max_duration=99.0, description="why", carried={"trace": "t"}, labels={"kind": "own"},
        inherits=FOLLOWED - {"priority", "group", "retries", "retry_delay", "timeout", "max_duration"},
    )  # fmt: skip
    flow = begin(stored, *(NewMember(key, own) for key in "abc"), labels={"stage": "test"})
    before = {key: stored.rows(tables.run, id=one)[0] for key, one in ids_of(stored, flow).items()}
    for _ in range(3):
        (only,) = worker.take(5).started
        worker.end(only, DEAD)
    stored.do(retry_flow, flow.id)
    assert keys_in(stored, flow) == dict.fromkeys("abc", customer("7"))
    changed = {"id", "submitted_at", "available_at", "expires_at", "trigger", "retried_from"}
    for key, one in ids_of(stored, flow).items():
        (again,) = stored.rows(tables.run, id=one)
        left = before[key]._asdict()
        assert {name: value for name, value in again._asdict().items() if name not in changed} == {
            name: value for name, value in left.items() if name not in changed
        }
        assert (again.retried_from, again.expires_at - again.available_at) == (left["id"], timedelta(hours=1))
    assert len(worker.take(5).started) == 1, "one at once, as before"


def test_keys_and_labels_that_are_made_of_a_result_are_those_of_the_result(stored: Stored) -> None:
    worker = stored.node(**OF_CUSTOMER)
    taken = {"customer": {"$result": "a"}}
    later = NewRun("work", Trigger.API, args=taken, labels={"kind": "later"}, inherits=FOLLOWED)
    flow = begin(stored, member("a", customer="first"), NewMember("b", later, ("a",)), NewMember("c", later, ("b",)))
    assert keys_in(stored, flow)["b"] == (None, None, None, None)
    assert labels_of(stored, flow)["b"] == {"kind": "later"}
    end_next(worker, Succeeded(None, "7"))
    assert keys_in(stored, flow)["b"] == customer("7")
    assert labels_of(stored, flow)["b"] == {"kind": "later", "customer": "7"}
    assert [row.run_id for row in stored.rows(tables.run_label, value="7")] == [ids_of(stored, flow)["b"]]
    end_next(worker, DEAD)
    stored.do(retry_flow, flow.id)
    assert keys_in(stored, flow)["b"] == customer("7"), "its result is known, and it is released at once"
    # Made again with the run whose result it takes, it has the new result.
    end_next(worker, Succeeded(), DEAD)
    stored.do(cancel_flow, flow.id)


def test_a_label_that_was_made_of_a_result_is_made_of_the_next_one(stored: Stored) -> None:
    worker = stored.node(**OF_CUSTOMER)
    taken = NewRun("work", Trigger.API, args={"customer": {"$result": "a"}}, inherits=FOLLOWED)
    flow = begin(
        stored,
        member("a", customer="x"),
        member("b", "a", customer="x"),
        NewMember("c", taken, ("b", "a"), When.ALWAYS),
    )
    end_next(worker, DEAD)
    assert keys_in(stored, flow)["c"] == customer("null")
    end_next(worker, DEAD)
    stored.do(retry_flow, flow.id)
    assert (keys_in(stored, flow)["c"], labels_of(stored, flow)["c"]) == ((None, None, None, None), None)
    end_next(worker, Succeeded(None, "8"), Succeeded())
    assert (keys_in(stored, flow)["c"], labels_of(stored, flow)["c"]) == (customer("8"), {"customer": "8"})


def test_a_result_that_can_be_no_label_is_none(stored: Stored) -> None:
    worker = stored.node(**OF_CUSTOMER)
    taken = NewRun("work", Trigger.API, args={"customer": {"$result": "a"}}, inherits=FOLLOWED)
    flow = begin(stored, member("a", customer="first"), NewMember("b", taken, ("a",)))
    end_next(worker, Succeeded(None, {"not": "a label"}))
    assert (labels_of(stored, flow)["b"], states(stored, flow)["b"]) == (None, "waiting")


def test_what_waits_for_a_failure_is_made_again_with_what_it_comes_after(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(
        stored,
        member("a"),
        member("b", "a"),
        member("alarm", "b", when=When.FAILURE),
        member("more", "alarm", when=When.FAILURE),
        member("late", "alarm"),
    )
    end_next(worker, DEAD)
    assert set(states(stored, flow).values()) == {"failed", "skipped"}
    stored.do(retry_flow, flow.id)
    assert states(stored, flow) == {"a": "waiting"} | dict.fromkeys(("b", "alarm", "more", "late"), "suspended")
    end_next(worker, Succeeded(), DEAD)
    assert states(stored, flow)["alarm"] == "waiting"
    end_next(worker, DEAD)
    assert (states(stored, flow)["more"], states(stored, flow)["late"]) == ("waiting", "skipped")
    end_next(worker, Succeeded())
    assert now(stored, flow) == "failed"


def test_a_run_at_the_end_of_a_flow_has_all_that_was_said_of_it(stored: Stored) -> None:
    worker = stored.node(**OF_CUSTOMER)
    later = stored.now + timedelta(hours=1)
    asked = NewRun(
        "work", Trigger.API, args={"customer": "7"}, unique_key="once", available_at=later, priority=Priority.HIGH,
        expires_at=later + timedelta(hours=1), inherits=FOLLOWED - {"unique_key", "priority"},
    )  # fmt: skip
    begin(stored, member("a", customer="first"), callbacks={Ending.END: asked})
    end_next(worker, Succeeded())
    (run,) = stored.rows(tables.run, unique_key="once")
    assert (run.concurrency_key, run.max_concurrent, run.rate_key, run.cap_key) == customer("7")
    assert (run.available_at, run.expires_at - run.available_at) == (later, timedelta(hours=1))
    assert (run.priority, run.labels) == ("high", {"customer": "7"})
    held = NewRun("work", Trigger.API, hold=Hold(Holding.DEBOUNCE, 5.0), unique_key="calm", inherits=FOLLOWED)
    begin(stored, member("a", customer="first"), callbacks={Ending.END: held})
    end_next(worker, Succeeded())
    (run,) = stored.rows(tables.run, unique_key="calm")
    assert run.available_at == stored.now + timedelta(seconds=5)


def test_a_flow_bounds_how_many_of_its_runs_run_at_once(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, *(member(str(number)) for number in range(4)), member("last", "0"), max_concurrent=2)
    stored.enqueue()
    started = worker.take(9).started
    assert [one.run.flow_id for one in started] == [flow.id, flow.id, None]
    assert not worker.take(9).started
    worker.end(started[0], DEAD)
    (third,) = worker.take(9).started
    assert third.run.flow_id == flow.id
    for one in (started[1], third):
        worker.end(one)
    (fourth,) = worker.take(9).started
    worker.end(fourth)
    assert states(stored, flow)["last"] == "skipped"
    # What is made again is bounded as before.
    stored.do(retry_flow, flow.id)
    again = {row.id: row for row in stored.rows(tables.run)}
    bounds = {(again[one].concurrency_key, again[one].max_concurrent) for one in ids_of(stored, flow).values()}
    assert bounds == {(f"cronograph flow {flow.id}", 2)}


def test_a_bound_stays_with_a_run_that_gets_its_arguments_later(stored: Stored) -> None:
    worker = stored.node(limits=Limits(rate=Rate(100, 60.0, 100)))
    flow = begin(stored, member("a"), member("b", "a", number={"$result": "a"}), max_concurrent=1)
    worker.end(worker.start(), Succeeded(value=7))
    (row,) = stored.rows(tables.run, id=ids_of(stored, flow)["b"])
    assert (row.args, row.concurrency_key, row.max_concurrent) == ({"number": 7}, f"cronograph flow {flow.id}", 1)


def test_a_run_of_a_flow_that_is_given_other_arguments_keeps_its_bound_and_them(stored: Stored) -> None:
    worker = stored.node(limits=Limits(rate=Rate(100, 60.0, 100)))
    flow = begin(stored, member("a"), member("b", "a", number={"$result": "a"}), max_concurrent=1)
    worker.end(worker.start(), Succeeded(value=7))
    stored.do(edit_run, ids_of(stored, flow)["b"], args={"number": 8})
    worker.end(worker.start(), DEAD)
    stored.do(retry_flow, flow.id)
    for row in stored.rows(tables.run)[-2:]:
        assert (row.args, row.concurrency_key, row.max_concurrent) == ({"number": 8}, f"cronograph flow {flow.id}", 1)


def test_a_flow_whose_job_has_a_bound_or_that_is_open_has_none(stored: Stored) -> None:
    stored.node(limits=Limits(max_concurrent=3))
    with pytest.raises(InvalidInput, match="job 'work' has a max_concurrent of its own"):
        begin(stored, member("a"), max_concurrent=1)
    with pytest.raises(InvalidInput, match="an open flow has none"):
        begin(stored, member("a"), max_concurrent=1, is_open=True)
    with pytest.raises(InvalidInput, match="max_concurrent: must be"):
        PythonFlow("too few", max_concurrent=0)
