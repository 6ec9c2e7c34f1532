"""`cronograph login`, `logout` and `whoami`, and how both clients show and renew what they keep."""

import asyncio
import json
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from cronograph.graphql.client import AsyncClient, Client, Credentials, CredentialsError, OperationError
from cronograph.graphql.client.connection.credentials import StoredTokens, origin_of
from cronograph.graphql.client.connection.sign_in import Invitation, SignInRefusedError, sign_in, sign_out
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.schema.tables import refresh_token
from tests.server.auth.serving import Protected
from tests.support.processes import COMMAND, ProcessStarter
from tests.support.waiting import eventually


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a sign-in yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("CRONOGRAPH_TOKEN", raising=False)
    return tmp_path


class Somebody:
    """Decides in a browser, as soon as a device asks."""

    def __init__(self, server: Protected, decision: str = "approve") -> None:
        self._server = server
        self._decision = decision
        self._loop = asyncio.get_running_loop()

    def invited(self, invitation: Invitation) -> None:
        """Called in the thread of the device."""
        asyncio.run_coroutine_threadsafe(self.decide(invitation.code), self._loop).result()

    async def decide(self, code: str) -> None:
        fields = {"user_code": code, "decision": self._decision}
        assert (await self._server.browser.post("/device/decision", data=fields)).status_code == 200


async def signed_in(server: Protected) -> None:
    await server.account("ada", Role.OPERATOR)
    await server.sign_in_as("ada")
    await asyncio.to_thread(sign_in, server.url, Somebody(server).invited, pause=lambda _: None)


def who(url: str) -> str:
    with Client(url) as client:
        return client.viewer().name


async def logged_in(url: str, said: list[str]) -> tuple[int, str]:
    """Status and standard output of `cronograph login --json`; ``said`` gets what it tells people, as it comes."""
    process = await asyncio.create_subprocess_exec(
        *(str(COMMAND), "login", "--url", url, "--json"), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said.append((await process.stderr.readline()).decode())
    output = (await process.stdout.read()).decode()
    return await process.wait(), output


@pytest.mark.costly
async def test_a_terminal_signs_in_says_who_it_is_and_signs_out(
    light: Protected, home: Path, processes: ProcessStarter
) -> None:
    async def run(*arguments: str, **variables: str) -> tuple[int, str]:
        return await asyncio.to_thread(processes.run, *arguments, "--url", light.url, env=variables)

    await light.account("ada", Role.OPERATOR)
    await light.sign_in_as("ada")
    said: list[str] = []
    login = asyncio.create_task(logged_in(light.url, said))
    await eventually(lambda: bool(said), message="the terminal says where to go")
    found = re.search(r"/device\?user_code=(\S+) and .* shows (\S+)\.$", said[0].strip())
    assert found is not None, said
    assert found[1] == found[2]
    await Somebody(light).decide(found[1])
    status, output = await login
    assert (status, json.loads(output)["name"]) == (0, "ada")
    file = home / "cronograph" / "credentials.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert await run("whoami") == (0, "ada (operator)\n")
    await light.account("eve")
    token = await light.token("eve")
    assert await run("whoami", CRONOGRAPH_TOKEN=token) == (0, "eve (viewer)\n")
    assert await run("logout") == (0, f"Signed out at {light.url}\n")
    assert json.loads(file.read_text()) == {}
    assert await run("logout") == (0, f"Nobody was signed in at {light.url}\n")
    status, output = await run("whoami")
    assert (status, f"cronograph login --url {light.url}" in output) == (1, True)


async def test_both_clients_show_the_sign_in_and_renew_it(light: Protected, home: Path) -> None:
    await signed_in(light)
    origin, kept = origin_of(light.url), Credentials()
    first = kept.get(origin)
    assert first is not None
    assert "cg" not in repr(first)
    # Refused: the server says that the token has ended.
    light.clock.pass_time(minutes=15)
    light.sign_in.authenticator.forget_all()
    assert await asyncio.to_thread(who, light.url) == "ada"
    second = kept.get(origin)
    assert second is not None
    assert second.access_token != first.access_token
    # Before it is refused: this clock says so.
    kept.put(origin, StoredTokens(second.access_token, second.refresh_token, expires_at=0))
    async with AsyncClient(light.url) as client:
        assert (await client.viewer()).name == "ada"
    third = kept.get(origin)
    assert third is not None
    assert third.refresh_token != second.refresh_token
    assert await asyncio.to_thread(files_of, home) == ["credentials.json", "credentials.lock"]


def files_of(home: Path) -> list[str]:
    return [path.name for path in sorted(home.glob("*/*"))]


async def test_many_clients_at_once_renew_it_once(light: Protected, home: Path) -> None:
    await signed_in(light)
    light.clock.pass_time(minutes=15)
    light.sign_in.authenticator.forget_all()

    async def ask() -> str:
        async with AsyncClient(light.url) as client:
            return (await client.viewer()).name

    names = await asyncio.gather(*(ask() for _ in range(5)), *(asyncio.to_thread(who, light.url) for _ in range(3)))
    assert set(names) == {"ada"}
    assert await light.database.read(_tokens) == 2
    assert Credentials().get(origin_of(light.url)) is not None


def _tokens(conn: Connection) -> int:
    return int(conn.execute(select(func.count()).select_from(refresh_token)).scalar_one())


async def test_a_sign_in_that_has_ended_is_forgotten(light: Protected, home: Path) -> None:
    await signed_in(light)
    await light.browser.post("/auth/sign-out-everywhere")
    light.sign_in.authenticator.forget_all()
    with pytest.raises(OperationError) as caught:
        await asyncio.to_thread(who, light.url)
    assert "UNAUTHENTICATED" in caught.value.codes
    assert Credentials().get(origin_of(light.url)) is None
    assert await asyncio.to_thread(sign_out, light.url) is False


async def test_a_refused_device_keeps_nothing(light: Protected, home: Path) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    with pytest.raises(SignInRefusedError, match="somebody has refused this device"):
        await asyncio.to_thread(sign_in, light.url, Somebody(light, "deny").invited, pause=lambda _: None)
    assert not (home / "cronograph" / "credentials.json").exists()


async def test_the_file_is_not_used_when_others_can_read_it_or_it_is_broken(light: Protected, home: Path) -> None:
    await signed_in(light)
    file = home / "cronograph" / "credentials.json"
    file.chmod(0o644)
    with pytest.raises(CredentialsError, match="must be readable by its owner alone"):
        await asyncio.to_thread(who, light.url)
    file.chmod(0o600)
    file.write_text("{")
    with pytest.raises(CredentialsError, match="must be a file of sign-ins"):
        await asyncio.to_thread(who, light.url)
    with changed_home(file):
        assert Credentials().get("http://localhost") is None


@contextmanager
def changed_home(file: Path) -> Generator[None]:
    """A folder of settings that is none."""
    before: Any = os.environ["XDG_CONFIG_HOME"]
    os.environ["XDG_CONFIG_HOME"] = str(file)
    try:
        yield
    finally:
        os.environ["XDG_CONFIG_HOME"] = before
