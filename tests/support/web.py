"""Plain HTTP to the servers of the tests.

Each client of httpx that is given no context loads all certificates that this machine trusts: 30 ms of a processor,
hundreds of times over while servers start. Where nothing is encrypted there is nothing to trust.
"""

import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx

_PATIENCE: Final = 30.0
_UNENCRYPTED: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def get(url: str, timeout: float = _PATIENCE) -> httpx.Response:
    """The answer to a GET; raises `httpx.TransportError` without one."""
    return httpx.get(url, timeout=timeout, trust_env=False, verify=_UNENCRYPTED)


def post(url: str, body: Any, timeout: float = _PATIENCE) -> httpx.Response:
    """The answer to a POST of a JSON document; raises `httpx.TransportError` without one."""
    return httpx.post(url, json=body, timeout=timeout, trust_env=False, verify=_UNENCRYPTED)


def open_client(url: str, headers: Mapping[str, str] | None = None, timeout: float = _PATIENCE) -> httpx.Client:
    """A client that keeps its connections; addresses are relative to `url`."""
    return httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False, verify=_UNENCRYPTED)


def open_async_client(url: str) -> httpx.AsyncClient:
    """The same for asynchronous tests."""
    return httpx.AsyncClient(base_url=url, timeout=_PATIENCE, trust_env=False, verify=_UNENCRYPTED)
