"""What jobs log goes out as OTLP logs where that is wished for: each line with its run, its trace and its fields."""

from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from cronograph.jobs import JobContext, connect, job
from cronograph.jobs.integrations import opentelemetry
from cronograph.jobs.registry import Registry
from tests.support.engines import StartEngine
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post
from tests.traces.otlp import receiving

JOBS = """
from cronograph.jobs import JobContext, job

@job("says")
async def says(ctx: JobContext) -> None:
    ctx.log.warning("here", order=7, part={"a": [1, None]}, none=None)
    await ctx.step("pay", pay, ctx)

async def pay(ctx: JobContext) -> None:
    ctx.log.info("within")

@job("in a child", isolation="process")
def in_a_child(ctx: JobContext) -> None:
    ctx.log.error("from a child", order=8)
"""


def attributes(line: LogRecord) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in line.attributes}


@pytest.mark.costly
def test_a_server_sends_what_jobs_log(sqlite_url: str, processes: ProcessStarter, tmp_path: Path) -> None:
    (tmp_path / "saying_jobs.py").write_text(JOBS)
    with receiving() as receiver:
        env = {
            "CRONOGRAPH_TRACES": "auto",
            "CRONOGRAPH_TRACE_LOGS": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.port}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_BLRP_SCHEDULE_DELAY": "50",
        }
        server = processes.serve(sqlite_url, "--jobs", "saying_jobs", env=env)
        ask = 'mutation {{ triggerJob(jobName: "{}") {{ run {{ id }} }} }}'
        runs = {
            name: post(f"{server.url}/graphql", {"query": ask.format(name)}).json()["data"]["triggerJob"]["run"]["id"]
            for name in ("says", "in a child")
        }
        wait_until(lambda: {"here", "within", "from a child"} <= receiver.lines.keys(), message="the lines")
        wait_until(lambda: "execute in a child" in receiver.spans, message="the end of the attempts")
        wait_until(lambda: "execute says" in receiver.spans, message="the end of the attempts")
        server.stop()
    here, within, child = (receiver.lines[text] for text in ("here", "within", "from a child"))
    assert (here.severity_text, child.severity_text, within.severity_number) == ("WARNING", "ERROR", 9)
    for line, name in ((here, "says"), (within, "says"), (child, "in a child")):
        span = receiver.spans[f"execute {name}"]
        assert (line.trace_id, line.span_id) == (span.trace_id, span.span_id)
        about = attributes(line)
        assert (about["cronograph.run.id"], about["cronograph.job"]) == (int(runs[name]), name)
    assert (attributes(here)["order"], attributes(child)["order"]) == (7, 8)
    assert attributes(within)["cronograph.step"] == "pay"


@pytest.mark.parametrize("logs", [True, False])
async def test_lines_are_reported_where_they_are_wished_for_even_of_attempts_that_are_left_out(
    logs: bool, start_engine: StartEngine, database_url: str
) -> None:
    registry = Registry()

    @job("says", registry=registry)
    async def says(ctx: JobContext) -> None:
        ctx.log.info("here", order=7)

    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    loggers = LoggerProvider(shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    tracers = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    opentelemetry.start_tracing(tracer_provider=tracers, logs=logs, logger_provider=loggers)
    try:
        running = await start_engine(registry)
        with connect(database_url, registry=registry):
            handle = await says.enqueue()
        await running.finished(handle.run_id)
    finally:
        opentelemetry.stop_tracing()
        tracers.shutdown()
    told = [one.log_record for one in exporter.get_finished_logs()]
    assert [(one.body, (one.attributes or {})["cronograph.run.id"]) for one in told] == [("here", handle.run_id)] * logs
    loggers.shutdown()
