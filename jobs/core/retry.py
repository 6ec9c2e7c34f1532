"""When a failed attempt is tried again."""

MAX_RETRY_DELAY = 3600.0
"""No retry waits longer than this, in seconds."""


def retry_delay(retries_so_far: int, base: float, *, cap: float = MAX_RETRY_DELAY) -> float:
    """Seconds to wait after a failure before the next attempt: ``base`` × 2^n, at most ``cap``.

    2^n: exponential back-off; n = ``retries_so_far`` counts the failures before this one, so the first retry comes
    after 1 × ``base``. The retry is due strictly after that time.
    """
    # Beyond 2**32 any positive base has met the cap; bounding n keeps the power finite.
    return min(cap, base * float(2 ** min(retries_so_far, 32)))
