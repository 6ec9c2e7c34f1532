"""The process at an engine: it begins an attempt, carries it out as a child process does, and says how it ended."""

import contextlib
import contextvars
import os
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from ...base.context import StopReason
from ...base.hiding import NOTHING_HIDDEN
from ..job.middleware import KeptResources
from ..process.child import ChildRun
from ..process.wire import Answer, Begin, Ended, NodeGoneError, Stop, Terminate
from .folder import FolderChannel
from .speaking import FOLDER, TOKEN, URL, Channel, OverError, RefusedError, Server, Speaking, TakenError, say

_REFUSED, _USAGE = 1, 2
LEFT_BEHIND: Final = 75
"""The status of a process whose job did not leave although its attempt was over."""
_TERMINATE_GRACE: Final = 2.0


def main(environment: Mapping[str, str] = os.environ) -> int:
    """Carry out the attempt that the environment names; return the exit status."""
    connect = _channel_of(environment)
    if connect is None:
        say(f"it is started by an executor, which sets {URL} and {TOKEN}, or {FOLDER}")
        return _USAGE
    # What the job starts itself has no business with these.
    for name in (URL, TOKEN, FOLDER):
        os.environ.pop(name, None)
    try:
        with contextlib.closing(connect()) as channel:
            begun = channel.ask("start", {"starter": secrets.token_hex(16)})
    except (OverError, TakenError) as error:
        say(f"nothing to do: {error}")
        return 0
    except RefusedError as error:
        say(f"its attempt cannot begin: {error}")
        return _REFUSED
    RemoteProcess(connect, begun).live()
    return 0


def _channel_of(environment: Mapping[str, str]) -> Callable[[], Channel] | None:
    url, token, folder = environment.get(URL), environment.get(TOKEN), environment.get(FOLDER)
    if folder:
        shared = FolderChannel(Path(folder))
        return lambda: shared
    return partial(Server, url, token) if url and token else None


class RemoteProcess:
    """The life of a process at an engine.

    Args:
        connect: Makes a channel, for one thread.
        begun: The answer to its start.
    """

    def __init__(self, connect: Callable[[], Channel], begun: Mapping[str, Any]) -> None:
        # As for a node, whose jobs are found in its working directory.
        path = [str(Path.cwd()), *sys.path]
        self._begin = Begin.model_validate({**begun["begin"], "path": path, "memory": None})
        self._speaking = Speaking(
            connect,
            sequence=begun["sequence"],
            heartbeat=begun["heartbeat"],
            on_answer=self._on_answer,
            on_stop=self._on_stop,
            on_over=self._on_over,
        )
        redactor = NOTHING_HIDDEN.also(self._begin.secrets)
        # An engine that takes a job away says so by SIGTERM.
        self._run = ChildRun(self._speaking, self._begin, redactor, KeptResources(), sigterm=StopReason.SHUTDOWN)

    def live(self) -> None:
        """Run the job to its end, and say how it ended."""
        self._speaking.start()
        try:
            outcome = contextvars.copy_context().run(self._run.run)
            self._speaking.send(Ended.of(outcome, self._run.at_end))
        except NodeGoneError as error:
            # Its end was decided elsewhere, and this one is of no use.
            say(str(error))
            return
        self._speaking.finish()

    def _on_answer(self, answer: object) -> None:
        self._run.on_message(Answer.model_validate(answer))

    def _on_stop(self, reason: str) -> None:
        self._run.on_message(Stop(reason=StopReason(reason)))

    def _on_over(self) -> None:
        """Have the job leave whose attempt is over, softly, then by an exception, then with the whole process."""
        self._run.on_message(Stop(reason=StopReason.SHUTDOWN))
        self._later(self._begin.grace, lambda: self._run.on_message(Terminate()))
        self._later(self._begin.grace + _TERMINATE_GRACE, lambda: os._exit(LEFT_BEHIND))

    def _later(self, seconds: float, do: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, do)
        timer.daemon = True
        timer.start()
