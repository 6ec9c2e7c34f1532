"""Write imported schedules as a task file or jobs, and compare old and new meanings with the next times of both."""

import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from pprint import pformat
from textwrap import indent
from typing import Any, Final
from zoneinfo import ZoneInfo

from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import Syntax, parse
from ..task_files.writing import escaped, written
from .model import Call, Carried, Import
from .probe import clock_changes

_KEYS: Final = {Syntax.CRON: "cron", Syntax.CALENDAR: "calendar", Syntax.INTERVAL: "interval", Syntax.TIMESTAMP: "at"}
_SHORT: Final = {Syntax.CRON: "cron", Syntax.CALENDAR: "calendar", Syntax.INTERVAL: "every", Syntax.TIMESTAMP: "once"}
_OF_TASKS: Final = frozenset({"jitter", "start_at", "end_at", "description", "enabled"})
"""Fields of tasks that a job does not declare."""
START_NOTES: Final = (
    "Put this module on the nodes (`--jobs start_of_node`) and set CRONOGRAPH_DATABASE_URL, by which it enqueues.",
    "Each start of a node enqueues these lines, also after an update. There they run once a boot of the machine.",
    "A line whose run is unfinished is not enqueued again. Any node with the setting `shell = true` may run it.",
)
_START: Final = """\
\"\"\"Made by `cronograph import {program}`: commands that began with the machine there begin with a node here.\"\"\"

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from cronograph.jobs import JobContext, RunSpec, job, resource

COMMANDS = [
{commands}
]


@job(unique_key=())
async def start_of_node(ctx: JobContext) -> int:
    \"\"\"Enqueue a run of the job shell for each line, unless its last one is unfinished.\"\"\"
    runs: list[RunSpec] = []
    for place, delay, arguments in COMMANDS:
        at = datetime.now(UTC) + timedelta(seconds=delay)
        runs.append(RunSpec("shell", arguments, run_at=at, unique_key=f"start {{place}}", retries=0))
    return len(await ctx.enqueue_many(runs))


@resource
async def start() -> AsyncIterator[None]:
    \"\"\"Run when a node starts, before it takes runs.\"\"\"
    await start_of_node.enqueue()
    yield
"""


def tasks_file(found: Import, set_name: str) -> str:
    """Return the file that ``cronograph apply`` reads."""
    tasks: dict[str, Any] = {}
    for one in found.carried:
        for name, spec in one.tasks:
            tasks[name] = {"job": one.job, "schedule": _schedule(spec)}
            if one.args:
                tasks[name]["args"] = escaped(one.args)
            tasks[name] |= {key: escaped(_plain(value)) for key, value in one.settings.items()}
    head = f"# Made by `cronograph import {found.program}`; its report says what each line meant there.\n"
    return head + written([{"set": set_name, "tasks": tasks}])


def _schedule(spec: ScheduleSpec) -> dict[str, str]:
    zone = {} if spec.timezone == "UTC" else {"timezone": spec.timezone}
    return {_KEYS[spec.syntax]: escaped(spec.value), **zone}


def _plain(value: Any) -> Any:  # noqa: ANN401 - a setting
    return value.isoformat() if isinstance(value, datetime) else value


