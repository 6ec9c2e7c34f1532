"""Flows: runs that start after others of the same flow, with the results of those if they want them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import Enum, StrEnum, auto
from typing import Any, Final, NamedTuple, cast

from .admission.labels import label_faults
from .base.errors import InvalidInput, UserError, python_names, refuse
from .base.times import time_text
from .limits import MAX_CONCURRENT
from .model import Json, NewRun
from .rules import MAX_UNIQUE_KEY, name_faults, number_faults, seconds_faults, text_faults
from .run_spec import RunSpec
from .states import RunState

AWAITS_OTHERS = {"kind": "flow"}
"""Stored as the awaited thing of a run of a flow that is not released yet; the flow knows the awaited runs."""


class FlowState(StrEnum):
    """The state of a flow.

    ``RUNNING``: a run of it is unfinished, or it is open for more. ``SUCCESS``: all runs are over; none failed or was
    cancelled. ``FAILED``: at least one failed for good. ``CANCELLED``: none failed, and at least one was cancelled.
    """

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"


class When(StrEnum):
    """The condition under which a run of a flow starts, once all its predecessors have ended.

    ``SUCCESS``: all of them succeeded. ``FAILURE``: at least one of them failed for good. ``ALWAYS``: in any case.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    ALWAYS = "always"


class Ending(StrEnum):
    """At which end of a flow a further run is enqueued: any, a success, or a failure or cancellation."""

    END = "on_end"
    SUCCESS = "on_success"
    FAILURE = "on_failure"


@dataclass(frozen=True, slots=True)
class NewMember:
    """A run about to be put into a flow: its key, the keys that it comes after, and under which condition it starts."""

    key: str
    run: NewRun
    after: tuple[str, ...] = ()
    when: When = When.SUCCESS


class StartedBy(NamedTuple):
    """The run whose job enqueued a flow, and the task of that run, if it has one."""

    run_id: int
    task_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewFlow:
    """A flow about to be enqueued.

    Attributes:
        name: Its purpose; several flows may have one name.
        members: Its runs, in any order.
        is_open: Whether runs can be added while it is unfinished; it ends no earlier than it is closed.
        unique_key: No second unfinished flow can have it.
        callbacks: Runs that are enqueued when it ends, by the end.
        parent_id: The run that has begun it as a step and waits for its end.
        labels: Words that its runs inherit, as far as they have none of their own.
        max_concurrent: How many of its runs run at once, on all nodes together; None = any number.
        deadline: Seconds after which those of its runs are cancelled that have not ended; None = never.
        started_by: The run whose job enqueues it; None = no job does.
    """

    name: str
    members: tuple[NewMember, ...]
    is_open: bool = False
    unique_key: str | None = None
    callbacks: Mapping[Ending, NewRun] = field(default_factory=dict[Ending, NewRun])
    parent_id: int | None = None
    labels: dict[str, str] | None = None
    max_concurrent: int | None = None
    deadline: float | None = None
    started_by: StartedBy | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """A stored flow. ``closed_at`` None = it takes further runs. ``callbacks``: as documents, by the end."""

    id: int
    name: str
    state: FlowState
    unique_key: str | None
    submitted_at: datetime
    closed_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    submitter: str | None
    submitter_id: int | None
    callbacks: dict[str, object]
    parent_id: int | None = None
    labels: dict[str, str] | None = None
    started_by_run_id: int | None = None
    started_by_task_id: int | None = None
    deadline_at: datetime | None = None


def end_of(states: Mapping[RunState, int]) -> FlowState:
    """Return how a flow has ended whose runs have ended so: how many of them in each state."""
    if states.get(RunState.FAILED):
        return FlowState.FAILED
    return FlowState.CANCELLED if states.get(RunState.CANCELLED) else FlowState.SUCCESS


class Standing(Enum):
    """Name the next step for a run that waits for others."""

    WAIT = auto()
    START = auto()
    SKIP = auto()


class Before(NamedTuple):
    """Describe the predecessors of a run: whether any is unfinished, failed for good, or ended without success."""

    unfinished: bool
    failed: bool
    unsuccessful: bool


def standing(when: When, before: Before) -> Standing:
    """Return the next step for a run under the condition ``when``. Only one that can never start is decided early."""
    if when is When.SUCCESS and before.unsuccessful:
        return Standing.SKIP
    if before.unfinished:
        return Standing.WAIT
    if when is When.FAILURE and not before.failed:
        return Standing.SKIP
    return Standing.START


SHOWN = 20
"""So many keys of a chain are kept: the first, whose end began it, and the last ones."""


def chained(chain: tuple[str, ...], key: str) -> tuple[str, ...]:
    """Return a chain of runs that kept each other from starting, gone on by one; long ones lose their middle."""
    longer = (*chain, key)
    return longer if len(longer) <= SHOWN else (longer[0], *longer[-(SHOWN - 1) :])


REFERENCE: Final = "$result"
"""The only member of an object that stands for the result of a run; its value is the key of that run in the flow."""


