"""Cronograph within another application: a node, and its API and dashboard as an ASGI application to mount."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, cast
from urllib.parse import quote, unquote, urlsplit

import httpx
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from ..graphql.client import AsyncClient
from ..graphql.guard.admission import address_of
from ..graphql.resolving.context import Person
from ..jobs.connection import connect
from ..jobs.core.actor import Role
from ..jobs.core.base.errors import ConfigurationError
from ..jobs.own.threads import in_own_thread
from ..jobs.registry import Registry
from ..jobs.store.db.filelock import lock_for
from .auth.host_sign_in import Who
from .auth.pages import root_path_of
from .configuration.reading import given
from .discovery import JobOrModule, NamedJobs
from .http.app import build_app
from .installation import Installation
from .preparation import choice_faults

LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OF_THE_BODY: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that say how a request came, not who sends it."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Name a person that uses the dashboard and the API, as the application knows them.

    Attributes:
        name: Shown, and kept with his changes.
        role: ``"viewer"``, ``"operator"`` or ``"admin"``.

    Raises:
        ConfigurationError: there is no such role; names it and the visitor.
    """

    name: str
    role: Role | str

    def __post_init__(self) -> None:
        """Refuse a role that there is not where the application says it."""
        if self.role not in set(Role):
            roles = ", ".join(f"'{one.value}'" for one in Role)
            raise ConfigurationError(f"role: must be one of {roles}, got {self.role!r:.60} for visitor '{self.name}'")


AskWho: TypeAlias = Callable[[HTTPConnection], Awaitable[Visitor | None] | Visitor | None]


