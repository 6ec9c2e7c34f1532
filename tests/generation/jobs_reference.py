"""Writes `docs/python-reference.md`: all that a job's author imports, with types, as the docstrings say it.

`python -m tests.generation.jobs_reference > docs/python-reference.md`; `make schema` does, and a test
compares.
"""

import inspect
import sys
from collections.abc import Iterator
from typing import Any, Final

from cronograph import jobs
from tests.generation.signatures import members, plain_type, section, signature_text

HEAD: Final = """# Python reference: jobs
All names of `cronograph.jobs` with their types. Made from the docstrings. See [writing jobs](writing-jobs.md).
To talk to a server: [the Python client](client-reference.md).

"""
_GROUPS: Final = (
    ("Jobs", ("job", "JobOptions", "Job", "Registry", "RunOptions", "RunSpec", "RunHandle")),
    ("How a job runs", ("Isolation", "Backoff", "Resources", "Reuse", "Batch", "Rate", "Cap", "Alarm")),
    (
        "Inside a job",
        (
            "JobContext",
            "StopReason",
            "Result",
            "Failure",
            "Cancellation",
            "Expired",
            "Debounce",
            "Throttle",
            "Snooze",
            "Cancel",
            "PermanentFailure",
        ),
    ),
    ("Waiting", ("AnswerPage", "Suspend", "Rejected", "WaitTimedOut", "RunFailed")),
    ("Schedules", ("every", "cron", "calendar", "once", "ScheduleSpec", "Syntax")),
    ("Hooks and resources", ("around", "resource", "carries", "Scope", "GIVEN")),
    ("Enqueue", ("connect", "enqueue", "enqueue_sync", "enqueue_many", "enqueue_many_sync")),
    ("Flows", ("Flow", "FlowRun")),
    ("Words", ("Priority", "OverlapPolicy", "MisfirePolicy", "RunState")),
    (
        "Errors",
        (
            "CronographError",
            "UserError",
            "InvalidInput",
            "NotFound",
            "KeyHeld",
            "QueueFull",
            "ConfigurationError",
            "StorageError",
        ),
    ),
)


_HIDDEN: Final = "DurableContext"
"""A base whose methods are shown with the class that users see."""


def reference() -> str:
    """The whole page.

    Raises:
        LookupError: a public name has no place in it.
    """
    left = set(jobs.__all__).difference(*(names for _, names in _GROUPS))
    if left:
        raise LookupError(f"the reference of cronograph.jobs has no place for {', '.join(sorted(left))}")
    return HEAD + "\n".join(part for title, names in _GROUPS for part in _group(title, names))


def _group(title: str, names: tuple[str, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    for name in names:
        yield from _about(name, getattr(jobs, name))


def _about(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield from section(f"### {name}", signature_text(name, value), value)
        return
    if not inspect.isclass(value):
        yield from section(f"### {name}", f"{name}: {type(value).__name__.strip('_')}", value)
        return
    bases = ", ".join(one.__name__ for one in value.__bases__ if one is not object)
    yield from section(f"### {name}", f"class {name}{f'({bases})' if bases else ''}{_fields(value)}", value)
    hidden = [base for base in value.__bases__ if base.__name__ == _HIDDEN]
    for _, shown, member in members(value, *hidden):
        yield f"```text\n{shown}\n\n{_indented(inspect.getdoc(member) or '')}\n```\n"


def _fields(value: type[Any]) -> str:
    """The words of an enumeration, or the annotated fields."""
    words = getattr(value, "__members__", None)
    if words is not None:
        return "".join(f"\n    {word} = {one.value!r}" for word, one in words.items())
    own = {name: hint for name, hint in vars(value).get("__annotations__", {}).items() if not name.startswith("_")}
    return "".join(f"\n    {name}: {_hint(hint)}" for name, hint in own.items())


def _hint(hint: object) -> str:
    return plain_type(hint if isinstance(hint, str) else inspect.formatannotation(hint))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in inspect.cleandoc(text).splitlines())


if __name__ == "__main__":
    sys.stdout.write(reference())
