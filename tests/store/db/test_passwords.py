"""No part of a password is shown, however an address holds it."""

import pytest

from cronograph.jobs.store.db.address import hide_passwords, without_password

SHOWN = {
    "postgresql://u:hunter@2secret@127.0.0.1:1/x": "postgresql://u:***@127.0.0.1:1/x",
    "postgresql://u:hunter2@h/x": "postgresql://u:***@h/x",
    "postgresql+psycopg://u:hunter2@h/x": "postgresql+psycopg://u:***@h/x",
    "postgresql://:hunter2@h/x": "postgresql://:***@h/x",
    "postgresql://u:hunt/er2@h/x": "postgresql://u:***@h/x",
    "postgresql://u:hunt?er2@h/x": "postgresql://u:***@h/x",
    "postgresql://u:hunt#er2@h/x": "postgresql://u:***@h/x",
    "postgresql://u:12/er2@h/x": "postgresql://u:***@h/x",
    "postgresql://u:hunter%402@h/x": "postgresql://u:***@h/x",
    "postgresql://u:hunter2@h1:5432,h2:5433/x?target_session_attrs=any": (
        "postgresql://u:***@h1:5432,h2:5433/x?target_session_attrs=any"
    ),
    "postgresql://u:hunter2@[::1]:5432/x": "postgresql://u:***@[::1]:5432/x",
    "postgresql://h/x?password=hunter2": "postgresql://h/x?password=***",
    "postgresql://h/x?user=u&password=hun&ter2&sslmode=require": "postgresql://h/x?user=u&password=******&sslmode=require",
    "postgresql://h/x?%70assword=hunter2": "postgresql://h/x?%70assword=***",
    "postgresql://h/x?PASSWORD=hunter2": "postgresql://h/x?PASSWORD=***",
    "postgresql://h/x?pasword=hunter2": "postgresql://h/x?pasword=***",
    "postgresql://h:1/x?password=hunt@er2": "postgresql://h:1/x?password=***",
    "postgresql://h/x?sslpassword=hunter2&passfile=/home/u/.pgpass": (
        "postgresql://h/x?sslpassword=***&passfile=/home/u/.pgpass"
    ),
    "postgresql:/u:hunter2@h/x": "postgresql:/u:***@h/x",
    "postgresql//u:hunter2@h/x": "postgresql//u:***@h/x",
    "u:hunter2@h/x": "u:***@h/x",
    "sqlite://u:hunter2@h/x.db": "sqlite://u:***@h/x.db",
    "postgresql://u:hunter2@h/x;password=hunter2": "postgresql://u:***@h/x;password=***",
    "postgresql://u@h/x&password=hunter2": "postgresql://u@h/x&password=***",
    "postgresql://u@h/x?sslmode=require;password=hun;ter2": "postgresql://u@h/x?sslmode=require;password=******",
    "host=h user=u password=hunter2 dbname=x": "host=h user=u password=*** dbname=x",
    "host=h password='hunter 2 \\'x' dbname=x": "host=h password=*** dbname=x",
    "host=h password = 'hunter 2": "host=h password = ***",
    "host=h password=hun\\ ter2 dbname=x": "host=h password=*** dbname=x",
    "postgresql://h/x?options=-c%20app.token%3Dhunter2": "postgresql://h/x?options=***",
    "postgresql://h/x?options=-csearch_path=a+--app.token=hunter2&sslmode=require": (
        "postgresql://h/x?options=***&sslmode=require"
    ),
    "host=h options='-c app.token=hunter2'": "host=h options=***",
    "https://ada:hunter2@example.com/graphql": "https://ada:***@example.com/graphql",
}
PLAIN = [
    "postgresql://u@h/x", "postgresql://[::1]:5432/db", "postgresql://h1:1,[::2]:2/x?application_name=a@b",
    "postgresql://h/x?service=mine&schema=jobs&pooler=transaction", "postgresql:///x?host=/tmp",
    "postgresql://h/x?options=-c%20search_path%3Da,b+-cstatement_timeout=5s+--default-transaction-isolation=serializable",
    "host=h options='-c geqo=off'", "sqlite:///a.db", "sqlite:////abs/a:b@c.db",
    "sqlite:////abs/a;b&c=d.db", "", "work",
]  # fmt: skip


@pytest.mark.parametrize(("address", "shown"), SHOWN.items(), ids=SHOWN.keys())
def test_a_password_is_not_shown(address: str, shown: str) -> None:
    assert without_password(address) == shown
    # A driver may repeat the address, or a part of it.
    assert hide_passwords(f"cannot use {address}", address) == f"cannot use {shown}"


@pytest.mark.parametrize("address", PLAIN)
def test_an_address_without_a_password_is_shown_as_it_is(address: str) -> None:
    assert without_password(address) == address


def test_a_password_is_hidden_as_it_is_meant_too() -> None:
    assert hide_passwords("no host 'hunter@2'", "postgresql://u:hunter%402@h/x") == "no host '***'"
    assert hide_passwords("no host 'it''s'", r"host=h password='it\'s me'") == "no host 'it''s'"
    assert hide_passwords("got it's me", r"host=h password='it\'s me'") == "got ***"
    address = "postgresql://h/x?options=-c%20app.token%3Dhunter2"
    assert hide_passwords('invalid value for parameter "app.token": "hunter2"', address).endswith('"app.token": "***"')
    assert hide_passwords("failed: no", "postgresql://u:no@h/x") == "failed: no", "too short to be looked for"
