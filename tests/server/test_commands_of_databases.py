"""Commands that work straight in the database make none by mistake, and help says what a flag is."""

import json
import traceback
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import COMMANDS, application
from tests.support.databases import sqlite_address

IN_THE_DATABASE = [
    ("user", "add", "ada"),
    ("user", "list"),
    ("user", "role", "ada", "admin"),
    ("user", "disable", "ada"),
    ("user", "enable", "ada"),
    ("user", "password", "ada", "--password-stdin"),
    ("token", "create", "--user", "ada"),
    ("token", "list"),
    ("token", "revoke", "1"),
    ("secret", "set", "billing"),
    ("secret", "list"),
    ("secret", "delete", "billing"),
    ("secret", "rotate-key"),
    ("audit", "verify"),
    ("audit", "export"),
    ("sql",),
]


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(application((words[0],)), list(words), input="a long enough password\n")
    return done.exit_code, done.output


@pytest.mark.parametrize("words", IN_THE_DATABASE, ids=" ".join)
def test_in_the_wrong_folder_nothing_is_made(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, output = run(*words, "--json")
    (fault,) = json.loads(output)["errors"]
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert f"database file '{tmp_path}/cronograph.db' does not exist; is this the folder of the server?" in fault
    assert "--create" in fault


def test_an_empty_postgresql_gets_no_tables(empty_postgres_url: str) -> None:
    status, output = run("user", "list", "--database-url", empty_postgres_url)
    assert status == 2
    assert "has no tables of Cronograph; is this" in " ".join(output.split())
    assert run("user", "list", "--database-url", empty_postgres_url, "--create") == (0, "No accounts yet\n")
    assert run("user", "list", "--database-url", empty_postgres_url) == (0, "No accounts yet\n")


def test_statements_are_shown_with_the_plans_of_a_database_that_is_made_for_them(tmp_path: Path) -> None:
    where = ("--database-url", sqlite_address(tmp_path / "new.db"))
    status, output = run("sql", "due_tasks", *where, "--create")
    assert status == 0
    assert "USING INDEX ix_periodic_task_due" in output
    assert run("sql", "due_tasks", *where) == (0, output)


@pytest.mark.costly
@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_type_of_a_flag_that_takes_no_value(command: str) -> None:
    status, output = run(command, "--help")
    assert status == 0
    assert "bool" not in output


OF_A_DATABASE = [
    ("migrate",), ("check",), ("doctor",), ("backup", "to.dump"), ("sql",), ("user", "list"), ("audit", "verify"),
    ("serve", "--port", "0"), ("worker", "--port", "0"), ("bench",),
]  # fmt: skip
WITH_A_PASSWORD = [
    "postgresql://u:hunter@2secret@127.0.0.1:1/x",
    "postgresql://u:hunter%402secret@127.0.0.1:1/x",
    "postgresql://u:hunter/2secret@127.0.0.1:1/x",
    "postgresql://u@127.0.0.1:1/x?password=hunter2secret",
    "postgresql://u@127.0.0.1:1/x?sslpassword=hunter2secret&sslmode=disable",
    "postgresql://u:hunter2secret@127.0.0.1:1,127.0.0.1:2/x",
    "postgresql://u:hunter2secret@127.0.0.1:1/x?pooler=session",
    "postgresql://u:hunter2secret@127.0.0.1:99999/x",
    "mysql://u:hunter2secret@127.0.0.1:1/x",
    "host=127.0.0.1 port=1 user=u password='hunter 2secret'",
]


@pytest.mark.costly
@pytest.mark.parametrize("words", OF_A_DATABASE, ids=" ".join)
def test_no_command_says_a_password(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In what it prints for people and for programs, of errors and of their causes."""
    monkeypatch.chdir(tmp_path)
    for address in WITH_A_PASSWORD:
        for form in ((), ("--json",)):
            done = CliRunner().invoke(application((words[0],)), [*words, "--database-url", address, *form])
            assert done.exit_code != 0
            printed = [done.output, *traceback_of(done.exception)]
            assert [one for one in printed if "hunter" in one or "2secret" in one] == [], address


def traceback_of(error: BaseException | None) -> list[str]:
    """Return what Python would print of an error that nobody caught; a command that says why it ends has none."""
    return [] if error is None or isinstance(error, SystemExit) else traceback.format_exception(error)
