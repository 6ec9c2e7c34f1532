"""Nodes of two versions side by side: each takes the runs whose arguments its own version of the job can take."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs.actions.nodes import NewNode, heartbeat, join, leave
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.defaults import FOLLOWED, JobDefaults, JobInfo
from cronograph.jobs.core.explain import Explanation, ExplanationCode, explain_run
from cronograph.jobs.core.limits import UniqueKey
from cronograph.jobs.core.model import NewRun, Run, SkipReason, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import INVALID_ARGUMENTS, Failed, HandedBack, Suspended, Unread
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.base.changes import wake_due
from cronograph.jobs.queue.enqueue.enqueue import put
from cronograph.jobs.queue.finish import Finished
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.queue.versions import may_expire_unread, skip_unread, take_unread, unread_for
from cronograph.jobs.store.schema.tables import event, job
from cronograph.jobs.store.statements import facts, nodes
from cronograph.jobs.store.statements import runs as stored_runs
from tests.support.storage import START, Stored, Worker

pytestmark = pytest.mark.postgres


def taking(*names: str) -> dict[str, Any]:
    """The schema of a job that needs these arguments and takes no others."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


WAIT = 3600.0
OLD, NEW = taking("file"), taking("path")
NEVER_ENDS = "UPDATE cronograph.node SET expires_at = 'infinity' WHERE id = %(id)s"


@pytest.fixture
def stored(postgres_url: str) -> Iterator[Stored]:
    """On SQLite there is one node, so there are never two versions."""
    opened = Stored(postgres_url)
    yield opened
    opened.close()


def a_node(stored: Stored, name: str, schema: dict[str, Any]) -> Worker:
    """A live node with this version of job ``work``."""
    node = stored.do(join, NewNode(name, 5, "1", (JobInfo("work", args_schema=schema),), 60.0), only_node=False)
    stored.do(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))
    return Worker(stored, node, ("work",))


def listen(worker: Worker) -> Worker:
    """The node beats, and does what it hears."""
    beat = worker.stored.do(heartbeat, worker.node.id, lease=60.0, running=0)
    worker.leave_to_others(beat.foreign)
    return worker


def why(stored: Stored, run: Run) -> Explanation:
    """Why a run waits."""

    def ask(tx: Any) -> Explanation:
        found = stored_runs.by_ids(tx.conn, [run.id])[run.id]
        return explain_run(found, facts.of_runs(tx.conn, [found], tx.now)[run.id], tx.now)

    return stored.do(ask)


