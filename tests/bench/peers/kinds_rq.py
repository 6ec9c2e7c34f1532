"""RQ on Redis in ``tests.bench.peers.kinds``: two workers, each of which forks for every job."""

import importlib
import os
from typing import Any

from tests.bench.peers.kinds_work import PROCESSES, WORK, Round

redis: Any = importlib.import_module("redis")
rq: Any = importlib.import_module("rq")


def main(this: Round) -> None:
    """Enqueue, drain, tell."""
    connection = redis.Redis(unix_socket_path=this.place)
    queue = rq.Queue(connection=connection)
    for _ in range(this.runs):
        queue.enqueue(WORK[this.work], result_ttl=0)
    workers = [os.fork() for _ in range(PROCESSES)] if PROCESSES else []
    if 0 in workers:
        rq.Worker([queue], connection=redis.Redis(unix_socket_path=this.place)).work(burst=True, logging_level="ERROR")
        os._exit(0)
    this.wait()
    for pid in workers:
        os.waitpid(pid, 0)
    this.tell()


if __name__ == "__main__":
    main(Round())
