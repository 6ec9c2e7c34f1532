"""The checker sees: it finds nothing in what the product does, and finds each fault of a product that is broken."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from cronograph.jobs.actions.groups import set_group_cap, set_group_rate
from cronograph.jobs.actions.nodes import leave
from cronograph.jobs.actions.signals import signal_run
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.model import OverlapPolicy, SkipReason
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed, HandedBack, Lost, Succeeded
from cronograph.jobs.core.remote import REMOTE_LOST
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.waits import Signal
from cronograph.jobs.queue import remote
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.queue.remote import Submission
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import events
from tests.chaos.admission_rules import DEBOUNCED, lost_arguments
from tests.chaos.broken import (
    BREAKS,
    TESTIMONY_BREAKS,
    Break,
    dispatch_again,
    execute,
    lose_a_started_run,
    stored_node,
)
from tests.chaos.broken_durable import DURABLE_BREAKS, small_flow, store_step
from tests.chaos.durable_rules import broken_signals
from tests.chaos.flow_rules import broken_flows
from tests.chaos.history import History, read_history
from tests.chaos.joint_rules import Meant, broken_ends
from tests.chaos.rules import RULES, RULES_AT_REST, Violation, broken_promises, violations
from tests.chaos.testimony import TESTIMONY_RULES, Attempt, Testimony, contradictions
from tests.support.sources import ROOT
from tests.support.storage import Stored, Worker

pytestmark = pytest.mark.altered_log  # broken variants write what nothing counts

ALL_BREAKS = {**BREAKS, **DURABLE_BREAKS}


def published(stored: Stored) -> History:
    """The history after everything committed so far was published."""
    stored.do(lambda tx: events.publish(tx.conn))
    return read(stored)


def read(stored: Stored) -> History:
    return read_history(stored.database.url.render_as_string(hide_password=False))


def found(stored: Stored, *, at_rest: bool = False) -> list[Violation]:
    return violations(published(stored), at_rest=at_rest)


@pytest.fixture
def worker(stored: Stored) -> Worker:
    """A node with a history that has something of everything: skips, drops, failures, a loss, a hand-back."""
    worker = stored.node()
    stored.do(set_group_cap, "capped", cap=Cap(3, WhenFull.DROP_OLDEST))
    stored.do(set_group_rate, "rated", rate=Rate(1, 5.0, 2))
    for _ in range(3):
        stored.enqueue(concurrency_key="a", max_concurrent=1)
        stored.enqueue(group="rated")
    stored.enqueue(ttl=0.5)
    stored.task("* * * * * *", name="often", misfire_grace=2.0)
    stored.task("* * * * * *", name="always", overlap=OverlapPolicy.ALLOW, misfire_grace=2.0, retry_delay=1.0)
    stored.task("5s", Syntax.INTERVAL, name="evenly")
    for second in (1.1, 2.1, 3.1, 5.05, 9.1, 10.1, 11.1, 25.1, 29.9, 30.1):
        stored.at(second)
        stored.dispatch()
        for number, started in enumerate(worker.take(4).started):
            store_step(stored, worker, started)
            worker.end(started, Failed("ValueError", "no luck") if number == 3 else Succeeded(1))
    small_flow(stored)
    for _ in range(2):
        stored.pass_time(1)
        for started in worker.take(4).started:
            if started.run.attempt == 1:
                store_step(stored, worker, started)
            worker.end(started, Succeeded(1))
    other = stored.node("node-b")
    stored.pass_time(1)
    stored.dispatch()
    other.take(2, prefetch=2)
    stored.do(rescue, stored_node(stored, other), reason="it was killed")
    stored.pass_time(1)
    for started in worker.take(20).started:
        worker.end(started, HandedBack("enough") if started.run.attempt == 2 else Succeeded())
    full_queue(stored)
    return worker


def full_queue(stored: Stored) -> None:
    """More runs than a group may have waiting, those of clients and those of a task."""
    stored.task("* * * * * *", name="capped", group="capped", overlap=OverlapPolicy.ALLOW)
    for _ in range(4):
        stored.enqueue(group="capped")
        stored.pass_time(1)
        stored.dispatch()


@pytest.mark.costly
def test_the_sample_history_has_something_of_everything(stored: Stored, worker: Worker) -> None:
    history = published(stored)
    assert {row.reason for row in history.skipped} >= {SkipReason.OVERLAP, SkipReason.COALESCED, SkipReason.TOLERANCE}
    outcomes = {one.outcome.value for one in history.executions if one.outcome is not None}
    assert outcomes >= {"success", "failed", "lost", "handed_back"}
    assert SkipReason.EXPIRED in {run.skip_reason for run in history.runs}
    dropped = {run.trigger.value for run in history.runs if run.skip_reason is SkipReason.QUEUE_FULL}
    assert dropped == {"api", "schedule"}
    assert {run.concurrency_key for run in history.runs if run.attempt} == {None, "a"}
    assert len([run for run in history.runs if run.group == "rated" and run.attempt]) > 1


@pytest.mark.costly
def test_nothing_is_found_in_what_the_product_does(stored: Stored, worker: Worker) -> None:
    assert found(stored) == []
    dispatch_again(stored)
    late, other, again = lose_a_started_run(stored)
    assert Worker(stored, stored_node(stored, other), ("work",)).end(late).accepted == frozenset()
    other.end(again)
    assert found(stored) == []


@pytest.mark.costly
def test_nothing_is_found_after_an_orderly_end(stored: Stored, worker: Worker) -> None:
    __late, other, _ = lose_a_started_run(stored)
    for one in (worker, other):
        stored.do(leave, one.node, NodeState.STOPPED, unfinished=HandedBack("stopped"))
    assert found(stored, at_rest=True) == []


@pytest.mark.costly
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("broken", ALL_BREAKS, ids=lambda broken: str(broken.__name__))
def test_a_broken_product_is_found_out(stored: Stored, worker: Worker, broken: Break) -> None:
    published(stored)
    broken(stored, worker)
    assert ALL_BREAKS[broken] in {one.rule for one in found(stored)}


@pytest.fixture
def expired(stored: Stored, worker: Worker) -> tuple[History, Testimony, Attempt]:
    """A history in which a node lost its lease, what its jobs said, and one attempt of it that succeeded."""
    stored.do(rescue, stored_node(stored, worker), reason="no heartbeat within its lease")
    history = published(stored)
    said = Testimony()
    for one in history.executions:
        attempt = one.run_id, one.attempt
        said.begun[attempt] = said.ended[attempt] = 1
        said.begun_at[attempt] = said.acted[attempt] = one.started_at.timestamp()
    said.steps.extend((one.run_id, one.attempt, one.label) for one in history.steps)
    own = [one for one in history.executions if one.node_id == worker.node.id and one.success]
    return history, said, (own[-1].run_id, own[-1].attempt)


@pytest.mark.costly
def test_nothing_is_found_in_what_jobs_say_that_were_stopped_in_time(
    expired: tuple[History, Testimony, Attempt],
) -> None:
    history, said, _ = expired
    assert contradictions(history, said) == []


@pytest.mark.costly
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("broken", TESTIMONY_BREAKS, ids=lambda broken: str(broken.__name__))
def test_jobs_that_say_otherwise_are_heard(
    worker: Worker,
    expired: tuple[History, Testimony, Attempt],
    broken: Callable[[Testimony, Attempt, float], None],
) -> None:
    history, said, attempt = expired
    lease_ends = history.node_of[worker.node.id].expires_at.timestamp()
    broken(said, attempt, lease_ends)
    assert {rule for rule, _ in contradictions(history, said)} == {TESTIMONY_BREAKS[broken]}


@pytest.mark.costly
def test_what_a_process_did_that_stood_still_is_nobodys_fault(
    worker: Worker, expired: tuple[History, Testimony, Attempt]
) -> None:
    history, said, attempt = expired
    said.acted[attempt] = history.node_of[worker.node.id].expires_at.timestamp() + 1
    assert contradictions(history, replace(said, frozen={worker.node.name})) == []


def test_a_run_that_was_acknowledged_and_is_lost_is_found(stored: Stored) -> None:
    worker = stored.node()
    promised = {key: stored.enqueue(unique_key=key).id for key in ("kept", "lost", "failed", "waiting")}
    for started in worker.take(3).started:
        failed = started.run.id == promised["failed"]
        worker.end(started, Failed("ValueError", "no luck", permanent=True) if failed else Succeeded())
    execute(stored, f"DELETE FROM cronograph.job_execution WHERE run_id = {promised['lost']}")
    execute(stored, f"DELETE FROM cronograph.run WHERE id = {promised['lost']}")
    broken = list(broken_promises(read(stored), promised))
    assert [sentence.split()[1] for sentence in broken] == [str(promised[key]) for key in ("lost", "failed", "waiting")]


def test_a_run_that_ends_otherwise_than_it_was_meant_to_is_found(stored: Stored) -> None:
    worker = stored.node()
    kept, failed, waits = (stored.enqueue().id for _ in range(3))
    ends: dict[int, Succeeded | Failed] = {kept: Succeeded(), failed: Failed("ValueError", "no luck", permanent=True)}
    for started in worker.take(2).started:
        worker.end(started, ends[started.run.id])
    success, anything = Meant(frozenset({"success"})), Meant.anything()
    assert list(broken_ends(read(stored), {kept: success, failed: anything})) == []
    broken = list(broken_ends(read(stored), {kept: anything, failed: success, waits: anything, 999: anything}))
    assert [sentence.split()[1] for sentence in broken] == [str(failed), str(waits), "999"]
    assert list(broken_ends(read(stored), {999: anything}, pruned=True)) == []


def test_a_debounced_number_that_was_acknowledged_and_is_lost_is_found(stored: Stored) -> None:
    worker = stored.node(jobs=("work", DEBOUNCED))
    for key in ("kept", "lost", "failed"):
        stored.enqueue(job_name=DEBOUNCED, args={"number": 4}, unique_key=key)
        started = worker.start()
        worker.end(started, Failed("ValueError", "no luck", permanent=True) if key == "failed" else Succeeded())
    broken = list(lost_arguments(read(stored), {"kept": 4, "lost": 5, "failed": 4}))
    assert [sentence.split("'")[1] for sentence in broken] == ["lost", "failed"]


def test_a_signal_that_was_acknowledged_and_is_lost_is_found(stored: Stored) -> None:
    worker = stored.node()
    kept, lost, boxed = (stored.enqueue().id for _ in range(3))
    stored.do(signal_run, run_id=boxed, signal=Signal("go", "hi"))
    for started in worker.take(3).started:
        worker.end(started, Succeeded(value=None if started.run.id == lost else "hi"))
    assert list(broken_signals(read(stored), {kept: "hi"})) == []
    broken = list(broken_signals(read(stored), {kept: "hi", lost: "hi", 999: "hi", boxed: "hi"}))
    assert [sentence.split(" of ")[-1].split()[1] for sentence in broken] == [str(lost), "999", str(boxed)]


def test_a_flow_that_was_acknowledged_and_ended_otherwise_is_found(stored: Stored) -> None:
    worker = stored.node()
    small_flow(stored)
    for _ in range(2):
        worker.end(worker.start())
    (flow,) = stored.rows(tables.flow)
    kept, other = {"a": "success", "b": "success"}, {"a": "success", "b": "skipped"}
    assert list(broken_flows(read(stored), {flow.id: kept})) == []
    broken = [*broken_flows(read(stored), {flow.id: other}), *broken_flows(read(stored), {999: kept})]
    assert [sentence.split()[1] for sentence in broken] == [str(flow.id), "999"]


def test_what_is_open_at_the_end_is_found(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.take()
    published(stored)
    away(stored, worker)
    published(stored)
    execute(stored, "UPDATE cronograph.event SET seq = NULL WHERE seq > 1")
    rules = {one.rule for one in violations(read(stored), at_rest=True)}
    assert rules >= {
        "nothing is left open", "nobody is left", "everything is published", "no attempt is left at an engine",
    }  # fmt: skip


def away(stored: Stored, worker: Worker) -> Started:
    """A run that was handed to an engine."""
    stored.enqueue(retries=3)
    started = worker.start()
    new = Submission("command", "cronograph-1", "hash of a token", {})
    assert stored.do(remote.note_submission, started.run, started.execution_id, new)
    return started


def test_what_is_at_an_engine_outlives_its_node_and_is_lost_by_itself(stored: Stored) -> None:
    worker = stored.node()
    started = away(stored, worker)
    worker.end(started, Lost("command lost cronograph-1", REMOTE_LOST))
    stored.do(rescue, stored_node(stored, worker), reason="no heartbeat within its lease")
    history, attempt = published(stored), (started.run.id, 1)
    late = history.node_of[worker.node.id].expires_at.timestamp() + 1
    said = Testimony({attempt: late - 2}, Counter({attempt: 1}), acted={attempt: late}, frozen={worker.node.name})
    assert (violations(history), contradictions(history, said)) == ([], [])
    # Nor does it stand still with its node.
    said.begun_at[started.run.id, 2] = late - 1
    assert [rule for rule, _ in contradictions(history, said)] == ["an attempt is over before the next one begins"]
    execute(stored, "UPDATE cronograph.job_execution SET error_message = 'lost'")
    assert [one.rule for one in found(stored)] == ["a lost execution names its node"]


def test_every_rule_has_been_seen_to_find_something() -> None:
    names = {rule.__name__.replace("_", " ") for rule in RULES}
    assert names == set(ALL_BREAKS.values())
    assert {rule.__name__.replace("_", " ") for rule in TESTIMONY_RULES} == set(TESTIMONY_BREAKS.values())
    assert len(RULES_AT_REST) == 4


def test_the_document_names_every_rule() -> None:
    document = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    names = [rule.__name__.replace("_", " ") for rule in (*RULES, *RULES_AT_REST, *TESTIMONY_RULES)]
    assert [name for name in names if f"`{name}`" not in document] == []


def test_an_empty_history_breaks_nothing(stored: Stored) -> None:
    assert found(stored, at_rest=True) == []
    assert stored.rows(tables.run) == []
