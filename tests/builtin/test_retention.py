"""What jobs and groups say about the time that their history is kept, as the pruning and its dry run obey it."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Connection, insert, select

from cronograph.jobs.actions.groups import set_group_keep
from cronograph.jobs.base.services import Services
from cronograph.jobs.builtin.prune import Places, Retention, prune, prune_history
from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import execution_log, flow, job, job_execution, run
from cronograph.jobs.store.statements.prunable import keeping, prunable
from tests.builtin.hosts import KeepingHost, context_of
from tests.support.history import add, add_execution, add_run, add_task

DAY = timedelta(days=1)
SECONDS = 86400.0


def publish(tx: Tx, name: str, **defaults: float) -> None:
    row = {"name": name, "description": "", "isolation": "async", "args_schema": {}, "tags": [], "signature": "s"}
    tx.conn.execute(insert(job).values(**row, defaults=defaults))


def ended(
    tx: Tx, days_ago: float, job_name: str, group: str = "default", task: int | None = None, **more: object
) -> int:
    """A run with an execution and a log line of that age; its key."""
    at = tx.now - days_ago * DAY
    run_id = add_run(tx.conn, at, task, job_name=job_name, group_name=group, **more)
    execution = add_execution(tx.conn, run_id, at, at, task)
    tx.conn.execute(job_execution.update().where(job_execution.c.id == execution).values(job_name=job_name))
    tx.conn.execute(insert(execution_log).values(execution_id=execution, line=1, at=at, level="INFO", message="m"))
    return run_id


def ages(conn: Connection) -> dict[str, list[int]]:
    """Of each job and group the runs that are left."""
    left: dict[str, list[int]] = {}
    for row in conn.execute(select(run.c.id, run.c.job_name, run.c.group_name).order_by(run.c.id)):
        left.setdefault(f"{row.job_name}/{row.group_name}", []).append(row.id)
    return left


def varied(tx: Tx) -> Mapping[str, list[int]]:
    publish(tx, "noise", keep=2 * SECONDS)
    publish(tx, "audit", keep=90 * SECONDS)
    publish(tx, "plain", retries=3)
    set_group_keep(tx, "tenant", seconds=7 * SECONDS)
    made: dict[str, list[int]] = {}
    for name, group in (
        ("noise", "default"),
        ("audit", "default"),
        ("plain", "default"),
        ("plain", "tenant"),
        ("audit", "tenant"),
    ):
        for days in (100, 40, 20, 5, 1):
            made.setdefault(f"{name}/{group}", []).append(ended(tx, days, name, group))
    return made


async def test_each_is_kept_as_long_as_its_group_says_or_else_its_job(database: Database) -> None:
    made = await database.write(varied)
    kept = await database.write(lambda tx: keeping(tx.conn, tx.now, 30 * DAY))
    before = set(await database.read(executions))
    would = await database.read(prunable, kept, None)
    pruned = await prune(database, Retention())
    newest = {"noise/default": 1, "audit/default": 4, "plain/default": 3, "plain/tenant": 2, "audit/tenant": 2}
    assert await database.read(ages) == {name: ids[-newest[name] :] for name, ids in made.items()}
    gone = 25 - sum(newest.values())
    assert (pruned.runs, pruned.executions, pruned.log_lines) == (gone, gone, gone)
    assert would.complete
    assert set(would.executions) == before - set(await database.read(executions))


def executions(conn: Connection) -> list[int]:
    return list(conn.execute(select(job_execution.c.id)).scalars())


async def test_a_task_keeps_its_newest_execution_however_briefly_its_job_is_kept(database: Database) -> None:
    def old(tx: Tx) -> list[int]:
        publish(tx, "noise", keep=2 * SECONDS)
        add_task(tx.conn, 1)
        return [ended(tx, days, "noise", task=1) for days in (9, 8, 7)]

    runs = await database.write(old)
    await prune(database, Retention())
    assert await database.read(ages) == {"noise/default": [runs[-1]]}


async def test_a_flow_stays_whole_until_the_last_of_its_times_is_over(database: Database) -> None:
    def flows(tx: Tx) -> dict[str, list[int]]:
        publish(tx, "noise", keep=2 * SECONDS)
        publish(tx, "audit", keep=90 * SECONDS)
        made: dict[str, list[int]] = {}
        for name, jobs, days in (
            ("brief", ("noise", "noise"), 5),
            ("old", ("noise", "plain"), 40),
            ("long", ("noise", "audit"), 40),
        ):
            at = tx.now - days * DAY
            key = add(
                tx.conn, flow, name=name, state="success", submitted_at=at, closed_at=at, finished_at=at, callbacks={}
            )
            made[name] = [ended(tx, days, one, flow_id=key) for one in jobs]
        return made

    made = await database.write(flows)
    pruned = await prune(database, Retention())
    assert pruned.flows == 1
    left = {one for ids in (await database.read(ages)).values() for one in ids}
    assert left == {*made["brief"], *made["long"]}


async def test_the_next_pruning_looks_at_what_has_ended_since_unless_something_else_is_said(database: Database) -> None:
    async def once(host: KeepingHost) -> int:
        return (await prune_history(context_of(prune_history, Services(database), host))).records_processed or 0

    def begin(tx: Tx) -> None:
        set_group_keep(tx, "tenant", seconds=2 * SECONDS)
        ended(tx, 5, "plain", "tenant")

    host = KeepingHost()
    await database.write(begin)
    assert await once(host) == 3
    place = Places.from_json(host.saved).through[2 * SECONDS]
    assert place == await database.write(lambda tx: place if place < tx.now - 2 * DAY else None)
    # What lies before the place was looked at: nobody looks there again until groups or jobs say something else.
    await database.write(lambda tx: ended(tx, 5, "plain", "tenant"))
    assert await once(host) == 0
    await database.write(lambda tx: set_group_keep(tx, "tenant", seconds=3 * SECONDS))
    assert await once(host) == 3
    assert list(Places.from_json(host.saved).through) == [3 * SECONDS]


async def test_what_is_asked_for_a_group_goes_to_the_next_pruning(database: Database) -> None:
    def changed(tx: Tx) -> Keeping:
        set_group_keep(tx, "tenant", seconds=5)
        set_group_keep(tx, "other", seconds=6)
        set_group_keep(tx, "tenant", seconds=None)
        return keeping(tx.conn, tx.now, DAY)

    kept = await database.write(changed)
    assert kept.groups == {"other": 6.0}
