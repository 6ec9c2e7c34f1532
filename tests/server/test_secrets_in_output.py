"""What jobs print is in the process's own output without their secrets: by every way, in every kind of job."""

from shutil import copyfile

import pytest
from typer.testing import CliRunner

from cronograph.graphql.client import Client, Run
from cronograph.server.cli import application
from tests.support.processes import ProcessStarter
from tests.support.sources import ROOT
from tests.support.waiting import wait_until

JOBS = ROOT / "tests" / "runtime" / "job" / "telling_jobs.py"
VALUE = "hünter-2-☃\npin: 4711\nthe end is nigh"
PARTS = ("nter-2", "4711", "nigh")


def set_secret(url: str, value: str) -> None:
    """As an operator does it."""
    done = CliRunner().invoke(application(("secret",)), ["secret", "set", "key", "--database-url", url], input=value)
    assert done.exit_code == 0, done.output


@pytest.mark.costly
@pytest.mark.parametrize(("kind", "log_format"), [("coroutine", "json"), ("thread", "human"), ("process", "json")])
def test_no_way_of_writing_shows_a_secret(
    processes: ProcessStarter, sqlite_url: str, kind: str, log_format: str
) -> None:
    environment = {"CRONOGRAPH_LOG_FORMAT": log_format}
    copyfile(JOBS, processes.folder / JOBS.name)
    server = processes.serve(sqlite_url, "--jobs", JOBS.stem, env=environment)
    set_secret(sqlite_url, VALUE)
    with Client(server.url) as client:
        started = client.trigger_job(f"telling in a {kind}", {"key": {"$secret": "key"}}).run
        assert started is not None

        def failed() -> Run | None:
            run = client.run(started.id)
            return run if run is not None and run.finished_at is not None else None

        wait_until(failed, message="the job to end")
        ended = failed()
    wait_until(lambda: "queued: [secret key]" in server.output(), message="the queued line")
    assert server.stop() == 0
    output = server.output()
    assert ended is not None
    assert ended.error is not None
    assert "[secret key]" in ended.error
    assert [line for line in output.splitlines() if any(part in line for part in PARTS)] == []
    for words in ("own handler: [secret key]", "RuntimeError: [secret key]"):
        assert words in output
