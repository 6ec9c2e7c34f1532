"""``cronograph jobs``: what nodes can run, and the rates that operators set."""

from typing import Annotated

import typer

from ....graphql.client.command_line import UPDATE_JOB
from ..base.application import CommandLine
from .api import Api, at_server
from .listings import JOB_LIST
from .lists import add_list
from .names import job_names
from .values import rate_of

jobs = CommandLine(help="Look at jobs and limit them, on a running server.", no_args_is_help=True)
add_list(jobs, JOB_LIST, "List jobs with their rates.")


@jobs.command()
@at_server
def rate(
    api: Api,
    name: Annotated[str, typer.Argument(help="Name of the job.", autocompletion=job_names)],
    rate: Annotated[
        str, typer.Argument(help="Starts in a time on all nodes, e.g. `100/1m`; `code` = that of its code.")
    ],
    burst: Annotated[
        int | None,
        typer.Option(help="How many start at once after a pause; a twentieth of the rate unless given, at least 1."),
    ] = None,
) -> None:
    """Limit how many runs of a job start in how long, for each of its keys if its code says so."""
    wanted = None if rate == "code" else {**rate_of(rate), "burst": burst}
    changed = api.change(UPDATE_JOB, name=name, rate=wanted)["job"]
    outcome = "its rate is that of its code" if wanted is None else f"at most {rate} runs start"
    api.result({"job": changed}, f"Job {name}: {outcome}")
