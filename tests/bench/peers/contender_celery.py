"""Celery with Redis: enqueues and drains jobs that do nothing. Run by ``tests.bench.peers.run`` in its own environment.

Redis writes each command to its file at least once a second (``appendfsync everysec``), which is less than the others'
databases do: they have every transaction on the disk before they say so.
"""

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.peers.tally import Tally, asked

celery: Any = importlib.import_module("celery")
state: Any = importlib.import_module("celery.worker.state")

THREADS = 8
QUIET = {"loglevel": "ERROR", "quiet": True, "redirect_stdouts": False, "without_gossip": True, "without_mingle": True}
PREFETCHED = 64
"""Messages for each thread; 4 unless set, with which it takes longer."""


def redis_server(folder: Path, socket: Path) -> subprocess.Popen[bytes]:
    """A Redis on a socket; ``apt-get install redis-server`` brings it."""
    words = ["--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--appendonly", "yes", "--save", ""]
    return subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)


def main(folder: str, runs: int, tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    socket = Path(folder) / "redis.sock"
    server = redis_server(Path(folder), socket)
    try:
        # It says nothing when it listens, and Celery tries for as long as it takes.
        return measured(f"redis+socket://{socket}", runs, tally)
    finally:
        server.terminate()
        server.wait()


def measured(broker: str, runs: int, tally: Tally) -> dict[str, float]:
    """The same, with a broker that runs."""
    app = celery.Celery("peers", broker=broker)
    app.conf.update(worker_prefetch_multiplier=PREFETCHED, task_ignore_result=True, worker_hijack_root_logger=False)

    def do_nothing() -> None:
        if tally.one():
            # What the worker looks at in each turn of its loop.
            state.should_stop = 0

    nothing = app.task(name="nothing")(do_nothing)
    began = time.perf_counter()
    with app.connection_for_write() as connection:
        for _ in range(runs):
            nothing.apply_async(connection=connection)
    enqueued = time.perf_counter() - began
    # Anyone who measures the server's processor time may look at it now.
    print("enqueued", flush=True)
    sys.stdin.readline()
    worker = app.Worker(pool="threads", concurrency=THREADS, **QUIET)
    began, cpu = time.perf_counter(), time.process_time()
    worker.start()
    return {"enqueue": enqueued, "drain": time.perf_counter() - began, "cpu": time.process_time() - cpu}


if __name__ == "__main__":
    print(json.dumps(main(*asked())))
