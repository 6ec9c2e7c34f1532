"""The function of a job runs outside of Cronograph too: in a script or a notebook that calls it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cronograph.jobs import JobContext, Result, StopReason, job
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.process.finding import check_findable

SCRIPT = """
import logging, os, sys
from cronograph.jobs import JobContext, Resources, Result, job


@job(isolation="slurm", resources=Resources(gpus=1), timeout="1h")
def train(ctx: JobContext, epochs: int) -> Result:
    first = ctx.checkpoint or 0
    for epoch in range(first, epochs):
        ctx.progress(epoch, epochs, "training")
        ctx.save_checkpoint(epoch + 1)
        if ctx.should_stop:
            break
    ctx.log.info("trained", epochs=epochs)
    loaded = ctx.step_sync("load", lambda: 40)
    ctx.sleep_sync("cool down", "1h")
    ctx.enqueue_at_end("publish")
    return Result(value=loaded + ctx.checkpoint)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s", stream=sys.stdout)
    print(train(JobContext(), epochs=2).value, "asyncio" in sys.modules, "sqlalchemy" in sys.modules)
"""


def test_a_script_calls_the_function_of_its_job_without_anything_of_cronograph(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRONOGRAPH_")}
    ran = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "cronograph.job INFO trained epochs=2",
        "cronograph.job INFO a run of 'publish' is not enqueued: this is outside of Cronograph",
        "42 False False",
    ]
    assert [one.name for one in tmp_path.iterdir() if one.name != "__pycache__"] == ["train.py"]


@job(registry=Registry())
async def everything(ctx: JobContext, wait: str = "") -> Result:
    ctx.log.debug("begun")
    await ctx.save_checkpoint({"n": 1})
    failures: list[int] = []

    async def fetch() -> int:
        failures.append(1)
        if len(failures) < 2:
            raise ValueError("not yet")
        return 7

    found: dict[str, Any] = {
        "step": await ctx.step("fetch", fetch, retries=1, retry_delay=0),
        "plain": await ctx.step("plain", len, "four"),
        "again": await ctx.step("fetch", fetch),
        "ids": [await ctx.enqueue("other"), *await ctx.enqueue_many([everything.run()])],
        "checkpoint": ctx.checkpoint,
        "facts": (ctx.attempt, ctx.is_last_attempt, ctx.remaining, ctx.deadline, ctx.stop_reason, dict(ctx.args)),
    }
    await ctx.cleanup("undo", everything.run())
    await ctx.sleep("nap", "3d")
    if wait == "signal":
        await ctx.wait_for("approved")
    if wait == "run":
        await ctx.run("other")
    if wait == "url":
        await ctx.signal_url("approved")
    return Result(value=found)


async def test_all_that_a_job_says_is_taken_and_comes_to_nothing(caplog: pytest.LogCaptureFixture) -> None:
    done = await everything(JobContext())
    no_reason: StopReason | None = None
    assert done.value == {
        "step": 7, "plain": 4, "again": 7, "ids": [0, 0], "checkpoint": {"n": 1},
        "facts": (1, True, None, None, no_reason, {}),
    }  # fmt: skip
    assert "step 'fetch' failed: not yet; again in 0 s" in caplog.text


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        ("signal", "nobody ends the wait 'approved' outside of Cronograph"),
        ("run", "nobody ends the wait 'other' outside of Cronograph"),
        ("url", "there is no address for 'approved' outside of Cronograph"),
    ],
)
async def test_an_answer_that_nobody_can_give_is_an_error_that_says_what_to_do(wait: str, said: str) -> None:
    with pytest.raises(InvalidState, match=said) as refused:
        await everything(JobContext(), wait)
    assert str(refused.value).endswith("; try the job with cronograph.testing, or put it into a queue")


def test_a_job_of_the_started_script_is_called_there_and_no_node_takes_it() -> None:
    def main(ctx: JobContext) -> None:
        ctx.log.info("called")

    main.__module__, main.__qualname__ = "__main__", "main"
    made = job(registry=Registry(), isolation="process")(main)
    made(JobContext())
    with pytest.raises(ConfigurationError, match=r"job 'main' at .* it is defined in the script that was started"):
        check_findable(made.definition)
