"""Limits that a job declares: how many of its runs start in a time, run at once, and wait."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast
from uuid import UUID

from .admission.caps import Cap, Rate
from .base.lazy import LazyModule
from .rules import MAX_UNIQUE_KEY

if TYPE_CHECKING:
    import pydantic
else:
    pydantic = LazyModule("pydantic")

_KINDS: Final[Mapping[str, type[Any]]] = {
    "date-time": datetime,
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
}
"""Formats of a JSON Schema in which one value can be written in several ways."""


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """Derive the key of a run from its arguments.

    Attributes:
        arguments: The arguments that it is made of, by the names that they have in JSON.
        template: The key with ``{name}`` for each of them; None = the job's name and these arguments.
        in_code: Whether only the job's own code can make it (a function): then nothing else is known.
        defaults: The arguments that may be left out, with their defaults.
        formats: The arguments of which one value can be written in several ways, with their format in JSON Schema.
        required: The arguments that may not be left out.
    """

    arguments: tuple[str, ...] = ()
    template: str | None = None
    in_code: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    formats: Mapping[str, str] = field(default_factory=dict[str, str])
    required: tuple[str, ...] = ()

    def fits(self, args: Mapping[str, Any]) -> bool:
        """Return whether these can be arguments of the version of the job that says this; another may have others."""
        return all(name in args for name in self.required)

    def of(self, job_name: str, args: Mapping[str, Any], unknown: Collection[str] = ()) -> str | None:
        """Return the key of a run of the job with these arguments as JSON.

        None if only the job's code can tell, or if an argument that it is made of is not known yet.
        """
        if self.in_code or not set(self.arguments).isdisjoint(unknown):
            return None
        values = {name: self._value(name, args) for name in self.arguments}
        if self.template is None:
            return _bounded(f"{job_name}({', '.join(f'{name}={_text(value)}' for name, value in values.items())})")
        texts = {name: value if isinstance(value, str) else _text(value) for name, value in values.items()}
        return _bounded("".join(before + texts.get(name, "") for before, name in pieces(self.template)))

    def _value(self, name: str, args: Mapping[str, Any]) -> object:
        value = args.get(name, self.defaults.get(name))
        kind = self.formats.get(name)
        return _same(kind, value) if kind is not None and isinstance(value, str) else value

    def to_json(self) -> dict[str, Any]:
        """Return the published form, without unset fields."""
        stored = {name: value for name, value in asdict(self).items() if value}
        return stored if self.in_code else {**stored, "arguments": list(self.arguments)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a published form; a form with words of a newer version can be read by the job's own code alone."""
        if not stored.keys() <= {one.name for one in fields(cls)}:
            return cls(in_code=True)
        values: dict[str, Any] = {
            **stored,
            "arguments": tuple(stored.get("arguments", ())),
            "required": tuple(stored.get("required", ())),
        }
        return cls(**values)

    @classmethod
    def declared(cls, arguments: Sequence[str], template: str | None, schema: Mapping[str, Any]) -> Self:
        """Return the key of a job whose arguments have this JSON Schema."""
        rules: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
        own = {name: rules.get(name, {}) for name in arguments}
        return cls(
            tuple(arguments),
            template,
            defaults={name: rule["default"] for name, rule in own.items() if "default" in rule},
            formats={name: kind for name, rule in own.items() if (kind := _format_of(rule)) in _KINDS},
            required=tuple(name for name in arguments if name in schema.get("required", ())),
        )


def pieces(template: str) -> list[tuple[str, str]]:
    """Return the texts of a template, each with the name in braces that follows it (``""`` after the last one).

    Raises:
        ValueError: the braces do not match, or hold more than a name.
    """
    found: list[tuple[str, str]] = []
    for text, name, spec, conversion in Formatter().parse(template):
        if spec or conversion:
            raise ValueError(f"{{{name}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}}}")
        if name is not None and not name.isidentifier():
            raise ValueError(f"{{{name}}}")
        found.append((text, name or ""))
    return found


def _format_of(rule: Mapping[str, Any]) -> str:
    alternatives = (rule, *cast("Sequence[Mapping[str, Any]]", rule.get("anyOf", ())))
    return next((one["format"] for one in alternatives if "format" in one), "")


@cache
def _adapter(kind: str) -> "pydantic.TypeAdapter[Any]":
    return pydantic.TypeAdapter(_KINDS[kind])


def _same(kind: str, value: str) -> object:
    """Return a text as a job writes the value that it reads from it: one text for one value."""
    adapter = _adapter(kind)
    try:
        return adapter.dump_python(adapter.validate_python(value), mode="json")
    except pydantic.ValidationError:
        return value


def _text(value: object) -> str:
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _whole(value: object) -> object:
    """Return ``value`` with whole numbers written as such: 17.0 is 17."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole(one) for name, one in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_whole(one) for one in cast("list[object]", value)]
    return value


def _bounded(text: str) -> str:
    """Return a key that can be stored: control characters are escaped, and a hash replaces the end of a long one."""
    key = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text) or "-"
    if len(key) <= MAX_UNIQUE_KEY:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{key[: MAX_UNIQUE_KEY - len(digest) - 1]}#{digest}"


LIMITS: Final = "limits"
"""Name of the inherited limits of a run that has no keys yet."""
NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""When a run becomes available that waits for a slot or a token of its key: no claim sees it before it is let go."""
OF_THE_JOB: Final = ""
"""The key of a rate or a cap that all runs of a job share."""
OF_TASKS: Final = "\ttask "
"""Begins the key of each task's own bucket; no key that is made of arguments has a tab (see ``unique_key``)."""
OF_FLOWS: Final = "cronograph flow "
"""Begins the concurrency key of the runs of a flow that bounds them."""
MAX_CONCURRENT: Final = 1_000_000


