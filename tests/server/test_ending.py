"""The last step of a server's process: Python's own exit, which waits for threads."""

import subprocess
import sys

import pytest

SOURCE = """
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from cronograph.server.process.ending import end_without

pool = ThreadPoolExecutor(1, "idle")
pool.submit(int).result()
threading.Thread(target=time.sleep, args=({seconds},), name="thread-of-a-job", daemon={daemon}).start()
end_without([], patience={patience})
"""


APART = """
import atexit

class Last:
    def __del__(self):
        print("taken apart", flush=True)

last = Last()
atexit.register(print, "handled", flush=True)
"""


@pytest.mark.parametrize("daemon", [True, False])
def test_python_is_not_taken_apart_beside_a_daemon_thread_which_could_abort_the_process(daemon: bool) -> None:
    script = APART + SOURCE.format(seconds=300 if daemon else 0, daemon=daemon, patience=60)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split("\n")[:-1] == (["handled"] if daemon else ["handled", "taken apart"])


@pytest.mark.parametrize(
    ("seconds", "daemon", "patience", "status"),
    [(300, False, 0.1, 5), (0.1, False, 60, 0), (300, True, 60, 0)],
    ids=["at work", "ends in time", "daemon"],
)
def test_a_thread_that_python_would_wait_for_is_cut_off_when_it_has_had_its_time(
    seconds: float, daemon: bool, patience: float, status: int
) -> None:
    script = SOURCE.format(seconds=seconds, daemon=daemon, patience=patience)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == status, ended.stderr
    assert ("thread-of-a-job" in ended.stderr) is (status == 5)
