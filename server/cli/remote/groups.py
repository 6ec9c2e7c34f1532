"""``cronograph groups``: the groups of the queue."""

from typing import Annotated

import typer

from ....graphql.client.command_line import PAUSE_GROUP, RESUME_GROUP, UPDATE_GROUP
from ....jobs.core.admission.caps import WhenFull
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.schedule import parse_duration
from ..base.application import CommandLine
from .api import Api, at_server
from .listings import GROUP_LIST
from .lists import add_list
from .names import group_names
from .values import rate_of

groups = CommandLine(help="Look at groups, pause and limit them, on a running server.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of the group.", autocompletion=group_names)]
add_list(groups, GROUP_LIST, "List groups with their depth.")


@groups.command()
@at_server
def pause(
    api: Api, name: Name, reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None
) -> None:
    """Pause a group: none of its runs starts any more."""
    api.result({"group": api.change(PAUSE_GROUP, name=name, reason=reason)["group"]}, f"Group {name} paused")


@groups.command()
@at_server
def resume(api: Api, name: Name) -> None:
    """Resume a paused group."""
    api.result({"group": api.change(RESUME_GROUP, name=name)["group"]}, f"Group {name} resumed")


@groups.command(name="limit")
@at_server
def limit_(
    api: Api, name: Name, most: Annotated[str, typer.Argument(help="Runs at once on all nodes; `none` = no limit.")]
) -> None:
    """Limit how many runs of a group run at once on all nodes together."""
    if most != "none" and not most.isdecimal():
        raise ConfigurationError(f"the limit must be a whole number or `none`, got {most[:80]!r}")
    changed = api.change(UPDATE_GROUP, name=name, maxRunning=None if most == "none" else int(most))["group"]
    api.result({"group": changed}, f"Group {name}: at most {most} runs at once")


@groups.command()
@at_server
def ageing(
    api: Api, name: Name, wait: Annotated[str, typer.Argument(help="A time, e.g. `10m`; `none` = no bound.")]
) -> None:
    """Let runs of low priority go first once they have waited so long."""
    seconds = _seconds(wait, "`90s` or `10m`")
    changed = api.change(UPDATE_GROUP, name=name, maxWaitLow=seconds)["group"]
    sentence = (
        "low priority waits as the counting scheme has it" if seconds is None else f"low priority waits {wait} at most"
    )
    api.result({"group": changed}, f"Group {name}: {sentence}")


def _seconds(text: str, examples: str) -> float | None:
    """A time, or None for the word ``none``."""
    try:
        return None if text == "none" else parse_duration(text)
    except ValueError as error:
        raise ConfigurationError(f"the time must be written e.g. {examples}, or `none`, got {text[:80]!r}") from error


@groups.command()
@at_server
def keep(
    api: Api,
    name: Name,
    time: Annotated[str, typer.Argument(help="A time, e.g. `7d` or `12h`; `none` = as the jobs say.")],
) -> None:
    """Keep the history of a group's finished runs for so long."""
    changed = api.change(UPDATE_GROUP, name=name, keep=_seconds(time, "`7d` or `12h`"))["group"]
    outcome = "kept as the jobs say" if time == "none" else f"kept for {time}"
    api.result({"group": changed}, f"Group {name}: history is {outcome}")


@groups.command()
@at_server
def cap(
    api: Api,
    name: Name,
    most: Annotated[str, typer.Argument(help="Runs that wait and have never begun; `none` = any number.")],
    when_full: Annotated[
        str, typer.Option(help="What becomes of one more: `refuse`, `drop_oldest` or `drop_newest`.")
    ] = WhenFull.REFUSE.value,
) -> None:
    """Limit how many runs of a group wait."""
    if most != "none" and not most.isdecimal():
        raise ConfigurationError(f"the cap must be a whole number or `none`, got {most[:80]!r}")
    policy = when_full.replace("-", "_").lower()
    if policy not in list(WhenFull):
        raise ConfigurationError(
            f"--when-full must be one of {', '.join(one.value for one in WhenFull)}, got {when_full[:80]!r}"
        )
    wanted = None if most == "none" else {"limit": int(most), "whenFull": policy.upper()}
    changed = api.change(UPDATE_GROUP, name=name, cap=wanted)["group"]
    sentence = "any number of runs may wait" if wanted is None else f"at most {most} runs wait, then {policy}"
    api.result({"group": changed}, f"Group {name}: {sentence}")


@groups.command()
@at_server
def rate(
    api: Api,
    name: Name,
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
