"""What is over already."""

from collections.abc import Awaitable, Generator
from typing import Any


class Done(Awaitable[None]):
    """An awaitable that is over already."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()
