"""Every way to ask for a run gives the same row: keys, labels, limits, defaults and times follow from one function."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table, delete

from cronograph.graphql.operations.base.inputs import ResourcesInput
from cronograph.graphql.operations.enqueue_inputs import EnqueueRunInput
from cronograph.jobs import Cap, Rate, Resources, RunSpec, enqueue_many_sync, enqueue_sync, job
from cronograph.jobs.actions.flows import enqueue_flow, retry_flow
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs, trigger
from cronograph.jobs.actions.tasks import create_task, trigger_task
from cronograph.jobs.connection import Connection, connect
from cronograph.jobs.core.defaults import TASK_POLICIES
from cronograph.jobs.core.flows import Ending, FlowSpec, MemberSpec, NewFlow, NewMember
from cronograph.jobs.core.model import OverlapPolicy, Priority, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.core.waits import Wait
from cronograph.jobs.declared import Job
from cronograph.jobs.queue.enqueue.enqueue import put_many
from cronograph.jobs.queue.enqueue.requests import new_runs
from cronograph.jobs.queue.flows.children import begin as begin_children
from cronograph.jobs.queue.flows.new_flows import put_flow, put_spec
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes as published
from cronograph.jobs.testing import Queue
from tests.support.storage import Stored, retry_runs

REGISTRY = Registry()
CUSTOMER = "customer-{customer}"
POLICIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "defaults": {
        "group": "shop", "priority": "high", "retries": 7, "retry_delay": 3, "timeout": 9, "max_duration": 99,
    },
    "labelled": {"labels": {"team": "billing"}, "labels_from": {"customer": "customer"}},
    "once": {"unique_key": ("customer",)},
    "limited": {"max_concurrent": 2, "concurrency_key": CUSTOMER, "rate": Rate(9), "rate_key": CUSTOMER},
    "kept": {"max_concurrent": 2, "concurrency_key": CUSTOMER, "hold": "unfinished"},
    "capped": {"cap": Cap(1000), "cap_key": CUSTOMER, "max_concurrent": 3},
    "away": {"isolation": "command", "resources": Resources(cpus=1)},
    "brief": {"ttl": 3600, "rate": Rate(5, per="1m")},
    "all": {
        "group": "shop", "retries": 1, "labels": {"team": "billing"}, "labels_from": ("customer",), "ttl": 60,
        "unique_key": "all-{customer}", "max_concurrent": 1, "cap": Cap(1000), "rate": Rate(5), "timeout": 5,
    },
}  # fmt: skip


async def work(customer: str, number: int = 1) -> None: ...


JOBS: dict[str, Job[..., ..., Any]] = {
    name: job(name, registry=REGISTRY, **policies)(work) for name, policies in POLICIES.items()
}
LATER = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "group": st.sampled_from(["own", "default"]),
        "priority": st.sampled_from(["high", "low"]),
        "retries": st.integers(0, 3),
        "retry_delay": st.sampled_from([0.0, 1.5]),
        "timeout": st.just(4.0),
        "max_duration": st.just(40.0),
        "labels": st.sampled_from([{"team": "own"}, {"kind": "x"}]),
        "unique_key": st.just("mine"),
        "run_at": st.just(LATER),
        "ttl": st.just(7.0),
    },
)
EVERYTHING: dict[str, Any] = {
    "group": "own", "priority": "high", "retries": 0, "retry_delay": 1.5, "timeout": 4.0, "max_duration": 40.0,
    "labels": {"team": "own", "kind": "x"}, "unique_key": "mine", "run_at": LATER, "ttl": 7.0,
}  # fmt: skip
NEEDS = Resources(gpus=2, memory=2**40, options={"account": "physics"})
"""What can be said of runs at an engine alone."""
ARGS = {"customer": "7"}
_OWN = {
    "id", "trigger", "submitter", "submitter_id", "signature", "submitted_at", "retried_from", "task_id", "task_name",
    "scheduled_for", "flow_id", "exclusive", "description",
}  # fmt: skip
"""What differs between the ways by its nature: who asked, by what, and when."""


class Asked:
    """One request, to be made in each way.

    Args:
        stored: The database.
        connection: Opened by ``connect`` on the same one.
        name: The job.
        options: What is said of the run.
    """

    def __init__(self, stored: Stored, connection: Connection, name: str, options: Mapping[str, Any]) -> None:
        self.stored = stored
        self.connection = connection
        self.name = name
        self.options = dict(options)

    @property
    def spec(self) -> RunSpec:
        """The run as the job itself asks for it."""
        return JOBS[self.name].options(**self.options).run(**ARGS)

    @property
    def by_name(self) -> RunSpec:
        """The run as it is asked for by the name of its job."""
        return RunSpec(self.name, ARGS, **self.options)

    @property
    def input(self) -> EnqueueRunInput:
        """The run as the API is asked for it."""
        own = {**self.options}
        if "priority" in own:
            own["priority"] = Priority(own["priority"])
        if "resources" in own:
            own["resources"] = ResourcesInput(**own["resources"].document())
        return EnqueueRunInput(job_name=self.name, args=ARGS, **own)  # type: ignore[arg-type]

    @property
    def member(self) -> EnqueueRunInput:
        """The same, of a flow, whose runs have no unique key."""
        return replace(self.input, unique_key=None)


def _row(asked: Asked) -> dict[str, Any]:
    (row,) = asked.stored.rows(tables.run, job_name=asked.name)
    found = {name: value for name, value in row._asdict().items() if name not in _OWN}
    at = found.pop("available_at")
    found["waits"] = at if "run_at" in asked.options else at - row.submitted_at
    expires_at = found.pop("expires_at")
    found["ttl"] = None if expires_at is None else expires_at - at
    labels = {(one.key, one.value) for one in asked.stored.rows(tables.run_label, run_id=row.id)}
    assert labels == set((row.labels or {}).items()), "it is found by its labels"
    return found


def _clear(stored: Stored) -> None:
    """Delete what was made, in the order in which rows are locked."""

    def clear(tx: Tx, *gone: Table) -> None:
        for table in gone:
            tx.conn.execute(delete(table))

    stored.do(clear, tables.run_step, tables.run_label, tables.flow_edge, tables.flow_run, tables.run)
    stored.do(clear, tables.flow, tables.periodic_task)


def _session(asked: Asked) -> None:
    asked.stored.do(lambda tx: JOBS[asked.name].options(**asked.options).enqueue_sync(tx.conn, **ARGS))


def _session_by_name(asked: Asked) -> None:
    asked.stored.do(lambda tx: enqueue_sync(tx.conn, asked.name, ARGS, **asked.options))


def _many(asked: Asked) -> None:
    asked.stored.do(lambda tx: enqueue_many_sync(tx.conn, [asked.spec]))


def _many_by_name(asked: Asked) -> None:
    asked.stored.do(lambda tx: enqueue_many_sync(tx.conn, [asked.by_name]))


def _in_a_job(asked: Asked) -> None:
    asked.stored.do(put_many, [asked.spec])


def _connected(asked: Asked) -> None:
    asked.connection.put(asked.spec)


def _by_api(asked: Asked) -> None:
    asked.stored.do(enqueue_runs, [asked.input.to_run()])


def _flow(asked: Asked) -> None:
    asked.stored.do(put_spec, FlowSpec("flow", (MemberSpec("a", replace(asked.spec, unique_key=None)),)))


def _flow_by_api(asked: Asked) -> None:
    asked.stored.do(enqueue_flow, NewFlow("flow", (NewMember("a", asked.member.to_run()),)))


def _retried_flow(asked: Asked) -> None:
    flow = asked.stored.do(enqueue_flow, NewFlow("flow", (NewMember("a", asked.member.to_run()),)))
    (old,) = asked.stored.rows(tables.run, job_name=asked.name)
    asked.stored.do(cancel_runs, [old.id])
    asked.stored.do(retry_flow, flow.id)
    asked.stored.do(lambda tx: tx.conn.execute(delete(tables.run).where(tables.run.c.id == old.id)))


def _child(asked: Asked) -> None:
    parent = asked.stored.enqueue(job_name="plain" if asked.name != "plain" else "once", args=ARGS)
    wait = Wait("wait", StepKind.RUNS, runs=(asked.spec,))
    asked.stored.do(lambda tx: begin_children(tx, parent, wait))


def _at_the_end(asked: Asked) -> None:
    (run,) = new_runs([asked.spec])
    asked.stored.do(put_flow, NewFlow("flow", (), callbacks={Ending.END: run}))


def _at_the_end_by_api(asked: Asked) -> None:
    callbacks = {Ending.END: asked.input.to_run()}
    first = NewMember("first", asked.member.to_run())
    flow = asked.stored.do(enqueue_flow, NewFlow("flow", (first,), callbacks=callbacks))
    (only,) = asked.stored.rows(tables.run, flow_id=flow.id)
    asked.stored.do(cancel_runs, [only.id])
    asked.stored.do(lambda tx: tx.conn.execute(delete(tables.run).where(tables.run.c.id == only.id)))


def _retried(asked: Asked) -> None:
    _session(asked)
    (old,) = asked.stored.rows(tables.run, job_name=asked.name)
    asked.stored.do(cancel_runs, [old.id])
    asked.stored.do(retry_runs, [old.id])
    asked.stored.do(lambda tx: tx.conn.execute(delete(tables.run).where(tables.run.c.id == old.id)))


def _triggered(asked: Asked) -> None:
    asked.stored.do(trigger, replace(asked.input.to_run(), trigger=Trigger.MANUAL))


def _task(asked: Asked) -> TaskSpec:
    own = {**asked.options}
    if "priority" in own:
        own["priority"] = Priority(own["priority"])
    if "resources" in own:
        own["resources"] = own["resources"].document()
    inherits = frozenset(TASK_POLICIES).difference(own)
    schedule = ScheduleSpec(Syntax.CRON, "0 * * * * *")
    more = {"overlap": OverlapPolicy.ALLOW, "inherits": inherits - {"overlap"}}
    return TaskSpec("nightly", asked.name, schedule, args=dict(ARGS), **more, **own)  # type: ignore[arg-type]


def _task_by_hand(asked: Asked) -> None:
    asked.stored.do(create_task, _task(asked), submitter="tester")
    asked.stored.do(trigger_task, "nightly", args=None, actor="tester")


def _schedule(asked: Asked) -> None:
    asked.stored.do(create_task, _task(asked), submitter="tester")
    asked.stored.pass_time(60)
    assert asked.stored.dispatch() == 1


_ALL = {*EVERYTHING, "resources"}
_OF_TASKS = {"group", "priority", "retries", "retry_delay", "timeout", "max_duration", "labels", "resources"}
WAYS: dict[Callable[[Asked], None], tuple[set[str], set[str]]] = {
    # The way; what can be said there; what a run has otherwise there, by design.
    _session: (_ALL, set()),
    _session_by_name: (_ALL, set()),
    _many: (_ALL, set()),
    _many_by_name: (_ALL, set()),
    _in_a_job: (_ALL, set()),
    _connected: (_ALL, set()),
    _by_api: (_ALL, set()),
    _triggered: (_ALL, set()),
    _at_the_end: (_ALL, set()),
    _at_the_end_by_api: (_ALL, set()),
    # Its key in the flow is what makes a run unique there.
    _flow: (_ALL, {"unique_key"}),
    _flow_by_api: (_ALL, {"unique_key"}),
    _child: (_ALL, {"unique_key"}),
    # What is made again may start at once, and has the time to start that its job says.
    _retried: (_ALL - {"run_at", "ttl"}, set()),
    _retried_flow: (_ALL - {"run_at", "ttl"}, {"unique_key"}),
    _task_by_hand: (_OF_TASKS, set()),
    # A run of a schedule is due at its own time.
    _schedule: (_OF_TASKS, {"waits"}),
}


@pytest.fixture
def connection(stored: Stored) -> Iterator[Connection]:
    """What ``connect`` gives, on the database of the test."""
    with connect(stored.database.url.render_as_string(hide_password=False), registry=Registry()) as opened:
        yield opened


@pytest.mark.costly
@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(POLICIES)), options=OPTIONS)
@example("plain", EVERYTHING)
@example("all", {})
@example("all", EVERYTHING)
@example("away", {"resources": NEEDS})
@example("away", {**EVERYTHING, "resources": NEEDS})
def test_every_way_gives_the_same_row(
    stored: Stored, connection: Connection, name: str, options: dict[str, Any]
) -> None:
    stored.do(lambda tx: published.publish(tx.conn, [definition.info for definition in REGISTRY]))
    rows: dict[frozenset[str], dict[str, Any]] = {}
    for way, (said, different) in WAYS.items():
        asked = Asked(stored, connection, name, {one: value for one, value in options.items() if one in said})
        expected = rows.get(frozenset(asked.options))
        if expected is None:
            expected = rows[frozenset(asked.options)] = _made(asked, _session)
        found = _made(asked, way)
        assert _without(found, different) == _without(expected, different), f"{way.__name__} with {asked.options}"


def _made(asked: Asked, way: Callable[[Asked], None]) -> dict[str, Any]:
    way(asked)
    row = _row(asked)
    _clear(asked.stored)
    return row


def _without(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


async def test_the_test_kit_gives_the_same_row() -> None:
    options = EVERYTHING
    async with Queue(REGISTRY) as queue:
        by_kit = (await queue.run(await queue.enqueue("all", ARGS, **options))).run
    async with Queue(REGISTRY) as queue:
        by_job = (await queue.run((await JOBS["all"].options(**options).enqueue(**ARGS)).run_id)).run
    own = (*_OWN, "available_at", "expires_at")
    assert _without(asdict(by_kit), {*own}) == _without(asdict(by_job), {*own})
    assert by_kit.expires_at is not None
    assert by_job.expires_at is not None
    assert by_kit.expires_at - by_kit.available_at == by_job.expires_at - by_job.available_at
