"""The product, broken in one place each: what the rules must see. Every break acts on a history that was in order."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlalchemy import delete, select, update

from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.limits import Limits
from cronograph.jobs.core.model import Outcome, SkipReason
from cronograph.jobs.core.nodes import Node, NodeState
from cronograph.jobs.core.outcome import Lost, Succeeded
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.base.changes import finished_changes
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import nodes as stored_nodes
from tests.chaos.broken_admission import (
    a_claim_does_not_look_at_the_expiry,
    a_full_queue_takes_more,
    a_run_is_dropped_without_its_reason,
    a_task_forgets_what_gave_way,
    the_arguments_of_a_late_writer_replace_the_newest,
)
from tests.chaos.testimony import Attempt, Testimony
from tests.support.storage import Stored, Worker
from tests.support.transitions import look_away

r, e, t, s = tables.run, tables.job_execution, tables.periodic_task, tables.skipped_occurrence

Break = Callable[[Stored, Worker], object]


def stored_node(stored: Stored, worker: Worker) -> Node:
    """The node of a worker as it is stored now."""
    return stored.do(lambda tx: stored_nodes.by_ids(tx.conn, [worker.node.id])[worker.node.id])


def execute(stored: Stored, *statements: str) -> None:
    """Change the tables behind the product's back."""

    def change(tx: Tx) -> None:
        for statement in statements:
            tx.conn.execute(SchemaText(statement))

    stored.do(change)


def dispatch_again(stored: Stored) -> None:
    """Dispatch, and again as if the dispatcher of task ``always`` had died between its runs and its advance."""
    stored.pass_time(1)
    (before,) = stored.rows(t, name="always")
    stored.dispatch()
    back = {"next_nominal": before.next_nominal, "next_execution": before.next_execution}
    stored.do(lambda tx: tx.conn.execute(update(t).where(t.c.id == before.id).values(**back)))
    stored.dispatch()


def lose_a_started_run(stored: Stored) -> tuple[Started, Worker, Started]:
    """A node is paused with a run, which another node takes over: the first attempt, the other node and its attempt."""
    paused, other = stored.node("node-paused"), stored.node("node-other")
    stored.enqueue(retries=3)
    late = paused.start()
    stored.do(rescue, stored_node(stored, paused), reason="no heartbeat within its lease")
    stored.pass_time(0.001)
    return late, other, other.start()


def finish_without_a_fence(tx: Tx, started: Started) -> None:
    """Store a result without asking whether the run still belongs to this attempt of this node."""
    run, now = started.run, tx.now
    ended = {"state": RunState.SUCCESS.value, "finished_at": now, "done_attempt": run.attempt}
    tx.conn.execute(update(r).where(r.c.id == run.id).values(**ended))
    closed = {"completed_at": now, "success": True, "outcome": Outcome.SUCCESS.value}
    tx.conn.execute(update(e).where(e.c.id == started.execution_id).values(**closed))
    node = run.node or ""
    tx.emit(finished_changes(run, started.execution_id, node, RunState.SUCCESS, Outcome.SUCCESS))


def occurrences_are_not_unique(stored: Stored, _: Worker) -> None:
    execute(stored, "DROP INDEX uq_run_occurrence")
    dispatch_again(stored)


def tasks_advance_without_a_run(stored: Stored, _: Worker) -> None:
    (row, *_rest) = stored.rows(t, name="always")
    later = row.next_nominal + timedelta(seconds=1)
    stored.do(lambda tx: tx.conn.execute(update(t).where(t.c.id == row.id).values(next_nominal=later)))


def a_skip_counts_too_many(stored: Stored, _: Worker) -> None:
    execute(stored, "UPDATE cronograph.skipped_occurrence SET occurrences = occurrences + 1 WHERE reason = 'coalesced'")


def a_skip_is_not_written(stored: Stored, _: Worker) -> None:
    execute(stored, "DELETE FROM cronograph.skipped_occurrence WHERE reason = 'overlap'")


def a_drop_is_not_written(stored: Stored, _: Worker) -> None:
    stored.do(lambda tx: tx.conn.execute(delete(s).where(s.c.reason == SkipReason.TOLERANCE.value)))


def a_late_result_replaces_a_running_attempt(stored: Stored, _: Worker) -> None:
    late, _other, _again = lose_a_started_run(stored)
    stored.do(finish_without_a_fence, late)


