"""The whole application with sign-in on a real port, in the test's own process and at the test's own time."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, cast

import httpx
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.transport.engine import Refused, unrecorded
from cronograph.graphql.transport.streams import OpenStreams
from cronograph.jobs.accounts.actions.accounts import add_account, fresh_secret, the_account
from cronograph.jobs.accounts.actions.secrets import fresh_key
from cronograph.jobs.accounts.actions.sessions import NewToken, create_token
from cronograph.jobs.accounts.rules.accounts import Account
from cronograph.jobs.accounts.rules.credentials import Prefix, shown_form, stored_form
from cronograph.jobs.accounts.rules.secrets import KeyRing
from cronograph.jobs.accounts.rules.sessions import ApiToken
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.model import Isolation
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.live.feeds import LiveFeeds
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements.nodes import publish
from cronograph.server.auth.passwords import hasher
from cronograph.server.auth.sign_in import SignIn
from cronograph.server.configuration.settings import ProviderSettings
from cronograph.server.http.app import Parts, build_app
from cronograph.server.http.pages import Site
from cronograph.server.process.engine_thread import EngineThread
from cronograph.server.process.lifecycle import Lifecycle, Phase
from tests.support.ports import free_port
from tests.support.waiting import eventually
from tests.support.web import open_async_client

PASSWORD = "correct horse battery staple"
PROTOCOL = Subprotocol("graphql-transport-ws")
HOSTS = frozenset({"localhost", "127.0.0.1"})


@cache
def hashed(password: str = PASSWORD) -> str:
    """The hash of a password, made once."""
    return hasher().hash(password)


@dataclass
class Clock:
    """The time of the database, as the test sets it."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def pass_time(self, **parts: float) -> None:
        """Move on, by keyword arguments of `timedelta`."""
        self.now += timedelta(**parts)


@dataclass
class Protected:
    """A running server with sign-in."""

    database: Database
    clock: Clock
    sign_in: SignIn
    port: int
    browser: httpx.AsyncClient
    parts: Parts | None = None
    notes: dict[str, str] = field(default_factory=dict[str, str])
    keys: KeyRing = field(default_factory=lambda: KeyRing((fresh_key(),)))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://localhost:{self.port}"

    async def account(self, name: str, role: Role = Role.VIEWER) -> Account:
        """An account with the password `PASSWORD`."""
        return await self.database.write(partial(add_account, name=name, role=role, password_hash=hashed()))

    async def publish_job(self, name: str, schema: dict[str, Any]) -> None:
        """Let the server know a job, as a node that has it does."""
        await self.database.write(lambda tx: publish(tx.conn, [JobInfo(name, "", None, Isolation.ASYNC, schema)]))

    async def token(self, name: str, role: Role | None = None, lasts: timedelta | None = None) -> str:
        """An API token of an account."""
        secret = fresh_secret(Prefix.API_TOKEN)

        def make(tx: Tx) -> ApiToken:
            account = the_account(tx, name)
            ends = None if lasts is None else tx.now + lasts
            new = NewToken("test", role or account.role, stored_form(secret), shown_form(secret), ends)
            return create_token(tx, account, new)

        await self.database.write(make)
        return secret

    async def sign_in_as(self, name: str, password: str = PASSWORD) -> httpx.Response:
        """Sign the browser in."""
        return await self.browser.post("/auth/password", json={"name": name, "password": password})

    async def ask(self, document: str, token: str | None = None, **headers: str) -> httpx.Response:
        """POST a document, by a token or by the browser's cookie."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            named["authorization"] = f"Bearer {token}"
        return await self.browser.post("/graphql", json={"query": document}, headers=named)

    async def code(self, document: str, token: str | None = None) -> tuple[int, str | None]:
        """Status and code of the first error of an answer."""
        answer = await self.ask(document, token)
        errors: Any = answer.json().get("errors")
        return answer.status_code, errors[0]["extensions"]["code"] if errors else None

    @asynccontextmanager
    async def socket(self, payload: object = None, **headers: str) -> AsyncGenerator["Socket"]:
        """A WebSocket after `connection_init`."""
        uri = f"ws://localhost:{self.port}/graphql"
        async with connect(uri, subprotocols=[PROTOCOL], additional_headers=headers, proxy=None) as connection:
            socket = Socket(connection)
            await socket.send({"type": "connection_init", **({} if payload is None else {"payload": payload})})
            yield socket


@dataclass
class Socket:
    """A WebSocket that speaks JSON."""

    connection: ClientConnection

    async def send(self, message: object) -> None:
        """Send a message."""
        await self.connection.send(json.dumps(message))

    async def receive(self) -> Any:
        """The next message."""
        async with asyncio.timeout(60):
            return json.loads(await self.connection.recv())

    async def first_of(self, document: str, operation_id: str = "1") -> Any:
        """The first message about an operation."""
        await self.send({"type": "subscribe", "id": operation_id, "payload": {"query": document}})
        while True:
            message = await self.receive()
            if message.get("id") == operation_id:
                return message

    async def closed(self) -> tuple[int, str]:
        """Code and reason with which the server closes."""
        frame = None
        try:
            async with asyncio.timeout(60):
                while True:
                    await self.connection.recv()
        except ConnectionClosed as error:
            frame = error.rcvd
        assert frame is not None, "the server went without a close frame"
        return frame.code, frame.reason


@asynccontextmanager
async def protected(
    url: str,
    schema: GuardedSchema,
    providers: Mapping[str, ProviderSettings] | None = None,
    port: int | None = None,
    refused: Refused = unrecorded,
) -> AsyncGenerator[Protected]:
    """A server with sign-in over a migrated database, with providers and on a port if given."""
    clock = Clock()
    database = Database(url, clock=lambda: clock.now)
    wakeup = Wakeup(database)
    feeds = LiveFeeds(database, wakeup, poll=3600)
    wakeup.start()
    feeds.start()
    port = port or free_port()
    streams = OpenStreams(schema.limits)
    lifecycle = Lifecycle()
    lifecycle.enter(Phase.SERVING)
    sign_in = SignIn(database, f"http://localhost:{port}", HOSTS, providers, poll_every=1)
    wakeup.subscribe(sign_in.on_wake)
    no_engine = cast("EngineThread", SimpleNamespace(ready=True))
    browser = open_async_client(f"http://localhost:{port}")
    started = Protected(database, clock, sign_in, port, browser)
    parts = Parts(
        schema,
        database,
        database,
        database,
        database,
        no_engine,
        wakeup,
        feeds,
        lifecycle,
        streams,
        HOSTS,
        Site(),
        sign_in,
        lambda: started.keys,
        refused=refused,
        brand="ACME",
    )
    started.parts = parts
    server = uvicorn.Server(uvicorn.Config(build_app(parts), port=port, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve())
    await eventually(lambda: server.started, message="the server listens")
    async with browser:
        try:
            yield started
        finally:
            await streams.shutdown()
            server.should_exit = True
            await running
            sign_in.close()
            wakeup.unsubscribe(sign_in.on_wake)
            await feeds.end()
            await feeds.stop()
            await wakeup.stop()
            await database.close()
