"""The test that the guide for job authors shows."""

from cronograph.jobs import JobContext, job
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain

SHOP = Registry()


@job("import_orders", registry=SHOP)
async def import_orders(ctx: JobContext, pages: int) -> int:
    first = ctx.checkpoint or 0
    for page in range(first, pages):
        if page == 2 and ctx.attempt == 1:
            raise ConnectionError("the shop did not answer")
        ctx.log.info("imported", page=page)
        ctx.progress(page + 1, pages)
        await ctx.save_checkpoint(page + 1)
    return pages - first


async def test_the_import_goes_on_where_the_outage_interrupted_it() -> None:
    async with Queue(SHOP) as queue:
        await queue.schedule("import_orders", "0 0 * * * *", {"pages": 3}, retry_delay=60)
        await queue.trigger("import_orders")
        (run,) = await drain(queue)
    first, second = run.attempts
    assert (first.outcome, second.outcome, run.state) == ("failed", "success", "success")
    assert first.error == "the shop did not answer"
    assert 60 < (second.started_at - first.completed_at).total_seconds() < 60.001
    assert [line.fields for line in second.lines] == [{"page": 2}]
    assert second.progress[-1]["done"] == second.checkpoint == 3
    assert second.records_processed == 1
