"""The job ``shell``: a command of the operating system, in a child process that can be killed with all it started."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Annotated, Final

from pydantic import AfterValidator, Field

from ..base.context import JobContext
from ..base.outcomes import PermanentFailure, Result

KEPT: Final = ("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER", "CRONOGRAPH_CHILD")
"""Variables of the node that a command gets, besides ``LC_*``: no address of a database, no token and no key.

By the last one a node finds processes that a command has left behind.
"""
LINE_LENGTH: Final = 16 * 1024
"""Bytes of a line of the log; longer ones are continued in the next."""
_LOOK: Final = 0.2
"""Seconds between two looks at whether the job should stop."""


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must have no NUL character: no program can be given one")
    return text


Text = Annotated[str, Field(min_length=1, max_length=64 * 1024), AfterValidator(_without_nul)]
Word = Annotated[str, Field(max_length=64 * 1024), AfterValidator(_without_nul)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
Command = Annotated[
    Text | Annotated[list[Word], Field(min_length=1, max_length=1000)],
    Field(description="Text is run by `/bin/sh -c`; a list is a program and its arguments, without a shell."),
]
Environment = Annotated[
    dict[Variable, Word] | None,
    Field(description="Variables; besides them the command gets `PATH`, `HOME`, `LANG` and a few like these."),
]
Directory = Annotated[Text | None, Field(description="The working directory; unless set, that of the server.")]
Status = Annotated[int, Field(ge=0, le=255)]
Expected = Annotated[
    Status | Annotated[list[Status], Field(min_length=1, max_length=256)],
    Field(description="The exit status that counts as success, or several."),
]
Input = Annotated[
    Annotated[str, Field(max_length=256 * 1024)] | None,
    Field(description="The command's standard input."),
]


class CommandFailed(Exception):  # noqa: N818 - named after what happened
    """The command ended with a status that was not expected, or by a signal."""


def shell(
    context: JobContext,
    command: Command,
    environment: Environment = None,
    directory: Directory = None,
    input: Input = None,
    expected_status: Expected = 0,
) -> Result:
    """Runs a command of the operating system as the user of the server, on nodes whose setting `shell` is true.

    Each line that it writes to standard output is kept with the execution as INFO, each of standard error as WARNING.
    A cancel and the end of the time box send SIGTERM to the command and to all that it started; processes left after
    the grace are killed. The result value holds `status`.
    """
    process = _started(command, environment or {}, directory)
    readers = [
        threading.Thread(target=_keep, args=(stream, write), daemon=True)
        for stream, write in ((process.stdout, context.log.info), (process.stderr, context.log.warning))
        if stream is not None
    ]
    for one in readers:
        one.start()
    threading.Thread(target=_feed, args=(process.stdin, input or ""), daemon=True).start()
    status = _ended(context, process)
    for one in readers:
        # What the command left behind may hold the other end of the pipe.
        one.join(timeout=1)
    expected = [expected_status] if isinstance(expected_status, int) else expected_status
    if status not in expected:
        raise CommandFailed(_failure(status))
    return Result(value={"status": status})


def _started(
    command: str | Sequence[str], environment: Mapping[str, str], directory: str | None
) -> "subprocess.Popen[bytes]":
    arguments = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("LC_")}
    try:
        return subprocess.Popen(  # noqa: S603 - to run what it is given is what this job is for
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            env={**kept, **environment},
        )
    except OSError as error:
        what = "directory" if error.filename == directory else "command"
        shown = directory if what == "directory" else arguments[0]
        raise PermanentFailure(
            f"{what}: must be one that can be used here, got {shown!r:.200}: {error.strerror}"
        ) from None


def _keep(stream: IO[bytes], write: Callable[[str], None]) -> None:
    while line := stream.readline(LINE_LENGTH):
        write(line.decode(errors="replace").rstrip("\r\n"))


def _feed(stream: IO[bytes] | None, text: str) -> None:
    """Write the standard input and close it; a command need not read it."""
    if stream is not None:
        try:
            with stream:
                stream.write(text.encode())
        except BrokenPipeError:
            """The command has ended, or has closed it."""


def _ended(context: JobContext, process: "subprocess.Popen[bytes]") -> int:
    """Wait for the end of the command, and ask it to end when the job should; return its status (signal: below 0)."""
    asked = False
    while True:
        try:
            return process.wait(_LOOK)
        except subprocess.TimeoutExpired:
            if context.should_stop and not asked:
                asked = True
                _ask_to_end()


def _ask_to_end() -> None:
    """Send SIGTERM to all of this process' group but itself, which the node alone ends."""
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)


def _failure(status: int) -> str:
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        return f"the command was ended by {name}; its output is in the log"
    hints = {126: " (it cannot be executed)", 127: " (there is no such command)"}
    return f"the command ended with exit status {status}{hints.get(status, '')}; its output is in the log"
