"""Alarms and channels in the API: they are created, changed, silenced, acknowledged and listed."""

from typing import Any

import pytest

from cronograph.jobs.delivery import write
from cronograph.jobs.delivery.notifying import new_rows
from cronograph.jobs.delivery.watching import Cause
from cronograph.jobs.store.db.transaction import Tx
from tests.graphql_api.api import Api
from tests.graphql_api.world import World

CREATE = """mutation($input: CreateAlarmInput!) { createAlarm(input: $input) {
  alarm {
    name isEnabled severity condition sentence description channels version createdBy silenceEndsAt
    subject { kind name } settings { grace dueBy after timesP95 failedRuns leastRecords olderThan deeperThan }
  }
  errors { code message path } } }"""
UPDATE = """mutation($input: UpdateAlarmInput!) { updateAlarm(input: $input) {
  alarm { isEnabled severity sentence version channels } errors { code message path } } }"""
NOTHING = dict.fromkeys(
    ("grace", "dueBy", "after", "timesP95", "failedRuns", "leastRecords", "olderThan", "deeperThan"), None
)


@pytest.fixture
async def world(api: Api) -> World:
    """A database with one of everything."""
    return await World.of(api)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("subject", "condition", "settings", "sentence"),
    [
        ({"task": "changed"}, {"late": {}}, {"grace": 60.0}, "starts more than 1 min late or misses an occurrence"),
        ({"task": "changed"}, {"overdue": {"dueBy": "06:00"}}, {"dueBy": "06:00"}, "is not done by 06:00"),
        ({"task": "changed"}, {"overdue": {"after": 90}}, {"after": 90.0}, "is not done 90 s after it was due"),
        ({"job": "work"}, {"slow": {"timesP95": 3}}, {"timesP95": 3.0}, "runs longer than 3 x its p95"),
        ({"group": "default"}, {"slow": {"after": 7200}}, {"after": 7200.0}, "runs longer than 2 h"),
        ({"job": "work"}, {"failing": {}}, {"failedRuns": 1}, "fails 1 time in a row"),
        ({"job": "work"}, {"empty": {}}, {"leastRecords": 1}, "processes fewer than 1 record"),
        (
            {"group": "g"},
            {"backlog": {"olderThan": 60, "deeperThan": 5}},
            {"olderThan": 60.0, "deeperThan": 5},
            "has a run that waits longer than 1 min or more than 5 waiting runs",
        ),
        ({"anyNode": True}, {"node": True}, {}, "is lost or silent"),
    ],
)
async def test_each_condition_is_created_and_said_in_words(
    world: World, subject: dict[str, Any], condition: dict[str, Any], settings: dict[str, Any], sentence: str
) -> None:
    given = {"name": "new", "subject": subject, "condition": condition}
    answer = (await world.api.ask(CREATE, input=given))["createAlarm"]
    assert answer["errors"] == []
    alarm = answer["alarm"]
    ((kind, name),) = subject.items()
    is_any = kind == "anyNode"
    assert alarm["subject"] == {"kind": "NODE" if is_any else kind.upper(), "name": None if is_any else name}
    assert alarm["settings"] == {**NOTHING, **settings}
    assert alarm["sentence"] == ("a node " if is_any else f"{kind} '{name}' ") + sentence
    assert (alarm["severity"], alarm["isEnabled"], alarm["version"]) == ("WARNING", True, 1)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"subject": {"task": "nope"}}, "NOT_FOUND", ["name"]),
        ({"subject": {"job": "work"}}, "INVALID_INPUT", ["subject"]),
        ({"condition": {"late": {"grace": -1}}}, "INVALID_INPUT", ["condition", "late", "grace"]),
        ({"condition": {"overdue": {"dueBy": "6 am"}}}, "INVALID_INPUT", ["condition", "overdue", "dueBy"]),
        ({"channels": ["nope"]}, "NOT_FOUND", ["name"]),
        ({"channels": ["ops"] * 21}, "INVALID_INPUT", ["channels"]),
        ({"name": "noisy"}, "ALREADY_EXISTS", ["name"]),
        ({"name": " x"}, "INVALID_INPUT", ["name"]),
        ({"subject": {"anyNode": False}, "condition": {"node": True}}, "INVALID_INPUT", ["subject", "anyNode"]),
        ({"subject": {"node": "n"}, "condition": {"node": False}}, "INVALID_INPUT", ["condition", "node"]),
        ({"subject": {"group": "g"}, "condition": {"backlog": {}}}, "INVALID_INPUT", ["condition", "backlog"]),
    ],
)
async def test_an_alarm_that_cannot_work_is_refused(
    world: World, changes: dict[str, Any], code: str, path: list[str]
) -> None:
    given: dict[str, Any] = {"name": "new", "subject": {"task": "changed"}, "condition": {"late": {}}, **changes}
    answer = (await world.api.ask(CREATE, input=given))["createAlarm"]
    assert [(one["code"], one["path"]) for one in answer["errors"]] == [(code, path)]


