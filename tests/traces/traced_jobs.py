"""A job that a child process runs: what is there of the trace, and a run that it enqueues."""

from opentelemetry import trace

from cronograph.jobs import JobContext, Result, job
from cronograph.jobs.registry import Registry

JOBS = Registry()


@job("in a child", isolation="process", registry=JOBS)
def in_a_child(ctx: JobContext) -> Result:
    ctx.log.info("here")
    ctx.enqueue_sync("followed")
    return Result(value=trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))


@job("followed", registry=JOBS)
async def followed() -> None:
    """Comes after."""
