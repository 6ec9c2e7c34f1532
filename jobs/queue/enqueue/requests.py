"""Requests for runs become ``NewRun``s if they are as they must be; whether anybody knows the job is not judged."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final, cast

from ...core.admission.holding import Hold, OnConflict
from ...core.admission.labels import label_faults
from ...core.base.errors import InvalidInput, UserError, python_names, refuse
from ...core.base.resources import CARRIED, Resources, carrying, resource_faults
from ...core.base.signature import LENGTH
from ...core.base.tracing import TRACED
from ...core.base.unwritable import unwritable
from ...core.defaults import PER_RUN, RUN_POLICIES, UNIQUE_KEY
from ...core.limits import LIMITS
from ...core.model import Json, NewRun, Priority, Trigger
from ...core.rules import name_faults, new_run_faults
from ...core.run_spec import DURATIONS, NO_KEY, RunSpec, seconds_of
from ..base.new_runs import NOTHING, NewRuns, labels_text

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""In JSON text, the escaped U+0000, which PostgreSQL cannot store."""
_ESCAPED = "\\u0000"
_PRIORITIES = frozenset(priority.value for priority in Priority)
_ON_CONFLICT = {one.value: one for one in OnConflict}
_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


def traced(spec: RunSpec) -> RunSpec:
    """Return a run to be with the trace of its enqueue, if there is one."""
    carried = TRACED.carried(spec.job_name, spec.carried)
    return spec if carried is spec.carried else replace(spec, carried=carried)


def _carried(spec: RunSpec) -> Mapping[str, Json] | None:
    """Return all that a run to be carries: values, and resources at its engine.

    Raises:
        InvalidInput: the resources make no sense.
    """
    given = cast("object", spec.resources)
    if given is None:
        return spec.carried
    if not isinstance(given, Resources):
        message = f"resources: must be Resources(cpus=…, memory=…, gpus=…), got {given!r:.60}"
        raise InvalidInput(message, path=("resources",))
    document = given.document()
    refuse(resource_faults(document))
    return carrying(spec.carried, document)


def new_run(spec: RunSpec) -> NewRun:
    """Return a run to be; policies that are None are inherited from the job.

    Raises:
        UserError: a value is not as it must be.
    """
    args, carried, labels = spec.args, _carried(spec), spec.labels
    plain, faults = _of_settings(spec)
    run = replace(
        plain,
        args=dict(args) if isinstance(args, Mapping) else {},
        carried=dict(carried) if isinstance(carried, Mapping) and carried else None,
        # What is no mapping is refused below.
        labels=dict(labels) if isinstance(labels, Mapping) else labels,
        parent_labels=dict(spec.parent_labels) if isinstance(spec.parent_labels, Mapping) else None,
    )
    with python_names():
        refuse(chain(faults, _own_faults(run, spec)))
    return run


_SETTINGS: Final = (
    "job_name", "group", "priority", "run_at", "unique_key", "retries", "retry_delay", "timeout", "settled",
    "expires_at", "ttl", "hold", "max_duration", "signature", "on_conflict",
)  # fmt: skip
_written = attrgetter(*_SETTINGS)


def _settings(spec: RunSpec) -> tuple[object, ...]:
    """Return the settings; of the two equal times that a clock shows when it is set back, the later in UTC."""
    return tuple(
        one.astimezone(UTC) if isinstance(one, datetime) and one.fold and one.tzinfo else one for one in _written(spec)
    )


def _of_settings(spec: RunSpec) -> tuple[NewRun, Iterable[InvalidInput]]:
    """Return the run to be of a request's settings alone, with their faults."""
    try:
        plain, are_right = _plain(*_settings(spec))
    except TypeError:
        # One has no hash, and is wrong.
        plain, are_right = _plain.__wrapped__(*_settings(spec))
    return plain, () if are_right else _faults(plain, spec)


