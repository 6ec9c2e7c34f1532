"""Celery on Redis in ``tests.bench.peers.kinds``: threads, or processes that it keeps."""

import importlib
import threading
from typing import Any

from tests.bench.peers.kinds_work import PROCESSES, THREADS, WORK, Round

celery: Any = importlib.import_module("celery")
state: Any = importlib.import_module("celery.worker.state")

QUIET = {"loglevel": "ERROR", "quiet": True, "redirect_stdouts": False, "without_gossip": True, "without_mingle": True}


def main(this: Round) -> None:
    """Enqueue, drain, tell."""
    app = celery.Celery("kinds", broker=f"redis+socket://{this.place}")
    app.conf.update(worker_prefetch_multiplier=64, task_ignore_result=True, worker_hijack_root_logger=False)
    task = app.task(name=this.work)(WORK[this.work])
    with app.connection_for_write() as connection:
        for _ in range(this.runs):
            task.apply_async(connection=connection)

    def stop_at_the_end() -> None:
        this.wait()
        state.should_stop = 0

    is_thread = this.kind == "thread"
    worker = app.Worker(
        pool="threads" if is_thread else "prefork", concurrency=THREADS if is_thread else PROCESSES, **QUIET
    )
    threading.Thread(target=stop_at_the_end, daemon=True).start()
    worker.start()
    this.tell()


if __name__ == "__main__":
    main(Round())
