"""`cronograph exec`: a command here is a run of a server's task, whether the server is there or not."""

import fcntl
import json
import stat
from pathlib import Path

import pytest

from cronograph.server.cli.remote.running import MOST_SPOOLED
from tests.server.test_foreign_jobs import log_of
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.costly, pytest.mark.timeout(180)]


def key_of(server: CronographProcess, processes: ProcessStarter) -> dict[str, str]:
    """What a command needs to know of the server."""
    status, said = processes.run("addresses", "create", "ping", env={"CRONOGRAPH_URL": server.url})
    assert status == 0
    return {
        "CRONOGRAPH_URL": server.url,
        "CRONOGRAPH_PING_KEY": said.strip().rpartition("/")[2],
        "XDG_STATE_HOME": str(processes.folder / "state"),
    }


def ended(server: CronographProcess, number: int, task: str = "backup") -> None:
    """Wait until so many runs of a task have ended."""
    wait_until(lambda: len(log_of(server, task)) == number, message=f"{number} ends")


def test_output_and_status_of_a_command_come_to_the_log(database_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(database_url)
    env = key_of(server, processes)
    words = ("exec", "--task", "backup", "--create")
    assert processes.run(*words, "--", "sh", "-c", "echo copied; echo 12 files >&2", env=env) == (
        0,
        "copied\n12 files\n",
    )
    ended(server, 1)
    assert processes.run(*words, "--", "sh", "-c", "exit 3", env=env)[0] == 3
    ended(server, 2)
    status, said = processes.run(*words, "--json", "--", "sh", "-c", "echo {}; exit 4", env=env)
    assert status == 4
    answer = {"ok": False, "task": "backup", "status": 4, "isReported": True}
    assert answer in [json.loads(line) for line in said.splitlines()]
    assert processes.run(*words, "--", "no-such-program", env=env)[0] == 127
    ended(server, 4)
    done, failed, _, missing = log_of(server, "backup")
    assert (done["outcome"], done["value"]["code"]) == ("SUCCESS", 0)
    assert failed["errorMessage"] == "the program ended with 3"
    assert missing["errorMessage"] == "the program ended with 127"
    # The pings of a run come to one execution or to several, as fast as it takes them.
    lines = "".join(processes.run("logs", str(number), "--execution", "--json", env=env)[1] for number in range(1, 13))
    assert (lines.count('"copied"'), lines.count('"12 files"')) == (1, 1)


def test_a_server_that_is_away_hears_of_it_from_the_next_call(database_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(database_url)
    env = key_of(server, processes)
    words = ("exec", "--task", "backup", "--create", "--")
    server.stop()
    assert processes.run(*words, "sh", "-c", "echo while away; exit 5", env=env)[0] == 5
    spool = Path(env["XDG_STATE_HOME"]) / "cronograph" / "spool"
    files = sorted(spool.glob("*.json"))
    assert len(files) == 2
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
    # What waits stays, however often nobody answers.
    assert processes.run(*words, "true", env=env)[0] == 0
    assert len(list(spool.glob("*.json"))) == 4
    server = processes.serve(database_url)
    # The new server is at another port.
    for file in spool.glob("*.json"):
        file.write_text(file.read_text().replace(env["CRONOGRAPH_URL"], server.url))
    env["CRONOGRAPH_URL"] = server.url
    assert processes.run(*words, "true", env=env)[0] == 0
    assert list(spool.glob("*.json")) == []
    ended(server, 3)
    outcomes = sorted((one["outcome"], one["errorMessage"] or "") for one in log_of(server, "backup"))
    assert outcomes == [("FAILED", "the program ended with 5"), ("SUCCESS", ""), ("SUCCESS", "")]


def test_the_server_says_how_long_and_whether_at_all(sqlite_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(sqlite_url)
    env = key_of(server, processes)
    for name, args in (("quick", '{"longest": 1}'), ("slow", "{}")):
        create = ("tasks", "create", name, "foreign_job", "0 0 2 * * *", "--args", args)
        assert processes.run(*create, env=env)[0] == 0
        assert processes.run("tasks", "update", name, "overlap=SKIP", env=env)[0] == 0
    assert processes.run("exec", "--task", "quick", "--", "sleep", "60", env=env)[0] == 124
    ended(server, 1, "quick")
    assert log_of(server, "quick")[0]["errorMessage"] == "the program ended with 124"
    started = processes.folder / "started"
    script = f"trap 'echo stopped; exit 9' TERM; touch {started}; while :; do sleep 0.1; done"
    first = processes.start("exec", "--task", "slow", "--", "sh", "-c", script, env=env)
    wait_until(started.exists, message="the first command")
    status, said = processes.run("exec", "--task", "slow", "--", "touch", str(processes.folder / "never"), env=env)
    assert (status, "runs already" in said) == (1, True)
    assert not (processes.folder / "never").exists()
    first.terminate()
    assert first.wait(60) == 9
    ended(server, 1, "slow")
    assert log_of(server, "slow")[0]["errorMessage"] == "the program ended with 9"


NOWHERE = {"CRONOGRAPH_URL": "http://127.0.0.1:9", "CRONOGRAPH_PING_KEY": "k"}
"""No server answers there."""


def in_vain(processes: ProcessStarter, spool: Path, *command: str) -> tuple[int, str]:
    """Run a command while no server answers; its status, and what was said."""
    words = ("exec", "--task", "backup", "--spool", str(spool), "--", *command)
    return processes.run(*words, env=NOWHERE)


def test_a_command_runs_where_its_pings_cannot_be_kept(processes: ProcessStarter) -> None:
    blocked = processes.folder / "no folder"
    blocked.write_text("")
    status, said = in_vain(processes, blocked, "sh", "-c", "echo done; exit 7")
    assert (status, "done" in said) == (7, True)
    assert "no folder cannot be written: File exists; this run is not reported" in said


def test_a_full_spool_takes_no_more_pings(processes: ProcessStarter) -> None:
    spool = processes.folder / "spool"
    spool.mkdir()
    for number in range(MOST_SPOOLED):
        (spool / f"{number}.json").write_text("{}")
    with (spool / ".lock").open("w") as lock:
        # Another call sends them; this one does not wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, said = in_vain(processes, spool, "true")
    assert (status, said.count("1,000 pings wait already; this run is not reported")) == (0, 2)
    assert len(list(spool.glob("*.json"))) == MOST_SPOOLED


def test_files_of_the_spool_that_hold_no_ping_are_put_aside(processes: ProcessStarter) -> None:
    spool = processes.folder / "spool"
    spool.mkdir()
    for name, text in (("a.json", "no JSON"), ("b.json", "[]"), ("c.json", '{"url": 1}')):
        (spool / name).write_text(text)
    (spool / "d.json").mkdir()
    status, said = in_vain(processes, spool, "true")
    assert (status, said.count("held no ping, and was put aside as")) == (0, 4)
    assert sorted(file.name for file in spool.glob("*.odd")) == ["a.odd", "b.odd", "c.odd", "d.odd"]
    assert len(list(spool.glob("*.json"))) == 2


def test_a_command_that_may_not_be_run_ends_with_126(processes: ProcessStarter) -> None:
    script = processes.folder / "script"
    script.write_text("echo no")
    status, said = in_vain(processes, processes.folder / "spool", str(script))
    assert (status, "Permission denied" in said) == (126, True)
