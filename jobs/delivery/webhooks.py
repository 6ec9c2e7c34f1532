"""Keep webhooks, the channels that have the document of a subscription: values, statements and actions."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, update

from ..accounts.rules.secrets import STANDARD, KeySource, no_keys
from ..accounts.statements.secrets import check_proofs
from ..base.services import Followed, Result
from ..core.actor import Submitter
from ..core.arguments.secrets import REFERENCE
from ..core.base.errors import ErrorCode, InvalidInput, InvalidState, UserError, refuse
from ..core.base.times import EARLIEST, time_text
from ..core.events import Change, Cursor, EventKind
from ..core.model import Json
from ..core.outcome import exponential
from ..core.rules import name_faults, text_faults
from ..store.db.transaction import Tx
from ..store.schema.delivery import channel as c
from ..store.schema.delivery import consumer
from ..store.schema.delivery import delivery as d
from ..store.schema.rows import reader_of
from ..store.statements import events
from ..store.statements.listing.keyset import OrderKey
from ..store.statements.listing.listing import Listing, columns
from . import read, write
from .channels import GONE, Sent, channel_faults
from .messages import WrittenResults
from .named import Named, insert
from .named import locked as locked_by_name
from .read import Place
from .rules import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    MAX_CHANNELS,
    Channel,
    ChannelKind,
    Delivery,
    DeliveryEvent,
    DeliveryState,
)

log = logging.getLogger(__name__)

MAX_NAME: Final = 100
MAX_DOCUMENT: Final = 32_768
MAX_SECRETS: Final = 3
MOST_WAITING: Final = 50
"""Messages that wait for one receiver; then its events wait in the event log."""
MOST_EVENTS: Final = 100
"""Results in one message."""
MOST_BYTES: Final = 262_144
"""Characters of JSON in one message, unless a single result is longer."""
MOST_AGAIN: Final = 10_000
"""Newest messages that are sent again at once."""
OFF_AFTER: Final = timedelta(days=5)
"""Time without a success after which nothing more is sent."""


class StopReason(StrEnum):
    """The reason why a webhook sends nothing until somebody resumes it."""

    FAILING = "failing"
    GONE = "gone"
    PARKED = "parked"
    REFUSED = "refused"


class WebhookState(StrEnum):
    """The state of a webhook."""

    ACTIVE = "active"
    FAILING = "failing"
    PARKED = "parked"
    STOPPED = "stopped"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A channel that gets the results of a subscription.

    Attributes:
        settings: The URL, and references to the secrets that sign.
        ordered: Whether a message is sent only once the one before it was accepted.
        updated_by: The person or program that last changed its content or address: their rights hold; empty = a file
            of the server itself, whose rights are those of job code.
        account_id: Their account; None = they have none.
        failures: Failed tries in a row.
        blocked_until: Until then nothing is sent.
        stop_reason: The reason why nothing is sent until somebody resumes it.
        set_name: The set of the file that defines it.
    """

    name: str
    settings: dict[str, Json]
    document: str
    variables: dict[str, Json]
    description: str
    ordered: bool
    enabled: bool
    version: int = 1
    created_at: datetime = EARLIEST
    updated_at: datetime = EARLIEST
    updated_by: str = ""
    account_id: int | None = None
    failures: int = 0
    failing_since: datetime | None = None
    blocked_until: datetime | None = None
    delivered_at: datetime | None = None
    stop_reason: StopReason | None = None
    stop_message: str | None = None
    stopped_at: datetime | None = None
    set_name: str | None = None

    @property
    def url(self) -> str:
        """Return the address of the receiver."""
        return str(self.settings["url"])

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the names of the secrets that sign."""
        return tuple(one[REFERENCE] for one in self.settings["secrets"])

    @property
    def state(self) -> WebhookState:
        """Return the state."""
        if not self.enabled:
            return WebhookState.DISABLED
        if self.stop_reason is not None:
            return WebhookState.PARKED if self.stop_reason is StopReason.PARKED else WebhookState.STOPPED
        return WebhookState.FAILING if self.failures else WebhookState.ACTIVE

    @property
    def owner(self) -> Submitter | None:
        """Return the one with whose rights the document is executed; None = job code."""
        return Submitter(self.updated_by, self.account_id) if self.updated_by else None

    @property
    def definition(self) -> dict[str, Json]:
        """Return the webhook in the form of a file."""
        names = ("document", "variables", "ordered", "description")
        values = {"url": self.url, "secrets": list(self.secrets)} | {one: getattr(self, one) for one in names}
        return {name: value for name, value in values.items() if value}


def new_webhook(
    name: str,
    url: str,
    document: str,
    variables: Mapping[str, Json],
    secrets: Sequence[str] = (),
    *,
    description: str = "",
    ordered: bool = False,
    enabled: bool = True,
) -> Webhook:
    """Return a webhook as ``create_webhook`` takes it."""
    return Webhook(name, settings_of(url, secrets), document, dict(variables), description, ordered, enabled)


def settings_of(url: str, secrets: Sequence[str]) -> dict[str, Json]:
    """Return the settings of a webhook as they are stored."""
    return {"url": url, "secrets": [{REFERENCE: name} for name in secrets]}


webhook_from = reader_of(Webhook, {"stop_reason": lambda word: None if word is None else StopReason(word)})
_OURS: Final = c.c.document.is_not(None)
WEBHOOKS: Final[Listing[Webhook]] = Listing(
    name="webhooks",
    rows=select(c).where(_OURS),
    key=c.c.name,
    fields={
        **columns(c, "name enabled ordered created_at updated_at"),
        "stopped": c.c.stopped_at.is_not(None),
    },
    order=(OrderKey("name"),),
    model=webhook_from,
)


def _values(webhook: Webhook) -> dict[str, object]:
    return {name: getattr(webhook, name) for name in Webhook.__slots__}


NAMED: Final = Named("webhook", c, webhook_from, _values, _OURS, "a webhook or channel")


def of_set(conn: Connection, set_name: str) -> list[Webhook]:
    """Return the webhooks that the file of a set defines, locked."""
    found = select(c.c.name).where(_OURS, c.c.set_name == set_name)
    write.lock_readers(conn, [reader_name(name) for name in conn.execute(found).scalars()])
    return NAMED.having(conn, c.c.set_name == set_name)


def _end_pending(conn: Connection, name: str, error: str, now: datetime, *, only_first: bool = False) -> int:
    """Give up the messages that wait for a webhook, or the oldest of them; return how many."""
    waiting = select(d.c.id).where(d.c.channel == name, d.c.state == DeliveryState.PENDING.value).order_by(d.c.id)
    ended = {"state": DeliveryState.FAILED.value, "next_attempt_at": None, "ended_at": now, "error": error}
    chosen = waiting.limit(1) if only_first else waiting
    return conn.execute(update(d).where(d.c.id.in_(chosen)).values(**ended)).rowcount


def _renew_after(conn: Connection, name: str, cursor: Cursor, now: datetime) -> int:
    """Send messages of a webhook again that have ended and have results behind a cursor; return how many."""
    ended = select(d.c.id, d.c.cursor).where(
        d.c.channel == name, d.c.event == DeliveryEvent.EVENTS.value, d.c.state != DeliveryState.PENDING.value
    )
    newest = conn.execute(ended.order_by(d.c.id.desc()).limit(MOST_AGAIN))
    chosen = [row.id for row in newest if Cursor.parse(row.cursor) > cursor]
    again = {"state": DeliveryState.PENDING.value, "next_attempt_at": now, "ended_at": None, "attempts": 0}
    renewed = update(d).where(d.c.id.in_(chosen)).values(**again, created_at=now)
    return conn.execute(renewed).rowcount


def reader_name(webhook: str) -> str:
    """Return the name of the place at which a webhook reads the event log."""
    return f"webhook:{webhook}"


class Subscribed(NamedTuple):
    """A webhook that reads the event log.

    Attributes:
        waiting: The number of its messages that wait.
    """

    webhook: Webhook
    place: Place
    waiting: int


def subscribed(conn: Connection) -> list[Subscribed]:
    """Return the webhooks that are neither disabled nor stopped, with their places."""
    waiting = (
        select(func.count())
        .where(d.c.channel == c.c.name, d.c.state == DeliveryState.PENDING.value)
        .scalar_subquery()
        .label("waiting")
    )
    place = (consumer.c.cursor, consumer.c.version.label("place_version"), consumer.c.holder, consumer.c.held_until)
    statement = select(c, *place, waiting).join_from(c, consumer, consumer.c.name == "webhook:" + c.c.name)
    rows = conn.execute(statement.where(_OURS, c.c.enabled, c.c.stopped_at.is_(None)).order_by(c.c.name))
    return [
        Subscribed(
            webhook_from(row),
            Place(Cursor.parse(row.cursor), row.place_version, row.holder, row.held_until),
            row.waiting,
        )
        for row in rows
    ]


def places(conn: Connection, names: Collection[str]) -> dict[str, tuple[str, int]]:
    """Return the cursors of webhooks, and how many of their messages wait."""
    readers = {reader_name(name): name for name in names}
    rows = conn.execute(select(consumer.c.name, consumer.c.cursor).where(consumer.c.name.in_(readers)))
    waiting = (
        select(d.c.channel, func.count())
        .where(d.c.channel.in_(names), d.c.state == DeliveryState.PENDING.value)
        .group_by(d.c.channel)
    )
    counts = {row[0]: row[1] for row in conn.execute(waiting)}
    return {readers[reader]: (cursor, counts.get(readers[reader], 0)) for reader, cursor in rows}


def create_webhook(tx: Tx, wanted: Webhook, after: Cursor | None = None, *, keys: KeySource = no_keys) -> Webhook:
    """Keep a new webhook, whose document was checked; it gets the events behind a cursor, or those from now on.

    Raises:
        InvalidInput: of its values, or of the value of a secret.
        NotFound: there is no secret of a name.
        InvalidState: there are too many channels, or a secret cannot be read.
        AlreadyExists: its name is taken, by a channel perhaps.
        UserError: code ``FORBIDDEN``: it was asked for with less than the rights of the account.
    """
    _check(tx, wanted, keys)
    if read.count(tx.conn, "channels") >= MAX_CHANNELS:
        raise InvalidState(f"there are {MAX_CHANNELS} channels and webhooks, the most there may be; delete one first")
    kept = insert(NAMED, tx.conn, _owned(tx, replace(wanted, created_at=tx.now)), kind=ChannelKind.WEBHOOK.value)
    write.begin_reader(tx.conn, after or events.newest(tx.conn), reader_name(kept.name))
    _note(tx, kept)
    tx.record("webhook.created", kept.name, after=_described(kept))
    return kept


LENDING: Final = frozenset({"url", "secrets", "document", "variables"})
"""Changes of what is sent, or where to."""


def update_webhook(
    tx: Tx, name: str, changes: Mapping[str, Any], *, expected: int | None = None, keys: KeySource = no_keys
) -> Webhook:
    """Change values of a webhook; a person who changes its content or its address lends it their rights.

    Raises:
        InvalidInput, NotFound, UserError: see ``create_webhook``.
        VersionConflict: it is at another version than the caller expects.
    """
    before = locked(tx, name, expected)
    values = dict(changes)
    url, secrets = values.pop("url", before.url), values.pop("secrets", before.secrets)
    wanted = replace(before, **values, settings=settings_of(url, secrets), version=before.version + 1)
    _check(tx, wanted, keys, changes.keys())
    after = NAMED.update(
        tx.conn, _owned(tx, wanted) if LENDING & changes.keys() else replace(wanted, updated_at=tx.now)
    )
    write.note_change(tx.conn, reader_name(name))
    _note(tx, after)
    tx.record("webhook.changed", name, before=_described(before), after=_described(after))
    return after


def delete_webhook(tx: Tx, name: str, *, expected: int | None = None) -> Webhook:
    """Delete a webhook; the messages that wait for it are given up.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
    """
    webhook = locked(tx, name, expected)
    NAMED.delete(tx.conn, name)
    write.end_reader(tx.conn, reader_name(name))
    _end_pending(tx.conn, name, "the webhook was deleted", tx.now)
    _note(tx, replace(webhook, enabled=False))
    tx.record("webhook.deleted", name, before=_described(webhook))
    return webhook


def resume_webhook(tx: Tx, name: str, *, skip: bool = False, expected: int | None = None) -> Webhook:
    """Let a webhook send again that was parked or stopped, or that leaves a failing receiver alone for now.

    Args:
        skip: Whether to give up the oldest message that waits.
        expected: The version at which it has to be.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
        InvalidState: it is disabled.
    """
    before = locked(tx, name, expected)
    if not before.enabled:
        raise InvalidState(f"name: webhook '{name}' is disabled; enable it by an update", path=("name",))
    resumed = _healthy(before, version=before.version + 1, updated_at=tx.now)
    after = NAMED.update(tx.conn, resumed)
    if skip:
        by = "" if tx.actor is None else f" by {tx.actor.name}"
        _end_pending(tx.conn, name, f"skipped{by}", tx.now, only_first=True)
    _note(tx, after)
    tx.record("webhook.resumed", name, before=_stop(before), after={"skip": skip})
    return after


def redeliver_after(tx: Tx, name: str, after: Cursor, *, expected: int | None = None) -> tuple[Webhook, int]:
    """Send the messages of a webhook again that have results behind a cursor, each under its id; return how many.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
    """
    webhook = locked(tx, name, expected)
    count = _renew_after(tx.conn, name, after, tx.now)
    tx.record("webhook.redelivered", name, after={"after": str(after), "messages": count})
    write.announce(tx)
    return webhook, count


def locked(tx: Tx, name: str, expected: int | None = None) -> Webhook:
    """Return a webhook that nobody else changes before this transaction ends.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
    """
    write.lock_readers(tx.conn, [reader_name(name)])
    return locked_by_name(NAMED, tx, name, expected)


def _owned(tx: Tx, webhook: Webhook) -> Webhook:
    account_id = None if tx.actor is None else tx.actor.account_id
    return replace(webhook, updated_at=tx.now, updated_by=tx.by, account_id=account_id)


def _check(tx: Tx, webhook: Webhook, keys: KeySource, changed: Collection[str] = LENDING) -> None:
    refuse(_faults(webhook))
    if tx.actor is not None and not tx.actor.full_rights and not LENDING.isdisjoint(changed):
        raise UserError(
            f"a webhook acts with all rights of the account '{tx.actor.name}', and the token has only the role "
            f"{tx.actor.role.value}; use a token of the account's own role",
            code=ErrorCode.FORBIDDEN,
        )
    if webhook.secrets and "secrets" in changed:
        check_proofs(tx.conn, STANDARD, webhook.secrets, keys())


def _faults(webhook: Webhook) -> Iterator[UserError]:
    yield from name_faults(webhook.name, "name")
    if len(webhook.name) > MAX_NAME:
        got = len(webhook.name)
        yield InvalidInput(f"name: must have at most {MAX_NAME} characters, got {got}", path=("name",))
    yield from text_faults(webhook.description, "description")
    yield from text_faults(webhook.document, "document", least=1, most=MAX_DOCUMENT)
    if len(webhook.secrets) > MAX_SECRETS:
        yield InvalidInput(f"secrets: must be at most {MAX_SECRETS}, got {len(webhook.secrets)}", path=("secrets",))
    channel = Channel(webhook.name, ChannelKind.WEBHOOK, webhook.settings, EARLIEST, EARLIEST, "")
    for fault in channel_faults(channel):
        if fault.path[:1] == (ChannelKind.WEBHOOK.value,):
            yield InvalidInput(fault.message, path=fault.path[1:])


def _note(tx: Tx, webhook: Webhook) -> None:
    tx.emit([Change(EventKind.WEBHOOK_UPDATED, webhook=webhook.name, state=webhook.state.value)])


def _described(webhook: Webhook) -> dict[str, Json]:
    return {
        "url": webhook.url.partition("?")[0],
        "secrets": list(webhook.secrets),
        "document": webhook.document,
        "ordered": webhook.ordered,
        "enabled": webhook.enabled,
    }


def _stop(webhook: Webhook) -> dict[str, Json]:
    return {"state": webhook.state.value, "message": webhook.stop_message}


def _healthy(webhook: Webhook, **changes: Any) -> Webhook:  # noqa: ANN401 - fields of a webhook
    cleared: dict[str, Any] = dict.fromkeys(
        ("failing_since", "blocked_until", "stop_reason", "stop_message", "stopped_at")
    )
    return replace(webhook, failures=0, **cleared, **changes)


def stop(tx: Tx, webhook: Webhook, reason: StopReason, message: str) -> Webhook:
    """Let a webhook send nothing until somebody resumes it; its messages and its place are kept."""
    log.warning("webhook %s sends nothing until it is resumed: %s", webhook.name, message)
    stopped = replace(webhook, stop_reason=reason, stop_message=message, stopped_at=tx.now)
    after = NAMED.update(tx.conn, stopped)
    _note(tx, after)
    return after


_DELIVERED: Final = (
    update(c)
    .where(c.c.name == bindparam("channel"), c.c.failures == 0, c.c.stopped_at.is_(None))
    .values(delivered_at=bindparam("at"))
)


def note_delivered(tx: Tx, name: str) -> bool:
    """Note that a receiver that is well accepted a message; False if it is not well, or no webhook's."""
    return tx.conn.execute(_DELIVERED, {"channel": name, "at": tx.now}).rowcount == 1


