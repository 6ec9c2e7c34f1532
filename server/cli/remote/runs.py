"""``cronograph runs``: the actions of the dashboard on runs, one or many."""

import sys
from typing import Annotated, Any, Final

import typer

from ....graphql.client.command_line import (
    CANCEL_FLOW,
    CANCEL_RUNS,
    ONE_FLOW,
    ONE_RUN,
    PRIORITIES,
    RETRY_FLOW,
    RETRY_RUN,
    RETRY_RUNS,
    TRY_RETRY_RUNS,
)
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import counted
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, DryRun, at_server, changes_server, show_preview
from .enqueue import Wait, wait_for
from .lists import FLOW_LIST, RUN_LIST, Filter, add_list, details
from .values import arguments_of, filter_of, json_of

runs = CommandLine(help="Look at runs, cancel and retry them, on a running server.", no_args_is_help=True)
RunId = Annotated[str, typer.Argument(help="The run's id.")]
RunIds = Annotated[list[str] | None, typer.Argument(help="Ids of runs; or else --filter.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; without a terminal nothing is ever asked.")]
add_list(runs, RUN_LIST, "List runs, e.g. --filter state=waiting,stuck --sort -submitted_at.")


def _found_run(api: Api, key: str) -> dict[str, Any]:
    found: dict[str, Any] | None = api.ask(ONE_RUN, id=key)["run"]
    if found is None:
        raise Refused(f"run {key} does not exist; was it pruned?")
    return found


@runs.command(name="show")
@at_server
def show_run(api: Api, run: RunId) -> None:
    """Show a run."""
    found = _found_run(api, run)
    shown = {key: value for key, value in found.items() if key not in {"explain", "executions"}}
    executions: list[dict[str, Any]] = found["executions"]["nodes"]
    if executions:
        shown["traceId"] = max(executions, key=lambda one: int(one["attempt"]))["traceId"]
    api.result({"run": found}, details(shown))


@runs.command(name="explain")
@at_server
def explain_run(api: Api, run: RunId) -> None:
    """Say why a run is still waiting, or how it ended."""
    explanation = _found_run(api, run)["explain"]
    api.result({"explain": explanation}, "\n".join([explanation["sentence"], *explanation["details"]]))


@runs.command(name="cancel")
@changes_server()
def cancel_runs(
    api: Api,
    ids: RunIds = None,
    filter: Filter = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
    yes: Yes = False,
) -> None:
    """Cancel runs: at once while they wait, through `should_stop` while they run."""
    _many(api, CANCEL_RUNS, "cancel", "cancelled", ids, filter, yes=yes, reason=reason)


