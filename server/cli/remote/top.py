"""``cronograph top``: the present runs, live in the terminal."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Final

import typer

from ....graphql.client.command_line import TOP
from ....jobs.core.base.errors import ConfigurationError
from .api import Api, at_server
from .lists import text_of

Every = Annotated[float, typer.Option("--every", min=0.2, max=60, help="Seconds between two looks.")]


@at_server
def top(api: Api, every: Every = 1.0) -> None:
    """Follow the present runs with their progress, the queue by group, nodes and failures, live in the terminal.

    Keys: c cancels a run, r retries a failed one, p pauses or resumes a group, Tab goes to the next table, q ends. It
    needs the extra `top` (pip install 'cronograph[top]'). With --json it shows one look and ends.
    """
    first = Board.of(api.ask(Board.document, **Board.amounts))
    if api.output.as_json:
        api.result(first.data, "")
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("top: needs a terminal; in a script use --json, or `cronograph stats --watch 2`")
    if find_spec("textual") is None:
        raise ConfigurationError("top: needs Textual; install it by pip install 'cronograph[top]'")
    # Textual takes a quarter of a second to import, which no other command needs.
    screen = import_module(".screen", __package__)
    screen.Top(api.url, first, every).run()


WIDTH: Final = 20
"""Characters of a progress bar."""
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """One look."""

    document: ClassVar[str] = TOP
    amounts: ClassVar[dict[str, int]] = {"runs": 50, "groups": 50, "failures": 20}
    data: Mapping[str, Any]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Board":
        """Return the board of an answer."""
        lists = ("running", "groups", "nodes", "failures")
        return cls({"overview": answer["overview"], **{name: answer[name]["nodes"] for name in lists}})

    def summary(self) -> str:
        """Return the figures in a line."""
        seen = self.data["overview"]
        return (
            f"{seen['running']} running of {seen['slots']} slots · {seen['waiting']} waiting · {seen['stuck']} stuck · "
            f"{seen['suspended']} suspended · {seen['runsPerMinute']:g}/min · last 24 h: {seen['succeededLast24h']} "
            f"succeeded, {seen['failedLast24h']} failed · {seen['stalledTasks']} stalled tasks"
        )

    def running(self) -> dict[str, Row]:
        """Return the runs that execute, by id."""
        now = _time(self.data["overview"]["at"])
        return {one["id"]: _running(one, now) for one in self.data["running"]}

    def groups(self) -> dict[str, Row]:
        """Return the groups by name, the longest queue first."""
        return {
            one["name"]: (
                one["name"],
                "paused" if one["isPaused"] else "",
                str(one["waiting"] + one["scheduled"]),
                f"{one['running']}/{one['maxRunning']}" if one["maxRunning"] is not None else str(one["running"]),
                str(one["stuck"]),
                _seconds(one["oldestWait"]),
            )
            for one in self.data["groups"]
        }

    def nodes(self) -> dict[str, Row]:
        """Return the live nodes by name."""
        return {
            one["name"]: (one["name"], one["state"].lower(), f"{one['running']}/{one['slots']}", one["version"])
            for one in self.data["nodes"]
        }

    def failures(self) -> dict[str, Row]:
        """Return the newest failed executions, by the id of their run."""
        found: dict[str, Row] = {}
        for one in self.data["failures"]:
            at = "-" if one["completedAt"] is None else f"{_time(one['completedAt']):%H:%M:%S}"
            what = one["taskName"] or one["jobName"]
            found.setdefault(
                one["runId"], (one["runId"], at, what, one["outcome"].lower(), text_of(one["errorMessage"]))
            )
        return found

    def is_paused(self, group: str) -> bool:
        """Return whether a group is paused, as far as it is shown."""
        return any(one["isPaused"] for one in self.data["groups"] if one["name"] == group)


HEADS: Final[Mapping[str, Sequence[str]]] = {
    "running": ("run", "job", "node", "for", "try", "progress"),
    "groups": ("group", "", "waiting", "running", "stuck", "oldest"),
    "nodes": ("node", "state", "runs", "version"),
    "failures": ("run", "at", "failed", "outcome", "error"),
}
"""The columns of each table."""


def bar(progress: Mapping[str, Any] | None) -> str:
    """Progress as a bar, or as a count where nobody knows of how much."""
    if progress is None:
        return ""
    done, total, message = progress["done"], progress["total"], progress["message"] or ""
    if not total:
        return f"{done:g} {message}".rstrip()
    part = min(1.0, max(0.0, done / total))
    full = round(part * WIDTH)
    return f"{'█' * full}{'░' * (WIDTH - full)} {part:4.0%} {message}".rstrip()


def _running(one: Mapping[str, Any], now: datetime) -> Row:
    what = one["task"]["name"] if one["task"] else one["jobName"]
    since = "" if one["startedAt"] is None else _seconds((now - _time(one["startedAt"])).total_seconds())
    return one["id"], what, one["node"] or "-", since, str(one["attempt"]), bar(one["progress"])


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < 120 else f"{whole // 60}m" if whole < 7200 else f"{whole // 3600}h"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