class Cronograph:
    """A node in this process, from ``async with`` to the end of the block; without signals, flags or variables.

    >>> async with Cronograph("postgresql://localhost/app", jobs=[import_orders], no_auth=True) as cron:
    ...     await import_orders.enqueue(None, "app")

    ``app.mount("/jobs", cron.asgi)`` serves API and dashboard under a path; until the block begins it answers 503.

    Args:
        database_url: As for ``cronograph serve``; ends in ``?schema=`` and a name where that is not ``cronograph``.
        jobs: Which jobs it runs, and names of modules whose jobs it runs, all of one registry; None = all of
            ``registry``. The built-in ones come along.
        registry: Whose jobs; the default registry unless given.
        who: Returns who sent a request, as the application knows it; None = access denied. Without it
            people sign in below the path where ``asgi`` is mounted, with accounts of Cronograph.
        no_auth: Everybody who reaches it is an administrator; for trials.
        public_url: The address under which people open it, with that path; its name is accepted in ``Host`` besides
            those of this machine. Where people sign in by Cronograph, a start without an administrator then prints the
            link by which one is made, as ``cronograph serve`` does; without it ``cronograph user add`` makes one.
        settings: Other settings by their names, see docs/configuration.md: ``slots=20``.

    Raises:
        ConfigurationError: they cannot work.
    """

    def __init__(
        self,
        database_url: str,
        *,
        jobs: Iterable[JobOrModule] | None = None,
        registry: Registry | None = None,
        who: AskWho | None = None,
        no_auth: bool = False,
        public_url: str | None = None,
        **settings: Any,  # noqa: ANN401 - each has a type of its own, which is checked
    ) -> None:
        named = NamedJobs.of(jobs)
        modules = {"jobs": tuple(named.modules)} if named.modules else {}
        _check(registry, who, public_url)
        self._settings = given({"database_url": database_url, **modules, **settings, "no_auth": no_auth})
        self._home, self._registry = named.registries(registry, shell=self._settings.shell)
        faults = list(choice_faults(self._settings, self._registry))
        if faults:
            raise ConfigurationError("\n".join(faults))
        self._who = None if no_auth or who is None else _asking(who)
        self._address = "http://localhost" if public_url is None else public_url.rstrip("/")
        self._set_up_by_link = public_url is not None
        self._installation: Installation | None = None
        self._ends = AsyncExitStack()
        self.drained = asyncio.Event()
        """Set once nothing runs here any more: ``drainNode`` was asked for and all is done, or a fault ended the event
        loop of the jobs, which the log says."""

    async def __aenter__(self) -> Self:
        """Start: the tables are brought up to date, and runs are taken.

        Raises:
            FileLocked: another process serves the SQLite file.
            StorageError: the database cannot be used.
        """
        url = self._settings.database_url
        lock = lock_for(url)
        async with AsyncExitStack() as ends:
            if lock is not None:
                lock.acquire()
                ends.callback(lock.release)
            if self._home.queue is None:
                queue = connect(url, registry=self._home)
                ends.push_async_callback(in_own_thread, queue.close)
            made = self._assembled()
            ending = asyncio.create_task(self._await_end(made))
            ends.push_async_callback(asyncio.wait, [ending])
            ends.callback(ending.cancel)
            ends.push_async_callback(made.end, _nothing_open)
            await made.start()
            self._installation = made
            self._ends = ends.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let running jobs end (``drain_timeout``), and stop."""
        self._installation = None
        await self._ends.aclose()

    def _assembled(self) -> Installation:
        loop = asyncio.get_running_loop()

        def drained() -> None:
            # Called in the thread of the jobs.
            loop.call_soon_threadsafe(self.drained.set)

        name = urlsplit(self._address).hostname or "localhost"
        return Installation(
            self._settings,
            self._registry,
            self._address,
            LOCAL | {name},
            drained,
            who=self._who,
            set_up_by_link=self._set_up_by_link,
        )

    async def _await_end(self, made: Installation) -> None:
        await made.parts.engine.ended()
        self.drained.set()

    @property
    def client(self) -> AsyncClient:
        """The client of the API in this process, without a socket, with the rights that ``who`` gives a bare request.

        With ``no_auth`` these are all; with a ``who`` that knows people by their requests see ``client_with``.
        """
        return self.client_with({})

    def client_with(self, headers: Mapping[str, str]) -> AsyncClient:
        """Return a ``client`` whose requests carry these headers, by which ``who`` or a token finds out who asks.

        Args:
            headers: Those of the request that is being answered, or ``{"authorization": "Bearer …"}``. Headers about
                its body and its connection are left out.
        """
        passed = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_BODY}
        return AsyncClient(ADDRESS, transport=InProcess(self.asgi, passed))

    async def client_of(self, connection: HTTPConnection) -> AsyncGenerator[AsyncClient]:
        """Yield a ``client`` with the rights of the sender of a request.

        In FastAPI: ``client: Annotated[AsyncClient, Depends(cron.client_of)]``.

        Args:
            connection: The request that is being answered; FastAPI gives it by this annotation.
        """
        async with self.client_with(connection.headers) as client:
            yield client

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncGenerator[None]:
        """Serve while an application runs: ``FastAPI(lifespan=cron.lifespan)``, ``Litestar(lifespan=[cron.lifespan])``.

        Raises:
            FileLocked: see ``async with``, as for the other errors.
        """
        async with self:
            yield

    def as_system(self, name: str = "system") -> AsyncClient:
        """Return a ``client`` with an administrator's rights, for the application's own code: scripts, commands, tests.

        Args:
            name: The name under which the audit log keeps its changes.

        Raises:
            ConfigurationError: the block has not begun, or is over.
        """
        if self._installation is None:
            raise ConfigurationError("as_system: must be called within the block: async with Cronograph(…) as cron")

        async def system(_: HTTPConnection) -> Person:
            return Person(name, Role.ADMIN)

        parts = replace(self._installation.parts, sign_in=None, who=system, trusted=None, metrics=None)
        return AsyncClient(ADDRESS, transport=InProcess(build_app(parts)))

    async def asgi(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve API and dashboard in the event loop in which the block was entered."""
        made = self._installation
        if made is not None:
            await made.asgi(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1013, "reason": "not started"})
        else:
            await PlainTextResponse("Cronograph has not been started.\n", 503)(scope, receive, send)

    def below(self, path: str) -> ASGIApp:
        """Return ``asgi`` for a framework that mounts without saying where, as Litestar does.

        ``asgi("/ops/jobs", is_mount=True, copy_scope=True)(cron.below("/ops/jobs"))``. FastAPI and Starlette say it.

        Args:
            path: Where it is mounted, e.g. ``"/ops/jobs"``.
        """

        async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
            root = root_path_of(scope) + path.rstrip("/")
            # As it was asked for: in `path` the framework leaves the rest, with a slash that nobody wrote.
            raw: bytes = scope.get("raw_path") or quote(root + scope["path"]).encode()
            asked = unquote(raw.decode("ascii"))
            await self.asgi({**scope, "path": asked, "root_path": root}, receive, send)

        return mounted


