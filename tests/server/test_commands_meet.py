"""What commands meet that they cannot help: a server of another kind, a newer database, an interruption."""

import asyncio
import getpass
import os
import pathlib
import sys
from pathlib import Path

import pytest

from cronograph.graphql.client.base.errors import InvalidAnswerError
from cronograph.graphql.client.connection.sign_in import sign_in
from cronograph.jobs.accounts.actions.secrets import fresh_key
from cronograph.jobs.accounts.rules.secrets import KeyRing
from cronograph.jobs.core.base.errors import SchemaTooNew
from cronograph.server.cli import main
from cronograph.server.cli.base.output import UnreachableError
from cronograph.server.cli.remote.api import server_at
from cronograph.server.configuration.reading import load
from cronograph.server.configuration.secret_keys import key_file, key_source, write_keys
from cronograph.server.database.schema import migrate, pending
from cronograph.server.process.ending import ExitCode
from tests.builtin.http_server import answering, reply
from tests.migrations.test_upgrade import set_revision


def ask(url: str) -> None:
    with server_at(url) as client:
        client.viewer()


async def test_a_server_of_another_kind_is_distinguished_from_one_that_is_unavailable() -> None:
    async with answering(lambda _: reply(200, b"hello", content_type="text/plain")) as other:
        url = f"http://127.0.0.1:{other.port}"
        with pytest.raises(UnreachableError, match=f"no Cronograph server answers at {url}: "):
            await asyncio.to_thread(ask, url)
        with pytest.raises(InvalidAnswerError, match=r"does not let a device sign in \(HTTP 200\)"):
            await asyncio.to_thread(sign_in, url, lambda _: None)


def test_a_database_of_a_newer_version_is_refused_by_anyone_who_asks(sqlite_url: str) -> None:
    set_revision(sqlite_url, "9042")
    for ask_for in (migrate, pending):
        with pytest.raises(SchemaTooNew, match="newer version"):
            ask_for(sqlite_url)


def test_a_question_that_is_given_up_ends_a_command_for_programs_without_a_traceback(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object, **__: object) -> str:
        raise EOFError

    _, terminal = os.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(getpass, "getpass", give_up)
        words = ["user", "password", "ada", "--json", "--database-url", sqlite_url]
        monkeypatch.setattr(sys, "argv", ["cronograph", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == ExitCode.REFUSED


def test_a_key_that_another_process_makes_at_the_same_moment_is_taken(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load({"database_url": sqlite_url}).settings
    path = key_file(settings)
    assert path is not None
    link, made = Path.hardlink_to, KeyRing((fresh_key(),))

    def later(path: Path, target: Path) -> None:
        write_keys(path, made)
        link(path, target)

    monkeypatch.setattr(pathlib.Path, "hardlink_to", later)
    assert key_source(settings)().newest == made.newest
    assert list(path.parent.glob("*secret-key*")) == [path]
