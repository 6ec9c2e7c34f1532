"""The four cleanups of the sign-in: expired and used-up rows are deleted, batch by batch, each in a transaction."""

from ..accounts.write import cleanup as signin
from ..base.context import JobContext
from ..store.db.transaction import Tx
from .tools import services_of

BATCH = 1000
"""Rows per transaction: a few milliseconds each, so that nobody waits for a lock."""


async def cleanup_expired_sessions(context: JobContext) -> int:
    """Deletes sessions that have expired, API tokens that ended 30 days ago, and forgotten wrong sign-ins."""
    return await _clean(
        context,
        sessions=signin.delete_expired_sessions,
        tokens=signin.delete_dead_tokens,
        failures=signin.delete_forgotten_failures,
    )


async def cleanup_expired_refresh_tokens(context: JobContext) -> int:
    """Deletes families of refresh tokens that have expired or were revoked over 24 hours ago."""
    return await _clean(context, tokens=signin.delete_finished_refresh_families)


async def cleanup_expired_challenges(context: JobContext) -> int:
    """Deletes passkey challenges, one-time links and begun sign-ins by a provider that have expired or were used."""
    return await _clean(
        context,
        challenges=signin.delete_finished_challenges,
        links=signin.delete_finished_links,
        attempts=signin.delete_finished_attempts,
    )


async def cleanup_expired_device_codes(context: JobContext) -> int:
    """Deletes device codes that have expired or were used."""
    return await _clean(context, device_codes=signin.delete_finished_device_codes)


async def _clean(context: JobContext, **cleanups: signin.Cleanup) -> int:
    """Delete batch after batch until nothing is left or the job should stop; how many rows were deleted in all."""
    database = services_of(context).database
    deleted = dict.fromkeys(cleanups, 0)
    for name, delete in cleanups.items():
        while batch := 0 if context.should_stop else await database.write(_delete_batch, delete):
            deleted[name] += batch
            context.progress(sum(deleted.values()))
    if context.should_stop:
        context.log.warning("stopped early; the next run deletes the rest", **deleted)
    elif any(deleted.values()):
        context.log.info("deleted what is over", **deleted)
    return sum(deleted.values())


def _delete_batch(tx: Tx, delete: signin.Cleanup) -> int:
    return delete(tx.conn, tx.now, BATCH)
