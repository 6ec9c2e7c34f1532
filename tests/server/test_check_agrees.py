"""What `check` finds wrong is what the start would meet: for each fault both say the same sentences."""

import json
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import ProcessStarter

BROKEN = "1 / 0\n"
TWICE = "from cronograph.jobs import job\n\n@job('same')\nasync def {}() -> None: ...\n"


def nothing(_folder: Path) -> list[str]:
    return []


def closed_port(_folder: Path) -> list[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return ["--database-url", f"postgresql://me:geheim@127.0.0.1:{taken.getsockname()[1]}/db"]


def foreign_tables(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "theirs.db") as connection:
        connection.execute("CREATE TABLE job (theirs int)")
    connection.close()
    return ["--database-url", "sqlite:///theirs.db"]


def no_database(folder: Path) -> list[str]:
    (folder / "x.db").write_bytes(b"this is not a database, but it has enough bytes to look like a header" * 20)
    return ["--database-url", "sqlite:///x.db"]


def broken_module(folder: Path) -> list[str]:
    (folder / "broken.py").write_text(BROKEN)
    return ["--jobs", "broken"]


def same_name(folder: Path) -> list[str]:
    (folder / "twice.py").write_text(TWICE.format("one") + TWICE.format("two"))
    return ["--jobs", "twice"]


def wrong_file(folder: Path) -> list[str]:
    (folder / "cronograph.toml").write_text('slots = "lots"\nlese = 3\n')
    return []


def elsewhere(_folder: Path) -> list[str]:
    behind = ["--trusted-proxies", "10.0.0.0/8", "--public-url", "https://cron.example.com", "--setup-public"]
    return ["--host", "192.0.2.7", *behind]


def without_administrator(folder: Path) -> list[str]:
    return ["--host", "0.0.0.0", "--trusted-proxies", "10.0.0.0/8", "--public-url", "https://cron.example.com"]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("prepare", "arguments", "words"),
    [
        (nothing, ["--slots", "0", "--port", "70000"], "--slots: must be"),
        (nothing, ["--heartbeat", "31"], "must be at most half the lease"),
        (nothing, ["--jobs", "missing_module"], "'missing_module' is neither installed"),
        (nothing, ["--jobs", "shop.jobs:all"], "did you mean shop.jobs?"),
        (nothing, ["--only-jobs", "prune"], "only_jobs: must be jobs of this node, got 'prune'"),
        (nothing, ["--database-url", "sqlite:///no/such/folder/x.db"], "existing folder"),
        (nothing, ["--database-url", "mysql://root:geheim@db/x"], "--database-url: must be"),
        (nothing, ["--database-url", "postgresql://me:geheim@h:abc/db"], "--database-url: must be"),
        (nothing, ["--database-url", "postgresql://me:geheim@h:99999/db"], "--database-url: the port must be"),
        (nothing, ["--config", "nowhere.toml"], "configuration file: must be a file"),
        (nothing, ["--host", "0.0.0.0"], "which needs TLS"),
        (nothing, ["--host", "0.0.0.0", "--no-auth"], "no_auth: must not be set"),
        (nothing, ["--host", "no-such-host.invalid"], "host: must be a name or address"),
        (nothing, ["--tls-cert", "cert.pem"], "tls_cert and tls_key: must be set both or neither"),
        (nothing, ["--public-url", "http://cron.example.com/x"], "public_url: must be"),
        (closed_port, [], "database postgresql://me"),
        (foreign_tables, [], "job"),
        (no_database, [], "file is not a database"),
        (broken_module, [], "importing module 'broken' failed: ZeroDivisionError"),
        (same_name, [], "names must be unique"),
        (wrong_file, [], "lese in cronograph.toml: no such setting"),
        (elsewhere, [], "host: '192.0.2.7' has no address on this machine that can be listened on"),
        (without_administrator, [], "which needs an administrator"),
    ],
)
def test_the_start_says_what_check_said(
    processes: ProcessStarter, prepare: Callable[[Path], list[str]], arguments: list[str], words: str
) -> None:
    given = ["--port", "0", *prepare(processes.folder), *arguments, "--json"]
    status, output = processes.run("check", *given)
    said = json.loads(output)["errors"]
    assert status == 2
    assert any(words in sentence for sentence in said), said
    assert "geheim" not in output
    status, output = processes.run("serve", *given)
    assert status in (2, 3, 4)
    # A database that does not answer is tried again, which the log says before the answer.
    assert json.loads(output.splitlines()[-1])["errors"] == said
    assert "Traceback" not in output
