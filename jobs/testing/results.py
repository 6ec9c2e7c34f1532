"""Hold the end of an attempt in a test, and all that it said."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from ..actions.signals import PATH
from ..core.model import Json, Outcome, Run
from ..core.run_spec import RunSpec
from ..core.states import RunState
from ..core.steps import StepEnd, StepState, StoredStep
from ..core.waits import Wait
from ..queue.claims.claim import Started
from ..registry import JobDefinition
from ..registry.queue import RunOptions, check_options, in_seconds

TEST_URL = "https://cronograph.test"
"""Under which address people reach the server in tests."""


class RecordedSteps:
    """Keeps the results of the steps of one attempt.

    Args:
        given: Results of earlier attempts, by label; of a sleep that is over None, of a signal its payload.
        signals: The payloads in the boxes, by name.
        now: The time.

    Attributes:
        values: The values stored by now, by label.
    """

    def __init__(
        self,
        given: Mapping[str, Json] = MappingProxyType({}),
        signals: Mapping[str, Json] = MappingProxyType({}),
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._given = dict(given)
        self._signals = dict(signals)
        self._now = now
        self.values: dict[str, Json] = dict(given)

    def may_have(self, started: Started) -> bool:
        """Return whether results were given."""
        del started
        return bool(self._given)

    async def stored(self, started: Started) -> Mapping[str, StoredStep]:
        """Return the given results."""
        before = max(0, started.run.attempt - 1)
        return {label: StoredStep(label, before, value, kind=None) for label, value in self._given.items()}

    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        """Keep a result."""
        del started
        if end.state is StepState.DONE:
            self.values[end.label] = end.value
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        kept.set_result(True)
        return kept

    async def wait(self, started: Started, asked: Wait) -> StoredStep | None:
        """End a wait whose signal is in its box, begin any other."""
        attempt = started.run.attempt
        if asked.signal in self._signals:
            value = self._signals.pop(asked.signal)
            self.values[asked.label] = value
            return StoredStep(asked.label, attempt, value, asked.kind)
        until = asked.until
        if asked.seconds is not None and self._now is not None:
            until = self._now() + timedelta(seconds=asked.seconds)
        return StoredStep(asked.label, attempt, None, asked.kind, StepState.WAITING, until)

    async def signal_url(self, started: Started, label: str, page: Mapping[str, Json] | None) -> str | None:
        """Return an address that leads nowhere."""
        del page
        return f"{TEST_URL}{PATH}/{started.run.id}-{label}"


_SHOWN = 10
"""So many runs of the job are shown where none is as wanted."""
_MISSING = object()
_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def defaults_of(definition: JobDefinition | None) -> Mapping[str, Any]:
    """Return the default arguments of a job as JSON; they are not stored with a run."""
    properties: Mapping[str, Any] = {} if definition is None else definition.args_schema.get("properties", {})
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def find_enqueued(
    runs: Sequence[Run], args: Mapping[str, object] | None, options: RunOptions, defaults: Mapping[str, Any]
) -> Run | None:
    """Return the first run with these arguments and options, see ``Queue.assert_enqueued``; None = there is none."""
    wanted = _wanted(args, options)
    return next((run for run in runs if not _differences(run, wanted, defaults)), None)


def _wanted(args: Mapping[str, object] | None, options: RunOptions) -> dict[str, Any]:
    """Return the values that a run must have, by ``args.NAME`` or by the name of the option.

    Raises:
        TypeError: there is no such option; an argument was given as one.
    """
    try:
        check_options(options)
    except TypeError as error:
        raise TypeError(f"{error}; arguments of the job are given as a mapping, e.g. {{'source': 'app'}}") from None
    given: dict[str, Any] = {
        f"args.{name}": _JSON.dump_python(value, mode="json", by_alias=True) for name, value in (args or {}).items()
    }
    stored = {"run_at": "available_at"}
    for name, value in in_seconds(options).items():
        given[stored.get(name, name)] = value.lower() if name == "priority" and isinstance(value, str) else value
    return given


def _differences(run: Run, wanted: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    differences: list[str] = []
    args = {**defaults, **run.args}
    for name, value in wanted.items():
        is_argument = name.startswith("args.")
        found = args.get(name.removeprefix("args."), _MISSING) if is_argument else getattr(run, name)
        if found != value:
            shown = "nothing" if found is _MISSING else repr(found)
            differences.append(f"{name}: wanted {value!r}, got {shown}")
    return differences


def explanation(
    job: str,
    runs: Sequence[Run],
    everything: Sequence[Run],
    args: Mapping[str, object] | None,
    options: RunOptions,
    defaults: Mapping[str, Any],
) -> str:
    """Explain why none of a job's runs is as wanted."""
    wanted = _wanted(args, options)
    asked = f" with {', '.join(f'{name}={value!r}' for name, value in wanted.items())}" if wanted else ""
    lines = [f"no run of job '{job}' was enqueued{asked}"]
    if not runs:
        others = sorted({run.job_name for run in everything})
        lines.append(f"  there are runs of {', '.join(others)}" if others else "  nothing was enqueued at all")
    for run in runs[:_SHOWN]:
        lines.append(f"  run {run.id}, args {run.args!r}:")
        lines += [f"    {difference}" for difference in _differences(run, wanted, defaults)]
    if len(runs) > _SHOWN:
        lines.append(f"  and {len(runs) - _SHOWN} more")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class LoggedLine:
    """A line that the job wrote by ``ctx.log`` or ``logging``. ``level`` is ``debug`` … ``critical``.

    ``step`` is the step that wrote it.
    """

    at: datetime
    level: str
    message: str
    fields: Json = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """Hold the end of one attempt, and all that the job said.

    Attributes:
        attempt: 1 for the first.
        outcome: ``success``, ``failed``, ``timed_out``, ``cancelled``, ``snoozed``, ``suspended`` or ``handed_back``.
        state: Of its run afterwards: ``success``, ``failed``, ``cancelled``, ``stuck`` (to be retried), ``waiting`` or
            ``suspended``.
        retry_in: Seconds until the next attempt; None = there is none, or not by time alone.
        records_processed: The count of the job.
        value: Its JSON result.
        error: The message, set whenever it did not succeed.
        error_type: The exception's name.
        traceback: Where it was raised.
        lines: All log lines.
        progress: Every value that was shown: ``done``, ``total`` and ``message``.
        checkpoint: The last one, saved by this attempt or given to it.
        started_at: By the clock.
        completed_at: By the clock.
        enqueued: The runs it enqueued by ``ctx``, those that follow its end last; of a failed attempt only runs
            put there at once.
        steps: The results of the run's steps that are stored by now, by label (``charge``, ``charge#2``).
    """

    attempt: int
    outcome: Outcome
    state: RunState
    retry_in: float | None
    records_processed: int | None
    value: Json
    error: str | None
    error_type: str | None
    traceback: str | None
    lines: tuple[LoggedLine, ...]
    progress: tuple[Json, ...]
    checkpoint: Json
    started_at: datetime
    completed_at: datetime
    enqueued: tuple[RunSpec, ...] = ()
    steps: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def success(self) -> bool:
        """Return the value of the execution log: true for ``success``, ``snoozed`` and ``suspended``."""
        return self.outcome.is_success

    @property
    def messages(self) -> list[str]:
        """The messages of the lines."""
        return [line.message for line in self.lines]
