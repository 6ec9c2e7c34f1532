"""The figures of the cluster: read once for all who ask, now and then, and left out while they cannot be read."""

import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cronograph.jobs.core.counts import MOST_NAMES, OTHER
from cronograph.jobs.store.db.database import Database
from cronograph.server.metrics.page import EVERY, Cluster
from tests.support.storage import Stored


class Time:
    """Seconds that only grow when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def values(text: str, name: str) -> dict[tuple[str, ...], float]:
    families = {one.name: one for one in text_string_to_metric_families(text)}
    return (
        {tuple(sample.labels.values()): sample.value for sample in families[name].samples} if name in families else {}
    )


async def test_the_queue_is_reported_by_group_and_state_with_its_oldest_wait(stored: Stored) -> None:
    stored.node()
    for group in ("mail", "mail", "bank"):
        stored.enqueue(group=group)
    stored.pass_time(30)
    text = await Cluster(stored.database).text()
    assert values(text, "cronograph_queue_depth") == {("mail", "waiting"): 2, ("bank", "waiting"): 1}
    assert values(text, "cronograph_queue_oldest_wait_seconds") == {("mail",): 30, ("bank",): 30}
    assert values(text, "cronograph_runs") == {("waiting",): 3}
    assert values(text, "cronograph_database_up") == {(): 1}
    assert values(text, "cronograph_database_size_bytes")[()] > 0
    tables = values(text, "cronograph_table_size_bytes")
    assert tables == {} if stored.database.is_sqlite else tables[("run",)] > 0


@pytest.mark.costly
async def test_the_longest_groups_have_names_and_the_others_are_one(stored: Stored) -> None:
    stored.node()
    for number in range(MOST_NAMES + 3):
        stored.enqueue(group=f"tenant-{number}")
    stored.enqueue(group="tenant-202")
    depth = values(await Cluster(stored.database).text(), "cronograph_queue_depth")
    assert len(depth) == MOST_NAMES + 1
    assert depth["tenant-202", "waiting"] == 2
    assert depth[OTHER, "waiting"] == 3


async def test_the_database_is_read_at_most_every_so_often(stored: Stored) -> None:
    stored.node()
    time = Time()
    cluster = Cluster(stored.database, time)
    before = stored.database.usage.reads
    await asyncio.gather(*(cluster.text() for _ in range(5)))
    once = stored.database.usage.reads - before
    stored.enqueue()
    time.now += EVERY - 1
    assert values(await cluster.text(), "cronograph_runs") == {}
    assert stored.database.usage.reads - before == once
    time.now += 2
    assert values(await cluster.text(), "cronograph_runs") == {("waiting",): 1}


async def test_figures_that_cannot_be_read_are_left_out_and_reported(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        text = await Cluster(database).text()
    finally:
        await database.close()
    assert values(text, "cronograph_database_up") == {(): 0}
    assert values(text, "cronograph_cluster_read_failures") == {(): 1}
    assert "cronograph_queue_depth{" not in text
