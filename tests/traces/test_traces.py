"""Traces: from where a run is put into the queue to what its attempts ask for, as an exporter gets them."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from cronograph.jobs import JobContext, PermanentFailure, Snooze, connect, job
from cronograph.jobs.base.services import Services
from cronograph.jobs.builtin import builtin_jobs
from cronograph.jobs.builtin.http_request import UnexpectedStatusError, http_request
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.base.tracing import TRACED, TracedAttempt
from cronograph.jobs.integrations import opentelemetry
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import Database
from tests.builtin.hosts import context_of
from tests.builtin.http_server import answering, reply
from tests.support.engines import StartEngine
from tests.support.processes import ProcessStarter
from tests.support.sources import ROOT
from tests.support.waiting import eventually, wait_until
from tests.support.web import open_client, post
from tests.traces import traced_jobs
from tests.traces.otlp import receiving
from tests.traces.told import Told, told

__all__ = ["told"]


def ids(span: ReadableSpan) -> tuple[int, int]:
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def parent(span: ReadableSpan) -> tuple[int, int] | None:
    return None if span.parent is None else (span.parent.trace_id, span.parent.span_id)


async def test_an_attempt_is_a_part_of_the_trace_that_put_its_run_into_the_queue(
    told: Told, start_engine: StartEngine, database_url: str
) -> None:
    registry = Registry()
    seen: list[int] = []

    @job("traced", registry=registry)
    async def traced(ctx: JobContext) -> None:
        ctx.log.info("hello", order=7)
        seen.append(trace.get_current_span().get_span_context().span_id)

    @job("in a thread", registry=registry)
    def in_a_thread() -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    running = await start_engine(registry)
    tracer = told.provider.get_tracer("shop")
    with tracer.start_as_current_span("checkout") as checkout, connect(database_url, registry=registry):
        handle = await traced.enqueue()
        other = await in_a_thread.enqueue()
    done = await running.finished(handle.run_id)
    await running.finished(other.run_id)

    enqueue, claim, execute = (told.one(f"{word} traced") for word in ("enqueue", "claim", "execute"))
    context = checkout.get_span_context()
    assert parent(enqueue) == (context.trace_id, context.span_id)
    assert (parent(claim), parent(execute)) == (ids(enqueue), ids(claim))
    assert [span.kind.name for span in (enqueue, claim, execute)] == ["PRODUCER", "CLIENT", "CONSUMER"]
    assert execute.attributes is not None
    about = {
        "messaging.system": "cronograph",
        "messaging.destination.name": "traced",
        "messaging.operation.name": "execute",
        "messaging.operation.type": "process",
        "messaging.message.id": str(handle.run_id),
        "messaging.client.id": "test-node",
        "cronograph.attempt": 1,
        "cronograph.group": "default",
        "cronograph.outcome": "success",
    }
    assert about.items() <= dict(execute.attributes).items()
    assert set(seen) == {ids(execute)[1], ids(told.one("execute in a thread"))[1]}
    (line,) = done.lines
    trace_id, span_id = ids(execute)
    assert line.fields == {"order": 7, "trace_id": f"{trace_id:032x}", "span_id": f"{span_id:016x}"}
    assert done.run.carried is not None
    assert set(done.run.carried) == {"trace"}


async def test_how_an_attempt_ended_is_reported(told: Told, start_engine: StartEngine) -> None:
    registry = Registry()

    @job("fails", registry=registry)
    async def fails() -> None:
        raise PermanentFailure("no luck")

    @job("snoozes once", registry=registry)
    async def snoozes(ctx: JobContext) -> None:
        if ctx.info.attempt == 1:
            raise Snooze(0)

    running = await start_engine(registry)
    await running.finish("fails")
    await running.finish("snoozes once")
    failed = told.one("execute fails")
    assert (failed.status.status_code.name, failed.status.description) == ("ERROR", "no luck")
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "PermanentFailure"
    (event,) = failed.events
    assert event.attributes is not None
    assert "no luck" in str(event.attributes["exception.stacktrace"])
    first, second = told.all("execute snoozes once")
    outcomes = [span.attributes["cronograph.outcome"] for span in (first, second) if span.attributes]
    assert outcomes == ["snoozed", "success"]
    assert first.status.status_code.name == "UNSET"
    # Nobody traced what put it into the queue: each attempt has a trace of its own.
    assert ids(first)[0] != ids(second)[0]
    assert not told.all("enqueue fails")


@pytest.mark.costly
async def test_a_child_process_has_the_trace_and_what_it_enqueues_belongs_to_it(
    told: Told, start_engine: StartEngine
) -> None:
    running = await start_engine(traced_jobs.JOBS)
    done = await running.finish("in a child")
    await eventually(lambda: bool(told.all("execute followed")), message="the run that it enqueued")
    execute = told.one("execute in a child")
    assert done.run.result == f"{ids(execute)[0]:032x}"
    assert done.lines[0].fields is not None
    assert done.lines[0].fields["trace_id"] == done.run.result
    assert parent(told.one("enqueue followed")) == ids(execute)
    assert ids(told.one("execute followed"))[0] == ids(execute)[0]


START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("traces", "attempt", "late", "child"),
    [
        ("auto", 1, 60, True),
        ("auto", 1, 61, False),
        ("auto", 2, 1, False),
        ("link", 1, 1, False),
        ("child", 2, 7200, True),
    ],
)
def test_a_part_of_that_trace_or_one_of_its_own_with_a_link(
    told: Told, traces: str, attempt: int, late: float, child: bool
) -> None:
    opentelemetry.start_tracing(traces, tracer_provider=told.provider)
    assert TRACED.by is not None
    carried = TRACED.carried("j", {"mine": 1})
    assert carried["mine"] == 1
    assert TRACED.carried("j", carried) is carried
    carried["trace"]["at"] = START.timestamp()
    about = TracedAttempt(7, 8, "j", attempt, "g", "t", "n", START + timedelta(seconds=late), carried)
    TRACED.by.attempt(about).end("success")
    enqueue, claim = told.one("enqueue j"), told.one("claim j")
    assert (parent(claim) == ids(enqueue)) is child
    assert [(link.context.trace_id, link.context.span_id) for link in claim.links] == ([] if child else [ids(enqueue)])
    assert parent(told.one("execute j")) == ids(claim)


def test_what_the_sampler_leaves_out_is_left_out_whole_and_says_nothing_in_the_log(told: Told) -> None:
    none = TracerProvider(ParentBasedTraceIdRatio(0), shutdown_on_exit=False)
    none.add_span_processor(SimpleSpanProcessor(told.exporter))
    opentelemetry.start_tracing(tracer_provider=none)
    assert TRACED.by is not None
    carried = TRACED.carried("j", None)
    # Who enqueued it has decided: a node that would keep every trace keeps this one as little.
    for provider in (none, told.provider):
        opentelemetry.start_tracing(tracer_provider=provider)
        span = TRACED.by.attempt(TracedAttempt(7, 8, "j", 1, "g", "t", "n", None, carried))
        assert span.fields == {}
        assert int(span.context["traceparent"].rpartition("-")[2], 16) & 1 == 0
        assert span.context["traceparent"].split("-")[1] == carried["trace"]["traceparent"].split("-")[1]
        span.end("failed", error_type="ValueError", message="no", traceback="…")
    assert told.exporter.get_finished_spans() == ()
    TRACED.by.attempt(TracedAttempt(7, 8, "j", 1, "g", "t", "n", None, None)).end("success")
    assert len(told.all("execute j")) == 1


@pytest.mark.parametrize("trace", [None, "x", {}, {"traceparent": "nonsense"}, {"traceparent": 7}])
def test_what_is_no_trace_begins_a_new_one(told: Told, trace: Any) -> None:
    assert TRACED.by is not None
    TRACED.by.attempt(TracedAttempt(7, 8, "j", 1, "g", None, None, None, {"trace": trace})).end("lost")
    assert (parent(told.one("claim j")), told.one("claim j").links) == (None, ())


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="traces: must be 'auto', 'link' or 'child', got 'on'"):
        opentelemetry.start_tracing("on")


async def test_http_request_hands_the_trace_on(told: Told, empty_sqlite_url: str) -> None:
    definition = next(each for each in builtin_jobs() if each.name == "http_request")
    database = Database(empty_sqlite_url)
    services = Services(database, http_allow=("127.0.0.0/8",))
    async with answering(lambda asked: reply(404 if "lost" in asked.target else 200)) as server:
        for target in ("ping?key=secret", "lost"):
            args: dict[str, Any] = {"url": f"http://127.0.0.1:{server.port}/{target}"}
            try:
                await http_request(**definition.bind(args, context_of(http_request, services)))
            except UnexpectedStatusError:
                assert target == "lost"
        found, lost = told.all("GET")
        sent = server.asked[0].headers["traceparent"]
        port = server.port
    await database.close()
    trace_id, span_id = ids(found)
    assert sent.startswith(f"00-{trace_id:032x}-{span_id:016x}-")
    assert found.attributes is not None
    assert dict(found.attributes) == {
        "http.request.method": "GET",
        "url.full": f"http://127.0.0.1:{port}/ping",
        "url.scheme": "http",
        "server.address": "127.0.0.1",
        "server.port": port,
        "http.response.status_code": 200,
    }
    assert lost.attributes is not None
    assert (lost.attributes["error.type"], lost.status.status_code.name) == ("404", "ERROR")


# Of the built-in tasks the one that comes due least often, so that there is one run of it.
TRIGGER = 'mutation Now { triggerJob(jobName: "prune_history") { run { id } } }'
LOG = "query Log($run: ID!) { executions(filter: { runId: { eq: $run } }) { nodes { traceId traceUrl } } }"
ASKS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.costly
def test_a_server_sends_traces_from_an_operation_to_the_attempt(database_url: str, processes: ProcessStarter) -> None:
    with receiving() as receiver:
        server = processes.serve(
            database_url,
            "--node-name",
            "n1",
            env={
                "CRONOGRAPH_TRACES": "auto",
                "CRONOGRAPH_TRACE_LINK": "https://traces.example.com/{trace}?run={run}&attempt={attempt}&job={job}",
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.port}",
                "OTEL_BSP_SCHEDULE_DELAY": "50",
            },
        )
        url = f"{server.url}/graphql"
        with open_client(server.url, {"traceparent": ASKS}) as client:
            answer = client.post("/graphql", json={"query": TRIGGER})
        run = answer.json()["data"]["triggerJob"]["run"]["id"]
        wait_until(lambda: "execute prune_history" in receiver.spans, message="the attempt")

        def stored() -> dict[str, Any]:
            (found,) = post(url, {"query": LOG, "variables": {"run": run}}).json()["data"]["executions"]["nodes"]
            assert (found["traceUrl"] is None) == (found["traceId"] is None), "it has no trace to name yet"
            return dict(found)

        wait_until(lambda: stored()["traceId"] is not None, message="the end of the attempt to be stored")
        execution = stored()
        for command in (("log", "--json"), ("runs", "show", run, "--json"), ("runs", "show", run)):
            status, said = processes.run(*command, "--url", server.url)
            assert (status, "traceId" in said, ASKS.split("-")[1] in said) == (0, True, True), said
        assert post(url, {"query": '{ run(id: "x") { id } }'}).json()["errors"]
        server.stop()
        spans = receiver.spans
    words = ("mutation triggerJob", *(f"{word} prune_history" for word in ("enqueue", "claim", "execute")))
    assert {spans[name].trace_id.hex() for name in words} == {ASKS.split("-")[1]}
    before = [ASKS.split("-")[2], *(spans[name].span_id.hex() for name in words[:3])]
    assert [spans[name].parent_span_id.hex() for name in words] == before
    # What was left is sent before the server ends.
    assert spans["query run"].status.code == spans["query run"].status.STATUS_CODE_ERROR
    assert receiver.resource["service.name"] == "cronograph"
    assert receiver.resource["service.instance.id"] == "n1"
    assert execution["traceId"] == ASKS.split("-")[1]
    link = f"https://traces.example.com/{execution['traceId']}?run={run}&attempt=1&job=prune_history"
    assert execution["traceUrl"] == link


def test_the_documented_ways_to_begin_are_those_that_are_tried(told: Told) -> None:
    text = (ROOT / "docs" / "monitoring" / "README.md").read_text(encoding="utf-8")
    words = set(re.findall(r"export ([A-Z_]+)=", text))
    assert words == {"CRONOGRAPH_TRACES", "OTEL_EXPORTER_OTLP_ENDPOINT"}
    assert "opentelemetry.start_tracing()\n" in text
    opentelemetry.start_tracing()
    assert TRACED.by is not None
    TRACED.by.attempt(TracedAttempt(7, 8, "j", 1, "g", None, None, None, None)).end("success")
    assert not told.all("execute j"), "it goes to the global provider"


@pytest.mark.costly
def test_what_is_needed_is_named_where_it_is_not_installed(tmp_path: Path) -> None:
    hide = "import sys; sys.modules.update({%r: None}); from cronograph.server.cli import main; main()"
    env = {**os.environ, "CRONOGRAPH_TRACES": "link", "CRONOGRAPH_DATABASE_URL": f"sqlite:///{tmp_path}/x.db"}
    for missing in ("opentelemetry", "opentelemetry.sdk"):
        words = [sys.executable, "-c", hide % missing, "serve", "--no-auth", "--port", "0"]
        ended = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, "pip install 'cronograph[traces]'" in ended.stderr) == (2, True), ended.stderr


@pytest.mark.costly
def test_who_traces_nothing_imports_nothing_of_it(tmp_path: Path) -> None:
    code = (
        "import sys, cronograph.server.service, cronograph.jobs.runtime.engine, cronograph.jobs.builtin.http_client\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "[]\n"
