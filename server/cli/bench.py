"""``cronograph bench``: measure this machine and this database."""

import asyncio
from typing import Annotated

import typer
import uvloop

from ...jobs.runtime.base.settings import EngineSettings
from ...jobs.store.db.opening import scratch_database
from ..configuration.reading import load
from ..database.trial import Amount, Figures, Spread, measure
from ..process.lifecycle import leave_out_what_stays
from .base.options import ConfigFile, DatabaseUrl
from .base.output import Output, answering

DEFAULTS = Amount()
Runs = Annotated[int, typer.Option("--runs", min=1, max=1_000_000, help="Runs that wait when the node starts.")]
Latencies = Annotated[int, typer.Option("--latencies", min=1, max=10_000, help="Runs started one by one.")]
Tasks = Annotated[int, typer.Option("--tasks", min=1, max=10_000, help="Tasks due at one second.")]


@answering
def bench(
    output: Output,
    database_url: DatabaseUrl = None,
    runs: Runs = DEFAULTS.runs,
    latencies: Latencies = DEFAULTS.latencies,
    tasks: Tasks = DEFAULTS.tasks,
    config: ConfigFile = None,
) -> None:
    """Measure how fast one node is here, with this database and this configuration; takes about half a minute.

    It works in a place of its own, a schema of the same PostgreSQL database or a file next to SQLite's, which is
    removed afterwards; your tasks and runs are neither read nor changed. If another server is at work, it is slower.
    """
    settings = load({"database_url": database_url}, config).settings
    node = EngineSettings(
        slots=settings.slots,
        thread_slots=settings.thread_slots,
        process_slots=settings.process_slots,
        prefetch=settings.prefetch,
        poll=settings.poll,
    )
    amount = Amount(runs, latencies, tasks)
    leave_out_what_stays()
    with (
        scratch_database(settings.database_url) as place,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        figures = runner.run(measure(place, amount, node, output.note))
    output.result({"ok": True, **figures.as_json()}, _sentences(figures))


def _sentences(figures: Figures) -> str:
    return "\n".join(
        (
            f"Enqueueing: {figures.enqueued:,.0f} runs/s",
            f"Draining: {figures.drained:,.0f} runs/s, {figures.processor:,.0f} µs of the node's processor time each",
            f"From enqueueing to the start, idle: {_spread(figures.start)}",
            f"Lateness of tasks due at one second: {_spread(figures.late)}",
        )
    )


def _spread(found: Spread) -> str:
    return f"p50 {found.p50:,.1f} ms, p99 {found.p99:,.1f} ms, longest {found.longest:,.1f} ms"
