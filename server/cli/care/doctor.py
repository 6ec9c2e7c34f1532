"""``cronograph doctor``: how the database is, and what to do."""

from collections.abc import Iterator, Sequence

import typer

from ....jobs.store.db.base.address import is_sqlite, parse_url
from ...database.doctor import examine
from ...database.findings import Finding, Level
from ...process.ending import ExitCode
from ..base.database_command import DatabaseCommand
from ..base.options import ConfigFile, DatabaseUrl
from ..base.output import Output, answering


@answering
def doctor(output: Output, database_url: DatabaseUrl = None, config: ConfigFile = None) -> None:
    """Look at the database as an experienced operator would, and say what to do; nothing is changed.

    It looks at long transactions, dead rows and who keeps them, missing and invalid indexes, autovacuum, clocks,
    notifications, poolers, connections, nodes and the disk. The exit status is 1 when there is a problem, else 0.
    """
    command = DatabaseCommand(database_url, config, output)
    url = command.check_database()
    findings = examine(url)
    ok = all(one.level is not Level.PROBLEM for one in findings)
    kind = "sqlite" if is_sqlite(parse_url(url)) else "postgresql"
    data = {"ok": ok, "database": kind, "findings": [one.as_json() for one in findings]}
    output.result(data, "\n".join(_lines(findings)))
    if not ok:
        raise typer.Exit(ExitCode.REFUSED)


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    for one in findings:
        yield f"{one.level.value:<8} {one.check}: {one.says}"
        if one.advice:
            yield f"{'':<8} → {one.advice}"
    problems, advice = (sum(one.level is level for one in findings) for level in (Level.PROBLEM, Level.ADVICE))
    yield f"{problems} problems, {advice} pieces of advice" if problems or advice else "All is well"
