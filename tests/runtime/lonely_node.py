"""A node that has a child process and nothing else, for tests that kill it: ``python -m … JOB FOLDER``."""

import asyncio
import sys

from cronograph.jobs.base.context import RunInfo
from cronograph.jobs.runtime.process.spawner import Spawner
from cronograph.jobs.runtime.process.wire import Begin


async def main(job: str, folder: str) -> None:
    child = await Spawner().spawn()
    info = RunInfo(1, 1, job, None, None, 1, True, None, None, None, {"folder": folder})
    begin = Begin(
        module="tests.runtime.process_jobs",
        qualname=job,
        info=info,
        remaining=None,
        checkpoint=None,
        path=sys.path,
        log_levels={},
    )
    child.send(begin)
    await child.exited


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
