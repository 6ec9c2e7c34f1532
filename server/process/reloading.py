"""``cronograph serve --reload``: a server that is restarted whenever the code of its jobs changes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final

from watchfiles import Change, PythonFilter, watch

from ...jobs.runtime.process.kernel import PR_SET_PDEATHSIG, control_process

LOOK_EVERY: Final = 300
"""Milliseconds between two looks at whether the server still runs."""
FLAG: Final = "--reload"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Reloader:
    """Runs a command, and restarts it when a file changes.

    The process is asked to end as by SIGTERM: its running jobs may finish, or are handed back to the queue. A command
    that fails is tried again at the next change; one that ends by itself with status 0 is not.

    Args:
        command: The command and its arguments.
        folders: Where Python files are looked after, with all folders below.
        also: Further files that count.
    """

    def __init__(self, command: Sequence[str], folders: Iterable[Path], also: Iterable[Path] = ()) -> None:
        self._command = list(command)
        self._folders = sorted(set(folders))
        self._filter = _Filter(also)
        self._stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._asked: signal.Signals | None = None
        self._stopped: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Serve until a signal ends it; return the exit status of the last server."""
        with self._passing_signals_on():
            child = mourned = None
            changes = watch(
                *self._folders,
                watch_filter=self._filter,
                rust_timeout=LOOK_EVERY,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
            )
            for changed in changes:
                if child is None:
                    # Only now everything is watched: a change that comes while the server starts is not missed.
                    child = self._start()
                elif changed and not self._stop.is_set():
                    _say(f"{_shown(changed)}: the server restarts")
                    self._end(child)
                    child = child if self._stop.is_set() else self._start()
                elif child.poll() == 0:
                    break
                elif child.returncode is not None and child is not mourned:
                    mourned = child
                    _say(f"the server ended with status {child.returncode}; the next change starts it again")
            status = child.wait() if child is not None else 0
        return status if status >= 0 else 128 - status

    def _start(self) -> subprocess.Popen[bytes]:
        # A group of its own: a Ctrl+C reaches it once, by us, and not as the second signal that ends it at once.
        self._child = subprocess.Popen(  # noqa: S603 - as it was given
            self._command,
            process_group=0,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - it takes no lock that a thread could hold
        )
        child = self._child
        if self._asked is not None and self._stopped is not child:
            # The signal came while there was nobody to hand it on to.
            self._pass_on(self._asked)
        return child

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        if child.poll() is None:
            child.terminate()
        child.wait()

    @contextmanager
    def _passing_signals_on(self) -> Generator[None]:
        handlers = dict.fromkeys(_SIGNALS, self._hear) | {signal.SIGHUP: self._hear_hang_up}
        before = [(number, signal.signal(number, handler)) for number, handler in handlers.items()]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        self._asked = signal.Signals(number)
        self._stop.set()
        self._pass_on(self._asked)

    def _hear_hang_up(self, number: int, _frame: FrameType | None) -> None:
        """Let the server decide: it reads its files again, or stops because its terminal has gone."""
        self._send(signal.Signals(number))

    def _pass_on(self, number: signal.Signals) -> None:
        self._stopped = self._child
        self._send(number)

    def _send(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)


class _Filter(PythonFilter):
    """Python files, and files that are named."""

    def __init__(self, also: Iterable[Path]) -> None:
        super().__init__()
        self._also = {str(path.resolve()) for path in also}

    def __call__(self, change: Change, path: str) -> bool:
        """Return whether a change counts."""
        return path in self._also or super().__call__(change, path)


def reloading_command(arguments: Sequence[str]) -> list[str]:
    """Return the command that serves as this process was asked to, but once."""
    return [sys.executable, "-m", "cronograph", *(one for one in arguments if one != FLAG)]


def folders_of(modules: Iterable[str]) -> list[Path]:
    """Return the working directory, and the folders of the packages of these modules, without importing them."""
    here = Path.cwd()
    if str(here) not in sys.path:
        sys.path.append(str(here))
    found = [here]
    for name in modules:
        top = name.partition(".")[0]
        spec = find_spec(top)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
        if spec is not None and spec.has_location and spec.origin is not None and not places:
            places = [str(Path(spec.origin).parent)]
        found += [Path(place) for place in places if Path(place).is_dir()]
    return [one for one in found if one == here or not one.is_relative_to(here)]


def _end_with_parent() -> None:
    """Let the kernel of Linux end the server with its parent: a process that is killed hands no signal on."""
    control_process(PR_SET_PDEATHSIG, signal.SIGTERM)


def _shown(changed: set[tuple[Change, str]]) -> str:
    names = sorted({os.path.relpath(path) for _, path in changed})
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more} changed"


def _say(sentence: str) -> None:
    sys.stderr.write(f"reload: {sentence}\n")
    sys.stderr.flush()
