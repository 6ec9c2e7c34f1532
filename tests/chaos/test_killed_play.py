"""A play that is killed leaves nothing behind: no nodes, nothing their jobs and engines have started, no disks."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.sources import ROOT
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.costly, pytest.mark.timeout(300)]


def at_work(folder: Path) -> list[str]:
    """The command lines of the processes that were started in a folder, or below it."""
    found: list[str] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if Path(process.cwd()).is_relative_to(folder):
                found.append(" ".join(process.cmdline()))
    return found


@pytest.mark.parametrize("scenario", ["engines", "engines on one node"])
def test_a_play_that_is_killed_leaves_nothing_behind(scenario: str, tmp_path: Path) -> None:
    words = ["--scenario", scenario, "--seed", "1", "--minutes", "5", "--runs", "100", "--keep", str(tmp_path)]
    play = subprocess.Popen(
        [sys.executable, "-m", "tests.chaos", *words], cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        kinds = ("cronograph.remote", "nursery.py", "slurmd")
        wait_until(
            lambda: all(any(kind in one for one in at_work(tmp_path)) for kind in kinds), within=120,
            message="nodes, Slurm and code at engines to be at work",
        )  # fmt: skip
    finally:
        os.kill(play.pid, signal.SIGKILL)
        play.wait()
    wait_until(lambda: not at_work(tmp_path), within=60, message="nothing of the play to be left")
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
