"""Two nodes on one database, each started for a part of the work: every run is executed where it belongs."""

from dataclasses import replace

import pytest

from cronograph.jobs.core.nodes import NodeChoice
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from tests.support.engines import QUICK, running_engine


@pytest.mark.costly
@pytest.mark.postgres
async def test_each_of_two_nodes_executes_what_it_was_started_for(postgres_url: str) -> None:
    registry = Registry()

    async def work() -> None: ...

    async def render() -> None: ...

    registry.add(define("work", work))
    registry.add(define("render", render, tags="gpu"))
    gpu = replace(QUICK, node_name="gpu", choice=NodeChoice(tags=("gpu",)))
    acme = replace(QUICK, node_name="acme", choice=NodeChoice(groups=("acme",), without_tags=("gpu",)))
    async with running_engine(postgres_url, registry, gpu) as first, running_engine(postgres_url, registry, acme):
        rendered = [await first.enqueue("render", group=group) for group in ("acme", "other", "acme")]
        worked = [await first.enqueue("work", group="acme") for _ in range(3)]
        left = await first.enqueue("work", group="other")
        places = [(await first.finished(run_id)).execution.node for run_id in (*rendered, *worked)]
        assert places == ["gpu"] * 3 + ["acme"] * 3
        assert (await first.run(left)).state is RunState.WAITING
