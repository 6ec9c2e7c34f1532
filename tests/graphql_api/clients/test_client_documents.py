"""The ready-made operations of the Python client fit the committed schema."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, get_args, get_type_hints

import pytest
from graphql.execution.values import VariableValues, get_variable_values

from cronograph.graphql.client import (
    AsyncClient,
    Client,
    EventFilter,
    EventKind,
    NewFlowRun,
    NewRun,
    Operation,
    Outcome,
    OverlapPolicy,
    Priority,
    RunState,
    Subscription,
    WhenFull,
    cron,
    interval,
    mutations,
    once,
    queries,
    subscriptions,
)
from cronograph.graphql.client.base.shapes import camel
from cronograph.graphql.client.mutations import WEBHOOK_DOCUMENTS
from cronograph.graphql.transport.body import PROGRAMS
from graphql import get_named_type, parse, validate
from tests.generation.cli_answers import committed_schema
from tests.generation.client_documents import client_documents
from tests.generation.typed_client import modules, snake
from tests.support.sources import ROOT

SCHEMA = committed_schema()
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WHERE: Mapping[str, Any] = {"id": {"in": ["1", "2"]}}
ORDER = [{"field": "ID", "direction": "DESC"}]

Sample: TypeAlias = Operation[Any] | Subscription[Any]

SAMPLES: dict[Callable[..., object], list[Sample]] = {
    queries.as_of: [queries.as_of()],
    queries.server_time: [queries.server_time()],
    queries.viewer: [queries.viewer()],
    queries.available_jobs: [queries.available_jobs()],
    queries.job: [queries.job("x")],
    queries.webhooks: [queries.webhooks(), queries.webhooks(filter={"isStopped": {"eq": True}})],
    queries.saved_views: [queries.saved_views(), queries.saved_views("/runs")],
    queries.tasks: [queries.tasks(first=3, after="x", filter=WHERE, order_by=ORDER)],
    queries.task: [queries.task("x")],
    queries.runs: [
        queries.runs(),
        queries.runs(
            states=[RunState.STUCK], job_name="x", task_name="y", group="z", after="c", filter=WHERE, order_by=ORDER
        ),
    ],
    queries.run: [queries.run(1)],
    queries.executions: [
        queries.executions(outcomes=[Outcome.LOST], job_name="x", task_name="y", run_id=1, filter=WHERE),
        queries.executions(filter={"startedAt": {"gte": NOW}}, order_by=ORDER),
    ],
    queries.execution: [queries.execution(1)],
    queries.job_logs: [queries.job_logs(limit=3, job_name="x", only_failures=True)],
    queries.skipped_occurrences: [queries.skipped_occurrences(first=1, filter=WHERE, order_by=ORDER)],
    queries.groups: [
        queries.groups(),
        queries.groups(first=1, after="x", filter={"isPaused": {"eq": True}}, order_by=[{"field": "NAME"}]),
    ],
    queries.nodes: [queries.nodes(), queries.nodes(first=1, after="x", filter=WHERE, order_by=ORDER)],
    queries.explain_task: [queries.explain_task("x")],
    queries.explain_run: [queries.explain_run(1)],
    queries.validate_schedule: [queries.validate_schedule(once(NOW), count=2, from_=NOW)],
    mutations.trigger_job: [mutations.trigger_job("x", {"a": 1}, idempotency_key="k"), mutations.trigger_job("x")],
    mutations.create_webhook: [
        mutations.create_webhook("x", "https://example.com", one, secrets=["s"], ordered=True, after="1.0")
        for one in WEBHOOK_DOCUMENTS.values()
    ],
    mutations.update_webhook: [
        mutations.update_webhook("x", url="https://example.com", variables={"a": 1}, secrets=[], enabled=False),
    ],
    mutations.delete_webhook: [mutations.delete_webhook("x", expected_version=1)],
    mutations.resume_webhook: [mutations.resume_webhook("x", skip=True)],
    mutations.redeliver_webhook: [mutations.redeliver_webhook("x", "1.0", dry_run=True)],
    mutations.save_view: [
        mutations.save_view("/runs", "x", "?state=STUCK", shared=True),
        mutations.save_view("/log", "y"),
    ],
    mutations.update_view: [mutations.update_view(1, name="x", search="", shared=False), mutations.update_view(1)],
    mutations.delete_view: [mutations.delete_view(1)],
    mutations.trigger_task: [mutations.trigger_task("x", {"a": None}, idempotency_key="k")],
    mutations.enqueue_runs: [
        mutations.enqueue_runs(
            [
                NewRun(job_name="x"),
                NewRun(
                    job_name="y",
                    args={"some_name": 1},
                    group="g",
                    priority=Priority.HIGH,
                    run_at=NOW,
                    unique_key="u",
                    retries=1,
                    retry_delay=2.5,
                    timeout=3,
                    description="d",
                ),
            ],
            idempotency_key="k",
        )
    ],
    mutations.cancel_run: [mutations.cancel_run(1, reason="r")],
    mutations.cancel_runs: [mutations.cancel_runs(filter=WHERE, reason="r", dry_run=True)],
    mutations.update_run: [mutations.update_run(1, args={"a": 1}, run_at=NOW)],
    mutations.signal_run: [
        mutations.signal_run("x", {"a": 1}, id=1, idempotency_key="k"),
        mutations.signal_run("x", unique_key="k", reject="no"),
    ],
    mutations.retry_run: [mutations.retry_run(1, args={}, from_step="a#2")],
    mutations.retry_runs: [mutations.retry_runs(ids=[1])],
    mutations.retry_run_now: [mutations.retry_run_now(1)],
    mutations.retry_runs_now: [mutations.retry_runs_now(filter=WHERE, after="c")],
    mutations.pause_tasks: [mutations.pause_tasks(names=["x"], reason="r")],
    mutations.resume_tasks: [mutations.resume_tasks(filter={"isEnabled": {"eq": False}}, after="c")],
    mutations.delete_tasks: [mutations.delete_tasks(names=["x"], dry_run=True)],
    mutations.set_run_priorities: [mutations.set_run_priorities(Priority.HIGH, ids=[1])],
    mutations.create_task: [
        mutations.create_task("x", "y", interval("90s")),
        mutations.create_task(
            "x", "y", cron("0 0 * * * *", "Europe/Berlin"), overlap=OverlapPolicy.ALLOW, start_at=NOW, retry_delay=1
        ),
    ],
    mutations.update_task: [
        mutations.update_task("x", expected_version=1, schedule=interval(90), misfire_grace=None, args={"some_name": 1})
    ],
    mutations.delete_task: [mutations.delete_task("x")],
    mutations.delete_tasks_of_owner: [mutations.delete_tasks_of_owner("channel:42", dry_run=True)],
    mutations.pause_task: [mutations.pause_task("x", reason="r")],
    mutations.resume_task: [mutations.resume_task("x", expected_version=3, dry_run=True, idempotency_key="k")],
    mutations.reset_task: [mutations.reset_task("x")],
    mutations.pause_group: [mutations.pause_group("x", reason="r")],
    mutations.resume_group: [mutations.resume_group("x")],
    mutations.enqueue_flow: [
        mutations.enqueue_flow("x", [NewFlowRun(key="a", job_name="x")]),
        mutations.enqueue_flow("x", [], open=True, unique_key="k", on_end=NewRun(job_name="x"), idempotency_key="k"),
    ],
    mutations.add_flow_runs: [mutations.add_flow_runs(1, [NewFlowRun(key="a", job_name="x", after=["b"])])],
    mutations.close_flow: [mutations.close_flow(1)],
    mutations.cancel_flow: [mutations.cancel_flow(1, reason="x")],
    mutations.retry_flow: [mutations.retry_flow(1), mutations.retry_flow(1, from_run=2, args={})],
    queries.flows: [queries.flows(first=1, filter={"name": {"eq": "x"}}, order_by=[{"field": "NAME"}])],
    queries.flow: [queries.flow(1)],
    mutations.limit_group: [mutations.limit_group("x", None), mutations.limit_group("x", 3)],
    mutations.keep_group: [mutations.keep_group("x", None), mutations.keep_group("x", 86400)],
    mutations.age_group: [mutations.age_group("x", None), mutations.age_group("x", 600)],
    mutations.cap_group: [mutations.cap_group("x", None), mutations.cap_group("x", 5, WhenFull.DROP_OLDEST)],
    mutations.rate_group: [mutations.rate_group("x", None), mutations.rate_group("x", 100, 60, 7)],
    mutations.rate_job: [mutations.rate_job("x", None), mutations.rate_job("x", 100, 60, 7)],
    mutations.preview_runs: [mutations.preview_runs([NewRun(job_name="x")])],
    mutations.preview_task: [mutations.preview_task("x", {"a": 1})],
    mutations.preview_retry: [mutations.preview_retry(1, from_step="a#2")],
    mutations.prune_history: [mutations.prune_history(max_age_days=7, dry_run=True), mutations.prune_history()],
    mutations.drain_node: [mutations.drain_node("x")],
    mutations.resume_node: [mutations.resume_node("x")],
    subscriptions.events: [
        subscriptions.events(),
        subscriptions.events(detailed=True),
        subscriptions.events(
            after="1.0",
            filter=EventFilter(kinds=[EventKind.RUN_CREATED], job_name="x", task_name="y", run_id=1, group="g"),
        ),
    ],
    subscriptions.run_updates: [subscriptions.run_updates(1)],
    subscriptions.execution_log: [subscriptions.execution_log(1, after_line=3)],
}
"""Calls of every function that makes an operation."""

BY_ADMINISTRATORS = "accounts and secrets are managed by `cronograph user`, `token` and `secret`, and on the dashboard"

BY_OPERATORS = "`cronograph alarms`, `cronograph channels` and the dashboard ask it"
LEFT_OUT = {
    **dict.fromkeys(("alarm", "alarms", "alarmFirings", "channels", "alarmDeliveries"), BY_OPERATORS),
    **dict.fromkeys(("createAlarm", "updateAlarm", "deleteAlarm", "silenceAlarm", "acknowledgeAlarms"), BY_OPERATORS),
    **dict.fromkeys(("silenceFailures", "solveFailures", "reopenFailures"), "`cronograph failures` asks it"),
    **dict.fromkeys(("setChannel", "deleteChannel", "testChannel", "redeliverAlarm"), BY_OPERATORS),
    **dict.fromkeys(("hooks", "createHook", "updateHook", "deleteHook"), "`cronograph hooks` asks it"),
    **dict.fromkeys(("addresses", "createAddress", "deleteAddress"), "`cronograph addresses` asks it"),
    "accounts": BY_ADMINISTRATORS,
    "createAccount": BY_ADMINISTRATORS,
    "updateAccount": BY_ADMINISTRATORS,
    "createApiToken": BY_ADMINISTRATORS,
    "revokeApiToken": BY_ADMINISTRATORS,
    "endSessions": BY_ADMINISTRATORS,
    "renamePasskey": BY_ADMINISTRATORS,
    "deletePasskey": BY_ADMINISTRATORS,
    "secrets": BY_ADMINISTRATORS,
    "setSecret": BY_ADMINISTRATORS,
    "deleteSecret": BY_ADMINISTRATORS,
    "deleteIdentity": BY_ADMINISTRATORS,
    "applyTasks": "`cronograph plan` and `apply` send it for files of tasks",
    "revisions": "the history of settings, on the dashboard",
    "revertToRevision": "the dashboard takes a change back",
    "labelKeys": "for pages that complete what people type",
    "labelValues": "for pages that complete what people type",
    "logSearch": "`cronograph logs --search` and the dashboard ask it",
    "retention": "what the settings page shows",
    "readReplica": "what the settings page shows",
    "timeline": "what the dashboard draws",
    "auditLog": "`cronograph audit` lists, verifies and exports it",
    "jobs": "`available_jobs` answers them all",
    "group": "`groups` takes a filter",
    "node": "`nodes` takes a filter",
    "upcoming": "a forecast for a calendar page: ask for the fields that the page shows",
    "overview": "figures of a dashboard: ask for those that it shows",
    "statistics": "figures of a dashboard",
    "queueHistory": "figures of a dashboard",
    "failureGroups": "figures of a dashboard",
    "failureHistory": "figures of a dashboard",
    "executionCounts": "figures of a dashboard",
    "plannedLoad": "figures of a dashboard",
}
"""Root fields that no ready-made operation asks, each with the reason; `execute` and `subscribe` take any document."""


def public_functions() -> list[Callable[..., object]]:
    return [
        function
        for module in (queries, mutations, subscriptions)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]


def operation_in(sample: Sample) -> Operation[Any]:
    return sample.operation if isinstance(sample, Subscription) else sample


@pytest.mark.costly
@pytest.mark.parametrize("make", public_functions(), ids=lambda make: make.__name__)
def test_every_document_fits_the_schema_and_so_do_its_variables(make: Callable[..., object]) -> None:
    for sample in SAMPLES[make]:
        operation = operation_in(sample)
        document = parse(operation.document)
        assert validate(SCHEMA, document) == []
        definition: Any = document.definitions[0]
        values = get_variable_values(SCHEMA, definition.variable_definitions or (), dict(operation.variables))
        assert isinstance(values, VariableValues), values


@pytest.mark.parametrize("make", public_functions(), ids=lambda make: make.__name__)
def test_both_clients_have_every_operation_as_a_method_with_its_documentation(make: Callable[..., object]) -> None:
    with Client() as plain:
        assert getattr(plain, make.__name__).__doc__ == make.__doc__
    assert getattr(AsyncClient, make.__name__).__wrapped__ is make


PREVIEWED = {mutations.trigger_task, mutations.enqueue_runs, mutations.retry_run}
"""Mutations that make runs: a function of its own predicts what would become of them."""


def options_of(make: Callable[..., object]) -> set[str]:
    """Return the names of the keyword arguments of a function, those of its ``TypedDict`` included."""
    found: set[str] = set()
    hints = get_type_hints(make)
    for name, one in inspect.signature(make).parameters.items():
        (kind, *_) = get_args(hints[name]) or (None,)
        found |= get_type_hints(kind).keys() if one.kind is inspect.Parameter.VAR_KEYWORD else {name}
    return found


@pytest.mark.parametrize("make", public_functions(), ids=lambda make: make.__name__)
def test_a_mutation_takes_key_trial_and_version_wherever_its_input_does(make: Callable[..., object]) -> None:
    definition: Any = parse(operation_in(SAMPLES[make][0]).document).definitions[0]
    (asked,) = definition.selection_set.selections
    root = SCHEMA.mutation_type
    assert root is not None
    if definition.operation.value != "mutation" or make.__name__.startswith("preview"):
        return
    arguments = root.fields[asked.name.value].args
    given: Any = get_named_type(arguments["input"].type) if "input" in arguments else None
    taken = {"idempotencyKey", "dryRun", "expectedVersion"} & set(arguments if given is None else given.fields)
    missing = {snake(name) for name in taken} - options_of(make)
    assert missing == ({"dry_run"} if make in PREVIEWED else set()), make.__name__


def test_names_of_settings_and_arguments_reach_the_server_as_they_should() -> None:
    sent = mutations.update_task("x", misfire_grace=None, args={"some_name": {"x_y": NOW}}).variables["input"]
    assert sent == {"name": "x", "misfireGrace": None, "args": {"some_name": {"x_y": "2026-03-01T12:00:00Z"}}}
    run = mutations.enqueue_runs([NewRun(job_name="x", args={"a_b": None})]).variables["input"]["runs"]
    assert run == [{"jobName": "x", "args": {"a_b": None}}]


def test_every_root_field_is_asked_by_an_operation_or_left_out_for_a_reason() -> None:
    asked = set[str]()
    for sample in (sample for samples in SAMPLES.values() for sample in samples):
        definition: Any = parse(operation_in(sample).document).definitions[0]
        asked |= {selected.name.value for selected in definition.selection_set.selections}
    roots = (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type)
    there = {name for root in roots if root is not None for name in root.fields}
    assert there - asked == LEFT_OUT.keys()


@pytest.mark.costly
@pytest.mark.parametrize("name", ["enums.py", "records.py", "inputs.py", "blocking.py"])
def test_what_is_made_by_make_schema_is_up_to_date(name: str) -> None:
    made = modules((ROOT / "graphql" / "schema.graphql").read_text())
    assert (ROOT / "graphql" / "client" / name).read_text() == made[name], "run `make schema`"


def test_servers_know_every_document_of_ours_by_its_hash() -> None:
    assert PROGRAMS.read_text() == client_documents(SAMPLES), "run `make schema`"


def test_names_come_back_from_python_as_they_were() -> None:
    kinds = [kind for name, kind in SCHEMA.type_map.items() if not name.startswith("__")]
    fields = {name for kind in kinds for name in getattr(kind, "fields", {})}
    assert "jobName" in fields
    assert [name for name in fields if camel(snake(name)) != name] == []


def test_the_client_loads_neither_the_server_nor_the_schema() -> None:
    heavy = ["cronograph.jobs", "cronograph.server", "graphql", "sqlalchemy", "starlette", "strawberry", "uvicorn"]
    code = f"import sys, cronograph.graphql.client; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
