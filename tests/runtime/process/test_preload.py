"""Modules that the launcher imports before it forks, and those that it leaves out, saying so."""

import sys
from pathlib import Path

import psutil
import pytest

from cronograph.jobs.core.states import RunState
from cronograph.jobs.runtime.process.spawner import Spawner
from tests.runtime.preloaded_jobs import ELSE, JOBS
from tests.support.engines import StartEngine


async def test_a_child_finds_what_its_launcher_has_imported(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    imported_by, launcher = (await engine.finish("preloaded")).execution.value
    assert imported_by == launcher


@pytest.mark.parametrize("preload", [False, True])
async def test_a_job_that_does_not_say_follows_the_setting(start_engine: StartEngine, preload: bool) -> None:
    engine = await start_engine(ELSE, preload=preload)
    imported_by, launcher = (await engine.finish("as_the_node_says")).execution.value
    assert (imported_by == launcher) is preload


UNFIT = {
    "threads_at_import": ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
                          "its import starts threads"),
    "fails_at_import": ("raise LookupError('not here')", "its import fails"),
    "leaves_at_import": ("raise SystemExit(3)", "its import fails"),
    "dies_at_import": ("import os; os._exit(3)", "its import ends the process"),
}  # fmt: skip


@pytest.mark.parametrize("module", UNFIT)
async def test_a_module_that_cannot_be_preloaded_is_left_out_with_the_reason(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    code, why = UNFIT[module]
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    spawner = Spawner(preload=["json", module])
    await spawner.ready()
    assert caplog.messages == [f"module {module} is not preloaded: {why}; each child process imports it by itself"]
    child = await spawner.spawn()
    assert not child.exited.done()
    assert await child.close(timeout=0.0) == -9
    await spawner.stop()


async def test_a_launcher_that_is_started_again_preloads_again(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    first = (await engine.finish("preloaded")).execution.value
    psutil.Process(first[1]).kill()
    done = await engine.finish("preloaded", retries=2)
    assert done.run.state is RunState.SUCCESS
    imported_by, launcher = done.execution.value
    assert imported_by == launcher != first[1]
