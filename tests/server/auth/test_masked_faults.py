"""A fault of the server while somebody signs in: masked, logged under an id, and told from a database that is away."""

import pytest

from cronograph.jobs.store.db.address import sqlite_path
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from tests.server.auth.serving import Protected


def forget_accounts(tx: Tx) -> None:
    """As if somebody had laid hands on the database."""
    tx.conn.execute(SchemaText("ALTER TABLE cronograph.user_account RENAME TO gone"))


async def test_a_fault_of_the_server_while_signing_in_is_masked_and_one_of_the_database_says_so(
    light: Protected, caplog: pytest.LogCaptureFixture
) -> None:
    await light.database.write(forget_accounts)
    broken = await light.sign_in_as("ada")
    (error,) = broken.json()["errors"]
    assert (broken.status_code, error["extensions"]["code"]) == (500, "INTERNAL_ERROR")
    assert "no such table" not in broken.text
    assert error["extensions"]["id"] in caplog.text
    path = sqlite_path(light.database.url)
    elsewhere = path.rename(path.with_name("elsewhere.db"))
    away = await light.sign_in_as("ada")
    elsewhere.rename(path)
    (error,) = away.json()["errors"]
    assert (away.status_code, error["extensions"]["code"]) == (503, "UNAVAILABLE")
