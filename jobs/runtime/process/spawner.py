"""A node's side of its launcher: starts it, asks it for child processes, and learns how they ended."""

import asyncio
import contextlib
import itertools
import json
import logging
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

from typing_extensions import override

from ...own.threads import in_own_thread
from ..base.settings import LauncherProcess, StartLauncher, start_launcher
from .kernel import is_stopped, kill_group, kill_strays
from .wire import FAILED, HEADER, NOT_FOUND, STARTS_THREADS, ToChild, ToNode, frame, length_of, to_node

log = logging.getLogger(__name__)


_LAST_WORDS = 1.0
"""Seconds of silence after a child's exit until nothing more is expected of it: what it left behind may hold its end
open."""
_CHUNK = 4096
_LAUNCHERS = 2
"""Launchers to try for one child."""


_REASONS = {
    FAILED: "its import fails",
    STARTS_THREADS: "its import starts threads",
    NOT_FOUND: "a job is not found in it",
}


class LauncherError(Exception):
    """No child process can be had."""


def places(path: Sequence[object]) -> list[str]:
    """Return the places of modules as the import system reads them: without entries that are no text."""
    return [place for place in path if isinstance(place, str)]


class _Words(asyncio.StreamReader):
    """The words of a child; `heard` counts its messages."""

    heard = 0

    @override
    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        self.heard += 1
        super().feed_data(data)


