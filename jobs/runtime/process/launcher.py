"""The launcher: a process that forks a child for each run of a job with ``isolation="process"``.

A fresh interpreter needs 0.6 s of processor time to import Cronograph before it can begin a job; a fork of one that
has done so needs some milliseconds. The launcher runs no code of the user, unless a job is preloaded, and has one
thread. So forking it is safe, every child starts from the same clean state, and the launcher is still there to end it,
regardless of the job:

- it reports how each child exited, and kills the processes that the child has left behind;
- when the node goes, however it goes, the launcher kills all children and their groups, and exits;
- when the launcher goes, the kernel kills its children (Linux; elsewhere they notice the end of their connection), and
  the node the processes that these have started.

The node and the launcher speak in lines. To the launcher: ``spawn ID`` (with the child's socket), ``kill ID``,
``import MODULE``, and perhaps first ``preload JSON`` with ``path``, ``modules`` and ``jobs``. To the node: ``ready 0
NUMBER`` once (the number is in the marks of its children, see ``killing``), then for each child ``forked ID PID`` and
``exited ID STATUS``; to a preload ``importing N 0`` before each module, and ``preloaded 0 0``, or ``unfit N REASON``,
after which it is of no use.

Preloading is the only way in which code of the user's runs here. A module that starts a thread is unfit: forking a
process with threads is not safe.
"""

import atexit
import ctypes
import faulthandler
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import IO, Any, Final, NoReturn

from .child import run_child, warm_up
from .finding import JobNotFoundError, find_job
from .kernel import (
    CHILD_MARK,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    children_of_this_process,
    control_process,
    kill_group,
    kill_strays,
    mark_of,
    threads_of_this_process,
)
from .wire import FAILED, NOT_FORKED, NOT_FOUND, STARTS_THREADS, NodeGoneError

_FLUSHED: Final = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
# Neither has a public name; ``multiprocessing`` ends its processes by the same two.
_wait_for_threads: Final[Callable[[], None]] = vars(threading)["_shutdown"]
_call_exit_functions: Final[Callable[[], None]] = vars(atexit)["_run_exitfuncs"]
# Looked up once: a forked process must not wait for a lock of the loader that a thread held meanwhile.
_flush_c_streams: Final[Callable[[None], object]] = ctypes.CDLL(None).fflush


def end_in_order(status: int) -> NoReturn:
    """End this process.

    Threads that are no daemons are waited for, ``atexit`` functions are called (``logging`` and coverage flush there),
    and buffers of files that nobody closed are written out. ``__del__`` methods are not called; Python itself
    promises none at its exit. Once the threads are over, SIGTERM asks for nothing that is not under way.
    """
    _wait_for_threads()
    signal.signal(signal.SIGTERM, _nothing)
    _call_exit_functions()
    # What the launcher had imported is frozen and not looked through.
    for stream in [one for one in gc.get_objects() if issubclass(type(one), _FLUSHED)] + [sys.stdout, sys.stderr]:
        _flush(stream)
    _flush_c_streams(None)
    os._exit(status)


def _flush(stream: IO[Any] | None) -> None:
    # Closed, read-only, or its reader is gone: an exit complains of none of them either.
    with suppress(OSError, ValueError):
        if stream is not None:
            stream.flush()


_MAX_SOCKETS = 64
_CHUNK = 4096


