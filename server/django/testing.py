"""For test cases of Django: a queue of the test's own."""

from collections.abc import Mapping
from typing import Any

from ...jobs.testing import DrainedRun, Queue, drain_sync
from ...jobs.testing.single import AnyJob


class CronographTestMixin:
    """For ``TestCase`` and ``TransactionTestCase``: runs that the test enqueues go into ``self.queue`` only.

    >>> class Restocking(CronographTestMixin, TestCase):
    ...     def test_a_request_enqueues(self) -> None:
    ...         self.client.post("/restock/7")
    ...         self.assertEnqueued(restock, {"product_id": 7})

    Attributes:
        queue: See ``cronograph.jobs.testing.Queue``.
    """

    queue: Queue

    def setUp(self) -> None:
        """Begin."""
        parent: Any = super()
        parent.setUp()
        this: Any = self
        self.queue = this.enterContext(Queue())

    def assertEnqueued(self, job: AnyJob, args: Mapping[str, object] | None = None) -> None:  # noqa: N802
        """Check that a run of this job waits with these arguments among others; fail with the waiting runs if not."""
        self.queue.assert_enqueued(job, args)

    def drain(self) -> list[DrainedRun]:
        """Run all that waits, retries included.

        Jobs run in threads with connections of their own: their data has to be committed, so take
        ``TransactionTestCase`` for it.
        """
        return drain_sync(self.queue)
