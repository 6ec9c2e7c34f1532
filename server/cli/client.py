"""Speaks to a running server over its GraphQL API, for commands that act on one."""

from collections.abc import Mapping
from typing import Any, cast

import httpx

from .output import Refused, UnreachableError

TIMEOUT = 30.0
"""Seconds that the server has to answer."""


def call(url: str, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The ``data`` of a GraphQL operation at the server of address ``url``.

    Raises:
        UnreachableError: nobody answers there, or not as a Cronograph server does.
        Refused: the server refused the operation; the message is its own.
    """
    address = f"{url.rstrip('/')}/graphql"
    status = 0
    try:
        # No proxy from the environment: the server is on this machine or at the end of a tunnel.
        with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
            response = client.post(address, json={"query": query, "variables": dict(variables)})
        status = response.status_code
        answer = response.json()
    except httpx.InvalidURL as error:
        raise UnreachableError(
            f"CRONOGRAPH_URL: must be an address such as http://localhost:8000, got '{url}': {error}"
        ) from None
    except httpx.HTTPError as error:
        raise UnreachableError(
            f"no server answers at {url}: {error}; is `cronograph serve` running? Set --url or CRONOGRAPH_URL"
        ) from None
    except ValueError:
        raise UnreachableError(f"what answers at {address} is no Cronograph server (HTTP {status})") from None
    return _data(answer, address)


def _data(answer: object, address: str) -> dict[str, Any]:
    if not isinstance(answer, dict) or not ("data" in answer or "errors" in answer):
        raise UnreachableError(f"what answers at {address} is no Cronograph server")
    known = cast("dict[str, Any]", answer)
    if known.get("errors"):
        raise Refused("; ".join(str(error["message"]) for error in known["errors"]))
    data: dict[str, Any] = known["data"]
    return data
