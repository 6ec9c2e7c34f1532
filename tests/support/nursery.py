"""The process behind `Nursery`: it has imported what its children run, and forks one for each order of a test.

A fresh interpreter takes two seconds of processor time to import what `cronograph serve` needs; a fork of one that has
done so takes some milliseconds. The child is a process of its own in every respect: session, working directory,
environment, output, modules, exit status. This file is run by its path and imports nothing of the tests, so that
children find the same modules as the installed command does. It ends, and kills all children, when the tests do: those
too that have left the process which started them, as daemons and what engines start do.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

LOADED_LATER = (
    "anyio._core._sockets",
    "anyio._core._streams",
    "anyio._core._tasks",
    "anyio.lowlevel",
    "apscheduler.executors.asyncio",
    "encodings.idna",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "strawberry.federation.schema_directives",
    "typer._adapters",
    "typer._click.decorators",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl",
)
"""What a server imports only once it starts."""

_CHUNK = 1 << 16


class Nurse:
    """Takes orders from the tests, one JSON line each with some files, and answers with the pid.

    The files: where output goes, where the exit status is written, and what else the child is to find; its number there
    becomes the last argument of the command line.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._statuses: dict[int, int] = {}
        self._woken, self._waker = socket.socketpair()

    def serve(self) -> bool:
        """Work until the tests are gone: False then, and True in each child, prepared to run its command."""
        _adopt_orphans()
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self._woken in ready:
                    self._woken.recv(_CHUNK)
                    self._reap()
                if self._control in ready:
                    order, files = self._order()
                    if order is None:
                        self._end_all()
                        return False
                    if self._fork(order, *files):
                        return True

    def _order(self) -> tuple[dict[str, Any] | None, list[int]]:
        line, files = b"", list[int]()
        while not line.endswith(b"\n"):
            data, more, _, _ = socket.recv_fds(self._control, _CHUNK, 3)
            if not data:
                return None, []
            line, files = line + data, files + more
        return json.loads(line), files

    def _fork(self, order: dict[str, Any], output: int, status: int, *handed_over: int) -> bool:
        pid = os.fork()
        if pid == 0:
            self._become_child(order, output)
            sys.argv += map(str, handed_over)
            os.close(status)
            return True
        for file in (output, *handed_over):
            os.close(file)
        self._statuses[pid] = status
        self._control.sendall(b"%d\n" % pid)
        return False

    def _become_child(self, order: dict[str, Any], output: int) -> None:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for inherited in (self._control, self._woken, self._waker):
            inherited.close()
        for other in self._statuses.values():
            os.close(other)
        for number in (1, 2):
            os.dup2(output, number)
        os.close(output)
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        sys.argv = order["arguments"]

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                status = self._statuses.pop(ended[0], None)
                if status is None:  # an orphan
                    continue
                os.write(status, b"%d" % os.waitstatus_to_exitcode(ended[1]))
                os.close(status)

    def _end_all(self) -> None:
        for pid in self._statuses:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        # The children of those that die are children of this process then.
        with suppress(ChildProcessError, FileNotFoundError):
            while True:
                for child in _CHILDREN.read_text().split():
                    os.kill(int(child), signal.SIGKILL)
                os.waitpid(-1, 0)


_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")
_PR_SET_CHILD_SUBREAPER = 36


def _adopt_orphans() -> None:
    """Have Linux make those children of this process whose parents have died; elsewhere they are lost sight of."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Without a handler in Python the wake-up socket hears nothing."""


def commands() -> Callable[[], None]:
    """The command line, and all that it needs; after `-m` a module that lies in the working directory."""
    cli = importlib.import_module("cronograph.server.cli")
    cli.application(cli.COMMANDS)
    importlib.import_module("cronograph.graphql.schema").shared_schema()
    importlib.import_module("cronograph.jobs.builtin").builtin_jobs(with_shell=False)
    for module in LOADED_LATER:
        importlib.import_module(module)

    def run() -> None:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            cli.main()

    return run


def launchers() -> Callable[[], None]:
    """The launcher of child processes, and nothing beside it: so its children find what they find in earnest."""
    main: Callable[[], None] = importlib.import_module("cronograph.jobs.runtime.process.launcher").main
    return main


def programs() -> Callable[[], None]:
    """Any program, by the words of its command line."""

    def run() -> None:
        # Python ignores it, and programs inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(sys.argv[0], sys.argv)

    return run


def end_after(run: Callable[[], None]) -> NoReturn:
    """Run to the end and end this process, without what Python does at last.

    To take apart, object by object, all that was imported before the fork is a quarter of what a short-lived server
    costs. Threads are waited for, handlers of the exit are called, and what the program itself has left behind is
    collected, so that coroutines and sockets that were forgotten say so. Who ends by an exception ends as ever.
    """
    status = 0
    try:
        run()
    except SystemExit as ended:
        if ended.code is not None and not isinstance(ended.code, int):
            raise
        status = ended.code or 0
    wait_for_threads: Callable[[], None] = vars(threading)["_shutdown"]
    wait_for_threads()
    vars(atexit)["_run_exitfuncs"]()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    gc.disable()
    run = {"commands": commands, "launchers": launchers, "programs": programs}[sys.argv[2]]()
    gc.collect()
    gc.freeze()
    gc.enable()
    if Nurse(socket.socket(fileno=int(sys.argv[1]))).serve():
        end_after(run)