def jobs_module(found: Import) -> str:
    """Return a module with a job for each schedule, which calls the function as the other program did."""
    calls = [(one, one.call) for one in found.carried if one.call is not None]
    modules = sorted({call.module for _, call in calls} - {""})
    shorts = sorted({_SHORT[spec.syntax] for one, _ in calls for spec in one.schedules})
    lines = [
        f'"""Made by `cronograph import {found.program}`; its report says what each line meant there."""',
        "",
        *(f"import {module}" for module in modules),
        *([""] if modules else []),
        f"from cronograph.jobs import {', '.join([*shorts, 'job'])}",
        "",
    ]
    taken: set[str] = set()
    for one, call in calls:
        for name, spec in one.tasks:
            lines += ["", *_job(name, _function_name(name, taken), one, spec, call), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _job(name: str, function: str, one: Carried, spec: ScheduleSpec, call: Call) -> Iterable[str]:
    zone = "" if spec.timezone == "UTC" else f", timezone={spec.timezone!r}"
    options = "".join(f", {key}={value!r}" for key, value in one.settings.items() if key not in _OF_TASKS)
    yield f"@job({name!r}, schedule={_SHORT[spec.syntax]}({spec.value!r}{zone}){options})"
    yield f"{'async ' if call.is_coroutine else ''}def {function}() -> None:"
    yield f'    """{one.text[:90].replace(chr(92), "/").replace(chr(34), chr(39))}"""'
    for key in sorted(_OF_TASKS & {*one.settings}):
        yield f"    # {key}={_plain(one.settings[key])!r}: set it at the task."
    named = {key: value for key, value in call.kwargs.items() if key.isidentifier() and not keyword.iskeyword(key)}
    others = {key: value for key, value in call.kwargs.items() if key not in named}
    values = [*map(repr, call.args), *(f"{key}={value!r}" for key, value in named.items())]
    values += [f"**{others!r}"] if others else []
    awaited, method = "await " if call.is_coroutine else "", f".{call.method}" if call.method else ""
    yield f"    {awaited}{call.function}{method}({', '.join(values)})"


def _function_name(name: str, taken: set[str]) -> str:
    """Return a name that Python takes, and that no other function has."""
    plain = re.sub(r"\W", "_", name)
    plain = f"job_{plain}" if keyword.iskeyword(plain) or not plain.isidentifier() or plain == "job" else plain
    while plain in taken | {"cron", "every", "calendar", "once"}:
        plain += "_"
    taken.add(plain)
    return plain


def start_module(found: Import) -> str:
    """Return a module with a job that enqueues commands of the machine's start whenever a node starts, or ``""``."""
    if not found.at_start:
        return ""
    commands = ((one.place.rpartition("/")[2], one.delay, dict(one.args)) for one in found.at_start)
    shown = "\n".join(indent(f"{pformat(one, width=110, sort_dicts=False)},", "    ") for one in commands)
    return _START.format(program=found.program, commands=shown)


NEXT: Final = 10
"""Number of times that a report shows."""
SPAN: Final = timedelta(days=731)
"""Time ahead that is compared."""
_SHOWN: Final = "%a %Y-%m-%d %H:%M:%S %z"


def report(found: Import, start: datetime) -> str:
    """Return the whole report in Markdown, with the times from ``start`` on."""
    whole = len(found.carried) + len(found.left_out) + len(found.at_start)
    lines = [f"# {len(found.carried)} of {whole} schedules of {found.program} carried", ""]
    lines += [f"- {note}" for note in found.notes]
    for one in found.carried:
        lines += ["", *_carried(one, start)]
    lines += _at_start(found)
    if found.left_out:
        lines += ["", "## Not carried", ""]
        lines += [f"- {one.place}: `{one.text}`: {one.why}" for one in found.left_out]
    return "\n".join(lines) + "\n"


def summary(found: Import, start: datetime) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "carried": [_summary(one, start) for one in found.carried],
        "leftOut": [{"place": one.place, "text": one.text, "why": one.why} for one in found.left_out],
        "notes": list(found.notes),
        "startModule": start_module(found) or None,
    }


def _summary(one: Carried, start: datetime) -> dict[str, Any]:
    compared = compare(one)
    return {
        "place": one.place,
        "text": one.text,
        "tasks": [name for name, _ in one.tasks],
        "notes": list(one.notes),
        "equal": None if compared is None else not compared.different,
        "theirs": [] if compared is None else [at.isoformat() for at in compared.theirs],
        "here": [at.isoformat() for at in _next_here(one, start)],
    }


def _at_start(found: Import) -> Iterator[str]:
    if found.at_start:
        yield from ("", "## At the start of a node", "")
        yield from (f"- {one.place}: `{one.text}`" for one in found.at_start)
        yield from (f"- {note}" for note in START_NOTES)
        yield from ("", "```python", start_module(found).rstrip("\n"), "```")


