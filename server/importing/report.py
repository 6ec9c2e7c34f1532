"""Says of each line what it meant there and what it means here, with the next times of both."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from ...jobs.core.schedule import parse
from .base.model import NEXT, Carried, Import
from .comparing import SPAN, Comparison, compare, times_here
from .naming import names_of
from .starting import NOTES, start_module

_SHOWN: Final = "%a %Y-%m-%d %H:%M:%S %z"


def report(found: Import, start: datetime) -> str:
    """The whole report, in Markdown.

    Args:
        found: What is reported.
        start: From when on times are compared.
    """
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
    """The same for programs."""
    return {
        "carried": [_summary(one, start) for one in found.carried],
        "leftOut": [{"place": one.place, "text": one.text, "why": one.why} for one in found.left_out],
        "notes": list(found.notes),
        "startModule": start_module(found) or None,
    }


def _at_start(found: Import) -> Iterator[str]:
    if found.at_start:
        yield from ("", "## At the start of a node", "")
        yield from (f"- {one.place}: `{one.text}`" for one in found.at_start)
        yield from (f"- {note}" for note in NOTES)
        yield from ("", "```python", start_module(found).rstrip("\n"), "```")


def _summary(one: Carried, start: datetime) -> dict[str, Any]:
    compared = compare(one, start)
    return {
        "place": one.place,
        "text": one.text,
        "tasks": names_of(one.name, len(one.schedules)),
        "notes": list(one.notes),
        "equal": None if compared is None else not compared.different,
        "theirs": [] if compared is None else [at.isoformat() for at in compared.theirs],
        "here": [at.isoformat() for at in _next_here(one, start)],
    }


def _next_here(one: Carried, start: datetime) -> list[datetime]:
    return [at for at, _ in zip(times_here(one.schedules, start, start + SPAN), range(NEXT), strict=False)]


def _carried(one: Carried, start: datetime) -> Iterator[str]:
    yield f"## {one.name} ({one.place})"
    yield ""
    yield f"- there: `{one.text}`"
    for name, spec in zip(names_of(one.name, len(one.schedules)), one.schedules, strict=True):
        described = parse(spec.syntax, spec.value, spec.timezone, anchor=start).describe()
        zone = "" if spec.timezone == "UTC" else f" {spec.timezone}"
        yield f"- here: task `{name}` of job `{one.job}`, {spec.syntax.value} `{spec.value}`{zone}: {described}"
    yield from (f"- {note}" for note in one.notes)
    compared = compare(one, start)
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


def _verdict(compared: Comparison, zone: ZoneInfo) -> str:
    until = compared.until.astimezone(zone).date()
    if not compared.different:
        around = "" if compared.whole else ", and around each change of the clock up to two years"
        return f"all times up to {until} are equal{around if zone.key != 'UTC' else ''}"
    days = sorted({at.astimezone(zone).date() for at in compared.different})
    listed = ", ".join(map(str, days[:4])) + (f" and {len(days) - 4} more days" if len(days) > 4 else "")
    if compared.by_clock:
        return (
            f"times differ only where the clock is changed, on {listed}: here a time that does not exist is the first "
            "instant after the gap, and one that exists twice is the first of both (every hour: as often as it is)"
        )
    return f"**times differ**, on {listed}"
