"""Huey on a SQLite file in ``tests.bench.peers.kinds``, by threads or by processes that it keeps."""

import importlib
from typing import Any

from tests.bench.peers.kinds_work import PROCESSES, THREADS, WORK, Round

huey: Any = importlib.import_module("huey")


def main(this: Round) -> None:
    """Enqueue, drain, tell."""
    queue = huey.SqliteHuey(filename=this.place, fsync=True, results=False)
    task = queue.task()(WORK[this.work])
    for _ in range(this.runs):
        task()
    workers = THREADS if this.kind == "thread" else PROCESSES
    consumer = queue.create_consumer(workers=workers, worker_type=this.kind, periodic=False, initial_delay=0.001)
    consumer.start()
    this.wait()
    consumer.stop(graceful=True)
    this.tell()


if __name__ == "__main__":
    main(Round())
