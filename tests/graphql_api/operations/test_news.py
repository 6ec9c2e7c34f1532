"""Failures are news unless people know of their error."""

from datetime import timedelta

import pytest

from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import job_execution
from tests.graphql_api.api import Api
from tests.support.history import add_many

NEWS = """{
  overview { failedLast24h unknownFailedLast24h }
  tasks(filter: { isFailing: { eq: true } }) { totalCount nodes { name } }
  news: failureGroups(isKnown: false) { message count }
  known: failureGroups(isKnown: true) { message count }
  timeline(from: "2026-03-01T11:00:00Z", to: "2026-03-01T13:00:00Z") { rows { taskName isFailing } }
}"""


async def news_of(api: Api) -> tuple[int, list[str], list[str], list[str], list[str]]:
    """The number of failures that are news, the failing tasks, news and known errors, and the failing rows."""
    data = await api.ask(NEWS)
    assert data["overview"]["failedLast24h"] == 3
    return (
        data["overview"]["unknownFailedLast24h"],
        [node["name"] for node in data["tasks"]["nodes"]],
        [group["message"] for group in data["news"]],
        [group["message"] for group in data["known"]],
        [row["taskName"] for row in data["timeline"]["rows"] if row["isFailing"]],
    )


async def test_failures_are_news_unless_their_error_is_silenced_or_solved_and_has_not_come_back(api: Api) -> None:
    worker = api.stored.node("w")

    for name, message in (("one", "user 1 is missing"), ("two", "user 2 is missing"), ("three", "no room")):
        api.stored.task("0 0 * * * *", name=name, retries=0)
        await api.ask(f'mutation {{ triggerTask(input: {{ name: "{name}" }}) {{ errors {{ message }} }} }}')
        worker.end(worker.start(), Failed("KeyError", message))
        api.stored.pass_time(1)
    missing, room = "user 2 is missing", "no room"
    assert await news_of(api) == (3, ["three", "two", "one"], [missing, room], [], ["one", "three", "two"])
    names = {
        group["message"]: group["fingerprint"]
        for group in (await api.ask("{ failureGroups { fingerprint message } }"))["failureGroups"]
    }
    silence = "mutation($input: SilenceFailuresInput!) { silenceFailures(input: $input) { errors { message } } }"
    await api.ask(silence, input={"fingerprint": names[missing], "endsAt": "2026-03-01T12:30:00Z"})
    assert await news_of(api) == (1, ["three"], [room], [missing], ["three"])
    solve = "mutation($input: SolveFailuresInput!) { solveFailures(input: $input) { errors { message } } }"
    await api.ask(solve, input={"fingerprint": names[room]})
    assert await news_of(api) == (0, [], [], [missing, room], [])
    # A silence ends by itself, and a solution with the next failure.
    api.stored.pass_time(1_800)
    assert await news_of(api) == (2, ["two", "one"], [missing], [room], ["one", "two"])


def put_failures(tx: Tx, first: int, number: int) -> None:
    """So many failures whose messages differ in their numbers."""
    rows = [
        {
            "id": first + one, "run_id": first + one, "job_name": "work", "attempt": 1, "node_id": 1, "node": "w",
            "trigger": "manual", "submitted_at": tx.now, "started_at": tx.now - timedelta(seconds=number - one),
            "completed_at": tx.now, "success": False,
            "outcome": "failed", "error_type": "KeyError", "error_message": f"parcel {one} is lost", "log_lines": 0,
            "log_cut": 0,
        }
        for one in range(number)
    ]  # fmt: skip
    add_many(tx.conn, job_execution, rows)


async def test_errors_of_runs_without_a_task_are_counted_for_an_hour_unless_people_know_of_them(api: Api) -> None:
    worker = api.stored.node("w", jobs=("work", "bill"))
    for job_name, message in (("work", "no 1"), ("work", "no 2"), ("work", "other"), ("bill", "no 3")):
        api.stored.enqueue(job_name=job_name, retries=0)
        worker.end(worker.start(), Failed("KeyError", message))
    api.stored.task("0 0 * * * *", name="one", job_name="bill", retries=0)
    await api.ask('mutation { triggerTask(input: { name: "one" }) { errors { message } } }')
    worker.end(worker.start(), Failed("KeyError", "of a task"))
    api.stored.pass_time(1)
    counted = "{ overview { unknownErrors unknownErrorsJobs } }"
    assert (await api.ask(counted))["overview"] == {"unknownErrors": 3, "unknownErrorsJobs": 2}
    name = next(
        group["fingerprint"]
        for group in (await api.ask("{ failureGroups { fingerprint jobName message } }"))["failureGroups"]
        if (group["jobName"], group["message"]) == ("bill", "no 3")
    )
    silence = "mutation($input: SilenceFailuresInput!) { silenceFailures(input: $input) { errors { message } } }"
    await api.ask(silence, input={"fingerprint": name, "endsAt": "2031-01-01T00:00:00Z"})
    assert (await api.ask(counted))["overview"] == {"unknownErrors": 2, "unknownErrorsJobs": 1}
    api.stored.pass_time(3_600)
    assert (await api.ask(counted))["overview"] == {"unknownErrors": 0, "unknownErrorsJobs": 0}


@pytest.mark.altered_log
async def test_messages_with_numbers_of_their_own_are_counted_however_many_there_are(api: Api) -> None:
    api.stored.node("w")
    api.stored.do(put_failures, 100, 1_200)
    api.stored.pass_time(1)
    (group,) = (await api.ask("{ failureGroups { count } }"))["failureGroups"]
    assert group["count"] == 1_200