class Launcher:
    """Forks, watches and kills."""

    def __init__(self, control: socket.socket) -> None:
        # The node that made the socket may have a default timeout, by code of jobs.
        control.settimeout(None)
        self._control = control
        self._node = os.getppid()
        self._number = int.from_bytes(os.urandom(7))
        self._pids: dict[int, int] = {}
        self._sockets: deque[int] = deque()
        self._rest = b""
        self._woken, self._waker = socket.socketpair()

    def serve(self) -> socket.socket | None:
        """Work until the node is gone; returns None then, and in every forked child its connection to the node."""
        self._catch_signals()
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            try:
                self._say(b"ready", 0, self._number)
                while True:
                    ready = [key.fileobj for key, _ in selector.select()]
                    if self._woken in ready:
                        self._wake()
                    if self._control in ready:
                        for identity in self._orders():
                            child = self._fork(identity)
                            if child is not None:
                                return child
            except (NodeGoneError, OSError):
                self._end_all()
                # The socket is closed before the process has ended, and children still end meanwhile.
                signal.set_wakeup_fd(-1)
                return None

    def _catch_signals(self) -> None:
        """Wake the loop on SIGCHLD and on the death of the node; other signals are for the node alone to judge."""
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _nothing)
        control_process(PR_SET_PDEATHSIG, signal.SIGTERM)
        # In a container the node is often process 1, which is expected to collect orphans, and does not.
        control_process(PR_SET_CHILD_SUBREAPER, 1)

    def _wake(self) -> None:
        self._woken.recv(_CHUNK)
        if os.getppid() != self._node:
            raise NodeGoneError("the node is gone")
        self._reap()

    def _orders(self) -> Iterator[int]:
        """Yield the ids to fork for; kills are done on the way."""
        data, sockets, _, _ = socket.recv_fds(self._control, _CHUNK, _MAX_SOCKETS)
        if not data:
            raise NodeGoneError("the node is gone")
        self._sockets.extend(sockets)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            order, identity = line.split(maxsplit=1)
            if order == b"spawn":
                yield int(identity)
            elif order == b"preload":
                self._preload(**json.loads(identity))
            elif order == b"import":
                _import_for_children(identity.decode())
            elif int(identity) in self._pids:
                kill_group(self._pids[int(identity)])

    def _preload(self, path: list[str], modules: list[str], jobs: list[tuple[str, str, str]]) -> None:
        """Import the modules that children need; despite all else the imports did, this process goes on as before."""
        sys.path[:] = path
        for number, module in enumerate(modules):
            self._say(b"importing", number, 0)
            try:
                importlib.import_module(module)
                for job in jobs:
                    if job[1] == module:
                        find_job(*job)
            except JobNotFoundError:
                traceback.print_exc()
                self._say(b"unfit", number, NOT_FOUND)
                return
            except BaseException:
                traceback.print_exc()
                self._say(b"unfit", number, FAILED)
                return
            if threads_of_this_process() > 1:
                self._say(b"unfit", number, STARTS_THREADS)
                return
        self._catch_signals()
        share_what_is_imported()
        self._say(b"preloaded", 0, 0)

    def _fork(self, identity: int) -> socket.socket | None:
        peer = socket.socket(fileno=self._sockets.popleft())
        launcher = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            peer.close()
            self._say(b"exited", identity, NOT_FORKED)
            return None
        if pid == 0:
            self._become_child(launcher)
            peer.set_inheritable(False)
            return peer
        peer.close()
        self._pids[identity] = pid
        # What is left when this process is killed has to know whom to end.
        self._say(b"forked", identity, pid)
        return None

    def _become_child(self, launcher: int) -> None:
        # A session of its own: the terminal's Ctrl-C does not reach it, and its group can be killed as a whole.
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for inherited in (self._control, self._woken, self._waker):
            inherited.close()
        control_process(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.environ[CHILD_MARK] = mark_of(self._number, os.getpid())
        if os.getppid() != launcher:
            os._exit(1)

    def _reap(self) -> None:
        identities = {pid: identity for identity, pid in self._pids.items()}
        ended: dict[int, int] = {}
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0] != 0:
                pid, status = found
                if pid in identities:
                    kill_group(pid)
                    del self._pids[identities[pid]]
                    ended[pid] = os.waitstatus_to_exitcode(status)
        # What a child leaves behind becomes ours; without any of that nobody need be searched for.
        if ended and children_of_this_process() - set(self._pids.values()):
            kill_strays(self._number, ended)
        for pid, status in ended.items():
            self._say(b"exited", identities[pid], status)

    def _say(self, word: bytes, identity: int, number: int) -> None:
        self._control.sendall(b"%b %d %d\n" % (word, identity, number))

    def _end_all(self) -> None:
        for pid in self._pids.values():
            kill_group(pid)
        kill_strays(self._number, self._pids.values())


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Leave a signal unheeded: the wake-up socket notifies of it, or it asks for work that is under way."""


def _import_for_children(module: str) -> None:
    """Import a module of ours that a child needed, so that others find it; they can do without."""
    try:
        importlib.import_module(module)
    except ImportError:
        traceback.print_exc()
    share_what_is_imported()


def share_what_is_imported() -> None:
    """Exempt all imports until now from garbage collection: children share untouched memory for longer."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve on the socket whose number is the first argument; every forked child runs one job."""
    faulthandler.enable()
    launcher = Launcher(socket.socket(fileno=int(sys.argv[1])))
    warm_up()
    share_what_is_imported()
    connection = launcher.serve()
    if connection is not None:
        with suppress(NodeGoneError):
            run_child(connection)
        end_in_order(0)


if __name__ == "__main__":
    main()
