"""Dramatiq on Redis in ``tests.bench.peers.kinds``: threads."""

import importlib
from typing import Any

from tests.bench.peers.kinds_work import THREADS, WORK, Round

dramatiq: Any = importlib.import_module("dramatiq")
brokers: Any = importlib.import_module("dramatiq.brokers.redis")


def main(this: Round) -> None:
    """Enqueue, drain, tell."""
    broker = brokers.RedisBroker(url=f"unix://{this.place}")
    dramatiq.set_broker(broker)
    actor = dramatiq.actor(WORK[this.work])
    for _ in range(this.runs):
        actor.send()
    worker = dramatiq.Worker(broker, worker_threads=THREADS)
    worker.start()
    this.wait()
    worker.stop()
    this.tell()


if __name__ == "__main__":
    main(Round())
