"""Change alarms and channels, acknowledge firings, and send deliveries again: one transaction each."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ..accounts.rules.secrets import STANDARD, KeySource, no_keys
from ..accounts.statements.secrets import check_proofs, sealed
from ..accounts.statements.secrets import names as secret_names
from ..core.alarms import AlarmSpec, Condition, SubjectKind, alarm_faults
from ..core.arguments.secrets import REFERENCE, is_reference, references
from ..core.base.errors import AlreadyExists, ErrorCode, InvalidState, NotFound, refuse
from ..core.base.times import time_text
from ..core.events import Change, EventKind
from ..core.model import Json
from ..core.rules import check_reason, check_silence, unknown
from ..store.db.transaction import Tx, Wake
from ..store.statements.events import newest
from ..store.statements.nodes import live
from ..store.statements.tasks import by_name
from . import read, write
from .channels import channel_faults
from .messages import message_of
from .named import insert
from .named import locked as locked_by_name
from .notifying import CAUSES, change_of, notify, payload_of, release
from .rules import (
    MAX_ALARMS,
    MAX_CHANNELS,
    Alarm,
    AlarmSource,
    Channel,
    ChannelKind,
    Delivery,
    DeliveryEvent,
    DeliveryState,
    Firing,
    TimerKind,
)

LOOKED_AT = frozenset(
    {Condition.LATE, Condition.OVERDUE, Condition.BACKLOG, Condition.SKEW, Condition.DATABASE, Condition.IDLE}
)
"""Conditions with a timer of their own."""


class Owner(NamedTuple):
    """The definer of an alarm: people, the code of a job, or the file of a set."""

    source: AlarmSource
    name: str | None


BY_PEOPLE: Final = Owner(AlarmSource.API, None)


def create_alarm(tx: Tx, wanted: AlarmSpec, *, enabled: bool = True, owner: Owner = BY_PEOPLE) -> Alarm:
    """Keep a new alarm; it judges events from now on.

    Raises:
        InvalidInput: of its values.
        NotFound: there is no task, job or channel of a name.
        InvalidState: there are too many alarms.
        AlreadyExists: its name is taken.
    """
    refuse(alarm_faults(wanted))
    _check_names(tx, wanted, owner.source)
    write.lock_readers(tx.conn)
    number = read.count(tx.conn, "alarms")
    if number >= MAX_ALARMS:
        raise InvalidState(f"there are {MAX_ALARMS} alarms, the most there may be; delete one first")
    write.begin_reader(tx.conn, newest(tx.conn))
    if not number:
        # Nobody has read meanwhile: everything until now is of no concern.
        write.move_reader(tx.conn, newest(tx.conn))
    kept = insert(write.ALARMS, tx.conn, _made(wanted, enabled, owner, tx.now, tx.by))
    _changed(tx, kept)
    tx.record("alarm.created", kept.name, after=_described(kept))
    return kept


def _made(wanted: AlarmSpec, enabled: bool, owner: Owner, now: datetime, by: str) -> Alarm:
    values = {one.name: getattr(wanted, one.name) for one in fields(AlarmSpec)}
    return Alarm(
        **values,
        id=0,
        enabled=enabled,
        source=owner.source,
        owner=owner.name,
        streak=0,
        silenced_until=None,
        silenced_by=None,
        silence_reason=None,
        version=1,
        created_at=now,
        created_by=by,
        updated_at=now,
    )


def update_alarm(tx: Tx, name: str, changes: Mapping[str, Any], *, expected: int | None = None) -> Alarm:
    """Change values of an alarm. Another condition or subject resolves its open firings, and counts from the start.

    Raises:
        InvalidInput: of its values.
        NotFound: there is no task, job or channel of a name.
        InvalidState: code declares it, and something else than ``enabled`` is to change.
        VersionConflict: it is at another version than the caller expects.
    """
    before = locked(tx, name, expected=expected)
    if before.source is AlarmSource.CODE and not changes.keys() <= {"enabled"}:
        raise _of_code(before, "silence or disable it, or change it there")
    return change_alarm(tx, before, changes)


def change_alarm(tx: Tx, before: Alarm, changes: Mapping[str, Any]) -> Alarm:
    """Change values of an alarm that is locked, of any owner; see ``update_alarm``."""
    wanted = replace(before, **changes, version=before.version + 1, updated_at=tx.now)
    refuse(alarm_faults(wanted))
    _check_names(tx, wanted, wanted.source, before)
    parts = ("condition", "subject_kind", "subject", "enabled")
    counts_otherwise = before.settings.of_runs != wanted.settings.of_runs
    if counts_otherwise or any(getattr(before, part) != getattr(wanted, part) for part in parts):
        _resolve_all(tx, before)
        wanted = replace(wanted, streak=0)
    after = write.ALARMS.update(tx.conn, wanted)
    _changed(tx, after)
    tx.record("alarm.changed", after.name, before=_described(before), after=_described(after))
    return after


def delete_alarm(tx: Tx, name: str, *, expected: int | None = None) -> Alarm:
    """Delete an alarm; its open firings are resolved, and its history is kept.

    Raises:
        NotFound: there is none of this name.
        InvalidState: the code of a live node declares it.
        VersionConflict: it is at another version than the caller expects.
    """
    alarm = locked(tx, name, expected=expected)
    # No code deletes the alarm of a job that was renamed.
    if alarm.source is AlarmSource.CODE and any(alarm.owner in node.signatures for node in live(tx.conn)):
        raise _of_code(alarm, "silence or disable it, or delete it there")
    remove_alarm(tx, alarm)
    return alarm


def remove_alarm(tx: Tx, alarm: Alarm) -> None:
    """Delete an alarm that is locked, of any owner."""
    _resolve_all(tx, alarm)
    write.ALARMS.delete(tx.conn, alarm.name)
    _note(tx, alarm)
    tx.record("alarm.deleted", alarm.name, before=_described(alarm))


def _of_code(alarm: Alarm, way: str) -> InvalidState:
    return InvalidState(f"name: alarm '{alarm.name}' is declared by job '{alarm.owner}' in code; {way}", path=("name",))


def silence_alarm(
    tx: Tx, name: str, until: datetime | None, reason: str | None, *, expected: int | None = None
) -> Alarm:
    """Let an alarm notify nobody until a time; None ends its silence. Firings that are open then are notified then.

    Raises:
        NotFound: there is none of this name.
        InvalidInput: of the reason, or the time has passed.
        VersionConflict: it is at another version than the caller expects.
    """
    check_silence(until, reason, tx.now)
    before = locked(tx, name, expected=expected)
    silenced = replace(
        before,
        silenced_until=until,
        silenced_by=None if until is None else tx.by,
        silence_reason=None if until is None else reason,
        version=before.version + 1,
        updated_at=tx.now,
    )
    after = write.ALARMS.update(tx.conn, silenced)
    write.put_timers(tx.conn, [(after.id, TimerKind.SILENCE, 0, until or tx.now)])
    _note(tx, after)
    tx.record("alarm.silenced", name, before=_silence(before), after=_silence(after))
    return after


def acknowledge(
    tx: Tx, ids: Sequence[int] | None, note: str | None, *, alarm: str | None = None, most: int = 1_000
) -> list[Firing]:
    """Acknowledge firings. A lost node does not come back: its firing is resolved by this.

    Args:
        ids: The firings; None = every open one.
        note: A note for others.
        alarm: Of every open one only those of this alarm.
        most: Of every open one so many, the oldest.

    Raises:
        NotFound: one of them does not exist.
        InvalidInput: of the note.
    """
    check_reason(note)
    write.lock_readers(tx.conn)
    if ids is None:
        ids = read.open_firings(tx.conn, None if alarm is None else locked(tx, alarm).id, most)
    found = read.firings(tx.conn, ids, lock=True)
    missing = sorted(set(ids) - {one.id for one in found})
    if missing:
        raise NotFound(f"ids: there is no firing {missing[0]}", path=("ids",))
    write.acknowledge(tx.conn, ids, tx.by, note, tx.now)
    tx.emit(change_of(EventKind.ALARM_UPDATED, one) for one in found)
    lost = [one for one in found if one.condition is Condition.NODE and one.resolved_at is None]
    if lost:
        keys = [(one.alarm_id, one.subject) for one in lost]
        resolved = write.resolve_firings(tx.conn, keys, tx.now)
        alarms = read.alarms_by_ids(tx.conn, {one.alarm_id for one in lost})
        notify(tx, alarms, DeliveryEvent.RESOLVED, resolved)
        release(tx)
        write.note_change(tx.conn)
        tx.wake(Wake.EVENTS)
    tx.record("alarm.acknowledged", None, after={"firings": [str(one) for one in ids], "note": note})
    return read.firings(tx.conn, ids)


def set_channel(
    tx: Tx,
    name: str,
    kind: ChannelKind,
    settings: dict[str, Json],
    *,
    set_name: str | None = None,
    expected: int | None = None,
    keys: KeySource = no_keys,
) -> Channel:
    """Set a channel, new or in the place of the old one.

    Args:
        settings: Its settings as they are stored.
        set_name: The set of the file that defines it; None = people set it, and a set that it has stays.
        expected: The version at which it has to be; 0 = there is none yet, None = any, or none.
        keys: The keys of secrets, which are read if others sign than before.

    Raises:
        InvalidInput: of its values, or of the value of a secret that signs.
        NotFound: it refers to a secret that does not exist, or a version is expected and there is none of this name.
        VersionConflict: it is at another version than the caller expects.
        InvalidState: there are too many channels, or a secret that signs cannot be read.
        AlreadyExists: a webhook has its name.
    """
    wanted = Channel(name, kind, settings, tx.now, tx.now, tx.by, set_name)
    refuse(channel_faults(wanted))
    for secret in sorted(references(settings) - sealed(tx.conn, references(settings)).keys()):
        raise unknown("secret", secret, secret_names(tx.conn))
    new = not expected and write.CHANNELS.find(tx.conn, name, lock=True) is None
    kept, was = _new_channel(tx, wanted, keys) if new else None, None
    if kept is None:
        before = locked_by_name(write.CHANNELS, tx, name, expected)
        if before.settings.get("secrets") != settings.get("secrets"):
            _check_signers(tx, wanted, keys)
        of_set = before.set_name if set_name is None else set_name
        changed = replace(wanted, created_at=before.created_at, set_name=of_set, version=before.version + 1)
        kept, was = write.CHANNELS.update(tx.conn, changed), {"kind": before.kind.value}
    _note_channel(tx, name)
    tx.record("channel.set", name, before=was, after={"kind": kept.kind.value})
    return kept


def _new_channel(tx: Tx, wanted: Channel, keys: KeySource) -> Channel | None:
    """Keep a new channel; return None if another client has made one of this name meanwhile."""
    if read.count(tx.conn, "channels") >= MAX_CHANNELS:
        raise InvalidState(f"there are {MAX_CHANNELS} channels, the most there may be; delete one first")
    _check_signers(tx, wanted, keys)
    try:
        return insert(write.CHANNELS, tx.conn, wanted)
    except AlreadyExists:
        if write.CHANNELS.find(tx.conn, wanted.name) is None:
            raise
        return None


def _check_signers(tx: Tx, channel: Channel, keys: KeySource) -> None:
    signers = [one[REFERENCE] for one in channel.settings.get("secrets", ()) if is_reference(one)]
    if signers:
        check_proofs(tx.conn, STANDARD, signers, keys(), (channel.kind.value, "secrets"))


def delete_channel(tx: Tx, name: str, *, force: bool = False, expected: int | None = None) -> Channel:
    """Delete a channel; messages that wait for it fail.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
        InvalidState: code ``IN_USE``: alarms notify it, and it is not to be done nevertheless (``force``).
    """
    channel = locked_by_name(write.CHANNELS, tx, name, expected)
    users = read.users_of_channel(tx.conn, name)
    if users and not force:
        shown = ", ".join(f"'{one}'" for one in users[:5])
        raise InvalidState(
            f"name: channel '{name}' is used by the alarms {shown}; change them first, or use force",
            path=("name",),
            code=ErrorCode.IN_USE,
        )
    write.CHANNELS.delete(tx.conn, name)
    _note_channel(tx, name)
    tx.record("channel.deleted", name, before={"kind": channel.kind.value})
    return channel


def _note_channel(tx: Tx, name: str) -> None:
    tx.emit([Change(EventKind.CHANNEL_UPDATED, channel=name)])


def send_test(tx: Tx, name: str) -> Delivery:
    """Record a test message, which a node sends at once.

    Raises:
        NotFound: there is no channel of this name.
    """
    _check_receiver(tx, name)
    tx.record("channel.tested", name)
    write.announce(tx)
    is_webhook = name not in read.channels(tx.conn, [name])
    payload = message_of(name, [], None, tx.now) if is_webhook else payload_of(DeliveryEvent.TEST, [], tx.now)
    return write.insert_delivery(tx.conn, name, DeliveryEvent.TEST, payload, tx.now)


def redeliver(tx: Tx, delivery_id: int) -> Delivery:
    """Send a delivery again that has ended, with the same id.

    Raises:
        NotFound: there is none.
        InvalidState: it has not ended.
    """
    delivery = read.delivery_by_id(tx.conn, delivery_id, lock=True)
    if delivery is None:
        raise NotFound(f"id: there is no delivery {delivery_id}", path=("id",))
    if delivery.state is DeliveryState.PENDING:
        raise InvalidState(f"id: delivery {delivery_id} is pending and is sent without this", path=("id",))
    _check_receiver(tx, delivery.channel)
    tx.record("delivery.repeated", delivery.message_id)
    write.announce(tx)
    return write.renew_delivery(tx.conn, delivery_id, tx.now)


def locked(tx: Tx, name: str, *, expected: int | None = None) -> Alarm:
    """Return an alarm that nobody else changes before this transaction ends.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
    """
    write.lock_readers(tx.conn)
    return locked_by_name(write.ALARMS, tx, name, expected)


def _check_receiver(tx: Tx, name: str) -> None:
    if read.receiver(tx.conn, name) is None:
        raise unknown("channel", name, list(read.channels(tx.conn)))


def _check_names(tx: Tx, alarm: AlarmSpec, source: AlarmSource, before: AlarmSpec | None = None) -> None:
    """Refuse unknown names; a name that was right before and is gone does not prevent disabling an alarm."""
    subject, known = alarm.subject or "", set[str]() if before is None else {*before.channels}
    is_new = before is None or (before.subject_kind, before.subject) != (alarm.subject_kind, alarm.subject)
    if is_new and alarm.subject_kind is SubjectKind.TASK and by_name(tx.conn, subject) is None:
        raise unknown("task", subject, read.names_of(tx.conn, alarm.subject_kind))
    if is_new and alarm.subject_kind is SubjectKind.JOB and not read.has_job(tx.conn, subject):
        raise unknown("job", subject, read.names_of(tx.conn, alarm.subject_kind))
    if source is AlarmSource.CODE:
        # A node starts although a channel has not been set yet.
        return
    known |= read.channels(tx.conn, alarm.channels).keys()
    for name in alarm.channels:
        if name not in known:
            raise unknown("channel", name, list(read.channels(tx.conn)))


def _changed(tx: Tx, alarm: Alarm) -> None:
    """Tell the reader that an alarm changed, and look at its subject."""
    if alarm.condition in LOOKED_AT:
        write.put_timers(tx.conn, [(alarm.id, TimerKind.LOOK, 0, tx.now - timedelta(seconds=1))])
    _note(tx, alarm)


def _note(tx: Tx, alarm: Alarm) -> None:
    """Tell the reader and all watchers of alarms that one changed."""
    write.note_change(tx.conn)
    tx.emit([Change(EventKind.ALARM_UPDATED, alarm=alarm.name)])


def _resolve_all(tx: Tx, alarm: Alarm) -> None:
    if alarm.condition in CAUSES:
        release(tx)
    notify(tx, {alarm.id: alarm}, DeliveryEvent.RESOLVED, write.resolve_all(tx.conn, alarm.id, tx.now))


def _described(alarm: Alarm) -> dict[str, Json]:
    return {
        "condition": alarm.condition.value,
        "subject": alarm.subject,
        "settings": alarm.settings.to_json(),
        "channels": list(alarm.channels),
        "enabled": alarm.enabled,
    }


def _silence(alarm: Alarm) -> Json:
    if alarm.silenced_until is None:
        return None
    return {"until": time_text(alarm.silenced_until), "reason": alarm.silence_reason}