def a_late_result_replaces_another(stored: Stored, _: Worker) -> None:
    late, other, again = lose_a_started_run(stored)
    other.end(again, Succeeded())
    stored.do(finish_without_a_fence, late)


def a_live_node_is_rescued_without_a_fence(stored: Stored, worker: Worker) -> None:
    stored.enqueue(retries=3)
    lost = Finish((started := worker.start()).run, started.execution_id, Lost("node node-a was lost"))
    stored.do(finish, worker.node.id, worker.node.name, [lost])


def a_dead_node_may_claim(stored: Stored, worker: Worker) -> None:
    stored.do(rescue, stored_node(stored, worker), reason="no heartbeat within its lease")
    stored.enqueue()
    execute(stored, f"UPDATE cronograph.node SET state = 'active' WHERE id = {worker.node.id}")
    worker.start()


def a_rescue_forgets_executions(stored: Stored, worker: Worker) -> None:
    stored.enqueue(retries=3)
    execute(stored, f"UPDATE cronograph.run SET state = 'stuck' WHERE id = {worker.start().run.id}")


def a_rescue_forgets_reservations(stored: Stored, worker: Worker) -> None:
    for _ in range(2):
        stored.enqueue()
    worker.take(1, prefetch=1)
    stored.do(lambda tx: stored_nodes.set_state(tx.conn, worker.node.id, NodeState.STOPPED))


def two_exclusive_runs_are_taken_at_once(stored: Stored, worker: Worker) -> None:
    execute(stored, "DROP INDEX uq_run_exclusive")
    stored.pass_time(60)
    stored.dispatch()
    execute(stored, "UPDATE cronograph.run SET exclusive = false WHERE state = 'waiting'")
    taken = [started.run.id for started in worker.take(10).started]
    for run_id in taken:
        execute(stored, f"UPDATE cronograph.run SET exclusive = true WHERE id = {run_id}")


def an_execution_is_not_kept(stored: Stored, _: Worker) -> None:
    execute(
        stored,
        "DELETE FROM cronograph.job_execution "
        "WHERE id = (SELECT min(id) FROM cronograph.job_execution WHERE attempt = 1)",
    )


def a_success_is_called_failed(stored: Stored, _: Worker) -> None:
    stored.do(lambda tx: look_away(tx.conn))
    execute(
        stored,
        "UPDATE cronograph.run SET state = 'failed' "
        "WHERE id = (SELECT min(id) FROM cronograph.run WHERE state = 'success')",
    )


def a_failure_is_not_counted(stored: Stored, _: Worker) -> None:
    execute(stored, "UPDATE cronograph.run SET failures = failures - 1 WHERE failures > 0")


def a_loss_names_nobody(stored: Stored, _: Worker) -> None:
    execute(stored, "UPDATE cronograph.job_execution SET error_message = 'lost' WHERE outcome = 'lost'")


def events_are_lost(stored: Stored, _: Worker) -> None:
    execute(stored, "DELETE FROM cronograph.event WHERE seq = 3")


def events_are_told_twice(stored: Stored, _: Worker) -> None:
    def repeat(tx: Tx) -> None:
        changes: Sequence[dict[str, object]]
        for (changes,) in tx.conn.execute(select(tables.event.c.changes)).all():
            tx.conn.execute(tables.event.insert().values(at=tx.now, changes=changes))

    stored.do(repeat)


def events_are_not_written(stored: Stored, worker: Worker) -> None:
    stored.enqueue()
    worker.start()
    execute(stored, "UPDATE cronograph.event SET changes = '[]' WHERE id = (SELECT max(id) FROM cronograph.event)")


def a_key_is_forgotten_while_its_runs_are_taken(stored: Stored, worker: Worker) -> None:
    ids = [stored.enqueue(concurrency_key="a", max_concurrent=1).id for _ in range(2)]
    execute(stored, "UPDATE cronograph.run SET concurrency_key = NULL WHERE concurrency_key = 'a'")
    worker.take(40)
    for run_id in ids:
        execute(stored, f"UPDATE cronograph.run SET concurrency_key = 'a' WHERE id = {run_id}")


def a_group_is_served_without_its_tokens(stored: Stored, worker: Worker) -> None:
    for _ in range(3):
        stored.enqueue(group="rated")
    worker.take(40)
    stored.do(set_group_rate, "rated", rate=Rate(1, 60.0, 1))


def a_job_is_served_without_its_tokens(stored: Stored, worker: Worker) -> None:
    for _ in range(3):
        stored.enqueue(rate_key="42")
    worker.take(40)
    stored.node("node-r", limits=Limits(Rate(1, 60.0, 1)))


