"""Modules that the launcher imports before it forks, and those that it leaves out, saying so."""

import sys
from pathlib import Path

import psutil
import pytest

from cronograph.jobs.core.states import RunState
from cronograph.jobs.runtime.base.settings import start_launcher
from cronograph.jobs.runtime.process.spawner import Spawner
from tests.runtime.preloaded_jobs import AGAIN, ELSE, JOBS, STORE
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


@pytest.mark.costly
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


async def test_the_model_of_a_preloaded_job_is_made_by_the_launcher(start_engine: StartEngine) -> None:
    engine = await start_engine(AGAIN)
    made_by, launcher = (await engine.finish("defined_again")).execution.value
    assert made_by == launcher


@pytest.mark.costly
async def test_a_module_in_which_a_job_is_not_found_is_not_preloaded(caplog: pytest.LogCaptureFixture) -> None:
    spawner = Spawner(preload=["json"], jobs=[("nowhere", "json", "nowhere")])
    await spawner.ready()
    why = "a job is not found in it"
    assert caplog.messages == [f"module json is not preloaded: {why}; each child process imports it by itself"]
    await spawner.stop()


@pytest.mark.costly
async def test_sqlalchemy_is_imported_once_it_is_needed_and_found_by_the_children_that_follow(
    start_engine: StartEngine,
) -> None:
    engine = await start_engine(STORE, launch=start_launcher)
    done = [await engine.finish("takes_store") for _ in range(3)]
    assert [one.execution.value for one in done] == [False, True, True]


@pytest.mark.costly
async def test_what_cannot_be_imported_later_on_does_no_harm() -> None:
    spawner = Spawner()
    spawner.import_too("no_such_module")
    await spawner.ready()
    child = await spawner.spawn()
    for _ in range(2):
        spawner.import_too("neither_this_one")
    other = await spawner.spawn()
    assert [await one.close(timeout=0.0) for one in (child, other)] == [-9, -9]
    await spawner.stop()


@pytest.mark.costly
async def test_the_names_of_many_jobs_reach_the_launcher() -> None:
    spawner = Spawner(preload=["json"], jobs=[(str(number), "elsewhere", "job") for number in range(30_000)])
    await spawner.ready()
    assert await (await spawner.spawn()).close(timeout=0.0) == -9
    await spawner.stop()
