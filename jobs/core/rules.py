"""What names, numbers and times of a task or run may be; every refusal names the field and what it got."""

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches

from .errors import InvalidInput, NotFound
from .model import TaskSpec

MAX_NAME = 200
MAX_TEXT = 10_000
MAX_SECONDS = 10 * 366 * 86400.0
MAX_RETRIES = 1000
MAX_CATCH_UP = 1000


def check_name(value: str, field: str) -> None:
    """A name has 1 to 200 characters, none of them a control character or ``/``.

    Raises:
        InvalidInput: names the field.
    """
    if not 1 <= len(value) <= MAX_NAME:
        raise InvalidInput(f"{field}: must have 1 to {MAX_NAME} characters, got {len(value)}", path=(field,))
    for place, character in enumerate(value):
        if character == "/" or not character.isprintable():
            raise InvalidInput(
                f"{field}: must not contain control characters or '/', got {character!r} at position {place}",
                path=(field,),
            )
    if value != value.strip():
        raise InvalidInput(f"{field}: must not begin or end with a space, got {value!r}", path=(field,))


def check_text(value: str, field: str, *, limit: int = MAX_TEXT) -> None:
    """Free text is bounded and has no control characters but line breaks and tabs.

    Raises:
        InvalidInput: names the field.
    """
    if len(value) > limit:
        raise InvalidInput(f"{field}: must have at most {limit} characters, got {len(value)}", path=(field,))
    bad = next((one for one in value if not one.isprintable() and one not in "\n\r\t" and ord(one) < 160), None)
    if bad is not None:
        raise InvalidInput(f"{field}: must not contain control characters, got {bad!r}", path=(field,))


def check_number(value: float, field: str, low: float, high: float) -> None:
    """A number lies between ``low`` and ``high``, both included.

    Raises:
        InvalidInput: names the field.
    """
    if not low <= value <= high:
        raise InvalidInput(f"{field}: must be from {low:g} to {high:g}, got {value:g}", path=(field,))


def check_window(start_at: datetime | None, end_at: datetime | None) -> None:
    """The window of a task ends after it starts.

    Raises:
        InvalidInput: names both ends.
    """
    if start_at is not None and end_at is not None and end_at < start_at:
        raise InvalidInput(
            f"endAt: must not be before startAt ({start_at.isoformat()}), got {end_at.isoformat()}", path=("endAt",)
        )


def check_task(spec: TaskSpec) -> None:
    """Everything about a task that can be judged without a schedule or a database.

    Raises:
        InvalidInput: the first fault.
    """
    check_name(spec.name, "name")
    check_name(spec.group, "group")
    if spec.owner is not None:
        check_text(spec.owner, "owner", limit=MAX_NAME)
    check_text(spec.description, "description")
    check_number(spec.misfire_grace, "misfireGrace", 0, MAX_SECONDS)
    check_number(spec.catch_up_limit, "catchUpLimit", 1, MAX_CATCH_UP)
    check_number(spec.jitter, "jitter", 0, MAX_SECONDS)
    check_run_settings(spec.retries, spec.retry_delay, spec.timeout)
    if spec.tolerance is not None:
        check_number(spec.tolerance, "tolerance", 0, MAX_SECONDS)
    check_window(spec.start_at, spec.end_at)


def check_run_settings(retries: int, retry_delay: float, timeout: float | None) -> None:
    """The settings of a run that decide about its attempts.

    Raises:
        InvalidInput: the first fault.
    """
    check_number(retries, "retries", 0, MAX_RETRIES)
    check_number(retry_delay, "retryDelay", 0, MAX_SECONDS)
    if timeout is not None:
        check_number(timeout, "timeout", 0.001, MAX_SECONDS)


def unknown(kind: str, name: str, known: Sequence[str], *, field: str = "name") -> NotFound:
    """The error for a name that does not exist, with the nearest one that does."""
    near = get_close_matches(name, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return NotFound(f"{kind} '{name[:MAX_NAME]}' does not exist{hint}", path=(field,))
