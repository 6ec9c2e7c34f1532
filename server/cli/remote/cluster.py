"""``cronograph groups``, ``jobs``, ``nodes`` and ``stats``: where runs wait and execute."""

import sys
import time
from typing import Annotated, Final

import typer

from ....graphql.client.command_line import (
    DRAIN_NODE,
    NODES,
    PAUSE_GROUP,
    RESUME_GROUP,
    RESUME_NODE,
    STATS,
    UPDATE_GROUP,
    UPDATE_JOB,
)
from ....jobs.core.admission.caps import WhenFull
from ....jobs.core.alarms import seconds_text
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import counted
from ....jobs.core.schedule import parse_duration
from ...process.ending import ExitCode
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, ResumeAt, at_server, changes_server
from .lists import GROUP_LIST, JOB_LIST, NODE_LIST, Watch, add_list, details, repeat
from .names import group_names, job_names, node_names
from .values import rate_of, seconds_of

LOOK_AGAIN: Final = 1.0
"""Seconds between two looks at a node that is waited for."""

groups = CommandLine(help="Look at groups, pause and limit them, on a running server.", no_args_is_help=True)
GroupName = Annotated[str, typer.Argument(help="Name of the group.", autocompletion=group_names)]
add_list(groups, GROUP_LIST, "List groups with their depth.")


@groups.command(name="pause")
@changes_server()
def pause_group(
    api: Api,
    name: GroupName,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
    resume_at: ResumeAt = None,
) -> None:
    """Pause a group: none of its runs starts any more."""
    paused = api.change(PAUSE_GROUP, name=name, reason=reason, resumeAt=api.instant("--resume-at", resume_at))["group"]
    api.result({"group": paused}, f"Group {name} paused")


@groups.command(name="resume")
@changes_server()
def resume_group(api: Api, name: GroupName) -> None:
    """Resume a paused group."""
    api.result({"group": api.change(RESUME_GROUP, name=name)["group"]}, f"Group {name} resumed")


@groups.command(name="limit")
@changes_server()
def limit_group(
    api: Api,
    name: GroupName,
    most: Annotated[str, typer.Argument(help="Runs at once on all nodes; `none` = no limit.")],
) -> None:
    """Limit how many runs of a group run at once on all nodes together."""
    if most != "none" and not _is_number(most):
        raise ConfigurationError(f"the limit must be a whole number or `none`, got {most[:80]!r}")
    changed = api.change(UPDATE_GROUP, name=name, maxRunning=None if most == "none" else int(most))["group"]
    sentence = "any number of runs at once" if most == "none" else f"at most {counted(int(most), 'run')} at once"
    api.result({"group": changed}, f"Group {name}: {sentence}")


@groups.command(name="ageing")
@changes_server()
def age_group(
    api: Api, name: GroupName, wait: Annotated[str, typer.Argument(help="A time, e.g. `10m`; `none` = no bound.")]
) -> None:
    """Let runs of low priority go first once they have waited so long."""
    seconds = _seconds_or_none(wait, "`90s` or `10m`")
    changed = api.change(UPDATE_GROUP, name=name, maxWaitLow=seconds)["group"]
    waits = "as the counting scheme has it" if seconds is None else f"{seconds_text(seconds)} at most"
    api.result({"group": changed}, f"Group {name}: low priority waits {waits}")


def _seconds_or_none(text: str, examples: str) -> float | None:
    """Return a time, or None for the word ``none``."""
    try:
        return None if text == "none" else parse_duration(text)
    except ValueError as error:
        raise ConfigurationError(f"the time must be written e.g. {examples}, or `none`, got {text[:80]!r}") from error


def _is_number(text: str) -> bool:
    # Python refuses to read thousands of digits.
    return text.isdecimal() and len(text) < 20


@groups.command(name="keep")
@changes_server()
def keep_history(
    api: Api,
    name: GroupName,
    time: Annotated[str, typer.Argument(help="A time, e.g. `7d` or `12h`; `none` = as the jobs say.")],
) -> None:
    """Keep the history of a group's finished runs for so long."""
    seconds = _seconds_or_none(time, "`7d` or `12h`")
    changed = api.change(UPDATE_GROUP, name=name, keep=seconds)["group"]
    outcome = "kept as the jobs say" if seconds is None else f"kept for {seconds_text(seconds)}"
    api.result({"group": changed}, f"Group {name}: history is {outcome}")


