"""What each view of the dashboard shows, and what the API answers about the same at that moment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

FACTS = """query Facts($task: String!, $run: ID!) {
  all: runs(first: 0) { totalCount }
  open: runs(first: 50, filter: { state: { in: [WAITING, SCHEDULED, RUNNING, STUCK, SUSPENDED] } }) {
    nodes { id state }
    totalCount
  }
  running: runs(first: 50, filter: { state: { eq: RUNNING } }) { nodes { id state } totalCount }
  failed: runs(first: 100, filter: { state: { eq: FAILED } }, orderBy: [{ field: ID, direction: DESC }]) {
    nodes { id state }
    totalCount
  }
  suspended: runs(first: 50, filter: { state: { eq: SUSPENDED } }) { nodes { id state } }
  executions(first: 100, orderBy: [{ field: ID, direction: DESC }]) { nodes { id outcome } }
  failures: executions(
    first: 100
    filter: { outcome: { in: [FAILED, TIMED_OUT, LOST] } }
    orderBy: [{ field: ID, direction: DESC }]
  ) {
    nodes { id outcome }
  }
  tasks(first: 100) { nodes { name pausedAt isEnabled nextExecutionAt } }
  paused: tasks(first: 100, filter: { pausedAt: { isNull: false } }) {
    nodes { name pausedAt isEnabled nextExecutionAt }
  }
  groups(first: 100) { nodes { name running waiting stuck suspended isPaused } }
  nodes(first: 10) { nodes { name running slots state } }
  flows(first: 50, orderBy: [{ field: ID, direction: DESC }]) {
    nodes { id state progress { done total failed cancelled skipped } }
  }
  secrets(first: 50) { nodes { name } }
  accounts(first: 50) { nodes { name role } }
  auditLog(first: 50) { nodes { id } }
  overview { running waiting scheduled stuck failedLast24h }
  task(name: $task) { pausedAt isEnabled nextExecutionAt description }
  run(id: $run) { state }
}"""
"""All that the views say, as the API has it at one moment."""

MORE_FACTS = """query MoreFacts($until: DateTime!) {
  alarmFirings(first: 50, filter: { isOpen: { eq: true } }) { nodes { id acknowledgedAt } }
  failureGroups(first: 50) { count state }
  upcoming(to: $until, apart: 86400, first: 100) { nodes { task { name } } }
}"""
"""The rest: a question has at most 20 root fields."""

WORDS = {"HANDED_BACK": "handed back", "TIMED_OUT": "timed out", None: "running", "ENABLED": "on", "DEFAULT": "on"}


def word(state: str | None) -> str:
    """Return what a page calls a state."""
    return WORDS.get(state) or (state or "").lower()


def rows_of(connection: Any, state: str = "state") -> list[str]:
    """The rows of a list: what they are and how they are."""
    return [f"{row['id']} {word(row[state])}" for row in connection["nodes"]]


def task_word(task: Any) -> str:
    """Return what a page calls the state of a task."""
    if task["pausedAt"] is not None:
        return "paused"
    return "finished" if task["nextExecutionAt"] is None else "on" if task["isEnabled"] else "disabled"


def tasks_of(connection: Any) -> list[str]:
    """The rows of a list of tasks, in any order."""
    return sorted(f"{task['name']} {task_word(task)}" for task in connection["nodes"])


ROWS = """(key) => [...document.querySelectorAll('main tbody tr[data-id]')].map((row) =>
  row.dataset.id + ' ' + (row.querySelector(`.cell-${key} .status`)?.textContent ?? '').trim())"""
"""The rows of a list: what they are and how they are."""

CELLS = """(keys) => [...document.querySelectorAll('main tbody tr[data-id]')].map((row) =>
  [row.dataset.id, ...keys.map((key) => (row.querySelector(`.cell-${key}`)?.textContent ?? '').trim())].join(' '))"""
"""What stands in some columns of each row."""

FIRINGS = """() => ['firings', 'acknowledged'].flatMap((id) =>
  [...document.querySelectorAll(`table.${id} tbody tr[data-id]`)].map((row) => `${row.dataset.id} ${id}`))"""
"""Firings that are open, and where they stand."""

ERRORS = """() => [...document.querySelectorAll('.failure-item')].map((item) =>
  [item.querySelector('.failure-count').textContent, item.querySelector('.status')?.textContent ?? 'open'].join(' '))"""
"""How often each error came, and what people said of it."""

TEXTS = "(kinds) => [...document.querySelectorAll(kinds)].map((each) => each.textContent.trim())"
"""The texts of some elements."""


PAGE = 50
"""Rows that a list asks for. Those that come afterwards it keeps as well, until they are twice as many."""


@dataclass(frozen=True)
class View:
    """A page, what it says, and what it ought to say."""

    path: str
    says: Callable[[Page], Any]
    ought: Callable[[Any], Any]
    grows: bool = False
    """Whether it is a list, newest first, that keeps what comes beyond its page."""

    def is_true(self, says: Any, ought: Any) -> bool:
        """Return whether it says what it ought to say."""
        if self.grows and len(says) >= PAGE:
            return bool(says == ought[: len(says)])
        return bool(says == ought)


def listed(key: str) -> Callable[[Page], Any]:
    """The rows of a list in their order, with the state in this column."""
    return lambda page: page.evaluate(ROWS, key)


def cells(*keys: str) -> Callable[[Page], Any]:
    """Some columns of a list, in any order."""
    return lambda page: sorted(page.evaluate(CELLS, list(keys)))


def texts(kinds: str, first: int | None = None) -> Callable[[Page], Any]:
    """Return what these elements say."""
    return lambda page: page.evaluate(TEXTS, kinds)[:first]


def any_order(says: Callable[[Page], Any]) -> Callable[[Page], Any]:
    """The same, sorted."""
    return lambda page: sorted(says(page))


def group_line(group: Any) -> str:
    """Return what a row of the page of groups says."""
    counts = " ".join(str(group[key]) for key in ("running", "waiting", "stuck"))
    return f"{group['name']} {counts} {'paused' if group['isPaused'] else 'on'}"


def tiles_of(facts: Any) -> list[str]:
    """The first three tiles of the overview."""
    figures = facts["overview"]
    queued = figures["waiting"] + figures["scheduled"]
    return [str(figures["running"]), str(queued), str(figures["failedLast24h"])]


HEAD = "h1 .status"


def views(task: str, run: str) -> Mapping[str, View]:
    """All views, by name; two of them are of this task and of this run."""
    return {
        "overview, tiles": View("/", texts(".tile-value", 3), tiles_of),
        "runs": View(
            "/runs?state=unfinished", any_order(listed("state")), lambda facts: sorted(rows_of(facts["open"]))
        ),
        "runs, counts": View(
            "/runs?state=running",
            texts(".tab-count", 2),
            lambda facts: [str(facts[each]["totalCount"]) for each in ("open", "running")],
        ),
        "runs that failed": View(
            "/runs?state=failed", listed("state"), lambda facts: rows_of(facts["failed"]), grows=True
        ),
        "log": View("/log", listed("outcome"), lambda facts: rows_of(facts["executions"], "outcome"), grows=True),
        "log of failures": View(
            "/log?outcome=failures", listed("outcome"), lambda facts: rows_of(facts["failures"], "outcome"), grows=True
        ),
        "tasks": View("/tasks", any_order(listed("state")), lambda facts: tasks_of(facts["tasks"])),
        "tasks that are paused": View(
            "/tasks?state=paused", any_order(listed("state")), lambda facts: tasks_of(facts["paused"])
        ),
        "task": View(f"/tasks/{task}", texts(HEAD), lambda facts: [task_word(facts["task"])]),
        "run": View(f"/runs/{run}", texts(HEAD), lambda facts: [word(facts["run"]["state"])]),
        "groups": View(
            "/groups",
            cells("running", "waiting", "stuck", "state"),
            lambda facts: sorted(group_line(each) for each in facts["groups"]["nodes"]),
        ),
        "nodes": View(
            "/nodes",
            texts(".cell-slots .num"),
            lambda facts: [f"{each['running']:,} of {each['slots']:,}" for each in facts["nodes"]["nodes"]],
        ),
        **_other_views(),
    }


def _other_views() -> Mapping[str, View]:
    """Return the views of flows, of what is wrong, of what comes, and of people."""
    return {
        "flows": View(
            "/flows",
            texts(".flow-progress > .num"),
            lambda facts: [progress_line(each["progress"]) for each in facts["flows"]["nodes"]],
        ),
        "inbox": View(
            "/inbox", texts("main article h2 .num"), lambda facts: [each["id"] for each in facts["suspended"]["nodes"]]
        ),
        "inbox, count": View(
            "/settings", texts(".nav-count"), lambda facts: waiting_line(len(facts["suspended"]["nodes"]))
        ),
        "alarms": View(
            "/alarms",
            lambda page: sorted(page.evaluate(FIRINGS)),
            lambda facts: sorted(
                f"{each['id']} {'firings' if each['acknowledgedAt'] is None else 'acknowledged'}"
                for each in facts["alarmFirings"]["nodes"]
            ),
        ),
        "errors": View(
            "/errors",
            lambda page: sorted(page.evaluate(ERRORS)),
            lambda facts: sorted(
                f"{each['count']:,}\u00d7 {'came back' if each['state'] == 'REGRESSED' else each['state'].lower()}"
                for each in facts["failureGroups"]
            ),
        ),
        "schedule": View(
            "/schedule",
            lambda page: sorted({*page.evaluate(TEXTS, ".agenda-what a")}),
            lambda facts: sorted({each["task"]["name"] for each in facts["upcoming"]["nodes"]}),
        ),
        "secrets": View("/secrets", cells(), lambda facts: sorted(each["name"] for each in facts["secrets"]["nodes"])),
        "users": View(
            "/users",
            cells("role"),
            lambda facts: sorted(f"{each['name']} {word(each['role'])}" for each in facts["accounts"]["nodes"]),
        ),
        "audit": View("/audit", cells(), lambda facts: sorted(each["id"] for each in facts["auditLog"]["nodes"])),
    }


def progress_line(progress: Any) -> str:
    """Return how far a flow is."""
    parts = [f"{progress['done']} of {progress['total']}"]
    parts += [f"{progress[key]} {key}" for key in ("failed", "cancelled", "skipped") if progress[key] > 0]
    return ", ".join(parts)


def waiting_line(number: int) -> list[str]:
    """Return what the menu says of the inbox."""
    return [f"{number} waiting"] if number else []
