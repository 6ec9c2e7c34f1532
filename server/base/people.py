"""Who asks, where it is not our own sign-in that knows."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import HTTPConnection

from ...graphql.resolving.context import Person

Who: TypeAlias = Callable[[HTTPConnection], Awaitable[Person | None]]
"""Returns who asks; None = access denied."""
