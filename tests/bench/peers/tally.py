"""How many runs the processes of one contender have done together; each of them needs nothing but Python for it."""

import argparse
import asyncio
import mmap
import struct
from pathlib import Path

_COUNT = struct.Struct("=q")
LOOK_EVERY = 0.002
"""Seconds between two looks at what the other processes have done."""


class Tally:
    """A file that all of them map; each writes its own count and reads those of the others.

    Args:
        path: The file.
        member: Which of the processes this one is, from 0.
        members: How many there are.
        runs: How many runs there are for all of them.
    """

    def __init__(self, path: Path, member: int, members: int, runs: int) -> None:
        self.member = member
        self.members = members
        self._runs = runs
        self._mine = 0
        with path.open("r+b") as file:
            file.truncate(members * _COUNT.size)
            self._counts = mmap.mmap(file.fileno(), members * _COUNT.size)

    def one(self) -> bool:
        """Count a run of this process; whether it was the last of all."""
        self._mine += 1
        _COUNT.pack_into(self._counts, self.member * _COUNT.size, self._mine)
        return self.done()

    def done(self) -> bool:
        """Return whether no run is left."""
        done: int = sum(count for (count,) in _COUNT.iter_unpack(self._counts))
        return done >= self._runs

    async def wait(self) -> None:
        """Return soon after the last run of all."""
        while not self.done():  # noqa: ASYNC110 - the others are other processes
            await asyncio.sleep(LOOK_EVERY)


def asked() -> tuple[str, int, Tally]:
    """Return what the command line of a contender says: the database, the number of runs, and their tally."""
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("runs", type=int)
    parser.add_argument("--tally", type=Path, required=True)
    parser.add_argument("--member", type=int, default=0)
    parser.add_argument("--members", type=int, default=1)
    given = parser.parse_args()
    return given.place, given.runs, Tally(given.tally, given.member, given.members, given.runs)
