"""``cronograph flows``: runs that were enqueued together."""

from typing import Annotated, Final

import typer

from ....graphql.client.command_line import CANCEL_FLOW, ONE_FLOW, RETRY_FLOW
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, at_server
from .listings import FLOW_LIST
from .lists import add_list, details

flows = CommandLine(help="Look at flows, cancel and retry them, on a running server.", no_args_is_help=True)
Key = Annotated[str, typer.Argument(help="The flow's id.")]
MOST_SHOWN: Final = 200
add_list(flows, FLOW_LIST, "List flows, e.g. --filter state=running --sort -id.")


@flows.command(name="show")
@at_server
def show_(api: Api, flow: Key) -> None:
    """Show a flow and its runs, at most 200 of them: which start after which, and how far they are."""
    found = api.ask(ONE_FLOW, id=flow, first=MOST_SHOWN)["flow"]
    if found is None:
        raise Refused(f"flow {flow} does not exist; was it pruned?")
    runs = [run for run in found["runs"]["nodes"] if run["flowPlace"] is not None]
    keys = {run["id"]: run["flowPlace"]["key"] for run in runs}
    lines = [_line(run, keys) for run in runs]
    shown = {name: value for name, value in found.items() if name != "runs"}
    api.result({"flow": {**shown, "runs": runs}}, "\n".join([details(shown), *lines]))


def _line(run: dict[str, object], keys: dict[str, str]) -> str:
    """A run in a line: its key, its state, what it comes after, and what is wrong."""
    place: dict[str, list[str]] = run["flowPlace"]  # type: ignore[assignment]  # the answer of our own document
    after = ", ".join(keys.get(one, one) for one in place["after"])
    error = f": {run['error']}" if run["error"] else ""
    return f"  {place['key']}: {run['state']} (run {run['id']}{f', after {after}' if after else ''}){error}"


@flows.command()
@at_server
def cancel(
    api: Api, flow: Key, reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None
) -> None:
    """Cancel all unfinished runs of a flow."""
    given = {} if reason is None else {"reason": reason}
    changed = api.change(CANCEL_FLOW, id=flow, **given)["flow"]
    api.result({"flow": changed}, f"Flow {flow} cancelled; it is {changed['state']}")


@flows.command()
@at_server
def retry(api: Api, flow: Key) -> None:
    """Make again what failed or was cancelled of a flow that is over, and what that kept from starting."""
    api.result({"flow": api.change(RETRY_FLOW, id=flow)["flow"]}, f"Flow {flow} is retried")
