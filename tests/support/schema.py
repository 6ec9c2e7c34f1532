"""How the tests bring a database to the present schema: by the migrations, as a server does at its start."""

from sqlalchemy import Column, Connection, MetaData, Table, inspect

from cronograph.jobs.store.db.address import parse_url, schema_in
from cronograph.jobs.store.db.connecting import sync_engine
from cronograph.jobs.store.schema.types import SCHEMA, SQLITE_SCHEMA
from cronograph.migrations.upgrade import upgrade


def schema_for(connection: Connection) -> str:
    """Return where the tables are by default."""
    return SCHEMA if connection.dialect.name == "postgresql" else SQLITE_SCHEMA


def tables_of(connection: Connection) -> list[Table]:
    """All tables that are there, with their columns; indexes by expressions could not be read."""
    schema, known, inspector = schema_for(connection), MetaData(), inspect(connection)
    return [
        Table(
            name,
            known,
            *(Column(one["name"], one["type"]) for one in inspector.get_columns(name, schema)),
            schema=schema,
        )
        for name in sorted(inspector.get_table_names(schema))
    ]


def migrate(url: str) -> None:
    """Bring the database at `url` to the newest revision."""
    engine = sync_engine(parse_url(url))
    try:
        with engine.connect() as connection:
            upgrade(connection, schema_in(parse_url(url)))
    finally:
        engine.dispose()
