"""The cleanups of the sign-in delete exactly what is over, and no more than one batch at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Table, insert, select

from cronograph.jobs.accounts.statements import accounts as stored_accounts
from cronograph.jobs.accounts.statements import cleanup as signin
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import device_code, refresh_token, session, webauthn_challenge
from cronograph.jobs.store.schema.types import SchemaText

NOW = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)
DAY = timedelta(days=1)
MANY = 1000


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = sync_engine(parse_url(database_url))
    yield engine
    engine.dispose()


@pytest.fixture
def conn(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection:
        yield connection


def sessions(conn: Connection, **expiries: datetime) -> None:
    for name, expires_at in expiries.items():
        times = {"created_at": NOW - DAY, "last_seen_at": NOW - DAY, "expires_at": expires_at}
        conn.execute(insert(session).values(token_hash=name, user_id=owner(conn), kind="browser", **times))


def owner(conn: Connection) -> int:
    """The key of the account whose sessions these are."""
    found = stored_accounts.by_name(conn, "ada") or stored_accounts.insert_account(conn, "ada", Role.VIEWER, None, NOW)
    assert found is not None
    return found.id


def challenge(conn: Connection, name: str, expires_at: datetime, consumed_at: datetime | None = None) -> None:
    values = {"challenge_hash": name, "bound_to": name, "purpose": "sign_in", "created_at": NOW - DAY}
    conn.execute(insert(webauthn_challenge).values(**values, expires_at=expires_at, consumed_at=consumed_at))


def device(conn: Connection, name: str, expires_at: datetime, **when: datetime) -> None:
    values = {"device_code_hash": name, "user_code_hash": name, "created_at": NOW - DAY, "expires_at": expires_at}
    conn.execute(insert(device_code).values(**values, poll_interval=5, **when))


def token(conn: Connection, name: str, expires_at: datetime, **when: datetime) -> None:
    """A refresh token; its family is the part of the name before the dash."""
    values = {"token_hash": name, "family": name.partition("-")[0], "user_id": owner(conn), "created_at": NOW - 9 * DAY}
    conn.execute(insert(refresh_token).values(**values, expires_at=expires_at, **when))


def left(conn: Connection, table: Table, column: str) -> set[Any]:
    return set(conn.execute(select(table.c[column])).scalars())


def test_a_session_goes_when_it_expired_and_stays_at_the_very_instant(conn: Connection) -> None:
    sessions(conn, past=NOW - MOMENT, equal=NOW, future=NOW + MOMENT)
    assert signin.delete_expired_sessions(conn, NOW, MANY) == 1
    assert left(conn, session, "token_hash") == {"equal", "future"}
    assert signin.delete_expired_sessions(conn, NOW, MANY) == 0


def test_a_batch_deletes_no_more_than_its_limit(conn: Connection) -> None:
    sessions(conn, **{f"s{number}": NOW - DAY for number in range(7)})
    assert [signin.delete_expired_sessions(conn, NOW, 3) for _ in range(4)] == [3, 3, 1, 0]


def test_a_challenge_goes_when_it_expired_or_was_used(conn: Connection) -> None:
    challenge(conn, "expired", NOW - MOMENT)
    challenge(conn, "used", NOW + DAY, consumed_at=NOW)
    challenge(conn, "both", NOW - DAY, consumed_at=NOW - 2 * DAY)
    challenge(conn, "equal", NOW)
    challenge(conn, "open", NOW + DAY)
    assert signin.delete_finished_challenges(conn, NOW, MANY) == 3
    assert left(conn, webauthn_challenge, "challenge_hash") == {"equal", "open"}


def test_a_device_code_goes_when_it_expired_or_was_used_but_not_when_it_is_only_approved(conn: Connection) -> None:
    device(conn, "expired", NOW - MOMENT)
    device(conn, "used", NOW + DAY, approved_at=NOW - DAY, consumed_at=NOW - MOMENT)
    device(conn, "approved", NOW + DAY, approved_at=NOW - DAY)
    device(conn, "denied", NOW + DAY, denied_at=NOW - DAY)
    device(conn, "equal", NOW)
    assert signin.delete_finished_device_codes(conn, NOW, MANY) == 2
    assert left(conn, device_code, "user_code_hash") == {"approved", "denied", "equal"}


def test_a_family_of_refresh_tokens_goes_as_a_whole_once_its_newest_expired(conn: Connection) -> None:
    token(conn, "over-1", NOW - 5 * DAY, used_at=NOW - 6 * DAY)
    token(conn, "over-2", NOW - MOMENT)
    token(conn, "alive-1", NOW - 5 * DAY, used_at=NOW - 6 * DAY)
    token(conn, "alive-2", NOW)
    assert signin.delete_finished_refresh_families(conn, NOW, MANY) == 2
    assert left(conn, refresh_token, "token_hash") == {"alive-1", "alive-2"}


def test_a_revoked_family_is_remembered_for_a_day(conn: Connection) -> None:
    token(conn, "old-1", NOW + DAY, used_at=NOW - 3 * DAY, revoked_at=NOW - DAY - MOMENT)
    token(conn, "old-2", NOW + 9 * DAY, revoked_at=NOW - DAY - MOMENT)
    token(conn, "partly-1", NOW + DAY, used_at=NOW - 3 * DAY)
    token(conn, "partly-2", NOW + 9 * DAY, revoked_at=NOW - 2 * DAY)
    token(conn, "recent-1", NOW + DAY, used_at=NOW - 3 * DAY, revoked_at=NOW - DAY)
    token(conn, "recent-2", NOW + 9 * DAY, revoked_at=NOW - DAY)
    token(conn, "again-1", NOW + DAY, revoked_at=NOW - 2 * DAY)
    token(conn, "again-2", NOW + DAY, revoked_at=NOW - timedelta(hours=1))
    assert signin.delete_finished_refresh_families(conn, NOW, MANY) == 4
    assert {name.partition("-")[0] for name in left(conn, refresh_token, "token_hash")} == {"recent", "again"}


def test_a_batch_never_cuts_a_family(conn: Connection) -> None:
    for family, count in (("a", 2), ("b", 3), ("c", 7), ("d", 1)):
        for number in range(count):
            token(conn, f"{family}-{number}", NOW - DAY)
    assert [signin.delete_finished_refresh_families(conn, NOW, 4) for _ in range(5)] == [2, 3, 7, 1, 0]


def test_who_is_locked_by_somebody_else_is_left_for_the_next_time(postgres_url: str) -> None:
    engine = sync_engine(parse_url(postgres_url))
    with engine.begin() as connection:
        sessions(connection, busy=NOW - DAY, idle=NOW - DAY)
    with engine.begin() as other, engine.begin() as cleaning:
        other.execute(SchemaText("UPDATE cronograph.session SET expires_at = now() WHERE token_hash = 'busy'"))
        assert signin.delete_expired_sessions(cleaning, NOW, MANY) == 1
        assert left(cleaning, session, "token_hash") == {"busy"}
    engine.dispose()
