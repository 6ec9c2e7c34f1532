"""Slowing down attackers that guess: each try counts before it is looked at, so that many at once get no more."""

from collections.abc import Sequence
from datetime import datetime
from secrets import token_bytes

from ...store.db.transaction import Tx
from ..rules.credentials import ENTROPY_BYTES, Prefix, ThrottlePolicy, counted_failures, new_secret, pause_after
from ..write import throttle
from ..write.throttle import Failures


def fresh_secret(prefix: Prefix) -> str:
    """Return a new secret for the prefix's purpose."""
    return new_secret(prefix, token_bytes(ENTROPY_BYTES))


def count_try(tx: Tx, subjects: Sequence[tuple[str, ThrottlePolicy]]) -> float:
    """Count a failure of each subject until it turns out otherwise.

    Args:
        subjects: The counted subjects, always in the same order: two transactions that wait for each other would stand
            still.

    Returns:
        Seconds before which nothing may be looked at, and nothing was counted; 0 = now.
    """
    kept = [(subject, policy, throttle.lock(tx.conn, subject, tx.now)) for subject, policy in subjects]
    wait = max((failures.blocked_until - tx.now).total_seconds() for _, _, failures in kept)
    if wait > 0:
        return wait
    for subject, policy, failures in kept:
        throttle.keep(tx.conn, subject, _one_more(failures, policy, tx.now))
    return 0


def take_back(tx: Tx, subject: str, policy: ThrottlePolicy) -> None:
    """Do not count the last try of a subject: it turned out to be right."""
    throttle.keep(tx.conn, subject, _one_less(throttle.lock(tx.conn, subject, tx.now), policy, tx.now))


def _one_more(before: Failures, policy: ThrottlePolicy, now: datetime) -> Failures:
    failures = counted_failures(before.failures, before.last_failed_at, now) + 1
    return Failures(failures, now, now + pause_after(policy, failures))


def _one_less(before: Failures, policy: ThrottlePolicy, now: datetime) -> Failures:
    failures = max(0, before.failures - 1)
    return Failures(failures, before.last_failed_at, now + pause_after(policy, failures - 1))
