"""Why does it run, or not? One test per situation that an operator meets, on both databases."""

from collections.abc import Callable
from datetime import timedelta

from cronograph.jobs.actions.groups import pause_group, update_group
from cronograph.jobs.actions.nodes import NewNode, join, leave
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs, put
from cronograph.jobs.actions.tasks import pause_task, update_task
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.explain import Explanation, RunFacts, explain_run, explain_task
from cronograph.jobs.core.model import Group, Isolation, NewRun, OverlapPolicy, Run, TaskSource, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed, HandedBack, Snoozed
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import facts, nodes
from cronograph.jobs.store.statements import runs as run_store
from cronograph.jobs.store.statements import tasks as stored_tasks
from tests.support.storage import START, Stored, Worker


def of_task(stored: Stored, name: str = "nightly") -> Explanation:
    task = stored.do(lambda tx: stored_tasks.by_name(tx.conn, name))
    assert task is not None
    return explain_task(task, stored.do(lambda tx: facts.of_tasks(tx.conn, [task], stored.now))[task.id], stored.now)


def of_run(stored: Stored, run_id: int) -> Explanation:
    run: Run = stored.do(lambda tx: run_store.by_ids(tx.conn, [run_id]))[run_id]
    known = stored.do(lambda tx: facts.of_runs(tx.conn, [run], stored.now)).get(run_id)
    # Of a finished run nothing else needs to be known.
    nothing = RunFacts(job_known=True, isolation=None, nodes=(), group=Group(run.group))
    return explain_run(run, known or nothing, stored.now)


def says(explanation: Explanation, code: str, *words: str) -> None:
    assert explanation.code == code
    text = " ".join([explanation.sentence, *explanation.details])
    for word in words:
        assert word in text, text


