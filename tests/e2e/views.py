"""Every view open, every kind of change, totals against the API: how late each view says what is so.

    python -m tests.e2e.views                            a server of its own, every change ten times
    python -m tests.e2e.views --rounds 1                 once each
    python -m tests.e2e.views --burst 5000 --view log    so many runs at once instead, and when this view is true again

It opens all views side by side in one browser, changes something through the API, and looks at all of them until each
says what the API answers at that moment. What it prints is how long each took at the most; one that took longer than
`LATEST` seconds ends it with 1. The suite has a short form of it (`test_truth.py`), which only asks that views arrive.
"""

import argparse
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

from cronograph.jobs.store.statements.figures.failures import fingerprint
from tests.e2e.conftest import MODULE, SOURCE, Site, start_site
from tests.e2e.shown_facts import FACTS, MORE_FACTS, View, views
from tests.support.browser import LAUNCH_OPTIONS, find_chromium
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter

LATEST = 2.0
"""Seconds after a change when every view says it."""

Late = dict[str, tuple[float, str]]
"""The seconds that each view took at the most, and after what."""

GIVE_UP = 30.0
"""Seconds after which a view is not waited for any more."""

BATCH = 1000
"""Runs that are enqueued by one mutation."""

UNDER_WAY = """{
  runs(first: 0, filter: { state: { in: [WAITING, SCHEDULED, RUNNING] }, group: { eq: "default" } }) { totalCount }
}"""

FRAMES = """() => {
  window.longestTask = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longestTask = Math.max(window.longestTask, entry.duration);
  }).observe({ type: 'longtask' });
}"""
"""Notes the longest task of a page from now on; shorter ones than 50 ms are none to the browser."""

AHEAD = timedelta(days=31)
"""So far the agenda looks."""

PAUSED = "held"
"""A group that is paused: its runs wait."""


ERROR = fingerprint("broken", "PermanentFailure", "it broke: no luck")


def mutation(field: str) -> str:
    """A mutation that takes an input and answers what is wrong with it."""
    kind = field[0].upper() + field[1:] + "Input"
    return f"mutation($input: {kind}!) {{ {field}(input: $input) {{ errors {{ message }} }} }}"


def once(year: int) -> Mapping[str, str]:
    """A schedule with one time."""
    return {"syntax": "TIMESTAMP", "value": f"{year}-01-01T00:00:00Z"}


