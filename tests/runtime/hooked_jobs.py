"""Jobs of every kind with hooks and resources; child processes import them too. What happens is told by log lines."""

import contextvars
import threading
from collections.abc import AsyncIterator, Iterator

from cronograph.jobs import GIVEN, JobContext, PermanentFailure, around, job, resource
from cronograph.jobs.registry import Registry

JOBS = Registry()
KINDS = ("coroutine", "thread", "process", "async_process")
"""The names of the jobs that every hook surrounds."""
said: contextvars.ContextVar[str] = contextvars.ContextVar("said", default="nothing")


class Pool:
    """Kept with the node; in a child process, with its attempt."""

    def __init__(self, ctx: str) -> None:
        self.opened_in = ctx
        self.open = True


class Session:
    """Of one attempt."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.ended = "no"


@resource(registry=JOBS)
def pool() -> Iterator[Pool]:
    made = Pool(threading.current_thread().name)
    yield made
    made.open = False


@resource(scope="attempt", registry=JOBS)
def session(pool: Pool) -> Iterator[Session]:
    made = Session(pool)
    try:
        yield made
    except BaseException as error:
        made.ended = f"rolled back by {error}"
        raise
    made.ended = "committed"
    if said.get() == "a commit that fails":
        raise OSError("the disk is full")


@around(jobs=KINDS, registry=JOBS)
async def on_the_loop(ctx: JobContext) -> AsyncIterator[None]:
    said.set("hello")
    ctx.log.info("loop: begins")
    try:
        yield
    except BaseException as error:
        ctx.log.info("loop: error", error=repr(error))
        raise
    finally:
        ctx.log.info("loop: ends")


@around(jobs=KINDS, registry=JOBS)
def fails_before() -> Iterator[None]:
    if said.get():
        raise LookupError("no such tracer")
    yield


@around(jobs=KINDS, registry=JOBS)
def plain(ctx: JobContext) -> Iterator[None]:
    ctx.log.info("plain: begins")
    try:
        yield
    finally:
        ctx.log.info("plain: ends")


@around(jobs=KINDS, registry=JOBS)
def swallows() -> Iterator[None]:
    try:
        yield
    except ValueError:
        return


@around(jobs=KINDS, registry=JOBS)
def fails_after() -> Iterator[None]:
    try:
        yield
    finally:
        raise OSError("the tracer is gone")


def _work(ctx: JobContext, how: str, session: Session) -> int:
    ctx.log.info("works", said=said.get(), session=session.ended)
    if how == "fails":
        raise ValueError("no luck")
    if how == "fails for good":
        raise PermanentFailure("never")
    if how == "commit":
        said.set("a commit that fails")
    return 3


@job("coroutine", registry=JOBS)
async def coroutine(ctx: JobContext, how: str = "", session: Session = GIVEN) -> int:
    return _work(ctx, how, session)


@job("thread", registry=JOBS)
def in_thread(ctx: JobContext, how: str = "", session: Session = GIVEN) -> int:
    return _work(ctx, how, session)


@job("process", registry=JOBS, isolation="process")
def in_process(ctx: JobContext, how: str = "", session: Session = GIVEN) -> int:
    return _work(ctx, how, session)


@job("async_process", registry=JOBS, isolation="process")
async def async_process(ctx: JobContext, how: str = "", session: Session = GIVEN) -> int:
    return _work(ctx, how, session)


@job("untouched", registry=JOBS)
async def untouched(ctx: JobContext) -> None:
    ctx.log.info("works", said=said.get())