class TestTask:
    def test_waiting_for_its_next_time(self, stored: Stored) -> None:
        stored.node()
        stored.task("0 30 * * * *")
        explanation = of_task(stored)
        says(explanation, "WAITING", "2026-03-01 12:30:00 UTC", "30 min")
        assert explanation.until == START + timedelta(minutes=30)

    def test_due_but_not_dispatched_yet(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *")
        stored.at(3)
        says(of_task(stored), "DUE", "2026-03-01 12:00:01 UTC")

    def test_queued(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *")
        stored.at(1)
        stored.dispatch()
        says(of_task(stored), "QUEUED", "Run 1", "overlap SKIP")

    def test_running_with_others_behind_it(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *", overlap=OverlapPolicy.QUEUE)
        stored.at(1)
        stored.dispatch()
        started = worker.start()
        stored.at(2)
        stored.dispatch()
        explanation = of_task(stored)
        says(explanation, "RUNNING", "node node-a", "since 2026-03-01 12:00:01 UTC", "1 more", "overlap QUEUE")
        assert explanation.run_id == started.run.id

    def test_waiting_for_a_retry(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("0 * * * * *", retry_delay=600.0)
        stored.at(60)
        stored.dispatch()
        worker.end(worker.start(), Failed("ValueError", "boom"))
        says(of_task(stored), "RETRYING", "2026-03-01 12:11:00 UTC")

    def test_paused_by_somebody_for_a_reason(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        stored.do(pause_task, "nightly", reason="audit", actor="ann")
        says(of_task(stored), "PAUSED", "by ann", "audit", "resumed")

    def test_skipped_most_recently(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *")
        for second in (1, 2, 3):
            stored.at(second)
            stored.dispatch()
        says(of_task(stored), "QUEUED", "2 times", "an earlier run was unfinished")

    def test_a_one_shot_that_is_over(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("2026-03-01T12:00:01Z", Syntax.TIMESTAMP)
        stored.at(1)
        stored.dispatch()
        worker.end(worker.start())
        says(of_task(stored), "FINISHED", "no occurrence left")

    def test_a_window_that_ended(self, stored: Stored) -> None:
        stored.node()
        stored.task(end_at=START + timedelta(hours=1))
        stored.do(update_task, "nightly", {"end_at": START - timedelta(hours=1)})
        says(of_task(stored), "WINDOW_ENDED", "2026-03-01 11:00:00 UTC")

    def test_a_window_that_has_not_begun(self, stored: Stored) -> None:
        stored.node()
        stored.task(start_at=START + timedelta(days=2))
        says(of_task(stored), "NOT_STARTED", "2026-03-03 12:00:00 UTC")

    def test_no_node_has_ever_known_its_job(self, stored: Stored) -> None:
        stored.node()
        stored.task()
        stored.do(lambda tx: tx.conn.execute(tables.job.delete()))
        says(of_task(stored), "NO_JOB", "'work'", "skipped")

    def test_no_live_node_can_run_its_job(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task()
        stored.do(lambda tx: nodes.set_state(tx.conn, worker.node.id, NodeState.STOPPED))
        says(of_task(stored), "NO_NODE", "'work'")

    def test_jitter_and_an_overridden_schedule_are_mentioned(self, stored: Stored) -> None:
        stored.node()
        task = stored.task("0 * * * * *", jitter=20.0)
        stored.do(
            lambda tx: stored_tasks.change(tx.conn, task.id, {"source": TaskSource.CODE.value, "overridden": True})
        )
        says(of_task(stored), "WAITING", "jitter", "overrode", "reset")

    def test_its_run_waits_because_its_group_is_paused(self, stored: Stored) -> None:
        stored.node()
        stored.task("* * * * * *", group="acme")
        stored.do(pause_group, "acme", reason="unpaid", actor="ann")
        stored.at(1)
        stored.dispatch()
        says(
            of_task(stored),
            "GROUP_PAUSED",
            "Run 1 is in the queue",
            "'acme' is paused by ann",
            "unpaid",
            "overlap SKIP",
        )

    def test_its_run_waits_because_its_group_is_at_its_limit(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *", group="acme")
        stored.do(update_group, "acme", max_running=1)
        stored.enqueue(group="acme")
        worker.start()
        stored.at(1)
        stored.dispatch()
        says(of_task(stored), "GROUP_LIMIT", "'acme' may have 1 running at once")

    def test_its_run_waits_for_a_slot_or_for_a_node(self, stored: Stored) -> None:
        worker = stored.node(slots=1)
        stored.task("* * * * * *")
        stored.enqueue()
        worker.start()
        stored.at(1)
        stored.dispatch()
        says(of_task(stored), "NO_SLOT", "The only slot of node node-a is taken")
        stored.do(lambda tx: nodes.set_state(tx.conn, worker.node.id, NodeState.STOPPED))
        says(of_task(stored), "NO_NODE", "Run 2 is in the queue", "No live node can run the job 'work'")

    def test_its_failed_run_is_due_again_but_its_group_is_paused(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("0 * * * * *", retry_delay=1.0)
        stored.at(60)
        stored.dispatch()
        worker.end(worker.start(), Failed("ValueError", "boom"))
        says(of_task(stored), "RETRYING", "Run 1 failed")
        stored.do(pause_group, "default")
        stored.pass_time(5)
        says(of_task(stored), "GROUP_PAUSED", "Run 1 is in the queue")


class TestRun:
    def test_next_in_line(self, stored: Stored) -> None:
        stored.node()
        says(of_run(stored, stored.enqueue().id), "NEXT", "about to take it")

    def test_in_line_behind_others(self, stored: Stored) -> None:
        stored.node()
        runs = [stored.enqueue() for _ in range(3)]
        says(of_run(stored, runs[-1].id), "IN_LINE", "2 runs", "20 slots are free")

    def test_the_thread_of_a_lost_attempt_may_still_be_at_work(self, stored: Stored) -> None:
        infos = (JobInfo("work", isolation=Isolation.THREAD, args_schema={}),)
        dead, other = (
            stored.do(join, NewNode(name, 5, "1", infos, 60.0), only_node=False) for name in ("node-a", "node-b")
        )
        stored.do(lambda tx: [nodes.set_state(tx.conn, one.id, NodeState.ACTIVE) for one in (dead, other)])
        run = stored.enqueue(retries=1)
        started = Worker(stored, dead, ("work",)).start()
        stored.do(rescue, dead, reason="no heartbeat within its lease")
        stored.pass_time(1)
        Worker(stored, other, ("work",)).start()
        says(of_run(stored, run.id), "RUNNING", "Attempt 1 was lost with node node-a. If that process still lives")
        # The node is back, and knows more.
        left_behind = [started.execution_id]
        gone = HandedBack("it was cut off")
        stored.do(leave, dead, NodeState.EXPIRED, unfinished=gone, left_behind=left_behind)
        says(of_run(stored, run.id), "RUNNING", "Attempt 1 could not be stopped when node node-a was cut off")
        first, second = stored.rows(tables.job_execution)
        assert first.error_type == "LeftBehind"
        assert first.error_message.endswith("no heartbeat within its lease; its code could not be stopped and went on")
        assert second.error_type is None

    def test_a_lost_coroutine_is_not_said_to_go_on(self, stored: Stored) -> None:
        dead = stored.node()
        run = stored.enqueue(retries=1)
        dead.start()
        stored.do(rescue, dead.node, reason="no heartbeat within its lease")
        stored.pass_time(1)
        stored.node("node-b").start()
        assert of_run(stored, run.id).details == ()

    def test_no_slot_for_threads_is_free_while_coroutines_have_some(self, stored: Stored) -> None:
        infos = (JobInfo("work", isolation=Isolation.THREAD, args_schema={}), JobInfo("other", args_schema={}))
        node = stored.do(join, NewNode("node-a", 5, "1", infos, 60.0, thread_slots=1), only_node=False)
        stored.do(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))
        stored.enqueue()
        run, other = stored.enqueue(), stored.enqueue(job_name="other", group="b")
        Worker(stored, node, ("work",)).start()
        says(of_run(stored, run.id), "NO_SLOT", "The only slot of node node-a is taken")
        says(of_run(stored, other.id), "NEXT")

    def test_no_slot_for_child_processes_is_free_while_threads_have_some(self, stored: Stored) -> None:
        infos = (
            JobInfo("work", isolation=Isolation.PROCESS, args_schema={}),
            JobInfo("other", isolation=Isolation.THREAD, args_schema={}),
        )
        new = NewNode("node-a", 5, "1", infos, 60.0, thread_slots=3, process_slots=1)
        node = stored.do(join, new, only_node=False)
        stored.do(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))
        stored.enqueue()
        run, other = stored.enqueue(), stored.enqueue(job_name="other", group="b")
        Worker(stored, node, ("work",)).start()
        says(of_run(stored, run.id), "NO_SLOT", "The only slot of node node-a is taken")
        says(of_run(stored, other.id), "NEXT")

    def test_no_free_slot(self, stored: Stored) -> None:
        worker = stored.node(slots=1)
        stored.enqueue()
        run = stored.enqueue()
        worker.start()
        stored.do(lambda tx: nodes.beat(tx.conn, worker.node.id, now=stored.now, lease=60.0, running=1, clock_skew=0.0))
        assert of_run(stored, run.id).sentence == (
            "The only slot of node node-a is taken, and no runs of its group and priority were due before it."
        )
        other = stored.node("node-b", slots=2)
        says(of_run(stored, run.id), "NEXT")
        for _ in range(4):
            stored.enqueue()
        other.take(2)
        stored.pass_time(1)
        says(
            of_run(stored, stored.enqueue().id),
            "NO_SLOT",
            "All 3 slots of the 2 nodes that can run it are taken",
            "and 3 runs of its group and priority were due before it.",
        )

    def test_enqueued_for_later(self, stored: Stored) -> None:
        stored.node()
        run = stored.enqueue(available_at=START + timedelta(hours=2))
        says(of_run(stored, run.id), "NOT_YET", "in 2 h")

    def test_enqueued_for_later_while_no_node_knows_its_job_any_more(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue(available_at=START + timedelta(hours=2))
        stored.do(lambda tx: nodes.set_state(tx.conn, worker.node.id, NodeState.STOPPED))
        says(of_run(stored, run.id), "NOT_YET", "in 2 h", "No live node can run the job 'work' now")
        stored.do(lambda tx: tx.conn.execute(tables.job.delete()))
        says(of_run(stored, run.id), "NOT_YET", "in 2 h", "No node knows the job 'work', so this run waits")

    def test_more_than_can_be_counted_were_due_before_it(self, stored: Stored) -> None:
        worker = stored.node(slots=1)
        stored.do(enqueue_runs, [NewRun("work", Trigger.API) for _ in range(1_003)])
        worker.start()
        run = stored.enqueue()
        says(of_run(stored, run.id), "NO_SLOT", "and 1,000 or more runs of its group and priority were due before it")

    def test_waiting_for_its_retry(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.end(worker.start(), Failed("ValueError", "boom"))
        says(of_run(stored, run.id), "RETRY_LATER", "in 1 min", "boom", "by hand (retry now)")

    def test_snoozed(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.end(worker.start(), Snoozed(90.0))
        says(of_run(stored, run.id), "SNOOZED", "in 1 min")

    def test_its_job_is_unknown_everywhere(self, stored: Stored) -> None:
        stored.node()
        run = stored.do(put, [NewRun("mystery", Trigger.API)])[0].run
        says(of_run(stored, run.id), "NO_JOB", "'mystery'", "waits")

    def test_its_job_has_lost_its_nodes(self, stored: Stored) -> None:
        stored.node()
        stored.do(lambda tx: nodes.publish(tx.conn, [JobInfo("old")]))
        run = stored.do(put, [NewRun("old", Trigger.API)])[0].run
        says(of_run(stored, run.id), "NO_NODE", "'old'")

    def test_its_group_is_paused(self, stored: Stored) -> None:
        stored.node()
        run = stored.enqueue(group="acme")
        stored.do(pause_group, "acme", reason="unpaid", actor="ann")
        says(of_run(stored, run.id), "GROUP_PAUSED", "'acme'", "by ann", "unpaid", "until the group is resumed")

    def test_its_group_is_at_its_limit(self, stored: Stored) -> None:
        worker = stored.node()
        stored.enqueue(group="acme")
        run = stored.enqueue(group="acme")
        stored.do(update_group, "acme", max_running=1)
        worker.start()
        says(of_run(stored, run.id), "GROUP_LIMIT", "'acme'", "may have 1 running at once, and has 1 now")

    def test_blocked_by_another_run_of_its_task(self, stored: Stored) -> None:
        worker = stored.node()
        stored.task("* * * * * *", overlap=OverlapPolicy.QUEUE)
        stored.at(2)
        stored.dispatch()
        first = worker.start()
        explanation = of_run(stored, first.run.id + 1)
        says(explanation, "BLOCKED", f"Run {first.run.id}")
        assert explanation.run_id == first.run.id

    def test_handed_to_a_node(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.take(0, prefetch=1)
        says(of_run(stored, run.id), "SCHEDULED", "node-a", "free slot")

    def test_running_with_a_time_box(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue(timeout=600.0)
        worker.start()
        stored.at(5)
        says(of_run(stored, run.id), "RUNNING", "node-a", "attempt 1", "since 2026-03-01 12:00:00 UTC", "12:10:00")

    def test_past_its_deadline(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue(timeout=5.0)
        worker.start()
        stored.at(6)
        says(of_run(stored, run.id), "TIMING_OUT", "12:00:05")

    def test_asked_to_cancel(self, stored: Stored) -> None:
        worker = stored.node()
        run = stored.enqueue()
        worker.start()
        stored.do(cancel_runs, [run.id], reason="wrong customer", actor="ann")
        says(of_run(stored, run.id), "CANCELLING", "wrong customer")

    def test_a_thread_that_cannot_be_stopped(self, stored: Stored) -> None:
        worker = stored.node()
        stored.do(lambda tx: nodes.publish(tx.conn, [JobInfo("work", isolation=Isolation.THREAD)]))
        run = stored.enqueue(timeout=5.0)
        worker.start()
        stored.at(60)
        says(of_run(stored, run.id), "CANNOT_STOP", "thread", "cannot be killed")

    def test_each_final_state(self, stored: Stored) -> None:
        worker = stored.node()
        endings: dict[str, Callable[[Run], object]] = {
            "SUCCESS": lambda _: worker.end(worker.start()),
            "FAILED": lambda _: worker.end(worker.start(), Failed("ValueError", "boom", permanent=True)),
            "CANCELLED": lambda run: stored.do(cancel_runs, [run.id], actor="ann"),
        }
        for code, end in endings.items():
            run = stored.enqueue()
            end(run)
            explanation = of_run(stored, run.id)
            assert explanation.code == code
            assert "2026-03-01 12:00:00 UTC" in explanation.sentence
