"""Measures the dashboard in a real Chromium: how soon each page of a large installation shows its rows and is complete,
what it asks for until then, the same over a slow connection, and what a steady stream of changes, or a noisy log, costs
an open page.

Run it on a quiet machine, from the repository's root: `python -m tests.bench.watch_dashboard`; `--help` lists the
options. For the stream of ten minutes: `--minutes 10`. It judges nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.bench import large_log
from tests.bench.measuring import fresh_database, load
from tests.support.browser import LAUNCH_OPTIONS, find_chromium
from tests.support.page_work import SLOW_3G, TRACED, PageWork, longest_task, mark, tasks_of
from tests.support.ports import free_port
from tests.support.processes import COMMAND
from tests.support.waiting import wait_until

PAGES = {
    "/": ".tile-value >> text=/\\d/",
    "/tasks": ".table tbody tr a[href^='/tasks/']",
    "/jobs": ".table tbody tr",
    "/runs": ".table tbody tr a[href^='/runs/']",
    "/log": ".table tbody tr a.row-main",
    "/log?sort=longest&range=24h": ".table tbody tr a.row-main",
    "/groups": ".table tbody tr",
    "/nodes": ".table tbody tr",
}
"""Each page, and what its first row is known by."""

JOBS = """
import asyncio
import logging
import time

from cronograph.jobs import job

@job("quick", description="Is over at once")
async def quick() -> int:
    return 1


@job("noisy", description="Logs so many lines a second")
async def noisy(seconds: float, rate: float) -> int:
    begin, made = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        due = int((time.monotonic() - begin) * rate) - made
        for number in range(made, made + due):
            logging.getLogger("noisy").info("line number %d: an order came in and is looked at by everybody", number)
        made += due
        await asyncio.sleep(0.02)
    return made
