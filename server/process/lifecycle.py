"""In which phase of its life the process is; what ``/health`` answers comes from here."""

from enum import StrEnum


class Phase(StrEnum):
    """A process starts, migrates its database, recovers what a dead process left, serves, drains, and ends."""

    STARTING = "starting"
    MIGRATING = "migrating"
    RECOVERING = "recovering"
    SERVING = "serving"
    DRAINING = "draining"


class Lifecycle:
    """The present phase. Once it drains, nothing brings it back."""

    def __init__(self) -> None:
        self._phase = Phase.STARTING

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return self._phase

    def enter(self, phase: Phase) -> None:
        """Go on to ``phase``; ignored once the process drains, because a start-up step may end after the signal."""
        if self._phase is not Phase.DRAINING:
            self._phase = phase
