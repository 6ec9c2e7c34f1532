"""The search in log lines: what it finds, how it goes on, its bounds, and that it says when it met one."""

from datetime import timedelta
from typing import Any

import pytest
from strawberry.types import ExecutionResult

from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.guard.searches import Searches, SearchLane, bounds_of
from cronograph.graphql.operations.log_search import Reach, reach_of, sentence_of
from cronograph.jobs.queue.base.apart import append_lines
from cronograph.jobs.store.statements.logs import Logged, LogLine
from tests.graphql_api.api import Api
from tests.support.storage import START, Worker

SEARCH = """
query(
  $text: String!, $job: String, $task: String, $execution: ID, $from: DateTime, $to: DateTime, $first: Int!
  $after: String
) {
  logSearch(
    text: $text, jobName: $job, taskName: $task, executionId: $execution, from: $from, to: $to, first: $first
    after: $after
  ) {
    nodes { executionId line { line message } execution { jobName } }
    executions lines sentence totalCount isTotalCountExact pageInfo { hasNextPage isPartial endCursor }
  }
}
"""


def log(api: Api, worker: Worker, *messages: str, end: bool = True) -> int:
    """An execution of the job `work` that has logged something; its key."""
    api.stored.enqueue()
    started = worker.start()
    lines = [
        LogLine(started.execution_id, number, api.stored.now, "info", message)
        for number, message in enumerate(messages, 1)
    ]
    api.stored.do(append_lines, lines)
    if end:
        worker.end(started, log_lines=len(lines))
    return started.execution_id


async def search(api: Api, text: str, first: int = 50, **more: Any) -> dict[str, Any]:
    """Return what a search answers; in all of the job `work` unless told otherwise."""
    more = {"from" if name == "since" else name: value for name, value in more.items()}
    where = more if more.keys() & {"task", "execution"} else {"job": "work", **more}
    found: dict[str, Any] = (await api.ask(SEARCH, text=text, first=first, **where))["logSearch"]
    return found


def places(found: dict[str, Any]) -> list[tuple[int, int]]:
    """Return which lines were found: execution and number."""
    return [(int(one["executionId"]), one["line"]["line"]) for one in found["nodes"]]


async def test_lines_are_found_across_a_job_the_newest_first(api: Api) -> None:
    worker = api.stored.node("w")
    one = log(api, worker, "Upstream says 503", "nothing", "again 503: ÄPFEL 100%")
    log(api, worker, "all is well")
    three = log(api, worker, "503", end=False)
    found = await search(api, "503")
    assert places(found) == [(three, 1), (one, 3), (one, 1)]
    assert found["nodes"][0]["execution"] == {"jobName": "work"}
    assert (found["executions"], found["lines"], found["totalCount"], found["isTotalCountExact"]) == (3, 5, 3, True)
    assert found["pageInfo"] == {"hasNextPage": False, "isPartial": False, "endCursor": f"{one}.1"}
    assert found["sentence"] == "3 lines found among 5 lines of 3 executions: all there are."
    assert places(await search(api, "äpfel 100%")) == [(one, 3)]
    assert places(await search(api, "UPSTREAM")) == [(one, 1)]
    assert places(await search(api, "1_0%")) == []
    assert places(await search(api, "503", execution=str(one))) == [(one, 3), (one, 1)]
    assert places(await search(api, "503", task="of no such task")) == []
    assert (await search(api, "503", job="other"))["sentence"] == (
        "0 lines found: no such execution has begun in this span of time."
    )


async def test_a_search_goes_on_where_it_ended(api: Api) -> None:
    worker = api.stored.node("w")
    keys = [log(api, worker, "hit", "miss", "hit") for _ in range(3)]
    seen: list[tuple[int, int]] = []
    after = None
    while True:
        found = await search(api, "hit", first=2, after=after)
        seen += places(found)
        assert found["isTotalCountExact"] is False
        if not found["pageInfo"]["hasNextPage"]:
            break
        assert "then the search stopped: there may be more" in found["sentence"]
        after = found["pageInfo"]["endCursor"]
    assert seen == [(key, line) for key in reversed(keys) for line in (3, 1)]


async def test_only_executions_of_a_span_of_time_are_looked_through(api: Api) -> None:
    worker = api.stored.node("w")
    one = log(api, worker, "hit")
    api.stored.now = START + timedelta(hours=3)
    two = log(api, worker, "hit")
    noon = (START + timedelta(hours=1)).isoformat()
    assert places(await search(api, "hit", since=noon)) == [(two, 1)]
    assert places(await search(api, "hit", to=noon)) == [(one, 1)]


