"""An operator's rate of a job instead of that of its code, on both databases."""

from typing import Any

import pytest

from cronograph.jobs.actions.groups import set_job_rate
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.base.errors import InvalidInput, UserError
from cronograph.jobs.core.explain import explain_run
from cronograph.jobs.core.limits import Limits, UniqueKey
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.limits.admission import look_for_tokens
from cronograph.jobs.queue.turn import BLOCKED_FOR, NodeQueue, Order
from cronograph.jobs.store.statements import facts
from cronograph.jobs.store.statements import jobs as stored_jobs
from tests.support.storage import Stored, Worker

SLOW, FAST = Rate(1, 3600.0, 1), Rate(100, 1.0, 3)
CUSTOMER = UniqueKey(("customer",), "{customer}")


def started(worker: Worker) -> int:
    return len(worker.take(20).started)


@pytest.mark.costly
@pytest.mark.parametrize("key", [None, CUSTOMER])
def test_what_waits_goes_on_by_the_new_rate_and_back_by_that_of_the_code(stored: Stored, key: UniqueKey | None) -> None:
    worker = stored.node(limits=Limits(rate=SLOW, rate_key=key))
    waiting = [stored.enqueue_by_job(args={"customer": "a"}) for _ in range(6)]
    assert [started(worker), started(worker)] == [1, 0]
    job = stored.do(set_job_rate, "work", rate=FAST)
    assert job.defaults.limits is not None
    assert (job.defaults.limits.rate, job.declared_rate) == (FAST, SLOW)
    # The empty bucket goes on by the new rate: it fills within 30 ms, and at most to its burst.
    stored.pass_time(0.05)
    stored.do(look_for_tokens)
    assert started(worker) == 3
    stored.do(set_job_rate, "work", rate=None)
    stored.pass_time(60)
    stored.do(look_for_tokens)
    # What the bucket lacked of the faster rate it has got meanwhile.
    assert [started(worker), started(worker)] == [1, 0]
    last = waiting[-1]
    known = stored.do(lambda tx: facts.of_runs(tx.conn, [last], tx.now))[last.id]
    assert "none of 1 an hour is left" in explain_run(last, known, stored.now).sentence


def test_a_new_version_of_the_code_keeps_the_rate_of_the_operator(stored: Stored) -> None:
    stored.node(limits=Limits(rate=SLOW))
    stored.do(set_job_rate, "work", rate=FAST)
    stored.node("b", limits=Limits(rate=Rate(2, 1.0, 1)))
    assert stored.do(lambda tx: stored_jobs.rates_of(tx.conn, ["work"])) == {"work": FAST}
    stored.node("c")
    assert stored.do(lambda tx: stored_jobs.rates_of(tx.conn, ["work"])) == {}


@pytest.mark.parametrize(
    ("name", "rate", "path", "says"),
    [
        ("nope", FAST, (), "nope"),
        ("work", Rate(0, 1.0, 1), ("rate", "limit"), "must be a whole number from 1"),
        ("plain", FAST, ("rate",), "the code of job 'plain' says none"),
    ],
)
def test_what_cannot_be_is_refused(stored: Stored, name: str, rate: Any, path: tuple[str, ...], says: str) -> None:
    stored.node(limits=Limits(rate=SLOW))
    stored.node("b", jobs=("plain",))
    with pytest.raises(UserError, match=says) as refused:
        stored.do(set_job_rate, name, rate=rate)
    if path:
        assert isinstance(refused.value, InvalidInput)
        assert refused.value.path == path


async def test_a_node_looks_again_soon_at_a_job_whose_rate_gave_no_token(stored: Stored) -> None:
    worker = stored.node(limits=Limits(rate=SLOW))
    for _ in range(3):
        stored.enqueue_by_job()
    now = 100.0
    queue, order = NodeQueue(stored.database, at_once=10, clock=lambda: now), Order((), (), 5, 0)

    async def taken() -> int:
        return len((await queue.take(worker.claimant, FairnessState(), order)).started)

    assert [await taken(), await taken()] == [1, 0]
    stored.do(set_job_rate, "work", rate=FAST)
    stored.pass_time(0.05)
    assert await taken() == 0
    now += BLOCKED_FOR
    assert await taken() == 2
    await queue.close()
