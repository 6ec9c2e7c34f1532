"""A bulk action is a run of the server: it counts rightly, survives its node, can be stopped and undone."""

from typing import Any

import pytest

from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

NUMBER = 10_200
BEAT = ("--heartbeat", "0.5", "--lease", "2")
RUN = "query($id: ID!) { run(id: $id) { state error progress { done total } result attempt } }"
COUNT = "query($filter: RunFilter!) { runs(first: 0, filter: $filter) { totalCount isTotalCountExact } }"


def ask(server: CronographProcess, query: str, **variables: object) -> Any:
    """The data of a GraphQL operation; an answer with errors fails the test."""
    body = post(f"{server.url}/graphql", {"query": query, "variables": variables}).json()
    assert "errors" not in body, body["errors"]
    return body["data"]


def begin(server: CronographProcess, job: str, **args: object) -> str:
    """Start a bulk action; its id."""
    query = "mutation($job: String!, $args: JSON) { triggerJob(jobName: $job, args: $args) { run { id } } }"
    run_id: str = ask(server, query, job=job, args=args)["triggerJob"]["run"]["id"]
    return run_id


def of(server: CronographProcess, run: str) -> dict[str, Any]:
    """A bulk action as it is now."""
    found: dict[str, Any] = ask(server, RUN, id=run)["run"]
    return found


def done(server: CronographProcess, run: str) -> int:
    """How many runs a bulk action has changed so far."""
    progress = of(server, run)["progress"]
    return 0 if progress is None else int(progress["done"])


def number(server: CronographProcess, state: str, **more: object) -> int:
    """How many runs of the group are in a state, counted by a dry run, which counts all of them."""
    field, kind = ("retryRuns", "RetryRunsInput") if state == "CANCELLED" else ("cancelRuns", "CancelRunsInput")
    query = f"mutation($input: {kind}!) {{ {field}(input: $input) {{ count errors {{ message }} }} }}"
    chosen = {"group": {"eq": "many"}, "state": {"eq": state}, **more}
    once = {"excludeRetried": False} if state == "CANCELLED" else {}
    answer = ask(server, query, input={"runs": {"filter": chosen}, "dryRun": True, **once})[field]
    assert answer["errors"] == []
    return int(answer["count"])


