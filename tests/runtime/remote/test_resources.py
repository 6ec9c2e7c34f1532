"""What a task and a run ask for at an engine goes before what their job asks for, from the request to the launcher."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.processes import ProcessStarter
from tests.support.remote import LAUNCH, Engine
from tests.support.waiting import wait_until

MODULE = """
from cronograph.jobs import JobContext, Resources, job


@job(isolation="command", resources=Resources(cpus=2, gpus=1, options={"account": "physics"}), retries=1,
     retry_delay=0.01)
def train(ctx: JobContext, attempts: int = 1) -> None:
    if ctx.attempt < attempts:
        raise RuntimeError("once more")


@job(retries=0)
async def parent(ctx: JobContext) -> None:
    await train.options(resources=Resources(gpus=16)).enqueue()
    try:
        await parent.options(resources=Resources(gpus=1)).enqueue()
    except Exception as error:
        ctx.log.info(str(error))
"""
RESOURCES = "resources { cpus memory gpus queue options }"
ASKED = f"""{{ executions(first: 20, filter: {{ jobName: {{ eq: "train" }} }}) {{ nodes {{
  outcome run {{ {RESOURCES} }} remoteAttempt {{ {RESOURCES} }} }} }} }}"""
TRIGGER = "mutation($needs: ResourcesInput, $args: JSON, $job: String!) { triggerJob(jobName: $job, resources: $needs, args: $args) { success errors { path message } } }"  # noqa: E501
TASK = "mutation($input: CreateTaskInput!) { createTask(input: $input) { task { definition resources { gpus } } errors { path message } } }"  # noqa: E501
DAILY = {"syntax": "CRON", "value": "0 0 0 * * *"}

pytestmark = [pytest.mark.costly, pytest.mark.timeout(120)]


def test_what_a_task_and_a_run_ask_for_reaches_the_launcher(
    remote_engine: Callable[..., Engine], processes: ProcessStarter
) -> None:
    launch = f"echo {{cpus}} {{gpus}} {{memory}} {{queue}} {{account}} >>asked; {LAUNCH}"
    engine = remote_engine(module=MODULE, launch=launch)

    def asked(count: int) -> list[str]:
        wait_until(lambda: len(engine.lines("asked")) >= count, message=f"{count} launches")
        return [" ".join(line.split()) for line in engine.lines("asked")]

    def trigger(**variables: Any) -> Any:
        asked: dict[str, Any] = {"job": "train", **variables}
        return engine.query(TRIGGER, **asked)["triggerJob"]

    assert trigger()["success"]
    assert asked(1) == ["2 1 physics"]
    # What a run says it says for all of its attempts.
    needs = {"memory": 2**40, "gpus": 4, "queue": "long", "options": {"account": "biology"}}
    assert trigger(needs=needs, args={"attempts": 2})["success"]
    assert asked(3)[1:] == [f"2 4 {2**40} long biology"] * 2
    engine.ended("train", 3)
    newest = engine.query(ASKED)["executions"]["nodes"][0]
    assert newest["run"]["resources"] == {**needs, "cpus": None}
    assert newest["remoteAttempt"]["resources"] == {**needs, "cpus": 2}

    task = {"name": "nightly", "jobName": "train", "schedule": DAILY, "resources": {"gpus": 8}}
    made = engine.query(TASK, input=task)["createTask"]
    assert made["errors"] == []
    assert made["task"]["resources"] == {"gpus": 8}
    assert made["task"]["definition"]["resources"] == {"gpus": 8}
    engine.query('mutation { triggerTask(input: { name: "nightly" }) { errors { message } } }')
    assert asked(4)[3] == "2 8 physics"
    engine.ended("train", 4)
    more = "resources: { cpus: 0.5 }"
    engine.query(f'mutation {{ triggerTask(input: {{ name: "nightly", {more} }}) {{ errors {{ message }} }} }}')
    assert asked(5)[4] == "0.5 8 physics"
    engine.ended("train", 5)
    for number, (command, how) in enumerate({"enqueue": (), "trigger": ("--task",)}.items()):
        name = "nightly" if how else "train"
        words = (command, name, *how, "--resource", "gpus=32", "--resource", "account=art")
        status, said = processes.run(*words, "--url", engine.server.url)
        assert status == 0, said
        assert asked(6 + number)[-1] == "2 32 art"
        engine.ended("train", 6 + number)


def test_code_asks_for_them_too_and_a_job_on_a_node_cannot_have_them(remote_engine: Callable[..., Engine]) -> None:
    engine = remote_engine(module=MODULE, launch=f"echo {{cpus}} {{gpus}} >>asked; {LAUNCH}")
    engine.trigger("parent")
    engine.ended("train")
    assert engine.lines("asked") == ["2 16"]
    (line,) = engine.ended("parent")[0]["logLines"]["lines"]
    assert "resources: are for jobs at an engine, and job 'parent' runs on a node (isolation ASYNC)" in line["message"]
    task = {"name": "other", "jobName": "parent", "schedule": DAILY, "resources": {"gpus": 8}}
    for refused in (
        engine.query(TRIGGER, job="parent", needs={"gpus": 1})["triggerJob"],
        engine.query(TASK, input=task)["createTask"],
    ):
        (fault,) = refused["errors"]
        assert fault["path"] == ["resources"]
        assert "job 'parent' runs on a node" in fault["message"]
    assert engine.query(TRIGGER, job="train", needs={"gpus": 0})["triggerJob"]["errors"] == [
        {
            "path": ["resources", "gpus"],
            "message": "resources: gpus must be a whole number above 0, at most 1,000,000, got 0",
        }
    ]