def _check(registry: object, who: object, public_url: object) -> None:
    """Refuse wrong values, which callers without types may give."""
    for name, value, right, must in (
        ("registry", registry, isinstance(registry, Registry), "a Registry of jobs"),
        ("who", who, callable(who), "a function that returns who asks"),
        ("public_url", public_url, isinstance(public_url, str), "an address, e.g. https://shop.example.com"),
    ):
        if value is not None and not right:
            raise ConfigurationError(f"{name}: must be {must}, got {type(value).__name__} {value!r:.60}")


def _asking(who: AskWho) -> Who:
    async def person(connection: HTTPConnection) -> Person | None:
        answer = who(connection)
        visitor = cast("object", await answer if inspect.isawaitable(answer) else answer)
        if visitor is None:
            return None
        if not isinstance(visitor, Visitor):
            raise ConfigurationError(
                f"who: must return Visitor(name, role) or None, got {type(visitor).__name__} {visitor!r:.60}"
            )
        return Person(visitor.name, Role(visitor.role), address=address_of(None, connection))

    return person


async def _nothing_open() -> None:
    """Do nothing: the application ends its own requests."""


ADDRESS: Final = "http://localhost"
"""Server that requests name."""


class InProcess(httpx.AsyncBaseTransport):
    """Carries the requests of a client to an ASGI application in the same event loop.

    Args:
        app: The application.
        headers: Sent with each request; of ``authorization`` nothing else is: no token of the environment is shown.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str] | None = None) -> None:
        self._app = app
        self._headers = httpx.Headers(headers)

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Headers(request.headers)
        sent.pop("authorization", None)
        sent.update(self._headers)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in sent.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.partition(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": None,
            "root_path": "",
        }
        exchange = Exchange(await request.aread())
        exchange.task = asyncio.create_task(exchange.run(self._app, scope), name="cronograph-in-process")
        try:
            start = await exchange.next()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx.Response(start["status"], headers=start.get("headers", []), stream=exchange, request=request)


class Exchange(httpx.AsyncByteStream):
    """One request and its answer, piece by piece."""

    def __init__(self, body: bytes) -> None:
        self.task: asyncio.Task[None] | None = None
        self._body: bytes | None = body
        self._left = asyncio.Event()
        # One piece at a time: who reads slowly is not sent more than that.
        self._pieces: asyncio.Queue[Message | None] = asyncio.Queue(maxsize=1)
        self._failure: BaseException | None = None

    async def run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        """Run the application."""
        try:
            await app(scope, self._receive, self._pieces.put)
        except Exception as error:  # noqa: BLE001 - any fault reaches who asked
            self._failure = error
        await self._pieces.put(None)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def next(self) -> Message:
        """Return the next message of the application.

        Raises:
            ReadError: it ended without an answer.
            Exception: the error it raised.
        """
        message = await self._pieces.get()
        if message is not None:
            return message
        if self._failure is not None:
            raise self._failure
        raise httpx.ReadError("the application ended without an answer")

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self.next()
            more = bool(message.get("more_body", False))
            yield message.get("body", b"")

    @override
    async def aclose(self) -> None:
        """Leave: the application learns that nobody reads any more."""
        self._left.set()
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
