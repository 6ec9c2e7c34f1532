"""A back-up is made while a server works, is complete, and a server goes on from it; what cannot be is refused."""

import os
import shlex
import sqlite3
import stat
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from tests.docs.blocks import all_blocks
from tests.support.databases import sqlite_address
from tests.support.postgres import PostgresServer, find_binaries
from tests.support.processes import ProcessStarter
from tests.support.web import post


def documented(beginning: str, folder: Path) -> list[list[str]]:
    """The documented commands, with another place for the back-up."""
    found = [one for one in all_blocks() if one.document == "docs/deployment.md" and one.text.startswith(beginning)]
    (lines,) = (one.text.replace("/backups", str(folder)).splitlines() for one in found)
    return [shlex.split(line) for line in lines]


def do(processes: ProcessStarter, folder: Path, commands: list[list[str]], env: Mapping[str, str]) -> None:
    """Run commands in a folder; those of ours as they are installed."""
    for words in commands:
        if words[0] == "cronograph":
            status, said = ProcessStarter(folder, processes.nursery).run(*words[1:], env=env)
            assert status == 0, said
        else:
            subprocess.run(words, cwd=folder, env={**os.environ, **env}, check=True)


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(application((words[0],)), list(words))
    return done.exit_code, done.output


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of PostgreSQL that belong to the server of the tests, first in the path."""
    binaries = find_binaries()
    assert binaries is not None
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    return binaries


def asked(url: str, document: str) -> str:
    return post(f"{url}/graphql", {"query": document}).text


CREATE = """mutation { createTask(input: { name: "kept", jobName: "prune_history",
    schedule: { syntax: CRON, value: "0 0 0 1 1 *" } }) { errors { message } } }"""
KEPT = '{ task(name: "kept") { name } }'


@pytest.mark.costly
def test_a_server_goes_on_from_the_back_up_of_a_sqlite_file(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    assert '"errors":[]' in asked(server.url, CREATE)
    do(
        processes,
        processes.folder,
        documented("cronograph backup", processes.folder),
        {"CRONOGRAPH_DATABASE_URL": sqlite_url},
    )
    assert stat.S_IMODE((processes.folder / "cronograph-2030-01-01.backup").stat().st_mode) == 0o600
    elsewhere = processes.folder / "elsewhere"
    elsewhere.mkdir()
    do(processes, elsewhere, documented("rm -f cronograph.db", processes.folder), {})
    restored = processes.serve(sqlite_address(elsewhere / "cronograph.db"))
    assert '"kept"' in asked(restored.url, KEPT)


@pytest.mark.costly
@pytest.mark.postgres
def test_a_server_goes_on_from_the_dump_of_postgresql(
    processes: ProcessStarter, postgres_server: PostgresServer, postgres_url: str, tools: Path
) -> None:
    server = processes.serve(postgres_url)
    assert '"errors":[]' in asked(server.url, CREATE)
    env = {"PATH": os.environ["PATH"], "CRONOGRAPH_DATABASE_URL": postgres_url}
    do(processes, processes.folder, documented("cronograph backup", processes.folder), env)
    server.kill()

    name = f"restored_{os.getpid()}"
    place = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres_server.port), "PGUSER": "postgres"}
    try:
        commands = documented("createdb", processes.folder)
        do(processes, processes.folder, [[word.replace("new_name", name) for word in one] for one in commands], place)
        restored = processes.serve(postgres_server.url(name))
        assert '"kept"' in asked(restored.url, KEPT)
        restored.kill()
    finally:
        postgres_server.drop_database(name)


def test_the_key_of_secrets_is_named_and_not_in_it(sqlite_url: str, tmp_path: Path) -> None:
    args = ["secret", "set", "mail", "--database-url", sqlite_url]
    assert CliRunner().invoke(application(("secret",)), args, input="geheim").exit_code == 0
    status, said = run("backup", str(tmp_path / "b.db"), "--database-url", sqlite_url)
    key = tmp_path / "cronograph.db.secret-key"
    assert (status, str(key) in said) == (0, True)
    assert key.read_text().strip() not in (tmp_path / "b.db").read_bytes().decode("latin-1")


def test_what_is_committed_while_it_is_made_does_not_tear_it(sqlite_url: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("CREATE TABLE half (id int)")
        assert run("backup", str(tmp_path / "b.db"), "--database-url", sqlite_url)[0] == 0
        writer.execute("COMMIT")
    with closing(sqlite3.connect(tmp_path / "b.db")) as copy:
        assert copy.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('half', 'run')").fetchone() == (1,)


def test_a_damaged_file_gets_no_back_up(sqlite_url: str, tmp_path: Path) -> None:
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        page = writer.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ix_run_job'").fetchone()[0]
    with file.open("r+b") as raw:
        raw.seek((page - 1) * 4096)
        raw.write(b"\xff" * 4096)
    target = tmp_path / "b.db"
    status, said = run("backup", str(target), "--database-url", sqlite_url)
    assert (status, "is damaged, so no back-up of it was kept" in said) == (3, True), said
    assert list(tmp_path.glob("b.db*")) == []
    status, said = run("doctor", "--database-url", sqlite_url)
    assert (status, "problem  integrity: the file is damaged" in said) == (1, True), said


def test_what_cannot_be_backed_up_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.touch()
    for target, status, says in (
        (there, 2, "must be a new file"),
        (tmp_path / "nowhere" / "b.db", 2, "must be in a folder that is there"),
        (Path("/proc/b.db"), 3, "must be a new file that can be written"),
    ):
        found, said = run("backup", str(target), "--database-url", sqlite_url)
        assert (found, says in said) == (status, True), said
    assert run("backup", "b.db", "--database-url", sqlite_address(tmp_path / "none.db"))[0] == 2
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "b.db.partial").touch()
    found, said = run("backup", str(tmp_path / "b.db"), "--database-url", sqlite_url)
    assert (found, "b.db.partial': must be a new file" in said) == (3, True)


@pytest.mark.postgres
def test_a_dump_that_cannot_be_made_says_the_line(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = str(tmp_path / "b.dump")
    with_password = postgres_url.replace("postgres@", "postgres:geheim@")
    fake = tmp_path / "bin"
    fake.mkdir()
    monkeypatch.setenv("PATH", str(fake))
    status, said = run("backup", target, "--database-url", with_password)
    assert (status, "pg_dump: is not on this machine" in said, "geheim" in said) == (3, True, False)
    assert f"pg_dump --format=custom --schema=cronograph --no-password --file={target}" in said

    (fake / "pg_dump").write_text('#!/bin/sh\necho "refused for $PGPASSWORD" | /usr/bin/tr gehim xxxxx >&2\nexit 1\n')
    (fake / "pg_dump").chmod(0o755)
    status, said = run("backup", target, "--database-url", with_password)
    assert (status, "pg_dump failed with status 1: " in said, "geheim" in said) == (3, True, False), said
    (fake / "pg_dump").write_text("#!/bin/sh\nexit 0\n")
    (fake / "pg_restore").symlink_to("/bin/false")
    status, said = run("backup", target, "--database-url", with_password)
    assert (status, "pg_restore failed with status 1" in said) == (3, True), said
    assert list(tmp_path.glob("b.dump*")) == []
    status, said = run("backup", target, "--database-url", f"{with_password}?pooler=transaction")
    assert (status, "must reach the server itself, not a pooler" in said) == (2, True)
