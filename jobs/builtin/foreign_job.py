"""The job ``foreign_job``: a run that waits for the pings of a program that another machine runs."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from ..base.context import JobContext
from ..base.outcomes import PermanentFailure, Result, WaitTimedOut

FOREIGN_JOB: Final = "foreign_job"
SIGNAL: Final = "ping"
"""The signal by which a ping comes to its run."""
SLACK: Final = 15.0
"""Seconds in which a program that was ended for the time it took reports that."""
PingKind = Literal["start", "success", "fail", "log"]
Grace = Annotated[float, Field(gt=0, le=366 * 86400, description="Seconds in which the first ping has to come.")]
Longest = Annotated[
    float | None,
    Field(
        gt=0,
        le=366 * 86400,
        description="Seconds from the ping of the start to that of the end; else the grace.",
    ),
]


class Ping(BaseModel):
    """One ping.

    Attributes:
        at: The time when the server got it.
        code: The exit status that it has.
        rid: The sender's id of its run.
        body: The log of the sender.
    """

    kind: PingKind
    at: datetime
    code: int | None = None
    rid: str | None = None
    body: str = ""
    sender: str | None = None


class NoPing(PermanentFailure):
    """No ping came in time."""


class PingedFailure(PermanentFailure):
    """A ping said that the program failed."""


async def foreign_job(context: JobContext, grace: Grace = 3600.0, longest: Longest = None) -> Result:
    """Waits for the pings of a program that another machine runs: its start, its log lines, and its end.

    A run fails if no ping comes within the grace, or no end within `longest` of the start. While it waits it has no
    slot. The result value holds `duration`, the seconds from start to end, and `code`, the exit status.
    """
    started: datetime | None = None
    due = context.scheduled_for
    while True:
        # A wait that has begun keeps its own end: the time of day counts only where a new one begins.
        ends = None if started is None else started + timedelta(seconds=(longest or grace) + SLACK)
        if started is None and due is not None:
            ends = due + timedelta(seconds=grace)
        left = grace if ends is None else max(1.0, (ends - datetime.now(UTC)).total_seconds())
        try:
            ping = await context.wait_for(SIGNAL, Ping, timeout=left)
        except WaitTimedOut:
            raise NoPing(_missing(started, grace, longest)) from None
        await context.step("log", _log, context, ping)
        if ping.kind == "start":
            started = ping.at
        elif ping.kind == "fail":
            raise PingedFailure("the program failed" if ping.code is None else f"the program ended with {ping.code}")
        elif ping.kind == "success":
            took = None if started is None else (ping.at - started).total_seconds()
            return Result(value={"duration": took, "code": ping.code})


def _missing(started: datetime | None, grace: float, longest: float | None) -> str:
    if started is None:
        return f"no ping came within {grace:g} s"
    return f"a start was pinged at {started:%Y-%m-%d %H:%M:%S} UTC, and no end within {longest or grace:g} s"


def _log(context: JobContext, ping: Ping) -> None:
    lines = ping.body.splitlines()
    write = context.log.error if ping.kind == "fail" else context.log.info
    for line in lines:
        write(line)
    if not lines:
        write(f"ping: {ping.kind}", code=ping.code, rid=ping.rid, sender=ping.sender)
