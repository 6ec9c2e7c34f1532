"""Sign-ins of the command line, kept in a file that only their owner reads, and shown and renewed by both clients."""

import asyncio
import fcntl
import json
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import httpx
from typing_extensions import override

from ..base.errors import ClientError

CLIENT_ID: Final = "cronograph-cli"
"""The client's name for itself; it has no secret of its own."""
EARLY: Final = 30.0
"""Seconds before its end at which an access token is renewed."""
_PAUSE: Final = 0.05


class CredentialsError(ClientError):
    """The file of sign-ins, or the token, cannot be used."""


@dataclass(frozen=True, slots=True)
class StoredTokens:
    """One sign-in.

    Attributes:
        access_token: The token that requests show, for a quarter of an hour.
        refresh_token: The token that renews it, once.
        expires_at: When the access token ends, in seconds since the epoch.
    """

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: float

    @classmethod
    def of(cls, answer: Mapping[str, Any], now: float) -> "StoredTokens":
        """Return the tokens in an answer of ``/oauth/token``."""
        return cls(answer["access_token"], answer["refresh_token"], now + float(answer["expires_in"]))


class Credentials:
    """The file of sign-ins, by the origin of the server.

    Args:
        path: The file; ``cronograph/credentials.json`` in ``XDG_CONFIG_HOME`` or ``~/.config`` unless given.
    """

    def __init__(self, path: Path | None = None) -> None:
        base = os.environ.get("XDG_CONFIG_HOME")
        folder = Path(base) if base else Path(os.environ.get("HOME", "/")) / ".config"
        self.path = path or folder / "cronograph" / "credentials.json"

    def get(self, origin: str) -> StoredTokens | None:
        """Return the sign-in at a server.

        Raises:
            CredentialsError: others may read the file, or it holds something else.
        """
        known = self._read().get(origin)
        return None if known is None else StoredTokens(**known)

    def put(self, origin: str, tokens: StoredTokens) -> None:
        """Keep a sign-in in the place of the one before.

        Raises:
            CredentialsError: the file cannot be used.
        """
        self._write({**self._read(), origin: asdict(tokens)})

    def remove(self, origin: str) -> None:
        """Forget a sign-in.

        Raises:
            CredentialsError: the file cannot be used.
        """
        known = self._read()
        if known.pop(origin, None) is not None:
            self._write(known)

    @contextmanager
    def try_lock(self) -> Generator[bool]:
        """Keep other processes from renewing the same sign-in while the block runs; False = one of them does."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.path.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(handle)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            if self.path.stat().st_mode & 0o077:
                raise CredentialsError(f"'{self.path}' must be readable by its owner alone; run `chmod 600` on it")
            return cast("dict[str, dict[str, Any]]", json.loads(self.path.read_text()))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            # What this user cannot get at holds none of his sign-ins.
            return {}
        except (OSError, ValueError) as error:
            raise CredentialsError(f"'{self.path}' must be a file of sign-ins: {error}; delete it") from None

    def _write(self, known: Mapping[str, Mapping[str, Any]]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self.path.with_suffix(f".{os.getpid()}")
        new.unlink(missing_ok=True)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump(known, file)
        new.replace(self.path)


def origin_of(url: str) -> str:
    """Scheme, host and port of a server's address: the key of a kept sign-in."""
    parsed = httpx.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


_Flow: TypeAlias = Generator[httpx.Request | None, httpx.Response | None, None]
"""Yields the next request, or None = wait a moment; is sent the answer."""


class StoredSignIn(httpx.Auth):
    """Shows the sign-in of the command line, if there is one, and renews it when its access token has ended.

    Args:
        origin: Of the server; nobody else sees the tokens.
        credentials: Where sign-ins are kept.
        clock: Seconds since the epoch.
    """

    def __init__(self, origin: str, credentials: Credentials, clock: Callable[[], float] = time.time) -> None:
        self._origin = origin
        self._credentials = credentials
        self._clock = clock

    @override
    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send ``request``, and the requests needed before and after."""
        flow = self._flow(request)
        try:
            step = next(flow)
            while True:
                response = None
                if step is None:
                    time.sleep(_PAUSE)
                else:
                    response = yield step
                    if step is not request:
                        response.read()
                step = flow.send(response)
        except StopIteration:
            return
        finally:
            flow.close()

    @override
    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        flow = self._flow(request)
        try:
            step = next(flow)
            while True:
                response = None
                if step is None:
                    await asyncio.sleep(_PAUSE)
                else:
                    response = yield step
                    if step is not request:
                        await response.aread()
                try:
                    step = flow.send(response)
                except StopIteration:
                    return
        finally:
            flow.close()

    def _flow(self, request: httpx.Request) -> _Flow:
        known = self._credentials.get(self._origin)
        if known is not None and known.expires_at - EARLY < self._clock():
            known = yield from self._renewed(known, request)
        if known is None:
            yield request
            return
        response = yield _shown(request, known)
        if response is not None and response.status_code == HTTPStatus.UNAUTHORIZED:
            newer = yield from self._renewed(known, request)
            # In any case the last answer must be that to the request.
            yield _shown(request, newer or known)

    def _renewed(
        self, known: StoredTokens, request: httpx.Request
    ) -> Generator[httpx.Request | None, httpx.Response | None, StoredTokens | None]:
        """Yield the sign-in with another access token: another process may just have renewed it."""
        while True:
            with self._credentials.try_lock() as mine:
                if mine:
                    newest = self._credentials.get(self._origin)
                    if newest is None or newest.access_token != known.access_token:
                        return newest
                    fields = {"grant_type": "refresh_token", "refresh_token": newest.refresh_token}
                    response = yield self._question(fields, request)
                    return None if response is None else self._kept(response)
            yield None

    def _question(self, fields: Mapping[str, str], request: httpx.Request) -> httpx.Request:
        data = {"client_id": CLIENT_ID, **fields}
        return httpx.Request("POST", f"{self._origin}/oauth/token", data=data, extensions=request.extensions)

    def _kept(self, response: httpx.Response) -> StoredTokens | None:
        if response.status_code == HTTPStatus.OK:
            tokens = StoredTokens.of(response.json(), self._clock())
            self._credentials.put(self._origin, tokens)
            return tokens
        if response.status_code == HTTPStatus.BAD_REQUEST:
            # It has ended; the server says so to the request that follows.
            self._credentials.remove(self._origin)
        return None


def _shown(request: httpx.Request, tokens: StoredTokens) -> httpx.Request:
    request.headers["authorization"] = f"Bearer {tokens.access_token}"
    return request
