"""An open stream lives no longer than the right to it: the session, the token, the role and the account."""

import asyncio
import json
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import HTTPConnection

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.resolving.context import LOCAL_ADMINISTRATOR, Context, Person
from cronograph.jobs.accounts.actions import accounts, sessions
from cronograph.jobs.accounts.rules.sessions import CredentialKind, Identity
from cronograph.jobs.accounts.statements.accounts import by_name
from cronograph.jobs.accounts.statements.sessions import tokens_of
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.server.auth.authenticator import EVERY, REMEMBERED, RightsWatch
from cronograph.server.http.app import client_of
from tests.server.auth.serving import Protected, protected
from tests.support.waiting import eventually

EVENTS = "subscription { events { cursor } }"


def revoke(tx: Tx) -> None:
    ada = by_name(tx.conn, "ada")
    assert ada is not None
    (token,) = tokens_of(tx.conn, [ada.id])
    sessions.revoke_token(tx, token.id)


def demote(tx: Tx) -> None:
    accounts.set_role(tx, "ada", Role.VIEWER)


def disable(tx: Tx) -> None:
    accounts.disable(tx, "ada")


@pytest.mark.parametrize("loss", [revoke, demote, disable])
async def test_a_websocket_ends_with_4401_when_its_token_is_worth_less(
    server: Protected, loss: Callable[[Tx], None]
) -> None:
    await server.account("ada", Role.OPERATOR)
    token = await server.token("ada")
    async with server.socket({"authorization": f"Bearer {token}"}) as socket:
        assert await socket.receive() == {"type": "connection_ack"}
        await server.sign_in.watch.look()
        await server.database.write(loss)
        await server.sign_in.watch.look()
        code, reason = await socket.closed()
        assert (code, reason.split(":")[0]) == (4401, "Unauthorized")