def note_outcome(
    tx: Tx, webhook: Webhook, delivery: Delivery, sent: Sent, next_at: datetime | None, *, chance: float
) -> datetime | None:
    """Store how a receiver does after a try, and stop its webhook if that is over.

    Args:
        tx: The transaction, which has locked the webhook.
        delivery: The message that was tried.
        next_at: The time at which the message would be tried again; None = not at all.
        chance: A random number from 0 to 1, for the pause.

    Returns:
        The time of the next try of the message; None = it has ended.
    """
    if webhook.stop_reason is not None:
        # It was on its way as another one stopped the webhook.
        return None if sent.error is None else next_at or tx.now
    if sent.error is None:
        NAMED.update(tx.conn, _healthy(webhook, delivered_at=tx.now))
        return None
    pause = exponential(FIRST_PAUSE, LONGEST_PAUSE, webhook.failures) * (0.5 + chance / 2)
    pause = max(pause, min(sent.retry_after or 0.0, LONGEST_PAUSE))
    failing = replace(
        webhook,
        failures=webhook.failures + 1,
        failing_since=webhook.failing_since or tx.now,
        blocked_until=tx.now + timedelta(seconds=pause),
    )
    reason, message = None, ""
    if sent.status == GONE:
        reason, message = StopReason.GONE, f"the receiver answered {GONE}: it wants nothing more"
    elif tx.now - (webhook.failing_since or tx.now) >= OFF_AFTER:
        since = time_text(failing.failing_since or tx.now)
        reason, message = StopReason.FAILING, f"the receiver has accepted nothing since {since}: {sent.error}"
    elif next_at is None and webhook.ordered:
        reason, message = StopReason.PARKED, f"message {delivery.message_id} was not accepted: {sent.error}"
    if reason is None:
        NAMED.update(tx.conn, failing)
        return next_at
    stop(tx, failing, reason, message)
    # It is not given up: it is sent first once somebody has resumed the webhook.
    return tx.now