@runs.command(name="retry")
@changes_server(dry_run=False)
def retry_runs(
    api: Api,
    ids: RunIds = None,
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
        would = api.change(TRY_RETRY_RUNS, **_chosen_runs(ids, filter), dryRun=True)
        show_preview(api, would, count=would["count"])
        return
    if args is None and from_step is None and not wait:
        _many(api, RETRY_RUNS, "retry", "retried", ids, filter, yes=yes)
        return
    if not ids or len(ids) != 1 or filter:
        raise ConfigurationError("--args, --from-step and --wait: are for one run, named by its id")
    made = api.change(RETRY_RUN, id=ids[0], args=arguments_of(args), fromStep=from_step)["run"]
    if wait:
        wait_for(api, made["id"])
    else:
        api.result({"run": made}, f"Run {ids[0]} is retried as run {made['id']}")


@runs.command(name="priority")
@changes_server()
def change_priority(
    api: Api,
    level: Annotated[str, typer.Argument(help="high or low.")],
    ids: RunIds = None,
    filter: Filter = None,
    yes: Yes = False,
) -> None:
    """Change the priority of runs that wait."""
    if level.upper() not in {"HIGH", "LOW"}:
        raise ConfigurationError(f"the priority must be high or low, got {level[:80]!r}")
    word = f"now of priority {level.upper()}"
    _many(api, PRIORITIES, level.lower(), word, ids, filter, yes=yes, priority=level.upper())


def _chosen_runs(ids: list[str] | None, terms: list[str] | None) -> dict[str, Any]:
    if bool(ids) == bool(terms):
        raise ConfigurationError("name the runs by their ids, or choose them by --filter FIELD=VALUE")
    return {"runs": {"ids": ids} if ids else {"filter": filter_of(terms or (), RUN_LIST.fields)}}


def _many(
    api: Api,
    document: str,
    action: str,
    word: str,
    ids: list[str] | None,
    terms: list[str] | None,
    *,
    yes: bool,
    **more: object,
) -> None:
    """Change many runs: how many is said first, and asked on a terminal; very many are changed by a run of the server.

    Args:
        document: The mutation that changes them.
        action: Its name as an argument of the job ``bulk_action``.
        word: The change in the past tense.
        ids: Their ids; or else ``terms`` of a filter.
        terms: See ``ids``.
        yes: Do not ask.
        more: Further variables of the mutation.
    """
    given: dict[str, Any] = {
        **_chosen_runs(ids, terms),
        **{name: value for name, value in more.items() if value is not None},
    }
    if terms:
        would = api.change(document, **given, dryRun=True)
        some = counted(would["count"], "run")
        api.output.note(f"{some} {'matches' if some == '1 run' else 'match'}")
        asks = not yes and not api.is_dry and not api.output.as_json and sys.stdin.isatty()
        if asks and not typer.confirm(f"{some} will be {word}. Go on?"):
            raise Refused("nothing was changed")
        if would["hasMore"] and not api.is_dry:
            chosen = {"filter": given["runs"]["filter"], **{name: given[name] for name in ("reason",) if name in given}}
            args = {"action": action, **chosen}
            begun = api.client.trigger_job("bulk_action", args, idempotency_key=api.key)
            if begun.run is None:
                raise Refused(begun.message)
            wait_for(api, begun.run.id)
            return
    done = api.change(document, **given)
    api.result({"count": done["count"]}, f"{counted(done['count'], 'run')} {word}")


flows = CommandLine(help="Look at flows, cancel and retry them, on a running server.", no_args_is_help=True)
FlowId = Annotated[str, typer.Argument(help="The flow's id.")]
MOST_SHOWN: Final = 200
add_list(flows, FLOW_LIST, "List flows, e.g. --filter state=running --sort -id.")


@flows.command(name="show")
@at_server
def show_flow(api: Api, flow: FlowId) -> None:
    """Show a flow and its runs, at most 200 of them: which start after which, and how far they are."""
    found = api.ask(ONE_FLOW, id=flow, first=MOST_SHOWN)["flow"]
    if found is None:
        raise Refused(f"flow {flow} does not exist; was it pruned?")
    runs = [run for run in found["runs"]["nodes"] if run["flowPlace"] is not None]
    keys = {run["id"]: run["flowPlace"]["key"] for run in runs}
    lines = [_flow_line(run, keys) for run in runs]
    shown = {name: value for name, value in found.items() if name != "runs"}
    api.result({"flow": {**shown, "runs": runs}}, "\n".join([details(shown), *lines]))


def _flow_line(run: dict[str, object], keys: dict[str, str]) -> str:
    """Return a run in a line: its key, its state, its predecessors, and its error."""
    place: dict[str, list[str]] = run["flowPlace"]  # type: ignore[assignment]  # the answer of our own document
    after = ", ".join(keys.get(one, one) for one in place["after"])
    error = f": {run['error']}" if run["error"] else ""
    return f"  {place['key']}: {run['state']} (run {run['id']}{f', after {after}' if after else ''}){error}"


@flows.command(name="cancel")
@changes_server()
def cancel_flow(
    api: Api, flow: FlowId, reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None
) -> None:
    """Cancel all unfinished runs of a flow."""
    given = {} if reason is None else {"reason": reason}
    changed = api.change(CANCEL_FLOW, id=flow, **given)["flow"]
    api.result({"flow": changed}, f"Flow {flow} cancelled; it is {changed['state']}")


@flows.command(name="retry")
@changes_server()
def retry_flow(
    api: Api,
    flow: FlowId,
    from_run: Annotated[
        str | None,
        typer.Option(
            "--from-run", metavar="ID", help="Re-run this run and all that come after it, however they ended."
        ),
    ] = None,
    args: Annotated[
        str | None, typer.Option(metavar="JSON", help="Other arguments of the run of --from-run, as a JSON object.")
    ] = None,
) -> None:
    """Re-run a finished flow's failed and cancelled runs, and the runs they blocked."""
    if args is not None and from_run is None:
        raise ConfigurationError("--args: are those of one run of the flow; name it by --from-run")
    asked = {"fromRun": from_run, "args": arguments_of(args)}
    given = {name: value for name, value in asked.items() if value is not None}
    api.result({"flow": api.change(RETRY_FLOW, id=flow, **given)["flow"]}, f"Flow {flow} is retried")


@changes_server()
def signal(
    api: Api,
    name: Annotated[str, typer.Argument(help="What the run waits for, e.g. approved.")],
    run: Annotated[int | None, typer.Option(metavar="ID", help="Which run.")] = None,
    unique_key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The unique key of the unfinished run.")
    ] = None,
    payload: Annotated[
        str | None, typer.Option(metavar="JSON", help='What the signal brings along, e.g. \'{"by": "ada"}\'.')
    ] = None,
    reject: Annotated[str | None, typer.Option(metavar="REASON", help="The signal says no, for this reason.")] = None,
) -> None:
    """Send a signal to an unfinished run, on a running server.

    It stays with the run until a wait of this name takes it. The exit status is 0 when it was sent, 1 when the
    server refused, 3 when it cannot be reached.
    """
    if (run is None) == (unique_key is None):
        raise ConfigurationError("--run, --unique-key: name the run by one of the two")
    given = None if payload is None else json_of(payload, "--payload")
    sent = api.client.signal_run(
        name, given, id=run, unique_key=unique_key, reject=reject, dry_run=api.is_dry, idempotency_key=api.key
    )
    api.result({"run": {"id": sent.id, "state": sent.state}}, f"Signal '{name}' was sent to run {sent.id}")
