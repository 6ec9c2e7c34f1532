"""How the built-in job ``graphql_request`` reaches this server's own API, without jobs knowing the server."""

from collections.abc import Mapping
from typing import Any, Protocol

from ..core.actor import Submitter


class ApiCaller(Protocol):
    """Runs one GraphQL operation of this server."""

    async def call(
        self,
        query: str,
        *,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        submitter: Submitter | None = None,
        run_id: int | None = None,
    ) -> dict[str, Any]:
        """Execute ``query`` with the rights of ``submitter`` (None = the code of a job), on behalf of a run.

        Returns the answer as GraphQL says it: ``data`` and, if there are any, ``errors``.
        """
        ...
