"""The job ``shell``: commands as lines and as lists, what they are given, how they end and how they are ended."""

import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from cronograph.jobs.builtin import builtin_jobs, register_builtin, shell
from cronograph.jobs.core.base.errors import InvalidInput, UserError
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually

JOBS = Registry()
register_builtin(JOBS, with_shell=True)


ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""A command speaks with its node, not with the database; the end of a run is tested on both with other jobs."""


@pytest.fixture
async def engine(start_engine: StartEngine, monkeypatch: pytest.MonkeyPatch) -> RunningEngine:
    monkeypatch.setenv("CRONOGRAPH_TOKEN", "not-for-commands")
    return await start_engine(JOBS)


@ON_SQLITE
async def test_a_node_has_it_only_by_the_setting(start_engine: StartEngine) -> None:
    without = Registry()
    register_builtin(without)
    engine = await start_engine(without)
    with pytest.raises(UserError, match="Unknown job: shell; a node has it only where the setting shell is true"):
        await engine.enqueue("shell", {"command": "true"})


@pytest.mark.costly
@ON_SQLITE
async def test_a_line_goes_through_the_shell_and_its_output_into_the_log(engine: RunningEngine, tmp_path: Path) -> None:
    command = 'read word; echo "$word $GREETED" | tr a-z A-Z; pwd; echo odd >&2; env | grep -c CRONOGRAPH_TOKEN'
    args = {
        "command": command, "environment": {"GREETED": "wörld"}, "directory": str(tmp_path), "input": "hello\nmore\n",
        "expected_status": [0, 1],
    }  # fmt: skip
    done = await engine.finish("shell", args)
    assert (done.run.state, done.execution.value) == (RunState.SUCCESS, {"status": 1})
    said = {(line.level, line.message) for line in done.lines}
    assert said == {("info", "HELLO WöRLD"), ("info", str(tmp_path)), ("warning", "odd"), ("info", "0")}


@pytest.mark.costly
@ON_SQLITE
async def test_a_list_is_a_program_and_its_arguments_without_a_shell(engine: RunningEngine) -> None:
    program = "import sys; print(sys.argv[1:], flush=True); sys.stdout.buffer.write(b'\\xff\\n')"
    done = await engine.finish("shell", {"command": [sys.executable, "-c", program, "$HOME", "a b; exit 3"]})
    assert [line.message for line in done.lines] == ["['$HOME', 'a b; exit 3']", "\ufffd"]


@pytest.mark.parametrize("text", ["", "kept by the buffer until it is closed", "x" * 200_000])
def test_a_command_need_not_read_what_it_is_given(text: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "wb")
    shell._feed(stream, text)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - a run may end before it is written
    assert stream.closed


@pytest.mark.costly
@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"command": "exit 3"}, "the command ended with exit status 3; its output is in the log"),
        ({"command": "no-such-program-here"}, "the command ended with exit status 127 (there is no such command)"),
        ({"command": "kill -9 $$"}, "the command was ended by SIGKILL"),
        ({"command": ["no-such-program-here"]}, "command: must be one that can be used here, got 'no-such-program"),
        (
            {"command": "true", "directory": "/no/such/folder"},
            "directory: must be one that can be used here, got",
        ),
        ({"command": "true", "expected_status": 7}, "the command ended with exit status 0"),
    ],
)
@ON_SQLITE
async def test_what_did_not_end_as_expected_is_a_failure_that_says_how(
    engine: RunningEngine, args: dict[str, object], error: str
) -> None:
    done = await engine.finish("shell", args)
    assert done.execution.outcome is Outcome.FAILED
    assert error in (done.run.error or "")


@pytest.mark.parametrize(
    "args", [{"command": []}, {"command": ""}, {"command": "a\0b"}, {"command": "true", "environment": {"A=": "x"}}]
)
def test_a_command_that_is_none_is_refused(args: dict[str, Any]) -> None:
    definition = next(each for each in builtin_jobs(with_shell=True) if each.name == "shell")
    with pytest.raises(InvalidInput, match=r"command|environment"):
        definition.bind(args, None)


@pytest.mark.costly
@ON_SQLITE
async def test_a_cancel_asks_the_command_to_end_with_all_that_it_started(
    start_engine: StartEngine, tmp_path: Path
) -> None:
    # Who is asked to end has time for it.
    engine = await start_engine(JOBS, hard_stop_grace=30.0)
    command = f"trap 'echo ending; exit 0' TERM; sleep 600 & echo $! > {tmp_path}/pid; wait"
    run_id = await engine.enqueue("shell", {"command": command})
    note = tmp_path / "pid"
    await eventually(lambda: note.exists() and note.read_text().strip())
    await engine.cancel_elsewhere(run_id)
    await engine.run_until(run_id, RunState.CANCELLED)
    (execution,) = await engine.executions(run_id)
    assert [line.message for line in await engine.lines(execution.id)] == ["ending"]
    assert not psutil.pid_exists(int(note.read_text()))


@pytest.mark.costly
@ON_SQLITE
async def test_what_does_not_end_when_asked_is_killed_at_the_end_of_the_time_box(
    engine: RunningEngine, tmp_path: Path
) -> None:
    command = f"trap '' TERM; sleep 600 & echo $! > {tmp_path}/pid; wait; sleep 600"
    done = await engine.finish("shell", {"command": command}, timeout=8)
    assert done.execution.outcome is Outcome.TIMED_OUT
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
