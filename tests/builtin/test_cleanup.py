"""The cleanup jobs delete everything that is over, count it exactly, and leave when asked to."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, Table, func, insert, select

from cronograph.jobs.accounts.statements import accounts as stored_accounts
from cronograph.jobs.base.context import JobContext
from cronograph.jobs.base.services import Services
from cronograph.jobs.builtin import prune
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import (
    device_code,
    provider_attempt,
    refresh_token,
    session,
    webauthn_challenge,
)
from tests.builtin.hosts import KeepingHost, context_of

Job = Callable[[JobContext], Awaitable[int]]
HOUR = timedelta(hours=1)


async def clean(job: Job, database: Database, host: KeepingHost | None = None) -> int:
    return await job(context_of(job, Services(database), host))


def fill(tx: Tx, table: Table, count: int, expires_in: timedelta) -> None:
    expires_at = tx.now + expires_in
    account = stored_accounts.by_name(tx.conn, "ada") or stored_accounts.insert_account(
        tx.conn, "ada", Role.VIEWER, None, tx.now
    )
    assert account is not None
    rows = [
        {**row(table, f"{expires_in}-{number}", tx.now, expires_at), "user_id": account.id} for number in range(count)
    ]
    tx.conn.execute(insert(table), rows)


def row(table: Table, name: str, now: datetime, expires_at: datetime) -> dict[str, object]:
    """A row that every sign-in table can take its part of."""
    values: dict[str, object] = {
        "token_hash": name,
        "challenge_hash": name,
        "state_hash": name,
        "provider": "company",
        "next_path": "/",
        "bound_to": name,
        "device_code_hash": name,
        "user_code_hash": name,
        "poll_interval": 5,
        "family": name,
        "kind": "browser",
        "purpose": "sign_in",
        "created_at": now,
        "last_seen_at": now,
        "expires_at": expires_at,
    }
    return {column: value for column, value in values.items() if column in table.c}


def count(conn: Connection, table: Table) -> int:
    return conn.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.mark.costly
async def test_ten_thousand_expired_sessions_are_ten_thousand_records(database: Database) -> None:
    await database.write(fill, session, 10_000, -HOUR)
    await database.write(fill, session, 10, HOUR)
    host = KeepingHost()
    assert await clean(prune.cleanup_expired_sessions, database, host) == 10_000
    assert await database.read(count, session) == 10
    assert [done for done, _, _ in host.shown] == [1000 * batch for batch in range(1, 11)]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("job", "table"),
    [
        (prune.cleanup_expired_sessions, session),
        (prune.cleanup_expired_refresh_tokens, refresh_token),
        (prune.cleanup_expired_challenges, webauthn_challenge),
        (prune.cleanup_expired_challenges, provider_attempt),
        (prune.cleanup_expired_device_codes, device_code),
    ],
)
async def test_each_cleanup_cleans_its_table_by_the_time_of_the_database(
    database: Database, job: Job, table: Table
) -> None:
    await database.write(fill, table, 1200, -HOUR)
    await database.write(fill, table, 3, HOUR)
    assert await clean(job, database) == 1200
    assert await clean(job, database) == 0
    assert await database.read(count, table) == 3


async def test_a_cleanup_that_should_stop_leaves_between_two_batches(database: Database) -> None:
    await database.write(fill, session, 3000, -HOUR)
    host = KeepingHost(stop_after=2)
    assert await clean(prune.cleanup_expired_sessions, database, host) == 2000
    assert await database.read(count, session) == 1000
    deleted = {"sessions": 2000, "tokens": 0, "failures": 0}
    assert host.lines == [("WARNING", "stopped early; the next run deletes the rest", deleted)]


async def test_two_cleanups_at_once_count_every_row_once(database: Database) -> None:
    await database.write(fill, session, 5000, -HOUR)
    job = prune.cleanup_expired_sessions
    counts = await asyncio.gather(clean(job, database), clean(job, database))
    assert sum(counts) == 5000
    assert await database.read(count, session) == 0


async def test_a_cleanup_outside_a_node_says_what_it_needs() -> None:
    job = prune.cleanup_expired_sessions
    with pytest.raises(ConfigurationError, match=r"job 'cleanup_expired_sessions': must run within a node"):
        await job(context_of(job, None))
