"""The databases of tests refuse every change of a run's state that the one table of the rules does not list.

So each test that has a database watches the product's statements, also those that name states as plain text.
"""

from typing import Final

from sqlalchemy import Connection, text

from cronograph.jobs.core.states import TRANSITIONS
from cronograph.jobs.store.db.address import parse_url
from cronograph.jobs.store.db.connecting import sync_engine
from tests.support.schema import migrate, schema_for

REFUSAL: Final = "a run must not change its state like this"

_ALLOWED: Final = ", ".join(
    f"('{before}', '{after}')"
    for before, following in sorted(TRANSITIONS.items())
    for after in sorted((*following, before))
)
_TRIGGER: Final = "CREATE TRIGGER run_state BEFORE UPDATE OF state ON {run} FOR EACH ROW WHEN {otherwise} {refuse}"
_FUNCTION: Final = f"""
    CREATE OR REPLACE FUNCTION {{schema}}.refuse_state() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '{REFUSAL}: run %, from % to %', OLD.id, OLD.state, NEW.state; END $$"""


def migrate_watched(url: str) -> None:
    """Bring the database at `url` to the newest revision and let it watch the states of runs."""
    migrate(url)
    engine = sync_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            watch(connection)
    finally:
        engine.dispose()


def watch(connection: Connection) -> None:
    """Refuse what the table does not list."""
    changed = "(OLD.state, NEW.state)"
    if connection.dialect.name == "postgresql":
        schema = schema_for(connection)
        connection.execute(text(_FUNCTION.format(schema=schema)))
        run, otherwise = f"{schema}.run", f"({changed} NOT IN ({_ALLOWED}))"
        refuse = f"EXECUTE FUNCTION {schema}.refuse_state()"
    else:
        run, otherwise = "run", f"{changed} NOT IN (VALUES {_ALLOWED})"
        refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    connection.execute(text(_TRIGGER.format(run=run, otherwise=otherwise, refuse=refuse)))


def look_away(connection: Connection) -> None:
    """Let any change pass, for tests that break the product."""
    on = f" ON {schema_for(connection)}.run" if connection.dialect.name == "postgresql" else ""
    connection.execute(text(f"DROP TRIGGER run_state{on}"))
