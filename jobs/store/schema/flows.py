"""Tables of flows: which runs belong together, and which comes after which."""

from sqlalchemy import CheckConstraint, Column, Index, String, Table, UniqueConstraint

from ...core.flows import FlowState, When
from .parts import NO_REUSE, key, metadata, one_of, partial_index
from .types import JsonDocument, Key, Name, UtcDateTime

flow = Table(
    "flow",
    metadata,
    key(),
    Column("name", Name, nullable=False),
    Column("state", String(12), nullable=False),
    Column("unique_key", Name),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("cancel_requested_at", UtcDateTime),
    Column("submitter", Name),
    Column("submitter_id", Key),
    Column("callbacks", JsonDocument, nullable=False),
    # The run that has begun it as a step and waits for its end.
    Column("parent_id", Key),
    # Inherited by its runs, which are found by them.
    Column("labels", JsonDocument),
    one_of("state", FlowState),
    CheckConstraint("(finished_at IS NULL) = (state = 'running')", name="finished_iff_over"),
    CheckConstraint("finished_at IS NULL OR closed_at IS NOT NULL", name="open_until_closed"),
    partial_index("uq_flow_unique_key", "unique_key IS NOT NULL AND finished_at IS NULL", "unique_key", unique=True),
    partial_index("ix_flow_running", "finished_at IS NULL", "id"),
    partial_index("ix_flow_finished", "finished_at IS NOT NULL", "finished_at"),
    Index("ix_flow_name", "name", "id"),
    partial_index("ix_flow_parent", "parent_id IS NOT NULL", "parent_id"),
    **NO_REUSE,
)

flow_run = Table(
    "flow_run",
    metadata,
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("flow_id", Key, nullable=False),
    Column("key", Name, nullable=False),
    Column("condition", String(8), nullable=False),
    Column("uses", JsonDocument),
    Column("chain", JsonDocument),
    UniqueConstraint("flow_id", "key"),
    one_of("condition", When),
)
"""A run of a flow.

``uses``: the keys of the results that its arguments take, and these arguments before they are filled in. ``chain``: if
it was skipped, the keys of what kept it from starting, the first cause first.
"""

flow_edge = Table(
    "flow_edge",
    metadata,
    Column("run_id", Key, primary_key=True, autoincrement=False),
    Column("after_id", Key, primary_key=True, autoincrement=False),
    Index("ix_flow_edge_after", "after_id", "run_id"),
)
"""``run_id`` comes after ``after_id``."""