def fill(server: CronographProcess, count: int) -> None:
    """Put runs that cannot start into the queue."""
    ask(server, 'mutation { pauseGroup(input: { name: "many" }) { errors { message } } }')
    query = "mutation($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { errors { message } } }"
    run = {"jobName": "prune_history", "group": "many"}
    for _ in range(2):
        ask(server, query, input={"runs": [run] * (count // 2)})


def ended(server: CronographProcess, run: str, state: str) -> dict[str, Any]:
    """Wait for the end of a bulk action."""
    wait_until(lambda: of(server, run)["state"] in {"SUCCESS", "FAILED", "CANCELLED"}, message="the bulk action to end")
    found = of(server, run)
    assert found["state"] == state, found
    return found


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_more_than_ten_thousand_runs_are_changed_once_each_though_the_node_is_killed(
    database_url: str, processes: ProcessStarter
) -> None:
    server = processes.serve(database_url, *BEAT)
    fill(server, NUMBER)
    group = {"group": {"eq": "many"}}
    assert number(server, "WAITING") == NUMBER
    cancelled = ended(server, begin(server, "bulk_action", action="cancel", filter=group), "SUCCESS")
    assert cancelled["result"] == {"changed": NUMBER, "matched": NUMBER, "done": "cancelled or asked to stop"}
    assert number(server, "CANCELLED") == NUMBER

    retry = begin(server, "bulk_action", action="retry", filter={**group, "state": {"eq": "CANCELLED"}})
    wait_until(lambda: done(server, retry) >= 400, message="the first portions")
    server.kill()
    server = processes.serve(database_url, *BEAT)
    again = ended(server, retry, "SUCCESS")
    assert again["attempt"] == 2
    assert (again["result"]["changed"], number(server, "WAITING")) == (NUMBER, NUMBER)
    made = {"labels": {"key": "bulk-action", "eq": retry}}
    assert ask(server, COUNT, filter=made)["runs"] == {"totalCount": 10_001, "isTotalCountExact": False}

    undone = ended(server, begin(server, "undo_bulk_action", run=int(retry)), "SUCCESS")
    assert (undone["result"]["changed"], number(server, "WAITING")) == (NUMBER, 0)


@pytest.mark.costly
def test_a_bulk_action_that_is_stopped_says_how_far_it_came_and_undoes_just_that(
    database_url: str, processes: ProcessStarter
) -> None:
    server = processes.serve(database_url, *BEAT)
    fill(server, 4_000)
    high = begin(server, "bulk_action", action="high", filter={"group": {"eq": "many"}})
    wait_until(lambda: done(server, high) >= 200, message="the first portion")
    ask(server, "mutation($id: ID!) { cancelRun(input: { id: $id }) { errors { message } } }", id=high)
    stopped = ended(server, high, "CANCELLED")
    changed = number(server, "WAITING", priority={"eq": "HIGH"})
    assert 200 <= changed < 4_000
    assert f"stopped after {changed:,} of 4,000 runs" in stopped["error"]
    undone = ended(server, begin(server, "undo_bulk_action", run=int(high)), "SUCCESS")
    assert (undone["result"]["changed"], number(server, "WAITING", priority={"eq": "HIGH"})) == (changed, 0)


@pytest.mark.costly
def test_an_undo_makes_and_counts_none_of_the_runs_whose_unique_keys_others_have_meanwhile(
    database_url: str, processes: ProcessStarter
) -> None:
    server = processes.serve(database_url, *BEAT)
    ask(server, 'mutation { pauseGroup(input: { name: "many" }) { errors { message } } }')
    put = "mutation($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { errors { message } } }"
    runs = [{"jobName": "prune_history", "group": "many", "uniqueKey": f"day {day}"} for day in range(6)]
    ask(server, put, input={"runs": runs})
    group = {"group": {"eq": "many"}}
    cancelled = begin(server, "bulk_action", action="cancel", filter=group)
    assert ended(server, cancelled, "SUCCESS")["result"]["changed"] == 6
    ask(server, put, input={"runs": runs[:2]})
    undo = begin(server, "undo_bulk_action", run=int(cancelled))
    assert ended(server, undo, "SUCCESS")["result"] == {"changed": 4, "matched": 6, "done": "retried"}
    assert number(server, "WAITING") == 6
    again = "mutation($input: RetryRunsInput!) { retryRuns(input: $input) { count runs { isDeduplicated } } }"
    chosen = {"runs": {"filter": {**group, "state": {"eq": "CANCELLED"}}}, "excludeRetried": False}
    for _ in range(2):
        answer = ask(server, again, input={**chosen, "idempotencyKey": "once"})["retryRuns"]
        assert answer == {"count": 6, "runs": [{"isDeduplicated": True}] * 6}


RESTS = """
from cronograph.jobs import JobContext, job

@job("rests")
async def rests(ctx: JobContext) -> None:
    await ctx.sleep("long", 3600)
"""


@pytest.mark.costly
def test_an_undone_retry_leaves_the_runs_that_have_started_meanwhile(
    database_url: str, processes: ProcessStarter
) -> None:
    (processes.folder / "resting_jobs.py").write_text(RESTS)
    server = processes.serve(database_url, "--jobs", "resting_jobs")
    put = "mutation($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { errors { message } } }"
    for name in ("many", "open"):
        ask(server, f'mutation {{ pauseGroup(input: {{ name: "{name}" }}) {{ errors {{ message }} }} }}')
        ask(server, put, input={"runs": [{"jobName": "rests", "group": name}]})
    both = {"group": {"in": ["many", "open"]}}
    ended(server, begin(server, "bulk_action", action="cancel", filter=both), "SUCCESS")
    retried = begin(server, "bulk_action", action="retry", filter=both)
    assert ended(server, retried, "SUCCESS")["result"]["changed"] == 2
    ask(server, 'mutation { resumeGroup(input: { name: "open" }) { errors { message } } }')
    found = 'query { runs(filter: { group: { in: ["many", "open"] }, attempt: { gt: 0 } }) { nodes { id } } }'
    wait_until(lambda: ask(server, found)["runs"]["nodes"], message="the run to start")
    undone = ended(server, begin(server, "undo_bulk_action", run=int(retried)), "SUCCESS")
    assert undone["result"] == {"changed": 1, "matched": 2, "done": "cancelled or asked to stop"}
    (started,) = ask(server, found)["runs"]["nodes"]
    assert of(server, started["id"])["state"] == "SUSPENDED"


@pytest.mark.costly
def test_what_cannot_be_done_is_said_at_once(sqlite_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(sqlite_url)
    for args, why in (
        ({"action": "cancel", "filter": {}}, "at least one condition"),
        ({"action": "cancel", "filter": {"colour": {"eq": "red"}}}, "colour"),
    ):
        assert why in ended(server, begin(server, "bulk_action", **args), "FAILED")["error"]
    due = begin(server, "bulk_action", action="makeDue", filter={}, all=True)
    ended(server, due, "SUCCESS")
    for run, why in ((int(due), "cannot be undone"), (987_654, "no bulk action")):
        assert why in ended(server, begin(server, "undo_bulk_action", run=run), "FAILED")["error"]
