"""``cronograph check``: is everything in order for a start?"""

from collections.abc import Sequence

import typer

from ...jobs.registry import default_registry
from ..configuration.settings import Settings
from ..database.checks import DatabaseReport, check_database
from ..exposure import administrator_faults
from ..http.bind import AddressInUseError, CannotListenError, listen
from ..http.pages import Site
from ..preparation import prepare
from ..process.ending import ExitCode
from .base.options import AsJson, ConfigFile, Flags, takes_settings
from .base.output import Output

NO_DASHBOARD = "dashboard: is not built, so the server answers 503 there and says how to build it"


@takes_settings
def check(flags: Flags, *, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check the configuration, the address, the job modules, the database and the stored schedules; nothing is started.

    All errors and warnings are listed at once. The exit status is 0 when there is no error, else 2.
    """
    output = Output(as_json=as_json)
    with output.errors():
        prepared = prepare(flags, config)
        registry = default_registry()
        report = DatabaseReport()
        if "database_url" not in prepared.faulty:
            report = check_database(prepared.settings.database_url, registry)
        if not prepared.faults:
            _try_to_listen(prepared.settings, report)
        if not prepared.faults and not report.faults:
            report.faults.extend(administrator_faults(prepared.settings, empty=bool(report.pending)))
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


def _try_to_listen(settings: Settings, report: DatabaseReport) -> None:
    """Say what the start would meet at its address: what it may never use is a fault, what is in use a warning."""
    try:
        listen(settings.host, settings.port).close()
    except AddressInUseError as error:
        # It may well be the server that this is the configuration of.
        report.warnings.append(str(error))
    except CannotListenError as error:
        report.faults.append(str(error))


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
