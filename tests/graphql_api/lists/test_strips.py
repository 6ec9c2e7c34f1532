"""The strip of a task: its newest occurrences as columns, the same that ``occurrences`` has."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from tests.graphql_api.api import Api, counted_statements

COLUMNS = "ids states at seconds reasons counts"
BOTH = f"""
query($last: Int!) {{ tasks(first: 10) {{ nodes {{
  strip(last: $last) {{ {COLUMNS} }}
  occurrences(first: $last) {{ nodes {{ __typename
    ... on Run {{ id state scheduledFor startedAt finishedAt }}
    ... on SkippedOccurrence {{ id reason count lastScheduledFor }} }} }} }} }} }}
"""


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    if one["__typename"] == "SkippedOccurrence":
        return one["id"], "SKIPPED", one["lastScheduledFor"], None, one["reason"], one["count"]
    start, end = one["startedAt"], one["finishedAt"]
    seconds = None if end is None else (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return one["id"], one["state"], one["scheduledFor"], seconds, None, 1


async def _compared(api: Api, last: int) -> list[tuple[Any, ...]]:
    """The rows of the only task's strip, which are those of its occurrences."""
    (found,) = (await api.ask(BOTH, last=last))["tasks"]["nodes"]
    rows = list(zip(*(found["strip"][name] for name in COLUMNS.split()), strict=True))
    assert rows == [_row(one) for one in found["occurrences"]["nodes"]]
    return rows


async def test_a_strip_is_the_newest_occurrences_by_column(api: Api) -> None:
    api.stored.task("* * * * * *")
    worker = api.stored.node("w")
    assert await _compared(api, 60) == []
    # The first runs until 3.25, so 2 and 3 are skipped; 4 runs and goes on; 5 is skipped.
    api.stored.at(1)
    api.stored.dispatch()
    started = worker.start()
    assert [row[1] for row in await _compared(api, 60)] == ["RUNNING"]
    for second in (2, 3):
        api.stored.at(second)
        api.stored.dispatch()
    api.stored.at(3.25)
    worker.end(started)
    api.stored.at(4)
    api.stored.dispatch()
    worker.start()
    api.stored.at(5)
    api.stored.dispatch()
    rows = await _compared(api, 60)
    assert [(row[1], row[2][-3:-1], row[4], row[5]) for row in rows] == [
        ("SKIPPED", "05", "OVERLAP", 1),
        ("RUNNING", "04", None, 1),
        ("SKIPPED", "03", "OVERLAP", 2),
        ("SUCCESS", "01", None, 1),
    ]
    assert await _compared(api, 3) == rows[:3]


async def test_strips_of_many_tasks_are_one_statement_and_tasks_without_occurrences_have_empty_ones(api: Api) -> None:
    api.stored.task("* * * * * *")
    api.stored.node("w")
    api.stored.at(1)
    api.stored.dispatch()
    other = TaskSpec("other", "work", ScheduleSpec(Syntax.CRON, "0 0 0 1 1 *"))
    for number in range(3):
        api.stored.do(create_task, replace(other, name=f"other-{number}"), submitter="tester")
    found = (await api.ask(f"{{ tasks(first: 10) {{ nodes {{ name strip {{ {COLUMNS} }} }} }} }}"))["tasks"]["nodes"]
    strips = {one["name"]: one["strip"] for one in found}
    assert strips["nightly"]["counts"] == [1]
    assert all(strips[f"other-{number}"] == {name: [] for name in COLUMNS.split()} for number in range(3))


@pytest.mark.parametrize("decimals", [0.000001, 0.1203, 0.5])
async def test_the_times_of_a_strip_have_as_many_decimals_as_there_are(api: Api, decimals: float) -> None:
    api.stored.at(decimals)
    api.stored.task("1s", Syntax.INTERVAL)
    worker = api.stored.node("w")
    for second in (1, 2):
        api.stored.at(second + decimals)
        api.stored.dispatch()
        started = worker.start()
        api.stored.pass_time(0.25 + decimals)
        worker.end(started)
    assert {row[2].partition(".")[2] for row in await _compared(api, 60)} == {f"{decimals:f}"[2:].rstrip("0") + "Z"}


async def test_strips_of_two_sizes_are_those_of_either(api: Api) -> None:
    api.stored.task("* * * * * *")
    worker = api.stored.node("w")
    for second in (1, 2, 3):
        api.stored.at(second)
        api.stored.dispatch()
        worker.end(worker.start())
    document = """query($one: Int!) {
      tasks { nodes {
        lastStatus { id } one: strip(last: $one) { ids } two: strip(last: 2) { ids } all: strip { ids }
      } }
      alone: tasks { nodes { lastStatus { id } strip(last: $one) { ids } } edges { node { strip(last: $one) { at } } } }
      task(name: "nightly") { strip(last: 2) { ids } }
    }"""
    said = await api.ask(document, one=1)
    (each,), (alone,) = said["tasks"]["nodes"], said["alone"]["nodes"]
    sizes = [len(one["ids"]) for one in (each["one"], each["two"], each["all"], alone["strip"])]
    assert sizes == [1, 2, 3, 1]
    assert said["task"]["strip"] == each["two"]
    assert each["one"] == alone["strip"]
    assert each["lastStatus"] == alone["lastStatus"]


async def test_the_strips_of_a_page_take_one_statement_more_and_of_the_tasks_their_keys(api: Api) -> None:
    for number in range(3):
        api.stored.task("* * * * * *", name=f"task-{number}")
    api.stored.node("w")
    api.stored.at(1)
    api.stored.dispatch()
    for arguments in ("", '(filter: { name: { contains: "task" } })'):
        with counted_statements() as sent:
            await api.ask(f"{{ tasks{arguments} {{ nodes {{ name strip(last: 3) {{ states at }} }} }} }}")
        asked = [one for one in sent if "periodic_task" in one or "FROM run" in one]
        assert len(asked) == 2
        assert "schedule_value" not in asked[0]


@pytest.mark.parametrize("last", [0, 201])
async def test_a_strip_has_1_to_200_occurrences(api: Api, last: int) -> None:
    api.stored.task("* * * * * *")
    code, message = await api.refused(
        "query($last: Int!) { tasks(first: 1) { nodes { strip(last: $last) { ids } } } }", last=last
    )
    assert (code, message) == ("INVALID_INPUT", f"last: must be a whole number from 1 to 200, got {last}")