def record(tx: Tx, node_id: int, found: Sequence[tuple[Subscribed, Followed]]) -> set[str]:
    """Store the messages of webhooks with their new places; return the names of those whose readers are up to date.

    Results that several webhooks have in common are written once.
    """
    written: dict[int, list[WrittenResults]] = {}
    stored, messages = set[str](), list[tuple[str, WrittenResults]]()
    for one, followed in found:
        place, name = one.place, one.webhook.name
        after = followed.through or place.cursor
        if not write.advance(tx.conn, node_id, place.cursor, place.version, after, reader=reader_name(name)):
            continue
        stored.add(name)
        if id(followed) not in written:
            written[id(followed)] = [WrittenResults.of(several) for several in messages_of(followed.answers)]
        messages += ((name, results) for results in written[id(followed)])
        webhook = None if followed.refusal is None else NAMED.find(tx.conn, name, lock=True)
        if webhook is not None and followed.refusal is not None:
            stop(tx, webhook, StopReason.REFUSED, followed.refusal)
    if messages:
        write.insert_results(tx.conn, messages, tx.now)
        write.announce(tx)
    return stored


def messages_of(answers: Sequence[Result]) -> Iterator[Sequence[Result]]:
    """Yield the results of one message each, in their order."""
    first = size = 0
    for place, one in enumerate(answers):
        if place > first and (place - first >= MOST_EVENTS or size + one.length > MOST_BYTES):
            yield answers[first:place]
            first, size = place, 0
        size += one.length
    if answers:
        yield answers[first:]
