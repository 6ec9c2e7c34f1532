"""A launcher that cannot be started, or cannot fork: what needs a child process waits or fails, all else goes on."""

import itertools
import resource
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronograph.jobs.core.explain.runs import explain_run
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.outcome import HandedBack, JobOutcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.attempts.attempt import Attempt
from cronograph.jobs.runtime.attempts.bodies import execute
from cronograph.jobs.runtime.attempts.threads import ThreadPool
from cronograph.jobs.runtime.base.settings import start_launcher
from cronograph.jobs.runtime.job.host import LocalHost
from cronograph.jobs.runtime.job.ownership import StopSignal
from cronograph.jobs.runtime.process.children import ChildPool
from cronograph.jobs.runtime.process.spawner import LauncherError, Spawner
from cronograph.jobs.runtime.process.wire import NOT_FORKED
from cronograph.jobs.store.statements import facts
from cronograph.jobs.testing.single import Recorder
from tests.runtime.process_jobs import JOBS
from tests.support.engines import RunningEngine, StartEngine
from tests.support.storage import Stored
from tests.support.waiting import eventually

NOBODY = 65_534
"""A user without rights; limits do not hold for root."""


def in_a_thread() -> None:
    """A job that needs no child process."""


def registry() -> Registry:
    """A job in a child process, and one in a thread."""
    found = Registry()
    who_am_i = JOBS.get("who_am_i")
    assert who_am_i is not None
    found.add(who_am_i)
    found.add(define("in_a_thread", in_a_thread))
    return found


async def explained(engine: RunningEngine, run_id: int) -> tuple[str, str]:
    """Code and sentence of why a run stands where it does."""
    run, now = await engine.run(run_id), await engine.database.server_time()
    known = await engine.database.read(facts.of_runs, [run], now)
    found = explain_run(run, known[run_id], now)
    return found.code, found.sentence


@pytest.fixture(params=["/nowhere/python", "/bin/false"])
def broken_interpreter(request: pytest.FixtureRequest) -> Iterator[pytest.MonkeyPatch]:
    """No launcher can be started, or each ends at once, until this is undone."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "executable", request.param)
        yield patched


@pytest.mark.costly
async def test_without_a_launcher_only_process_jobs_wait_and_explain_says_why(
    start_engine: StartEngine, broken_interpreter: pytest.MonkeyPatch
) -> None:
    engine = await start_engine(registry(), launch=start_launcher)
    waiting = await engine.enqueue("who_am_i")
    await eventually(lambda: is_explained(engine, waiting), message="the reason to be told")
    for _ in range(3):
        assert (await engine.finish("in_a_thread")).run.state is RunState.SUCCESS
    code, sentence = await explained(engine, waiting)
    assert code == "NO_CHILD_PROCESS"
    assert sentence.startswith("It needs a child process, and no node that can run it can start one. Node ")
    assert ": the launcher of child processes " in sentence
    assert (await engine.run(waiting)).attempt == 0
    broken_interpreter.undo()
    done = await engine.finished(waiting)
    assert (done.run.state, done.run.attempt) == (RunState.SUCCESS, 1)


async def is_explained(engine: RunningEngine, run_id: int) -> bool:
    """Return whether the node has told that it can start no child process."""
    return (await explained(engine, run_id))[0] == "NO_CHILD_PROCESS"


def open_files() -> int:
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_launcher_that_does_not_start_leaves_no_connection_open(
    broken_interpreter: pytest.MonkeyPatch,
) -> None:
    spawner = Spawner()
    before = open_files()
    for _ in range(3):
        with pytest.raises(LauncherError, match=r"cannot be started: .*/nowhere/python|ends at once"):
            await spawner.ready()
    await spawner.stop()
    broken_interpreter.undo()
    assert open_files() <= before


async def test_an_attempt_whose_child_cannot_be_had_is_handed_back_with_the_reason(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    node = stored.node()
    stored.enqueue()
    started, who_am_i, signal = node.start(), JOBS.get("who_am_i"), StopSignal(None)
    assert who_am_i is not None
    recorder = Recorder(lambda: datetime.now(UTC), None)

    async def keep(_of: Started, _value: object) -> None:
        """No checkpoint comes."""

    host = LocalHost(
        started,
        signal,
        checkpoint=None,
        save=keep,
        queue=recorder,
        lines=recorder,
        show_progress=recorder.show,
        steps=recorder.steps,
    )
    spawner = Spawner()
    told: list[str] = []
    children, threads = ChildPool(spawner, 1, on_shortage=told.append), ThreadPool[JobOutcome](1)
    outcome = await execute(Attempt(started, who_am_i, signal, host), None, threads, children, grace=1.0)
    await spawner.stop()
    assert isinstance(outcome, HandedBack)
    assert outcome.reason.startswith("no child process can be started: ")
    assert told == [outcome.reason]


@contextmanager
def no_further_file() -> Generator[None]:
    """This process can open no file more than it has open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = {int(one.name) for one in Path("/proc/self/fd").iterdir()}
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(one for one in itertools.count() if one not in held), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.costly
async def test_what_the_node_is_short_of_is_no_failure_of_a_run_and_others_wait_for_it(
    start_engine: StartEngine,
) -> None:
    engine = await start_engine(registry())
    await engine.finish("who_am_i")
    with no_further_file():
        ids = [await engine.enqueue("who_am_i") for _ in range(5)]
        await eventually(lambda: is_explained(engine, ids[-1]), message="the reason to be told")
        assert "Too many open files" in (await explained(engine, ids[-1]))[1]
        assert (await engine.finish("in_a_thread")).run.state is RunState.SUCCESS
    for run_id in ids:
        done = await engine.finished(run_id)
        outcomes = [one.outcome for one in done.executions]
        assert (done.run.state, done.run.failures) == (RunState.SUCCESS, 0)
        # No more than those that had begun when it was found out.
        assert (outcomes[-1], set(outcomes[:-1]) <= {Outcome.HANDED_BACK}) == (Outcome.SUCCESS, True)
        assert len(outcomes) <= 3


LIMITED = """
import os, resource, sys
from cronograph.jobs.runtime.process import launcher
if os.geteuid() == 0:
    os.setuid(int(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
launcher.main()
"""


@pytest.mark.costly
def test_a_launcher_that_cannot_fork_says_so_and_goes_on() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-c", LIMITED, str(theirs.fileno()), str(NOBODY)]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    with ours, process, ours.makefile("rb") as said:
        assert said.readline().startswith(b"ready 0 ")
        for identity in (1, 2):
            peer, of_child = socket.socketpair()
            with peer, of_child:
                socket.send_fds(ours, [b"spawn %d\n" % identity], [of_child.fileno()])
                assert said.readline() == b"exited %d %d\n" % (identity, NOT_FORKED)
        ours.shutdown(socket.SHUT_RDWR)
    assert process.returncode == 0


LETS_GO = """
import signal, socket
from cronograph.jobs.runtime.process.launcher import Launcher
launcher, node = socket.socketpair()
node.close()
assert Launcher(launcher).serve() is None
assert signal.set_wakeup_fd(-1) == -1, "a signal would be written to a socket that is closed"
"""


def test_a_launcher_whose_node_is_gone_lets_go_of_its_wake_up_socket() -> None:
    ended = subprocess.run([sys.executable, "-c", LETS_GO], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
