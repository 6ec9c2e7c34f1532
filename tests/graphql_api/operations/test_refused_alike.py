"""What is wrong with signals and flows is refused with the same words by Python and by the API, and changes nothing."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from sqlalchemy import Table

from cronograph.jobs import Flow, UserError, connect, job
from cronograph.jobs.core.base.errors import NAMES
from cronograph.jobs.core.outcome import Suspended
from cronograph.jobs.core.run_spec import RunTarget
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Wait
from cronograph.jobs.handle import RunHandle
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema import tables
from tests.graphql_api.api import Api

JOBS = Registry()
SIGNAL = "mutation($input: SignalRunInput!) { signalRun(input: $input) { run { id } errors { code message path } } }"
FLOW = "mutation($input: EnqueueFlowInput!) { enqueueFlow(input: $input) { flow { id } errors { code message path } } }"
FORM = {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]}
CHANGED: tuple[Table, ...] = (
    tables.run,
    tables.run_step,
    tables.run_signal,
    tables.flow,
    tables.flow_run,
    tables.event,
)


@job("work", registry=JOBS)
async def work(x: int = 1) -> None: ...


def flow(**places: tuple[str, ...]) -> Flow:
    made = Flow("import", unique_key="taken" if "taken" in places else None, registry=JOBS)
    for key, after in places.items():
        made.add(key, work).after(*after)
    return made


def members(places: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [{"key": key, "jobName": "work", "after": after} for key, after in places.items()]


def everything(api: Api) -> list[list[dict[str, Any]]]:
    """All rows but the numbers of events, which they get at any time after their commit."""
    rows = [[row._asdict() for row in api.stored.rows(table)] for table in CHANGED]
    return [[{name: value for name, value in row.items() if name != "seq"} for row in table] for table in rows]


def as_python_says(fault: tuple[str, str, tuple[str, ...]]) -> tuple[str, str, tuple[str, ...]]:
    code, message, path = fault
    return code, message.replace("uniqueKey", "unique_key"), tuple(NAMES.get(part, part) for part in path)


def refusal_of(call: Callable[[], object]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Code, message and path of each fault for which Python refuses a call."""
    with pytest.raises(UserError) as refused:
        call()
    return [(one.code.value, one.message, one.path) for one in refused.value.faults]


async def refusals(api: Api, document: str, asked: Mapping[str, Any]) -> list[tuple[str, str, tuple[str, ...]]]:
    """The same of the API."""
    ((answer,),) = ((await api.ask(document, input=asked)).values(),)
    return [(one["code"], one["message"], tuple(one["path"])) for one in answer["errors"]]


def waiting_run(api: Api) -> int:
    worker = api.stored.node("node-b")
    run = api.stored.enqueue()
    started = worker.start()
    api.stored.do(wait, started.run, Wait("approved", StepKind.SIGNAL, form=FORM))
    worker.end(started, Suspended(Awaits(AwaitedKind.SIGNAL, "approved")))
    return run.id


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "payload", "code", "path", "says"),
    [
        ("approved", {}, "INVALID_INPUT", ("payload",), "payload of signal 'approved' of run 1: 'by' is a required"),
        ("approved", {"by": 7}, "INVALID_INPUT", ("payload", "by"), "7 is not of type 'string'"),
        ("approved", {"by": "\0"}, "INVALID_INPUT", ("payload",), "must not hold the character U+0000"),
        ("a#2", None, "INVALID_INPUT", ("name",), "must not contain '#', got 'a#2'; tell steps of one name apart by"),
        ("", None, "INVALID_INPUT", ("name",), "must have 1 to 200 characters, got 0"),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_signals(
    api: Api, database_url: str, name: str, payload: Any, code: str, path: tuple[str, ...], says: str
) -> None:
    run_id, before = waiting_run(api), everything(api)
    with connect(database_url, registry=JOBS) as queue:
        found = queue.find(RunTarget(run_id))
        assert found is not None
        by_python = refusal_of(lambda: RunHandle(found, queue).signal_sync(name, payload))
    by_api = await refusals(api, SIGNAL, {"run": {"id": str(run_id)}, "name": name, "payload": payload})
    assert by_python == by_api
    ((first_code, message, first_path),) = by_api
    assert (first_code, first_path) == (code, path)
    assert says in message
    assert everything(api) == before


@pytest.mark.parametrize("wrong", [None, 7, ["approved"]])
async def test_what_only_python_can_say(api: Api, database_url: str, wrong: Any) -> None:
    run_id, before = waiting_run(api), everything(api)
    with connect(database_url, registry=JOBS) as queue:
        found = queue.find(RunTarget(run_id))
        assert found is not None
        handle = RunHandle(found, queue)
        ((code, message, path),) = refusal_of(lambda: handle.signal_sync(wrong))
        assert (code, path) == ("INVALID_INPUT", ("name",))
        assert f"name must be text, got {type(wrong).__name__}" in message
        ((code, message, path),) = refusal_of(lambda: handle.signal_sync("approved", {"by": {wrong.__class__}}))
    assert (code, path) == ("INVALID_INPUT", ("payload", "by"))
    assert message == "payload.by: must be JSON, got set; make it a list"
    assert everything(api) == before


async def test_a_signal_to_a_finished_run(api: Api, database_url: str) -> None:
    worker = api.stored.node("node-b")
    run = api.stored.enqueue()
    worker.end(worker.start())
    before = everything(api)
    with connect(database_url, registry=JOBS) as queue:
        by_python = refusal_of(lambda: RunHandle(run, queue).signal_sync("approved"))
    message = (
        f"run {run.id} is success: nobody would take the signal 'approved' any more; send it to an unfinished run, or "
        "retry this one first"
    )
    assert by_python == await refusals(api, SIGNAL, {"run": {"id": str(run.id)}, "name": "approved"})
    assert by_python == [("INVALID_STATE", message, ("run",))]
    assert everything(api) == before


@pytest.mark.parametrize(
    ("places", "path", "says"),
    [
        ({"a": ("c",), "b": ("a",), "c": ("b",)}, ("runs", "0", "after"), "'a' → 'b' → 'c' → 'a'; take one of them"),
        ({"a": ("a",)}, ("runs", "0", "after"), "'a' → 'a'"),
        ({"first": (), "b": ("frist",)}, ("runs", "1", "after", "0"), "no run of the flow has that key; did you mean"),
        ({"": ()}, ("runs", "0", "key"), "must have at least 1 character"),
        ({"taken": ()}, ("uniqueKey",), "has the key 'taken' and is unfinished; wait for its end, cancel it, or"),
        ({}, ("runs",), "must be at least one, got none"),
    ],
    ids=["circle", "itself", "unknown key", "no key", "two flows with one key", "no runs"],
)
async def test_flows(
    api: Api, database_url: str, places: dict[str, tuple[str, ...]], path: tuple[str, ...], says: str
) -> None:
    with connect(database_url, registry=JOBS):
        flow(taken=()).enqueue_sync()
        before = everything(api)
        by_python = refusal_of(lambda: flow(**places).enqueue_sync())
    more = {"uniqueKey": "taken"} if "taken" in places else {}
    by_api = await refusals(api, FLOW, {"name": "import", "runs": members(places), **more})
    ((code, message, first_path),) = by_api
    assert (code, first_path) == ("ALREADY_EXISTS" if more else "INVALID_INPUT", path)
    assert says in message
    # Only the names of fields differ, and how to say that a flow is open.
    assert by_python == [as_python_says(one) for one in by_api] or not places
    assert [(one[0], one[2]) for one in by_python] == [as_python_says((code, message, path))[::2]]
    assert everything(api) == before
