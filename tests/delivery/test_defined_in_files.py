"""Channels, webhooks and hooks of files follow the files, as tasks and alarms do."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import func, select

from cronograph.jobs.accounts.actions.secrets import set_secret
from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.core.alarms import Severity, spec_of
from cronograph.jobs.core.base.errors import ErrorCode, UserError
from cronograph.jobs.core.base.times import EARLIEST
from cronograph.jobs.core.task_sets import ApplyOptions, DefinitionKind, Named, PlannedDefinition, TaskAction, WantedSet
from cronograph.jobs.delivery import actions, hooks, webhooks
from cronograph.jobs.delivery.declared import apply_files
from cronograph.jobs.delivery.inbound import Hook, HookKind
from cronograph.jobs.delivery.rules import ROUTE, Channel, ChannelKind, Route, stored_settings
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import audit_log, event
from cronograph.jobs.store.schema.tables import channel as channel_table
from tests.delivery.conftest import KEYS, SECRET
from tests.support.storage import Stored

KINDS = DefinitionKind
CREATE, CHANGE, KEEP = TaskAction.CREATE, TaskAction.CHANGE, TaskAction.KEEP
LEFT, GONE = TaskAction.LEFT_OVER, TaskAction.ARCHIVE
DOCUMENT = "subscription { events(filter: { kinds: [RUN_CREATED] }) { kind } }"


def channel(name: str = "ops", url: str = "https://ops.example.com/?key=1", route: Route | None = None) -> Channel:
    """A channel as a file has it."""
    settings = stored_settings({"url": url, "secrets": ["ops-key"]}) | (
        {} if route is None else {ROUTE: route.to_json()}
    )
    return Channel(name, ChannelKind.WEBHOOK, settings, EARLIEST, EARLIEST, "")


def webhook(name: str = "feed", url: str = "https://feed.example.com/", **chosen: Any) -> webhooks.Webhook:
    """A webhook as a file has it."""
    return webhooks.new_webhook(name, url, DOCUMENT, {}, ["ops-key"], **chosen)


def hook(name: str = "deploy", **chosen: Any) -> Hook:
    """A hook as a file has it."""
    usual = {"secrets": ("ops-key",), "argument": None, "description": "", "enabled": True}
    return hooks.new_hook(name, "work", HookKind.BEARER, **usual | chosen)


class Files:
    """The files of a database that people and the server apply."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.actor: Actor | None = Actor("anna", Role.ADMIN)
        stored.node()
        stored.do(lambda tx: set_secret(tx, "ops-key", SECRET, KEYS))

    def plan(self, *things: Named, of: str = "billing", **options: Any) -> list[PlannedDefinition]:
        """Apply a set without tasks; return what became of its definitions."""
        return self.plan_all([self.wanted(*things, of=of)], **options)

    def wanted(self, *things: Named, of: str = "billing") -> WantedSet:
        """A set of these things, whose file has all kinds of them."""
        kinds: dict[type, DefinitionKind] = {Channel: KINDS.CHANNEL, webhooks.Webhook: KINDS.WEBHOOK}
        kinds[Hook] = KINDS.HOOK
        definitions: dict[DefinitionKind, list[Named]] = {kind: [] for kind in KINDS}
        for one in things:
            definitions[kinds.get(type(one), KINDS.ALARM)].append(one)
        return WantedSet(of, (), definitions)

    def plan_all(self, sets: Sequence[WantedSet], **options: Any) -> list[PlannedDefinition]:
        """Apply sets."""

        def applied(tx: Tx) -> list[PlannedDefinition]:
            tx.actor = self.actor
            return apply_files(tx, sets, ApplyOptions(**options), keys=lambda: KEYS).definitions

        return self.stored.do(applied)

    def apply(self, *things: Named, **options: Any) -> dict[str, TaskAction]:
        """Apply a set without tasks; return the action of each definition."""
        return {one.name: one.action for one in self.plan(*things, **options)}

    def counted(self) -> tuple[int, int]:
        """The events and the entries of the audit log so far."""

        def number(tx: Tx) -> tuple[int, int]:
            one, other = (tx.conn.execute(select(func.count()).select_from(t)).scalar_one() for t in (event, audit_log))
            return one, other

        return self.stored.do(number)


@pytest.fixture
def files(stored: Stored) -> Files:
    return Files(stored)


def test_they_are_made_kept_changed_left_over_and_pruned(files: Files) -> None:
    things = (channel(), webhook(), hook())
    assert files.apply(*things) == {"ops": CREATE, "feed": CREATE, "deploy": CREATE}
    before = files.counted()
    assert files.apply(*things) == {"ops": KEEP, "feed": KEEP, "deploy": KEEP}
    assert files.counted() == before
    planned = files.plan(
        channel(route=Route((Severity.CRITICAL,), (), {})), webhook(ordered=True), hook(description="from CI")
    )
    assert [(one.kind, one.action, [change.field for change in one.changes]) for one in planned] == [
        (KINDS.CHANNEL, CHANGE, ["route"]),
        (KINDS.WEBHOOK, CHANGE, ["ordered"]),
        (KINDS.HOOK, CHANGE, ["description"]),
    ]
    assert files.apply(webhook(ordered=True)) == {"feed": KEEP, "ops": LEFT, "deploy": LEFT}
    assert files.apply(webhook(ordered=True), prune=True) == {"feed": KEEP, "ops": GONE, "deploy": GONE}
    assert [one.name for one in files.stored.rows(channel_table)] == ["feed"]
    assert files.apply(channel(), of="other", prune=True) == {"ops": CREATE}


