"""Every file that the server and its commands make is readable by its owner alone, under any ``umask``."""

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronograph.graphql.client.connection.credentials import Credentials, StoredTokens
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.opening import connected
from cronograph.server.auth.signing import offer_setup, remove_link
from cronograph.server.cli import application
from tests.server.auth.serving import PASSWORD
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import open_client

OWNER_ONLY = 0o600


@pytest.fixture
def careless() -> Generator[None]:
    """A ``umask`` that lets others read and write new files."""
    before = os.umask(0o000)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The permissions of every file below a folder."""
    return {
        str(file.relative_to(folder)): stat.S_IMODE(file.lstat().st_mode)
        for file in folder.rglob("*")
        if not file.is_dir() and not file.is_symlink()
    }


def run(*words: str, said: str | None = None) -> None:
    """A command of the command line, which ends well."""
    done = CliRunner().invoke(application((words[0],)), list(words), input=said)
    assert done.exit_code == 0, done.output


COMMANDS = {
    "migrate": ("migrate",),
    "user add": ("user", "add", "ada", "--role", "admin", "--password-stdin"),
    "user list": ("user", "list"),
    "token list": ("token", "list"),
    "audit verify": ("audit", "verify"),
    "secret set": ("secret", "set", "billing"),
}


@pytest.mark.costly
@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_what_a_command_makes_is_for_its_owner_alone(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/new.db"
    if words[0] == "audit":
        run("migrate", "--database-url", url)
    run(*words, *(() if words[0] == "migrate" else ("--create",)), "--database-url", url, said=PASSWORD)
    found = modes(tmp_path)
    assert "new.db" in found
    assert set(found.values()) == {OWNER_ONLY}, {name: oct(mode) for name, mode in found.items()}


@pytest.mark.usefixtures("careless")
def test_check_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("check", "--database-url", f"sqlite:///{tmp_path}/new.db", "--no-auth", "--port", "0")
    assert modes(tmp_path) == {}


@pytest.mark.usefixtures("careless")
def test_a_connection_of_any_kind_makes_a_private_file(tmp_path: Path) -> None:
    with connected(f"sqlite:///{tmp_path}/new.db") as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
        connection.commit()
        assert modes(tmp_path) == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), OWNER_ONLY)


@pytest.mark.usefixtures("careless")
def test_the_key_of_secrets_and_the_sign_ins_of_the_command_line_are_private(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "config" / "credentials.json")
    with credentials.try_lock():
        credentials.put("http://localhost", StoredTokens("access", "refresh", 0.0))
    assert set(modes(tmp_path).values()) == {OWNER_ONLY}
    assert stat.S_IMODE((tmp_path / "config").stat().st_mode) == 0o700


@pytest.mark.costly
@pytest.mark.usefixtures("careless")
def test_a_server_keeps_its_files_to_itself_and_removes_the_link_once_used(
    processes: ProcessStarter, tmp_path: Path
) -> None:
    place = tmp_path / "data"
    place.mkdir()
    url = f"sqlite:///{place}/new.db"
    # As a shell starts it: a forked one has the umask of the process that forks.
    server = processes.start("serve", "--host", "127.0.0.1", "--port", "0", "--database-url", url, "--json", fresh=True)
    link_file = place / "new.db.setup-link"
    wait_until(lambda: '"event": "ready"' in server.output(), message="the server is ready")
    found = modes(place)
    assert {"new.db", "new.db-wal", "new.db-shm", "new.db.lock", "new.db.setup-link"} <= found.keys()
    assert set(found.values()) == {OWNER_ONLY}, {name: oct(mode) for name, mode in found.items()}
    link = link_file.read_text().strip()
    address, _, token = link.partition("/setup?token=")
    with open_client(address) as browser:
        fields = {"token": token, "name": "ada", "password": PASSWORD}
        done = browser.post("/setup", data=fields, headers={"origin": address})
    assert done.status_code == 303, done.text
    assert not link_file.exists()
    assert server.stop() == 0


@pytest.mark.costly
@pytest.mark.usefixtures("careless")
def test_the_demo_makes_private_files(processes: ProcessStarter, tmp_path: Path) -> None:
    place = tmp_path / "demo"
    place.mkdir()
    url = f"sqlite:///{place}/demo.db"
    server = processes.start("demo", "--port", "0", "--database-url", url, "--json", fresh=True)
    wait_until(lambda: '"event": "ready"' in server.output(), message="the demo is ready")
    assert set(modes(place).values()) == {OWNER_ONLY}
    server.kill()


async def test_a_link_that_cannot_be_removed_is_named(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database = Database(sqlite_url)
    try:
        assert await offer_setup(database, "http://localhost") is not None
        (file,) = Path(sqlite_url.removeprefix("sqlite:///")).parent.glob("*.setup-link")
        file.unlink()
        file.mkdir()
        remove_link(database)
    finally:
        await database.close()
    assert f"'{file}' could not be removed" in caplog.text
