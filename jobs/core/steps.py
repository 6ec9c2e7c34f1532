"""Durable steps of a run: their names, and their stored values. Pure rules."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, NamedTuple

from .actor import Role
from .base.errors import ErrorCode, InvalidInput, InvalidState, NotFound, UserError, refuse
from .model import Json, Trigger
from .run_spec import RunSpec

MAX_PART: Final = 200
"""Characters of a step's name, and of its key."""
_RESERVED: Final = "[]#"
"""Characters between the parts of a label."""


class StepKind(StrEnum):
    """Name the kind of a step: a function that is called, a sleep, a wait for a signal, or one for other runs."""

    FUNCTION = "function"
    SLEEP = "sleep"
    SIGNAL = "signal"
    RUNS = "runs"


class StepState(StrEnum):
    """The state of a step.

    ``DONE``: its result is stored. ``FAILED``: in one attempt. ``WAITING``: the awaited thing has not come yet.
    ``TIMED_OUT``: it did not come in time. ``REJECTED``: it came, and says no.
    """

    DONE = "done"
    FAILED = "failed"
    WAITING = "waiting"
    TIMED_OUT = "timed_out"
    REJECTED = "rejected"


FINAL_STATES: Final = frozenset({StepState.DONE, StepState.TIMED_OUT, StepState.REJECTED})
"""In these, the result of a step stays."""


PLACE: Final = "place"
"""The member of a stored cleanup that says in which order an attempt registered them."""


class StepName(NamedTuple):
    """Identify a step within its run: never by its position, never by its code.

    Attributes:
        name: As the job calls it.
        key: Distinguishes steps of one name that run at the same time; None = none was given.
        use: 1 for the first use of this name and key in the run, 2 for the second …
    """

    name: str
    key: str | None = None
    use: int = 1

    @property
    def label(self) -> str:
        """All of it as one text: ``charge``, ``charge#2``, ``charge[42]``, ``charge[42]#2``."""
        keyed = self.name if self.key is None else f"{self.name}[{self.key}]"
        return keyed if self.use == 1 else f"{keyed}#{self.use}"

    @property
    def signal(self) -> str:
        """The box of signals that a wait of this name empties: ``approved``, ``approved[42]``, whichever use it is."""
        return self._replace(use=1).label

    @classmethod
    def parse(cls, label: str) -> "StepName":
        """Return the name behind a label; the opposite of ``label``."""
        name, bracket, rest = label.partition("[")
        key: str | None = None
        if bracket:
            key, _, rest = rest.rpartition("]")
        else:
            name, mark, number = label.partition("#")
            rest = mark + number
        return cls(name, key, int(rest[1:]) if rest else 1)


def check_step(name: object, key: object) -> None:
    """Check the name and the key of a step.

    Raises:
        UserError: one of them is wrong.
    """
    refuse([*_part_faults(name, "name", _RESERVED), *(() if key is None else _part_faults(key, "key", ""))])


def check_label(label: str) -> None:
    """Let a label pass that a job of a node can make.

    Raises:
        UserError: it is none, or its name or key is wrong.
    """
    try:
        parsed = StepName.parse(label)
    except ValueError:
        parsed = None
    if parsed is None or parsed.label != label or not 1 <= parsed.use < 2**31:
        raise InvalidInput(f"step: must be a name, [a key] if it has one, and #2 the second time, got {label!r:.60}")
    check_step(parsed.name, parsed.key)


