"""A small disk that can be filled: a file system of its own where one can be mounted, else a limit of file sizes."""

import os
import resource
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil

SIZE = "256m"
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


class SmallDisk:
    """A folder whose file system can be filled.

    As root a memory file system is mounted there (full: ENOSPC). Where that is not allowed (a container without the
    right to mount, or another user) the writing process gets a limit of the size of its files (full: EFBIG).

    Attributes:
        folder: Where to put the database.
        mounted: Whether it is a file system of its own.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0

    @contextmanager
    def full(self, pid: int, log: Path) -> Generator[None]:
        """Nothing more fits on it for the process `pid`, which must be able to go on writing its `log`."""
        with self.filled() if self.mounted else self._limited(pid, log):
            yield

    @contextmanager
    def filled(self) -> Generator[None]:
        """Nothing more fits on a file system of its own, no matter who writes."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 65536):
                    pass
            except OSError:
                # Full: this is what was wanted.
                file.flush()
        try:
            yield
        finally:
            filler.unlink()

    @contextmanager
    def _limited(self, pid: int, log: Path) -> Generator[None]:
        process = psutil.Process(pid)
        process.rlimit(psutil.RLIMIT_FSIZE, (log.stat().st_size + 1_000_000, resource.RLIM_INFINITY))
        try:
            yield
        finally:
            process.rlimit(psutil.RLIMIT_FSIZE, UNLIMITED)

    def close(self) -> None:
        """Take the file system away."""
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)
