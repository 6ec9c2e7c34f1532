"""``cronograph exec``: run a command here as a run of a task of a server, which may be unreachable."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, Final
from urllib.parse import quote
from uuid import uuid4

import httpx
import typer

from ....jobs.core.base.errors import ConfigurationError
from ..base.options import DEFAULT_SERVER, ServerUrl
from ..base.output import Output, Refused, answering

KEPT: Final = 100_000
"""Bytes of the output that the server gets, the last ones."""
WAIT: Final = 10.0
"""Seconds for an answer of the server."""
GRACE: Final = 10.0
"""Seconds from SIGTERM to SIGKILL for a command that has used up its time."""
TIMED_OUT: Final = 124
"""The exit status of a command that used up its time, as ``timeout`` has it."""
MOST_SPOOLED: Final = 1_000
AWAY: Final = frozenset({408, 429, 500, 502, 503, 504})
"""Answers after which a ping is sent again later."""


@dataclass(frozen=True)
class _Ping:
    """A ping as it is sent, and as a file keeps it."""

    url: str
    at: str
    body: str = ""


class _Spool:
    """Pings that the server has not got yet: files that the next call sends, the oldest first."""

    def __init__(self, folder: Path, client: httpx.Client) -> None:
        self._folder = folder
        self._client = client

    def keep(self, ping: _Ping) -> str | None:
        """Keep a ping for the next call; None, or why that is not possible: the command runs anyway."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if len(self.waiting()) >= MOST_SPOOLED:
                return f"{MOST_SPOOLED:,} pings wait already"
            # The times have as many digits as each other, so the names are in the order of the pings.
            file = self._folder / f"{time.time_ns()}-{uuid4()}.json"
            fresh = file.with_suffix(".new")
            fresh.touch(mode=0o600)
            fresh.write_text(json.dumps(asdict(ping)), encoding="utf-8")
            fresh.rename(file)
        except OSError as error:
            return f"{self._folder} cannot be written: {error.strerror}"
        return None

    def waiting(self) -> list[Path]:
        """Return the files, the oldest first."""
        return sorted(self._folder.glob("*.json"))

    def send(self) -> list[Path]:
        """Send the waiting pings, as far as the server takes them; return files without a ping, which are put aside."""
        odd: list[Path] = []
        with self._alone() as is_mine:
            for file in self.waiting() if is_mine else ():
                try:
                    ping = _Ping(**json.loads(file.read_text(encoding="utf-8")))
                except (OSError, ValueError, TypeError):
                    odd.append(file.rename(file.with_suffix(".odd")))
                    continue
                answer = self.post(ping)
                if answer is None or answer.status_code in AWAY:
                    break
                file.unlink()
        return odd

    def post(self, ping: _Ping) -> httpx.Response | None:
        """Send a ping; None if the server is unreachable."""
        try:
            return self._client.post(httpx.URL(ping.url).copy_add_param("at", ping.at), content=ping.body.encode())
        except httpx.HTTPError:
            return None

    @contextmanager
    def _alone(self) -> Generator[bool]:
        """Hold the folder; yield whether no other call sends its files."""
        with ExitStack() as opened:
            try:
                file = opened.enter_context((self._folder / ".lock").open("w"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                # There is no folder yet, it cannot be written, or another call sends.
                is_mine = False
            else:
                is_mine = True
            yield is_mine


def _spool_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "cronograph" / "spool"


@answering
def exec(  # noqa: A001 - named like its command
    output: Output,
    command: Annotated[list[str], typer.Argument(help="The command and its arguments, behind `--`.")],
    task: Annotated[str, typer.Option("--task", metavar="NAME", help="The task, one of the job `foreign_job`.")],
    key: Annotated[
        str,
        typer.Option(
            "--key",
            envvar="CRONOGRAPH_PING_KEY",
            show_envvar=True,
            help="The last part of an address that `cronograph addresses create ping` made.",
        ),
    ] = "",
    create: Annotated[bool, typer.Option("--create", help="Create the task if there is none.")] = False,
    spool: Annotated[
        Path | None,
        typer.Option("--spool", help="Folder for pings while the server is unreachable. (default: of the user)"),
    ] = None,
    url: ServerUrl = DEFAULT_SERVER,
) -> None:
    """Run a command here, with its output and its exit status as a run of a task of a server.

    If the task has the overlap policy SKIP and its last run goes on, the command is not run. After the seconds that the
    task allows, the command is ended. If the server is unreachable, the command runs, and the next call reports it.
    """
    if not key:
        raise ConfigurationError("exec needs a key: --key or CRONOGRAPH_PING_KEY")
    base = f"{url.rstrip('/')}/ping/{quote(key, safe='')}/{quote(task, safe='')}"
    ask = f"?rid={uuid4()}{'&create=1' if create else ''}"
    with httpx.Client(timeout=WAIT, trust_env=False) as client:
        pings = _Spool(spool or _spool_folder(), client)
        for file in pings.send():
            output.note(f"warning: a file of the spool held no ping, and was put aside as {file}")
        limit = _begin(output, pings, f"{base}/start{ask}&exclusive=1", task)
        status, said = _run(command, limit, sys.stderr.buffer if output.as_json else sys.stdout.buffer)
        reported = _report(output, pings, _Ping(f"{base}/{status}{ask}", _now(), said))
    if output.as_json:
        output.result({"ok": status == 0, "task": task, "status": status, "isReported": reported}, "")
    raise typer.Exit(status)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _begin(output: Output, pings: _Spool, url: str, task: str) -> float | None:
    """Ping the start, and return the seconds that the command may take."""
    ping = _Ping(url, _now())
    answer = pings.post(ping)
    if answer is not None and answer.status_code == 409:
        raise Refused(f"task '{task}' runs already: run {answer.headers.get('cronograph-run', '')}; nothing was run")
    if answer is None or answer.status_code in AWAY:
        _keep(output, pings, ping)
        return None
    if not answer.is_success:
        output.note(f"warning: the server has not taken the start: {answer.status_code} {answer.text[:200]}")
        return None
    limit = answer.headers.get("cronograph-timeout")
    return None if limit is None else float(limit)


def _report(output: Output, pings: _Spool, ping: _Ping) -> bool:
    answer = pings.post(ping)
    if answer is None or answer.status_code in AWAY:
        _keep(output, pings, ping)
        return False
    if not answer.is_success:
        output.note(f"warning: the server has not taken the end: {answer.status_code} {answer.text[:200]}")
    return answer.is_success


def _keep(output: Output, pings: _Spool, ping: _Ping) -> None:
    why = pings.keep(ping)
    if why is None:
        output.note("warning: the server is unreachable; the next `cronograph exec` reports this run")
    else:
        output.note(f"warning: the server is unreachable, and {why}; this run is not reported")


def _run(command: list[str], limit: float | None, shown: IO[bytes]) -> tuple[int, str]:
    """Run a command, and return its exit status and the end of its output."""
    try:
        process = subprocess.Popen(  # noqa: S603 - to run it is what was asked
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        status = 127 if isinstance(error, FileNotFoundError) else 126
        message = f"{command[0]}: {error.strerror}"
        sys.stderr.write(f"{message}\n")
        return status, message
    said = bytearray()
    reader = threading.Thread(target=_pass_on, args=(process.stdout, shown, said), daemon=True)
    reader.start()
    with _forwarded(lambda number: _signal(process, number)):
        timed_out = not _ends(process, limit)
        status = process.wait()
    # What the command has left behind may hold the other end of the pipe.
    reader.join(timeout=1)
    note = f"\nended after {limit:g} s, the time that the task allows\n" if timed_out and limit is not None else ""
    sys.stderr.write(note)
    text = bytes(said[-KEPT:]).decode("utf-8", "replace")
    return TIMED_OUT if timed_out else status if status >= 0 else 128 - status, text + note


def _ends(process: "subprocess.Popen[bytes]", limit: float | None) -> bool:
    """Return whether a process ends by itself within its time; end it otherwise."""
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGTERM)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
        return False
    return True


def _pass_on(source: IO[bytes] | None, shown: IO[bytes], said: bytearray) -> None:
    """Show the output of a command as it comes, and keep the end of it."""
    while source is not None and (chunk := os.read(source.fileno(), 65_536)):
        shown.write(chunk)
        shown.flush()
        said += chunk
        del said[: -2 * KEPT]


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to a command and all that it started."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        """It has ended."""


@contextmanager
def _forwarded(forward: Callable[[int], None]) -> Generator[None]:
    """Hand the signals that end this process to the command."""

    def handle(number: int, _frame: Any) -> None:  # noqa: ANN401 - a frame
        forward(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
