"""The four cleanups of the sign-in: what expired or was used up is deleted, batch by batch, each in a transaction."""

from ..context import JobContext
from ..store.db.transaction import Tx
from ..store.write import signin
from .tools import services_of

BATCH = 1000
"""Rows per transaction: a few milliseconds each, so that nobody waits for a lock."""


async def cleanup_expired_sessions(context: JobContext) -> int:
    """Deletes sessions that have expired."""
    return await _clean(context, signin.delete_expired_sessions)


async def cleanup_expired_refresh_tokens(context: JobContext) -> int:
    """Deletes families of refresh tokens that have expired or were revoked over 24 hours ago."""
    return await _clean(context, signin.delete_finished_refresh_families)


async def cleanup_expired_challenges(context: JobContext) -> int:
    """Deletes passkey challenges that have expired or were used."""
    return await _clean(context, signin.delete_finished_challenges)


async def cleanup_expired_device_codes(context: JobContext) -> int:
    """Deletes device codes that have expired or were used."""
    return await _clean(context, signin.delete_finished_device_codes)


async def _clean(context: JobContext, delete: signin.Cleanup) -> int:
    """Delete batch after batch until nothing is left or the job should stop; how many rows were deleted."""
    database = services_of(context).database
    deleted = 0
    while not context.should_stop:
        batch = await database.write(_delete_batch, delete)
        if batch == 0:
            return deleted
        deleted += batch
        context.progress(deleted)
    context.log.warning("stopped early; the next run deletes the rest", deleted=deleted)
    return deleted


def _delete_batch(tx: Tx, delete: signin.Cleanup) -> int:
    return delete(tx.conn, tx.now, BATCH)
