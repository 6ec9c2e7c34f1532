"""Nodes of two versions side by side: each takes the runs whose arguments its own version of the job can take."""

from collections.abc import Iterator
from typing import Any

import pytest

from cronograph.jobs.actions.nodes import NewNode, heartbeat, join, leave
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.explain import Explanation, explain_run
from cronograph.jobs.core.model import NewRun, Run, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import INVALID_ARGUMENTS, Failed, HandedBack
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.enqueue.enqueue import put
from cronograph.jobs.store.read import facts
from cronograph.jobs.store.read import runs as stored_runs
from cronograph.jobs.store.write import nodes
from tests.support.storage import Stored, Worker

pytestmark = pytest.mark.postgres


def taking(*names: str) -> dict[str, Any]:
    """The schema of a job that needs these arguments and takes no others."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


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


def test_a_run_taken_before_its_node_heard_of_the_other_version_goes_back_and_keeps_its_place(stored: Stored) -> None:
    old = listen(a_node(stored, "old", OLD))
    new = listen(a_node(stored, "new", NEW))
    run = stored.enqueue(args={"path": "b"}, retries=0)
    (started,) = old.take(5).started
    old.end(started, Failed(INVALID_ARGUMENTS, "'file' is missing", permanent=True))
    (row,) = stored.do(lambda tx: list(stored_runs.by_ids(tx.conn, [run.id]).values()))
    assert (row.state, row.failures, row.available_at) == (RunState.WAITING, 0, run.available_at)
    assert listen(old).take(5).started == ()
    (again,) = new.take(5).started
    new.end(again, Failed(INVALID_ARGUMENTS, "it does not fit here either", permanent=True))
    (row,) = stored.do(lambda tx: list(stored_runs.by_ids(tx.conn, [run.id]).values()))
    assert row.state is RunState.FAILED


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
