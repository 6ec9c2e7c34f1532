"""The product with its limits broken, in one place each; see ``broken``."""

from collections.abc import Callable

from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.core.base.rates import Rate
from cronograph.jobs.core.limits import Limits
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.naming import SchemaText
from tests.support.storage import Stored, Worker


def execute(stored: Stored, *statements: str) -> None:
    """Change the tables behind the product's back."""

    def change(tx: Tx) -> None:
        for statement in statements:
            tx.conn.execute(SchemaText(statement))

    stored.do(change)


def a_key_is_forgotten_while_its_runs_are_taken(stored: Stored, worker: Worker) -> None:
    ids = [stored.enqueue(concurrency_key="a", max_concurrent=1).id for _ in range(2)]
    execute(stored, "UPDATE cronograph.run SET concurrency_key = NULL WHERE concurrency_key = 'a'")
    worker.take(40)
    for run_id in ids:
        execute(stored, f"UPDATE cronograph.run SET concurrency_key = 'a' WHERE id = {run_id}")


def a_group_is_served_without_its_tokens(stored: Stored, worker: Worker) -> None:
    for _ in range(3):
        stored.enqueue(group="rated")
    worker.take(40)
    stored.do(set_group_rate, "rated", rate=Rate(1, 60.0, 1))


def a_job_is_served_without_its_tokens(stored: Stored, worker: Worker) -> None:
    for _ in range(3):
        stored.enqueue(rate_key="42")
    worker.take(40)
    stored.node("node-r", limits=Limits(Rate(1, 60.0, 1)))


def a_full_queue_takes_more(stored: Stored, _: Worker) -> None:
    for _number in range(4):
        stored.enqueue(group="uncapped")
    execute(stored, "UPDATE cronograph.run SET group_name = 'capped' WHERE group_name = 'uncapped'")


def what_gives_way_is_deleted(stored: Stored, _: Worker) -> None:
    execute(stored, "DELETE FROM cronograph.run WHERE skip_reason = 'queue_full' AND task_id IS NULL")


def a_task_forgets_what_gave_way(stored: Stored, _: Worker) -> None:
    execute(stored, "DELETE FROM cronograph.skipped_occurrence WHERE reason = 'queue_full'")


LIMIT_BREAKS: dict[Callable[[Stored, Worker], object], str] = {
    a_key_is_forgotten_while_its_runs_are_taken: "no key runs beside itself",
    a_group_is_served_without_its_tokens: "no stretch passes its rate",
    a_job_is_served_without_its_tokens: "no stretch passes its rate",
    a_full_queue_takes_more: "no queue passes its cap",
    what_gives_way_is_deleted: "nothing is dropped without a row",
    a_task_forgets_what_gave_way: "nothing is dropped without a row",
}
"""Each break of a limit, and the rule that must see it."""
