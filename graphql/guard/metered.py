"""Measure how long an operation keeps the event loop busy: its steps are timed one by one, since others run between."""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

METER: Final = "cronograph-meter"
"""Under this key of an operation's extensions its executor finds the ``Meter``; without it nothing is timed."""


class Charge(Protocol):
    """Takes note of a step that is over, by its beginning and its end on the clock of the meter."""

    def __call__(self, began: float, ended: float, /) -> None:
        """Note that a step began and ended at these times."""
        ...


class Meter:
    """Times the steps that run on the event loop for one caller.

    Attributes:
        clock: Seconds.
        inside: Whether a step runs just now.
        steps: How many are over.
    """

    __slots__ = ("_charge", "clock", "inside", "steps")

    def __init__(self, charge: Charge, clock: Callable[[], float] = perf_counter) -> None:
        """Start outside of any step.

        Args:
            charge: Anyone who adds up the steps.
            clock: Seconds. The time that passes while a step runs, not that of the processor: others wait
                for it, and asking for it costs a tenth.
        """
        self._charge = charge
        self.clock = clock
        self.inside = False
        self.steps = 0

    @contextmanager
    def measured(self) -> Generator[None]:
        """Time a block that does not await."""
        began = self.clock()
        try:
            yield
        finally:
            self.end(began)

    def end(self, began: float) -> None:
        """Charge a step that is over."""
        self.steps += 1
        self._charge(began, self.clock())

    def of(self, awaitable: Awaitable[T]) -> "Metered[T]":
        """Return the same awaitable, with its steps timed; those within it that are timed as well count once."""
        return Metered(self, awaitable)


class Metered(Coroutine[Any, Any, T]):
    """An awaitable whose steps are timed, also where a task of its own drives it."""

    __slots__ = ("_meter", "_steps")

    def __init__(self, meter: Meter, awaitable: Awaitable[T]) -> None:
        self._meter = meter
        self._steps: Any = awaitable if isinstance(awaitable, Coroutine) else awaitable.__await__()

    def send(self, value: Any) -> Any:  # noqa: ANN401 - what a task and the one who waits say to each other
        """Go on to the next thing to wait for."""
        return self._timed(self._steps.send, value)

    def throw(self, *error: Any) -> Any:  # noqa: ANN401 - as above
        """Go on from an error, such as a cancellation."""
        return self._timed(self._steps.throw, *error)

    def close(self) -> None:
        """End it where it stands."""
        self._timed(self._steps.close)

    def __await__(self) -> "Metered[T]":  # pyright: ignore[reportIncompatibleMethodOverride] - what awaits asks for send, throw and close alone
        """Return its steps."""
        return self

    def __iter__(self) -> "Metered[T]":
        """Return its steps."""
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - as above
        """Return the first step, and each one after a plain wait."""
        return self._timed(self._steps.send, None)

    def _timed(self, step: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401 - as above
        meter = self._meter
        if meter.inside:
            return step(*args)
        meter.inside = True
        began = meter.clock()
        try:
            return step(*args)
        finally:
            meter.inside = False
            meter.end(began)