async def test_a_change_of_another_version_is_refused(world: World) -> None:
    first = await world.api.ask(UPDATE, input={"name": "changed", "severity": "CRITICAL", "expectedVersion": 1})
    assert first["updateAlarm"]["alarm"]["version"] == 2
    again = {"name": "changed", "enabled": False, "expectedVersion": 1}
    (error,) = (await world.api.ask(UPDATE, input=again))["updateAlarm"]["errors"]
    assert (error["code"], error["path"]) == ("VERSION_CONFLICT", ["expectedVersion"])
    null = (await world.api.ask(UPDATE, input={"name": "changed", "channels": None, "severity": None}))["updateAlarm"]
    assert (null["alarm"]["channels"], null["alarm"]["severity"]) == ([], "WARNING")


async def test_firings_are_listed_filtered_and_acknowledged(world: World) -> None:
    query = """query($filter: AlarmFiringFilter) { alarmFirings(filter: $filter) { totalCount nodes {
      id alarmName sentence subject { kind name } acknowledgedBy note } }
      alarms(filter: { isFiring: { eq: true } }) { nodes { name firings { nodes { id } } } } }"""
    found = await world.api.ask(query, filter={"isOpen": {"eq": True}})
    (firing,) = found["alarmFirings"]["nodes"]
    assert firing["subject"] == {"kind": "JOB", "name": "work"}
    assert found["alarms"]["nodes"] == [{"name": "firing", "firings": {"nodes": [{"id": firing["id"]}]}}]
    acknowledge = """mutation($input: AcknowledgeAlarmsInput!) { acknowledgeAlarms(input: $input) {
      count firings { acknowledgedBy note } errors { code message } } }"""
    given = {"firings": {"alarm": "firing"}, "note": "on it"}
    answer = (await world.api.ask(acknowledge, input=given))["acknowledgeAlarms"]
    assert answer["firings"] == [{"acknowledgedBy": "local administrator", "note": "on it"}]
    (error,) = (await world.api.ask(acknowledge, input={"firings": {"all": False}}))["acknowledgeAlarms"]["errors"]
    assert error["code"] == "INVALID_INPUT"
    # It is acknowledged once: the first one counts.
    assert (await world.api.ask(acknowledge, input={"firings": {"all": True}}))["acknowledgeAlarms"]["count"] == 0

    def resolve(tx: Tx) -> None:
        alarm = write.ALARMS.find(tx.conn, "firing")
        assert alarm is not None
        write.resolve_all(tx.conn, alarm.id, tx.now)

    world.api.stored.do(resolve)
    assert (await world.api.ask(query, filter={"isOpen": {"eq": True}}))["alarmFirings"]["totalCount"] == 0


async def test_a_silence_begins_and_ends(world: World) -> None:
    silence = """mutation($input: SilenceAlarmInput!) { silenceAlarm(input: $input) {
      alarm { silenceEndsAt silencedBy silenceReason } errors { code message path } } }"""
    ends = "2031-01-01T00:00:00Z"
    given = {"name": "noisy", "endsAt": ends, "reason": "a deploy"}
    answer = (await world.api.ask(silence, input=given))["silenceAlarm"]["alarm"]
    assert answer == {"silenceEndsAt": ends, "silencedBy": "local administrator", "silenceReason": "a deploy"}
    past = {"name": "noisy", "endsAt": "2001-01-01T00:00:00Z"}
    (error,) = (await world.api.ask(silence, input=past))["silenceAlarm"]["errors"]
    assert error["code"] == "INVALID_INPUT"
    ended = (await world.api.ask(silence, input={"name": "noisy"}))["silenceAlarm"]["alarm"]
    assert ended == {"silenceEndsAt": None, "silencedBy": None, "silenceReason": None}


