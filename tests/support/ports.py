"""Free ports of the loopback interface."""

import fcntl
import os
import socket
import tempfile
from pathlib import Path

FIRST, LAST = 20_000, 32_000
"""Below those that the kernel gives to connections and to anyone who asks for any: nobody else is given one of them."""

COUNTER = Path(tempfile.gettempdir()) / f"cronograph-tests-port-{os.getuid()}"
"""The last port that was given away, for all test runs of this user."""


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on, and that no other test is given for a while.

    Between the look at a port and the server that takes it a second goes by. Ports that the kernel chooses were taken
    meanwhile by others now and then, hundreds of servers being started side by side.
    """
    with COUNTER.open("a+") as counter:
        fcntl.flock(counter, fcntl.LOCK_EX)
        counter.seek(0)
        last = int(counter.read() or FIRST)
        port = next(port for port in _after(last) if _nobody_listens_on(port))
        counter.truncate(0)
        counter.write(str(port))
    return port


def _after(last: int) -> range:
    # Near the end it begins again, so that there is always a choice.
    return range(last + 1, LAST) if FIRST <= last < LAST - 500 else range(FIRST, LAST)


def _nobody_listens_on(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