def _carried(one: Carried, start: datetime) -> Iterator[str]:
    yield f"## {one.name} ({one.place})"
    yield ""
    yield f"- there: `{one.text}`"
    for name, spec in one.tasks:
        described = parse(spec.syntax, spec.value, spec.timezone, anchor=start).describe()
        zone = "" if spec.timezone == "UTC" else f" {spec.timezone}"
        yield f"- here: task `{name}` of job `{one.job}`, {spec.syntax.value} `{spec.value}`{zone}: {described}"
    yield from (f"- {note}" for note in one.notes)
    compared = compare(one)
    zone_here = ZoneInfo(one.schedules[0].timezone)
    if compared is None:
        yield f"- times are not compared: {one.uncompared}"
        yield from (f"  - {at.astimezone(zone_here).strftime(_SHOWN)}" for at in _next_here(one, start))
        return
    yield f"- {_verdict(compared, zone_here)}"
    yield ""
    yield "| | there | here |"
    yield "|---|---|---|"
    for number in range(max(len(compared.theirs), len(compared.here))):
        both = [several[number : number + 1] for several in (compared.theirs, compared.here)]
        cells = [found[0].astimezone(zone_here).strftime(_SHOWN) if found else "–" for found in both]
        yield f"| {number + 1} | {cells[0]} | {cells[1]} |"


# Comparison ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """The times there and here.

    Attributes:
        theirs: The next times there.
        here: The next times here.
        until: Every time up to this one was compared.
        around: Whether times around changes of the clock were compared beyond it.
        different: The times that only one of both has, in order.
        by_clock: Whether all of these lie at changes of the clock.
    """

    theirs: Sequence[datetime]
    here: Sequence[datetime]
    until: datetime
    around: bool
    different: Sequence[datetime]
    by_clock: bool


def compare(carried: Carried) -> Comparison | None:
    """Compare the times there with the ones here; return None if the times there are not known."""
    if carried.windows is None:
        return None
    different: set[datetime] = set()
    for since, until, times in carried.windows:
        low, high = datetime.fromtimestamp(since, UTC), datetime.fromtimestamp(until, UTC)
        # The times there are without parts of a second.
        here = {at.replace(microsecond=0) for at in times_here(carried, low, high + timedelta(microseconds=999_999))}
        different |= {datetime.fromtimestamp(at, UTC) for at in times} ^ here
    first, until, times = carried.windows[0]
    zone = ZoneInfo(carried.schedules[0].timezone)
    start, end = datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(until, UTC)
    last = int(max([*different, end]).timestamp())
    near = {
        datetime.fromtimestamp(at, zone).date() + timedelta(days=offset)
        for at in (clock_changes(zone, first, last + 86_400) if different else ())
        for offset in (-1, 0, 1)
    }
    return Comparison(
        theirs=[datetime.fromtimestamp(at, UTC) for at in times[:NEXT]],
        here=list(islice(times_here(carried, start, start + SPAN), NEXT)),
        until=end,
        around=len(carried.windows) > 1,
        different=sorted(different),
        by_clock=all(one.astimezone(zone).date() in near for one in different),
    )


def times_here(carried: Carried, after: datetime, until: datetime) -> Iterator[datetime]:
    """Yield when the tasks are due; twice if two are due at once."""
    begin, end = carried.settings.get("start_at"), carried.settings.get("end_at")
    for at in merge(*(_times_of(spec, begin or after, after, until) for spec in carried.schedules)):
        if (begin is None or at >= begin) and (end is None or at <= end):
            yield at


def _times_of(spec: ScheduleSpec, anchor: datetime, after: datetime, until: datetime) -> Iterator[datetime]:
    schedule = parse(spec.syntax, spec.value, spec.timezone, anchor=anchor)
    found = schedule.next_after(after)
    while found is not None and found <= until:
        yield found
        found = schedule.next_after(found)


def _next_here(one: Carried, start: datetime) -> list[datetime]:
    return list(islice(times_here(one, start, start + SPAN), NEXT))


def _verdict(compared: Comparison, zone: ZoneInfo) -> str:
    until = compared.until.astimezone(zone).date()
    if not compared.different:
        around = ", and around each change of the clock up to two years" if compared.around else ""
        return f"all times up to {until} are equal{around if zone.key != 'UTC' else ''}"
    days = sorted({at.astimezone(zone).date() for at in compared.different})
    listed = ", ".join(map(str, days[:4])) + (f" and {len(days) - 4} more days" if len(days) > 4 else "")
    if compared.by_clock:
        return (
            f"times differ only where the clock is changed, on {listed}: here a time that does not exist is the first "
            "instant after the gap, and one that exists twice is the first of both (every hour: as often as it is)"
        )
    return f"**times differ**, on {listed}"