def unique_keys_are_not_unique(stored: Stored, _: Worker) -> None:
    execute(stored, "DROP INDEX uq_run_unique_key")
    first, second = stored.enqueue(unique_key="once"), stored.enqueue()
    execute(stored, f"UPDATE cronograph.run SET unique_key = 'once' WHERE id IN ({first.id}, {second.id})")


BREAKS: dict[Break, str] = {
    a_claim_does_not_look_at_the_expiry: "nothing expired is started",
    a_run_is_dropped_without_its_reason: "nothing is dropped without a row",
    the_arguments_of_a_late_writer_replace_the_newest: "no debounced argument is lost",
    a_full_queue_takes_more: "no queue passes its cap",
    a_task_forgets_what_gave_way: "nothing is dropped without a row",
    a_key_is_forgotten_while_its_runs_are_taken: "no key runs twice at once",
    a_group_is_served_without_its_tokens: "no stretch passes its rate",
    a_job_is_served_without_its_tokens: "no stretch passes its rate",
    occurrences_are_not_unique: "no occurrence has two runs",
    tasks_advance_without_a_run: "every occurrence is accounted for once",
    a_skip_counts_too_many: "every occurrence is accounted for once",
    a_skip_is_not_written: "every occurrence is accounted for once",
    a_drop_is_not_written: "nothing is dropped without a row",
    a_late_result_replaces_a_running_attempt: "an open execution belongs to a running run of a live node",
    a_late_result_replaces_another: "at most one result is accepted",
    a_live_node_is_rescued_without_a_fence: "only dead nodes lose executions",
    a_dead_node_may_claim: "a dead node begins and ends nothing",
    a_rescue_forgets_executions: "an open execution belongs to a running run of a live node",
    a_rescue_forgets_reservations: "a held run is held by a live node",
    two_exclusive_runs_are_taken_at_once: "the attempts of an exclusive task do not overlap",
    an_execution_is_not_kept: "attempts are numbered without gap",
    a_success_is_called_failed: "a run ended as its last execution did",
    a_failure_is_not_counted: "failures are counted",
    a_loss_names_nobody: "a lost execution names its node",
    events_are_lost: "events are numbered without gap",
    events_are_told_twice: "events tell every change of a run once",
    events_are_not_written: "events tell every execution once",
    unique_keys_are_not_unique: "a unique key has one unfinished run",
}
"""Each break with the rule that must see it."""


def an_attempt_begins_again(said: Testimony, attempt: Attempt, _lease_ends: float) -> None:
    said.begun[attempt] += 1


def an_attempt_is_not_logged(said: Testimony, attempt: Attempt, _lease_ends: float) -> None:
    said.begun[attempt[0], attempt[1] + 1] += 1


def a_success_broke_off(said: Testimony, attempt: Attempt, _lease_ends: float) -> None:
    del said.ended[attempt]


def a_step_is_done_again(said: Testimony, attempt: Attempt, _lease_ends: float) -> None:
    said.steps.append((attempt[0], attempt[1] + 1, "do"))


def a_node_is_not_fenced(said: Testimony, attempt: Attempt, lease_ends: float) -> None:
    said.acted[attempt] = lease_ends + 0.001


def an_attempt_acts_beside_the_next_one(said: Testimony, attempt: Attempt, _lease_ends: float) -> None:
    said.begun_at[attempt[0], attempt[1] + 1] = said.acted[attempt] - 0.001


def a_run_acts_beside_another_one_of_its_key(said: Testimony, _: Attempt, _lease_ends: float) -> None:
    """The first and the third run that the history's node began have one key."""
    said.acted[1, 1] = said.begun_at[3, 1] + 0.001


TESTIMONY_BREAKS: dict[Callable[[Testimony, Attempt, float], None], str] = {
    an_attempt_begins_again: "no attempt begins twice",
    an_attempt_is_not_logged: "every attempt that begins is in the log",
    a_success_broke_off: "what succeeded was run to its end",
    a_step_is_done_again: "a stored step is never done again",
    a_node_is_not_fenced: "no attempt acts after the lease of its node",
    an_attempt_acts_beside_the_next_one: "an attempt is over before the next one begins",
    a_run_acts_beside_another_one_of_its_key: "no key acts twice at once",
}
"""The same for what the jobs say: each breaks the testimony of an attempt of a node whose lease ended at a time."""
