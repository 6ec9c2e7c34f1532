"""``cronograph failures``: failures grouped by their causes, and the notes of people on them."""

from typing import Annotated, Any, Final

import typer

from ....graphql.client.command_line import FAILURE_GROUPS, REOPEN_FAILURES, SILENCE_FAILURES, SOLVE_FAILURES
from ....jobs.core.base.errors import ConfigurationError
from ..base.application import CommandLine
from .api import Api, at_server, changes_server
from .lists import JOB_LIST, check_there, table
from .values import UNTIL, instant_of

STATES: Final = ("open", "silenced", "solved", "regressed")
SHOWN: Final = ("fingerprint", "state", "jobName", "count", "lastAt", "errorType", "message")

failures = CommandLine(
    help="Look at groups of failures, silence, solve and reopen them, on a running server.", no_args_is_help=True
)
Fingerprint = Annotated[str, typer.Argument(help="The group, as `failures list` shows it.")]
OfJob = Annotated[str | None, typer.Option("--job", metavar="NAME", help="Look for it among failures of this job.")]


@failures.command(name="list")
@at_server
def list_failures(
    api: Api,
    job: Annotated[str | None, typer.Option("--job", metavar="NAME", help="Only of this job.")] = None,
    state: Annotated[str | None, typer.Option("--state", metavar="WORD", help=f"One of {', '.join(STATES)}.")] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="Failures since a time, or of so long ago at most.")
    ] = "24h",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="At most so many.")] = 20,
) -> None:
    """List failures grouped by job and error, the most frequent first."""
    if state is not None and state not in STATES:
        raise ConfigurationError(f"--state: must be one of {', '.join(STATES)}, got {state!r:.40}")
    start = instant_of("--since", since, ago=True)
    found = api.ask(FAILURE_GROUPS, job=job, first=100, **{"from": start})["failureGroups"]
    if job is not None and not found:
        check_there(api, JOB_LIST, job)
    rows: list[dict[str, Any]] = [one for one in found if state is None or one["state"] == state.upper()][:limit]
    api.result({"failures": rows}, table(rows, SHOWN) if rows else "Nothing failed so since then")


@failures.command(name="silence")
@changes_server()
def silence_failures(
    api: Api,
    fingerprint: Fingerprint,
    until: Annotated[str | None, typer.Argument(help=f"{UNTIL}; none = now.")] = None,
    job: OfJob = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
) -> None:
    """Let a group of failures count as known until a time; without a time the silence ends."""
    given = {"fingerprint": fingerprint, "jobName": job, "endsAt": api.instant("until", until), "reason": reason}
    mark = api.change(SILENCE_FAILURES, **given)["mark"]
    ends = mark["silenceEndsAt"]
    said = "counts again" if ends is None else f"counts as known until {ends}"
    api.result({"mark": mark}, f"{fingerprint} of job {mark['jobName']} {said}")


@failures.command(name="solve")
@changes_server()
def solve_failures(
    api: Api,
    fingerprint: Fingerprint,
    version: Annotated[
        str | None,
        typer.Option("--in", metavar="VERSION", help="The version of the job's code that mends it; none = now."),
    ] = None,
    job: OfJob = None,
) -> None:
    """Let a group of failures count as solved, until one comes back."""
    mark = api.change(SOLVE_FAILURES, fingerprint=fingerprint, jobName=job, codeVersion=version)["mark"]
    where = "" if version is None else f" in version {version}"
    api.result({"mark": mark}, f"{fingerprint} of job {mark['jobName']} is solved{where}")


@failures.command(name="reopen")
@changes_server()
def reopen_failures(api: Api, fingerprint: Fingerprint) -> None:
    """Let a group of failures count as unsolved again."""
    mark = api.change(REOPEN_FAILURES, fingerprint=fingerprint)["mark"]
    api.result({"mark": mark}, f"{fingerprint} of job {mark['jobName']} is open again")