# By the types of the settings as well: True is no number of retries, though it equals 1.
@lru_cache(maxsize=1024, typed=True)
def _plain(*settings: object) -> tuple[NewRun, bool]:
    """Return the run to be of these settings, and whether they are as they must be."""
    named: dict[str, Any] = dict(zip(_SETTINGS, settings, strict=True))
    spec = RunSpec(**named)
    given = {name: named[name] for name in RUN_POLICIES}
    of_job: dict[str, object] = {**given, UNIQUE_KEY: spec.unique_key, LIMITS: None, PER_RUN: spec.settled or None}
    chosen: dict[str, Any] = {
        name: seconds_of(name, value) if name in DURATIONS else value
        for name, value in given.items()
        if value is not None
    }
    ttl: Any = seconds_of("ttl", spec.ttl)
    priority = chosen.pop("priority", Priority.LOW)
    run = NewRun(
        spec.job_name,
        Trigger.API,
        priority=Priority(priority.lower()) if _is_priority(priority) else Priority.LOW,
        available_at=spec.run_at,
        unique_key=spec.unique_key if spec.unique_key != NO_KEY else None,
        inherits=frozenset(name for name, value in of_job.items() if value is None),
        expires_at=spec.expires_at,
        ttl=ttl,
        hold=spec.hold if isinstance(spec.hold, Hold) else None,
        signature=spec.signature if isinstance(spec.signature, str) else None,
        on_conflict=_on_conflict(spec.on_conflict) or OnConflict.KEEP,
        **chosen,
    )
    return run, not any(True for _ in _faults(run, spec))


def new_runs(runs: Iterable[RunSpec]) -> tuple[NewRun, ...]:
    """Return ``new_run`` of each.

    Raises:
        UserError: see ``checked``.
    """
    return tuple(checked(runs).apart())


def checked(runs: Iterable[RunSpec]) -> NewRuns:
    """Return ``new_run`` of each, as they are inserted. Equal settings are judged once.

    Raises:
        TypeError: one is no ``RunSpec``.
        UserError: the first wrong one, with its place in the path.
    """
    known: dict[int, int] = {}
    new = NewRuns()
    for place, spec in enumerate(_specs(runs)):
        try:
            plain, faults = _of_settings(spec)
            kind = known.setdefault(id(plain), len(new.kinds))
            if kind == len(new.kinds):
                with python_names():
                    refuse(faults)
                new.kinds.append(plain)
            new.kind.append(kind)
            new.args.append("{}" if spec.args is None else args_text(spec.args))
            carried = TRACED.carried(spec.job_name, _carried(spec))
            new.carried.append(NOTHING if carried is None or carried == {} else args_text(carried, "carried"))
            new.labels.append(_labels(spec))
            if spec.parent_labels is not None:
                refuse(label_faults(spec.parent_labels, "parent_labels"))
                new.parents[place] = dict(spec.parent_labels)
        except UserError as error:
            raise error.with_prefix("runs", str(place)) from error
    return new


def _specs(runs: object) -> Iterator[RunSpec]:
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs: must be runs to be, e.g. [job.run(…)], got {runs!r:.60}")
    for place, one in enumerate(cast("Iterable[object]", runs)):
        if not isinstance(one, RunSpec):
            raise TypeError(f"runs.{place}: must be a run to be, e.g. job.run(…) or RunSpec('name'), got {one!r:.60}")
        yield one


def _labels(spec: RunSpec) -> str:
    if spec.labels is None or spec.labels == {}:
        return NOTHING
    if _is_of_texts(spec.labels):
        return _judged_labels(tuple(spec.labels.items()))
    refuse(label_faults(spec.labels))
    return NOTHING


def _is_of_texts(labels: object) -> bool:
    given: Any = labels
    return isinstance(labels, dict) and all(isinstance(value, str) for value in given.values())


@lru_cache(maxsize=4096)
def _judged_labels(pairs: tuple[tuple[str, str], ...]) -> str:
    """Return labels as they are stored; to judge them again would take as long as to store them."""
    labels = dict(pairs)
    refuse(label_faults(labels))
    return labels_text(labels)


