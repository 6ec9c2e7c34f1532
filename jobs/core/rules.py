"""Judge the names, numbers and times of tasks and runs; every fault names the field and the given value.

Each rule yields the faults it finds, so that a caller gets all of them at once; ``check_…`` raises them.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches

from .admission.caps import rate_faults
from .admission.holding import expiry_faults, hold_faults
from .admission.labels import label_faults
from .base.errors import ErrorCode, InvalidInput, NotFound, UserError, refuse
from .base.resources import CARRIED, resource_faults
from .base.times import number_text, time_faults, time_text
from .model import Isolation, MisfirePolicy, NewRun, TaskSpec

MAX_NAME = 200
MAX_TEXT = 10_000
MAX_REASON = 1_000
MAX_SECONDS = 10 * 366 * 86400.0
MAX_RETRIES = 1000
MAX_CATCH_UP = 1000
MAX_UNIQUE_KEY = 200
SHELL_JOB = "shell"
"""The built-in job that a node has only by a setting."""


def check_name(value: object) -> None:
    """Check that a name has 1 to 200 characters, none of them a control character or ``/``.

    Raises:
        InvalidInput: of the field ``name``.
    """
    refuse(name_faults(value, "name"))


def name_faults(value: object, field: str) -> Iterator[InvalidInput]:
    """Yield the faults of a name: its length, a control character or ``/``, a space at either end."""
    if not isinstance(value, str):
        yield _not_text(value, field)
        return
    if not 1 <= len(value) <= MAX_NAME:
        yield InvalidInput(f"{field}: must have 1 to {MAX_NAME} characters, got {len(value)}", path=(field,))
    for place, character in enumerate(value):
        if character == "/" or not character.isprintable():
            yield InvalidInput(
                f"{field}: must not contain control characters or '/', got {character!r} at position {place}",
                path=(field,),
            )
            return
    if value != value.strip():
        yield InvalidInput(f"{field}: must not begin or end with a space, got {value!r}", path=(field,))


def check_text(value: object, field: str, *, least: int = 0, most: int = MAX_TEXT) -> None:
    """Free text is bounded and has no control characters but line breaks and tabs.

    Raises:
        InvalidInput: names the field.
    """
    refuse(text_faults(value, field, least=least, most=most))


def text_faults(value: object, field: str, *, least: int = 0, most: int = MAX_TEXT) -> Iterator[InvalidInput]:
    """Yield the faults of a free text: its length, or a control character that is no line break or tab."""
    if not isinstance(value, str):
        yield _not_text(value, field)
        return
    if len(value) < least:
        least_text = f"{least} character" if least == 1 else f"{least} characters"
        yield InvalidInput(f"{field}: must have at least {least_text}, got {value!r}", path=(field,))
    if len(value) > most:
        yield InvalidInput(
            f"{field}: must have at most {number_text(most)} characters, got {number_text(len(value))}", path=(field,)
        )
    bad = next((one for one in value if not one.isprintable() and one not in "\n\r\t" and _is_refused(one)), None)
    if bad is not None and bad >= "\ud800":
        yield InvalidInput(f"{field}: must not contain half of a surrogate pair, got {bad!r}", path=(field,))
    elif bad is not None:
        yield InvalidInput(f"{field}: must not contain control characters, got {bad!r}", path=(field,))


def _is_refused(character: str) -> bool:
    """Return whether it is a control character, or half of a surrogate pair, which no database stores."""
    return ord(character) < 160 or "\ud800" <= character <= "\udfff"


def check_reason(reason: str | None) -> None:
    """Check that the reason for a change is short.

    Raises:
        InvalidInput: it is longer than 1,000 characters, or has control characters.
    """
    if reason is not None:
        check_text(reason, "reason", most=MAX_REASON)


def check_resume(at: datetime | None, now: datetime) -> None:
    """Check that a pause ends in the future.

    Raises:
        InvalidInput: it would have ended already.
    """
    if at is not None and at <= now:
        message = f"must be later than now ({time_text(now)}), got {time_text(at)}"
        raise InvalidInput(f"resumeAt: {message}; resume it instead", path=("resumeAt",))


def check_silence(until: datetime | None, reason: str | None, now: datetime) -> None:
    """Check that a silence ends in the future, and that its reason is short.

    Raises:
        InvalidInput: of the reason, or it would have ended already.
    """
    check_reason(reason)
    if until is not None and until <= now:
        message = f"must be later than now ({time_text(now)}), got {time_text(until)}"
        raise InvalidInput(f"endsAt: {message}; leave it out to end a silence", path=("endsAt",))


def _not_text(value: object, field: str) -> InvalidInput:
    return InvalidInput(f"{field}: must be a text, got {value!r:.60}", path=(field,))


def number_faults(
    value: object, field: str, low: float, high: float, *, whole: bool = False, unit: str = ""
) -> Iterator[InvalidInput]:
    """Yield the faults of a number that must lie between ``low`` and ``high``, both included."""
    kinds = int if whole else int | float
    # True and False are whole numbers to Python, but nobody means one by them.
    if isinstance(value, bool) or not isinstance(value, kinds):
        got = f"{value!r:.60}"
    elif low <= value <= high:
        return
    else:
        got = number_text(value)
    kind = "a whole number from" if whole else "from"
    allowed = f"{kind} {number_text(low)} to {number_text(high)}{unit}"
    yield InvalidInput(f"{field}: must be {allowed}, got {got}", path=(field,))


def seconds_faults(value: object, field: str, low: float = 0) -> Iterator[InvalidInput]:
    """Yield the faults of a duration that must be from ``low`` seconds to ten years."""
    return number_faults(value, field, low, MAX_SECONDS, unit=" seconds")


def window_faults(start_at: datetime | None, end_at: datetime | None) -> Iterator[InvalidInput]:
    """Yield a fault unless the window of a task ends after it starts."""
    faults = [*time_faults(start_at, "startAt"), *time_faults(end_at, "endAt")]
    yield from faults
    if faults:
        return
    if start_at is not None and end_at is not None and end_at < start_at:
        yield InvalidInput(
            f"endAt: must not be before startAt ({time_text(start_at)}), got {time_text(end_at)}", path=("endAt",)
        )


def task_faults(spec: TaskSpec) -> Iterator[InvalidInput]:
    """Yield everything wrong with a task that can be judged without its schedule's text or a database."""
    yield from name_faults(spec.name, "name")
    yield from name_faults(spec.group, "group")
    if spec.owner is not None:
        yield from text_faults(spec.owner, "owner", least=1, most=MAX_NAME)
    yield from text_faults(spec.description, "description")
    yield from _policy_faults(spec)
    yield from attempt_faults(spec.retries, spec.retry_delay, spec.timeout, spec.max_duration)
    yield from seconds_faults(spec.jitter, "jitter")
    yield from window_faults(spec.start_at, spec.end_at)
    yield from label_faults(spec.labels)
    if spec.resources is not None:
        yield from resource_faults(spec.resources)
    if spec.rate is not None:
        yield from rate_faults(spec.rate.limit, spec.rate.per, spec.rate.burst)