def test_a_file_without_a_kind_leaves_those_of_its_set_alone(files: Files) -> None:
    files.apply(channel(), hook())
    assert files.plan_all([WantedSet("billing", ())], prune=True) == []
    assert files.apply(channel(), hook()) == {"ops": KEEP, "deploy": KEEP}


def test_a_channel_comes_before_its_alarm_and_goes_after_it(files: Files) -> None:
    alarm = spec_of("late", {"job": "work", "failing": 2}, channels=["ops"], severity=Severity.WARNING, description="")
    assert files.apply(alarm, channel()) == {"ops": CREATE, "late": CREATE}
    with pytest.raises(UserError, match="used by the alarms 'late'") as refused:
        files.apply(alarm, prune=True)
    assert refused.value.code is ErrorCode.IN_USE
    assert files.apply(prune=True) == {"late": GONE, "ops": GONE}


def test_what_people_made_is_taken_over_and_what_another_set_has_is_not(files: Files) -> None:
    files.stored.do(lambda tx: webhooks.create_webhook(tx, webhook(description="mine"), keys=lambda: KEYS))
    settings = stored_settings({"url": "https://ops.example.com/?key=1", "secrets": ["ops-key"]})
    files.stored.do(lambda tx: actions.set_channel(tx, "ops", ChannelKind.WEBHOOK, settings, keys=lambda: KEYS))
    planned = files.plan(channel(), webhook())
    assert [[change.field for change in one.changes] for one in planned] == [["set_name"], ["description", "set_name"]]
    with pytest.raises(UserError, match="there is a channel 'ops' of set 'billing' already") as refused:
        files.apply(channel(), of="other")
    assert refused.value.faults[0].path == ("sets", "0", "channels", "0", "name")
    # People change it, and it is still of its set.
    files.stored.do(
        lambda tx: actions.set_channel(tx, "ops", ChannelKind.WEBHOOK, {**settings, "url": "https://x.org"})
    )
    assert files.apply(channel(), webhook()) == {"ops": CHANGE, "feed": KEEP}


def test_one_name_in_two_sets_is_a_fault_of_the_second(files: Files) -> None:
    with pytest.raises(UserError, match="hook 'deploy' is named twice, also in set 'billing'") as refused:
        files.plan_all([files.wanted(hook()), files.wanted(hook(), of="other")])
    assert refused.value.faults[0].path == ("sets", "1", "hooks", "0", "name")


def test_all_faults_are_named_with_their_places_and_nothing_is_done(files: Files) -> None:
    with pytest.raises(UserError) as refused:
        files.apply(channel(url="ftp://x"), webhook(url="nowhere"), hook(secrets=("nope",)))
    assert [fault.path for fault in refused.value.faults] == [
        ("sets", "0", "channels", "0", "webhook", "url"),
        ("sets", "0", "webhooks", "0", "url"),
        ("sets", "0", "hooks", "0", "secrets"),
    ]
    assert files.stored.rows(channel_table) == []


def test_a_plan_shows_no_query_of_an_address_and_sees_changes_of_others(files: Files) -> None:
    seen = {("channel", "ops"): None}
    (made,) = files.plan(channel(), expected_definitions=seen)
    shown = {change.field: change.after for change in made.changes}
    assert shown == {"kind": "webhook", "url": "https://ops.example.com/", "secrets": ["ops-key"]}
    (kept,) = files.plan(channel())
    (changed,) = files.plan(
        channel(url="https://ops.example.com/?key=2"), expected_definitions={("channel", "ops"): kept.version}
    )
    assert [change.field for change in changed.changes] == ["url"]
    with pytest.raises(UserError, match="channel 'ops' has changed since the plan was made"):
        files.plan(channel(), expected_definitions={("channel", "ops"): kept.version})


def test_an_operator_applies_what_is_as_it_is_and_his_webhooks(files: Files) -> None:
    files.apply(channel(), hook())
    files.actor = Actor("otto", Role.OPERATOR)
    assert files.apply(channel(), hook(), webhook()) == {"ops": KEEP, "deploy": KEEP, "feed": CREATE}
    for things in ((channel(url="https://x.org"), hook()), (channel(), hook(argument="event"))):
        with pytest.raises(UserError, match="need the role ADMIN to be changed, and 'otto' has OPERATOR") as refused:
            files.apply(*things)
        assert refused.value.code is ErrorCode.FORBIDDEN
    with pytest.raises(UserError, match="channels: need the role ADMIN"):
        files.apply(hook(), prune=True)


def test_a_document_has_the_rights_of_whoever_applied_it_or_of_job_code(files: Files) -> None:
    files.actor = Actor("anna", Role.ADMIN, account_id=7)
    files.apply(webhook())

    def owner() -> object:
        found = files.stored.do(lambda tx: webhooks.NAMED.find(tx.conn, "feed"))
        return found and found.owner and (found.owner.name, found.owner.account_id)

    assert owner() == ("anna", 7)
    files.actor = Actor("otto", Role.OPERATOR, account_id=8)
    files.apply(webhook(description="the same is sent"))
    assert owner() == ("anna", 7)
    files.actor = None
    files.apply(webhook(description="the same is sent"))
    assert owner() == ("anna", 7)
    files.apply(webhook(url="https://other.example.com/"))
    assert owner() is None
    files.actor = Actor("otto", Role.OPERATOR, account_id=8, full_rights=False)
    with pytest.raises(UserError, match="a webhook acts with all rights of the account 'otto'"):
        files.apply(webhook(url="https://third.example.com/"))
