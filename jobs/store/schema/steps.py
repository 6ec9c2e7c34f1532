"""The table of the durable steps of runs."""

from sqlalchemy import Boolean, Column, Integer, Table, Text

from .parts import metadata
from .types import JsonDocument, Key, UtcDateTime

run_step = Table(
    "run_step",
    metadata,
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("step", Text, primary_key=True),
    # 0 for the result, of which there is one at most; of a failure the attempt.
    Column("failure", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime, nullable=False),
    Column("value", JsonDocument),
    Column("error", Text),
    Column("used", Boolean, nullable=False),
)
