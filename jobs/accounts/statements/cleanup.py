"""Statements that clean the tables of the sign-in: delete expired and used-up rows, in batches.

Nothing depends on these: every reader of a session or a token checks its expiry. Each function deletes one batch
of at most ``limit`` rows and returns how many it deleted; 0 = nothing is left. A row that somebody else has locked just
now is left for the next time, so that nobody waits for a cleanup.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, func, or_, select, update

from ...store.schema.tables import (
    api_token,
    device_code,
    login_throttle,
    one_time_link,
    provider_attempt,
    refresh_token,
    session,
    webauthn_challenge,
)
from ...store.schema.tables import audit_head as h
from ...store.schema.tables import audit_log as a
from ..rules.credentials import FORGOTTEN_AFTER


def prune(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` of the oldest entries, as far as all of them are older than ``before``; return how many.

    The order of the chain decides, not the time of each: where a clock was set back nothing is left out in the middle.
    """
    # Writers wait until this transaction ends, and the other way round.
    head = conn.execute(select(h).with_for_update()).one_or_none()
    if head is None:
        return 0
    oldest = conn.execute(select(a.c.id, a.c.at, a.c.hash).order_by(a.c.id).limit(limit)).all()
    doomed = list(takewhile(lambda entry: entry.at < before, oldest))
    if not doomed:
        return 0
    last = doomed[-1]
    conn.execute(delete(a).where(a.c.id <= last.id))
    conn.execute(update(h).where(h.c.id == head.id).values(pruned_id=last.id, pruned_hash=last.hash))
    return len(doomed)


Cleanup = Callable[[Connection, datetime, int], int]
"""Deletes one batch: (connection, now, limit) -> rows deleted."""

REVOKED_FAMILY_KEPT = timedelta(hours=24)
"""Time for which a revoked family is remembered, so that the use of one of its stolen tokens is still recognised."""

TOKENS_KEPT = timedelta(days=30)
"""Time for which an ended API token can still be distinguished from one that never was."""

_FAMILIES_PER_BATCH = 200


def delete_expired_sessions(conn: Connection, now: datetime, limit: int) -> int:
    """Delete sessions with ``expires_at < now``."""
    return _delete_some(conn, session, session.c.expires_at < now, limit)


def delete_dead_tokens(conn: Connection, now: datetime, limit: int) -> int:
    """Delete API tokens that expired or were revoked 30 days ago."""
    c, before = api_token.c, now - TOKENS_KEPT
    return _delete_some(conn, api_token, or_(c.expires_at < before, c.revoked_at < before), limit)


def delete_forgotten_failures(conn: Connection, now: datetime, limit: int) -> int:
    """Delete the counts of wrong sign-ins that do not count any more."""
    c = login_throttle.c
    over = (c.last_failed_at < now - FORGOTTEN_AFTER) & (c.blocked_until < now)
    return _delete_some(conn, login_throttle, over, limit)


def _over(table: Table) -> Cleanup:
    """Return the deletion of rows that expired (``expires_at < now``) or were used up."""
    over = table.c.consumed_at.is_not(None)
    return lambda conn, now, limit: _delete_some(conn, table, or_(table.c.expires_at < now, over), limit)


delete_finished_links = _over(one_time_link)
"""Of set-up and recovery links."""
delete_finished_challenges = _over(webauthn_challenge)
"""Of challenges for passkeys."""
delete_finished_attempts = _over(provider_attempt)
"""Of sign-ins by a provider."""
delete_finished_device_codes = _over(device_code)
"""Of device codes."""


def delete_finished_refresh_families(conn: Connection, now: datetime, limit: int) -> int:
    """Delete whole families of refresh tokens that are over.

    A family is over once its newest token expired (``expires_at < now``) or it was revoked over 24 hours ago. Until
    then even its used tokens stay: a reuse is recognised by them. A family is never deleted in part, so one
    that alone has more than ``limit`` tokens makes a larger batch.
    """
    families = _whole_families(conn, finished_families(conn, now), limit)
    if not families:
        return 0
    return conn.execute(delete(refresh_token).where(refresh_token.c.family.in_(families))).rowcount


def finished_families(conn: Connection, now: datetime) -> list[str]:
    """Return some families of refresh tokens that are over, in the order of their names."""
    token, other = refresh_token.alias("token"), refresh_token.alias("other")
    revoked_before = now - REVOKED_FAMILY_KEPT
    lives = exists().where(other.c.family == token.c.family, other.c.expires_at >= now)
    revoked_lately = exists().where(other.c.family == token.c.family, other.c.revoked_at >= revoked_before)
    over = or_(
        (token.c.expires_at < now) & ~lives,
        (token.c.revoked_at < revoked_before) & ~revoked_lately,
    )
    statement = select(token.c.family).where(over).distinct().order_by(token.c.family).limit(_FAMILIES_PER_BATCH)
    return list(conn.execute(statement).scalars())


def _whole_families(conn: Connection, families: Sequence[str], limit: int) -> list[str]:
    """Return as many of the first ``families`` as have at most ``limit`` tokens together, but at least one."""
    statement = (
        select(refresh_token.c.family, func.count())
        .where(refresh_token.c.family.in_(families))
        .group_by(refresh_token.c.family)
        .order_by(refresh_token.c.family)
    )
    chosen: list[str] = []
    tokens = 0
    for family, count in conn.execute(statement):
        tokens += count
        if chosen and tokens > limit:
            break
        chosen.append(family)
    return chosen


def _delete_some(conn: Connection, table: Table, condition: ColumnElement[bool], limit: int) -> int:
    """Delete up to ``limit`` rows that meet ``condition`` and that nobody else has locked."""
    (key,) = table.primary_key
    doomed = select(key).where(condition).limit(limit).with_for_update(skip_locked=True)
    ids = list(conn.execute(doomed).scalars())
    if not ids:
        return 0
    return conn.execute(delete(table).where(key.in_(ids))).rowcount
