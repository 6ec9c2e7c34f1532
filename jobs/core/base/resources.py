"""The resources that a job, a task or a run asks for at an engine, and the name by which a job asks for the executor.

A task and a run store theirs as a document. A run carries it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Final

from .errors import InvalidInput

EXECUTOR_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The name of an executor, as ``isolation`` says it."""
_OPTION: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
MAX_COUNT: Final = 1_000_000
"""Cores or graphics processors that a run may ask for."""
MAX_MEMORY: Final = 2**63 - 1
MAX_TEXT: Final = 1_000
MAX_OPTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that a run needs at its engine; an executor takes those that it knows.

    Attributes:
        cpus: Processor cores.
        memory: Bytes.
        gpus: Graphics processors.
        image: The container image that has the code.
        queue: The queue or partition of the engine.
        options: Further words of that executor.
    """

    cpus: float | None = None
    memory: int | None = None
    gpus: int | None = None
    image: str | None = None
    queue: str | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def document(self) -> dict[str, Any]:
        """Return the given ones by name."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}

    def check(self) -> None:
        """Check that all resources are valid.

        Raises:
            ValueError: names the one that does not.
        """
        for fault in resource_faults(self.document()):
            raise ValueError(fault.message)

    def over(self, others: "Resources") -> "Resources":
        """Return these resources, with the missing ones taken from ``others``; options likewise, one by one."""
        given: dict[str, Any] = {**others.document(), **self.document()}
        given["options"] = {**others.options, **self.options}
        return Resources(**given)


NO_RESOURCES: Final = Resources()
CARRIED: Final = "resources"
"""The name under which a run carries the resources that it asks for instead of those of its job."""
_NAMES: Final = tuple(one.name for one in fields(Resources))


def resources_of(carried: Mapping[str, Any] | None) -> Resources:
    """Return the resources that a run asks for itself, of all that it carries."""
    given: Mapping[str, Any] = (carried or {}).get(CARRIED) or {}
    return Resources(**{name: value for name, value in given.items() if name in _NAMES})


def carrying(carried: Mapping[str, Any] | None, resources: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return all that a run carries which asks for these resources, over those that it carries already.

    Where it carries none yet, these may be such as make no sense: the rules of new runs refuse the result.
    """
    if not resources:
        return None if carried is None else dict(carried)
    if CARRIED not in (carried or {}):
        given = {name: value for name, value in resources.items() if value not in (None, {})}
        return {**(carried or {}), CARRIED: given}
    asked = Resources(**resources).over(resources_of(carried))
    return {**(carried or {}), CARRIED: asked.document()}


def handed_on(carried: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all that a run of another job carries on: not the resources, for that job has its own."""
    return {name: value for name, value in (carried or {}).items() if name != CARRIED}


def resource_faults(given: object) -> Iterator[InvalidInput]:
    """Yield the faults of a document of resources."""
    document: Any = given
    if not _is_object(given):
        yield InvalidInput(f"resources: must be an object, got {given!r:.60}", path=(CARRIED,))
        return
    for name in [name for name in document if name not in _NAMES]:
        near = get_close_matches(str(name)[:60], _NAMES, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(_NAMES)}"
        yield InvalidInput(f"resources: there is no '{name!s:.60}'; {hint}", path=(CARRIED, str(name)[:60]))
    for name, value in document.items():
        why = _fault(name, value)
        if why is not None:
            yield InvalidInput(f"resources: {name!s:.60} {why}", path=(CARRIED, str(name)[:60]))
    options = document.get("options")
    yield from _option_faults(options) if _is_object(options) else ()


def _option_faults(options: Mapping[Any, Any]) -> Iterator[InvalidInput]:
    if len(options) > MAX_OPTIONS:
        message = f"resources: options must be at most {MAX_OPTIONS}, got {len(options)}"
        yield InvalidInput(message, path=(CARRIED, "options"))
        return
    for name, value in options.items():
        shown = f"{name!s:.60}"
        if not isinstance(name, str) or _OPTION.fullmatch(name) is None:
            message = (
                "resources: the name of an option must be a small letter and up to 39 small letters, digits and _, "
                f"got '{shown}'"
            )
        elif (why := _text_fault(value)) is not None:
            message = f"resources: {shown} {why}"
        else:
            continue
        yield InvalidInput(message, path=(CARRIED, "options", shown))


def _fault(name: object, value: object) -> str | None:
    if value is None or name not in _NAMES:
        return None
    if name == "options":
        return None if _is_object(value) else f"must be an object of texts, got {value!r:.60}"
    if name in ("image", "queue"):
        return _text_fault(value)
    kinds, kind = ((int, float), "a number") if name == "cpus" else ((int,), "a whole number")
    most = MAX_MEMORY if name == "memory" else MAX_COUNT
    if isinstance(value, kinds) and not isinstance(value, bool) and 0 < value <= most:
        return None
    unit = " of bytes" if name == "memory" else ""
    return f"must be {kind}{unit} above 0, at most {most:,}, got {value!r:.60}"


def _text_fault(value: object) -> str | None:
    if not isinstance(value, str) or not value.isprintable():
        return f"must be a text without control characters, got {value!r:.60}"
    return None if len(value) <= MAX_TEXT else f"must have at most {MAX_TEXT:,} characters, got {len(value):,}"


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)
