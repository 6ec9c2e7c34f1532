"""``cronograph logs``: what jobs have logged."""

from typing import Annotated

import typer

from ....graphql.client.command_line import ONE_RUN
from ..base.output import Refused
from .api import Api, at_server
from .lists import stream_line


@at_server
def logs(
    api: Api,
    run: Annotated[str, typer.Argument(help="The run's id; with --execution, that of an execution.")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the execution has ended.")] = False,
    execution: Annotated[bool, typer.Option("--execution", help="The id is that of an execution.")] = False,
) -> None:
    """Show the log lines of a run's newest execution; JSON lines with --json."""
    key = run
    if not execution:
        found = api.ask(ONE_RUN, id=run)["run"]
        if found is None:
            raise Refused(f"run {run} does not exist; was it pruned?")
        if not found["executions"]["nodes"]:
            raise Refused(f"run {run} has not begun yet: {found['explain']['sentence']}")
        key = found["executions"]["nodes"][-1]["id"]
    elif api.client.execution(int(key)) is None:
        raise Refused(f"execution {key} does not exist; was it pruned?")
    for part in api.client.execution_log(int(key)):
        for line in part.lines:
            at = line.at.isoformat().replace("+00:00", "Z")
            data = {"line": line.line, "at": at, "level": line.level, "message": line.message, "fields": line.fields}
            stream_line(api, data, f"{at} {str(line.level).lower():<8} {line.message}")
        if part.ended or not follow:
            return
