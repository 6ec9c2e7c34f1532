"""What began with the machine there, as a module of a job that enqueues it whenever a node starts."""

from pprint import pformat
from textwrap import indent
from typing import Final

from .base.model import Import

NOTES: Final = (
    "Put this module on the nodes (`--jobs start_of_node`) and set CRONOGRAPH_DATABASE_URL, by which it enqueues.",
    "Each start of a node enqueues these lines, also after an update. There they run once a boot of the machine.",
    "A line whose run is unfinished is not enqueued again. Any node with the setting `shell = true` may run it.",
)
_TEMPLATE: Final = (
    '"""Made by `cronograph import {program}`: what began with the machine there begins with a node here."""',
    "",
    "from collections.abc import AsyncIterator",
    "from datetime import UTC, datetime, timedelta",
    "",
    "from cronograph.jobs import JobContext, RunSpec, job, resource",
    "",
    "COMMANDS = [",
    "{commands}",
    "]",
    "",
    "",
    "@job(unique_key=())",
    "async def start_of_node(ctx: JobContext) -> int:",
    '    """Enqueues a run of the job shell for each line, unless its last one is unfinished."""',
    "    runs: list[RunSpec] = []",
    "    for place, delay, arguments in COMMANDS:",
    "        at = datetime.now(UTC) + timedelta(seconds=delay)",
    '        runs.append(RunSpec("shell", arguments, run_at=at, unique_key=f"start {{place}}", retries=0))',
    "    return len(await ctx.enqueue_many(runs))",
    "",
    "",
    "@resource",
    "async def start() -> AsyncIterator[None]:",
    '    """What a node opens before it takes runs."""',
    "    await start_of_node.enqueue()",
    "    yield",
)
"""The lines of the module."""


def start_module(found: Import) -> str:
    """The module; ``""`` where nothing begins with the machine."""
    if not found.at_start:
        return ""
    commands = ((one.place.rpartition("/")[2], one.delay, dict(one.args)) for one in found.at_start)
    shown = "\n".join(indent(f"{pformat(one, width=110, sort_dicts=False)},", "    ") for one in commands)
    return "\n".join((*_TEMPLATE, "")).format(program=found.program, commands=shown)
