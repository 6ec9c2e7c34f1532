"""What a job returned is stored, however long the database refuses it; only an unstorable value is a failure."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from typing_extensions import override

from cronograph.jobs import JobContext, Result, job
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.finish import finish
from cronograph.jobs.queue.turn import Order, turn
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.engines import QUICK, RunningEngine, StartEngine, running_engine
from tests.support.waiting import eventually

P = ParamSpec("P")
T = TypeVar("T")

NOT_THE_VALUE = {
    "read_only": "25006",
    "no_permission": "42501",
    "lost_statement": "26000",
    "disk_full": "53100",
    "shutting_down": "57P01",
    "deadlock": "40P01",
}
THE_VALUE = {"out_of_range": "22003", "no_such_character": "22P05", "too_large": "54000"}


def registry() -> Registry:
    jobs = Registry()

    async def count() -> int:
        return 7

    async def value() -> Result:
        return Result(records_processed=1, value={"it": "is"})

    jobs.add(define("count", count))
    jobs.add(define("value", value))
    return jobs


def function(body: str) -> str:
    """The statement that makes what PostgreSQL calls for each end of a run, or gives it another body."""
    made = "CREATE OR REPLACE FUNCTION cronograph.refuse() RETURNS trigger LANGUAGE plpgsql"
    return f"{made} AS $$ BEGIN {body}; END $$"


class Refusing:
    """A database that refuses to store the ends of runs; PostgreSQL with an error of the test's choice."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def refuse(self, state: str, condition: str = "true") -> None:
        """From now on refuse ends of runs that meet ``condition``."""
        ended = f"NEW.finished_at IS NOT NULL AND ({condition})"
        if self._database.is_sqlite:
            refuse = "SELECT RAISE(ABORT, 'refused for the test')"
            self._execute(f"CREATE TRIGGER refuse BEFORE UPDATE ON cronograph.run WHEN {ended} BEGIN {refuse}; END")
            return
        self._execute(
            function(f"RAISE EXCEPTION 'refused for the test' USING ERRCODE = '{state}'"),
            "CREATE TRIGGER refuse BEFORE UPDATE ON cronograph.run FOR EACH ROW "
            f"WHEN ({ended}) EXECUTE FUNCTION cronograph.refuse()",
        )

    def accept(self) -> None:
        """Refuse nothing more."""
        # Not the trigger: that would wait for the table, and the node at work there for what this holds.
        self._execute("DROP TRIGGER refuse" if self._database.is_sqlite else function("RETURN NEW"))

    def _execute(self, *statements: str) -> None:
        def run(tx: Tx) -> None:
            for statement in statements:
                tx.conn.execute(SchemaText(statement))

        self._database.write_sync(run)

    async def close(self) -> None:
        await self._database.close()


@pytest.fixture
async def refusing(database_url: str) -> AsyncIterator[Refusing]:
    made = Refusing(database_url)
    yield made
    await made.close()


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[RunningEngine]:
    async with running_engine(database_url, registry()) as running:
        yield running


def says_again(caplog: pytest.LogCaptureFixture) -> bool:
    return any("failed, again in" in message for message in caplog.messages)


REFUSALS = [
    pytest.param("postgres", state, id=name, marks=pytest.mark.postgres) for name, state in NOT_THE_VALUE.items()
]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("database_url", "state"), [*REFUSALS, pytest.param("sqlite", "", id="sqlite")], indirect=["database_url"]
)
async def test_a_result_waits_while_the_database_refuses_it_for_a_reason_of_its_own(
    state: str, refusing: Refusing, engine: RunningEngine, caplog: pytest.LogCaptureFixture
) -> None:
    refusing.refuse(state)
    ids = [await engine.enqueue("count"), await engine.enqueue("value")]
    await eventually(lambda: says_again(caplog), message="a refused result")
    assert {(await engine.run(run_id)).state for run_id in ids} <= {RunState.RUNNING, RunState.WAITING}
    refusing.accept()
    for run_id in ids:
        done = await engine.finished(run_id)
        assert [one.outcome for one in done.executions] == [Outcome.SUCCESS]
    await eventually(lambda: engine.engine.running == 0, message="the slots to be free")


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("state", THE_VALUE.values(), ids=list(THE_VALUE))
async def test_a_value_that_cannot_be_stored_fails_its_run_and_no_other(
    state: str, refusing: Refusing, engine: RunningEngine
) -> None:
    refusing.refuse(state, "NEW.result IS NOT NULL")
    unstorable, fine = await engine.enqueue("value"), await engine.enqueue("count")
    assert (await engine.finished(fine)).run.state is RunState.SUCCESS
    done = await engine.finished(unstorable)
    assert (done.run.state, done.execution.error_type) == (RunState.FAILED, "UnstorableResult")


class Faulty(Database):
    """A real database; the code that stores ends has a fault that shows once wherever ends are stored."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.faulty: set[Callable[..., Any]] = {finish, turn}

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        stores_ends = function is finish or any(isinstance(one, Order) and one.ended for one in args)
        if function in self.faulty and stores_ends:
            self.faulty.remove(function)
            raise RuntimeError("a fault of our own")
        return await super().write(function, *args, **kwargs)


async def test_a_fault_of_our_own_costs_no_result_and_no_node(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    database, reader = Faulty(database_url), Database(database_url)
    settings: EngineSettings = replace(QUICK, slots=1)
    engine = Engine(Services(database), registry(), settings)
    await engine.start()
    running = RunningEngine(engine, database, reader)
    try:
        done = await running.finished(await running.enqueue("value"))
        assert [one.outcome for one in done.executions] == [Outcome.SUCCESS]
        (noted,) = [record for record in caplog.records if "cannot be stored (id " in record.getMessage()]
        assert noted.exc_info is not None
        assert str(noted.exc_info[1]) == "a fault of our own"
        # It goes on under the same registration.
        assert engine.ready
        assert (await running.finished(await running.enqueue("count"))).run.state is RunState.SUCCESS
    finally:
        await engine.stop()
        await database.close()
        await reader.close()


NUMBERS = [2**63, 12345678901234567890, 10**400, 1.0, 7, True, "1e5"]


async def test_numbers_stay_as_they_are_in_values_steps_and_checkpoints(start_engine: StartEngine) -> None:
    jobs = Registry()
    found: dict[int, tuple[object, object]] = {}

    @job("kept", registry=jobs)
    async def kept(ctx: JobContext, place: int) -> Result:
        async def given() -> Any:
            return NUMBERS[place]

        stepped: Any = await ctx.step("given", given)
        if ctx.is_last_attempt:
            found[place] = (ctx.checkpoint, stepped)
            return Result(value=NUMBERS[place])
        await ctx.save_checkpoint(NUMBERS[place])
        raise ValueError("once more")

    engine = await start_engine(jobs)
    runs = [await engine.enqueue("kept", {"place": place}, retries=1) for place in range(len(NUMBERS))]
    for place, (run_id, number) in enumerate(zip(runs, NUMBERS, strict=True)):
        done = await engine.finished(run_id)
        assert [repr(one) for one in (done.execution.value, *found[place])] == [repr(number)] * 3
