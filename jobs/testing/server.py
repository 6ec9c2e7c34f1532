"""A real server for a test: a process of its own on a free port, with a fresh SQLite file, without sign-in."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "cronograph.jobs.testing.Server needs httpx, which is not installed: pip install 'cronograph[server]'",
        name="httpx",
    ) from error

from ..store.db.address import address_of_file

_ADDRESS: Final = re.compile(r"http://[^\s/]+:\d+")
_READY_WITHIN: Final = 60.0
_STOPS_WITHIN: Final = 30.0
_PAUSE: Final = 0.05
"""Seconds between two looks at a server that starts."""


class ServerError(Exception):
    """The server of a test did not start; holds its output."""


class Server:
    """``cronograph serve`` in a process of its own, from ``with`` to the end of the block.

    Args:
        folder: For its database and its output.
        jobs: The modules of its jobs, as for ``--jobs``.
        arguments: Further flags of ``cronograph serve``.
        within: Seconds until it has to be ready.

    Attributes:
        url: Where it listens, without a slash at the end.
        database_url: Its database, for ``connect``.
    """

    def __init__(
        self, folder: Path, jobs: Sequence[str] = (), arguments: Sequence[str] = (), within: float = _READY_WITHIN
    ) -> None:
        self.url = ""
        self.database_url = address_of_file(folder / "server.db")
        self._output = folder / "server.log"
        self._within = within
        flags = ("--port", "0", "--no-auth", "--database-url", self.database_url)
        named = (word for module in jobs for word in ("--jobs", module))
        self._command = [sys.executable, "-m", "cronograph", "serve", *flags, *named, *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # What is set for the developer's own server must not reach the one of the test.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRONOGRAPH_")}
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with flags of a test
                self._command, stdout=output, stderr=subprocess.STDOUT, env=environment | {"NO_COLOR": "1"}
            )
        try:
            self._wait_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def output(self) -> str:
        """All that it has printed so far."""
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    def graphql(self, document: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the ``data`` of an operation.

        Raises:
            AssertionError: the answer has errors; holds them.
        """
        answer = httpx.post(
            f"{self.url}/graphql", json={"query": document, "variables": dict(variables or {})}, timeout=_READY_WITHIN
        ).json()
        if answer.get("errors"):
            raise AssertionError(f"{self.url}/graphql answered with errors: {answer['errors']}")
        data: dict[str, Any] = answer["data"]
        return data

    def stop(self) -> None:
        """End it in order; twice is fine."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait_ready(self, process: "subprocess.Popen[bytes]") -> None:
        give_up_at = time.monotonic() + self._within
        while not self._is_ready():
            status = process.poll()
            if status is not None:
                raise ServerError(f"`{' '.join(self._command)}` ended with status {status}:\n{self.output}")
            if time.monotonic() >= give_up_at:
                raise ServerError(f"the server was not ready within {self._within:g} s; it printed:\n{self.output}")
            time.sleep(_PAUSE)

    def _is_ready(self) -> bool:
        found = _ADDRESS.search(self.output)
        if found is None:
            return False
        self.url = found[0]
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=self._within).is_success
        except httpx.TransportError:
            return False
