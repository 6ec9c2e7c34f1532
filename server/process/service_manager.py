"""Reports to a service manager how far the process is: systemd's protocol of ``Type=notify``, without its library."""

import logging
import os
import socket

log = logging.getLogger(__name__)

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str) -> None:
    """Send a state to the manager that started this process; nothing happens if it is none that wants to know.

    Args:
        state: ``READY`` or ``STOPPING``.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    # An abstract socket has a null byte where systemd writes an at sign.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(state.encode(), place)
    except OSError as error:
        log.warning("the service manager at NOTIFY_SOCKET '%s' cannot receive %s: %s", address, state, error)
