"""The pause before a retry: delay × 2^n, capped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.core.outcome import MAX_RETRY_DELAY, retry_delay


@pytest.mark.parametrize(
    ("retries_so_far", "seconds"), [(0, 60), (1, 120), (2, 240), (5, 1920), (6, 3600), (7, 3600), (10_000, 3600)]
)
def test_each_failure_doubles_the_pause_up_to_an_hour(retries_so_far: int, seconds: float) -> None:
    assert retry_delay(retries_so_far, 60.0) == seconds


@given(st.integers(0, 10**9), st.floats(0, 1e6))
def test_the_pause_never_shrinks_and_never_passes_the_cap(retries_so_far: int, base: float) -> None:
    pause = retry_delay(retries_so_far, base)
    assert 0 <= pause <= MAX_RETRY_DELAY
    assert retry_delay(retries_so_far + 1, base) >= pause
