"""Where the files of tests lie: in memory, if there is room."""

import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
MEMORY_NEEDED = 2 * 1024**3
"""Bytes that must be free in `MEMORY`; a database of a test on PostgreSQL takes eight million."""

DISK = Path("/tmp")
"""Not the configured temporary folder: paths of Unix sockets are limited to 107 bytes."""


def roomy_folder() -> Path:
    """`MEMORY` if enough of it is free, else `DISK`."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED
    return MEMORY if roomy else DISK