@groups.command(name="cap")
@changes_server()
def cap_group(
    api: Api,
    name: GroupName,
    most: Annotated[str, typer.Argument(help="Runs that wait and have never begun; `none` = any number.")],
    when_full: Annotated[
        str, typer.Option(help="What becomes of one more: `refuse`, `drop_oldest` or `drop_newest`.")
    ] = WhenFull.REFUSE.value,
) -> None:
    """Limit how many runs of a group wait."""
    if most != "none" and not _is_number(most):
        raise ConfigurationError(f"the cap must be a whole number or `none`, got {most[:80]!r}")
    policy = when_full.replace("-", "_").lower()
    if policy not in list(WhenFull):
        raise ConfigurationError(
            f"--when-full must be one of {', '.join(one.value for one in WhenFull)}, got {when_full[:80]!r}"
        )
    wanted = None if most == "none" else {"limit": int(most), "whenFull": policy.upper()}
    changed = api.change(UPDATE_GROUP, name=name, cap=wanted)["group"]
    at_most = f"at most {counted(int(most), 'waiting run')}, then {policy}" if most != "none" else None
    sentence = at_most or "any number of runs may wait"
    api.result({"group": changed}, f"Group {name}: {sentence}")


@groups.command(name="rate")
@changes_server()
def rate_group(
    api: Api,
    name: GroupName,
    rate: Annotated[str, typer.Argument(help="Starts in a time on all nodes, e.g. `100/1m`; `none` = any number.")],
    burst: Annotated[
        int | None,
        typer.Option(help="How many start at once after a pause; a twentieth of the rate unless given, at least 1."),
    ] = None,
) -> None:
    """Limit how many runs of a group start in how long, on all nodes together."""
    wanted = None if rate == "none" else {**rate_of(rate), "burst": burst}
    changed = api.change(UPDATE_GROUP, name=name, rate=wanted)["group"]
    sentence = "any number of runs may start" if wanted is None else f"at most {rate} runs start"
    api.result({"group": changed}, f"Group {name}: {sentence}")


jobs = CommandLine(help="Look at jobs and limit them, on a running server.", no_args_is_help=True)
add_list(jobs, JOB_LIST, "List jobs with their rates.")


@jobs.command(name="rate")
@changes_server()
def rate_job(
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


nodes = CommandLine(help="Look at nodes, drain and resume them, on a running server.", no_args_is_help=True)
NodeName = Annotated[str, typer.Argument(help="Name of the node.", autocompletion=node_names)]
add_list(nodes, NODE_LIST, "List nodes.")


@nodes.command(name="drain")
@changes_server()
def drain_node(api: Api, name: NodeName) -> None:
    """Let a node take nothing new, finish its runs, and end with status 0."""
    api.result({"node": api.change(DRAIN_NODE, name=name)["node"]}, f"Node {name} drains")


@nodes.command(name="resume")
@changes_server()
def resume_node(api: Api, name: NodeName) -> None:
    """Take a drain back, as long as the node has not ended."""
    api.result({"node": api.change(RESUME_NODE, name=name)["node"]}, f"Node {name} takes runs again")


@nodes.command(name="wait-idle")
@at_server
def wait_idle(
    api: Api,
    name: NodeName,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="Give up after so long, e.g. 90s or 5m.")
    ] = None,
) -> None:
    """Wait until a node executes nothing; after `nodes drain` it stays so. Status 1: it still does, or is unknown."""
    seconds = seconds_of("--timeout", timeout)
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        found = api.ask(NODES, filter={"name": {"eq": name}}, first=1)["nodes"]["nodes"]
        if not found:
            raise Refused(f"there is no node '{name}'; `cronograph nodes list` has them")
        node = found[0]
        is_idle, is_over = not node["running"], until is not None and time.monotonic() >= until
        if is_idle or is_over:
            break
        time.sleep(LOOK_AGAIN)
    words = "executes nothing" if is_idle else f"still executes {counted(node['running'], 'run')}"
    api.output.result({"ok": is_idle, "node": node}, f"Node {name} {words}")
    if not is_idle:
        raise typer.Exit(ExitCode.REFUSED)


@at_server
def stats(api: Api, watch: Watch = None) -> None:
    """Show how many runs execute and wait now, and the last 24 hours."""

    def once() -> None:
        found = api.ask(STATS)["overview"]
        api.result({"overview": found}, details(found))

    repeat(once, watch, clear=not api.output.as_json and sys.stdout.isatty())
