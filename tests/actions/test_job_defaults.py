"""What runs and tasks have from their job, as a node has published it, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine

from cronograph.jobs import RunSpec, enqueue_many_sync, enqueue_sync
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.actions.runs import edit_run, trigger_job
from cronograph.jobs.actions.task_sets import declare_tasks
from cronograph.jobs.actions.tasks import DECLARED, create_task, reset_task, resume_task, trigger_task, update_task
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.defaults import TASK_POLICIES, JobDefaults, JobInfo
from cronograph.jobs.core.limits import UniqueKey
from cronograph.jobs.core.model import OverlapPolicy, Priority, Run, ScheduleSpec, Task, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.statements import jobs, tasks
from cronograph.jobs.store.statements import runs as stored_runs
from tests.support.storage import ANY_ARGS, Stored
from tests.support.waiting import wait_until

SAID = JobDefaults("shop", Priority.HIGH, retries=7, retry_delay=3.0, timeout=40.0, overlap=OverlapPolicy.ALLOW)
HOURLY = ScheduleSpec(Syntax.CRON, "0 0 * * * *")


def publish(stored: Stored, name: str, defaults: JobDefaults) -> None:
    infos = tuple(JobInfo(job, args_schema=ANY_ARGS, defaults=defaults) for job in ("work", "other"))
    stored.do(join, NewNode(name, 1, "1", infos, 60.0), only_node=False)


def task(stored: Stored, name: str = "nightly") -> Task:
    found = stored.do(lambda tx: tasks.by_name(tx.conn, name))
    assert found is not None
    return found


def policies(one: Run | TaskSpec) -> tuple[Any, ...]:
    return (one.group, one.priority, one.retries, one.retry_delay, one.timeout)


def test_an_enqueue_by_name_has_what_the_job_says_and_overrides_it(stored: Stored) -> None:
    publish(stored, "a", SAID)
    engine = create_engine(stored.database.url)
    with engine.begin() as conn:
        plain = enqueue_sync(conn, "work")
        keyed = enqueue_sync(conn, "work", unique_key="k", retries=1, group="own")
        unknown = enqueue_sync(conn, "nobody_has_it")
        many = enqueue_many_sync(conn, [RunSpec("work"), RunSpec("work", priority="low", timeout=1.0)])
    engine.dispose()
    assert policies(plain) == ("shop", "high", 7, 3.0, 40.0)
    assert policies(keyed) == ("own", "high", 1, 3.0, 40.0)
    assert policies(unknown) == ("default", "low", 2, 60.0, None)
    found = stored.do(lambda tx: stored_runs.by_ids(tx.conn, many))
    assert [policies(found[key]) for key in many] == [
        ("shop", "high", 7, 3.0, 40.0),
        ("shop", "low", 7, 3.0, 1.0),
    ]
    assert policies(stored.do(trigger_job, "work").run) == ("shop", "high", 7, 3.0, 40.0)


def test_what_a_task_does_not_set_follows_its_job(stored: Stored) -> None:
    publish(stored, "a", SAID)
    spec = TaskSpec("nightly", "work", HOURLY, retries=0, inherits=frozenset(TASK_POLICIES) - {"retries"})
    made = stored.do(create_task, spec)
    assert policies(made.spec) == ("shop", "high", 0, 3.0, 40.0)
    assert made.spec.overlap is OverlapPolicy.ALLOW
    publish(stored, "b", JobDefaults(retries=9, retry_delay=1.0))
    followed = task(stored)
    assert policies(followed.spec) == ("default", "low", 0, 1.0, None)
    assert (followed.version, followed.spec.overlap) == (2, None)
    publish(stored, "c", JobDefaults(retries=9, retry_delay=1.0))
    assert task(stored).version == 2
    assert policies(stored.do(trigger_task, "nightly")) == ("default", "low", 0, 1.0, None)


def test_an_edit_sets_a_policy_and_null_gives_it_back_to_the_job(stored: Stored) -> None:
    publish(stored, "a", SAID)
    stored.do(create_task, TaskSpec("nightly", "work", HOURLY, inherits=frozenset(TASK_POLICIES)))
    edited = stored.do(update_task, "nightly", {"retries": 1, "group": "own"})
    assert (edited.spec.retries, edited.spec.group) == (1, "own")
    assert not {"retries", "group"} & edited.spec.inherits
    given_back = stored.do(update_task, "nightly", {"retries": None})
    assert (given_back.spec.retries, given_back.spec.group) == (7, "own")
    assert "retries" in given_back.spec.inherits


def test_a_declared_task_follows_arguments_and_policies_until_somebody_sets_them(stored: Stored) -> None:
    publish(stored, "a", SAID)

    def declare(args: dict[str, Any], *, enabled: bool = True) -> Task:
        spec = TaskSpec("work", "work", HOURLY, args=args, retries=7, enabled=enabled, inherits=DECLARED)
        stored.do(declare_tasks, [spec], ["work"])
        return task(stored, "work")

    first = declare({"n": 1}, enabled=False)
    assert (first.spec.args, first.paused, first.paused_by) == ({"n": 1}, True, "code")
    assert declare({"n": 2}, enabled=False).spec.args == {"n": 2}
    stored.do(update_task, "work", {"args": {"n": 9}, "retries": 0})
    changed = declare({"n": 3})
    assert (changed.spec.args, changed.spec.retries, changed.paused) == ({"n": 9}, 0, False)
    reset = stored.do(reset_task, "work")
    assert (reset.spec.args, reset.spec.retries) == ({"n": 3}, 7)
    stored.do(update_task, "work", {"enabled": False}, actor="ann")
    assert declare({"n": 3}).paused
    assert not stored.do(resume_task, "work").paused


def test_the_published_defaults_are_read_back(stored: Stored) -> None:
    publish(stored, "a", SAID)
    assert stored.do(lambda tx: jobs.by_names(tx.conn, ["work"]))["work"].defaults == SAID
    assert stored.do(lambda tx: jobs.schemas(tx.conn, {"other"})[0])["other"].defaults == SAID


@pytest.mark.postgres
def test_a_key_that_another_transaction_takes_meanwhile_refuses_the_edit(postgres_url: str) -> None:
    stored = Stored(postgres_url)
    key = UniqueKey(("order",))
    publish(stored, "a", JobDefaults(unique_key=key))
    edited, other = (stored.do(trigger_job, "work", args={"order": number}).run for number in (1, 2))
    with psycopg.connect(stored.database.libpq_url(), autocommit=True) as watch, ThreadPoolExecutor(1) as pool:
        with psycopg.connect(stored.database.libpq_url()) as taking:
            taking.execute(
                "UPDATE cronograph.run SET unique_key = %s WHERE id = %s", [key.of("work", {"order": 3}), other.id]
            )
            edit = pool.submit(stored.do, edit_run, edited.id, args={"order": 3})
            asked = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            wait_until(lambda: watch.execute(asked).fetchone() == (1,), message="the edit to wait for the other")
        with pytest.raises(InvalidState, match=r"has the unique key .* of another run, which is unfinished"):
            edit.result()
    found = stored.do(lambda tx: stored_runs.by_ids(tx.conn, [edited.id]))[edited.id]
    assert (found.args, found.unique_key) == ({"order": 1}, edited.unique_key)
    stored.close()
