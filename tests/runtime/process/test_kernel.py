"""What a process is told about itself, also by a kernel without `/proc`."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronograph.jobs.runtime.process import kernel


@pytest.fixture
def thread() -> Iterator[threading.Event]:
    """A thread beside the test's own, for as long as the event is not set."""
    end = threading.Event()
    running = threading.Thread(target=end.wait)
    running.start()
    yield end
    end.set()
    running.join()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
def test_children_are_known_until_they_are_collected() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in kernel.children_of_this_process()
        child.communicate()
    assert child.pid not in kernel.children_of_this_process()


def test_threads_and_memory_are_reported(thread: threading.Event) -> None:
    assert kernel.threads_of_this_process() >= 2
    for below in (0, 1 << 62):
        assert kernel.memory_of_this_process(below) > 1024 * 1024


def test_a_kernel_that_reports_nothing_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, thread: threading.Event
) -> None:
    monkeypatch.setattr(kernel, "_TASKS", str(tmp_path / "task"))
    monkeypatch.setattr(kernel, "_SIZES", str(tmp_path / "statm"))
    assert kernel.children_of_this_process() == set()
    assert kernel.threads_of_this_process() == threading.active_count() >= 2
    assert kernel.memory_of_this_process() > 1024 * 1024


def test_a_thread_that_ends_while_children_are_looked_for_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel, "_TASKS", str(tmp_path))
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
    # The list of threads names the second too, which has no list of children any more.
    (tmp_path / "1" / "children").write_text("17 18 ")
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert kernel.children_of_this_process() == {17, 18}
        child.communicate()