def test_each_version_takes_the_runs_that_were_checked_against_it(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    of_old = stored.enqueue(args={"file": "a"})
    new = listen(a_node(stored, "new", NEW))
    of_new = stored.enqueue(args={"path": "b"})
    listen(old)
    assert why(stored, of_new).details == (
        "Only new can take it: old has another version of the job, which takes other arguments.",
    )
    assert [one.run.id for one in old.take(5).started] == [of_old.id]
    assert [one.run.id for one in new.take(5).started] == [of_new.id]


def test_a_task_keeps_the_version_that_its_arguments_were_checked_against(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    stored.task("* * * * * *", args={"file": "a"})
    new = listen(a_node(stored, "new", NEW))
    listen(old)
    stored.at(2)
    assert stored.dispatch() == 1
    assert new.take(5).started == ()
    assert len(old.take(5).started) == 1


def test_once_no_node_has_the_version_any_more_everybody_may_try(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    run = stored.enqueue(args={"file": "a"})
    new = listen(a_node(stored, "new", NEW))
    assert new.take(5).started == ()
    stored.do(leave, old.node, NodeState.STOPPED, unfinished=HandedBack("stopped"))
    assert [one.run.id for one in listen(new).take(5).started] == [run.id]


def test_a_node_that_drains_holds_back_nothing(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    run = stored.enqueue(args={"file": "a"})
    new = listen(a_node(stored, "new", NEW))
    stored.do(lambda tx: nodes.set_state(tx.conn, old.node.id, NodeState.DRAINING))
    assert [one.run.id for one in listen(new).take(5).started] == [run.id]


def test_runs_that_nobody_checked_are_taken_by_any_node(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    run = stored.do(lambda tx: put(tx, [NewRun("work", Trigger.API)]))[0].run
    assert listen(new).claimant.foreign
    assert why(stored, run).details == ()
    assert [one.run.id for one in listen(old).take(5).started] == [run.id]


def stored_run(stored: Stored, run: Run) -> Run:
    """The run as it is now."""
    return stored.do(lambda tx: stored_runs.by_ids(tx.conn, [run.id])[run.id])


def cannot_read(worker: Worker, reason: str = "'file' is missing") -> Finished:
    """The node takes a run whose arguments its version cannot read."""
    unreadable = Failed(INVALID_ARGUMENTS, reason, permanent=True)
    finished = worker.end(worker.start(), unreadable, version_wait=WAIT)
    if finished.foreign is not None:
        worker.leave_to_others(finished.foreign)
    return finished


def look(worker: Worker) -> list[int]:
    """The node takes what waits for a version like its own; the runs that it found."""
    found = worker.stored.do(lambda tx: unread_for(tx.conn, worker.node))
    worker.stored.do(take_unread, worker.node, found)
    return found


def test_a_run_that_a_node_cannot_read_waits_unharmed_and_another_version_takes_it(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"}, retries=0)])[0].run
    cannot_read(old)
    row = stored_run(stored, run)
    assert (row.state, row.failures, row.available_at) == (RunState.SUSPENDED, 0, run.available_at)
    assert "suspended" in {change.get("state") for one in stored.rows(event) for change in one.changes}
    assert (look(old), look(new)) == ([], [run.id])
    assert stored_run(stored, run).available_at == run.available_at
    assert old.take(5).started == ()
    new.end(new.start())
    assert stored_run(stored, run).state is RunState.SUCCESS


def test_an_end_at_which_the_run_only_waits_is_no_failure_for_its_job_and_the_metrics(stored: Stored) -> None:
    old = a_node(stored, "old", OLD)
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"}, retries=0)])[0].run
    finished = cannot_read(old)
    assert isinstance(finished.judged[run.id], Unread)


def test_what_every_version_has_tried_waits_says_for_which_version_and_fails_at_the_limit(stored: Stored) -> None:
    old, new = listen(a_node(stored, "old", OLD)), listen(a_node(stored, "new", NEW))
    run = stored.do(put, [NewRun("work", Trigger.API, args={"other": "c"})])[0].run
    cannot_read(old)
    look(new)
    cannot_read(new, "'path' is missing")
    assert (look(old), look(new)) == ([], [])
    explained = why(stored, run)
    assert explained.code is ExplanationCode.WAITS_FOR_VERSION
    assert explained.until == START + timedelta(seconds=WAIT)
    assert "'path' is missing" in " ".join(explained.details)
    assert all(one in " ".join(explained.details) for one in (*old.node.signatures.values(), "new, old"))
    stored.pass_time(WAIT + 1)
    assert stored.do(wake_due, 10) == [run.id]
    cannot_read(listen(new), "'path' is missing")
    row = stored_run(stored, run)
    assert row.state is RunState.FAILED
    assert row.error == "'path' is missing; it waited 1 h for a node with another version of job 'work'"


def test_what_the_version_that_accepted_it_cannot_read_fails_at_once(stored: Stored) -> None:
    """A secret or a result of a flow is known only when the run starts."""
    old = listen(a_node(stored, "old", OLD))
    run = stored.enqueue(args={"file": "a"})
    cannot_read(old, "file: must be a path")
    row = stored_run(stored, run)
    assert (row.state, row.error) == (RunState.FAILED, "file: must be a path")


def test_a_node_that_starts_later_takes_what_waits_even_if_its_version_is_the_same(stored: Stored) -> None:
    """Its code may be another, e.g. a check of its own."""
    old = listen(a_node(stored, "old", OLD))
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"})])[0].run
    cannot_read(old)
    stored.pass_time(5)
    stored.do(leave, old.node, NodeState.STOPPED, unfinished=HandedBack("stopped"))
    assert look(listen(a_node(stored, "again", OLD))) == [run.id]


def test_the_time_of_a_whole_run_begins_once_a_version_reads_it(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"}, max_duration=60.0)])[0].run
    cannot_read(old)
    assert stored_run(stored, run).deadline_at is None
    stored.pass_time(600)
    look(new)
    assert stored_run(stored, run).deadline_at == stored.now + timedelta(seconds=60)


def test_a_run_that_began_keeps_its_time_and_counts_its_wait_anew(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"}, max_duration=60.0)])[0].run
    old.end(old.start(), HandedBack("it stops"))
    cannot_read(old)
    row = stored_run(stored, run)
    assert row.deadline_at == START + timedelta(seconds=60)
    assert row.wake_at == START + timedelta(seconds=WAIT)


def test_the_api_takes_what_any_live_version_takes_whichever_was_published_last(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    for args, worker in (({"file": "a"}, old), ({"path": "b"}, new)):
        run = stored.enqueue(args=args)
        assert run.signature == worker.node.signatures["work"]
        assert [one.run.id for one in listen(worker).take(5).started] == [run.id]
    with pytest.raises(UserError, match="'other'"):
        stored.enqueue(args={"other": "c"})
    listen(a_node(stored, "old again", OLD))
    assert stored.enqueue(args={"path": "b"}).signature == new.node.signatures["work"]


def test_a_task_takes_what_any_live_version_takes(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    new = listen(a_node(stored, "new", NEW))
    stored.task("* * * * * *", args={"file": "a"})
    stored.at(2)
    assert stored.dispatch() == 1
    assert new.take(5).started == ()
    assert len(listen(old).take(5).started) == 1


def test_what_no_live_version_takes_is_refused_at_the_door(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    stored.do(leave, old.node, NodeState.STOPPED, unfinished=HandedBack("stopped"))
    with pytest.raises(UserError, match="'file'"):
        stored.enqueue(args={"file": "a"})
    back = a_node(stored, "back", OLD)
    stored.do(leave, new.node, NodeState.STOPPED, unfinished=HandedBack("rolled back"))
    assert stored.enqueue(args={"file": "a"}).signature == back.node.signatures["work"]
    with pytest.raises(UserError, match="'path'"):
        stored.enqueue(args={"path": "b"})
    assert [row.versions for row in stored.rows(job)] == [None]


def test_a_dead_node_takes_its_version_along(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    assert len(stored.rows(job)[0].versions) == 1
    stored.do(lambda tx: rescue(tx, new.node, reason="silence"))
    (row,) = stored.rows(job)
    assert (row.versions, row.signature, row.args_schema) == (None, old.node.signatures["work"], OLD)


def test_a_run_that_was_read_at_last_and_waits_for_something_else_is_left_in_peace(stored: Stored) -> None:
    old, new = a_node(stored, "old", OLD), a_node(stored, "new", NEW)
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"})])[0].run
    cannot_read(old)
    look(new)
    new.end(new.start(), Suspended(Awaits(AwaitedKind.SIGNAL, "go")))
    stored.pass_time(600)
    later = a_node(stored, "later", taking("path", "more"))
    assert (look(new), look(old), look(later)) == ([], [], [])
    assert stored_run(stored, run).state is RunState.SUSPENDED


def test_a_run_that_waits_for_a_version_is_skipped_once_it_is_too_old_to_start(stored: Stored) -> None:
    old = a_node(stored, "old", OLD)
    new = NewRun("work", Trigger.API, args={"path": "b"}, expires_at=START + timedelta(seconds=60))
    run = stored.do(put, [new])[0].run
    cannot_read(old)
    assert stored.do(lambda tx: may_expire_unread(tx.conn))
    assert stored.do(skip_unread, old.node) == 0
    stored.pass_time(61)
    assert stored.do(skip_unread, old.node) == 1
    row = stored_run(stored, run)
    assert (row.state, row.skip_reason) == (RunState.SKIPPED, SkipReason.EXPIRED)


def test_runs_of_another_version_are_not_one_by_a_key_of_arguments_that_they_do_not_have(stored: Stored) -> None:
    key = UniqueKey.declared(("path",), None, NEW)
    info = JobInfo("work", args_schema=NEW, defaults=JobDefaults(unique_key=key))
    stored.do(join, NewNode("new", 5, "1", (info,), 60.0), only_node=False)
    asked = [NewRun("work", Trigger.API, args={"file": one}, inherits=FOLLOWED) for one in ("a", "b")]
    assert [one.deduplicated for one in stored.do(put, asked)] == [False, False]
    same = [NewRun("work", Trigger.API, args={"path": "c"}, inherits=FOLLOWED)] * 2
    assert [one.deduplicated for one in stored.do(put, same)] == [False, True]


def test_a_node_that_has_not_heard_of_the_other_version_tries_at_most_twice(stored: Stored) -> None:
    old = a_node(stored, "old", OLD)
    run = stored.do(put, [NewRun("work", Trigger.API, args={"path": "b"})])[0].run
    cannot_read(old)
    new = a_node(stored, "new", NEW)
    look(new)
    cannot_read(old)
    assert look(new) == [run.id]
    assert old.take(5).started == ()
    assert len(new.take(5).started) == 1


def test_runs_are_left_to_a_silent_node_until_its_lease_ended_a_lease_ago(stored: Stored) -> None:
    old = a_node(stored, "old", OLD)
    run = stored.enqueue(args={"file": "a"})
    new = a_node(stored, "new", NEW)
    stored.pass_time(119.0)
    assert listen(new).claimant.foreign
    stored.pass_time(2.0)
    assert not listen(new).claimant.foreign
    assert [one.run.id for one in new.take(5).started] == [run.id]
    assert listen(old).claimant.foreign


def test_no_run_is_left_to_a_node_whose_lease_cannot_be_read(stored: Stored) -> None:
    old = a_node(stored, "old", OLD)
    run = stored.enqueue(args={"file": "a"})
    new = a_node(stored, "new", NEW)
    stored.do(lambda tx: tx.conn.exec_driver_sql(NEVER_ENDS, {"id": old.node.id}))
    assert not listen(new).claimant.foreign
    assert [one.run.id for one in new.take(5).started] == [run.id]
