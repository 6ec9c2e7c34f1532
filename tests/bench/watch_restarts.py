"""Measures in a real Chromium how soon every page shows the truth again after its server was killed and started again.

Every page of the dashboard is open at once; the server is ended by SIGKILL, started again on its port, and changed as
soon as it is ready: a run succeeds, a task is paused. What counts is the time from readiness until the last page is
connected and shows that. `python -m tests.bench.watch_restarts`, from the repository's root; `--help` lists the
options. It judges nothing: that the pages do show the truth is asserted by `tests/e2e/test_restarts.py`.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright

from tests.bench.measuring import load
from tests.e2e.conftest import MODULE, SOURCE, Site, start_site
from tests.e2e.test_restarts import EXECUTION, LOG, NODES, OVERVIEW, PAGES, RUN, RUNS, TASK, ran
from tests.support.browser import LAUNCH_OPTIONS, find_chromium
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

WATCH = """(wanted) => {
  window.seen = null;
  const timer = setInterval(() => {
    const live = document.querySelector('.pill').textContent === 'live';
    const quiet = document.querySelector('dialog[open], [role=alert]') === null;
    if (!live || !quiet || !document.querySelector('main').textContent.includes(wanted)) return;
    window.seen = Date.now();
    clearInterval(timer);
  }, 20);
}"""
"""Notes the first moment at which a page is connected and shows a text."""

PAUSE = 'mutation($reason: String!) { pauseTask(input: { name: "steady", reason: $reason }) { errors { code } } }'


def open_all(context: BrowserContext, url: str) -> dict[str, Page]:
    """Every page, each with its data."""
    tabs: dict[str, Page] = {}
    for path in PAGES:
        tabs[path] = context.new_page()
        tabs[path].goto(f"{url}{path}")
        tabs[path].locator(".pill", has_text="live").wait_for()
    return tabs


def changed(site: Site, life: int) -> Mapping[str, str]:
    """Change what the pages show; what each of them has to say now."""
    run, execution = ran(site)
    site.ask(PAUSE, reason=f"life {life}")
    (alive,) = site.ask("{ nodes(first: 1, orderBy: [{ field: ID, direction: DESC }]) { nodes { name } } }")["nodes"][
        "nodes"
    ]
    news = {OVERVIEW: f"#{execution}", LOG: f"#{execution}", RUNS: run, TASK: f"life {life}", NODES: alive["name"]}
    return {path: news.get(path, "success" if path in (EXECUTION, RUN) else "") for path in PAGES}


def measured(site: Site, tabs: Mapping[str, Page], ready: float, life: int) -> None:
    """Write how long after the server was ready each page showed the truth."""
    for path, wanted in changed(site, life).items():
        tabs[path].evaluate(WATCH, wanted)
    changed_at = time.time()
    took: dict[str, float] = {}
    for path, tab in tabs.items():
        # The pages' policy keeps `wait_for_function` out.
        seen = wait_until(partial(tab.evaluate, "window.seen"), message=f"{path} to show the truth")
        took[path] = float(seen) / 1e3 - ready
    last = max(took, key=lambda path: took[path])
    sys.stdout.write(
        f"life {life}: changed within {changed_at - ready:4.2f} s of readiness, the last of {len(took)} pages "
        f"({last}) after {took[last]:4.2f} s, half of them after {sorted(took.values())[len(took) // 2]:4.2f} s\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=5, help="how often the server is killed")
    chosen = parser.parse_args(arguments)
    sys.stdout.write(f"{len(PAGES)} pages open, {load()}\n")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / f"{MODULE}.py").write_text(SOURCE)
        starter = ProcessStarter(folder, None)
        stack.callback(starter.end_all)
        site = start_site(folder, starter, free_port())
        site.create_task("steady", "quick")
        ran(site)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=LAUNCH_OPTIONS)
        stack.callback(browser.close)
        tabs = open_all(browser.new_context(viewport={"width": 1360, "height": 900}), site.url)
        for life in range(1, chosen.lives + 1):
            site.process.kill()
            for tab in tabs.values():
                tab.locator(".pill", has_text="live").wait_for(state="detached")
            site = start_site(folder, starter, site.process.port)
            measured(site, tabs, time.time(), life)


if __name__ == "__main__":
    main()
