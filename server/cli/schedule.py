"""``cronograph schedule``: the meaning of an expression, without a server."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.base.times import time_text
from ...jobs.core.schedule import Syntax, validate
from .base.output import Output, Refused, answering


@answering
def schedule(
    output: Output,
    expression: Annotated[str, typer.Argument(help="E.g. '0 0 3 * * *', 'Mon..Fri 09:00' or '90s'.")],
    syntax: Annotated[str, typer.Option("--syntax", help="cron, calendar, interval or timestamp.")] = "cron",
    timezone: Annotated[str, typer.Option("--timezone", help="An IANA zone.")] = "UTC",
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many times.")] = 5,
) -> None:
    """Say a schedule in words and show its next times; no server is asked.

    The exit status is 1 when the schedule is not valid.
    """
    if syntax.upper() not in Syntax.__members__:
        known = ", ".join(name.lower() for name in Syntax.__members__)
        raise ConfigurationError(f"--syntax: must be one of {known}, got {syntax[:80]!r}")
    found = validate(Syntax[syntax.upper()], expression, timezone, count=count, after=datetime.now(UTC))
    if found.error is not None:
        raise Refused(str(found.error))
    times = [time_text(one) for one in found.next_occurrences]
    data = {"ok": True, "humanized": found.humanized, "nextExecutions": times}
    output.result(data, "\n".join([str(found.humanized), *(f"  {one}" for one in times)]))
