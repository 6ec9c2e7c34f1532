"""A shell completes the names of tasks, jobs, groups and nodes: from the server, kept for a minute, never an error."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronograph.server.cli.remote.names import KEPT, names
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.web import post

JOBS = """
from cronograph.jobs import job

@job("nightly report", schedule="0 0 3 * * *", group="reports")
async def report() -> None: ...

@job("nightly import", schedule="0 0 4 * * *", group="imports")
async def bring() -> None: ...
"""


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CronographProcess]:
    folder = tmp_path_factory.mktemp("names")
    (folder / "names_jobs.py").write_text(JOBS)
    starter = ProcessStarter(folder, nursery)
    yield starter.serve(f"sqlite:///{folder}/x.db", "--jobs", "names_jobs", "--node-name", "n1")
    starter.end_all()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cronograph"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("tasks show nightly", ["nightly import", "nightly report"]),
        ("tasks pause nope", []),
        ("enqueue nightly", ["nightly import", "nightly report"]),
        ("enqueue x --group rep", ["reports"]),
        ("trigger --task nightly", ["nightly import", "nightly report"]),
        ("groups pause imp", ["imports"]),
        ("nodes drain n", ["n1"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_gets_the_names(
    processes: ProcessStarter, server: CronographProcess, shell: str, line: str, found: list[str]
) -> None:
    words = ["cronograph", *line.split()]
    # Groups exist once a run of them waits.
    for group in ("reports", "imports"):
        document = f'mutation {{ updateGroup(input: {{ name: "{group}", maxRunning: 5 }}) {{ errors {{ code }} }} }}'
        post(f"{server.url}/graphql", {"query": document})
    env = {"CRONOGRAPH_URL": server.url, "_CRONOGRAPH_COMPLETE": f"complete_{shell}", "no_proxy": "*"}
    env |= {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)} if shell == "bash" else {}
    env |= {"_TYPER_COMPLETE_ARGS": " ".join(words)} if shell == "zsh" else {}
    env["XDG_CACHE_HOME"] = str(processes.folder / "cache")
    status, said = processes.run(env=env)
    assert status == 0, said
    assert "Traceback" not in said
    assert [name for name in ("nightly import", "nightly report", "imports", "reports", "n1") if name in said] == found


def test_names_are_kept_for_a_minute_and_read_by_their_owner_alone(server: CronographProcess, cache: Path) -> None:
    now = [1000.0]
    assert names("tasks", server.url, "night", lambda: now[0]) == ["nightly import", "nightly report"]
    (file,) = cache.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = file.read_bytes()
    assert names("tasks", server.url, "nightly r", lambda: now[0]) == ["nightly report"]
    now[0] += KEPT - 1
    assert names("tasks", server.url, "night", lambda: now[0]) == ["nightly import", "nightly report"]
    assert file.read_bytes() == kept, "nobody was asked"
    now[0] += 1
    assert names("tasks", server.url, "night", lambda: now[0]) == ["nightly import", "nightly report"]
    assert file.read_bytes() != kept


def test_without_a_server_or_a_place_there_is_no_name_and_no_error(
    server: CronographProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names("tasks", f"http://127.0.0.1:{free_port()}", "n") == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert names("nodes", server.url, "") == ["n1"]


def test_a_damaged_cache_is_made_again(server: CronographProcess, cache: Path) -> None:
    assert names("nodes", server.url, "") == ["n1"]
    (file,) = cache.iterdir()
    file.write_text("{ nonsense")
    assert names("nodes", server.url, "") == ["n1"]
    assert "n1" in file.read_text()
