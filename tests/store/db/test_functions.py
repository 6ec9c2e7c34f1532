"""What the database computes of times is what Python computes of them, to the microsecond."""

import random
from datetime import UTC, datetime, timedelta

from sqlalchemy import literal, select

from cronograph.jobs.store.db.functions import duration
from cronograph.jobs.store.schema.types import UtcDateTime
from tests.support.storage import Stored

START = datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)


def test_seconds_between_two_times_are_exact(stored: Stored) -> None:
    chance = random.Random(7)
    spans = [timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(seconds=1)]
    spans += [timedelta(microseconds=chance.randrange(10**13)) for _ in range(40)]
    starts = [START, START.replace(microsecond=0), START.replace(microsecond=1), datetime(1999, 12, 31, tzinfo=UTC)]
    pairs = [(starts[place % len(starts)], starts[place % len(starts)] + span) for place, span in enumerate(spans)]
    columns = [duration(literal(a, UtcDateTime()), literal(b, UtcDateTime())) for a, b in pairs]
    found = stored.do(lambda tx: tx.conn.execute(select(*columns)).one())
    assert list(found) == [(b - a).total_seconds() for a, b in pairs]