def _policy_faults(spec: TaskSpec) -> Iterator[InvalidInput]:
    yield from seconds_faults(spec.misfire_grace, "misfireGrace")
    if spec.misfire is MisfirePolicy.NONE and spec.misfire_grace == 0:
        yield InvalidInput(
            "misfireGrace: must be above 0 with misfire NONE, under which everything later than the grace is missed "
            "and every occurrence is a little late, got 0",
            path=("misfireGrace",),
        )
    yield from number_faults(spec.catch_up_limit, "catchUpLimit", 1, MAX_CATCH_UP, whole=True)
    if spec.tolerance is None:
        return
    yield from seconds_faults(spec.tolerance, "tolerance")
    if not spec.schedule.syntax.is_anchored:
        yield InvalidInput(
            f"tolerance: is for INTERVAL schedules only, and this one is {spec.schedule.syntax.name}, "
            f"got {number_text(spec.tolerance)}; leave it out or set it to null",
            path=("tolerance",),
        )


def attempt_faults(
    retries: object, retry_delay: object, timeout: object, max_duration: object = None
) -> Iterator[InvalidInput]:
    """Yield the faults of a run's settings about its attempts."""
    yield from number_faults(retries, "retries", 0, MAX_RETRIES, whole=True)
    yield from seconds_faults(retry_delay, "retryDelay")
    if timeout is not None:
        yield from seconds_faults(timeout, "timeout", 0.001)
    if max_duration is not None:
        yield from seconds_faults(max_duration, "maxDuration", 0.001)


def new_run_faults(run: NewRun) -> Iterator[InvalidInput]:
    """Yield the faults of the settings of a new run; its job and arguments are judged apart."""
    yield from name_faults(run.group, "group")
    yield from text_faults(run.description, "description")
    yield from attempt_faults(run.retries, run.retry_delay, run.timeout, run.max_duration)
    if run.unique_key is not None:
        yield from text_faults(run.unique_key, "uniqueKey", least=1, most=MAX_UNIQUE_KEY)
    if run.labels is not None:
        yield from label_faults(run.labels)
    if run.carried is not None and CARRIED in run.carried:
        yield from resource_faults(run.carried[CARRIED])
    yield from time_faults(run.available_at, "runAt")
    yield from expiry_faults(run.expires_at, run.ttl, run.available_at)
    yield from hold_faults(run.hold, run.available_at)


def resource_place_faults(
    resources: Mapping[str, object] | None, job_name: str, isolation: Isolation
) -> Iterator[InvalidInput]:
    """Yield the fault of resources that a task or a run asks for whose job runs on a node."""
    if resources and isolation is not Isolation.REMOTE:
        message = (
            f"resources: are for jobs at an engine, and job '{job_name}' runs on a node (isolation "
            f"{isolation.name}); leave them out, or declare the job with the name of an executor, got "
            f"{', '.join(sorted(resources))}"
        )
        yield InvalidInput(message, path=("resources",))


def unknown(kind: str, name: str, known: Sequence[str], *, field: str = "name") -> NotFound:
    """Return the error for a name that does not exist, with the nearest one that does."""
    near = get_close_matches(name[:MAX_NAME], known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return NotFound(f"{kind} '{name[:MAX_NAME]}' does not exist{hint}", path=(field,))


def unknown_job(name: str, known: Sequence[str]) -> UserError:
    """Return the error for a job that no node has published, with the nearest one that some node has."""
    near = get_close_matches(name[:MAX_NAME], known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    if name == SHELL_JOB and not near:
        hint = "; a node has it only where the setting shell is true"
    return UserError(f"Unknown job: {name[:MAX_NAME]}{hint}", path=("jobName",), code=ErrorCode.UNKNOWN_JOB)
