"""``cronograph runs``: what the dashboard does with runs, one or many."""

import sys
from typing import Annotated, Any

import typer

from ....graphql.client.command_line import CANCEL_RUNS, ONE_RUN, PRIORITY, RETRY_RUN, RETRY_RUNS, TRY_RETRY_RUNS
from ....jobs.core.base.errors import ConfigurationError
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, DryRun, at_server, show_preview
from .listings import RUN_LIST
from .lists import Filter, add_list, details
from .values import arguments_of, filter_of
from .waiting import Wait, wait_for

runs = CommandLine(help="Look at runs, cancel and retry them, on a running server.", no_args_is_help=True)
Key = Annotated[str, typer.Argument(help="The run's id.")]
Keys = Annotated[list[str] | None, typer.Argument(help="Ids of runs; or else --filter.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; without a terminal nothing is ever asked.")]
add_list(runs, RUN_LIST, "List runs, e.g. --filter state=waiting,stuck --sort -submitted_at.")


def _found(api: Api, key: str) -> dict[str, Any]:
    found: dict[str, Any] | None = api.ask(ONE_RUN, id=key)["run"]
    if found is None:
        raise Refused(f"run {key} does not exist; was it pruned?")
    return found


@runs.command(name="show")
@at_server
def show_(api: Api, run: Key) -> None:
    """Show a run."""
    found = _found(api, run)
    shown = {key: value for key, value in found.items() if key not in {"explain", "executions"}}
    executions: list[dict[str, Any]] = found["executions"]["nodes"]
    if executions:
        shown["traceId"] = max(executions, key=lambda one: int(one["attempt"]))["traceId"]
    api.result({"run": found}, details(shown))


@runs.command()
@at_server
def explain(api: Api, run: Key) -> None:
    """Say why a run is still waiting, or how it ended."""
    explanation = _found(api, run)["explain"]
    api.result({"explain": explanation}, "\n".join([explanation["sentence"], *explanation["details"]]))


@runs.command()
@at_server
def cancel(
    api: Api,
    ids: Keys = None,
    filter: Filter = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
    yes: Yes = False,
) -> None:
    """Cancel runs: at once while they wait, through `should_stop` while they run."""
    _many(api, CANCEL_RUNS, "cancelled", ids, filter, yes=yes, reason=reason)


@runs.command()
@at_server
def retry(
    api: Api,
    ids: Keys = None,
    filter: Filter = None,
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="Other arguments, for one run.")] = None,
    from_step: Annotated[
        str | None,
        typer.Option("--from-step", metavar="LABEL", help="Keep the results of the steps before this one, of one run."),
    ] = None,
    wait: Wait = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Make new runs like finished ones. With --wait the exit status says how the new run ended, for one run."""
    if dry_run:
        if args is not None or from_step is not None or wait:
            raise ConfigurationError("--dry-run: is not for --args, --from-step and --wait")
        would = api.change(TRY_RETRY_RUNS, **_chosen(ids, filter), dryRun=True)
        show_preview(api, would, count=would["count"])
        return
    if args is None and from_step is None and not wait:
        _many(api, RETRY_RUNS, "retried", ids, filter, yes=yes)
        return
    if not ids or len(ids) != 1 or filter:
        raise ConfigurationError("--args, --from-step and --wait: are for one run, named by its id")
    made = api.change(RETRY_RUN, id=ids[0], args=arguments_of(args), fromStep=from_step)["run"]
    if wait:
        wait_for(api, made["id"])
    else:
        api.result({"run": made}, f"Run {ids[0]} is retried as run {made['id']}")


@runs.command()
@at_server
def priority(
    api: Api,
    level: Annotated[str, typer.Argument(help="high or low.")],
    ids: Keys = None,
    filter: Filter = None,
    yes: Yes = False,
) -> None:
    """Change the priority of runs that wait."""
    if level.upper() not in {"HIGH", "LOW"}:
        raise ConfigurationError(f"the priority must be high or low, got {level[:80]!r}")
    _many(api, PRIORITY, f"now of priority {level.upper()}", ids, filter, yes=yes, priority=level.upper())


def _chosen(ids: list[str] | None, terms: list[str] | None) -> dict[str, Any]:
    if bool(ids) == bool(terms):
        raise ConfigurationError("name the runs by their ids, or choose them by --filter FIELD=VALUE")
    return {"ids": ids} if ids else {"filter": filter_of(terms or (), RUN_LIST.fields)}


def _many(
    api: Api, document: str, word: str, ids: list[str] | None, terms: list[str] | None, *, yes: bool, **more: object
) -> None:
    """Change many runs: how many is said first, and asked on a terminal."""
    given = {**_chosen(ids, terms), **{name: value for name, value in more.items() if value is not None}}
    if terms:
        would = api.change(document, **given, dryRun=True)
        some = f"{would['count']}{' or more' if would['hasMore'] else ''} runs"
        api.output.note(f"{some} match")
        asks = not yes and not api.output.as_json and sys.stdin.isatty()
        if asks and not typer.confirm(f"{some} will be {word}. Go on?"):
            raise Refused("nothing was changed")
    count, after = 0, None
    while True:
        done = api.change(document, **given, **({"after": after} if after else {}))
        count, after = count + done["count"], done["endCursor"]
        if not done["hasMore"]:
            break
    api.result({"count": count}, f"{count} runs {word}")