"""

FRAMES = """() => {
  window.longest = 0; let last = performance.now();
  const frame = (now) => {
    window.longest = Math.max(window.longest, now - last); last = now; requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""

A_MOMENT = "() => new Promise((done) => setTimeout(done, 100))"
NOISY = """mutation($args: JSON!) { triggerJob(jobName: "noisy", args: $args) { run { id } } }"""
STATE = """query($id: ID!) { run(id: $id) { state executions(last: 1) { nodes { id } } } }"""
TRIGGER = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { errors { message } } }"
MEMORY = ("--js-flags=--expose-gc", "--enable-precise-memory-info")
EVENTS_OF_A_RUN = 5
"""Created, running, an execution that began, one that ended, and a run that is over."""


@dataclass(frozen=True)
class Sizes:
    """How large the installation is."""

    executions: int
    waiting: int
    tasks: int
    groups: int


@contextmanager
def served(database_url: str, folder: Path) -> Generator[str]:
    """The address of a server over a database."""
    (folder / "bench_jobs.py").write_text(JOBS)
    port = free_port()
    command = [str(COMMAND), "serve", "--no-auth", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--database-url", database_url, "--jobs", "bench_jobs"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: _is_ready(address), message="the server to be ready")
            yield address
        finally:
            process.terminate()
            process.wait(60)


def _is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health/ready", trust_env=False, timeout=2).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def opened() -> Generator[Browser]:
    """A browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*LAUNCH_OPTIONS, *MEMORY])
        yield browser
        browser.close()


def page_of(browser: Browser, address: str) -> Page:
    """A page that has no file of the server yet."""
    return browser.new_page(base_url=address, viewport={"width": 1360, "height": 900})


def went_to(page: Page, path: str) -> tuple[float, float, float]:
    """Go to a page; the seconds until its frame, its first row, and all that it shows are there."""
    page.goto("about:blank")
    begin = time.perf_counter()
    page.goto(path, wait_until="commit")
    times: list[float] = []
    page.locator(".shell").first.wait_for(timeout=60_000)
    times.append(time.perf_counter() - begin)
    page.locator(PAGES[path]).first.wait_for(timeout=60_000)
    times.append(time.perf_counter() - begin)
    expect(page.locator(".skeleton")).to_have_count(0, timeout=60_000)
    return times[0], times[1], time.perf_counter() - begin


def middle(times: Sequence[float]) -> float:
    """The middle one, in milliseconds."""
    return sorted(times)[len(times) // 2] * 1e3


def first_visits(browser: Browser, address: str) -> None:
    """Write what the first visit of each page asks for, and how long it takes over a slow connection."""
    for path in PAGES:
        page = page_of(browser, address)
        work = PageWork.start(page, address, SLOW_3G)
        frame, row, complete = went_to(page, path)
        sent = work.bytes()
        page.wait_for_load_state("networkidle")
        sys.stdout.write(
            f"{path:27} first visit: {len(work.kinds()):2} requests, {sent / 1e3:4.0f} kB until it is complete, "
            f"{work.bytes() / 1e3:4.0f} with other pages' code; slow 3G: frame {frame * 1e3:5.0f}, "
            f"first row {row * 1e3:5.0f}, complete {complete * 1e3:5.0f} ms\n"
        )
        page.close()


def visits(browser: Browser, address: str, rounds: int) -> None:
    """Write how long each page takes that has been visited before, and what that costs the browser."""
    for path in PAGES:
        page = page_of(browser, address)
        went_to(page, path)
        rows: list[float] = []
        ends: list[float] = []
        scripts: list[float] = []
        tasks: list[float] = []
        work = PageWork.start(page, address)
        for _ in range(rounds):
            _, row, end = went_to(page, path)
            page.wait_for_load_state("networkidle")
            rows.append(row)
            ends.append(end)
            scripts.append(work.script_seconds())
            tasks.append(longest_task(page))
        sys.stdout.write(
            f"{path:27} first row {middle(rows):5.0f} ms (longest {max(rows) * 1e3:5.0f}), "
            f"complete {middle(ends):5.0f} (longest {max(ends) * 1e3:5.0f}), "
            f"scripts {middle(scripts):4.0f} ms of processor time, longest task {max(tasks):4.0f} ms\n"
        )
        page.close()


def stream(page: Page, address: str, path: str, *, seconds: float, rate: float) -> None:
    """Write what ``rate`` events a second for so long cost a page: the longest frame, memory, and the lag."""
    page.goto(path)
    page.locator(PAGES[path]).first.wait_for(timeout=60_000)
    before = _heap(page)
    page.evaluate(FRAMES)
    behind: set[str] = set()
    end, made, begin = time.monotonic() + seconds, 0, time.monotonic()
    with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
        while time.monotonic() < end:
            due = int((time.monotonic() - begin) * rate / EVENTS_OF_A_RUN) - made
            if due > 0:
                runs = [{"jobName": "quick", "group": "stream"}] * due
                client.post("/graphql", json={"query": TRIGGER, "variables": {"runs": runs}}).raise_for_status()
                made += due
            behind.add(page.locator(".pill").first.inner_text())
            page.evaluate(A_MOMENT)
    longest: float = page.evaluate("window.longest")
    after = _heap(page)
    sys.stdout.write(
        f"{path:27} {made * EVENTS_OF_A_RUN / seconds:5.1f} events/s for {seconds:.0f} s: longest frame {longest:.0f} "
        f"ms, memory {before / 1e6:.1f} → {after / 1e6:.1f} MB, link {sorted(behind)}\n"
    )


def noisy_log(browser: Browser, address: str, *, seconds: float, rate: float) -> None:
    """Write what a job costs a page that logs ``rate`` lines a second while somebody watches.

    Beside it is what another page had to wait for at the same time, on which next to nothing happens.
    """
    page = page_of(browser, address)
    # Of another site it has a process of its own.
    idle = page_of(browser, address.replace("127.0.0.1", "localhost"))
    idle.goto("/nodes")
    idle.locator(PAGES["/nodes"]).first.wait_for(timeout=60_000)
    with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:

        def ask(document: str, **variables: object) -> Any:
            answer = client.post("/graphql", json={"query": document, "variables": variables}).raise_for_status().json()
            return answer["data"]

        run = ask(NOISY, args={"seconds": seconds, "rate": rate})["triggerJob"]["run"]["id"]
        wait_until(lambda: ask(STATE, id=run)["run"]["executions"]["nodes"], message="the noisy run to begin")
        page.goto(f"/runs/{run}?attempt=1")
        page.locator(".log-bar").wait_for(timeout=60_000)
        browser.start_tracing(categories=[*TRACED])
        mark(page, "noisy")
        mark(idle, "idle")
        # Nothing is looked at meanwhile: that would be a task of the page, too.
        wait_until(lambda: ask(STATE, id=run)["run"]["state"] != "RUNNING", within=2 * seconds + 60, message="its end")
        expect(page.locator(".log-bar")).to_contain_text("ended", timeout=60_000)
        trace = browser.stop_tracing()
    bar = " ".join(page.locator(".log-bar > span.num").inner_text().split())
    sys.stdout.write(
        f"a noisy log, {rate:,.0f} lines/s for {seconds:.0f} s, {load()}: {tasks_of(trace, 'noisy')}; then "
        f"{_heap(page) / 1e6:.1f} MB and {page.locator('*').count():,} elements; “{bar}”\n"
        f"a page beside it on which nothing happens: {tasks_of(trace, 'idle')}\n"
    )
    page.close()
    idle.close()


def _heap(page: Page) -> float:
    """Bytes that the page's scripts hold once what nobody needs is collected."""
    used: float = page.evaluate("() => { gc(); return performance.memory.usedJSHeapSize; }")
    return used


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--executions", type=int, default=300_000)
    parser.add_argument("--waiting", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--minutes", type=float, default=1.0, help="of the stream of changes, on each of two pages")
    parser.add_argument("--noisy", type=float, default=60.0, help="seconds of a noisy log that somebody watches")
    parser.add_argument("--lines", type=float, default=10_000.0, help="a second, in the noisy log")
    parser.add_argument("--events", type=float, default=50.0, help="a second, in the stream")
    chosen = parser.parse_args(arguments)
    sizes = Sizes(chosen.executions, chosen.waiting, chosen.tasks, chosen.groups)
    with fresh_database(chosen.database) as url, tempfile.TemporaryDirectory() as folder:
        now = datetime.now(UTC)
        large_log.fill(
            url, large_log.Size(sizes.executions, sizes.waiting, now, tasks=sizes.tasks, groups=sizes.groups)
        )
        sys.stdout.write(f"{sizes}, {chosen.database}, {load()}\n")
        with served(url, Path(folder)) as address, opened() as browser:
            if chosen.noisy:
                noisy_log(browser, address, seconds=chosen.noisy, rate=chosen.lines)
            visits(browser, address, chosen.rounds)
            first_visits(browser, address)
            page = page_of(browser, address)
            for path in ("/", "/runs"):
                stream(page, address, path, seconds=chosen.minutes * 60, rate=chosen.events)


if __name__ == "__main__":
    main()
