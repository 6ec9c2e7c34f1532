"""Commands that work straight in the database make none by mistake, and help says what a flag is."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import COMMANDS, application

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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_type_of_a_flag_that_takes_no_value(command: str) -> None:
    status, output = run(command, "--help")
    assert status == 0
    assert "bool" not in output
