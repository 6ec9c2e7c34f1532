"""The protocol of executors: the calls of a node to an engine that runs attempts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from ..core.base.resources import Resources
from ..core.remote import Seen

GROUP = "cronograph.executors"
"""The entry points by which executors are found: a name, and a function that makes one of its settings."""
REMOTE_MODULE: Final = "cronograph.remote"


class SubmissionError(Exception):
    """The engine has certainly not taken an attempt; any other exception leaves that open."""


class EngineAbsentError(SubmissionError):
    """The engine cannot be reached at the moment: the submission is tried again later."""


@dataclass(frozen=True, slots=True)
class Spec:
    """An attempt that is to run at an engine.

    Attributes:
        name: Its name there, of letters, digits and dashes: the installation, the run, the attempt.
        environment: The variables that its code needs: the address, the token, the run, the attempt.
        resources: The resources that its job asks for.
        timeout: Its time box, in seconds from the start of its code; None = it has none.
    """

    name: str
    environment: Mapping[str, str] = field(repr=False)
    resources: Resources
    job_name: str
    run_id: int
    attempt: int
    timeout: float | None = None

    def command(self, python: str) -> list[str]:
        """Return the words that run the attempt by this interpreter."""
        # The name is an argument for those who look for it among processes.
        return [python, "-m", REMOTE_MODULE, self.name]


@dataclass(frozen=True, slots=True)
class Place:
    """An attempt at an engine: its name there, and its handle; None: the answer to its submission was lost."""

    name: str
    handle: str | None


class Executor(Protocol):
    """Hands attempts to one engine. Its methods are called in threads, and may block; each may be asked again.

    One with an attribute ``revives`` that is true may restart attempts that it has ended: it is asked for all that it
    has at work, now and then, by ``find`` without places.
    """

    def submit(self, spec: Spec) -> str:
        """Submit an attempt to the engine; return the handle by which it is found again.

        Raises:
            SubmissionError: it has certainly not taken it.
            EngineAbsentError: neither has it, and may do so later.
        """
        ...

    def find(self, places: Sequence[Place]) -> Mapping[str, Seen]:
        """Return the engine's states of attempts, by name, with one call for all; attempts that it does not list lack.

        Without places: all that it has at work; asked only of one that ``revives``.
        """
        ...

    def look(self, place: Place) -> str | None:
        """Look for an attempt without a known handle by its name; return its handle, None: the engine has no such."""
        ...

    def cancel(self, place: Place) -> None:
        """End an attempt at the engine; one that has ended is left as it is."""
        ...

    def forget(self, place: Place) -> bool:
        """Tidy up the engine's remains of an attempt whose end is stored; False: not yet, it is asked for again."""
        ...

    def check(self) -> Sequence[str]:
        """Return the things that this executor lacks, in sentences; none: it works."""
        ...