def _part_faults(value: object, field: str, reserved: str) -> Iterator[UserError]:
    if not isinstance(value, str):
        form = "text or a whole number" if field == "key" else "text"
        yield InvalidInput(f"step: {field} must be {form}, got {type(value).__name__}: {value!r:.60}", path=(field,))
        return
    if not 1 <= len(value) <= MAX_PART:
        yield InvalidInput(
            f"step: {field} must have 1 to {MAX_PART} characters, got {len(value)}: {value!r:.60}", path=(field,)
        )
    bad = next((one for one in value if one in reserved or not one.isprintable()), None)
    if bad is not None:
        hint = "; tell steps of one name apart by key=" if bad in reserved else ""
        yield InvalidInput(f"step: {field} must not contain {bad!r}, got {value!r:.60}{hint}", path=(field,))


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step that ended in an attempt, as it is stored.

    Attributes:
        label: See ``StepName.label``.
        started_at: When its function was called first, by the clock of the database as far as the attempt knows it.
        finished_at: When it returned, or failed for the last time.
        value: Its result, as JSON.
        error: Why it failed; None = it did not.
        cleanup: The run that undoes it, once its own run has failed for good or was cancelled; None = there is none.
        place: Of a cleanup: how many the attempt had registered before.
    """

    label: str
    started_at: datetime
    finished_at: datetime
    value: Json = None
    error: str | None = None
    cleanup: RunSpec | None = None
    place: int = 0

    @property
    def state(self) -> StepState:
        """Return how it ended."""
        return StepState.DONE if self.error is None else StepState.FAILED


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A result that a later attempt gets instead of doing the step again, or a wait that has begun.

    Attributes:
        label: See ``StepName.label``.
        attempt: Which attempt at the run stored it, or began the wait; 0 = it was copied from the run that this one
            retries.
        value: The result of the step, or the payload of the signal that came, as JSON.
        kind: Its kind; None = as the job says, in tests without a database.
        wake_at: Of a wait: when it ends by time.
        error: Why a signal says no.
        flow_id: Of a wait for other runs: the flow that they are.
        runs: Of such a wait that has not ended: these runs.
        began: Of a wait that this attempt began: when, by the clock of the database.
    """

    label: str
    attempt: int
    value: Json
    kind: StepKind | None = StepKind.FUNCTION
    state: StepState = StepState.DONE
    wake_at: datetime | None = None
    error: str | None = None
    flow_id: int | None = None
    runs: tuple[int, ...] = ()
    began: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run as it is stored: a result, or a failure in one attempt.

    Attributes:
        label: See ``StepName.label``.
        attempt: In which attempt at the run it ended, or a wait began; 0 = it was copied from the run that this one
            retries.
        started_at: When its function was called first, or the wait began.
        finished_at: When it ended; None = it waits.
        wake_at: Of a wait: when it ends by time.
        value: Its result, or the signal's payload.
        error: Why it failed, or why the signal says no.
        used: False: an attempt that ended well did not ask for this result any more.
        signal: Of a wait for a signal: its name, with the key.
        role: Whose signals it takes: of accounts with this role or one above it.
        form: The JSON Schema of the signal's payload; None = anything.
        flow_id: Of a wait for other runs: the flow that they are.
        latest: False: a later attempt took this step again.
        cleanup_job: The job whose run undoes it, once its own run has failed for good or was cancelled; None = none.
        page: The page of the newest address on which people answer it, as it is stored; None = there is none.
    """

    run_id: int
    label: str
    kind: StepKind
    state: StepState
    attempt: int
    started_at: datetime
    finished_at: datetime | None
    wake_at: datetime | None
    value: Json
    error: str | None
    used: bool
    signal: str | None = None
    role: Role | None = None
    form: dict[str, Json] | None = None
    flow_id: int | None = None
    latest: bool = True
    cleanup_job: str | None = None
    page: dict[str, Json] | None = None

    @property
    def name(self) -> str:
        """As the job calls it."""
        return StepName.parse(self.label).name

    @property
    def key(self) -> str | None:
        """See ``StepName.key``."""
        return StepName.parse(self.label).key

    @property
    def use(self) -> int:
        """See ``StepName.use``."""
        return StepName.parse(self.label).use

    @property
    def place(self) -> tuple[int, datetime, str]:
        """Return the place among the steps of its run: attempts one after the other, each by the start of its steps."""
        return self.attempt, self.started_at, self.label


def may_have_steps(attempt: int, trigger: str) -> bool:
    """Return whether a run may have steps of an earlier attempt, or of the run that it retries."""
    return attempt > 1 or trigger == Trigger.RETRY.value


def results_before(steps: Sequence[Step], label: str, *, undone: bool = False) -> list[str]:
    """Return the labels of the results that a run keeps which goes on from this step: of all that began before it.

    Args:
        steps: The run's.
        label: Where the other run goes on.
        undone: The run did not succeed, so steps with a cleanup were undone.

    Raises:
        NotFound: code ``UNKNOWN_STEP``: the run has no such step; with the nearest one.
        InvalidState: a step before it was undone, so its result holds no more.
    """
    places = [one.place for one in steps if one.label == label]
    if not places:
        raise unknown_step(label, (one.label for one in steps))
    first = min(places)
    kept = [one for one in steps if one.state in FINAL_STATES and one.place < first]
    gone = [one for one in kept if undone and one.cleanup_job is not None]
    if gone:
        earliest = min(gone, key=lambda one: one.place)
        raise InvalidState(
            f"fromStep: step '{earliest.label}' comes before '{label}', and job '{earliest.cleanup_job}' has undone it "
            f"or is about to, since the run did not succeed; go on from '{earliest.label}' or a step before it",
            path=("fromStep",),
        )
    return [one.label for one in kept]


def unknown_step(label: str, known: Iterable[str]) -> NotFound:
    """Return the refusal of a step that a run does not have."""
    labels = list(dict.fromkeys(known))
    near = get_close_matches(label, labels, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(labels[:10]) or 'no steps'}"
    message = f"fromStep: the run has no step '{label:.60}'; {hint}"
    return NotFound(message, path=("fromStep",), code=ErrorCode.UNKNOWN_STEP)
