"""Huey on a SQLite file, with fsync: enqueues and drains jobs that do nothing. Run by ``tests.bench.peers.run``."""

import importlib
import json
import sys
import threading
import time
from typing import Any

from tests.bench.peers.tally import Tally, asked

huey: Any = importlib.import_module("huey")

WORKERS = 4


def main(path: str, runs: int, _tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    queue = huey.SqliteHuey(filename=path, fsync=True, results=False)
    left, ended, lock = runs, threading.Event(), threading.Lock()

    def nothing() -> None:
        nonlocal left
        with lock:
            left -= 1
            if not left:
                ended.set()

    task = queue.task()(nothing)
    began = time.perf_counter()
    for _ in range(runs):
        task()
    enqueued = time.perf_counter() - began
    # Anyone who measures the server's processor time may look at it now.
    print("enqueued", flush=True)
    sys.stdin.readline()
    consumer = queue.create_consumer(workers=WORKERS, periodic=False, initial_delay=0.001)
    began, cpu = time.perf_counter(), time.process_time()
    consumer.start()
    ended.wait()
    drained, used = time.perf_counter() - began, time.process_time() - cpu
    consumer.stop(graceful=True)
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


if __name__ == "__main__":
    print(json.dumps(main(*asked())))