def key_of_task(task_id: int) -> str:
    """Return the rate key of the runs of a task that says a rate itself: they share its bucket."""
    return f"{OF_TASKS}{task_id}"


def key_of_flow(flow_id: int) -> str:
    """Return the concurrency key of the runs of a flow that bounds them itself."""
    return f"{OF_FLOWS}{flow_id}"


def task_of_key(rate_key: str | None) -> int | None:
    """Return the task whose bucket this is; None = it is one of its job."""
    return int(rate_key.removeprefix(OF_TASKS)) if rate_key is not None and rate_key.startswith(OF_TASKS) else None


class PlaceHold(StrEnum):
    """Say how long a run takes a place of its concurrency key.

    ``RUNNING``: while a node executes it; while it waits for its retry, sleeps or waits, others have the place.
    ``UNFINISHED``: from its first start until it is finished for good.
    """

    RUNNING = "running"
    UNFINISHED = "unfinished"


class Keys(NamedTuple):
    """The keys by which a run is limited; None = not at all.

    Attributes:
        concurrency_key: No more than ``max_concurrent`` runs with this text run at once.
        rate_key: Which of the buckets of its job gives its tokens, or that of its task (``key_of_task``).
        cap_key: Among which of the runs of its job it is counted while it waits.
        keeps_place: Whether it counts for its concurrency key from its first start until it is finished, and not only
            while a node executes it; None = no.
    """

    concurrency_key: str | None = None
    max_concurrent: int | None = None
    rate_key: str | None = None
    cap_key: str | None = None
    keeps_place: bool | None = None

    @classmethod
    def of(cls, run: Any) -> Self:  # noqa: ANN401 - a run, one that is to be, or a row
        """Return the keys that a run has."""
        return cls(run.concurrency_key, run.max_concurrent, run.rate_key, run.cap_key, run.keeps_place)

    @property
    def is_bound_by_flow(self) -> bool:
        """Return whether the run counts with the others of its flow, which bounds them (``key_of_flow``)."""
        return self.concurrency_key is not None and self.concurrency_key.startswith(OF_FLOWS)


NO_KEYS: Final = Keys()


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold the limits that a job declares.

    Attributes:
        rate: How many of its runs start in how long; None = no limit.
        rate_key: How the key of a bucket follows from the arguments; None = one bucket for all.
        concurrency_key: How the key of the runs that count together follows from the arguments; None = the job's name.
        max_concurrent: How many runs with the same key run at once; None = no limit.
        cap: How many runs wait at most; None = any number.
        cap_key: How the key of the runs that count together follows from the arguments; None = as that of those that
            run at once, or else one for all.
        hold: How long a run counts for its concurrency key.
    """

    rate: Rate | None = None
    rate_key: UniqueKey | None = None
    concurrency_key: UniqueKey | None = None
    max_concurrent: int | None = None
    cap: Cap | None = None
    cap_key: UniqueKey | None = None
    hold: PlaceHold = PlaceHold.RUNNING

    def keys_of(
        self, job_name: str, args: Mapping[str, Any], own: Keys = NO_KEYS, unknown: Collection[str] = ()
    ) -> Keys:
        """Return the keys by which a run of the job with these arguments is limited.

        Args:
            own: Its keys so far, of which those are kept that its task or its flow gives it.
            unknown: The arguments that are not known yet; keys that are made of them are left out.
        """
        of_rate = own.rate_key if task_of_key(own.rate_key) is not None else None
        if of_rate is None and self.rate is not None:
            of_rate = OF_THE_JOB if self.rate_key is None else self.rate_key.of(job_name, args, unknown)
        of_cap = None
        if self.cap is not None:
            rule = self.cap_key or self.concurrency_key
            of_cap = OF_THE_JOB if rule is None else rule.of(job_name, args, unknown)
        if own.is_bound_by_flow:
            return Keys(own.concurrency_key, own.max_concurrent, of_rate, of_cap)
        if self.max_concurrent is None:
            return Keys(rate_key=of_rate, cap_key=of_cap)
        key = job_name if self.concurrency_key is None else self.concurrency_key.of(job_name, args, unknown)
        if key is None:
            return Keys(rate_key=of_rate, cap_key=of_cap)
        keeps = True if self.hold is PlaceHold.UNFINISHED else None
        return Keys(key, self.max_concurrent, of_rate, of_cap, keeps)

    def to_json(self) -> dict[str, Any]:
        """Return the published form, without unset fields."""
        values: dict[str, Any] = {
            "rate": None if self.rate is None else self.rate.to_json(),
            "rate_key": None if self.rate_key is None else self.rate_key.to_json(),
            "concurrency_key": None if self.concurrency_key is None else self.concurrency_key.to_json(),
            "max_concurrent": self.max_concurrent,
            "hold": None if self.hold is PlaceHold.RUNNING else self.hold.value,
            "cap": None if self.cap is None else self.cap.to_json(),
            "cap_key": None if self.cap_key is None else self.cap_key.to_json(),
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a published form."""
        return cls(
            rate=Rate.from_json(stored["rate"]) if "rate" in stored else None,
            rate_key=UniqueKey.from_json(stored["rate_key"]) if "rate_key" in stored else None,
            concurrency_key=UniqueKey.from_json(stored["concurrency_key"]) if "concurrency_key" in stored else None,
            max_concurrent=stored.get("max_concurrent"),
            hold=PlaceHold(stored.get("hold", PlaceHold.RUNNING)),
            cap=Cap.from_json(stored["cap"]) if "cap" in stored else None,
            cap_key=UniqueKey.from_json(stored["cap_key"]) if "cap_key" in stored else None,
        )
