"""Jobs in child processes: what they see, what comes back, and how they die."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.model import Outcome, ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, default_registry, define
from cronograph.jobs.runtime.attempts.child_bodies import described
from cronograph.jobs.runtime.base.settings import start_launcher
from cronograph.jobs.runtime.process.finding import check_findable, find_job
from tests.runtime.process_jobs import HIDDEN, JOBS
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually, wait_until

YEARLY = ScheduleSpec(Syntax.CRON, "@yearly")


@pytest.fixture
async def engine(start_engine: StartEngine) -> RunningEngine:
    return await start_engine(JOBS)


async def test_each_run_has_a_process_and_a_session_of_its_own_and_runs_in_the_main_thread(
    engine: RunningEngine,
) -> None:
    point = {"x": 3, "at": "2026-01-02T03:04:05Z"}
    first, second = [(await engine.finish("who_am_i", {"point": point})).execution.value for _ in range(2)]
    assert len({first["pid"], second["pid"], os.getpid()}) == 3
    assert first["session"] == first["pid"]
    assert first["main_thread"] is True
    assert first["random"] != second["random"]
    assert first["point"] == point


async def test_a_child_holds_no_connection_of_the_node_or_of_other_children(engine: RunningEngine) -> None:
    done = await engine.finish("who_am_i")
    # Standard streams, its socket, and the folder that was just listed.
    assert len(done.execution.value["files"]) <= 5


async def test_the_context_shows_a_child_what_it_shows_any_job(engine: RunningEngine) -> None:
    done = await engine.finish("info", {"word": "hello"}, timeout=60.0, retries=1)
    assert done.execution.value == {
        "args": {"word": "hello"},
        "run_id": done.run.id,
        "attempt": 1,
        "is_last_attempt": False,
        "scheduled_for": None,
        "has_deadline": True,
        "remaining": True,
        "services": True,
        "checkpoint": None,
        "word": "hello",
    }


@pytest.mark.costly
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("exit", "child process exited with status 3 before its job ended"),
        ("segfault", "child process exited with signal 11 (SIGSEGV)"),
        ("kill", "child process exited with signal 9 (SIGKILL); this node did not kill it, perhaps the system ran out"),
        ("group", "child process exited with signal 9 (SIGKILL)"),
    ],
)
async def test_a_crash_is_a_failure_that_says_how_and_keeps_the_last_words(
    engine: RunningEngine, how: str, words: str
) -> None:
    done = await engine.finish("dies", {"how": how})
    assert (done.run.state, done.execution.outcome) == (RunState.FAILED, Outcome.FAILED)
    assert (done.run.error or "").startswith(words)
    assert done.execution.error_type == "ChildProcessError"
    assert done.messages == ["last words"]
    assert done.run.progress == {"done": 1, "total": 3, "message": "dying"}


@pytest.mark.costly
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says that a process is stopped")
async def test_a_child_that_somebody_stops_holds_its_run_no_longer_than_a_stopped_node_would(
    start_engine: StartEngine,
) -> None:
    engine = await start_engine(JOBS, lease=8.0, heartbeat=1.0)
    done = await engine.finish("dies", {"how": "stop"})
    assert done.run.error == "child process was stopped (SIGSTOP) for a whole lease and was killed"


async def test_a_crash_is_retried_like_any_failure(engine: RunningEngine) -> None:
    done = await engine.finish("dies", {"how": "kill"}, retries=1)
    assert [one.outcome for one in done.executions] == [Outcome.FAILED, Outcome.FAILED]


async def test_all_that_a_child_logs_is_kept_with_its_execution(engine: RunningEngine) -> None:
    done = await engine.finish("says")
    found = [(line.level, line.message.split("\n")[0], line.fields) for line in done.lines]
    assert found == [
        ("debug", "by ctx", {"number": 1}),
        ("info", "by logging, info", None),
        ("warning", "by a thread", None),
        ("error", "by exception", None),
        # Arguments that do not fit are shown as Python prints it.
        ("info", "--- Logging error ---", None),
    ]
    assert "ValueError: invalid literal" in done.lines[3].message
    assert done.run.state is RunState.SUCCESS


async def test_threads_of_a_coroutine_in_a_child_log_too(engine: RunningEngine) -> None:
    done = await engine.finish("crowds")
    assert sorted(done.messages) == [f"thread {number}" for number in range(4)]
    assert done.execution.records_processed == 6


@pytest.mark.costly
@pytest.mark.parametrize("wait", [True, False])
async def test_checkpoints_of_a_child_are_kept_in_order_and_found_by_the_next_run(
    engine: RunningEngine, wait: bool
) -> None:
    spec = TaskSpec("t", "saves", YEARLY, args={"times": 20, "wait": wait})
    first = await engine.finished(await engine.trigger_new_task(spec))
    assert first.execution.value == {"before": None, "after": {"number": 19}}, first.execution
    assert await engine.checkpoint("t") == {"number": 19}
    second = await engine.finished(await engine.trigger("t"))
    assert second.execution.value["before"] == {"number": 19}


async def test_what_cannot_be_kept_fails_in_the_job_with_the_reason(engine: RunningEngine) -> None:
    saved, shown = await engine.finish("saves_nonsense"), await engine.finish("shows_nonsense")
    assert (saved.run.error or "").startswith("the checkpoint must be JSON, got set; ")
    assert shown.run.error == "progress: done must be a finite number, got nan"


async def test_the_last_progress_of_a_child_is_kept_however_fast_it_came(engine: RunningEngine) -> None:
    done = await engine.finish("shows", {"times": 5_000})
    assert done.run.progress == {"done": 4999, "total": 5000, "message": "step 4999"}


async def test_a_child_that_ends_leaves_nothing_behind(engine: RunningEngine, tmp_path: Path) -> None:
    left = await engine.finish("leaves_children")
    await eventually(lambda: all(is_gone(pid) for pid in left.lines[0].fields["pids"]))
    await engine.finish("writes_at_exit", {"path": str(tmp_path / "note")})
    assert (tmp_path / "note").read_text() == "ended in order"


async def test_a_child_that_leaves_is_told_so_twice_and_ends_in_order(engine: RunningEngine, tmp_path: Path) -> None:
    done = await engine.finish("is_told_twice_to_leave", {"path": str(tmp_path / "note")}, timeout=0.5)
    assert done.execution.outcome is Outcome.TIMED_OUT
    assert (tmp_path / "note").read_text() == "ended in order"


async def test_a_child_ends_as_an_interpreter_does(engine: RunningEngine, tmp_path: Path) -> None:
    await engine.finish("leaves_work_for_the_end", {"folder": str(tmp_path)})
    assert (tmp_path / "order").read_text() == "a thread then atexit"
    assert (tmp_path / "unclosed").read_text() == "written out"


@pytest.mark.costly
async def test_a_thread_that_never_ends_does_not_keep_the_process(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS, slots=1)
    done = await engine.finish("leaves_a_thread")
    assert done.run.state is RunState.SUCCESS


@pytest.fixture
def default_timeout() -> Iterator[None]:
    """Set a timeout as scripts do for the sake of a library without one."""
    socket.setdefaulttimeout(10)
    yield
    socket.setdefaulttimeout(None)


async def test_a_default_timeout_of_sockets_ends_no_job(default_timeout: None, start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    done = await engine.finish("who_am_i")
    assert (done.run.state, done.run.error) == (RunState.SUCCESS, None)


@pytest.mark.parametrize("kind", ["forks", "forks_in_a_loop", "forks_in_a_thread", "forks_on_the_node"])
async def test_a_process_that_a_job_forks_ends_where_its_code_ends(engine: RunningEngine, kind: str) -> None:
    done = [await engine.finish(kind, {"how": how}) for how in ("returns", "exits", "raises")]
    assert [(one.run.error, one.execution.value) for one in done] == [(None, 0), (None, 3), (None, 1)]


async def test_a_warning_of_a_child_is_a_line_of_its_execution(engine: RunningEngine) -> None:
    (message,) = (await engine.finish("warns")).messages
    assert "UserWarning: out of paper" in message


async def test_a_stray_sigterm_does_not_end_a_job(engine: RunningEngine) -> None:
    done = await engine.finish("signals_itself")
    assert (done.run.state, done.messages) == (RunState.SUCCESS, ["still here"])


@pytest.mark.costly
@pytest.mark.parametrize("job_name", ["waits_with_child", "holds_the_interpreter"])
async def test_a_killed_run_takes_all_its_processes_with_it(
    engine: RunningEngine, tmp_path: Path, job_name: str
) -> None:
    run_id = await engine.enqueue(job_name, {"folder": str(tmp_path)})
    pids = await eventually(lambda: noted_pids(tmp_path))
    await engine.cancel_elsewhere(run_id)
    done = await engine.finished(run_id)
    assert done.run.state is RunState.CANCELLED
    await eventually(lambda: all(is_gone(pid) for pid in pids))


async def test_when_the_launcher_is_killed_its_runs_fail_and_the_next_ones_get_a_new_one(
    engine: RunningEngine, tmp_path: Path
) -> None:
    run_id = await engine.enqueue("waits_with_child", {"folder": str(tmp_path)})
    child, *theirs = await eventually(lambda: noted_pids(tmp_path))
    launcher = psutil.Process(child).parent()
    assert launcher is not None
    launcher.send_signal(signal.SIGKILL)
    done = await engine.finished(run_id)
    assert done.run.error == "child process was lost: its launcher ended"
    await eventually(lambda: is_gone(child))
    await eventually(lambda: all(is_gone(pid) for pid in theirs))
    assert (await engine.finish("who_am_i")).run.state is RunState.SUCCESS


@pytest.mark.costly
@pytest.mark.parametrize("job_name", ["waits_with_child", "holds_the_interpreter"])
def test_when_the_node_is_killed_its_children_and_theirs_die(tmp_path: Path, job_name: str) -> None:
    command = [sys.executable, "-m", "tests.runtime.lonely_node", job_name, str(tmp_path)]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as node:
        pids = wait_until(lambda: noted_pids(tmp_path))
        (launcher,) = psutil.Process(node.pid).children()
        assert launcher.pid == psutil.Process(pids[0]).ppid()
        node.kill()
    wait_until(lambda: all(is_gone(pid) for pid in [*pids, launcher.pid]), message="all processes to be gone")


async def test_stopping_the_engine_ends_the_launcher(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS, launch=start_launcher)
    await engine.finish("who_am_i")
    (launcher,) = [one for one in psutil.Process().children() if "process.launcher" in " ".join(one.cmdline())]
    await engine.engine.stop()
    assert is_gone(launcher.pid)


def test_a_job_of_a_registry_of_its_own_is_found_by_module_and_name() -> None:
    found, hooks = find_job("who_am_i", "tests.runtime.process_jobs", "who_am_i")
    known = JOBS.get("who_am_i")
    assert known is not None
    assert (found.handler, hooks) == (known.handler, JOBS.hooks)


def test_a_decorated_job_of_the_default_registry_is_found_by_its_name() -> None:
    known = default_registry().get("tests.found_by_name")
    assert known is not None
    check_findable(known)
    assert find_job("tests.found_by_name", "tests.runtime.process_jobs", "found_by_name")[0] is known


async def test_a_job_that_a_new_process_would_not_find_stops_the_start(start_engine: StartEngine) -> None:
    with pytest.raises(ConfigurationError, match=r"job 'hidden' at .*process_jobs.py:\d+\).* put '@job' outermost"):
        await start_engine(HIDDEN)


def test_a_function_inside_a_function_is_no_process_job() -> None:
    def inner() -> None:
        """Nothing can import it."""

    with pytest.raises(
        ConfigurationError, match="needs a function that a new process can import, but it is defined in"
    ):
        define("inner", inner, isolation="process")


async def test_a_handler_that_has_gone_since_the_start_fails_with_its_place(start_engine: StartEngine) -> None:
    def gone() -> None:
        """Registered here, and nowhere to be found."""

    gone.__module__, gone.__qualname__ = "tests.runtime.process_jobs", "who_am_i"
    registry = Registry()
    registry.add(define("gone", gone, isolation="process"))
    with pytest.raises(ConfigurationError, match=r"'who_am_i' of module tests.runtime.process_jobs is something else"):
        await start_engine(registry)


def noted_pids(folder: Path) -> list[int]:
    note = folder / "pids"
    return [int(part) for part in note.read_text().split()] if note.exists() else []


def is_gone(pid: int) -> bool:
    """Return whether no such process runs; one that nobody has collected yet counts as gone."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_what_is_no_text_in_the_path_of_modules_is_looked_over_as_imports_do(
    engine: RunningEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [Path("jobs"), *sys.path, b"jobs"])
    assert (await engine.finish("who_am_i")).run.state is RunState.SUCCESS


async def test_what_a_job_writes_into_its_child_s_socket_fails_only_its_run(engine: RunningEngine) -> None:
    execution = (await engine.finish("speaks_nonsense")).execution
    assert "a message of the child process cannot be read" in (execution.error_message or "")
    assert (await engine.finish("who_am_i")).run.state is RunState.SUCCESS


def test_a_signal_without_a_name_is_reported_by_its_number() -> None:
    assert described(-40) == "exited with signal 40"