@dataclass
class Story:
    """What is changed, by the API, as others would."""

    site: Site
    task: str = "watched"
    number: int = 0
    runs: dict[str, str] = field(default_factory=dict[str, str])

    def do(self, name: str, /, **what: object) -> None:
        """Change one thing."""
        wrong = self.site.ask(mutation(name), input=what)[name]["errors"]
        assert wrong == [], wrong

    def enqueue(self, job: str, **more: object) -> str:
        """Enqueue a run."""
        query = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } } }"
        run: str = self.site.ask(query, runs=[{"jobName": job, **more}])["enqueueRuns"]["runs"][0]["id"]
        return run

    def begin(self) -> None:
        """Make what all rounds use."""
        self.site.create_task(self.task, "quick")
        self.do("pauseGroup", name=PAUSED)
        failing = {"condition": {"failing": {"failedRuns": 1}}, "subject": {"job": "broken"}}
        self.do("createAlarm", name=f"broken-again-{self.task}", **failing)
        self.runs["watched"] = self.enqueue("gated", args={"gate": "watched"}, group=PAUSED)

    def changes(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Every kind of change, in an order in which each is possible."""
        self.number += 1
        number, runs, site = self.number, self.runs, self.site
        pair = [{"key": key, "jobName": "quick"} for key in "ab"]
        gate, task, flow = f"gate-{number}", f"task-{number}", f"flow-{number}"
        yield "a run waits", lambda: runs.update(held=self.enqueue("quick", group=PAUSED))
        yield (
            "it gets a high priority",
            lambda: self.do("setRunPriorities", runs={"ids": [runs["held"]]}, priority="HIGH"),
        )
        yield "it gets other arguments", lambda: self.do("updateRun", id=runs["held"], args={"batch": number})
        yield "it is cancelled", lambda: self.do("cancelRun", id=runs["held"])
        yield "several runs wait", lambda: [self.enqueue("chatty", group=PAUSED) for _ in range(5)]
        yield "all of them are cancelled", lambda: self.do("cancelRuns", runs={"filter": {"jobName": {"eq": "chatty"}}})
        yield "a run succeeds", lambda: self.enqueue("quick")
        yield "a run fails", lambda: runs.update(broken=self.enqueue("broken"))
        yield "the alarm is acknowledged", lambda: self.do("acknowledgeAlarms", firings={"all": True})
        yield (
            "its error is silenced",
            lambda: self.do("silenceFailures", fingerprint=ERROR, endsAt="2090-01-01T00:00:00Z"),
        )
        yield "the silence ends", lambda: self.do("silenceFailures", fingerprint=ERROR)
        yield "its error is solved", lambda: self.do("solveFailures", fingerprint=ERROR)
        yield "it is retried", lambda: self.do("retryRun", id=runs["broken"])
        yield "a run is stuck", lambda: runs.update(stuck=self.enqueue("flaky", retryDelay=3600))
        yield "it is tried now", lambda: self.do("retryRunNow", id=runs["stuck"])
        yield "a run begins", lambda: self.enqueue("gated", args={"gate": gate})
        yield "it ends", lambda: site.open_gate(gate)
        yield "a run waits for somebody", lambda: runs.update(asked=self.enqueue("ordered"))
        yield (
            "somebody decides",
            lambda: self.do("signalRun", run={"id": runs["asked"]}, name="approved", payload={"limit": 5}),
        )
        yield "a task is paused", lambda: self.do("pauseTask", name=self.task)
        yield "a task is resumed", lambda: self.do("resumeTask", name=self.task)
        yield "a task is made", lambda: site.create_task(task, "quick")
        yield "a task gets another schedule", lambda: self.do("updateTask", name=task, schedule=once(2090 + number))
        tomorrow = {"syntax": "TIMESTAMP", "value": (datetime.now(UTC) + timedelta(days=1)).isoformat()}
        yield "a task is due tomorrow", lambda: self.do("updateTask", name=task, schedule=tomorrow)
        yield "a task is disabled", lambda: self.do("updateTask", name=task, enabled=False)
        yield "a task is enabled", lambda: self.do("updateTask", name=task, enabled=True)
        yield "a task is triggered", lambda: self.do("triggerTask", name=task)
        yield "a task is deleted", lambda: self.do("deleteTask", name=task)
        yield "a flow runs", lambda: self.do("enqueueFlow", name=flow, runs=pair)
        yield "a group is resumed", lambda: self.do("resumeGroup", name=PAUSED)
        yield "a group is paused", lambda: self.do("pauseGroup", name=PAUSED)
        yield "a group gets a limit", lambda: self.do("updateGroup", name=PAUSED, maxRunning=number)
        yield from self._of_accounts(number)
        yield "the history is pruned", lambda: self.do("pruneHistory", maxPerTask=1)

    def _of_accounts(self, number: int) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "a secret is set", lambda: self.do("setSecret", name=f"SECRET_{number}", value="hidden")
        yield "a secret is deleted", lambda: self.do("deleteSecret", name=f"SECRET_{number}")
        yield "an account is made", lambda: self.do("createAccount", name=f"user-{number}", role="VIEWER")
        yield "an account gets another role", lambda: self.do("updateAccount", name=f"user-{number}", role="OPERATOR")


@dataclass
class Watch:
    """The views, side by side, and what the API says at the same time."""

    story: Story
    views: Mapping[str, View]
    pages: Mapping[str, Page]
    late: Late = field(default_factory=dict[str, tuple[float, str]])

    def facts(self) -> Any:
        """Return what is so."""
        until = (datetime.now(UTC) + AHEAD).isoformat()
        facts = self.story.site.ask(FACTS, task=self.story.task, run=self.story.runs["watched"])
        return {**facts, **self.story.site.ask(MORE_FACTS, until=until)}

    def differing(self) -> dict[str, str]:
        """The views that do not say what is so, and what they say instead."""
        facts = self.facts()
        found: dict[str, str] = {}
        for name, view in self.views.items():
            says, ought = view.says(self.pages[name]), view.ought(facts)
            if not view.is_true(says, ought):
                found[name] = f"it says {says!r}, the API {ought!r}"
        return found

    def arrive(self, after: str, within: float = GIVE_UP) -> dict[str, float]:
        """Wait until all views say what is so, twice in a row; the seconds that each took."""
        began = time.monotonic()
        took = dict.fromkeys(self.views, 0.0)
        agreed = 0
        while agreed < 2:
            differing = self.differing()
            now = time.monotonic() - began
            agreed = 0 if differing else agreed + 1
            took.update(dict.fromkeys(differing, now))
            if now > within:
                lines = "\n".join(f"{name}: {what}" for name, what in differing.items())
                raise AssertionError(f"{within} s after “{after}” these views were not true:\n{lines}")
        for name, seconds in took.items():
            self.late[name] = max(self.late.get(name, (0.0, "")), (seconds, after))
        return took


@contextmanager
def watching(
    site: Site, context: BrowserContext, only: Sequence[str] | None = None, task: str = "watched"
) -> Generator[Watch]:
    """All views, or some of them, open and at rest."""
    story = Story(site, task)
    story.begin()
    every = views(story.task, story.runs["watched"])
    wanted = every if only is None else {name: every[name] for name in only}
    pages: dict[str, Page] = {}
    for name, view in wanted.items():
        pages[name] = context.new_page()
        pages[name].set_viewport_size({"width": 1920, "height": 1000})
        pages[name].goto(f"{site.url}{view.path}")
    watch = Watch(story, wanted, pages)
    watch.arrive("opening")
    watch.late.clear()
    yield watch
    for page in pages.values():
        page.close()


def measure(site: Site, context: BrowserContext, rounds: int, only: Sequence[str] | None) -> Late:
    """Return how late each view was at the most, and after what."""
    with watching(site, context, only) as watch:
        for _ in range(rounds):
            for name, change in watch.story.changes():
                change()
                took = watch.arrive(name)
                slowest = max(took, key=lambda view: took[view])
                print(f"{name:28} {took[slowest]:5.1f} s  {slowest}", flush=True)
        return watch.late


def burst(site: Site, context: BrowserContext, size: int, only: Sequence[str] | None) -> Late:
    """Return how late each view is after so many runs at once, counted from the end of the last."""
    with watching(site, context, only) as watch:
        for page in watch.pages.values():
            page.evaluate(FRAMES)
        for begin in range(0, size, BATCH):
            runs = [{"jobName": "quick"}] * min(BATCH, size - begin)
            site.ask(
                "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { added: runs { id } } }",
                runs=runs,
            )
        while site.ask(UNDER_WAY)["runs"]["totalCount"]:
            pass
        watch.arrive("the burst")
        for name, page in watch.pages.items():
            print(f"{name:28} longest task {page.evaluate('window.longestTask'):4.0f} ms")
        return watch.late


def report(late: Late) -> Sequence[str]:
    """The views that were too late, after a table of all."""
    print()
    for name, (seconds, after) in sorted(late.items(), key=lambda entry: -entry[1][0]):
        print(f"{name:28} {seconds:5.1f} s  after “{after}”")
    return [name for name, (seconds, _) in late.items() if seconds > LATEST]


def main() -> int:
    """Play all changes as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="how often each change is made")
    parser.add_argument("--view", action="append", help="only this one; all pages share a processor in the browser")
    parser.add_argument("--burst", type=int, default=0, help="so many runs at once, instead of the changes")
    chosen = parser.parse_args()
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / f"{MODULE}.py").write_text(SOURCE)
        nursery = Nursery("commands")
        starter = ProcessStarter(folder, nursery)
        try:
            site = start_site(folder, starter, free_port())
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=LAUNCH_OPTIONS)
            context = browser.new_context()
            play, size = (burst, chosen.burst) if chosen.burst else (measure, chosen.rounds)
            late = play(site, context, size, chosen.view)
            slow = report(late)
            browser.close()
        finally:
            starter.end_all()
            nursery.close()
    print(f"\nlater than {LATEST} s: {', '.join(slow) or 'none'}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
