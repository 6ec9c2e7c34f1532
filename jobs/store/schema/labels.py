"""The table by which runs are found by their labels."""

from sqlalchemy import Column, Table

from .parts import metadata
from .types import Key, Name

run_label = Table(
    "run_label",
    metadata,
    # A row for each label of a run, and none for a run without.
    Column("key", Name, primary_key=True),
    Column("value", Name, primary_key=True),
    Column("run_id", Key, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
