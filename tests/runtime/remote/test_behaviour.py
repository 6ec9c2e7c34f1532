"""A job does the same wherever it runs: on the loop, in a thread, in a child, and at each engine by each channel."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.remote import KEY, KIND_NAMES, KINDS, Engine

HERE = ("async", "thread", "process")
"""The kinds of jobs on a node."""
MODULE = '''
import asyncio, time
from cronograph.jobs import JobContext, Result, job


class OddError(Exception):
    """Of this job alone."""


WAIT def behave(ctx: JobContext, how: str, password: str = "") -> Result:
    ctx.log.info(f"begun {password}", how=how)
    ctx.progress(1, 3, "a third")
    before = ctx.checkpoint
    first = AWAIT ctx.stepSYNC("first", lambda: ctx.attempt)
    AWAIT ctx.save_checkpoint({"attempt": ctx.attempt})
    if how == "raise" or (how == "once" and ctx.attempt == 1):
        raise OddError("no luck")
    while how == "wait" and not ctx.should_stop:
        AWAIT LIBRARY.sleep(0.01)
    if how == "wait":
        ctx.log.info("asked to leave")
        raise OddError("left")
    value = "x" * 999_998 if how == "large" else [first, before, len(password)]
    return Result(records_processed=7, value=value)


once = job("once", isolation="KIND", retries=0)(behave)
again = job("again", isolation="KIND", retries=1, retry_delay=0.01)(behave)
boxed = job("boxed", isolation="KIND", retries=0, timeout=1)(behave)
'''
ROWS = """query($job: String!) { executions(first: 20, filter: { jobName: { eq: $job } }) { nodes {
  attempt outcome errorType errorMessage traceback value recordsProcessed args progress { done total message }
  logLines(first: 20) { lines { message } }
} } }"""

pytestmark = [pytest.mark.costly, pytest.mark.timeout(240)]


def module(kind: str) -> str:
    words = {"WAIT": "async", "AWAIT": "await", "SYNC": "", "LIBRARY": "asyncio"}
    if kind != "async":
        words = {"WAIT": "", "AWAIT": "", "SYNC": "_sync", "LIBRARY": "time"}
    text = MODULE.replace("KIND", kind)
    for word in ("AWAIT ", "WAIT ", "SYNC", "LIBRARY"):
        value = words[word.strip()]
        text = text.replace(word, f"{value} " if value and word.endswith(" ") else value)
    return text


@pytest.mark.parametrize(
    ("kind", "channel"),
    [*((one, "http") for one in HERE), *(("command", one) for one in KINDS)],
    indirect=["channel"],
    ids=[*HERE, *KIND_NAMES],
)
def test_a_job_behaves_the_same_wherever_it_runs(remote_engine: Callable[..., Engine], kind: str, channel: str) -> None:
    secrets = {"secrets": True} if channel.endswith("folder") else {}
    engine = remote_engine(module=module(kind), env={"CRONOGRAPH_SECRET_KEY": KEY}, **secrets)
    engine.set_secret("door", "open sesame")

    def ends(job: str, count: int) -> dict[str, list[dict[str, Any]]]:
        """The attempts of a job by what they were to do, the first one first."""
        engine.ended(job, count)
        found: dict[str, list[dict[str, Any]]] = {}
        for one in engine.query(ROWS, job=job)["executions"]["nodes"]:
            found.setdefault(one["args"]["how"], []).insert(0, one)
        return found

    def messages(one: dict[str, Any]) -> list[str]:
        return [line["message"] for line in one["logLines"]["lines"]]

    engine.trigger("once", how="well", password={"$secret": "door"})
    engine.trigger("once", how="large")
    engine.trigger("once", how="raise")
    engine.trigger("once", how="wait")
    engine.trigger("again", how="once")
    engine.trigger("boxed", how="wait")
    engine.ended("once", 3)
    cancel(engine)
    found = ends("once", 4)

    (well,), (large,), (failed,), (left,) = found["well"], found["large"], found["raise"], found["wait"]
    assert (well["outcome"], well["recordsProcessed"], well["value"]) == ("SUCCESS", 7, [1, None, len("open sesame")])
    assert well["progress"] == {"done": 1, "total": 3, "message": "a third"}
    assert messages(well) == ["begun [secret door]"]
    assert large["outcome"] == "SUCCESS", large["errorMessage"]
    # With its quotes it has as many bytes as a result may have.
    assert large["value"].count("x") == len(large["value"]) == 999_998
    assert (failed["outcome"], failed["errorType"], failed["errorMessage"]) == ("FAILED", "OddError", "no luck")
    assert 'raise OddError("no luck")' in failed["traceback"]
    assert (left["outcome"], messages(left)) == ("CANCELLED", ["begun ", "asked to leave"])

    first, second = ends("again", 2)["once"]
    assert (first["outcome"], first["attempt"], first["errorType"]) == ("FAILED", 1, "OddError")
    # The step was carried out once, and the second attempt finds the checkpoint of the first one.
    assert (second["outcome"], second["attempt"], second["value"]) == ("SUCCESS", 2, [1, {"attempt": 1}, 0])

    (boxed,) = ends("boxed", 1)["wait"]
    assert (boxed["outcome"], messages(boxed)) == ("TIMED_OUT", ["begun ", "asked to leave"])


def cancel(engine: Engine) -> None:
    """Cancel the run of the job `once` that waits."""
    document = """{ runs(first: 9, filter: { jobName: { eq: "once" } }) { nodes { id state } } }"""
    (run,) = [one["id"] for one in engine.query(document)["runs"]["nodes"] if one["state"] == "RUNNING"]
    mutation = "mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }"
    assert engine.query(mutation, id=run)["cancelRun"]["errors"] == []
