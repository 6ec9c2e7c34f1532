"""Signals by the API: sent once, by anyone who may, to runs that can take them."""

from typing import Any

import pytest

from cronograph.jobs import AnswerPage
from cronograph.jobs.actions.signals import make_link
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.outcome import Suspended
from cronograph.jobs.core.run_spec import RunSpec
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Wait
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.store.schema import tables
from tests.docs.blocks import all_blocks
from tests.graphql_api.api import Api

SIGNAL = """
mutation($input: SignalRunInput!) { signalRun(input: $input) { run { id state } errors { code message path } } }
"""
FORM = {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]}


def waiting_run(api: Api, role: Role = Role.OPERATOR, **changes: Any) -> int:
    """A run that waits for the signal ``approved``."""
    worker = api.stored.node("node-b")
    run = api.stored.enqueue(**changes)
    started = worker.start()
    api.stored.do(wait, started.run, Wait("approved", StepKind.SIGNAL, form=FORM, role=role))
    worker.end(started, Suspended(Awaits(AwaitedKind.SIGNAL, "approved")))
    return run.id


async def send(api: Api, **sent: Any) -> Any:
    return (await api.ask(SIGNAL, input={"name": "approved", **sent}))["signalRun"]


async def test_a_signal_wakes_its_run(api: Api) -> None:
    run_id = waiting_run(api)
    blocks = [block.text for block in all_blocks() if block.document == "docs/waiting.md"]
    (example,) = (text for text in blocks if text.startswith("mutation"))
    answer = (await api.ask(example.replace('"7"', f'"{run_id}"')))["signalRun"]
    assert answer == {"run": {"id": str(run_id), "state": "WAITING"}, "errors": []}
    (step,) = api.stored.rows(tables.run_step)
    assert (step.state, step.value) == ("done", {"by": "ada"})
    assert api.stored.rows(tables.audit_log, action="signal_run")[0].actor == "local administrator"


async def test_a_run_is_named_by_its_unique_key_and_a_repetition_has_one_effect(api: Api) -> None:
    waiting_run(api, unique_key="order-7")
    for _ in range(2):
        sent = await send(api, run={"uniqueKey": "order-7"}, payload={"by": "ada"}, idempotencyKey="k")
        assert sent["errors"] == []
    assert api.stored.rows(tables.run_step)[0].value == {"by": "ada"}
    assert api.stored.rows(tables.run_signal) == []


@pytest.mark.costly
@pytest.mark.parametrize(
    ("sent", "code", "path", "says"),
    [
        ({"payload": {}}, "INVALID_INPUT", ["payload"], "'by' is a required property"),
        (
            {"payload": {"by": 7}},
            "INVALID_INPUT",
            ["payload", "by"],
            "payload.by of signal 'approved' of run",
        ),
        ({"name": "a#2"}, "INVALID_INPUT", ["name"], "name must not contain '#'"),
        ({"run": {"id": "999"}}, "NOT_FOUND", ["run", "id"], "999"),
        ({"run": {"id": "x"}}, "INVALID_INPUT", ["run", "id"], "decimal"),
        ({"run": {"uniqueKey": "none"}}, "NOT_FOUND", ["run", "uniqueKey"], "none"),
        ({"reject": "x" * 2000}, "INVALID_INPUT", ["reject"], "1,000"),
    ],
)
async def test_what_cannot_be_sent_is_refused_and_changes_nothing(
    api: Api, sent: dict[str, Any], code: str, path: list[str], says: str
) -> None:
    run_id = waiting_run(api)
    answer = await send(api, **{"run": {"id": str(run_id)}, **sent})
    ((error,), run) = (answer["errors"], answer["run"])
    assert (error["code"], error["path"], run) == (code, path, None)
    assert says in error["message"]
    assert api.stored.rows(tables.run_signal) == []
    assert api.stored.rows(tables.run)[0].state == "suspended"


async def test_who_may_send_what_is_shown(api: Api) -> None:
    run_id = waiting_run(api, Role.ADMIN)
    query = "query($id: ID!) { run(id: $id) { steps { nodes { label kind state finishedAt signal role form } } } }"
    (step,) = (await api.ask(query, id=str(run_id)))["run"]["steps"]["nodes"]
    same = {"kind": "SIGNAL", "state": "WAITING", "finishedAt": None, "role": "ADMIN", "form": FORM}
    assert step == {"label": "approved", "signal": "approved", **same}


async def test_the_newest_page_for_people_is_shown_at_its_wait_alone(api: Api) -> None:
    worker, run = api.stored.node("node-b"), api.stored.enqueue()
    started = worker.start()
    for page in (AnswerPage(), AnswerPage(title="Invoice 7", text="Please.", shows={"amount": 120}, reject=None)):
        api.stored.do(make_link, started.run, "approved", page.to_json())
    api.stored.do(make_link, started.run, "plain")
    for label in ("approved", "plain", "other"):
        api.stored.do(wait, started.run, Wait(label, StepKind.SIGNAL, form=None, role=Role.OPERATOR))
    document = (
        "query($id: ID!) { run(id: $id) { steps { nodes { label answerPage { title text shows confirm reject } } } } }"
    )
    steps = (await api.ask(document, id=str(run.id)))["run"]["steps"]["nodes"]
    shown = {"title": "Invoice 7", "text": "Please.", "shows": {"amount": 120}, "confirm": "Confirm", "reject": None}
    found = {step["label"]: step["answerPage"] for step in steps}
    assert found == {"approved": shown, "plain": None, "other": None}


async def test_a_run_and_those_that_it_waits_for_are_shown_at_each_other(api: Api) -> None:
    worker = api.stored.node("node-b")
    run = api.stored.enqueue()
    started = worker.start()
    asked = Wait("runs", StepKind.RUNS, runs=(RunSpec("work"),))
    begun = api.stored.do(wait, started.run, asked)
    assert begun is not None
    worker.end(started, Suspended(Awaits.for_runs(begun.runs, "runs")))
    down = "query($id: ID!) { run(id: $id) { explain { code } steps { nodes { kind flowId } } } }"
    found = (await api.ask(down, id=str(run.id)))["run"]
    assert found["explain"]["code"] == "WAITS_FOR_RUNS"
    (step,) = found["steps"]["nodes"]
    flow = step["flowId"]
    assert step["kind"] == "RUNS"
    up = "query($id: ID!) { flow(id: $id) { parent { id } runs { nodes { id } } } }"
    shown = (await api.ask(up, id=flow))["flow"]
    assert shown == {"parent": {"id": str(run.id)}, "runs": {"nodes": [{"id": str(begun.runs[0])}]}}


async def test_runs_that_wait_for_a_signal_are_found(api: Api) -> None:
    waits, other = waiting_run(api), api.stored.enqueue().id
    document = "query($filter: RunFilter) { runs(filter: $filter) { nodes { id } totalCount } }"
    for wanted, expected in ((True, waits), (False, other)):
        found = (await api.ask(document, filter={"isWaitingForSignal": {"eq": wanted}}))["runs"]
        assert found == {"nodes": [{"id": str(expected)}], "totalCount": 1}
    await send(api, run={"id": str(waits)}, payload={"by": "ada"})
    answered = (await api.ask(document, filter={"isWaitingForSignal": {"eq": True}}))["runs"]
    assert answered["totalCount"] == 0
