"""Hooks around attempts, resources that jobs are given, and what happens after a final failure."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

import pytest

from cronograph.jobs import GIVEN, JobContext, around, carries, job, resource
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.job.middleware import NodeResources
from tests.runtime.hooked_jobs import JOBS, KINDS
from tests.support.engines import Finished, RunningEngine, StartEngine


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """Hooks know nothing of the database."""
    return sqlite_url


def messages(done: Finished) -> list[str]:
    """Return what an attempt and its hooks said, without tracebacks."""
    return [line.message.partition("\n")[0] for line in done.lines]


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_hooks_surround_the_job_where_it_runs_and_a_failing_one_changes_nothing(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(JOBS, slots=1)
    done = await engine.finish(kind)
    assert (done.run.state, done.execution.records_processed) == (RunState.SUCCESS, 3)
    said = [one for one in messages(done) if not one.startswith("hook ")]
    assert said == ["loop: begins", "plain: begins", "works", "plain: ends", "loop: ends"]
    assert {"said": "hello", "session": "no"} in [line.fields for line in done.lines]
    complaints = [one for one in messages(done) if one.startswith("hook ")]
    assert [one.split()[1].rpartition(".")[2] for one in complaints] == ["fails_before", "fails_after"]
    assert all(
        one.endswith(f"around run {done.run.id} of job '{kind}', which goes on without it") for one in complaints
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_hooks_see_what_the_job_raises_and_one_that_swallows_it_changes_nothing(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(JOBS, slots=1)
    done = await engine.finish(kind, {"how": "fails"})
    assert (done.run.state, done.execution.error_message) == (RunState.FAILED, "no luck")
    assert {"error": "ValueError('no luck')"} in [line.fields for line in done.lines]


@pytest.mark.costly
@pytest.mark.parametrize("kind", KINDS)
async def test_a_resource_of_an_attempt_is_a_part_of_it_and_fails_it(start_engine: StartEngine, kind: str) -> None:
    engine = await start_engine(JOBS, slots=1)
    done = await engine.finish(kind, {"how": "commit"})
    assert (done.run.state, done.execution.error_type) == (RunState.FAILED, "OSError")
    assert done.execution.error_message == "the disk is full"


async def test_a_hook_for_some_jobs_leaves_the_others_alone(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS)
    (line,) = (await engine.finish("untouched")).lines
    assert (line.message, line.fields) == ("works", {"said": "nothing"})


async def test_a_resource_of_the_node_is_shared_by_its_attempts_and_closed_with_it(start_engine: StartEngine) -> None:
    registry, opened, closed = Registry(), list[str](), list[str]()

    @resource(registry=registry)
    async def clients() -> AsyncIterator[dict[str, int]]:
        opened.append("clients")
        yield {"calls": 0}
        closed.append("clients")

    @resource(registry=registry)
    def lifespan(clients: dict[str, int]) -> Iterator[None]:
        opened.append(f"lifespan after {clients}")
        yield
        closed.append("lifespan")

    @job("call", registry=registry)
    async def call(clients: dict[str, int]) -> int:
        clients["calls"] += 1
        return clients["calls"]

    @job("call_in_thread", registry=registry)
    def call_in_thread(clients: dict[str, int]) -> int:
        clients["calls"] += 1
        return clients["calls"]

    engine = await start_engine(registry)
    counts = [(await engine.finish(name)).execution.records_processed for name in ("call", "call_in_thread", "call")]
    assert (counts, opened, closed) == ([1, 2, 3], ["clients", "lifespan after {'calls': 0}"], [])
    await engine.engine.stop()
    assert closed == ["lifespan", "clients"]


async def test_a_node_whose_resource_cannot_be_opened_does_not_start(start_engine: StartEngine) -> None:
    registry, closed = Registry(), list[str]()

    @resource(registry=registry)
    async def first() -> AsyncIterator[int]:
        yield 1
        closed.append("first")

    @resource(registry=registry)
    async def broken(first: int) -> AsyncIterator[str]:
        if first:
            raise ConnectionError("nobody listens")
        yield str(first)

    with pytest.raises(ConfigurationError, match=r"broken \(.*\) could not be opened: ConnectionError: nobody"):
        await start_engine(registry)
    assert closed == ["first"]


async def test_a_resource_that_fails_to_close_is_logged_and_the_others_are_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry, closed = Registry(), list[str]()

    @resource(registry=registry)
    async def first() -> AsyncIterator[int]:
        yield 1
        closed.append("first")

    @resource(registry=registry)
    def second() -> Iterator[str]:
        yield ""
        raise OSError("too late")

    resources = NodeResources(registry.hooks)
    assert await resources.open() == {int: 1, str: ""}
    await resources.close()
    await resources.close()
    assert closed == ["first"]
    assert [record.message.rpartition(") ")[2] for record in caplog.records] == ["could not be closed"]


def refused(declare: object) -> str:
    """The sentence by which a declaration is refused."""
    with pytest.raises(ConfigurationError) as caught:
        declare()  # type: ignore[operator]
    return str(caught.value)


async def no_generator() -> None: ...


async def untyped():  # type: ignore[no-untyped-def]  # noqa: ANN201
    yield 1


async def asks_untyped(other) -> AsyncIterator[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    yield other


def takes_two(one: JobContext, other: int) -> Iterator[None]:
    yield


def gives_nothing() -> Iterator[None]:
    yield


def gives_a_number() -> Iterator[int]:
    yield 1


def twice(declare: Callable[[Registry], object]) -> Callable[[Registry], object]:
    """Declares the same again."""
    return lambda registry: [declare(registry), declare(registry)]


DECLARATIONS: dict[str, Callable[[Registry], object]] = {
    "must be a function that yields once, 'def' or 'async def'": lambda _: around(no_generator),  # type: ignore[type-var]
    "takes the JobContext or nothing, got one, other": lambda _: around(takes_two),
    "must say what it yields, e.g. -> AsyncIterator[Pool]": lambda _: resource(untyped),
    "parameter 'other' must say by its type which resource it is": lambda _: resource(asks_untyped),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    "scope must be 'node' or 'attempt', got 'run'": lambda _: resource(scope="run")(gives_a_number),
    "gives nothing to an attempt; make it a hook by @around": lambda _: resource(scope="attempt")(gives_nothing),
    "int is given by ": twice(lambda registry: resource(registry=registry)(gives_a_number)),
    "carried value 'trace': is declared twice": twice(lambda of: carries("trace", registry=of)(lambda: None)),
    "on_failure: must be a job, its name, or a function of the Failure, got 5": lambda registry: job(
        "fails",
        registry=registry,
        on_failure=5,  # type: ignore[call-overload]
    )(lambda: None),
}


@pytest.mark.parametrize("sentence", DECLARATIONS)
def test_what_cannot_work_is_refused_by_name(sentence: str) -> None:
    assert sentence in refused(lambda: DECLARATIONS[sentence](Registry()))


def test_resources_that_cannot_be_opened_in_any_order_are_refused() -> None:
    registry, circle = Registry(), Registry()

    @resource(scope="attempt", registry=registry)
    async def of_attempt() -> AsyncIterator[bytes]:
        yield b""

    @resource(registry=registry)
    async def of_node(needed: bytes) -> AsyncIterator[float]:
        yield len(needed)

    assert 'has; give it scope="attempt" too' in refused(registry.check)

    @resource(registry=circle)
    async def one(needed: set[int]) -> AsyncIterator[list[int]]:
        yield [*needed]

    @resource(registry=circle)
    async def other(needed: list[int]) -> AsyncIterator[set[int]]:
        yield {*needed}

    assert "needs itself, by way of others" in refused(circle.check)


def test_a_job_is_refused_that_takes_what_nobody_gives_or_cannot_be_opened_there() -> None:
    nothing = Registry()

    @job("asks", registry=nothing)
    async def asks(client: RunningEngine = GIVEN) -> None: ...

    assert "job 'asks' at " in refused(nothing.check)
    assert "nobody gives RunningEngine: declare a @resource" in refused(nothing.check)
    registry, engine = Registry(), cast("RunningEngine", None)

    @resource(scope="attempt", registry=registry)
    async def client() -> AsyncIterator[RunningEngine]:
        yield engine

    @job("plain", registry=registry)
    def plain(client: RunningEngine) -> None: ...

    assert "which a plain 'def' in a thread cannot open; make one of the two like the other" in refused(registry.check)
    late = Registry()

    def declares() -> None:
        @job("early", registry=late)
        async def early(client: RunningEngine) -> None: ...

    assert "declare a @resource that yields it before this job, or give the parameter the default GIVEN" in refused(
        declares
    )
