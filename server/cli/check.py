"""``cronograph check``: is everything in order for a start?"""

from collections.abc import Sequence

import typer

from ...jobs.registry import default_registry
from ..checks import DatabaseReport, check_database
from ..pages import Site
from ..preparation import prepare
from .options import (
    AsJson,
    ConfigFile,
    CountingScheme,
    DatabaseSchema,
    DatabaseUrl,
    DrainTimeout,
    Heartbeat,
    Host,
    Jobs,
    Lease,
    LogLevel,
    NodeName,
    Port,
    Prefetch,
    Slots,
    ThreadSlots,
)
from .output import ExitCode, Output

NO_DASHBOARD = "dashboard: is not built, so the server answers 503 there and says how to build it"


def check(
    host: Host = None,
    port: Port = None,
    database_url: DatabaseUrl = None,
    database_schema: DatabaseSchema = None,
    jobs: Jobs = None,
    node_name: NodeName = None,
    slots: Slots = None,
    thread_slots: ThreadSlots = None,
    prefetch: Prefetch = None,
    counting_scheme: CountingScheme = None,
    heartbeat: Heartbeat = None,
    lease: Lease = None,
    drain_timeout: DrainTimeout = None,
    log_level: LogLevel = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Check the configuration, the job modules, the database and the stored schedules, without starting anything.

    All errors and warnings are listed at once. The exit status is 0 when there is no error, else 2.
    """
    output = Output(as_json=as_json)
    with output.errors():
        flags = {
            "host": host,
            "port": port,
            "database_url": database_url,
            "database_schema": database_schema,
            "jobs": jobs or None,
            "node_name": node_name,
            "slots": slots,
            "thread_slots": thread_slots,
            "prefetch": prefetch,
            "counting_scheme": counting_scheme,
            "heartbeat": heartbeat,
            "lease": lease,
            "drain_timeout": drain_timeout,
            "log_level": log_level,
        }
        prepared = prepare(flags, config)
        registry = default_registry()
        report = DatabaseReport()
        if "database_url" not in prepared.faulty:
            report = check_database(prepared.settings.database_url, registry)
        faults = [*prepared.faults, *report.faults]
        warnings = [*prepared.warnings, *report.warnings, *([] if Site().built else [NO_DASHBOARD])]
        if faults:
            output.failed(faults, ExitCode.USAGE, warnings)
            raise typer.Exit(ExitCode.USAGE)
        data = {
            "ok": True,
            "errors": [],
            "warnings": warnings,
            "jobs": list(registry.names()),
            "database": report.as_json(),
        }
        output.result(data, "\n".join(_sentences(registry.names(), report, warnings)))


def _sentences(jobs: Sequence[str], report: DatabaseReport, warnings: Sequence[str]) -> list[str]:
    if not report.exists:
        database = "does not exist yet; the first start makes it"
    elif report.pending:
        database = f"needs the schema revisions {', '.join(report.pending)}; the next start applies them"
    else:
        database = f"is up to date and holds {report.tasks} tasks, all of their schedules valid"
    used = [f"Database: process {report.used_by} uses it; a second server would be refused"] if report.used_by else []
    return [
        *(f"warning: {sentence}" for sentence in warnings),
        "Configuration: valid",
        f"Jobs: {len(jobs)} found: {', '.join(jobs)}" if jobs else "Jobs: none found",
        f"Database: {database}",
        *used,
    ]
