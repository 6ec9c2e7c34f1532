"""Put the runs of jobs into a test's queue, no matter which session or database they name."""

from collections.abc import Callable, Iterable, Sequence

from ..actions.run_changes import changed, history_of, run_of
from ..actions.runs import cancel_runs, put
from ..core.base.errors import python_names
from ..core.flows import FlowSpec
from ..core.model import Enqueued, Execution, NewRun, Run
from ..core.run_spec import RunSpec, RunTarget
from ..core.waits import RunChange
from ..own.threads import briefly_in_thread
from ..queue.enqueue.enqueue import Transaction
from ..queue.enqueue.requests import new_run, new_runs
from ..queue.flows.new_flows import put_spec
from ..store.db.callers import Rollbacks
from ..store.db.database import Database
from ..store.db.transaction import Tx
from ..store.schema.types import SQLITE_SCHEMA
from ..store.statements import runs as stored_runs
from ..store.statements.listing.criteria import EVERYTHING, Criteria, equal
from ..store.statements.listing.pages import ids
from ..store.statements.lists import RUNS

_ROLLED_BACK = "the transaction that it was enqueued in was rolled back"
_MOST = 1_000_000


class CapturedQueue:
    """The queue of a test, as the jobs see it (a ``RunQueue``).

    A run that is enqueued in a session is there at once, so that a test need not commit, and is withdrawn if the
    session, or the savepoint within it, is rolled back.
    """

    schema = SQLITE_SCHEMA

    def __init__(self, database: Database, learn: Callable[[], None]) -> None:
        self._database = database
        self._learn = learn
        self._rollbacks = Rollbacks(self._withdraw)
        self._withdrawn: set[int] = set()

    def put(self, spec: RunSpec) -> Enqueued:
        """Record a run.

        Raises:
            UserError: a value is invalid.
        """
        return self._put([new_run(spec)])[0]

    async def put_in_loop(self, spec: RunSpec) -> Enqueued:
        """See ``RunQueue``."""
        return await briefly_in_thread(self.put, spec)

    def put_in(self, session: Transaction, spec: RunSpec) -> Enqueued:
        """Return the same, until the transaction of ``session`` is rolled back."""
        put = self.put(spec)
        self._rollbacks.watch(session, () if put.deduplicated else [put.run.id])
        return put

    def put_many(self, runs: Iterable[RunSpec]) -> list[int]:
        """Record runs, all or none; return their ids, in order.

        Raises:
            UserError: the first invalid run, with its place in the path.
        """
        return [one.run.id for one in self._put(new_runs(runs))]

    def put_many_in(self, session: Transaction, runs: Iterable[RunSpec]) -> list[int]:
        """Return the same, until the transaction of ``session`` is rolled back."""
        numbers = self.put_many(runs)
        self._rollbacks.watch(session, numbers)
        return numbers

    def put_flow(self, flow: FlowSpec) -> int:
        """Record a flow; return its id.

        Raises:
            UserError: a value is wrong.
        """
        self._learn()
        return self._database.write_sync(put_spec, flow)

    def put_flow_in(self, session: Transaction, flow: FlowSpec) -> int:
        """Return the same, until the transaction of ``session`` is rolled back."""
        flow_id = self.put_flow(flow)
        self._rollbacks.watch(session, [run.id for run in self.found(equal("flow_id", flow_id))])
        return flow_id

    def find(self, target: RunTarget) -> Run | None:
        """Return the run as it is now; None if there is none, or it was withdrawn."""
        run = self._database.write_sync(run_of, target)
        return None if run is None or run.id in self._withdrawn else run

    def history(self, run_id: int) -> tuple[Run, Sequence[Execution]] | None:
        """See ``RunQueue``."""
        return self._database.write_sync(lambda tx: history_of(tx.conn, run_id))

    def found(self, criteria: Criteria = EVERYTHING) -> list[Run]:
        """Return all runs but those that were withdrawn, the oldest first."""

        def read(tx: Tx) -> list[Run]:
            numbers = ids(tx.conn, RUNS, criteria, _MOST)
            return list(stored_runs.by_ids(tx.conn, numbers).values())

        return [run for run in self._database.write_sync(read) if run.id not in self._withdrawn]

    def change(self, target: RunTarget, change: RunChange, session: "Transaction | None" = None) -> Run:
        """Change a run at once: a rollback of ``session`` does not undo it.

        Raises:
            UserError: the queue would refuse it.
        """
        del session
        with python_names():
            return self._database.write_sync(changed, target, change)

    def _put(self, runs: Sequence[NewRun]) -> list[Enqueued]:
        self._learn()
        return self._database.write_sync(put, runs)

    def _withdraw(self, numbers: Sequence[int]) -> None:
        self._withdrawn.update(numbers)
        self._database.write_sync(lambda tx: cancel_runs(tx, list(numbers), reason=_ROLLED_BACK))