class Child:
    """One child process: frames to and from it, its exit, and its end by force.

    Args:
        identity: Its number there.
        exited: Its exit status, negative = the signal that killed it; None = its launcher was lost.
    """

    def __init__(
        self,
        spawner: "Spawner",
        identity: int,
        exited: asyncio.Future[int | None],
        words: _Words,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._spawner = spawner
        self._identity = identity
        self._words = words
        self._writer = writer
        self._receiving: object | None = None
        self.exited = exited
        exited.add_done_callback(lambda _: self._expect_silence())

    @classmethod
    async def connect(
        cls, spawner: "Spawner", identity: int, exited: asyncio.Future[int | None], connection: socket.socket
    ) -> "Child":
        """Return the child at the other end of a connection."""
        loop, words = asyncio.get_running_loop(), _Words()
        protocol = asyncio.StreamReaderProtocol(words)
        transport, _ = await loop.create_unix_connection(lambda: protocol, sock=connection)
        return cls(spawner, identity, exited, words, asyncio.StreamWriter(transport, protocol, words, loop))

    def _expect_silence(self) -> None:
        asyncio.get_running_loop().call_later(_LAST_WORDS, self._end_if_silent, self._receiving, self._words.heard)

    def _end_if_silent(self, receiving: object | None, heard: int) -> None:
        """End its words if one and the same `receive` has waited since the last look, and nothing came.

        A node that has no time to listen finds everything later: nothing says how long that takes.
        """
        if self._writer.is_closing() or self._words.at_eof():
            return
        if self._receiving is not None and (self._receiving, self._words.heard) == (receiving, heard):
            self._words.feed_eof()
        else:
            self._expect_silence()

    def send(self, message: ToChild) -> None:
        """Send a message; one to a child that is gone is left out."""
        if not self._writer.is_closing():
            self._writer.write(frame(message))

    async def receive(self) -> ToNode | None:
        """Return the next message; None once there is none any more.

        Raises:
            FrameError: the bytes are no frame.
        """
        self._receiving = object()
        try:
            header = await self._words.readexactly(HEADER.size)
            return to_node(await self._words.readexactly(length_of(header)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        finally:
            self._receiving = None

    @property
    def was_stopped(self) -> bool:
        """Return whether it was stopped (SIGSTOP) at the last look."""
        return self._spawner.was_stopped(self._identity)

    def kill(self) -> None:
        """Send SIGKILL to it and all that it started; one that has exited is left alone."""
        if not self.exited.done():
            self._spawner.kill(self._identity)

    async def close(self, timeout: float) -> int | None:
        """Wait for its exit, kill it after ``within`` seconds, and close the connection; return its exit status."""
        try:
            await asyncio.wait([self.exited], timeout=timeout)
            self.kill()
            return await asyncio.shield(self.exited)
        finally:
            self.kill()
            self._writer.close()


class Spawner:
    """Start is lazy; stop is idempotent, and kills every child.

    Args:
        preload: Modules that the launcher imports before it forks. One that is not fit for it is left out, with a
            warning.
        jobs: The jobs that it finds in these modules beforehand, see ``findable``.
        exit_timeout: Seconds that a launcher may take to end before it is killed.
    """

    def __init__(
        self,
        launch: StartLauncher = start_launcher,
        preload: Sequence[str] = (),
        jobs: Sequence[tuple[str, str, str]] = (),
        exit_timeout: float = 5.0,
    ) -> None:
        self._launch = launch
        self._preload = list(preload)
        self._jobs = list(jobs)
        self._imported_too: list[str] = []
        self._importing: str | None = None
        self._exit_timeout = exit_timeout
        self._process: LauncherProcess | None = None
        self._launcher = 0
        self._control: socket.socket | None = None
        self._exits: dict[int, asyncio.Future[int | None]] = {}
        self._pids: dict[int, int] = {}
        self._stopped: dict[int, float] = {}
        self._ready: asyncio.Future[bool] | None = None
        self._lost = asyncio.Event()
        self._reaping: asyncio.Future[None] | None = None
        self._numbers = itertools.count(1)
        self._rest = b""
        self._orders: deque[tuple[bytes, socket.socket | None]] = deque()

    def start(self) -> None:
        """Start the launcher if there is none; it is ready for orders at once, and carries them out when it can.

        Raises:
            OSError: this process is short of something, or its interpreter is gone.
        """
        if self._process is not None:
            return
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as unless_started, theirs:
            unless_started.enter_context(ours)
            self._process = self._launch(theirs)
            unless_started.pop_all()
        self._lost.clear()
        ours.setblocking(False)
        self._control, self._rest = ours, b""
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        loop.add_reader(ours.fileno(), self._hear)
        if self._preload:
            wanted = {"path": places(sys.path), "modules": self._preload, "jobs": self._jobs}
            self._order(b"preload %b\n" % json.dumps(wanted).encode())
        for module in self._imported_too:
            self._order_import(module)

    def import_too(self, module: str) -> None:
        """Have the launcher import a module of ours, this one and those that follow; asking again changes nothing."""
        if module not in self._imported_too:
            self._imported_too.append(module)
            if self._control is not None:
                self._order_import(module)

    def _order_import(self, module: str) -> None:
        self._order(b"import %b\n" % module.encode())

    async def ready(self) -> None:
        """Start the launcher and wait until it can fork at once.

        Raises:
            LauncherError: it cannot be started, or ended instead.
        """
        while True:
            preload = len(self._preload)
            try:
                self.start()
            except OSError as error:
                raise LauncherError(f"the launcher of child processes cannot be started: {error}") from error
            if self._ready is not None and await asyncio.shield(self._ready):
                return
            if len(self._preload) == preload:
                raise LauncherError("the launcher of child processes ends at once")

    async def lost(self) -> None:
        """Wait until the launcher is gone."""
        await self._lost.wait()

    async def spawn(self) -> Child:
        """Return a new child process, which waits for ``Begin``.

        Raises:
            LauncherError: none can be had.
        """
        for _ in range(_LAUNCHERS):
            try:
                child = await self._spawn()
            except OSError as error:
                # This process is short of something; the launcher, and what it runs, has nothing to do with it.
                raise LauncherError(f"no child process can be started: {error}") from error
            if child is not None:
                return child
            # It was killed, perhaps for want of memory, and that had not been heard of yet.
            log.warning("the launcher of child processes is gone and is started again")
            await self.stop()
        raise LauncherError("no child process can be started: their launcher ends at once")

    async def _spawn(self) -> Child | None:
        """Return a child; None if the launcher is gone."""
        self.start()
        ours, theirs = socket.socketpair()
        identity = next(self._numbers)
        exited: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._exits[identity] = exited
        self._order(b"spawn %d\n" % identity, theirs)
        if exited.done():
            ours.close()
            return None
        return await Child.connect(self, identity, exited, ours)

    def _order(self, order: bytes, handed_over: socket.socket | None = None) -> None:
        """Give an order after those that wait already; a socket that is handed over is closed here."""
        self._orders.append((order, handed_over))
        if len(self._orders) == 1:
            self._send_orders()

    def _send_orders(self) -> None:
        """Send the orders that it can take now, and the rest when it has read: that it is busy is not its end."""
        if self._control is None:
            return
        loop = asyncio.get_running_loop()
        try:
            while self._orders:
                order, handed_over = self._orders[0]
                sent = socket.send_fds(self._control, [order], [] if handed_over is None else [handed_over.fileno()])
                self._orders.popleft()
                if handed_over is not None:
                    handed_over.close()
                if sent < len(order):
                    # The names of many jobs: a socket takes only a part of them at once.
                    self._orders.appendleft((order[sent:], None))
        except BlockingIOError:
            loop.add_writer(self._control.fileno(), self._send_orders)
        except ConnectionError:
            self._lose()
        else:
            loop.remove_writer(self._control.fileno())

    def kill(self, identity: int) -> None:
        """Kill a child with all that it started. If the launcher is gone, so are its children."""
        if self._control is not None:
            self._order(b"kill %d\n" % identity)

    def kill_all(self) -> None:
        """Kill every child with all that it started; more can be had."""
        for identity in list(self._exits):
            self.kill(identity)

    def kill_stopped(self, longest: float) -> None:
        """Kill each child that has been stopped (SIGSTOP) at every look for ``longest`` seconds: it would hold its run.

        A child at work is none of these, however long it takes.
        """
        now = time.monotonic()
        stopped = {identity for identity, pid in self._pids.items() if is_stopped(pid)}
        self._stopped = {identity: self._stopped.get(identity, now) for identity in stopped}
        for identity, since in self._stopped.items():
            if now - since >= longest:
                log.error(
                    "child process %d has been stopped for %.1f s and is killed", self._pids[identity], now - since
                )
                self.kill(identity)

    def was_stopped(self, identity: int) -> bool:
        """Return whether a child was stopped when it was last looked at."""
        return identity in self._stopped

    def _hear(self) -> None:
        """Read the messages of the launcher, or note that it is gone."""
        if self._control is None:
            return
        try:
            data = self._control.recv(_CHUNK)
        except ConnectionError:
            data = b""
        if not data:
            if self._importing is not None:
                self._leave_out(self._importing, "its import ends the process")
            else:
                log.error("the launcher of child processes ended unasked, and its children with it")
            self._lose()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._learn(*line.split())

    def _learn(self, word: bytes, identity: bytes, number: bytes) -> None:
        match word:
            case b"forked":
                self._pids[int(identity)] = int(number)
            case b"exited":
                self._ended(int(identity), int(number))
            case b"importing":
                self._importing = self._preload[int(identity)]
            case b"unfit":
                self._leave_out(self._preload[int(identity)], _REASONS[int(number)])
                self._lose()
            case b"preloaded":
                self._importing = None
                self._answer_ready(ready=True)
            case _:
                self._launcher = int(number)
                if not self._preload:
                    self._answer_ready(ready=True)

    def _leave_out(self, module: str, why: str) -> None:
        log.warning("module %s is not preloaded: %s; each child process imports it by itself", module, why)
        self._preload.remove(module)

    def _answer_ready(self, *, ready: bool) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(ready)

    def _ended(self, identity: int, status: int | None) -> None:
        self._pids.pop(identity, None)
        exited = self._exits.pop(identity, None)
        if exited is not None and not exited.done():
            exited.set_result(status)

    def _lose(self) -> None:
        """Let go of the launcher; its children end with it, and all that they started."""
        loop = asyncio.get_running_loop()
        self._importing = None
        process, self._process = self._process, None
        control, self._control = self._control, None
        if control is not None:
            loop.remove_reader(control.fileno())
            loop.remove_writer(control.fileno())
            control.close()
        for _, handed_over in self._orders:
            if handed_over is not None:
                handed_over.close()
        self._orders.clear()
        # The kernel ends the launcher's children with it, but not what these have started.
        for pid in self._pids.values():
            kill_group(pid)
        kill_strays(self._launcher, self._pids.values())
        for identity in list(self._exits):
            self._ended(identity, None)
        self._answer_ready(ready=False)
        self._lost.set()
        if process is not None:
            self._reaping = in_own_thread(_wait_for, process, self._exit_timeout)

    async def stop(self) -> None:
        """End the launcher and every child."""
        self._lose()
        if self._reaping is not None:
            await asyncio.shield(self._reaping)


def _wait_for(process: LauncherProcess, seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