def args_text(args: Mapping[str, Json], name: str = "args") -> str:
    """Return arguments as JSON.

    Raises:
        UserError: no database could store them.
    """
    if not isinstance(args, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - of the user's, unchecked
        raise InvalidInput(f"{name}: must be a mapping of names to values, got {args!r:.60}", path=(name,))
    for key, value in args.items():
        # JSON would make texts of them, and what was given would not be what arrives.
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name}: each name must be a text, got {key!r:.60}", path=(name,))
        if isinstance(value, dict | list | tuple) and (found := unwritable(cast("object", value))) is not None:
            place = ".".join((key, *found.place))[:60]
            raise InvalidInput(f"{name}: {found.why}, in argument {place!a}", path=(name, key))
    try:
        text = _encode(dict(args))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(name, args, error) from None
    # An even number of backslashes before it would make it an ordinary text.
    if _ESCAPED in text and _NUL.search(text):
        raise InvalidInput(f"{name}: a text must not hold the character U+0000", path=(name,))
    return text


def _no_json(name: str, args: Mapping[str, Json], error: Exception) -> InvalidInput:
    """Return the error of a value that no database could store, with its argument."""
    for argument, value in args.items():
        try:
            _encode({argument: value}).encode()
        except (TypeError, ValueError, RecursionError) as fault:
            message = f"{name}: {_reason(fault)}, in argument {str(argument)!a:.60}"
            return InvalidInput(message, path=(name, str(argument)))
    return InvalidInput(f"{name}: {_reason(error)}", path=(name,))


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a text must not hold half of a surrogate pair"
    return "must be JSON: it contains itself" if isinstance(error, RecursionError) else f"must be JSON: {error}"


def _faults(plain: NewRun, spec: RunSpec) -> Iterator[InvalidInput]:
    """Find the faults of the settings of a run to be; whether anybody knows the job is not judged.

    Values that the database would refuse, which spoils a transaction, are refused here by name.
    """
    hold, settled, signature = cast("tuple[object, object, object]", (spec.hold, spec.settled, spec.signature))
    yield from name_faults(plain.job_name, "jobName")
    yield from new_run_faults(plain)
    if spec.priority is not None and not _is_priority(spec.priority):
        message = f"priority: must be 'high' or 'low', got {spec.priority!r:.60}"
        yield InvalidInput(message, path=("priority",))
    if hold is not None and not isinstance(hold, Hold):
        message = f"hold: must be a rule that @job or options(…) has made, or None, got {hold!r:.60}"
        yield InvalidInput(message, path=("hold",))
    if _on_conflict(spec.on_conflict) is None:
        message = f"on_conflict: must be 'keep', 'replace' or 'raise', got {spec.on_conflict!r:.60}"
        yield InvalidInput(message, path=("onConflict",))
    if not isinstance(settled, bool):
        yield InvalidInput(f"settled: must be True or False, got {settled!r:.60}", path=("settled",))
    if signature is not None and not (isinstance(signature, str) and len(signature) == LENGTH):
        message = f"signature: must be the one that job.run(…) has set, or None, got {signature!r:.60}"
        yield InvalidInput(message, path=("signature",))


def _own_faults(run: NewRun, spec: RunSpec) -> Iterator[InvalidInput]:
    """Find the faults that a request has by itself."""
    if run.labels is not None:
        yield from label_faults(run.labels)
    if run.carried is not None and CARRIED in run.carried:
        yield from resource_faults(run.carried[CARRIED])
    yield from _json_faults(spec.args, "args")
    yield from _json_faults(spec.carried, "carried")
    if spec.parent_labels is not None:
        yield from label_faults(spec.parent_labels, "parent_labels")


def _is_priority(value: object) -> bool:
    return isinstance(value, str) and value.lower() in _PRIORITIES


def _json_faults(value: Mapping[str, Json] | None, name: str) -> Iterator[InvalidInput]:
    if value is None:
        return
    try:
        args_text(value, name)
    except InvalidInput as fault:
        yield fault


def _on_conflict(value: object) -> OnConflict | None:
    """Return the meaning of a value, None = it has none."""
    if value is None:
        return OnConflict.KEEP
    return _ON_CONFLICT.get(value.lower()) if isinstance(value, str) else None