async def test_an_event_stream_ends_with_a_word_when_its_session_does(server: Protected) -> None:
    ada = await server.account("ada")
    await server.sign_in_as("ada")
    headers = {"accept": "text/event-stream"}
    async with server.browser.stream("POST", "/graphql", json={"query": EVENTS}, headers=headers) as answer:
        lines = answer.aiter_lines()
        assert await anext(lines) == ":"
        await server.database.write(sessions.end_all_sessions, ada.id)
        await server.sign_in.watch.look()
        said = [line async for line in lines if line]
    assert said[0] == "event: next"
    assert json.loads(said[1].removeprefix("data: "))["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert said[2] == "event: complete"


@pytest.mark.costly
@pytest.mark.parametrize("how", ["session", "token", "role", "account"])
async def test_what_is_lost_on_one_node_ends_streams_on_every_other(
    schema: GuardedSchema, postgres_url: str, how: str
) -> None:
    """By both ways of streaming; the nodes tell each other nothing but by the database."""
    async with protected(postgres_url, schema) as one, protected(postgres_url, schema) as other:
        await one.account("boss", Role.ADMIN)
        ada = await one.account("ada", Role.OPERATOR)
        await one.sign_in_as("ada")
        secret = await one.token("ada") if how == "token" else one.browser.cookies[f"cronograph-{one.port}"]
        headers = {"authorization": f"Bearer {secret}", "accept": "text/event-stream"}
        losses: dict[str, Callable[[Tx], object]] = {
            "session": lambda tx: sessions.end_all_sessions(tx, ada.id),
            "token": revoke,
            "role": demote,
            "account": disable,
        }
        events = other.browser.stream("POST", "/graphql", json={"query": EVENTS}, headers=headers)
        async with other.socket({"authorization": headers["authorization"]}) as socket, events as answer:
            assert await socket.receive() == {"type": "connection_ack"}
            lines = answer.aiter_lines()
            assert await anext(lines) == ":"
            await one.database.write(losses[how])
            await other.sign_in.watch.look()
            assert (await socket.closed())[0] == 4401
            assert "event: complete" in [line async for line in lines]
        # What the watch has found lost is not remembered for a moment longer.
        assert await other.code("{ viewer { name } }", secret) == (401, "UNAUTHENTICATED")


def test_a_loss_that_nobody_reports_is_noticed_within_a_second() -> None:
    assert max(EVERY, REMEMBERED) < 1


def end_sessions(tx: Tx) -> None:
    ada = by_name(tx.conn, "ada")
    assert ada is not None
    sessions.end_all_sessions(tx, ada.id)


def change_password(tx: Tx) -> None:
    accounts.set_password(tx, "ada", "hash")


@pytest.mark.parametrize("loss", [revoke, demote, disable, end_sessions, change_password])
async def test_what_was_revoked_is_worth_nothing_at_once_on_the_node_that_did_it(
    server: Protected, loss: Callable[[Tx], None]
) -> None:
    await server.account("boss", Role.ADMIN)
    await server.account("ada", Role.OPERATOR)
    await server.sign_in_as("ada")
    shown = None if loss in {end_sessions, change_password} else await server.token("ada")
    assert await server.code("{ viewer { name } }", shown) == (200, None)
    secret = shown or server.browser.cookies[f"cronograph-{server.port}"]
    looking = asyncio.create_task(server.sign_in.watch.run())
    async with server.socket({"authorization": f"Bearer {secret}"}) as socket:
        assert await socket.receive() == {"type": "connection_ack"}
        await server.database.write(loss)
        assert (await server.code('mutation { pauseGroup(input: { name: "g" }) { errors { code } } }', shown))[0] in {
            401,
            403,
        }
        assert (await socket.closed())[0] == 4401
    looking.cancel()


async def test_another_node_hears_of_it(schema: GuardedSchema, postgres_url: str) -> None:
    async with protected(postgres_url, schema) as one, protected(postgres_url, schema) as other:
        await one.account("boss", Role.ADMIN)
        await one.account("ada", Role.OPERATOR)
        token = await one.token("ada")
        assert await other.code("{ viewer { name } }", token) == (200, None)
        looking = asyncio.create_task(other.sign_in.watch.run())
        async with other.socket({"authorization": f"Bearer {token}"}) as socket:
            assert await socket.receive() == {"type": "connection_ack"}
            await one.database.write(disable)
            assert (await socket.closed())[0] == 4401
        looking.cancel()

        async def refused() -> bool:
            return await other.code("{ viewer { name } }", token) == (401, "UNAUTHENTICATED")

        await eventually(refused, message="the other node to refuse the token")


async def test_what_is_read_while_it_is_revoked_is_not_remembered(server: Protected) -> None:
    await server.account("ada", Role.OPERATOR)
    token = await server.token("ada")
    authenticator = server.sign_in.authenticator
    asked = asyncio.create_task(server.code("{ viewer { name } }", token))
    while not asked.done():
        # As if a commit had come at every moment of the look-up.
        authenticator.on_wake(Wake.RIGHTS)
        await asyncio.sleep(0)
    assert await asked == (200, None)
    await server.database.write(revoke)
    assert await server.code("{ viewer { name } }", token) == (401, "UNAUTHENTICATED")


async def test_the_watch_looks_by_itself_and_asks_once_for_all_streams(light: Protected) -> None:
    asked: list[int] = []

    async def counted(wanted: Collection[Identity]) -> set[Identity]:
        asked.append(len(wanted))
        return set()

    watch = RightsWatch(counted, every=0.01)
    identity = Identity(1, "ada", Role.VIEWER, Role.VIEWER, CredentialKind.TOKEN, 1)
    nothing: Any = None
    context = Context(light.database, nothing, nothing, Person.of(identity, None))
    lost: list[UserFacingError] = []
    looking = asyncio.create_task(watch.run())
    with watch.watching(context, None, lost.append), watch.watching(context, None, lost.append):
        await eventually(lambda: len(lost) == 2, message="both streams are told")
    looking.cancel()
    assert asked == [1]


async def test_the_watch_outlives_a_database_that_is_unavailable(
    light: Protected, empty_sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    empty = Database(empty_sqlite_url)
    asked: list[int] = []

    async def still_good(wanted: Collection[Identity]) -> set[Identity]:
        asked.append(len(wanted))
        if len(asked) == 1:
            await empty.read(by_name, "ada")
        return set()

    watch = RightsWatch(still_good, every=0.01)
    identity = Identity(1, "ada", Role.VIEWER, Role.VIEWER, CredentialKind.TOKEN, 1)
    nothing: Any = None
    lost: list[UserFacingError] = []
    looking = asyncio.create_task(watch.run())
    with watch.watching(Context(light.database, nothing, nothing, Person.of(identity, None)), None, lost.append):
        await eventually(lambda: lost, message="the stream is told")
    looking.cancel()
    await empty.close()
    assert asked == [1, 1]
    assert "cannot see whether the readers of open streams still may read" in caplog.text
    await empty.close()


async def test_a_websocket_by_cookie_needs_the_right_origin(light: Protected) -> None:
    await light.account("ada")
    name = f"cronograph-{light.port}"
    cookie = f"{name}={(await light.sign_in_as('ada')).cookies[name]}"
    async with light.socket(cookie=cookie, origin=light.url) as socket:
        assert await socket.receive() == {"type": "connection_ack"}
    with pytest.raises(Exception, match="403"):
        async with light.socket(cookie=cookie, origin="https://evil.example"):
            pass


async def test_a_websocket_without_a_sign_in_is_closed_with_4401(light: Protected) -> None:
    for payload in (None, {}, {"authorization": "Bearer cg_x"}, {"authorization": 7}, {"authorization": "x"}):
        async with light.socket(payload) as socket:
            assert (await socket.closed())[0] == 4401


def test_a_share_belongs_to_an_account_to_a_name_or_to_an_address() -> None:
    """Whom an application knows may all come by one proxy; a local administrator is whoever reaches the port."""
    connection = HTTPConnection({"type": "http", "headers": [], "client": ("10.0.0.1", 1)})

    def share(person: Person) -> str:
        return client_of(cast("Context", SimpleNamespace(person=person)), connection)

    assert share(Person("ada", Role.VIEWER, 7)) == share(Person("ada", Role.ADMIN, 7)) == "account 7"
    assert share(Person("eve", Role.VIEWER)) == "person eve"
    assert share(LOCAL_ADMINISTRATOR) == "10.0.0.1"
