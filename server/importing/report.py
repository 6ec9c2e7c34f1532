"""Compares the old meaning of each schedule with the new one, with the next times of both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any, Final
from zoneinfo import ZoneInfo

from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import parse
from .model import Carried, Import
from .probe import clock_changes
from .writing import START_NOTES, start_module

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
