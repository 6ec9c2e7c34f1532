"""A session of SQLAlchemy for each attempt, committed when the job returns and rolled back when it raises.

>>> from cronograph.jobs.integrations import sqlalchemy
>>> sqlalchemy.give_async_sessions("postgresql+psycopg://shop@db/shop")
"""

from collections.abc import AsyncGenerator, Generator

from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from ..registry import Registry
from ..registry.declaring import resource
from ..registry.hooks import Scope


def give_async_sessions(url: str, *, registry: Registry | None = None) -> None:
    """Let parameters annotated ``AsyncSession`` have a session of their own.

    Those annotated ``AsyncEngine`` get the engine, which is the node's; a process job has its own. A commit that fails
    fails the attempt.

    Args:
        url: Of an asynchronous driver, as ``create_async_engine`` takes it.
        registry: As of ``@resource``.
    """

    @resource(registry=registry)
    async def engine() -> AsyncGenerator[AsyncEngine]:
        made = create_async_engine(url)
        try:
            yield made
        finally:
            await made.dispose()

    @resource(scope=Scope.ATTEMPT, registry=registry)
    async def session(engine: AsyncEngine) -> AsyncGenerator[AsyncSession]:
        async with AsyncSession(engine, expire_on_commit=False) as made, made.begin():
            yield made


def give_sessions(url: str, *, registry: Registry | None = None) -> None:
    """Give a ``Session`` or ``Engine`` to jobs that are plain functions, as ``give_async_sessions`` does to coroutines.

    Args:
        url: As ``create_engine`` takes it.
        registry: As of ``@resource``.
    """

    @resource(registry=registry)
    def engine() -> Generator[Engine]:
        made = create_engine(url)
        try:
            yield made
        finally:
            made.dispose()

    @resource(scope=Scope.ATTEMPT, registry=registry)
    def session(engine: Engine) -> Generator[Session]:
        with Session(engine, expire_on_commit=False) as made, made.begin():
            yield made
