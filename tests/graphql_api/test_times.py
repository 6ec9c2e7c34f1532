"""The API refuses times before 1970 and after 9998 wherever a time is taken, and never with a fault of its own."""

import re
from collections.abc import Mapping

import pytest

from tests.graphql_api.api import Api

ZERO = "0001-01-01T00:00:00Z"
"""What Go writes for a time that nobody has set."""
BAD = (
    ZERO,
    "1969-12-31T23:59:59.999999Z",
    "9999-01-01T00:00:00Z",
    "1970-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
)
ENDS = ("1970-01-01T00:00:00Z", "9998-12-31T23:59:59.999999Z")
QUERIES: Mapping[str, str] = {
    "a filter": "{ runs(filter: { submittedAt: { gte: $t } }) { nodes { id } } }",
    "a filter of executions": "{ executions(filter: { startedAt: { lt: $t } }) { nodes { id } } }",
    "validateSchedule": '{ validateSchedule(schedule: { syntax: CRON, value: "* * * * * *" }, from: $t) { isValid } }',
    "upcoming from": "{ upcoming(from: $t) { nodes { scheduledFor } } }",
    "upcoming to": "{ upcoming(to: $t) { nodes { scheduledFor } } }",
    "statistics from": "{ statistics(from: $t) { __typename } }",
    "statistics to": "{ statistics(to: $t) { __typename } }",
    "failureGroups from": "{ failureGroups(from: $t) { __typename } }",
    "failureHistory from": '{ failureHistory(fingerprint: "0123456789abcdef", from: $t) { __typename } }',
    "failureHistory to": '{ failureHistory(fingerprint: "0123456789abcdef", to: $t) { __typename } }',
    "failureGroups to": "{ failureGroups(to: $t) { __typename } }",
    "timeline from": "{ timeline(from: $t) { __typename } }",
    "timeline to": "{ timeline(to: $t) { __typename } }",
}
RUN = 'mutation { enqueueRuns(input: { runs: [{ jobName: "work", %s: $t }] }) { errors { code message } } }'
TASK = (
    'mutation { createTask(input: { name: "t", jobName: "work", schedule: { syntax: CRON, value: "* * * * * *" }, '
    "%s: $t }) { errors { code message } } }"
)
MUTATIONS: Mapping[str, str] = {
    "enqueueRuns runAt": RUN % "runAt",
    "enqueueRuns expiresAt": RUN % "expiresAt",
    "createTask startAt": TASK % "startAt",
    "createTask endAt": TASK % "endAt",
    "updateRun": 'mutation { updateRun(input: { id: "1", runAt: $t }) { errors { code message } } }',
}


async def test_a_time_outside_the_range_is_refused_and_its_ends_are_no_fault(api: Api) -> None:
    api.stored.enqueue()
    for door, document in {**QUERIES, **MUTATIONS}.items():
        word = "mutation" if door in MUTATIONS else "query"
        document = f"{word} Q($t: DateTime) {document.removeprefix('mutation ')}"  # noqa: PLW2901
        for bad in BAD:
            code, message = await api.refused(document, t=bad)
            assert code != "INTERNAL_ERROR"
            assert "from 1970-01-01T00:00:00Z to 9998-12-31T23:59:59.999999Z" in message, door
        for end in ENDS:
            _, errors = await api.execute(document, t=end)
            assert not [one for one in errors if one["extensions"]["code"] == "INTERNAL_ERROR"], (door, end, errors)


SCHEDULE = 'schedule: { syntax: %s, value: "%s" }'


@pytest.mark.parametrize(
    ("syntax", "value"),
    [("TIMESTAMP", ZERO), ("TIMESTAMP", "9999-01-01T00:00:00Z"), ("TIMESTAMP", "9" * 16), ("INTERVAL", "9" * 30 + "d")],
)
async def test_a_schedule_outside_the_range_is_refused_by_its_syntax(api: Api, syntax: str, value: str) -> None:
    schedule = SCHEDULE % (syntax, value)
    answer = await api.ask(f"{{ validateSchedule({schedule}) {{ isValid error {{ message }} }} }}")
    assert answer["validateSchedule"]["isValid"] is False
    created = await api.ask(
        f'mutation {{ createTask(input: {{ name: "t", jobName: "work", {schedule} }}) {{ errors {{ code }} }} }}'
    )
    assert [one["code"] for one in created["createTask"]["errors"]] == ["INVALID_SCHEDULE"]


HUGE = ("1e300", "1e18", "1e10")


DURATIONS = ("retryDelay", "timeout", "ttl", "maxDuration", "uniqueFor", "debounce: { delay", "throttle: { period")


@pytest.mark.parametrize("value", HUGE)
async def test_an_enormous_duration_is_refused_by_name(api: Api, value: str) -> None:
    for field in DURATIONS:
        await _refused(api, field, value)


async def _refused(api: Api, field: str, value: str) -> None:
    closing = " }" if "{" in field else ""
    asked = f'{field}: {value}{closing}, uniqueKey: "k"'
    runs = f'runs: [{{ jobName: "work", {asked} }}]'
    data, errors = await api.execute(f"mutation {{ enqueueRuns(input: {{ {runs} }}) {{ errors {{ code message }} }} }}")
    assert errors == []
    (error,) = data["enqueueRuns"]["errors"]
    assert error["code"] == "INVALID_INPUT"
    name = re.split(r"\W+", field)[0]
    assert name in error["message"]


TASK_OF = '{ name: "t", jobName: "work", schedule: { syntax: CRON, value: "* * * * * *" }, %s: $n }'
NUMBERS: Mapping[str, str] = {
    **{
        field: f"mutation {{ it: createTask(input: {TASK_OF % field}) {{ errors {{ code message }} }} }}"
        for field in ("misfireGrace", "timeout", "maxDuration", "retryDelay", "jitter")
    },
    "maxWaitLow": 'mutation { it: updateGroup(input: { name: "g", maxWaitLow: $n }) { errors { code message } } }',
    "keep": 'mutation { it: updateGroup(input: { name: "g", keep: $n }) { errors { code message } } }',
    "per": 'mutation { it: updateGroup(input: { name: "g", rate: { limit: 1, per: $n }}) { errors { code message } } }',
}
READS: Mapping[str, str] = {
    "apart": "{ upcoming(apart: $n) { nodes { scheduledFor } } }",
    "duration": "{ executions(filter: { duration: { gt: $n } }) { nodes { id } } }",
}


async def test_no_enormous_number_is_a_fault_anywhere(api: Api) -> None:
    await api.ask(NUMBERS["keep"].replace("$n", "60"))
    for number in ("1e300", "1e18", "1e12", "-1"):
        for name, document in {**NUMBERS, **READS}.items():
            data, errors = await api.execute(document.replace("$n", number))
            codes = {one["extensions"]["code"] for one in errors}
            assert "INTERNAL_ERROR" not in codes, (name, number, errors)
            if name in NUMBERS:
                refusals = data["it"]["errors"] if data else errors
                assert refusals, (name, number)
                assert name in refusals[0]["message"], (name, number, refusals)
