"""What holds of every test of actions."""

from collections.abc import Iterator

import pytest

from tests.support.lock_order import recorded


@pytest.fixture(autouse=True)
def one_lock_order() -> Iterator[None]:
    """On PostgreSQL, no transaction waits for row locks out of the one order."""
    with recorded() as order:
        yield
    assert order.faults == []