def references(args: object) -> dict[tuple[str, ...], object]:
    """Return the places and keys of references to results in arguments; an object with more members is none."""
    return dict(_found(args))


def unknown_in(args: object) -> frozenset[str]:
    """Return the arguments that take results, in whole or in part: they are known when their run is released."""
    return frozenset(place[0] for place in references(args))


def _found(args: object) -> Iterator[tuple[tuple[str, ...], object]]:
    waiting: list[tuple[tuple[str, ...], object]] = [((), args)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            members = cast("Mapping[str, object]", value)
            # At the top there are the names of parameters, and one may be called like this.
            if place and set(members) == {REFERENCE}:
                yield place, members[REFERENCE]
            else:
                waiting += [((*place, name), one) for name, one in members.items()]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [((*place, str(index)), one) for index, one in enumerate(items)]


def filled(args: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    """Return a copy of arguments with results in the place of their references.

    Args:
        args: As they were submitted.
        values: Key to result of every run that is referred to; None = it has none.
    """
    return {name: _filled(one, values) for name, one in args.items()}


def _filled(value: Json, values: Mapping[str, Any]) -> Json:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Json]", value)
        if set(members) == {REFERENCE} and members[REFERENCE] in values:
            return values[members[REFERENCE]]
        return {name: _filled(one, values) for name, one in members.items()}
    if isinstance(value, list):
        return [_filled(one, values) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def with_results(value: object, results: Mapping[object, Json]) -> Json:
    """Return a value, with references in the place of placeholders for results; itself if it has none.

    Args:
        value: An argument as a program gives it.
        results: The reference for each thing that stands for a result.
    """
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        made = {name: with_results(one, results) for name, one in members.items()}
        return made if any(made[name] is not members[name] for name in made) else cast("Json", value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        listed = [with_results(one, results) for one in items]
        return listed if any(new is not old for new, old in zip(listed, items, strict=True)) else cast("Json", value)
    try:
        return results.get(value, value)
    except TypeError:
        return value


MAX_MEMBERS: Final = 10_000
"""Runs that one request may put into a flow."""
_SHOWN: Final = 8
"""Keys of a circle that are reported."""


def ordered(members: Sequence[NewMember], known: Collection[str] = ()) -> list[NewMember]:
    """Return the members so that each follows those that it comes after, and otherwise in their order.

    Args:
        known: The keys of runs that are in the flow already.

    Raises:
        UserError: all that is wrong with the keys, the references and the shape, each with its path.
    """
    refuse(_faults(members, known))
    places = {one.key: place for place, one in enumerate(members)}
    missing = [len({key for key in one.after if key in places}) for one in members]
    following: list[list[int]] = [[] for _ in members]
    for place, one in enumerate(members):
        for key in dict.fromkeys(one.after):
            if key in places:
                following[places[key]].append(place)
    ready = [place for place, count in enumerate(missing) if count == 0]
    found: list[int] = []
    for place in ready:
        found.append(place)
        for later in following[place]:
            missing[later] -= 1
            if missing[later] == 0:
                ready.append(later)
    if len(found) < len(members):
        raise _circle(members, places, {place for place, count in enumerate(missing) if count})
    return [members[place] for place in found]


def _circle(members: Sequence[NewMember], places: dict[str, int], within: set[int]) -> InvalidInput:
    """Return the error that names one circle among the members that no order could take."""
    place, walked = min(within), dict[int, None]()
    while place not in walked:
        walked[place] = None
        place = next(places[key] for key in members[place].after if places.get(key) in within)
    circle = list(walked)[list(walked).index(place) :]
    keys = [members[one].key for one in reversed(circle)]
    start = keys.index(min(keys))
    keys = [*keys[start:], *keys[:start]]
    shown = keys if len(keys) <= _SHOWN else [*keys[: _SHOWN - 1], f"… {len(keys) - _SHOWN} more …", keys[-1]]
    path = " → ".join(f"'{key}'" if not key.startswith("…") else key for key in (*shown, keys[0]))
    return InvalidInput(
        f"after: these runs wait for each other in a circle, so that none could ever start: {path}; "
        "take one of them out of the 'after' of the next",
        path=("runs", str(places[keys[0]]), "after"),
    )


def _faults(members: Sequence[NewMember], known: Collection[str]) -> Iterator[UserError]:
    if len(members) > MAX_MEMBERS:
        yield InvalidInput(
            f"runs: must be at most {MAX_MEMBERS:,} in one request, got {len(members):,}; "
            "enqueue the flow open, and add the others to it",
            path=("runs",),
        )
        return
    seen: dict[str, int] = {}
    keys = {*known, *(one.key for one in members)}
    before = _before(members)
    for place, one in enumerate(members):
        for fault in (*_key_faults(one, seen, known), *_after_faults(one, keys), *_result_faults(one, before, known)):
            yield fault.with_prefix("runs", str(place))
        seen.setdefault(one.key, place)


def _key_faults(one: NewMember, seen: dict[str, int], known: Collection[str]) -> Iterator[UserError]:
    yield from text_faults(one.key, "key", least=1, most=MAX_UNIQUE_KEY)
    if one.key in seen:
        message = f"key: '{one.key}' is the key of runs.{seen[one.key]} too; give each run of a flow a key of its own"
        yield InvalidInput(message, path=("key",))
    elif one.key in known:
        message = f"key: '{one.key}' is the key of a run of the flow already; give each run of it a key of its own"
        yield InvalidInput(message, path=("key",))


def _after_faults(one: NewMember, keys: Collection[str]) -> Iterator[UserError]:
    for place, key in enumerate(one.after):
        if key not in keys:
            near = get_close_matches(key, list(keys), 1)
            hint = f"did you mean '{near[0]}'?" if near else "name the key of another run of this flow"
            message = f"after: '{one.key}' comes after '{key}', and no run of the flow has that key; {hint}"
            yield InvalidInput(message, path=("after", str(place)))


def _before(members: Sequence[NewMember]) -> dict[str, tuple[str, ...]]:
    return {one.key: one.after for one in members}


def _result_faults(one: NewMember, before: dict[str, tuple[str, ...]], known: Collection[str]) -> Iterator[UserError]:
    if references(one.run.args):
        earlier = _earlier(one, before)
        usable = earlier | set(known) if earlier & set(known) else earlier
        yield from result_faults(one.key, one.run.args, usable, "add its key to 'after'")


def result_faults(key: str, args: object, earlier: Collection[str], hint: str) -> Iterator[InvalidInput]:
    """Yield the references to results of runs that do not come before a run.

    Args:
        key: The run's key.
        earlier: The keys of the runs that end before it starts.
        hint: Advice for the author of such a reference.
    """
    for place, named in references(args).items():
        if not isinstance(named, str) or named not in earlier:
            message = (
                f"argument '{'.'.join(place)}': {{\"{REFERENCE}\": {named!r}}} must name a run that '{key}' comes "
                f"after; {hint}"
            )
            yield InvalidInput(message, path=("args", *place))


def _earlier(one: NewMember, before: dict[str, tuple[str, ...]]) -> set[str]:
    """Return the keys of all runs that end before this one starts."""
    waiting, earlier = list(one.after), set[str]()
    while waiting:
        key = waiting.pop()
        if key not in earlier:
            earlier.add(key)
            waiting += before.get(key, ())
    return earlier


def flow_faults(
    name: object,
    unique_key: object,
    labels: object = None,
    max_concurrent: float | None = None,
    deadline: object = None,
    *,
    is_open: object = False,
) -> Iterator[InvalidInput]:
    """Yield the faults of the name, the key, the labels, the bound and the deadline of a flow."""
    yield from name_faults(name, "name")
    if unique_key is not None:
        yield from text_faults(unique_key, "uniqueKey", least=1, most=MAX_UNIQUE_KEY)
    if labels is not None:
        yield from label_faults(labels)
    if max_concurrent is not None:
        yield from number_faults(max_concurrent, "maxConcurrent", 1, MAX_CONCURRENT, whole=True)
        if is_open:
            message = "maxConcurrent: an open flow has none; close it, or give the jobs of its runs a max_concurrent"
            yield InvalidInput(message, path=("maxConcurrent",))
    if deadline is not None:
        yield from seconds_faults(deadline, "deadline", 0.001)


def deadline_sentence(deadline_at: datetime) -> str:
    """Return the reason, as a sentence, for which the runs of a flow are cancelled that took too long."""
    return f"cancelled with its flow: the flow had to end by {time_text(deadline_at)}"


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A run to be of a flow: its key, the run, its predecessors, and the condition of its start."""

    key: str
    run: RunSpec
    after: tuple[str, ...] = ()
    when: When = When.SUCCESS


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """A flow to be; the fields are those of ``NewFlow``."""

    name: str
    members: tuple[MemberSpec, ...]
    is_open: bool = False
    unique_key: str | None = None
    callbacks: Mapping[Ending, RunSpec] = field(default_factory=dict[Ending, RunSpec])
    labels: Mapping[str, str] | None = None
    max_concurrent: int | None = None
    deadline: float | None = None
    started_by: StartedBy | None = None


def check_flow(
    name: object,
    unique_key: object,
    labels: object,
    *,
    is_open: object,
    max_concurrent: object = None,
    deadline: object = None,
) -> None:
    """Check a flow, apart from its runs.

    Raises:
        UserError: its faults, in a Python caller's names.
    """
    with python_names():
        refuse(flow_faults(name, unique_key, labels, cast("float | None", max_concurrent), deadline, is_open=is_open))
        refuse(_open_faults(is_open))


def _open_faults(is_open: object) -> Iterator[InvalidInput]:
    if not isinstance(is_open, bool):
        yield InvalidInput(f"open: must be True or False, got {is_open!r:.60}", path=("open",))