async def test_a_search_takes_from_the_budget_of_those_who_search(api: Api) -> None:
    worker = api.stored.node("w")
    log(api, worker, "hit", "miss")
    context = api.context()
    context.searches = Searches(SearchLane(api.database, Limits()), "ada")
    result = await api.schema.execute(SEARCH, {"text": "hit", "job": "work", "first": 5}, context_value=context)
    assert result.data is not None
    assert context.searches.requested == 1
    assert context.searches.used > 0


async def test_a_search_that_takes_too_long_ends_and_says_why(api: Api) -> None:
    log(api, api.stored.node("w"), "hit")
    # The shortest time that there is: none is fast enough.
    limits = Limits(search_seconds=1e-4)
    searched = api.database.separate_pool("search", bounds_of(limits))
    context = api.context()
    context.searches = Searches(SearchLane(searched, limits), "ada")
    result = await api.schema.execute(SEARCH, {"text": "hit", "job": "work", "first": 5}, context_value=context)
    await searched.close()
    assert isinstance(result, ExecutionResult)
    (error,) = result.errors or []
    assert (error.extensions or {})["code"] == "LIMIT_SEARCH_SECONDS"
    assert "name a shorter span of time, or one execution" in error.message


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"text": "", "job": "work"}, "text: must have 1 to 200 characters, got 0"),
        ({"text": "x" * 201, "job": "work"}, "text: must have 1 to 200 characters, got 201"),
        ({"text": "\0", "job": "work"}, "text: must not contain U+0000"),
        ({"text": "x"}, "logSearch: must be given one of jobName, taskName, executionId, got none of them"),
        ({"text": "x", "job": "a", "execution": "1"}, "got jobName and executionId"),
        ({"text": "x", "execution": "one"}, "executionId: must be an id"),
        ({"text": "x", "job": "a", "first": 201}, "first: must be a whole number from 0 to 200, got 201"),
        (
            {"text": "x", "job": "a", "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
            "from: must be before to, got 2026-01-02T00:00:00Z and 2026-01-01T00:00:00Z",
        ),
    ],
)
async def test_what_is_asked_wrong_is_said(api: Api, variables: dict[str, object], said: str) -> None:
    code, message = await api.refused(SEARCH, **{"first": 50, **variables})
    assert code == "INVALID_INPUT"
    assert said in message


@pytest.mark.parametrize("cursor", ["7", "9223372036854775808.0"])
async def test_a_cursor_of_another_list_is_refused(api: Api, cursor: str) -> None:
    code, message = await api.refused(SEARCH, text="x", job="a", first=50, after=cursor)
    assert (code, message) == ("INVALID_CURSOR", f"after: must be a cursor as this list gives them, got {cursor!r}")


def test_lines_that_were_cut_are_no_part_of_all_there_are() -> None:
    def sentence(cut: int) -> str:
        return sentence_of(Reach([Logged(1, START, 10_000, cut)], more=False), 2, full=False)

    assert sentence(0) == "2 lines found among 10000 lines of 1 execution: all there are."
    assert sentence(555_500) == (
        "2 lines found among 10000 lines of 1 execution, all that are kept: 555500 older lines were cut."
    )


def executions(*lines: int) -> list[Logged]:
    """Executions with so many lines, the newest first."""
    return [Logged(100 - place, START, count, 0) for place, count in enumerate(lines)]


def test_a_search_looks_no_further_than_its_bounds() -> None:
    def reach(*lines: int) -> Reach:
        return reach_of(executions(*lines), executions=3, lines=10)

    assert reach(4, 4, 2) == Reach(executions(4, 4, 2), more=False)
    assert reach(4, 4, 3) == Reach(executions(4, 4), more=True)
    assert reach(0, 0, 0, 0) == Reach(executions(0, 0, 0), more=True)
    # What has too many lines by itself is looked through all the same: an execution keeps a bounded number.
    assert reach(11, 1) == Reach(executions(11), more=True)
    assert reach() == Reach([], more=False)


async def test_a_search_that_met_its_bound_of_lines_says_so_and_goes_on_behind(api: Api) -> None:
    worker = api.stored.node("w")
    old = log(api, worker, "hit")
    new = log(api, worker, *["miss"] * 20_000)
    found = await search(api, "hit")
    assert places(found) == []
    assert found["pageInfo"] == {"hasNextPage": True, "isPartial": True, "endCursor": f"{new}.0"}
    assert found["sentence"] == (
        "0 lines found among 20000 lines of 1 execution; older ones than that of 2026-03-01 12:00:00 UTC have not been "
        "looked through."
    )
    assert places(await search(api, "hit", after=found["pageInfo"]["endCursor"])) == [(old, 1)]
