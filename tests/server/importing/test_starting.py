"""What began with the machine there: a module that a real node loads, and that enqueues its lines at each start."""

from pathlib import Path

import pytest

from cronograph.graphql.client import Client
from cronograph.server.importing import model
from cronograph.server.importing.report import report, start_module, summary
from tests.server.importing.projects import START
from tests.server.importing.projects import read as read_program
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

CRONTAB = """
GREETING={it's "here"}
0 4 * * * backup
@reboot echo "$GREETING" 100\\%
@reboot cat; exit 3%first%second
"""
TIMER = "[Timer]\nOnBootSec=15min\nOnStartupSec=2h\n"
SERVICE = '[Service]\nExecStart=/usr/bin/warm "two words"\n'


def read(folder: Path, text: str = CRONTAB) -> model.Import:
    (folder / "my.crontab").write_text(text)
    return read_program("crontab", folder / "my.crontab")


@pytest.mark.costly
@pytest.mark.timeout(120)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_start_of_a_node_enqueues_the_lines(processes: ProcessStarter, database_url: str, tmp_path: Path) -> None:
    (processes.folder / "start_of_node.py").write_text(start_module(read(tmp_path)))
    variables = {"CRONOGRAPH_SHELL": "true", "CRONOGRAPH_DATABASE_URL": database_url}
    server = processes.serve(database_url, "--jobs", "start_of_node", env=variables)
    with Client(server.url) as client:

        def ended() -> list[tuple[str, str]]:
            runs = [run for run in client.runs(job_name="shell") if run.finished_at]
            return sorted((str(run.state), str(run.error)[:43]) for run in runs)

        wait_until(lambda: len(ended()) == 2, message="both lines to be run")
        assert ended() == [("FAILED", "the command ended with exit status 3; its o"), ("SUCCESS", "None")]


def test_the_report_shows_the_module_and_counts_its_lines(tmp_path: Path) -> None:
    found = read(tmp_path)
    said = report(found, START)
    assert said.startswith("# 1 of 3 schedules of crontab carried")
    assert "my.crontab:4: `@reboot echo" in said
    assert f"```python\n{start_module(found)}```" in said
    assert "also after an update" in said
    assert summary(found, START)["startModule"] == start_module(found)
    nothing = read(tmp_path, "0 4 * * * backup\n")
    assert (start_module(nothing), summary(nothing, START)["startModule"]) == ("", None)
    assert "At the start of a node" not in report(nothing, START)


def test_timers_that_count_from_the_boot_keep_their_delay(tmp_path: Path) -> None:
    (tmp_path / "warm.timer").write_text(TIMER)
    (tmp_path / "warm.service").write_text(SERVICE)
    found = read_program("systemd", tmp_path)
    assert (found.carried, found.left_out) == ([], [])
    assert [(one.text, one.delay, one.args["command"]) for one in found.at_start] == [
        ("OnBootSec=15min", 900, ["/usr/bin/warm", "two words"]),
        ("OnStartupSec=2h", 7200, ["/usr/bin/warm", "two words"]),
    ]
    assert "('warm.timer', 900, {'command'" in start_module(found).replace("\n     ", " ")