async def test_channels_show_no_secret(world: World) -> None:
    change = """mutation($input: SetChannelInput!) { setChannel(input: $input) {
      channel { name kind address } errors { code message path } } }"""
    settings: list[tuple[dict[str, Any], str]] = [
        ({"chat": {"urlSecret": "hook"}}, "secret 'hook'"),
        ({"webhook": {"url": "https://a.example/x?key=geheim", "secrets": ["hook"]}}, "https://a.example/x"),
        ({"alertmanager": {"url": "https://a.example"}}, "https://a.example"),
        (
            {"mail": {"host": "smtp.example.com", "sender": "c@example.com", "recipients": ["a@example.com"]}},
            "a@example.com",
        ),
    ]
    for given, address in settings:
        answer = await world.answer("setChannel", {"name": "new", "settings": given}, "channel { address }")
        assert answer["channel"]["address"] == address
    wrong = {"name": "new", "settings": {"chat": {"urlSecret": "nope"}}}
    (error,) = (await world.api.ask(change, input=wrong))["setChannel"]["errors"]
    assert error["code"] == "NOT_FOUND"
    # The scalar lets any JSON pass.
    for labels in (5, "x", ["a"]):
        routed = {"name": "new", "settings": {"chat": {"urlSecret": "hook"}}, "route": {"labels": labels}}
        (error,) = (await world.api.ask(change, input=routed))["setChannel"]["errors"]
        assert error["code"] == "INVALID_INPUT"
        assert error["message"].startswith("route.labels: must be a mapping of keys to values, got ")


async def test_a_channel_is_changed_at_the_version_that_was_read_and_tells_of_it(world: World) -> None:
    change = """mutation($input: SetChannelInput!) { setChannel(input: $input) {
      channel { version } errors { code path } } }"""
    given = {"name": "new", "settings": {"chat": {"urlSecret": "hook"}}}
    for before, expected in enumerate((0, 1, None)):
        done = (await world.api.ask(change, input={**given, "expectedVersion": expected}))["setChannel"]
        assert done == {"channel": {"version": before + 1}, "errors": []}
    conflict = [{"code": "VERSION_CONFLICT", "path": ["expectedVersion"]}]
    for expected in (0, 2):
        refused = (await world.api.ask(change, input={**given, "expectedVersion": expected}))["setChannel"]
        assert refused == {"channel": None, "errors": conflict}
    delete = """mutation($input: DeleteChannelInput!) { deleteChannel(input: $input) {
      channel { version } errors { code path } } }"""
    refused = (await world.api.ask(delete, input={"name": "new", "expectedVersion": 2}))["deleteChannel"]
    assert refused == {"channel": None, "errors": conflict}
    gone = (await world.api.ask(delete, input={"name": "new", "expectedVersion": 3}))["deleteChannel"]
    assert gone == {"channel": {"version": 3}, "errors": []}


async def test_a_channel_in_use_is_deleted_by_force_only(world: World) -> None:
    delete = """mutation($input: DeleteChannelInput!) { deleteChannel(input: $input) {
      channel { name } errors { code } } }"""
    refused = (await world.api.ask(delete, input={"name": "ops"}))["deleteChannel"]
    assert refused == {"channel": None, "errors": [{"code": "IN_USE"}]}
    done = (await world.api.ask(delete, input={"name": "ops", "force": True}))["deleteChannel"]
    assert done == {"channel": {"name": "ops"}, "errors": []}


async def test_an_alarm_that_is_deleted_publishes_the_end_of_its_firing(api: Api) -> None:
    given = {"name": "failing", "subject": {"job": "work"}, "condition": {"failing": {}}}
    await api.ask(CREATE, input=given)

    def fire(tx: Tx) -> None:
        alarm = write.ALARMS.find(tx.conn, "failing")
        assert alarm is not None
        cause = Cause(alarm, "work", "It failed", tx.now)
        write.insert_firings(tx.conn, new_rows(tx, [cause]))

    api.stored.do(fire)
    await api.ask('mutation { deleteAlarm(input: { name: "failing" }) { errors { code } } }')
    subscription = """subscription { events(after: "0.0", filter: { kinds: [ALARM_RESOLVED] }) { kind
      ... on AlarmEvent {
      alarmName firingId firing { sentence resolvedAt } } } }"""
    async with api.subscribed(subscription) as source:
        result = await anext(source)
    event = result.data["events"]
    assert (event["kind"], event["alarmName"], event["firing"]["sentence"]) == (
        "ALARM_RESOLVED",
        "failing",
        "It failed",
    )
    assert event["firing"]["resolvedAt"] is not None
