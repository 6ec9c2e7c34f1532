"""Plans and figures as clients ask for them."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronograph.jobs.core.occurrences import planned, planned_load
from cronograph.jobs.core.outcome import Failed, Succeeded
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.runtime.base.settings import Clock
from cronograph.jobs.runtime.duties.figures import DepthKeeper, HourCounter
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements.figures.failures import FailureRow, merge_failures, without_varying
from tests.graphql_api.api import Api, counted_statements
from tests.support.storage import START

UPCOMING = """
query($from: DateTime, $to: DateTime, $apart: Duration, $first: Int! = 100, $after: String) {
  upcoming(from: $from, to: $to, apart: $apart, first: $first, after: $after) {
    nodes { task { name } scheduledFor effectiveAt } pageInfo { hasNextPage endCursor } totalCount
  }
}
"""


async def upcoming(api: Api, **variables: Any) -> dict[str, Any]:
    """The plan."""
    found: dict[str, Any] = (await api.ask(UPCOMING, **variables))["upcoming"]
    return found


def names(plan: dict[str, Any]) -> str:
    """The tasks of a plan in order."""
    return "".join(node["task"]["name"] for node in plan["nodes"])


async def test_the_plan_merges_the_next_times_of_all_tasks(api: Api) -> None:
    api.stored.task("0 * * * * *", name="a")
    api.stored.task("30 * * * * *", name="b")
    api.stored.task("90", Syntax.INTERVAL, name="c")
    plan = await upcoming(api, to="2026-03-01T12:03:00Z")
    assert names(plan) == "babcab"
    assert plan["nodes"][0] == {
        "task": {"name": "b"}, "scheduledFor": "2026-03-01T12:00:30Z", "effectiveAt": "2026-03-01T12:00:30Z"
    }  # fmt: skip
    assert plan["pageInfo"]["hasNextPage"] is False
    assert plan["totalCount"] == 6


async def test_the_plan_is_paged_without_gaps_and_repetitions(api: Api) -> None:
    for name in "abc":
        api.stored.task("0 * * * * *", name=name)
    everything = await upcoming(api, to="2026-03-01T12:05:00Z")
    assert names(everything) == "abc" * 4
    walked: list[Any] = []
    cursor = None
    while True:
        page = await upcoming(api, to="2026-03-01T12:05:00Z", first=5, after=cursor)
        walked += page["nodes"]
        cursor = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert walked == everything["nodes"]


async def test_a_plan_with_room_between_occurrences_reaches_its_end_however_frequent_tasks_are(api: Api) -> None:
    api.stored.task("* * * * * *", name="a")
    api.stored.task("0 30 * * * *", name="b")
    plan = await upcoming(api, to="2026-03-01T13:00:00Z", apart=600)
    assert names(plan) == "aaabaaa"
    times = [node["effectiveAt"][11:19] for node in plan["nodes"] if node["task"]["name"] == "a"]
    assert times == ["12:00:01", "12:10:01", "12:20:01", "12:30:01", "12:40:01", "12:50:01"]
    assert plan["totalCount"] == 7
    code, message = await api.refused(UPCOMING, apart=0.5)
    assert (code, message) == ("INVALID_INPUT", "apart: must be from 1 to 86400 seconds, got 0.5")


LOAD = """
query($from: DateTime, $to: DateTime, $bucket: StatisticsBucket! = MINUTE, $filter: TaskFilter) {
  plannedLoad(from: $from, to: $to, bucket: $bucket, filter: $filter) { endsAt points { at tasks names } }
}
"""


async def test_the_planned_load_counts_the_tasks_of_each_minute_and_names_the_rarest_first(api: Api) -> None:
    api.stored.task("* * * * * *", name="often")
    for number in range(7):
        api.stored.task("0 */2 * * * *", name=f"even-{number}")
    api.stored.task("10 2 12 * * *", name="once")
    load = (await api.ask(LOAD, to="2026-03-01T12:04:00Z"))["plannedLoad"]
    assert load["endsAt"] == "2026-03-01T12:04:00Z"
    assert [(point["at"][14:16], point["tasks"]) for point in load["points"]] == [
        ("00", 1), ("01", 1), ("02", 9), ("03", 1)
    ]  # fmt: skip
    assert load["points"][2]["names"] == ["once", "even-0", "even-1", "even-2", "even-3"]
    hours = (await api.ask(LOAD, bucket="HOUR", filter={"name": {"eq": "once"}}))["plannedLoad"]["points"]
    assert hours == [{"at": "2026-03-01T12:00:00Z", "tasks": 1, "names": ["once"]}]
    # Stretches are counted from the beginning of the span, so that they may be the hours of any zone.
    shifted = await api.ask(LOAD, **{"from": "2026-03-01T12:01:30Z", "to": "2026-03-01T12:03:30Z"})
    assert [point["at"][14:19] for point in shifted["plannedLoad"]["points"]] == ["01:30", "02:30"]
    for variables, said in (
        ({"to": "2026-04-01T00:00:00Z"}, "makes more than 1,500 points"),
        ({"to": "2026-02-01T00:00:00Z"}, "to: must not be before from"),
    ):
        code, message = await api.refused(LOAD, **variables)
        assert code == "INVALID_INPUT"
        assert said in message


async def test_a_planned_load_that_is_too_much_ends_where_all_were_counted(api: Api) -> None:
    tasks = [api.stored.task(f"{number} * * * * *", name=f"minutely-{number}") for number in range(3)]
    tasks += [api.stored.task(f"{number} */2 * * * *", name=f"even-{number}") for number in (10, 20)]
    end, minute = START + timedelta(hours=1), timedelta(minutes=1)
    until, points = planned_load(tasks, START, end, minute, most=5, named=2)
    # The sixth occurrence that is computed lies in the fifth minute, of which not all are counted. Of those that come
    # in every minute none is computed but the first.
    assert until == START + 4 * minute
    assert [(point.at, point.tasks, len(point.names)) for point in points] == [
        (START, 4, 2), (START + minute, 3, 0), (START + 2 * minute, 5, 2), (START + 3 * minute, 3, 0)
    ]  # fmt: skip
    until, points = planned_load(tasks, START, end, minute, most=1_000, named=2)
    assert until == end
    by_hand = {(one.task_id, (one.effective_at - START) // minute) for one in planned(tasks, START, end)}
    assert sum(point.tasks for point in points) == len(by_hand)


async def test_a_week_of_many_hourly_tasks_is_counted_whole(api: Api) -> None:
    schedules = [f"{number % 60} {number // 60} * * * *" for number in range(60)]
    tasks = [api.stored.task(value, name=f"hourly-{number}") for number, value in enumerate(schedules)]
    tasks.append(api.stored.task("90", Syntax.INTERVAL, name="interval"))
    tasks.append(api.stored.task("0 30 9 * * *", name="daily"))
    end, hour = START + timedelta(days=7), timedelta(hours=1)
    until, points = planned_load(tasks, START, end, hour, most=50, named=2)
    assert until == end
    hours = {(one.task_id, (one.effective_at - START) // hour) for one in planned(tasks, START, end)}
    by_hand = Counter(stretch for _, stretch in hours)
    assert {(point.at - START) // hour: point.tasks for point in points} == by_hand
    assert {name for point in points for name in point.names} == {"daily"}


async def test_a_plan_of_the_far_future_begins_there(api: Api) -> None:
    api.stored.task("0 0 9 * * *", name="a")
    plan = await upcoming(api, **{"from": "2030-01-01T09:00:00Z", "to": "2030-01-02T09:00:00Z"})
    assert [node["scheduledFor"] for node in plan["nodes"]] == ["2030-01-01T09:00:00Z"]


async def test_paused_tasks_and_those_without_a_job_are_not_planned(api: Api) -> None:
    api.stored.node("node-b", jobs=("other",))
    for name in "ab":
        api.stored.task(name=name)
    api.stored.task(name="c", job_name="other")
    await api.ask('mutation { pauseTask(input: { name: "a" }) { errors { code } } }')
    api.stored.do(lambda tx: tx.conn.execute(SchemaText("DELETE FROM cronograph.job WHERE name = 'other'")))
    assert names(await upcoming(api, first=1)) == "b"


def test_the_plan_is_computed_no_further_than_it_is_read() -> None:
    endless = planned([], START, START + timedelta(days=36_500))
    assert list(endless) == []


async def test_statistics_are_of_the_last_day_by_the_hour(api: Api) -> None:
    worker = api.stored.node("w")
    for seconds, outcome in ((2, Succeeded(3)), (4, Failed("ValueError", "no")), (6, Succeeded(4))):
        api.stored.enqueue(retries=0)
        started = worker.start()
        api.stored.pass_time(seconds)
        worker.end(started, outcome)
    api.stored.at(3600)
    data = await api.ask(
        "{ statistics { beginsAt endsAt count failures records p50 p95 stalled "
        "points { at count failures records p50 } } "
        'none: statistics(jobName: "other") { count p50 points { at } } '
        "minutes: statistics(bucket: MINUTE) { points { at } } }"
    )
    assert data["statistics"] == {
        "beginsAt": "2026-02-28T13:00:00Z", "endsAt": "2026-03-01T13:00:00Z", "count": 3, "failures": 1, "records": 7,
        "p50": 4.0, "p95": pytest.approx(5.8), "stalled": 0,
        "points": [{"at": "2026-03-01T12:00:00Z", "count": 3, "failures": 1, "records": 7, "p50": 4.0}],
    }  # fmt: skip
    assert data["none"] == {"count": 0, "p50": None, "points": []}
    assert data["minutes"]["points"] == [{"at": "2026-03-01T12:00:00Z"}]


async def test_the_queue_is_shown_over_time_by_job_and_group(api: Api) -> None:
    worker = api.stored.node("w")
    for group in ("a", "a", "b"):
        api.stored.enqueue(group=group)
    worker.start()
    api.stored.at(90)
    assert await DepthKeeper(api.database, Clock()).look()
    data = await api.ask(
        "{ queueHistory { at waiting scheduled running stuck oldestWait } "
        'a: queueHistory(group: "a", bucket: HOUR) { at waiting running } '
        'none: queueHistory(jobName: "other") { at waiting oldestWait } '
        'before: queueHistory(to: "2026-03-01T12:00:00Z") { at } }'
    )
    assert data == {
        "queueHistory": [
            {"at": "2026-03-01T12:01:00Z", "waiting": 2, "scheduled": 0, "running": 1, "stuck": 0, "oldestWait": 60}
        ],
        "a": [{"at": "2026-03-01T12:00:00Z", "waiting": 1, "running": 1}],
        "none": [{"at": "2026-03-01T12:01:00Z", "waiting": 0, "oldestWait": None}],
        "before": [],
    }
    _, refused = await api.refused('{ queueHistory(from: "2026-02-01T12:00:00Z") { at } }')
    assert "makes more than 1,500 points" in refused


async def test_percentiles_that_nobody_asks_for_are_not_computed(api: Api) -> None:
    documents = {
        "{ statistics { count points { count } } }": False,
        "{ statistics { p99 } }": True,
        "{ statistics { ...F } } fragment F on Statistics { points { ... on StatisticsPoint { p50 } } }": True,
        "{ statistics { latenessP95 } }": True,
        "query($no: Boolean = false) { statistics { p50 @include(if: $no) count } }": True,
    }
    for document, computed in documents.items():
        with counted_statements() as statements:
            await api.ask(document)
        words = ("percentile_cont", "PARTITION BY judged")
        assert any(word in statement for statement in statements for word in words) == computed, document


async def test_stalled_tasks_are_looked_for_only_if_somebody_asks(api: Api) -> None:
    documents = {
        "{ statistics { count p50 points { count } } }": False,
        "{ statistics { stalled } }": True,
        "{ statistics { late: stalled } }": True,
        "{ statistics { ...F } } fragment F on Statistics { stalled }": True,
    }
    for document, looked in documents.items():
        with counted_statements() as statements:
            await api.ask(document)
        assert any("FROM periodic_task" in statement for statement in statements) == looked, document


async def test_counted_hours_change_no_figure(api: Api) -> None:
    worker = api.stored.node("w")
    for minutes in (1, 50, 70, 200):
        api.stored.at(minutes * 60)
        api.stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("ValueError", "no") if minutes == 70 else Succeeded(2))
    api.stored.at(5 * 3600)
    document = (
        "{ statistics { count failures records points { at count failures records } } "
        "overview { succeededLast24h failedLast24h failedPrevious24h } "
        'job: statistics(jobName: "work", bucket: DAY) { count points { at count } } }'
    )
    before = await api.ask(document)
    assert before["statistics"]["count"] == 4
    assert await HourCounter(api.database, Clock()).look() == 4
    assert await api.ask(document) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('bucket: MINUTE, from: "2026-01-01T00:00:00Z"', "makes more than 1,500 points"),
        ('from: "2027-01-01T00:00:00Z"', "to: must not be before from"),
        ('jobName: "\\u0000"', "jobName: must not contain U+0000"),
        ('to: "1970-01-01T00:00:00Z"', None),
        ('jobName: "j", to: "1970-01-01T00:00:00Z"', None),
        ('from: "9998-12-31T00:00:00Z", to: "9998-12-31T23:59:59Z", taskName: "t"', None),
    ],
)
async def test_impossible_spans_are_refused(api: Api, arguments: str, message: str | None) -> None:
    document = f"{{ statistics({arguments}) {{ count }} }}"
    if message is None:
        assert await api.ask(document) == {"statistics": {"count": 0}}
        return
    code, got = await api.refused(document)
    assert code == "INVALID_INPUT"
    assert message in got


async def test_failures_are_grouped_by_what_their_messages_have_in_common(api: Api) -> None:
    worker = api.stored.node("w")
    for number in range(3):
        api.stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("KeyError", f"user {number} is missing"))
    api.stored.enqueue(retries=0)
    last = worker.start()
    worker.end(last, Failed("OSError", "disk full"))
    api.stored.pass_time(1)
    data = await api.ask("{ failureGroups { jobName errorType message count execution { id } } }")
    first, second = data["failureGroups"]
    assert (first["errorType"], first["message"], first["count"]) == ("KeyError", "user 2 is missing", 3)
    assert (second["message"], second["execution"]["id"]) == ("disk full", str(last.execution_id))


HISTORY = """
query($name: String!, $job: String, $first: Int, $after: String) {
  failureHistory(fingerprint: $name, jobName: $job, bucket: MINUTE) {
    group { fingerprint jobName errorType message count firstAt lastAt }
    beginsAt
    points { at count }
    nodes { name count }
    executions(first: $first, after: $after) { nodes { id } totalCount pageInfo { hasNextPage endCursor } }
  }
}
"""


async def test_one_group_of_failures_is_read_over_time_by_its_fingerprint(api: Api) -> None:
    one, other = api.stored.node("one"), api.stored.node("other")
    ids: list[str] = []
    for number, worker in enumerate((one, other, one)):
        api.stored.enqueue(retries=0)
        started = worker.start()
        ids.append(str(started.execution_id))
        worker.end(started, Failed("KeyError", f"user {number} is missing"))
        api.stored.pass_time(60)
    for error in (Failed("OSError", "user 7 is missing"), Failed("KeyError", "a group is missing")):
        api.stored.enqueue(retries=0)
        one.end(one.start(), error)
    api.stored.pass_time(1)
    (name,) = [
        group["fingerprint"]
        for group in (await api.ask("{ failureGroups { fingerprint count } }"))["failureGroups"]
        if group["count"] == 3
    ]
    found = (await api.ask(HISTORY, name=name, first=2))["failureHistory"]
    assert found["group"] == {
        "fingerprint": name, "jobName": "work", "errorType": "KeyError", "message": "user 2 is missing", "count": 3,
        "firstAt": "2026-03-01T12:00:00Z", "lastAt": "2026-03-01T12:02:00Z",
    }  # fmt: skip
    assert found["beginsAt"] is None
    assert [(point["at"][11:16], point["count"]) for point in found["points"]] == [
        ("12:00", 1), ("12:01", 1), ("12:02", 1)
    ]  # fmt: skip
    assert found["nodes"] == [{"name": "one", "count": 2}, {"name": "other", "count": 1}]
    page = found["executions"]
    assert [node["id"] for node in page["nodes"]] == [ids[2], ids[1]]
    assert (page["totalCount"], page["pageInfo"]["hasNextPage"]) == (3, True)
    rest = (await api.ask(HISTORY, name=name, after=page["pageInfo"]["endCursor"]))["failureHistory"]["executions"]
    assert ([node["id"] for node in rest["nodes"]], rest["pageInfo"]["hasNextPage"]) == ([ids[0]], False)
    backwards = await api.ask(
        f'{{ failureHistory(fingerprint: "{name}") {{ executions(last: 2) {{ nodes {{ id }} '
        "pageInfo { hasPreviousPage hasNextPage } } } }"
    )
    assert backwards["failureHistory"]["executions"] == {
        "nodes": [{"id": ids[1]}, {"id": ids[0]}], "pageInfo": {"hasPreviousPage": True, "hasNextPage": False}
    }  # fmt: skip


async def test_a_group_of_failures_that_is_not_there_is_null_and_a_fingerprint_has_its_form(api: Api) -> None:
    api.stored.enqueue(retries=0)
    worker = api.stored.node("w")
    worker.end(worker.start(), Failed("KeyError", "no"))
    api.stored.pass_time(1)
    (group,) = (await api.ask("{ failureGroups { fingerprint } }"))["failureGroups"]
    assert (await api.ask(HISTORY, name="0" * 16))["failureHistory"] is None
    assert (await api.ask(HISTORY, name=group["fingerprint"], job="other"))["failureHistory"] is None
    assert (await api.ask(HISTORY, name=group["fingerprint"], job="work"))["failureHistory"]["group"]["count"] == 1
    code, message = await api.refused(HISTORY, name="KeyError")
    assert code == "INVALID_INPUT"
    assert "16 hexadecimal digits" in message


async def test_a_failure_is_recovered_once_its_run_or_a_retry_of_it_has_succeeded(api: Api) -> None:
    worker = api.stored.node("w")

    async def again(run_id: int) -> int:
        document = "mutation($id: ID!) { retryRun(input: { id: $id }) { run { id } errors { code } } }"
        return int((await api.ask(document, id=str(run_id)))["retryRun"]["run"]["id"])

    first = api.stored.enqueue(retries=0)
    worker.end(worker.start(), Failed("E", "no"))
    second = await again(first.id)
    worker.end(worker.start(), Failed("E", "no"))
    attempts = api.stored.enqueue(retries=1)
    worker.end(worker.start(), Failed("E", "no"))
    document = "{ executions(orderBy: [{ field: ID }]) { nodes { runId attempt isRecovered } } }"
    nodes = (await api.ask(document))["executions"]["nodes"]
    assert [node["isRecovered"] for node in nodes] == [False, False, False]
    api.stored.pass_time(3600)
    worker.end(worker.start(), Succeeded())
    third = await again(second)
    worker.end(worker.start(), Succeeded())
    lost = api.stored.enqueue(retries=0)
    worker.end(worker.start(), Failed("E", "no"))
    with counted_statements() as sent:
        nodes = (await api.ask(document))["executions"]["nodes"]
    assert [(node["runId"], node["attempt"], node["isRecovered"]) for node in nodes] == [
        (str(first.id), 1, True), (str(second), 1, True), (str(attempts.id), 1, True), (str(attempts.id), 2, False),
        (str(third), 1, False), (str(lost.id), 1, False),
    ]  # fmt: skip
    assert len([one for one in sent if "RECURSIVE" in one]) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("user 17 is missing", "user 4 is missing", True),
        ("at 0x7f00aa", "at 0x10", True),
        ("id 8a6e0804-2bd0-4672-b79d-d97027f9071a", "id 123e4567-e89b-12d3-a456-426614174000", True),
        ("took 1.5 s", "took 22.75 s", True),
        ("node evasive-einstein-62763 died", "node happy-noether-10411 died", True),
        ("no user", "no group", False),
    ],
)
def test_messages_of_one_cause_have_one_fingerprint(one: str, other: str, *, same: bool) -> None:
    assert (without_varying(one) == without_varying(other)) is same


def test_merged_groups_keep_the_newest_message_and_the_whole_span() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        FailureRow("j", "E", "row 1", 2, at, at + timedelta(hours=1), 7),
        FailureRow("j", "E", "row 2", 3, at - timedelta(hours=1), at, 9),
        FailureRow("j", None, "row 1", 9, at, at, 1),
    ]
    assert merge_failures(rows, 5) == [
        FailureRow("j", None, "row 1", 9, at, at, 1),
        FailureRow("j", "E", "row 2", 5, at - timedelta(hours=1), at + timedelta(hours=1), 9),
    ]
    assert len(merge_failures(rows, 1)) == 1


async def test_a_task_whose_zone_has_vanished_from_this_machine_is_shown_and_nothing_of_it_is_planned(api: Api) -> None:
    api.stored.task("0 * * * * *", name="a")
    api.stored.task("0 * * * * *", name="lost")
    vanish = "UPDATE cronograph.periodic_task SET timezone = 'Mars/Olympus' WHERE name = 'lost'"
    api.stored.do(lambda tx: tx.conn.execute(SchemaText(vanish)))
    found = await api.ask('{ task(name: "lost") { schedule { humanized nextExecutions } } }')
    schedule = found["task"]["schedule"]
    assert schedule["humanized"].startswith("cannot be read any more: ")
    assert "Mars/Olympus" in schedule["humanized"]
    assert schedule["nextExecutions"] == []
    assert names(await upcoming(api, to="2026-03-01T12:03:00Z")) == "aa"


async def test_a_plan_that_begins_with_the_last_day_of_the_calendar_ends_there(api: Api) -> None:
    assert (await upcoming(api, **{"from": "9998-12-31T12:00:00Z"}))["totalCount"] == 0


@pytest.mark.parametrize(
    ("fields", "tables"),
    [
        ("at", set[str]()),
        ("running waiting", {"run"}),
        ("liveNodes slots", {"node"}),
        ("stalledTasks", {"periodic_task"}),
        ("perMinute failedLast24h successRate", {"execution_minute"}),
        ("unknownFailedLast24h", {"execution_minute"}),
        ("unknownErrors", {"job_execution"}),
        ("... on Overview { running } liveNodes", {"run", "node"}),
    ],
)
async def test_an_overview_reads_only_what_is_asked_for(api: Api, fields: str, tables: set[str]) -> None:
    with counted_statements() as sent:
        await api.ask(f"{{ overview {{ {fields} }} }}")
    named = {"run", "node", "periodic_task", "job_execution", "execution_hour", "execution_minute"}
    assert {table for one in sent for table in named if re.search(rf"\b{table}\.", one)} == tables


async def test_people_say_of_a_group_of_failures_that_it_is_known_or_solved_in_a_version(api: Api) -> None:
    worker = api.stored.node("w", code_version="v1")
    for _ in range(2):
        api.stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("KeyError", "no"))
    api.stored.pass_time(1)
    groups = "{ failureGroups { fingerprint state mark { silenceEndsAt silencedBy solvedIn } } }"
    (group,) = (await api.ask(groups))["failureGroups"]
    name = group["fingerprint"]
    assert (group["state"], group["mark"]) == ("OPEN", None)
    executions = (await api.ask("{ executions { nodes { fingerprint } } }"))["executions"]["nodes"]
    assert [one["fingerprint"] for one in executions] == [name, name]
    silence = """mutation($input: SilenceFailuresInput!) { silenceFailures(input: $input) {
      mark { jobName silenceEndsAt silencedBy silenceReason } errors { code message path } } }"""
    given = {"fingerprint": name, "endsAt": "2031-01-01T00:00:00Z", "reason": "known"}
    assert (await api.ask(silence, input=given))["silenceFailures"]["mark"] == {
        "jobName": "work", "silenceEndsAt": "2031-01-01T00:00:00Z", "silencedBy": "local administrator",
        "silenceReason": "known",
    }  # fmt: skip
    (group,) = (await api.ask(groups))["failureGroups"]
    assert (group["state"], group["mark"]["silencedBy"]) == ("SILENCED", "local administrator")
    await api.ask(silence, input={"fingerprint": name})
    solve = """mutation($input: SolveFailuresInput!) { solveFailures(input: $input) {
      mark { solvedIn solvedBy } errors { code message path } } }"""
    solved = {"fingerprint": name, "jobName": "work", "codeVersion": "v2"}
    assert (await api.ask(solve, input=solved))["solveFailures"]["mark"]["solvedIn"] == "v2"
    (group,) = (await api.ask(groups))["failureGroups"]
    assert (group["state"], group["mark"]["solvedIn"]) == ("SOLVED", "v2")
    api.stored.pass_time(1)
    api.stored.enqueue(retries=0)
    newer = api.stored.node("newer", code_version="v3")
    newer.end(newer.start(), Failed("KeyError", "no"))
    api.stored.pass_time(1)
    history = f'{{ failureHistory(fingerprint: "{name}") {{ group {{ state }} versions {{ codeVersion count }} }} }}'
    assert (await api.ask(history))["failureHistory"] == {
        "group": {"state": "REGRESSED"},
        "versions": [{"codeVersion": "v1", "count": 2}, {"codeVersion": "v3", "count": 1}],
    }
    for wrong, path in (
        ({"fingerprint": "x"}, ["fingerprint"]),
        ({"fingerprint": "0" * 16}, ["fingerprint"]),
        ({"fingerprint": name, "codeVersion": ""}, ["codeVersion"]),
    ):
        (error,) = (await api.ask(solve, input=wrong))["solveFailures"]["errors"]
        assert error["path"] == path, error
    reopen = "mutation($input: ReopenFailuresInput!) { reopenFailures(input: $input) { mark { solvedAt } } }"
    assert (await api.ask(reopen, input={"fingerprint": name}))["reopenFailures"]["mark"] == {"solvedAt": None}
